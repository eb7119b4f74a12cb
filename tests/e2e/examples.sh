#!/usr/bin/env bash
# The example applications of src/app/examples, built as a user builds them: in a folder of their own, by their
# Makefile, against what `meson install` installs. Each gives its answers over a real server with two workers.
. "$(dirname "$0")/lib.sh"
BUILD=$(dirname "$(dirname "$C10M")")
DEST=$TMP/dest
SOURCE=$(realpath "$HERE/../..")

install_and_copy() {
    meson install -C "$BUILD" --no-rebuild --quiet --destdir "$DEST" || return 1
    local prefix
    prefix=$(find "$DEST" -name c10m -path '*/bin/c10m' -printf '%h\n')
    mkdir "$TMP/pc" && sed "s,^prefix=.*,prefix=${prefix%/bin}," "$(find "$DEST" -name c10m.pc)" >"$TMP/pc/c10m.pc"
    cp -r "$SOURCE/src/app/examples" "$TMP/examples"
}
claim "they can be copied out of the tree" install_and_copy
builds() { PKG_CONFIG_PATH=$TMP/pc make -s -C "$TMP/examples" CFLAGS="-O2 -g -fno-omit-frame-pointer -Werror" examples bench; }
claim "they are built against what is installed" builds
[ "$FAILED" = 0 ] || finish
measures() { "$TMP/examples/examples_bench" >"$TMP/bench" && "$SOURCE/scripts/bench-compare" --parse "$TMP/bench"; }
claim "what they compute is measured in Go's format" measures

C10M=$TMP/examples/examples
write_conf
sed -n '/^\[service/,$p' "$TMP/examples/examples.conf" >>"$TMP/conf"
claim "the configuration is good" "$C10M" check --syntax -c "$TMP/examples/examples.conf"
start_server --set memory.hugepage=none --set cpu.workers_per_core=2
get() { inside curl -sf --max-time 60 "http://10.99.0.2:$1"; }
status() { inside curl -s --max-time 60 -o /dev/null -w '%{http_code}' "http://10.99.0.2:$1"; }

LEFTPAD='/v1/leftpad/?str=test&len=10&chr=*'
claim "leftpad pads" eval '[ "$(get "8001$LEFTPAD")" = "{\"str\":\"******test\"}" ] && [ "$(get "8002$LEFTPAD")" = "{\"str\":\"******test\"}" ]'
same_long() { [ "$(get '8001/v1/leftpad/?str=a%22&len=4000&chr=%5c')" = "$(get '8002/v1/leftpad/?str=a%22&len=4000&chr=%5c')" ]; }
claim "the mended leftpad gives the same answer" same_long
claim "leftpad refuses what is too long" eval '[ "$(status "8001/v1/leftpad/?str=a&len=4001")" = 400 ] && [ "$(status 8001/)" = 404 ]'
LOOPS='{"analyses":20,"blocks":1639,"loops":497,"irreducible":0,"depth":4}'
claim "loops finds the loops" eval '[ "$(get "8003/loops?n=20")" = "$LOOPS" ] && [ "$(get "8004/loops?n=20")" = "$LOOPS" ]'
claim "sieve finds the primes" eval '[ "$(get "8006/primes?n=1000" | tail -1)" = 7919 ] && [ "$(get 8006/primes | wc -l)" = 10 ]'

pictures() {  # of each mode, twice, each on a connection of its own, so that both workers have some
    for mode in seq px row workers buffered; do
        for i in 1 2; do get "8005/mandelbrot?mode=$mode&w=240&h=180&steps=100" >"$TMP/$mode$i.png" || return 1; done
    done
    cmp "$TMP/seq1.png" "$TMP/seq2.png" || return 1
    for mode in px row workers buffered; do cmp "$TMP/seq1.png" "$TMP/${mode}1.png" && cmp "$TMP/seq1.png" "$TMP/${mode}2.png" || return 1; done
    [ "$(head -c 8 "$TMP/seq1.png" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]
}
claim "each way to draw a picture gives the same one" pictures
claim "the largest picture arrives" eval '[ "$(get "8005/mandelbrot?mode=buffered&w=1024&h=1024&steps=256" | wc -c)" = 1054783 ]'
leaves() {  # clients that leave while their pictures are drawn give them back
    for _ in $(seq 20); do inside timeout 0.02 curl -s -o /dev/null "http://10.99.0.2:8005/mandelbrot?w=1024&h=1024&steps=256" || true; done
    for _ in $(seq 200); do
        [ "$(status '8005/mandelbrot?w=16&h=16')" = 200 ] && return
        sleep 0.1
    done
    return 1
}
claim "pictures of clients that leave come back" leaves

slow_readers() {  # hold all pictures of both workers, which get clients by chance; then others get theirs
    local readers=() i
    for i in $(seq 64); do
        inside curl -s --limit-rate 200 -o /dev/null "http://10.99.0.2:8005/mandelbrot?mode=buffered&w=1024&h=1024&steps=1" &
        readers+=($!)
        [ "$i" -lt 16 ] || ! within 2 is 503 || break
    done
    [ "$i" -lt 64 ] || return 1
    within 60 is 200 || return 1
    kill "${readers[@]}" 2>/dev/null || true
    wait "${readers[@]}" 2>/dev/null || true
}
is() { for _ in 1 2 3 4; do [ "$(status '8005/mandelbrot?w=16&h=16')" = "$1" ] || return 1; done; }
claim "clients that do not take their pictures are reset" slow_readers

elvis() {  # every cut into two segments, and one byte at a time
    inside python3 -c '
import socket, time
data = b"elvis eelvis elvi"
def ask(pieces):
    s = socket.create_connection(("10.99.0.2", 8007), timeout=20)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for piece in pieces:
        s.sendall(piece)
        time.sleep(0.002)
    s.shutdown(socket.SHUT_WR)
    return b"".join(iter(lambda: s.recv(65536), b""))
for cut in range(1, len(data)):
    assert ask([data[:cut], data[cut:]]) == b"Elvis eElvis elvi", cut
assert ask([data[i:i + 1] for i in range(len(data))]) == b"Elvis eElvis elvi"
big = b"the king is elvis. " * 50000
s = socket.create_connection(("10.99.0.2", 8007), timeout=20)
import threading
def send():
    s.sendall(big)
    s.shutdown(socket.SHUT_WR)
sender = threading.Thread(target=send)
sender.start()
got = b"".join(iter(lambda: s.recv(65536), b""))
sender.join()
assert got == big.replace(b"elvis", b"Elvis"), len(got)'
}
claim "elvis replaces its name however the stream is cut" elvis
claim "every received packet is accounted for" balance_is_zero
claim "the server stops" stop_server
finish
