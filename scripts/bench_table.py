#!/usr/bin/env python3
"""bench_table: what the benchmarks measured, beside what is promised.

  bench_table.py add FILE NAME [JSON]   flattens one JSON object (stdin, if no file is named) into FILE
  bench_table.py table FILE             promise, measured, limit or peer of the same run, ratio, verdict; status 1: one is missed
  bench_table.py json FILE              the same, and every figure, as one JSON object
  bench_table.py go FILE                the micro-benchmarks and costs as Go's benchmark text, for benchstat
  bench_table.py history FILE TSV       appends every row of the table to TSV: date, commit, processor, row, figures
  bench_table.py self-test

FILE holds one figure a line: name, tab, value. The name of a figure is its way through the JSON object; the
element of a list is named by its "connections", "name" or "pages", else by its number:
echo/rows/10M/ratio.
"""
import datetime
import json
import os
import subprocess
import sys
import tempfile

BY = ("connections", "name", "workers", "pages", "page_bytes", "packets_per_s", "rate", "bytes")  # what tells the elements of a list apart


def count(n):
    """10000000 -> 10M; what is no round number of thousands stays."""
    for unit, text in ((1000000, "M"), (1000, "k")):
        if isinstance(n, int) and n >= unit and n % unit == 0:
            return "%d%s" % (n // unit, text)
    return str(n)


def flatten(value, name):
    """(name, figure) of every number, truth value and string in a JSON value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flatten(inner, "%s/%s" % (name, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            by = [inner[key] for key in BY if isinstance(inner, dict) and key in inner]
            if by and "workers" in inner:
                by = [inner["workers"]]
            yield from flatten(inner, "%s/%s" % (name, count(by[0]) if by else i))
    elif value is not None:
        yield name, value


def read(path):
    """The figures of a file; a later line of the same name counts."""
    found = {}
    for line in open(path, encoding="utf-8"):
        name, _, value = line.rstrip("\n").partition("\t")
        value = value.partition("\t")[0]  # a unit may follow
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = {"True": 1.0, "False": 0.0}.get(value, value)
    return found


# A row of the table. `names`: figures it is made of; it is there only if they all are. `measured` and `limit`
# make texts, `ratio` a number. `good`: a hard verdict, of what noise cannot move. `reached`: whether an absolute
# figure, which is the machine's as well, is as promised; it decides nothing.
class Row:
    def __init__(self, section, promise, names, measured, limit=None, ratio=None, good=None, reached=None):
        self.section, self.promise, self.names = section, promise, names
        self.measured, self.limit, self.ratio, self.good, self.reached = measured, limit, ratio, good, reached

    def verdict(self, v):
        if self.good is not None and not self.good(*v):
            return "MISSED"
        if self.reached is not None:
            return "reached" if self.reached(*v) else "below"
        return "kept" if self.good is not None else "reported"

    def of(self, figures):
        if not all(name in figures for name in self.names):
            return None
        v = [figures[name] for name in self.names]
        return {
            "section": self.section,
            "promise": self.promise,
            "measured": self.measured(*v),
            "limit": self.limit(*v) if self.limit else "",
            "ratio": round(self.ratio(*v), 4) if self.ratio else None,
            "verdict": self.verdict(v),
        }


def rate(v):
    return "%.2f M/s" % (v / 1e6) if v >= 1e6 else "%.0f k/s" % (v / 1e3) if v >= 1e4 else "%.0f /s" % v


def us(v):
    return "%.0f us" % v if v >= 10 else "%.1f us" % v


# What is promised of `c10m bench echo`: connections, least share of the bare loop's rate in percent. Other
# numbers of connections are reported.
ECHO = {"1k": 55, "10k": None, "100k": None, "1M": None, "10M": 65}


def echo_rows():
    for n, least in ECHO.items():
        base = "echo/rows/%s/" % n
        yield Row("packets", "%s connections at random%s" % (n, ": %d %% of the bare loop" % least if least else ""),
                  [base + "server_mpps", base + "bare_mpps", base + "ratio"],
                  lambda s, b, r: "%.2f Mpps" % s, lambda s, b, r: "bare loop %.2f Mpps" % b,
                  lambda s, b, r: r, least and (lambda s, b, r, least=least: 100 * r >= least))
    yield Row("packets", "datagrams of 60 bytes, echoed", ["udp/ok", "udp/answers_per_s", "udp/server_datagram_mpps", "udp/lost"],
              lambda ok, a, busy, lost: "%s, %.0f lost" % (rate(a), lost), lambda ok, a, busy, lost: "worker: %s" % rate(busy * 1e6),
              None, lambda ok, a, busy, lost: ok == 1)


def connection_rows():
    for family in (4, 6):
        base = "hold%d/" % family
        yield Row("connections", "held and asked at random, three rounds, IPv%d" % family,
                  [base + name for name in ("connections", "ok", "answered", "answers_per_s", "lost")],
                  lambda c, ok, a, r, lost: "%s, %s answers at %s, %.0f lost" % (count(int(c)), count(int(a)), rate(r), lost),
                  None, None, lambda c, ok, a, r, lost: ok == 1 and lost == 0)
    yield Row("connections", "at most 288 bytes a connection", ["hold4/server/per_connection_bytes", "hold4/connections"],
              lambda b, c: "%.1f bytes" % b, lambda b, c: "288 bytes", lambda b, c: b / 288, lambda b, c: b <= 288 or c < 1e6)
    yield Row("connections", "as many as memory holds, each asked",
              ["max/" + name for name in ("connections", "ok", "answered", "lost", "server/per_connection_bytes")],
              lambda c, ok, a, lost, b: "%.1f M, %.0f lost, %.1f bytes each" % (c / 1e6, lost, b), lambda c, ok, a, lost, b: "50 M in 20 GiB",
              None, lambda c, ok, a, lost, b: ok == 1 and lost == 0)
    keepalive = ["keepalive_%s_%d/server_cycles_per_packet" % (which, n) for which in ("off", "on") for n in (1, 2)]
    yield Row("connections", "keepalive armed on all, cycles a packet", keepalive + ["keepalive_on_1/connections"],
              lambda a, b, c, d, n: "%.0f cycles with %s armed" % (min(c, d), count(int(n))), lambda a, b, c, d, n: "without: %.0f cycles" % min(a, b),
              lambda a, b, c, d, n: min(c, d) / min(a, b), None, lambda a, b, c, d, n: min(c, d) / min(a, b) <= 1.05)
    yield Row("connections", "1 M full connections/s that live for some time",
              ["lives/" + name for name in ("ok", "full_per_s", "failed", "life_s", "lives_most", "client_late")],
              lambda ok, per, failed, life, most, late: "%s of %.0f s, %.1f M open, %.0f failed" % (rate(per), life, most / 1e6, failed),
              lambda ok, per, failed, life, most, late: "not opened in time: %.0f" % late, lambda ok, per, failed, life, most, late: per / 1e6,
              lambda ok, per, failed, life, most, late: ok == 1 and failed == 0, lambda ok, per, failed, life, most, late: per >= 0.99e6)
    for what, name in (("closed by the client", "rate_client"), ("closed by the server", "rate_server"), ("while others are open", "rate_held")):
        base = name + "/"
        yield Row("connections", "1 M full connections/s, %s" % what,
                  [base + n for n in ("ok", "full_per_s", "failed", "held", "server_busy_per_s")],
                  lambda ok, per, failed, held, busy: "%s, %.0f failed%s" % (rate(per), failed, ", %s held" % count(int(held)) if held else ""),
                  lambda ok, per, failed, held, busy: "worker: %s of busy time" % rate(busy),
                  lambda ok, per, failed, held, busy: per / 1e6,
                  lambda ok, per, failed, held, busy: ok == 1 and failed == 0, lambda ok, per, failed, held, busy: per >= 1e6)


def byte_rows():
    for way in ("down", "up"):
        base = "stream_%s/" % way
        yield Row("bytes", "25 Gb/s of goodput %s, 1,448 bytes a segment" % way,
                  [base + n for n in ("ok", "goodput_gbps", "server_busy_gbps", "bytes_per_segment")],
                  lambda ok, g, busy, seg: "%.1f Gb/s" % g, lambda ok, g, busy, seg: "worker: %.1f Gb/s of busy time" % busy,
                  lambda ok, g, busy, seg: g / 25, lambda ok, g, busy, seg: ok == 1, lambda ok, g, busy, seg: g >= 25)


def time_rows():
    yield Row("latency", "rx to tx at half load, p99.9: 10 us above an idle loop's",
              ["jitter/rx_to_tx_us/p99_9", "jitter/idle_loop_us/p99_9", "jitter/p99_9_above_idle_us", "jitter/requests_per_s"],
              lambda tx, idle, above, r: "%s at %s" % (us(tx), rate(r)), lambda tx, idle, above, r: "idle loop: %s" % us(idle),
              lambda tx, idle, above, r: tx / idle if idle else 0, None, lambda tx, idle, above, r: above <= 10)
    for quantile in ("p50", "p99", "p99_9", "p99_99", "max"):
        yield Row("latency", "client, rx to tx, %s" % quantile.replace("99_9", "99.9"),
                  ["jitter/client_us/" + quantile, "jitter/rx_to_tx_us/" + quantile, "jitter/idle_loop_us/" + quantile],
                  lambda c, tx, idle: "%s, %s" % (us(c), us(tx)), lambda c, tx, idle: "idle loop: %s" % us(idle))
    for cycles, r in ((1400, 1000000), ):
        base = "budget/trials/1M/"
        yield Row("latency", "an application of %d cycles at %s" % (cycles, rate(r)),
                  [base + n for n in ("calm_lost", "calm_requests", "lost", "requests", "busy_share")],
                  lambda cl, cr, l, n, b: "%.0f of %.0f lost undisturbed, %.0f of %.0f in all" % (cl, cr, l, n),
                  lambda cl, cr, l, n, b: "core %.0f %% busy" % (100 * b), None, None, lambda cl, cr, l, n, b: cl == 0 and cr > 0)
    for n in ("1M", "10M"):
        base = "budget/largest/%s/" % n
        yield Row("latency", "largest application at %s/s a worker" % n, [base + "largest_cycles", base + "useful_share", base + "cycles_without"],
                  lambda c, u, w: "%.0f cycles a packet" % c, lambda c, u, w: "without: %.0f cycles" % w)


def tree_rows():
    base = "tree/rows/10k/"
    for against, what in (("to_alone", "alone"), ("to_busy", "the other core busy with lines of its own")):
        yield Row("control", "the whole tree read ten times a second: under 1 %% more cycles a packet than %s" % what,
                  [base + "reading_cycles", base + against[3:] + "_cycles", base + against],
                  lambda r, a, q: "%.1f cycles a packet" % r, lambda r, a, q: "%.1f cycles" % a, lambda r, a, q: q, None,
                  lambda r, a, q: q <= 1.01)


def part_rows():
    for name, peer in (("Checksum/64B", "rte_raw_cksum"), ("Checksum/1460B", "rte_raw_cksum"), ("FlowFind/1M", "rte_hash"), ("TimerArm/1M", "rte_timer")):
        base = "micro/rows/%s/" % name
        yield Row("parts", name, [base + "ns_per_op", base + "times_peer"], lambda v, t: "%.1f ns" % v,
                  lambda v, t, peer=peer: "%s %.1f ns" % (peer, v * t), lambda v, t: t)
    for n in ("1k", "1M"):
        base = "pipeline/rows/%s/" % n
        yield Row("parts", "run to completion beside a two-core pipeline, %s connections" % n,
                  [base + k for k in ("one_core_pps", "two_cores_pps", "per_core_ratio")], lambda a, b, r: rate(a) + " a core",
                  lambda a, b, r: "pipeline %s on two cores" % rate(b), lambda a, b, r: 1 / r, lambda a, b, r: r < 1)
    for n in ("10k", "100k", "1M", "10M"):
        yield Row("parts", "a packet at %s connections" % n, ["growth/rows/%s/cycles_per_packet" % n, "growth/rows/1k/cycles_per_packet"],
                  lambda v, one: "%.0f cycles" % v, lambda v, one: "at 1 k: %.0f cycles" % one, lambda v, one: v / one)
    for n in (2, 4, 8):
        yield Row("parts", "cost of a packet with %d workers within 5 %% of one's" % n,
                  ["scale/rows/%d/to_first" % n], lambda v: "%.3f of it" % v, None, lambda v: v, lambda v: v <= 1.05)


def machine_rows():
    for name, what in (("l2", "L2"), ("l3", "L3"), ("dram", "DRAM"), ("batch", "one of 32 fetched together"), ("syscall", "system call"),
                       ("hop", "ring, one way to the other core")):
        yield Row("machine", what, ["machine/ns/" + name], lambda v: "%.1f ns" % v)


def kernel_port_rows(port):
    """Ratios to nginx on the kernel, more is better, at 1, 10, 100, 1,000 connections; frames lost there."""
    counts = (1, 10, 100, 1000)
    loads = (("keep", "requests"), ("close", "a connection a request, wrk"), ("ab", "a connection a request, ab"))
    for load, what in loads:
        for name, of in (("rate", "rate"), ("p50", "p50"), ("p99", "p99")):
            yield Row("peers", "%s, %s: %s better than nginx's, 1 to 1,000 connections" % (port, what, of),
                      ["kernel_ports/%s/%s/%d/%s_ratio" % (port, load, n, name) for n in counts],
                      lambda *r: " ".join("%.2f" % v for v in r), None, lambda *r: min(r), None, lambda *r: min(r) >= 1)
    yield Row("peers", "%s: no frame lost on its way, either way" % port,
              ["kernel_ports/%s/%s/%d/lost" % (port, load, n) for load, _ in loads for n in counts],
              lambda *r: "%.0f frames" % sum(r), None, None, lambda *r: sum(r) == 0)


def peer_rows():
    for n in (1, 2, 8, 64):
        base = "latency/%d/" % n
        yield Row("peers", "a page to %d clients at a time: at most nginx's time" % n,
                  [base + "c10m_us", base + "nginx_us", base + "free_us"],
                  lambda c, x, f: us(c), lambda c, x, f: "nginx %s, on its own choice of core %s" % (us(x), us(f)),
                  lambda c, x, f: c / x, lambda c, x, f: c <= x)
    for port in ("tap", "af_packet", "af_xdp"):
        yield from kernel_port_rows(port)
    for what, name, more in (("requests/s on 1 k connections", "requests_1k", rate), ("full connections/s", "connections", rate),
                             ("bytes an idle connection", "idle", lambda v: "%.0f bytes" % v)):
        for peer in ("epoll", "threads", "nginx"):
            yield Row("peers", "%s beside %s on the kernel" % (what, peer), ["peers_c10m_" + name, "peers_%s_%s" % (peer, name)],
                      lambda c, x, more=more: more(c), lambda c, x, more=more: more(x), lambda c, x: c / x)
    yield Row("peers", "datagrams of 64 bytes answered beside recvmmsg on the kernel", ["peers_c10m_udp", "peers_udp_udp"],
              lambda c, x: rate(c), lambda c, x: rate(x), lambda c, x: c / x)


RESTART_HARD = 5       # times the promised silence, which noise cannot make of it
RESTART_BYTES = 1 << 20  # of the streams for each restart: they are under way

# Cases of scripts/bench_restart.sh: name, what it is, connections that one restart may lose, silence in ms.
RESTARTS = (
    ("1M", "1M connections of a server that is killed: at most a burst lost, silence", 64, 1000),
    ("10M", "10M connections of a server that is killed: at most a burst lost, silence", 64, 3000),
    ("transfers", "connections of a server that is killed, transfers under way: at most a burst lost, silence", 64, 1000),
    ("transfers6", "the same over IPv6", 64, 1000),
    ("planned", "the same for planned restarts: none lost", 0, 1000),
    ("moved", "the same, each time with another number of workers: none lost", 0, 1000),
)


def restart_rows():
    for name, what, burst, limit_ms in RESTARTS:
        base = "restart/%s/" % name
        names = ["connections", "opened", "closed", "failed", "wrong", "lost", "refused", "kills", "longest_silence_ms", "silence_ms"]
        yield Row("restart", what, [base + n for n in names],
                  lambda n, opened, closed, failed, wrong, lost, refused, kills, ms, server_ms:
                  "%.0f ms, %.0f restarts, %.0f not adopted, %.0f of %s lost, %.0f wrong" % (ms, kills, refused, failed, count(int(n)), wrong),
                  lambda n, opened, closed, failed, wrong, lost, refused, kills, ms, server_ms, limit_ms=limit_ms:
                  "%d ms; no worker ran for %.0f ms" % (limit_ms, server_ms),
                  lambda *v, limit_ms=limit_ms: v[8] / limit_ms,
                  # `lost` are requests without an answer: those of connections that failed. What did not fail was closed in order.
                  lambda n, opened, closed, failed, wrong, lost, refused, kills, ms, server_ms, burst=burst, limit_ms=limit_ms:
                  opened == n and closed + failed == n and failed <= refused <= burst * kills and lost <= failed and wrong == 0
                  and ms <= RESTART_HARD * limit_ms,
                  lambda *v, limit_ms=limit_ms: v[8] <= limit_ms)
        names = ["connections", "opened", "closed", "failed", "wrong", "bytes"]
        yield Row("restart", "... %s: transfers both ways, each byte compared" % name,
                  [base + "stream/" + n for n in names] + [base + n for n in ("failed", "refused", "kills")],
                  lambda n, opened, closed, failed, wrong, size, *_:
                  "%.1f GB in %.0f streams, %.0f lost and opened again, %.0f wrong" % (size / 1e9, n, failed, wrong), None, None,
                  lambda n, opened, closed, failed, wrong, size, others, refused, kills:
                  opened >= n and closed + failed == opened and failed + others <= refused and wrong == 0 and size >= kills * RESTART_BYTES)


# The kinds of overload, what they are called, and the figure that is their peak.
OVERLOAD = (
    ("syn", "SYN flood of 1, 2, 10 times the peak beside good connections", "full_per_s"),
    ("connections", "connections at 1, 2, 10 times the peak", "full_per_s"),
    ("requests", "requests at 1, 2, 10 times the peak on open connections", "answers_per_s"),
    ("slow", "readers that take nothing, 1, 2, 10 times the send buffers", "answers_per_s"),
    ("pool", "idle connections, 1, 2, 10 times as many as there are", "full_per_s"),
    ("port", "a port that accepts nothing, transfers of 8, 16, 80 connections", "answers_per_s"),
)


def overload_rows():
    times = (1, 2, 10)

    def shares(v):
        return [good / peak if peak else 0 for good, peak in zip(v[:3], v[3:6])]

    for kind, what, peak in OVERLOAD:
        for server, name in (("c10m", "c10m"), ("veth", "c10m on the veth pair of nginx, limits set"), ("nginx", "nginx")):
            base = "overload/%s/%s/" % (server, kind)
            p99 = "full_p99_us" if peak == "full_per_s" else "p99_us"
            yield Row("overload", "%s: %s" % (name, what) + (": 90 % of the peak in good work" if server != "nginx" else ""),
                      [base + "%d/%s" % (n, name) for name in ("in_time_per_s", "peak/" + peak, p99) for n in times],
                      lambda *v: " ".join("%.0f %%" % (100 * s) for s in shares(v)) + ", p99 %.0f ms" % (v[8] / 1000),
                      lambda *v: "peak " + rate(v[5]), lambda *v: min(shares(v)), None,
                      None if server == "nginx" else
                      (lambda *v: min(shares(v)) >= 0.9))
        yield Row("overload", "control tree meanwhile, %s: answers within 100 ms" % kind,
                  ["overload/c10m/%s/%d/control/%s" % (kind, n, name) for name in ("max_ms", "failed", "reads") for n in times],
                  lambda *v: "%.0f ms at most, %.0f of %.0f failed" % (max(v[:3]), sum(v[3:6]), sum(v[6:9])), lambda *v: "100 ms",
                  lambda *v: max(v[:3]) / 100, lambda *v: sum(v[3:6]) == 0, lambda *v: max(v[:3]) <= 100)


def rows():
    for some in (echo_rows, connection_rows, byte_rows, time_rows, tree_rows, part_rows, peer_rows, restart_rows, overload_rows, machine_rows):
        yield from some()


def failed(figures):
    """What was tried in vain, as rows: their figures lack it."""
    for name in figures:
        if name.startswith("failed/"):
            yield {"section": "failed", "promise": name[len("failed/"):], "measured": "failed each time", "limit": "",
                   "ratio": None, "verdict": "failed"}


def table(figures):
    return [row for row in (r.of(figures) for r in rows()) if row is not None] + list(failed(figures))


def print_table(found, out):
    width = {key: max([len(row[key]) for row in found] + [len(key)]) for key in ("promise", "measured", "limit")}
    line = "%%-%ds  %%-%ds  %%-%ds  %%6s  %%s\n" % (width["promise"], width["measured"], width["limit"])
    section = None
    for row in found:
        if row["section"] != section:
            section = row["section"]
            out.write("\n%s\n" % section)
            out.write(line % ("promise", "measured", "limit or peer", "ratio", "verdict"))
        ratio = "" if row["ratio"] is None else "%.2f" % row["ratio"]
        out.write(line % (row["promise"], row["measured"], row["limit"], ratio, row["verdict"]))
    missed = sum(row["verdict"] in ("MISSED", "failed") for row in found)
    verdicts = ("kept", "MISSED", "reached", "below", "reported", "failed")
    out.write("\n%d rows: %s\n" % (len(found), ", ".join("%d %s" % (sum(row["verdict"] == v for row in found), v) for v in verdicts)))
    return missed


# Figures that are costs, as Go's benchmark text has them: name of the benchmark, how the name begins and ends,
# nanoseconds of one.
COSTS = (
    ("Echo", "echo/rows/", "/server_mpps", lambda v: 1e3 / v),
    ("BareLoop", "echo/rows/", "/bare_mpps", lambda v: 1e3 / v),
    ("FullConnection", "rate_", "/server_busy_per_s", lambda v: 1e9 / v),
    ("Datagram", "udp", "/server_datagram_mpps", lambda v: 1e3 / v),
)


def print_go(figures, out):
    for name, begin, end, ns in COSTS:
        for key, value in figures.items():
            if key.startswith(begin) and key.endswith(end) and value > 0:
                out.write("Benchmark%s/%s\t1\t%.2f ns/op\n" % (name, key[len(begin):-len(end)], ns(value)))


def processor():
    for line in open("/proc/cpuinfo", encoding="utf-8"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown"


def commit():
    here = os.path.dirname(os.path.abspath(__file__))
    got = subprocess.run(["git", "-C", here, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return got.stdout.strip() or "unknown"


def append_history(found, path):
    """A line for each row of the table; the first line of a new file names the columns."""
    new = not os.path.exists(path)
    day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    with open(path, "a", encoding="utf-8") as out:
        if new:
            out.write("date\tcommit\tprocessor\tcores\tpromise\tmeasured\tlimit\tratio\tverdict\n")
        for row in found:
            ratio = "" if row["ratio"] is None else str(row["ratio"])
            out.write("\t".join([day, commit(), processor(), str(os.cpu_count()), row["promise"], row["measured"],
                                 row["limit"], ratio, row["verdict"]]) + "\n")


def add(path, name, source):
    try:
        value = json.load(source)
    except ValueError as why:
        sys.exit("bench_table: %s: one JSON object was expected: %s" % (name, why))
    with open(path, "a", encoding="utf-8") as out:
        for key, figure in flatten(value, name):
            out.write("%s\t%s\n" % (key, figure))


def self_test():
    """Names, verdicts both ways, a row that lacks a figure, and the history file."""
    echo = {"rows": [{"connections": 1000, "ratio": 0.56, "bare_mpps": 20, "server_mpps": 11.2},
                     {"connections": 10000000, "ratio": 0.649, "bare_mpps": 10, "server_mpps": 6.49}]}
    figures = dict(flatten(echo, "echo"))
    assert figures["echo/rows/10M/ratio"] == 0.649 and figures["echo/rows/1k/connections"] == 1000, figures
    assert count(1500) == "1500" and count(2000) == "2k" and count(60000000) == "60M" and count(True) == "True"
    verdicts = {row["measured"]: row["verdict"] for row in table(figures)}
    assert verdicts == {"11.20 Mpps": "kept", "6.49 Mpps": "MISSED"}, verdicts
    del figures["echo/rows/1k/ratio"]
    assert len(table(figures)) == 1
    case = dict(connections=100000.0, opened=100000.0, closed=99998.0, failed=2.0, wrong=0.0, lost=1.0, refused=3.0, kills=2.0,
                longest_silence_ms=700.0, silence_ms=600.0)
    stream = dict(connections=8.0, opened=9.0, closed=8.0, failed=1.0, wrong=0.0, bytes=1e9)
    for name, change, verdicts in (("transfers", {}, ["reached", "kept"]), ("transfers", {"longest_silence_ms": 1100.0}, ["below", "kept"]),
                                   ("transfers", {"longest_silence_ms": 6000.0}, ["MISSED", "kept"]),
                                   ("transfers", {"failed": 3.0}, ["MISSED", "MISSED"]), ("transfers", {"wrong": 1.0}, ["MISSED", "kept"]),
                                   ("transfers", {"refused": 129.0}, ["MISSED", "kept"]), ("planned", {}, ["MISSED", "kept"]),
                                   ("transfers", {"stream/wrong": 1.0}, ["reached", "MISSED"]), ("transfers", {"stream/bytes": 1e6}, ["reached", "MISSED"]),
                                   ("transfers", {"stream/closed": 7.0}, ["reached", "MISSED"]),
                                   ("planned", {"failed": 0.0, "refused": 0.0, "lost": 0.0, "closed": 1e5, "stream/failed": 0.0, "stream/opened": 8.0},
                                    ["reached", "kept"])):
        all_of = {**case, **{"stream/" + key: value for key, value in stream.items()}, **change}
        found = [row["verdict"] for row in table({"restart/%s/%s" % (name, key): value for key, value in all_of.items()})]
        assert found == verdicts, (name, change, found)
    lost = table({"failed/peers_nginx": 1.0})
    assert [row["verdict"] for row in lost] == ["failed"] and lost[0]["promise"] == "peers_nginx", lost
    with tempfile.TemporaryDirectory() as work:
        path = work + "/figures"
        with open(work + "/echo.json", "w", encoding="utf-8") as out:
            json.dump(echo, out)
        with open(work + "/echo.json", encoding="utf-8") as source:
            add(path, "echo", source)
        assert read(path)["echo/rows/10M/ratio"] == 0.649
        found = table(read(path))
        append_history(found, work + "/history")
        append_history(found, work + "/history")
        lines = open(work + "/history", encoding="utf-8").read().splitlines()
        assert len(lines) == 5 and all(line.count("\t") == 8 for line in lines), lines
        with open(os.devnull, "w", encoding="utf-8") as out:
            assert print_table(found, out) == 1
            print_go(read(path), out)
    print("bench_table: self-test passed")


def main(args):
    if args == ["self-test"]:
        return self_test()
    if len(args) in (3, 4) and args[0] == "add":
        with open(args[3], encoding="utf-8") if len(args) == 4 else sys.stdin as source:
            return add(args[1], args[2], source)
    if len(args) == 2 and args[0] == "table":
        return print_table(table(read(args[1])), sys.stdout) != 0
    if len(args) == 2 and args[0] == "json":
        figures = read(args[1])
        json.dump({"commit": commit(), "processor": processor(), "table": table(figures), "figures": figures}, sys.stdout, indent=1)
        return print()
    if len(args) == 2 and args[0] == "go":
        return print_go(read(args[1]), sys.stdout)
    if len(args) == 3 and args[0] == "history":
        return append_history(table(read(args[1])), args[2])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
