#!/usr/bin/env bash
# A port's interface is deleted and made again while connections are held, pages are fetched and the tree is read: the server
# goes on, new connections and the held ones work again, counters do not fall, and no packet is lost to the pool. Ten times each.
. "$(dirname "$0")/lib.sh"
TIMES=10
HOLDER= READER= FETCHER=
cleanup_first() {
    local p
    for p in $HOLDER $READER $FETCHER; do kill -9 "$p" 2>/dev/null; done
}
# conf WORKERS LINE...: one port, which is p0.
conf() {
    write_conf
    python3 - "$TMP/conf" "$1" "$(printf '%s\n' "${@:2}" "address = 10.99.0.2/24, fd99::2/64")" <<'PY'
import re, sys
t = open(sys.argv[1]).read()
t = re.sub(r"\[port tap0\].*?(?=\[service)", f"[port p0]\nqueues = {sys.argv[2]}\n" + sys.argv[3] + "\n", t, flags=re.S)
t = t.replace("[memory]\n", f"[cpu]\nlinux = 0\nworkers = 1\nworkers_per_core = {sys.argv[2]}\n[memory]\nhugepage = none\n")
open(sys.argv[1], "w").write(t)
PY
}
make_veth() {
    inside ip link add va type veth peer name vb
    inside ip addr add 10.99.0.1/24 dev vb
    inside ip addr add fd99::1/64 dev vb nodad
    inside ip link set vb up
    inside ethtool -K vb tx off tso off gso off gro off >/dev/null 2>&1
    inside ip link set va up
}
delete_veth() { inside ip link del va; }
make_tap() { :; }  # the server does
delete_tap() { inside ip link del c10mt0; }
lost_tap() { [ "$(link reopened)" -ge "$1" ]; }  # it may be back before anybody looks
lost_veth() { [ "$(link status) $(link reason)" = "down gone" ]; }
unsent() { count tx_no_device; }
more_unsent() { [ "$(unsent)" -gt "$1" ] || { cat "$TREE/ports/p0/counters"; return 1; }; }

link() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/ports/p0/link"; }
count() { awk -v n="$1" '$1 == n { print $2 }' "$TREE/ports/p0/counters"; }
link_is_up() { [ "$(link status) $(link reason)" = "up none" ] || { cat "$TREE/ports/p0/link" "$TMP/log"; return 1; }; }
reopened_is() { [ "$(link reopened)" = "$1" ] || { cat "$TREE/ports/p0/link" "$TMP/log"; return 1; }; }
page() { inside curl -sf -m 2 http://10.99.0.2/ | grep -q hello; }
page6() { inside curl -sf -m 2 'http://[fd99::2]/' | grep -q hello; }
says() { "$@" || { echo "no $1"; inside ip neigh; cat "$TREE/net/arp"; tail -n 5 "$TMP/log"; return 1; }; }
used() { awk '$1 == "packets_used_now" { print $2 }' "$TREE/mem/pools"; }
# no_more_used N: of af_xdp, the packets of the last burst are in use until something else is sent.
no_more_used() { [ "$(used)" -le "$1" ] || { echo "$(used) packets in use, $1 before"; return 1; }; }
rounds() { cat "$TMP/rounds"; }
all_went_on() { # since N rounds
    [ "$(rounds)" -ge $(($1 + 2)) ] || { echo "$(rounds) rounds, $1 before"; cat "$TMP/holder"; return 1; }
}

# Every counter of the port and of the workers, over and over: none falls.
cat >"$TMP/read.py" <<'PY'
import glob, sys, time
last, looks = {}, 0
while True:
    for path in glob.glob(sys.argv[1] + "/ports/p0/counters") + glob.glob(sys.argv[1] + "/cores/*/counters"):
        for line in open(path):
            name, value = line.split()
            if name.endswith("_now") or name == "balance":
                continue
            key, value = path + " " + name, int(value)
            if value < last.get(key, 0):
                print(f"{key} fell from {last[key]} to {value}", flush=True)
                sys.exit(1)
            last[key] = value
    for other in ("ports/p0/xstats", "ports/p0/driver", "ports/p0/rss", "ports/p0/queues", "verdict"):
        open(sys.argv[1] + "/" + other).read()
    looks += 1
    if looks == 1:
        print("reading", flush=True)
    time.sleep(0.02)
PY
start_clients() {
    echo 0 >"$TMP/rounds"
    nsenter --net=/run/netns/"$NS" python3 "$HERE/hold.py" 10.99.0.2 "$TMP/rounds" 19 >"$TMP/holder" 2>&1 &
    HOLDER=$!
    python3 "$TMP/read.py" "$TREE" >"$TMP/reader" 2>&1 &
    READER=$!
    (while :; do inside curl -s -m 1 "http://10.99.0.2/?[1-50]" >/dev/null 2>&1; done) &
    FETCHER=$!
    within 20 all_went_on 0 && within 20 grep -q reading "$TMP/reader"
}
stop_one() { kill "$1" 2>/dev/null; wait "$1" 2>/dev/null || true; }
one_time() { # KIND N
    local before unsent
    before=$(rounds) unsent=$(unsent)
    "delete_$1"
    within 20 "lost_$1" "$2" || return
    # A tap is back at once, and nothing is to be sent meanwhile.
    [ "$1" = tap ] || within 20 more_unsent "$unsent" || return
    "make_$1"
    within 20 reopened_is "$2" && within 20 link_is_up && within 20 says page && within 20 says page6 && within 60 all_went_on "$before"
}
often() { # KIND
    local i
    for ((i = 1; i <= TIMES; i++)); do
        one_time "$1" "$i" || { echo "the ${i}th time"; return 1; }
    done
}
stay() {
    kill -0 "$HOLDER" && kill -0 "$READER" || { cat "$TMP/holder" "$TMP/reader"; return 1; }
}
round_about() { # KIND NAME
    local before room=8
    claim "$2: the server starts" start_server
    claim "... a page" within 20 page
    before=$(used)
    claim "... connections are held, pages fetched, the tree is read" start_clients
    claim "... $TIMES times its interface is deleted and made again: new connections and the held ones go on, what could not be sent is counted" often "$1"
    claim "... no held connection was closed, no counter has fallen" stay
    claim "... the log says so" eval '[ "$(grep -c "port p0: the device is open again, after" "$TMP/log")" -ge '"$TIMES"' ]'
    stop_one "$HOLDER"; stop_one "$READER"; stop_one "$FETCHER"
    HOLDER= READER= FETCHER=
    claim "... every packet is accounted for" balance_is_zero
    # af_xdp keeps those of the last burst that it sent until it sends again.
    [[ $2 != af_xdp* ]] || room=64
    claim "... and back in its pool" within 30 no_more_used $((before + room))
    claim "... the server stops" stop_server
}

conf 1 "driver = tap" "device = c10mt0" "host_address = 10.99.0.1/24, fd99::1/64"
round_about tap tap
conf 2 "driver = tap" "device = c10mt0" "host_address = 10.99.0.1/24, fd99::1/64"
round_about tap "tap, two workers"
for row in "1 af_packet" "2 af_packet" "1 af_xdp"; do
    make_veth
    conf ${row% *} "driver = ${row#* }" "device = va"
    round_about veth "${row#* }, workers: ${row% *}"
    delete_veth
done
make_veth
conf 1 "driver = fault" "wraps = p1" "loss = 1" "reorder = 1" "delay_ms = 3" "seed = 1"
printf '[port p1]\ndriver = af_packet\ndevice = va\n' >>"$TMP/conf"
round_about veth "af_packet in a fault port"
claim "... the interface goes, and the server stops without it" eval 'start_server && delete_veth && within 20 lost_veth && stop_server'
finish
