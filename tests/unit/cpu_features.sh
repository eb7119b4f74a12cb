#!/bin/sh
# A program that was compiled for another CPU names the missing instruction set, and ends before main.
set -u
if ! said=$("$1" 2>&1); then
    case $said in
    *"compiled for a CPU with avx5124fmaps, which this CPU does not have"*-Dmarch=x86-64-v2*) exit 0 ;;
    esac
fi
echo "got: $said"
exit 1
