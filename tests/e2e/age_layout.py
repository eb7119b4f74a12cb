#!/usr/bin/env python3
"""age_layout.py FILE TYPES: rewrites the memory FILE that a killed server has left as if a program before had written it
(tests/e2e/converts.c): version 0, the halves of each record exchanged. The first lines of that layout go into the file
TYPES. Prints how many records it has changed that were in use."""
import mmap
import os
import pathlib
import re
import sys

STATE_BYTES = 16384  # ADOPTION_STATE_BYTES
LINE = 64
# The layout's names of regions, and of their records' sizes.
RECORDS = {"blocks": "block", "extensions": "ext", "syn_records": "syn", "time_wait": "time_wait",
           "time_wait6": "time_wait6"}


def exchange(memory, at, bytes_):
    """The halves of one record; whether it has a byte that is not 0."""
    half = bytes_ // 2
    record = memory[at:at + bytes_]
    memory[at:at + bytes_] = record[half:] + record[:half]
    return record.count(0) < bytes_


def main():
    path, types = sys.argv[1:]
    fd = os.open(path, os.O_RDWR)
    memory = mmap.mmap(fd, os.fstat(fd).st_size)
    begin = memory.find(b"version ", 0, STATE_BYTES)
    text = memory[begin:memory.find(b"\0", begin)].decode()
    sizes = dict(re.findall(r"\b(block|ext|syn|time_wait) (\d+)", text.split("\nworker ")[0]))
    sizes["time_wait6"] = re.search(r"\btime_wait \d+ (\d+)", text)[1]
    workers = int(re.search(r"^\[cpu\] workers (\d+)$", text, re.M)[1])
    regions, end = {}, 0
    for name, count, length in re.findall(r"^memory (\S+) (\d+) (\d+)$", text, re.M):
        regions[name] = (end, int(count))
        end += (int(length) + LINE - 1) // LINE * LINE
    changed = 0
    for w in range(workers):
        base = STATE_BYTES + w * end
        for region, record in RECORDS.items():
            offset, count = regions[region]
            changed += sum(exchange(memory, base + offset + i * int(sizes[record]), int(sizes[record])) for i in range(count))
    old = re.sub(r"\Aversion \d", "version 0", text)
    assert len(old) == len(text), "one digit for the version"
    memory[begin:begin + len(old)] = old.encode()
    pathlib.Path(types).write_text(old[:old.index("\nworker ") + 1])
    print(changed)


main()
