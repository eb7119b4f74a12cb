#!/usr/bin/env python3
"""adopt_web.py file VERSION PATH: writes the large file of that version.
adopt_web.py client ADDRESS STOP ROUND DOWNLOADS IDLE: connections to an http service, until the file STOP exists and no
response is outstanding: DOWNLOADS of them get /big.bin again and again, slowly, and IDLE of them ask for /small.txt from
time to time, every second one in two pieces. Every byte is checked. The file ROUND says how often the server has been
killed. Prints how many are alive or were reset, got a wrong byte or were late, and how many responses of which kind were
whole though the server had been killed meanwhile.
adopt_web.py echo PORT: what the proxy connects to."""
import errno
import os
import socket
import sys
import time

BLOCK = bytes((i * 131 + (i >> 8) * 7) & 255 for i in range(65536))
BLOCKS = 1600  # 100 MiB
HEAD = "version %7d\n"
SLICE = 65536  # a download reads so much at most every 5 ms
END_S = 120    # by when everything outstanding has to have come
AWAY = (errno.EAGAIN, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)  # the interface went with the server


def block_of(version):
    return BLOCK.translate(bytes((b + version * 31) & 255 for b in range(256)))


def write_file(version, path):
    with open(path + ".new", "wb") as f:
        f.write((HEAD % version).encode())
        for _ in range(BLOCKS):
            f.write(block_of(version))
    os.rename(path + ".new", path)


class Client:
    """One connection: a request, its response, and the next one."""
    def __init__(self, address, path, pause_s, pieces):
        self.request = ("GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % path).encode()
        self.pause_s, self.pieces = pause_s, pieces
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
        self.socket.settimeout(60)
        self.socket.connect((address, 80))
        self.socket.setblocking(False)
        self.state = "alive"
        self.whole = self.over_kills = 0
        self.rest()

    def rest(self):
        self.unsent, self.head, self.got, self.length, self.block = b"", b"", 0, None, None
        self.begun = None
        self.next_s = time.monotonic() + self.pause_s

    def idle(self):
        return self.begun is None

    def step(self, now, kills, stopping):
        try:
            self.ask(now, kills, stopping)
            if self.begun is not None and not self.unsent:
                self.read(kills)
        except OSError as e:
            if e.errno not in AWAY:
                self.state = "reset" if e.errno == errno.ECONNRESET else errno.errorcode[e.errno]

    def ask(self, now, kills, stopping):
        if self.begun is None:
            if now < self.next_s or stopping:
                return
            self.begun, self.unsent = kills, self.request
            self.next_s = now
        if not self.unsent or now < self.next_s:
            return
        n = len(self.request) // 2 if self.pieces and len(self.unsent) == len(self.request) else len(self.unsent)
        n = self.socket.send(self.unsent[:n])
        self.unsent = self.unsent[n:]
        self.next_s = now + 0.3

    def read(self, kills):
        data = self.socket.recv(SLICE)
        if not data:
            self.state = "closed"
            return
        if self.length is None:
            self.head += data
            if b"\r\n\r\n" not in self.head:
                return
            head, data = self.head.split(b"\r\n\r\n", 1)
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            self.length = int(fields[b"content-length"])
            self.head = b""
        self.body(data)
        if self.state == "alive" and self.got == self.length:
            self.whole += 1
            self.over_kills += self.begun != kills
            self.rest()

    def body(self, data):
        if self.request.startswith(b"GET /small"):
            wrong = data != b"small\n"[self.got:self.got + len(data)]
            self.got += len(data)
        else:
            wrong = self.big(data)
        if wrong or self.got > self.length:
            self.state = "wrong"

    def big(self, data):
        n = len(HEAD % 0)
        if self.got < n:
            self.head += data[:n - self.got]
            data = data[n - self.got:]
            self.got = len(self.head)
            if self.got == n:
                self.block = block_of(int(self.head.split()[1])) * 3
        if not data:
            return False
        at = (self.got - n) % len(BLOCK)
        self.got += len(data)
        return data != self.block[at:at + len(data)]


def kills_of(path):
    with open(path) as f:
        return int(f.read() or 0)


def client(address, stop, round_file, downloads, idle):
    big = [Client(address, "/big.bin", 0, False) for _ in range(downloads)]
    small = [Client(address, "/small.txt", 0.1 + i * 0.01, i % 2 == 1) for i in range(idle)]
    print("open", flush=True)
    end = None
    while True:
        now, kills, stopping = time.monotonic(), kills_of(round_file), os.path.exists(stop)
        if stopping and end is None:
            end = now + END_S
        alive = [c for c in big + small if c.state == "alive"]
        for c in alive:
            c.step(now, kills, stopping)
        if stopping and (all(c.idle() or c.state != "alive" for c in alive) or now > end):
            break
        time.sleep(0.005)
    states = {}
    for c in big + small:
        late = c.state == "alive" and not c.idle()
        states["late" if late else c.state] = states.get("late" if late else c.state, 0) + 1
    print("big %d over_kills %d" % (sum(c.whole for c in big), sum(c.over_kills for c in big)))
    print("small %d over_kills %d" % (sum(c.whole for c in small), sum(c.over_kills for c in small)))
    print(" ".join("%s %d" % pair for pair in sorted(states.items())))


class Echo:
    def __init__(self, connection):
        self.socket, self.left, self.ended = connection, b"", False
        self.socket.setblocking(False)

    def step(self):
        """Whether the connection is still there."""
        try:
            if self.left:
                self.left = self.left[self.socket.send(self.left):]
            elif self.ended:
                return False
            else:
                self.left = self.socket.recv(65536)
                self.ended = not self.left
        except OSError as e:
            return e.errno in AWAY
        return True


def echo(port):
    with socket.create_server(("10.99.0.1", port), backlog=256) as listener:
        listener.setblocking(False)
        print("listens", flush=True)
        streams = []
        while True:
            try:
                streams.append(Echo(listener.accept()[0]))
            except BlockingIOError:
                pass
            before = streams
            streams = [s for s in before if s.step()]
            for s in before:
                if s not in streams:
                    s.socket.close()
            time.sleep(0.001)


if sys.argv[1] == "file":
    write_file(int(sys.argv[2]), sys.argv[3])
elif sys.argv[1] == "echo":
    echo(int(sys.argv[2]))
else:
    client(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), int(sys.argv[6]))
