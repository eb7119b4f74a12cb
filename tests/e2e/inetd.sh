#!/usr/bin/env bash
# The small services of inetd over a TAP: echo, discard, chargen, daytime; over UDP as well.
. "$(dirname "$0")/lib.sh"
write_conf
start_server
claim "echo, discard, chargen and daytime answer as their RFCs say" inside python3 "$HERE/inetd.py" 10.99.0.2
claim "every received packet is accounted for" balance_is_zero
claim "the server stops" stop_server
finish
