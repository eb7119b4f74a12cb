#!/usr/bin/env python3
"""bench_probe: how long the control tree takes to answer, while something else is measured.

  bench_probe.py FILE     opens and reads FILE again and again, 20 times a second, until SIGTERM;
                          then one JSON object: reads, failed, and the times in ms

A read that fails counts as failed.
"""
import json
import signal
import sys
import time

EVERY_S = 0.05


def main(path):
    going = [True]
    signal.signal(signal.SIGTERM, lambda *_: going.__setitem__(0, False))
    took, failed = [], 0
    while going[0]:
        begin = time.monotonic()
        try:
            with open(path, "rb") as file:
                failed += not file.read()
        except OSError:
            failed += 1
        took.append(1000 * (time.monotonic() - begin))
        time.sleep(EVERY_S)
    took.sort()
    json.dump({"reads": len(took), "failed": failed, "p50_ms": round(took[len(took) // 2], 3), "max_ms": round(took[-1], 3)}, sys.stdout)
    print()


if __name__ == "__main__":
    main(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)
