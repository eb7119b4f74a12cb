"""AGENT_RESET and what else only the agent has: clients that vanish, requests that make no sense."""
import socket
import struct
import time

from bench import case, pause
from names import O_NONBLOCK, Op
from sut import POLLIN, Agent


@case(only="agent", alone=True)
def closes_everything(t):
    """AGENT_RESET aborts every connection, with a RST, and closes every descriptor; what is not so is noted."""
    end, conn = t.raw_accepted()
    listener, udp = t.listener(1), t.dgram()
    ep = t.epoll()
    if (got := t.sut.reset()) != 0:
        t.note("reset", got)
    p = conn.expect()
    if p is None or "R" not in p.flags:
        t.note("no RST", p)
    for name, e in (("connection", end), ("listener", listener), ("udp", udp), ("epoll", ep)):
        if (got := e.fcntl(3)) != "EBADF":
            t.note(name, got)
        t.ends.discard(e)
    later = t.raw.opener(t.SUT, 30009, t.port(1))
    later.send("S")
    if (got := str(later.expect("RA", 1))) != "RA":
        t.note("a SYN to the listener's port", got)
    t.note("ok", True)


@case(only="agent", alone=True)
def ends_blocked_calls(t):
    """AGENT_RESET ends the calls that are blocked in other clients."""
    end, conn = t.raw_accepted()
    listener = t.listener(1)
    calls = [t.start(end.read, 10), t.start(listener.accept), t.start(end.events, POLLIN, -1)]
    pause()
    t.sut.reset()
    for i, c in enumerate(calls):
        if c.result(3) == "still blocked":
            t.note(f"call {i}", "still blocked")
    t.ends.clear()
    t.note("ok", True)


@case(only="agent", alone=True)
def forgets(t):
    """AGENT_RESET forgets TIME-WAIT and path MTUs: the port can be bound, and segments are whole again."""
    end, peer = t.accepted()
    end.close()
    peer.recv(1)
    peer.close()
    pause(0.2)
    t.sut.reset()
    if (got := t.stream().bind((t.SUT, t.port()))) != 0:
        t.note("bind", got)
    end, conn = t.raw_accepted(1)
    end.write(bytes(1400))
    p = conn.expect("A", data=True)
    t.raw.icmp(p, *((3, 4, 1000) if t.family == 4 else (2, 0, 1300)))
    again = conn.expect("A", data=True)
    if again is None or len(again.data) >= 1400:
        t.note("after packet too big", again)
    t.sut.reset()
    t.ends.clear()
    end, conn = t.raw_accepted(2)
    end.write(bytes(1400))
    p = conn.expect("A", data=True)
    if p is None or len(p.data) != 1400:
        t.note("after the reset", p)
    t.note("ok", True)


@case(only="agent", alone=True)
def many_times(t):
    """AGENT_RESET twenty times, with connections open, leaves a stack that works."""
    for i in range(20):
        end, peer = t.accepted(i % 10)
        peer.sendall(b"abc")
        if (got := t.sut.reset()) != 0:
            t.note(f"reset {i}", got)
        t.ends.clear()
        if (got := t.attempt(peer.recv, 1)) != "ECONNRESET":
            t.note(f"the peer {i}", got)
    end, peer = t.accepted(0)
    peer.sendall(b"abc")
    if (got := end.read(10)) != b"abc":
        t.note("read", got)
    t.note("ok", True)


@case((4,), only="agent")
def client_vanishes(t):
    """A client that vanishes in a blocked call cancels it: what comes then is for the next reader."""
    end, conn = t.raw_accepted()
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(t.sut.path)
    client.send(Agent.REQUEST.pack(Op.READ, end.fd, 10, 0, 0, 0, 0, 0, 0, b""))
    pause()
    client.close()
    pause()
    conn.send("PA", b"abc")
    later = t.start(end.read, 10)
    if (got := later.result(2)) != b"abc":
        t.note("read", got)
    t.note("ok", True)


@case((4,), only="agent")
def wrong_requests(t):
    """Requests that are short, unknown or lie about lengths are answered with an errno or the end of that client."""
    end, conn = t.raw_accepted()
    end.nonblocking()
    for name, message in (("empty", b"x"), ("short", bytes(40)), ("operation 0", Agent.REQUEST.pack(0, -1, 0, 0, 0, 0, 0, 0, 0, b"")),
                          ("operation 99", Agent.REQUEST.pack(99, -1, 0, 0, 0, 0, 0, 0, 0, b"")),
                          ("address length", Agent.REQUEST.pack(Op.BIND, 0, 0, 0, 0, 0, 0, 999, 0, b"")),
                          ("data length", Agent.REQUEST.pack(Op.WRITE, 0, 0, 0, 0, 0, 0, 0, 5000, b"") + b"ab"),
                          ("poll count", Agent.REQUEST.pack(Op.POLL, -1, 1 << 40, 0, 0, 0, 0, 0, 0, b"")),
                          ("read count", Agent.REQUEST.pack(Op.READ, end.fd, -1, 0, 0, 0, 0, 0, 0, b""))):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.settimeout(3)
        client.connect(t.sut.path)
        client.send(message)
        try:
            reply = client.recv(1 << 18)
        except TimeoutError:
            t.note(name, "no answer")
            continue
        except OSError:
            reply = b""
        if reply and struct.unpack_from("=q", reply)[0] != -1:
            t.note(name, reply[:12])
    conn.send("PA", b"abc")
    end.events(POLLIN, 1000)
    if (got := end.read(10)) != b"abc":
        t.note("afterwards", got)
    t.note("ok", True)


@case((4,), only="agent")
def many_clients(t):
    """Sixty clients blocked at once do not keep another from its answer."""
    end, conn = t.raw_accepted()
    calls = [t.start(end.events, POLLIN, 3000) for _ in range(60)]
    begin = time.monotonic()
    end.get(socket.SOL_SOCKET, socket.SO_TYPE)
    if (seconds := time.monotonic() - begin) > 1:
        t.note("an answer took", f"{seconds:.1f} s")
    conn.send("PA", b"a")
    if (got := {c.result(3) for c in calls}) != {"IN"}:
        t.note("polls", sorted(got))
    t.note("ok", True)
