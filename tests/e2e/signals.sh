#!/usr/bin/env bash
# Any signal at any time leaves nothing behind but a right exit status. SEED=N repeats a run.
. "$(dirname "$0")/lib.sh"
SEED=${SEED:-$RANDOM$RANDOM}
echo "seed $SEED"
ulimit -c 0
claim "pairs of signals at random moments" inside python3 "$HERE/signals.py" "$C10M" "$TMP/life" "sig$$" "$SEED"
[ "$FAILED" = 0 ] && tail -1 "$TMP/out"
finish
