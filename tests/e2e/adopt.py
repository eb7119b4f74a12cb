#!/usr/bin/env python3
"""adopt.py ADDRESS PORT CONNECTIONS STOP: connections to an echo service, each of which sends one stream of known bytes
without a pause and checks what comes back, until the file STOP exists and everything sent has come back. Prints how many
are alive, were reset, got a wrong byte, and the longest time without a byte on any connection that is alive."""
import errno
import os
import selectors
import socket
import sys
import time

ADDRESS, PORT, CONNECTIONS, STOP = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
PERIOD = bytes((i * 131 + (i >> 8) * 7) & 255 for i in range(65521))
PATTERN = PERIOD + PERIOD
AHEAD = 6000   # bytes that may be on their way
END_S = 120    # by when everything has to have come back


class Stream:
    def __init__(self, number):
        self.base = number * 977
        self.sent = self.received = 0
        self.state = "alive"
        self.socket = socket.create_connection((ADDRESS, PORT), timeout=60)
        self.socket.setblocking(False)

    def bytes_at(self, position, n):
        start = (self.base + position) % len(PERIOD)
        return PATTERN[start:start + n]

    def step(self, stopping):
        """Sends and receives what can be."""
        try:
            if not stopping and self.sent - self.received < AHEAD:
                self.sent += self.socket.send(self.bytes_at(self.sent, 1 + (self.sent * 7919 + self.base) % 4000))
        except BlockingIOError:
            pass
        except OSError as e:
            self.end(e)
            return
        try:
            data = self.socket.recv(65536)
        except BlockingIOError:
            return
        except OSError as e:
            self.end(e)
            return
        if not data:
            self.state = "closed"
        elif data != self.bytes_at(self.received, len(data)):
            self.state = "wrong"
        self.received += len(data)

    def end(self, error):
        if error.errno not in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN):
            self.state = "reset" if error.errno == errno.ECONNRESET else errno.errorcode[error.errno]


def main():
    streams = [Stream(i) for i in range(CONNECTIONS)]
    print("open", flush=True)
    chooser = selectors.DefaultSelector()
    for s in streams:
        chooser.register(s.socket, selectors.EVENT_READ, s)
    end = None
    while True:
        stopping = os.path.exists(STOP)
        if stopping and end is None:
            end = time.monotonic() + END_S
        chooser.select(0.02)
        alive = [s for s in streams if s.state == "alive"]
        for s in alive:
            s.step(stopping)
            if s.state != "alive":
                chooser.unregister(s.socket)
                s.socket.close()
        if stopping and (all(s.sent == s.received for s in alive) or time.monotonic() > end):
            break
    states = {}
    for s in streams:
        late = s.state == "alive" and s.sent != s.received
        states["late" if late else s.state] = states.get("late" if late else s.state, 0) + 1
    print("bytes %d" % sum(s.received for s in streams))
    print(" ".join("%s %d" % pair for pair in sorted(states.items())))


main()
