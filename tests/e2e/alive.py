#!/usr/bin/env python3
"""alive.py TREE SOCKET HTTP_PORT DEADLINE_MS PATH...: reads each entry through the mount, the control socket and HTTP,
again and again; the median of each interface's answers has to come within the deadline. Prints the text of each entry,
of the last reading through each interface, and the times on standard error."""
import http.client
import os
import socket
import statistics
import struct
import sys
import time

TRIES = 25
GIVE_UP_S = 20  # of one answer

HELLO, READ, DATA, END, ERROR = 1, 4, 16, 17, 18
MAGIC, VERSION = 0x6D303163, 1


class Mount:
    def __init__(self, tree):
        self.tree = tree

    def read(self, path):
        fd = os.open(os.path.join(self.tree, path), os.O_RDONLY)
        try:
            parts = []
            while part := os.read(fd, 65536):
                parts.append(part)
            return b"".join(parts)
        finally:
            os.close(fd)


class Socket:
    """A connection for each reading, as `c10m cat` has."""

    def __init__(self, path):
        self.path = path

    def read(self, path):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(GIVE_UP_S)
            s.connect(self.path)
            s.sendall(self.frame(HELLO, struct.pack("<IHH", MAGIC, VERSION, 0)))
            s.sendall(self.frame(READ, struct.pack("<QQ", 0, 0) + path.encode()))
            self.take(s, HELLO)
            parts = []
            while True:
                kind, payload = self.take(s)
                if kind == DATA:
                    parts.append(payload)
                elif kind == END:
                    return b"".join(parts)
                else:
                    raise OSError("socket: frame %d: %r" % (kind, payload))

    @staticmethod
    def frame(kind, payload):
        return struct.pack("<IB3x", len(payload), kind) + payload

    def take(self, s, wanted=None):
        n, kind = struct.unpack("<IB3x", self.exactly(s, 8))
        payload = self.exactly(s, n)
        if wanted not in (None, kind):
            raise OSError("socket: frame %d: %r" % (kind, payload))
        return kind, payload

    @staticmethod
    def exactly(s, n):
        got = b""
        while len(got) < n:
            part = s.recv(n - len(got))
            if not part:
                raise OSError("socket: closed")
            got += part
        return got


class Http:
    def __init__(self, port):
        self.port = port

    def read(self, path):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=GIVE_UP_S)
        try:
            c.request("GET", "/proc/" + path)
            answer = c.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise OSError("http: %d %r" % (answer.status, body[:200]))
            return body
        finally:
            c.close()


def main(tree, control, port, deadline_ms, *paths):
    late = 0
    for name, interface in (("mount", Mount(tree)), ("socket", Socket(control)), ("http", Http(int(port)))):
        for path in paths:
            took = []
            for _ in range(TRIES):
                start = time.monotonic()
                text = interface.read(path)
                took.append(1e3 * (time.monotonic() - start))
            median = statistics.median(took)
            print("%s %s: median %.2f ms, best %.2f, worst %.2f" % (name, path, median, min(took), max(took)), file=sys.stderr)
            late += median > float(deadline_ms)
            sys.stdout.write("".join("%s: %s\n" % (name, line) for line in text.decode().splitlines()))
    return late != 0


sys.exit(main(*sys.argv[1:]))
