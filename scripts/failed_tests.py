#!/usr/bin/env python3
"""failed_tests.py FOLDER [--names]: the failed tests of the last `meson test` in a build folder, each with the lines of its
output that say what failed (at most LINES of WIDTH characters), or their names only."""
import json
import pathlib
import re
import sys

LINES, WIDTH = 16, 300
FAILED = ("FAIL", "ERROR", "TIMEOUT")
TELLING = re.compile(r"^\s*FAIL|\[  FAILED  \] \w+$|\[  ERROR   \]|\[   LINE   \]|Assertion|Traceback|\w+Error\b|"
                     r"ERROR: \w+Sanitizer|runtime error:|SUMMARY:|[Ss]eed")


def telling(output):
    """The claims that failed, each with the line behind it; where there are none, the last lines."""
    lines = [line[:WIDTH] for line in output.splitlines() if line.strip()]
    chosen = sorted({i + d for i, line in enumerate(lines) if TELLING.search(line) for d in (0, 1)})
    return [lines[i] for i in chosen if i < len(lines)][:LINES] or lines[-LINES:]


def main():
    log = pathlib.Path(sys.argv[1], "meson-logs", "testlog.json")
    if not log.exists():
        return
    for line in log.read_text().splitlines():
        test = json.loads(line)
        if test["result"] not in FAILED:
            continue
        name = test["name"].split(" / ")[-1]
        if "--names" in sys.argv:
            print(name)
        else:
            print("  %s: %s" % (name, test["result"]))
            for text in telling(test.get("stdout", "") + "\n" + test.get("stderr", "")):
                print("      " + text)


main()
