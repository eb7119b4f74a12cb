#!/usr/bin/env python3
"""rate.py: bulk transfers over many connections at once, and their mean rate.

  rate.py source PORT                        sends to whoever connects, without end
  rate.py pull HOST PORT FLOWS WARM SECONDS  receives on FLOWS connections; after WARM seconds counts for SECONDS,
                                             and prints the mean rate of a connection in Mb/s
  rate.py push HOST PORT FLOWS WARM SECONDS  the same, sending: what was acknowledged counts
"""
import selectors
import socket
import struct
import sys
import time

BLOCK = bytes(65536)
TCP_CONGESTION = 13


def cubic(s):
    s.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"cubic")


def acked(s):
    """tcpi_bytes_acked of struct tcp_info."""
    return struct.unpack_from("Q", s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), 120)[0]


def send_some(s):
    try:
        while True:
            s.send(BLOCK)
    except BlockingIOError:
        pass


def source(port):
    sel = selectors.DefaultSelector()
    listener = socket.create_server(("", port), backlog=128)
    listener.setblocking(False)
    sel.register(listener, selectors.EVENT_READ)
    print("listening", flush=True)
    while True:
        for key, _ in sel.select():
            s = key.fileobj
            if s is listener:
                c, _ = s.accept()
                c.setblocking(False)
                cubic(c)
                sel.register(c, selectors.EVENT_WRITE)
                continue
            try:
                send_some(s)
            except OSError:
                sel.unregister(s)
                s.close()


def count(sel, pull, socks):
    """Until now: bytes received, or acknowledged."""
    return sum(sel.get_key(s).data[0] for s in socks) if pull else sum(acked(s) for s in socks)


def run(sel, pull, until):
    while (left := until - time.monotonic()) > 0:
        for key, _ in sel.select(left):
            if not pull:
                send_some(key.fileobj)
                continue
            try:
                n = len(key.fileobj.recv(1 << 20))
            except BlockingIOError:
                continue
            if n == 0:
                sys.exit("the peer has closed")
            key.data[0] += n


def transfer(pull, host, port, flows, warm, seconds):
    sel = selectors.DefaultSelector()
    socks = []
    for _ in range(flows):
        s = socket.socket()
        cubic(s)
        s.settimeout(10)
        s.connect((host, port))
        s.setblocking(False)
        sel.register(s, selectors.EVENT_READ if pull else selectors.EVENT_WRITE, [0])
        socks.append(s)
    begin = time.monotonic()
    run(sel, pull, begin + warm)
    first, at = count(sel, pull, socks), time.monotonic()
    run(sel, pull, begin + warm + seconds)
    n, took = count(sel, pull, socks) - first, time.monotonic() - at
    print(f"{n * 8 / took / flows / 1e6:.3f}")


if sys.argv[1] == "source":
    source(int(sys.argv[2]))
transfer(sys.argv[1] == "pull", sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]), float(sys.argv[6]))
