"""hold.py ADDRESS FILE [PORT]: 20 connections to the echo service that are held, each with an echo after the other. FILE has the
number of echoes that all of them have had; FILE.silence the longest time, in ms, in which it stayed the same, since FILE.silence was
last removed. PORT: one more is held, to the chargen service there. It is read slowly, so that the server always has something to send."""
import os
import select
import socket
import sys
import time

address, path = sys.argv[1:3]
streams = [socket.create_connection((address, int(port)), 20) for port in sys.argv[3:]]
conns = [[socket.create_connection((address, 7), 20), b"", b"", 0] for _ in range(20)]
for c in conns:
    c[0].setblocking(False)
for s in streams:
    s.setblocking(False)
seen, seen_at, silence = 0, time.monotonic(), 0
while True:
    for s in streams:
        try:
            assert s.recv(2000), "the stream was closed"
        except BlockingIOError:
            pass
    for c in conns:
        if not c[1]:
            c[1] = c[2] = os.urandom(200)
            c[3] += 1
        if c[2]:
            try:
                c[2] = c[2][c[0].send(c[2]):]
            except BlockingIOError:
                pass
    for s in select.select([c[0] for c in conns], [], [], 0.05)[0]:
        c = next(c for c in conns if c[0] is s)
        got = s.recv(4096)
        assert got and c[1].startswith(got), "closed, or wrong"
        c[1] = c[1][len(got):]
    least, now = min(c[3] for c in conns), time.monotonic()
    if not os.path.exists(path + ".silence"):
        silence, seen_at = 0, now
    silence = max(silence, round(1000 * (now - seen_at)))
    seen, seen_at = (least, now) if least != seen else (seen, seen_at)
    for name, value in (path, least), (path + ".silence", silence):
        with open(name + ".new", "w") as f:
            f.write(str(value))
        os.replace(name + ".new", name)
    time.sleep(0.02)
