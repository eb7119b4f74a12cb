#!/usr/bin/env python3
"""What tests/e2e/tree.sh asks of the tree of a running server.
    tree.py docs TREE PAGE    every file, and every line of a `name value` file, is on the page docs/tree.md
                              and every row of it has a file
    tree.py read TREE COUNT SECONDS   reads the whole tree COUNT times in at least that time
    tree.py moves TREE COMMAND...     values grow while the command runs, and none that only grows goes back
    tree.py sums TREE         what several files tell of the same thing is the same"""
import os
import re
import subprocess
import sys
import time


def files_of(tree):
    return sorted(os.path.relpath(os.path.join(d, f), tree) for d, _, names in os.walk(tree) for f in names)


def read(tree, path):
    with open(os.path.join(tree, path)) as f:
        return f.read()


def values(tree, path):
    found = {}
    for line in read(tree, path).splitlines():
        name, value = line.split(" ", 1)
        assert name not in found, f"{path}: {name} comes twice"
        found[name] = value
    return found


def pattern(text, rest):
    return re.compile("".join(rest if re.fullmatch(r"[A-Z]+", part) else re.escape(part)
                              for part in re.split(r"([A-Z]+)", text)) + "$")


def rows_of(page):
    """(path, its pattern, sometimes, cell) of each row."""
    rows = []
    for line in open(page):
        m = re.match(r"\| `([^`]+)`( \(sometimes\))? \| (.*) \| [^|]* \|$", line.rstrip("\n"))
        if m:
            rows.append((m[1], pattern(m[1], r"[^/]+"), bool(m[2]), m[3]))
    return rows


def line_problems(tree, path, cell):
    names = [pattern(n, r"\S+") for n in re.findall(r"`([\w ]+)`", cell)]
    wrong = []
    for line in read(tree, path).splitlines():
        name = line if line.startswith("stalled ") else line.split(" ")[0]
        if not any(n.match(name) for n in names):
            wrong.append(f"{path}: {name}: not on the page")
        if not re.match(r"\S+ \S", line):
            wrong.append(f"{path}: not a name and a value: {line}")
    return wrong


def docs(tree, page):
    rows, wrong = rows_of(page), []
    files = files_of(tree)
    assert len(files) > 50 and len(rows) > 40, (files, rows)
    for path in files:
        row = next((r for r in rows if r[1].match(path)), None)
        if row is None:
            wrong.append(f"{path}: not on the page")
        elif not re.search(r"\((table|stream)\)", row[3]) and "one line" not in row[3] and "/" in path:
            wrong += line_problems(tree, path, row[3])
    wrong += [f"{r[0]}: no such file" for r in rows if not r[2] and not any(map(r[1].match, files))]
    print(f"{len(files)} files, {len(rows)} rows")
    return wrong


def read_all(tree):
    """All but what never ends, or takes a profile; returns the bytes."""
    return sum(len(read(tree, f)) for f in files_of(tree)
               if not re.search(r"/dump$|^dump/(?!status|new)|^prof/(?!query|runs)", f) and os.stat(os.path.join(tree, f)).st_mode & 0o444)


def read_often(tree, count, seconds):
    took = []
    for _ in range(int(count)):
        began = time.monotonic()
        size = read_all(tree)
        took.append(time.monotonic() - began)
        time.sleep(max(0, float(seconds) / int(count) - took[-1]))
    print(f"{size} bytes, {sorted(took)[len(took) // 2] * 1000:.1f} ms each time")
    return []


def watched(tree):
    """Those that only grow, by file and name; a stall of unknown cause may find its own later."""
    return {(f, n): float(v) for f in files_of(tree)
            if re.match(r"cores/[^/]+/(counters|drops|stall_causes|interrupts|sched)$|ports/.*/(counters|xstats)$|apps/.*/counters$", f)
            for n, v in values(tree, f).items()
            if re.fullmatch(r"[\d.]+", v) and not re.search(r"(_now|_high|_per_s|_percent|_max|balance)$|^unknown_", n)}


def moves(tree, *command):
    before, up = watched(tree), [float(x) for x in read(tree, "uptime").split()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after, later = watched(tree), [float(x) for x in read(tree, "uptime").split()]
    wrong = [f"{k[0]}: {k[1]} went from {before[k]} to {after.get(k)}" for k in before if after.get(k, -1) < before[k]]
    if not (later[0] > up[0] and later[1] >= up[1]):
        wrong.append(f"uptime stands still: {up}, {later}")
    grown = {k for k in before if after.get(k, 0) > before[k]}
    for file, name in (("cores/", "rx_packets"), ("cores/", "turns_busy"), ("ports/", "tx_packets"), ("apps/web/", "requests"),
                       ("cores/", "involuntary_switches"), ("cores/", "irq_total")):
        if not any(k[0].startswith(file) and k[1] == name for k in grown):
            wrong.append(f"{file}.../{name} did not grow")
    return wrong


def sums(tree):
    files, wrong = files_of(tree), []

    def total(regex, name):
        return sum(int(values(tree, f)[name]) for f in files if re.match(regex, f))

    def same(what, a, b):
        print(what, a, b)
        if a != b:
            wrong.append(f"{what}: {a} and {b}")

    cores = "cores/[^/]+/counters$"
    same("balance", total(cores, "balance"), 0)
    lost = total("ports/[^/]+/workers$", "lost")
    same("packets on the wrong core, by port and by worker", total("ports/[^/]+/workers$", "wrong_core_packets"), total(cores, "handed_out") + lost)
    same("packets lost between workers", lost, total("cores/[^/]+/drops$", "handoff_full"))
    for f in files:
        if re.fullmatch("ports/[^/]+/workers", f):
            v = {n: int(x) for n, x in values(tree, f).items()}
            each = lambda name: sum(x for n, x in v.items() if re.fullmatch(r"worker_\d+_" + name, n))
            same(f"{f}: each and all", each("wrong_core_packets"), v["wrong_core_packets"])
            same(f"{f}: given and taken", each("wrong_core_packets") + each("copies"), each("taken_over") + each("lost") + each("waiting_now"))
    for f in files:
        if re.match("ports/.*/xstats$", f) and "rx_good_packets" in values(tree, f):
            x, c = values(tree, f), values(tree, f.replace("xstats", "counters"))
            same(f"{f} and counters, received", x["rx_good_packets"], c["rx_packets"])
            same(f"{f} and counters, sent", x["tx_good_packets"], c["tx_packets"])
    # What a worker took from a port is its own, or handed to another; copies of ARP are made.
    got = total(cores, "rx_packets") - total(cores, "handed_in") + total(cores, "handed_out")
    ports = total(r"ports/[^/]+/counters$", "rx_packets") - total(r"ports/[^/]+/counters$", "rx_taken_away") + total(r"ports/[^/]+/counters$", "rx_added")
    same("received, by ports and by workers", got, ports)
    pools = {n: int(v) for n, v in values(tree, "mem/pools").items()}
    for name in [n[:-5] for n in pools if n.endswith("_size") and not n.startswith("worker_")]:
        for what in ("size", "free_now", "used_now", "used_high"):
            each = [v for n, v in pools.items() if re.fullmatch(rf"worker_\d+_{name}_{what}", n)]
            if each and what in ("size", "used_high"):
                same(f"mem/pools {name}_{what}", pools[f"{name}_{what}"], sum(each))
        if not pools[f"{name}_used_now"] <= pools[f"{name}_used_high"] <= pools[f"{name}_size"]:
            wrong.append(f"mem/pools: {name}: used, highest and size are not in order")
    same("connections open", pools["blocks_used_now"], total(cores, "connections_now"))
    return wrong


def main():
    what, tree, *rest = sys.argv[1:]
    wrong = {"docs": docs, "read": read_often, "moves": moves, "sums": sums}[what](tree, *rest)
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
