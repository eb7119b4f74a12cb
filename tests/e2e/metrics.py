#!/usr/bin/env python3
"""metrics.py: the ways to read the metrics, tried against a running server; used by metrics.sh.

  metrics.py text FILE TREE        Prometheus text: whole, and the tree's figures
  metrics.py telemetry SOCKET TREE DPDK's telemetry: the tree's figures
  metrics.py statsd COMMAND...     listens at 127.0.0.1:8125, runs COMMAND, waits for what it counts
  metrics.py http PORT FILE        requests that no client should send; FILE: control/http of the mount
"""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time


def need(cond, what):
    if not cond:
        sys.exit(f"not so: {what}")


def lines_of(path):
    """{name: value} of a file with `NAME VALUE` lines."""
    return {l.split()[0]: l.split()[1] for l in path.read_text().splitlines() if len(l.split()) == 2}


NOBODY = 65534  # not root, for whom the server keeps places

LABEL = r'[a-z_]+="(?:[^"\\\n]|\\.)*"'
SAMPLE = re.compile(rf"([a-z0-9_]+)(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)$")


def parse(text):
    """(types, samples): {family: type}, {(name, labels): value}; exits on what is not the format."""
    types, samples, helped = {}, {}, set()
    need(text.endswith("\n"), "the text ends with a newline")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            helped.add(line.split()[2])
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            need(name in helped and name not in types, f"one HELP, then one TYPE of {name}")
            types[name] = kind
            last = name
        else:
            m = SAMPLE.match(line)
            need(m, f"a sample: {line}")
            need(m[1] == last or (types[last] == "histogram" and re.fullmatch(last + "_(bucket|sum|count)", m[1])),
                 f"{m[1]} stands below its family")
            key = (m[1], tuple(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', m[2] or "")))
            need(key not in samples, f"once: {key}")
            samples[key] = float(m[3])
    return types, samples


def check_histogram(name, samples):
    cores = {dict(l)["core"] for n, l in samples if n == name + "_count"}
    need(cores, f"{name} has samples")
    for core in cores:
        buckets = [(float(dict(l)["le"]), v) for (n, l), v in samples.items()
                   if n == name + "_bucket" and dict(l)["core"] == core]
        values = [v for _, v in sorted(buckets)]
        count = samples[(name + "_count", (("core", core),))]
        need(values == sorted(values), f"{name}: buckets are cumulative")
        need(buckets[-1] == (float("inf"), count), f"{name}: the last bucket holds all")
        total = samples[(name + "_sum", (("core", core),))]
        least = sum(lo * (v - w) for (lo, w), (_, v) in zip([(0, 0)] + sorted(buckets), sorted(buckets)))
        need(total >= 0.9 * least, f"{name}: the sum {total} is at least that of the lower bounds {least}")


def text(file, tree):
    types, samples = parse(pathlib.Path(file).read_text())
    for core in (p.name for p in (tree / "cores").iterdir()):
        counters = lines_of(tree / "cores" / core / "counters")
        for name, value in counters.items():
            if name in ("dropped", "dropped_tx", "balance"):
                continue
            now = name.endswith("_now")
            got = samples.get((f"c10m_core_{name[:-4] if now else name + '_total'}", (("core", core),)))
            need(got is not None, f"{name} is there")
            need(now or got <= int(value), f"{name}: {got}, later {value}")
        for what, label in (("drops", "reason"), ("cycles", "stage")):
            names = {dict(l)[label] for n, l in samples if n.startswith(f"c10m_core_{'drops' if what == 'drops' else 'stage'}")}
            want = {n[:-7] if what == "cycles" else n for n in lines_of(tree / "cores" / core / what)
                    if what == "drops" or (n.endswith("_cycles") and n != "total_cycles")}
            need(names == want, f"{what}: {names ^ want}")
    for port in (p.name for p in (tree / "ports").iterdir()):
        for name, value in lines_of(tree / "ports" / port / "counters").items():
            if name in ("rx_lost", "tx_lost"):  # sums of others, which a query adds up itself
                continue
            got = samples.get((f"c10m_port_{name}_total", (("port", port),)))
            need(got is not None and got <= int(value), f"port {port}: {name}")
    need(samples[("c10m_core_conns_opened_passive_total", (("core", core),))] > 0, "connections were accepted")
    need(samples[("c10m_core_rx_to_tx_seconds_count", (("core", core),))] > 0, "packets have latencies")
    check_histogram("c10m_core_rx_to_tx_seconds", samples)
    check_histogram("c10m_core_idle_turn_seconds", samples)
    arenas = lines_of(tree / "mem/arenas")
    need(samples[("c10m_memory_bytes", (("arena", "blocks"),))] == int(arenas["blocks_bytes"]), "mem/arenas")
    start = samples[("process_start_time_seconds", ())]
    need(abs(time.time() - start) < 600, "the start is of today")
    print(f"{len(types)} families, {len(samples)} samples")


def telemetry(path, tree):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    s.settimeout(20)
    limit = json.loads(s.recv(1024))["max_output_len"]

    def ask(command):
        s.send(command.encode())
        return json.loads(s.recv(limit + 1))[command.split(",")[0]]

    cores = ask("/c10m/cores")
    need(sorted(cores) == sorted(p.name for p in (tree / "cores").iterdir()), f"cores {cores}")
    need(ask("/c10m/ports") == [p.name for p in (tree / "ports").iterdir()], "ports")
    pairs = [(f"/c10m/{what},{core}", tree / "cores" / core / file)
             for core in cores for what, file in (("core", "counters"), ("drops", "drops"), ("cycles", "cycles"))]
    pairs += [(f"/c10m/port,{p.name}", p / "counters") for p in (tree / "ports").iterdir()]
    pairs += [("/c10m/mem", tree / "mem/arenas")]
    for command, file in pairs:
        got, want = ask(command), lines_of(file)
        for name, value in want.items():
            if name == "balance" or not re.fullmatch(r"\d+", value) or (file.name == "cycles" and not name.endswith("_cycles")):
                continue
            need(name in got, f"{command}: {name}")
            need(name.endswith("_now") or got[name] <= int(value), f"{command}: {name}: {got[name]}, later {value}")
    need(ask("/c10m/core,99") is None and ask("/c10m/core") is None and ask("/c10m/port,none") is None, "null")
    core = cores[0]
    need(str(ask("/eal/lcore/info," + core)["lcore_id"]) == core.split(".")[0], "lcore")
    need(ask("/c10m/core," + core)["conns_opened_passive"] > 0, "connections were accepted")


SO_RCVBUFFORCE = 33


def statsd(command):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)  # what a slow machine has not read yet
    s.bind(("127.0.0.1", 8125))
    s.settimeout(1)
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    opened, gauges, end = 0, set(), time.time() + 60
    try:
        while time.time() < end and (opened < 20 or "c10m.core_connections.1" not in gauges):
            try:
                data = s.recv(65536)
            except TimeoutError:
                continue
            need(len(data) <= 1432, f"{len(data)} bytes")
            for line in data.decode("ascii").split("\n"):
                m = re.fullmatch(r"(c10m\.[A-Za-z0-9_.-]+|c10m\.[a-z_]+):([0-9.]+)\|(c|g)", line)
                need(m, f"a line: {line}")
                if re.fullmatch(r"c10m\.core_conns_opened_passive\.\d+", m[1]):
                    opened += int(m[2])
                if m[3] == "g":
                    gauges.add(re.sub(r"\.\d+$", ".1", m[1]))
    finally:
        child.wait()
    need(opened == 20, f"{opened} connections of 20")
    need("c10m.core_connections.1" in gauges, "gauges")


BAD = {
    b"GET /proc/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n": b"400",
    b"GET /proc/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n": b"400",
    b"GET //etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n": b"404",
    b"GET /proc//etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n": b"400",
    b"GET /proc/version%00 HTTP/1.1\r\nHost: localhost\r\n\r\n": b"400",
    b"GET /proc/version HTTP/1.1\r\nHost: evil.example\r\n\r\n": b"421",
    b"PUT /proc/version HTTP/1.1\r\nHost: localhost\r\nX-C10M: 1\r\nContent-Length: 1\r\n\r\n1": b"403",
    b"POST /proc/version HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n1": b"403",
    b"DELETE /proc/version HTTP/1.1\r\nHost: localhost\r\n\r\n": b"405",
    b"GET " + b"/x" * 40000 + b" HTTP/1.1\r\n\r\n": b"",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200) + b"\r\n\r\n": b"",
    bytes(range(256)) * 200: b"",
}


def until(what, holds):
    end = time.time() + 60
    while not holds():
        need(time.time() < end, what)
        time.sleep(0.05)


def http(port, counts):
    nobody = lambda: lines_of(counts)["connections_now"] == "0"
    for request, want in BAD.items():
        s = socket.create_connection(("127.0.0.1", port), timeout=20)
        got = b""
        try:
            s.sendall(request)
            s.shutdown(socket.SHUT_WR)
            while part := s.recv(65536):
                got += part
        except TimeoutError:
            sys.exit(f"{request[:60]}: the connection stays open")
        except OSError:
            pass  # closed before all was sent
        need(want in got[:16] and b" 200 " not in got[:16], f"{request[:60]}: {got[:60]}")
        s.close()
    # Those who hold connections open and say nothing keep others out, but not the server busy.
    until("all connections are over", nobody)
    os.seteuid(NOBODY)
    held = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(20)]
    os.seteuid(0)
    until("20 connections are taken or refused", lambda: int(lines_of(counts)["refused_address_connections"]) >= 12)
    refused = 0
    for s in held:
        s.setblocking(False)
        try:
            refused += b" 503 " in s.recv(100)
        except BlockingIOError:
            pass
    need(refused == 12, f"8 of one address are held, {refused} were refused")
    # Nor root out, from whatever address they come.
    os.seteuid(NOBODY)
    held += [socket.create_connection(("127.0.0.1", port), timeout=20, source_address=("127.0.0.2", 0)) for _ in range(8)]
    os.seteuid(0)
    until("those of another address, too", lambda: int(lines_of(counts)["refused_connections"]) >= 4)
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
            s.sendall(b"GET /proc/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            need(b" 200 " in s.recv(100), "root is kept out by others")
    for s in held:
        s.close()
    until("the server has seen them close", nobody)


{"text": lambda a: text(a[0], pathlib.Path(a[1])), "telemetry": lambda a: telemetry(a[0], pathlib.Path(a[1])),
 "statsd": statsd, "http": lambda a: http(int(a[0]), pathlib.Path(a[1]))}[sys.argv[1]](sys.argv[2:])
