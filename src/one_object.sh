#!/bin/sh
# one_object.sh lto|plain MARCH IN.a OUT.a WORK CC...: makes one object of all members of a static library, in which only
# the names c10m_* are global.
set -e
kind=$1 march=$2 in=$3 out=$4 work=$5
shift 5
flags=-fno-lto
[ "$kind" = plain ] || flags="-flto=2 -flinker-output=nolto-rel"
mkdir -p "$work"
"$@" -r -nostdlib -O3 -g -march="$march" $flags -o "$work/all.o" -Wl,--whole-archive "$in" -Wl,--no-whole-archive
objcopy --wildcard --keep-global-symbol='c10m_*' "$work/all.o" "$work/c10m.o"
rm -f "$out"
ar rcs "$out" "$work/c10m.o"
rm "$work/all.o" "$work/c10m.o"
