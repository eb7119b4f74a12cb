"""What a case works with: sockets of the system under test, peers of both kinds, a transcript.

Cases register themselves with @case. A case takes a Bench, does things and notes what it sees; it asserts
nothing. What it notes must be the same in every run on one system: no ephemeral ports, no exact times.
"""
import socket
import struct
import threading
import time
import zlib
from dataclasses import dataclass
from functools import partial

import names
import world
from rawpeer import RawPeer

BLOCKED_S = 0.25  # a call that takes longer is blocked
RESULT_S = 6.0
CASES = []


@dataclass
class Case:
    """A case in one family. claim: its docstring."""
    name: str
    family: int
    function: object
    claim: str
    timeout_s: float
    only: str     # the system it is for, "" for both
    alone: bool   # no other case runs at that time
    number: int = 0


def case(families=(4, 6), timeout_s=30.0, only="", alone=False):
    """Registers a function of one Bench as FILE.FUNCTION, once a family."""
    def register(function):
        name = f"{function.__module__.removeprefix('cases_')}.{function.__name__}"
        for family in families:
            CASES.append(Case(f"{name}/{family}", family, function, function.__doc__, timeout_s, only, alone, len(CASES)))
        return function
    return register


class Later:
    """A call in a thread of its own."""

    def __init__(self, function, args):
        self.value, self.seconds, self.begin = None, None, time.monotonic()
        self.thread = threading.Thread(target=self._run, args=(function, args), daemon=True)
        self.thread.start()

    def _run(self, function, args):
        value = function(*args)
        self.seconds = time.monotonic() - self.begin
        self.value = value

    def blocked(self, seconds=BLOCKED_S):
        """Whether it has not returned so many seconds from now."""
        self.thread.join(seconds)
        return self.thread.is_alive()

    def result(self, wait_s=RESULT_S):
        self.thread.join(wait_s)
        return "still blocked" if self.thread.is_alive() else self.value


class End:
    """A descriptor of the system under test; the calls of sut.Sockets without their first argument."""

    def __init__(self, bench, fd):
        self.bench, self.fd = bench, fd

    def __getattr__(self, call):
        return partial(getattr(self.bench.sut, call), self.fd)

    def accept(self):
        """(End, address of the peer), or the errno's name."""
        got = self.bench.sut.accept(self.fd)
        return got if isinstance(got, str) else (self.bench.end(got[0]), got[1])

    def close(self):
        self.bench.ends.discard(self)
        return self.bench.sut.close(self.fd)

    def nonblocking(self, on=True):
        return self.fcntl(names.F_SETFL, names.O_NONBLOCK if on else 0)

    def get(self, level, option):
        """An int option's value."""
        got = self.getsockopt(level, option)
        return got if isinstance(got, str) else int.from_bytes(got, "little", signed=True)

    def error(self):
        """SO_ERROR, which reading clears, by its name."""
        got = self.get(socket.SOL_SOCKET, socket.SO_ERROR)
        return names.errno_name(got) if isinstance(got, int) and got > 0 else got

    def linger(self, on, seconds):
        return self.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", on, seconds))

    def set_time(self, option, seconds):
        """SO_RCVTIMEO or SO_SNDTIMEO."""
        return self.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", int(seconds), int(seconds % 1 * 1e6)))

    def events(self, wanted, timeout_ms=0):
        """The names of this descriptor's revents."""
        got = self.bench.sut.poll([(self.fd, wanted)], timeout_ms)
        return got if isinstance(got, str) else got[1][0]

    def info(self):
        """The bytes of TCP_INFO."""
        return self.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)

    def state(self):
        got = self.info()
        return got if isinstance(got, str) else names.TCP_STATES[got[0]]


class Bench:
    """One run of one case on one system."""

    def __init__(self, sut, case, run):
        self.sut, self.case, self.family = sut, case, case.family
        self.first_port = world.FIRST_PORT + run * world.PORTS_A_RUN + case.number * world.PORTS_A_CASE
        self.transcript, self.ends, self.peers, self._raw = [], set(), [], None
        for name in ("SUT", "SUT2", "PEER", "NOBODY", "FAR", "NOT_OURS", "ANY"):
            setattr(self, name, getattr(world, name)[self.family])
        self.domain = world.FAMILY[self.family]
        self.raw_host = world.raw_addresses(case.number, run)
        raw4, raw6, _ = self.raw_host
        self.RAW = raw6 if self.family == 6 else raw4
        self.level = socket.IPPROTO_IPV6 if self.family == 6 else socket.IPPROTO_IP
        self.names = {h: n for n in ("SUT", "SUT2", "PEER", "ANY") for h in getattr(world, n).values()}
        self.names[raw4] = self.names[raw6] = "RAW"

    # The transcript.

    def note(self, label, value):
        self.transcript.append([label, self.plain(value)])
        return value

    def plain(self, v):
        """A value as text that is the same in every run."""
        if isinstance(v, bytes):
            return repr(v) if len(v) <= 64 else f"{len(v)} bytes, crc {zlib.crc32(v):08x}"
        if isinstance(v, tuple) and len(v) == 2 and isinstance(v[0], str) and type(v[1]) is int and v[0].count(":") + v[0].count("."):
            return self.who(v)
        if isinstance(v, (list, tuple)):
            return "[" + ", ".join(self.plain(x) for x in v) + "]"
        return "a socket" if isinstance(v, End) else str(v)

    def who(self, where):
        """An address as its owner's name and the number of the case's port."""
        host, port = where
        mapped = "mapped " if host.startswith("::ffff:") else ""
        host = host.removeprefix("::ffff:")
        known = self.first_port <= port < self.first_port + world.PORTS_A_CASE
        return f"{mapped}{self.names.get(host, host)} port {port - self.first_port if known else 'other' if port else 'none'}"

    def note_time(self, label, seconds, low, high):
        """A duration, as whether it is within bounds."""
        if seconds is None:
            return self.note(label, "no end")
        self.note(label, f"{low} to {high} s" if low <= seconds <= high else f"{seconds:.2f} s, not {low} to {high}")

    def timed(self, label, low, high, function, *args):
        """Notes the result and the time of a call."""
        begin = time.monotonic()
        value = function(*args)
        self.note(label, value)
        self.note_time(f"{label}: time", time.monotonic() - begin, low, high)
        return value

    # The system under test.

    def port(self, i=0):
        assert i < world.PORTS_A_CASE
        return self.first_port + i

    def end(self, fd):
        if isinstance(fd, str):
            raise RuntimeError(f"no descriptor: {fd}")
        end = End(self, fd)
        self.ends.add(end)
        return end

    def stream(self, kind=0):
        return self.end(self.sut.socket(self.domain, socket.SOCK_STREAM | kind))

    def dgram(self, kind=0):
        return self.end(self.sut.socket(self.domain, socket.SOCK_DGRAM | kind))

    def listener(self, i=0, backlog=16, host=None):
        end = self.stream()
        for value in (end.bind((host or self.SUT, self.port(i))), end.listen(backlog)):
            if value != 0:
                raise RuntimeError(f"listener: {value}")
        return end

    def start(self, function, *args):
        return Later(function, args)

    def epoll(self):
        return self.end(self.sut.epoll_create())

    # Linux as the peer.

    def peer(self, kind=socket.SOCK_STREAM):
        s = socket.socket(self.domain, kind)
        s.settimeout(5)
        self.peers.append(s)
        return s

    def peer_listener(self, i=0, backlog=16):
        s = self.peer()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((self.PEER, self.port(i)))
        s.listen(backlog)
        return s

    def attempt(self, function, *args):
        """A call of a peer's socket: its value, or the name of its error."""
        try:
            value = function(*args)
        except TimeoutError as e:
            return names.errno_name(e.errno) if e.errno else "timeout"
        except OSError as e:
            return names.errno_name(e.errno)
        return 0 if value is None else value

    def accepted(self, i=0):
        """A connection that the peer opened: (End, the peer's socket). The listener is closed."""
        listener = self.listener(i)
        peer = self.peer()
        peer.connect((self.SUT, self.port(i)))
        end = listener.accept()[0]
        listener.close()
        return end, peer

    def opened(self, i=0):
        """A connection that the system under test opened: (End, the peer's socket)."""
        listener = self.peer_listener(i)
        end = self.stream()
        value = end.connect((self.PEER, self.port(i)))
        if value != 0:
            raise RuntimeError(f"connect: {value}")
        peer = listener.accept()[0]
        peer.settimeout(5)
        self.peers.append(peer)
        listener.close()
        return end, peer

    def peer_reads(self, peer, n):
        """n bytes of a peer's socket, fewer at the end or an error, whose name is returned then."""
        got = b""
        while len(got) < n:
            piece = self.attempt(peer.recv, n - len(got))
            if not piece or isinstance(piece, str):
                return got if not piece else piece
            got += piece
        return got

    def peer_resets(self, peer):
        """The peer ends the connection with a RST."""
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()

    # The hand-driven peer.

    @property
    def raw(self):
        if self._raw is None:
            self._raw = RawPeer(world.DEVICE_B, *self.raw_host, world.MAC_A)
        return self._raw

    def raw_accepted(self, i=0, prepare=None, **how):
        """A connection that the hand-driven peer opened: (End, Conn). prepare(listener): before it listens."""
        listener = self.stream()
        if prepare:
            prepare(listener)
        for value in (listener.bind((self.SUT, self.port(i))), listener.listen(16)):
            if value != 0:
                raise RuntimeError(f"listener: {value}")
        conn = self.raw.connect(self.SUT, 30000, self.port(i), **how)
        if conn is None:
            raise RuntimeError("no SYN-ACK")
        end = listener.accept()[0]
        listener.close()
        return end, conn

    def raw_opened(self, i=0, prepare=None, **how):
        """A connection that the system under test opened to it: (End, Conn). prepare(End): before it connects."""
        end = self.stream()
        if prepare:
            prepare(end)
        raw = self.raw
        later = self.start(end.connect, (self.RAW, self.port(i)))
        conn = raw.accept(**how)
        if later.result() != 0:
            raise RuntimeError(f"connect: {later.result(0)}")
        return end, conn

    def finish(self):
        """Closes what is open, without lingering."""
        for end in list(self.ends):
            end.linger(1, 0)
            end.close()


def pattern(n):
    """n bytes that repeat at no power of two."""
    return (bytes(range(251)) * (n // 251 + 1))[:n]


def pause(seconds=BLOCKED_S):
    """Long enough for a packet to cross and be worked on."""
    time.sleep(seconds)
