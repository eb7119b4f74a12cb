#!/usr/bin/env bash
# 5 % loss, 5 % reorder, 2 % duplicate, 1 % corrupt: 10 MB up and down, at the same time, arrive exactly.
. "$(dirname "$0")/lib.sh"
dd if=/dev/urandom of="$TMP/site/ten" bs=1M count=10 status=none
write_conf "[port bad]
driver = fault
wraps = tap0
seed = ${SEED:-1}
loss = 5
reorder = 5
duplicate = 2
corrupt = 1"
start_server
download() { inside curl -s -m 300 http://10.99.0.2/ten | cmp - "$TMP/site/ten"; }
setpriv --pdeathsig KILL timeout 400 nsenter --net=/run/netns/"$NS" python3 "$HERE/echo_file.py" 10.99.0.2 "$TMP/site/ten" >"$TMP/upload" 2>&1 &
UPLOAD=$!
uploaded() { wait $UPLOAD || { cat "$TMP/upload"; false; }; }
claim "10 MB download arrives exactly" download
claim "10 MB upload and its echo arrive exactly" uploaded
claim "every received packet is accounted for" balance_is_zero
claim "segments were lost and sent again" [ "$(counter tx_retransmits_segs)" -gt 100 ]
claim "the server stops" stop_server
finish
