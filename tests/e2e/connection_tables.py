#!/usr/bin/env python3
"""connection_tables.py TREE/net: opens connections to the server at 10.99.0.2 and compares its net/tcp with the
kernel's, which has the other end of each. connection_tables.py TREE/net --again: reads it some times
while somebody opens and closes connections to port 80."""
import os
import socket
import struct
import sys
import time

NET, SERVER = sys.argv[1], "10.99.0.2"
CONNECTIONS, UNREAD = 200, 3000
READINGS, READINGS_MAX = 5, 200
ESTABLISHED, SYN_RECEIVED, TIME_WAIT, LISTEN = 1, 3, 6, 10


def rows(path):
    """The lines as dicts; every one has to have the columns that its kind has on Linux."""
    with open(path) as f:
        head, *lines = f.read().splitlines()
    assert head.split()[:4] == ["sl", "local_address", "rem_address", "st"], head
    found = []
    for number, line in enumerate(lines):
        w = line.split()
        assert len(line) == 149 and w[0] == f"{number}:", line
        tx, rx = w[4].split(":")
        state = int(w[3], 16)
        records = (12,) if state == SYN_RECEIVED else (12, 17) if state == TIME_WAIT else (17,)
        assert len(w) in records, line
        found.append({"local": w[1], "remote": w[2], "state": state, "tx": int(tx, 16),
                      "rx": int(rx, 16), "timer": int(w[5].split(":")[0], 16), "line": line})
    return found


def in_state(table, state, port):
    """Both ends' addresses of those in that state whose port here is `port`, as the peer has them."""
    return sorted((r["remote"], r["local"]) for r in table
                  if r["state"] == state and r["local"].endswith(f":{port:04X}"))


def kernels(state, port):
    return sorted((r["local"], r["remote"]) for r in rows("/proc/net/tcp")
                  if r["state"] == state and r["remote"].endswith(f":{port:04X}"))


def until(what, cond):
    for _ in range(100):
        if cond():
            return
        time.sleep(0.05)
    sys.exit(f"not within 5 s: {what}\n" + open(f"{NET}/tcp").read())


def ours(state, port):
    return in_state(rows(f"{NET}/tcp"), state, port)


def open_conns(n, port):
    return [socket.create_connection((SERVER, port)) for _ in range(n)]


def syn_from_nowhere():
    """A SYN of a neighbor that does not exist: it stays half open."""
    source, dest = socket.inet_aton("10.99.0.77"), socket.inet_aton(SERVER)
    tcp = struct.pack("!HHIIBBHHH", 4242, 7, 1000, 0, 5 << 4, 2, 1024, 0, 0)
    pseudo = source + dest + struct.pack("!BBH", 0, 6, len(tcp))
    total = sum(struct.unpack(f"!{(len(pseudo) + len(tcp)) // 2}H", pseudo + tcp))
    total = (total & 0xffff) + (total >> 16)
    check = ~(total + (total >> 16)) & 0xffff
    tcp = tcp[:16] + struct.pack("!H", check) + tcp[18:]
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, 6, 0, source, dest)
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    raw.sendto(ip + tcp, (SERVER, 0))


def read_again():
    """Every line is whole, and of a connection that somebody could have: nothing else is known."""
    readings, seen = 0, set()
    while readings < READINGS_MAX and (readings < READINGS or not {LISTEN, ESTABLISHED} <= seen):
        for r in rows(f"{NET}/tcp"):
            peer, port = r["remote"].split(":")
            known = {"00000000": {LISTEN}, "0100630A": set(range(1, 12)) - {LISTEN},
                     "4D00630A": {SYN_RECEIVED}}
            assert r["state"] in known[peer], r["line"]
            assert (port == "0000") == (r["state"] == LISTEN), r["line"]
            seen.add(r["state"])
        readings += 1
    assert {LISTEN, ESTABLISHED} <= seen, (readings, seen)


def main():
    table = rows(f"{NET}/tcp")
    assert {int(r["local"].split(":")[1], 16) for r in table if r["state"] == LISTEN} == \
        {7, 9, 13, 19, 80}, table
    conns = open_conns(CONNECTIONS, 7)
    for c in conns:
        c.sendall(b"x" * 100)
    for c in conns:
        assert len(c.recv(100, socket.MSG_WAITALL)) == 100
    until("each connection is in both tables",
          lambda: len(ours(ESTABLISHED, 7)) == CONNECTIONS and
          ours(ESTABLISHED, 7) == kernels(ESTABLISHED, 7))
    until("nothing is under way any more",
          lambda: all(r["tx"] == 0 and r["rx"] == 0 and r["timer"] in (0, 2)
                      for r in rows(f"{NET}/tcp")))
    info = open(f"{NET}/tcp_info").read().splitlines()
    names = info[0].split()
    first = dict(zip(names, info[1].split()))
    assert len(info) == CONNECTIONS + 1 and len(info[1].split()) == len(names), info[1]
    assert first["state"] == "ESTABLISHED" and first["local"] == SERVER + ":7", info[1]
    assert int(first["mss_bytes"]) == 1448 and int(first["srtt_us"]) > 0, info[1]
    assert "ts" in first["flags"].split(","), info[1]
    for c in conns[:50]:
        c.close()
    until("what was closed is gone", lambda: len(ours(ESTABLISHED, 7)) == CONNECTIONS - 50)
    # Who reads nothing: what chargen sent and the kernel has not taken waits at our end.
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect((SERVER, 19))
    until("bytes wait to be sent into a window that is closed",
          lambda: any(r["local"].endswith(":0013") and r["tx"] > UNREAD and r["timer"] == 4
                      for r in rows(f"{NET}/tcp")))
    for c in open_conns(5, 13):  # daytime closes first
        while c.recv(100):
            pass
        c.close()
    until("who closed first has the TIME-WAIT", lambda: len(ours(TIME_WAIT, 13)) == 5)
    syn_from_nowhere()
    until("a SYN makes a half-open connection",
          lambda: ours(SYN_RECEIVED, 7) == [("4D00630A:1092", "0200630A:0007")])
    sockstat = dict(line.split(": ", 1) for line in open(f"{NET}/sockstat").read().splitlines())
    words = sockstat["TCP"].split()
    assert words[words.index("tw") + 1] == "5", sockstat
    os._exit(0)  # as if the peer vanished, for the server's end of the test


if len(sys.argv) == 2:
    main()
else:
    read_again()
