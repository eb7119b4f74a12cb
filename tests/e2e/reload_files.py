"""reload_files.py ADDRESS DIR: 100 connections that ask for /big and read it slowly, until DIR/go exists. DIR/begun exists when
each has the head of its answer. In the end each has the bytes of DIR/big.0, its length and its entity tag.
reload_files.py ADDRESS DIR holder N: one connection that asks for /big and reads 64 KiB, until DIR/holder.go exists. DIR/holder.N
then has `right` (the bytes of DIR/big.0), `reset`, or what was wrong."""
import os
import select
import socket
import sys
import time

CONNECTIONS = 100
HEAD_BYTES = 65536
REQUEST = b"GET /big HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def ask(address):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    s.settimeout(60)
    s.connect((address, 80))
    s.sendall(REQUEST)
    return s


def field(head, name):
    lines = [x.split(": ", 1)[1] for x in head.decode().split("\r\n") if x.lower().startswith(name.lower() + ": ")]
    return lines[0] if len(lines) == 1 else None


def wrong(got, want):
    """What is wrong with an answer; empty: nothing."""
    head, _, body = bytes(got).partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        return f"not a 200: {head[:60]!r}"
    if field(head, "Content-Length") != str(len(want)):
        return f"the length is {field(head, 'Content-Length')}, not {len(want)}"
    if not (field(head, "ETag") or "").startswith(f'"{len(want):x}-'):
        return f"the entity tag is {field(head, 'ETag')}"
    if body != want:
        return f"{len(body)} bytes, which are not those of the file"
    return ""


def slow_readers(address, folder):
    want = open(f"{folder}/big.0", "rb").read()
    conns = {ask(address): bytearray() for _ in range(CONNECTIONS)}
    for s, got in conns.items():
        while b"\r\n\r\n" not in got:
            got += s.recv(4096)
        s.setblocking(False)
    open(f"{folder}/begun", "w").close()
    etags = {field(bytes(got).partition(b"\r\n\r\n")[0], "ETag") for got in conns.values()}
    assert len(etags) == 1, etags
    left, go = dict(conns), False
    while left:
        ready = select.select(list(left), [], [], 60)[0]
        assert ready, "nothing arrives"
        for s in ready:
            piece = s.recv(1 << 20 if go else 2048)
            left[s] += piece
            if not piece:
                bad = wrong(left.pop(s), want)
                assert not bad, bad
        go = go or os.path.exists(f"{folder}/go")
        if not go:
            time.sleep(0.05)


def holder(address, folder, name):
    want = open(f"{folder}/big.0", "rb").read()
    s, got, result = ask(address), bytearray(), ""
    while len(got) < HEAD_BYTES:
        got += s.recv(4096)
    open(f"{folder}/holds.{name}", "w").close()
    while not os.path.exists(f"{folder}/holder.go"):
        time.sleep(0.05)
    try:
        while piece := s.recv(1 << 20):
            got += piece
    except ConnectionResetError:
        result = "reset"
    with open(f"{folder}/holder.{name}", "w") as f:
        f.write(result or wrong(got, want) or "right")


if sys.argv[3:4] == ["holder"]:
    holder(sys.argv[1], sys.argv[2], sys.argv[4])
else:
    slow_readers(*sys.argv[1:3])
