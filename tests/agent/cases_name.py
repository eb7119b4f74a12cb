"""getsockname and getpeername: what a socket is called before, during and after what gives it a name."""
import socket

from bench import case, pause
from names import O_NONBLOCK, Op
from sut import POLLIN
from world import PEER, SUT

KINDS = {"stream": socket.SOCK_STREAM, "datagram": socket.SOCK_DGRAM}


def new(t, kind):
    return t.end(t.sut.socket(t.domain, kind))


def both(t, label, end):
    t.note(f"{label}: own", end.getsockname())
    t.note(f"{label}: peer", end.getpeername())


@case()
def fresh(t):
    """A new socket: any address of its family and port 0; no peer."""
    for name, kind in KINDS.items():
        both(t, name, new(t, kind))


@case()
def length(t):
    """The length of the name is that of the family's sockaddr; what has no use is 0."""
    for kind in KINDS.values():
        end = new(t, kind)
        t.note("fresh", end.bench.sut.call(Op.GETSOCKNAME, end.fd)[2])
        end.bind((t.SUT, 0))
        name = end.bench.sut.call(Op.GETSOCKNAME, end.fd)[2]
        t.note("bound", name[:2] + name[4:])


@case()
def no_socket(t):
    """Of what is no socket: ENOTSOCK; of no descriptor: EBADF."""
    both(t, "epoll", t.epoll())
    for call in (t.sut.getsockname, t.sut.getpeername):
        t.note("none", call(-1))


@case()
def bound(t):
    """After bind: the address and the port, one that was chosen where it was 0; any address stays any."""
    for i, (name, kind) in enumerate(KINDS.items()):
        one, any_, chosen, nothing = (new(t, kind) for _ in range(4))
        one.bind((t.SUT, t.port(i)))
        both(t, f"{name}, one address", one)
        any_.bind((t.ANY, t.port(2 + i)))
        both(t, f"{name}, any address", any_)
        chosen.bind((t.SUT2, 0))
        both(t, f"{name}, port 0", chosen)
        nothing.bind((t.ANY, 0))
        both(t, f"{name}, nothing", nothing)


@case()
def bind_failed(t):
    """A bind that fails leaves the name as it was."""
    for i, (name, kind) in enumerate(KINDS.items()):
        new(t, kind).bind((t.SUT, t.port(i)))
        end = new(t, kind)
        t.note("bind", end.bind((t.SUT, t.port(i))))
        t.note("after EADDRINUSE", end.getsockname())
        t.note("bind", end.bind((t.NOT_OURS, t.port(i))))
        t.note("after EADDRNOTAVAIL", end.getsockname())
        t.note("bind", end.bind((t.SUT2, t.port(i))))
        t.note("again", end.bind((t.SUT2, t.port(2 + i))))
        t.note("after EINVAL", end.getsockname())


@case()
def listening_unbound(t):
    """listen of an unbound socket gives it a port, at which connections arrive."""
    end = t.stream()
    t.note("listen", end.listen(4))
    both(t, "listening", end)
    port = end.getsockname()[1]
    peer = t.peer()
    t.note("the peer", t.attempt(peer.connect, (t.SUT, port)))
    young = end.accept()[0]
    t.note("the same port", young.getsockname() == (t.SUT, port))
    t.note("its peer", young.getpeername() == peer.getsockname()[:2])
    t.note("still", end.getsockname()[0] == t.ANY)
    t.note("listen on another", t.stream().listen(4))


@case()
def listening_shut_down(t):
    """A listener that chose its port: after shutdown, and after a connect to AF_UNSPEC."""
    for what in ("shutdown", "unspec"):
        for bind in (True, False):
            end = t.stream()
            if bind:
                end.bind((t.ANY, t.port(2 if what == "unspec" else 1)))
            end.listen(4)
            end.shutdown(socket.SHUT_RDWR) if what == "shutdown" else end.connect(bytes(16))
            both(t, f"{what}, {'bound' if bind else 'chosen'}", end)
            t.note("listen again", end.listen(1))
            both(t, "then", end)


@case()
def accepted(t):
    """An accepted connection has the address that was asked for, also of a listener of any."""
    listener = t.listener(host=t.ANY)
    for host in (t.SUT, t.SUT2):
        peer = t.peer()
        peer.connect((host, t.port()))
        end = listener.accept()[0]
        t.note("own", end.getsockname())
        t.note("peer", end.getpeername() == peer.getsockname()[:2])
    t.note("the listener", listener.getsockname())


@case()
def connected(t):
    """After connect: the address that the route asks for, a port, and the peer."""
    end, peer = t.opened()
    both(t, "unbound", end)
    t.note("as the peer sees it", end.getsockname() == peer.getpeername()[:2])
    listener = t.peer_listener(1)
    for host, label in ((t.SUT2, "one address"), (t.ANY, "any address")):
        bound_end = t.stream()
        bound_end.bind((host, t.port(2 if host == t.ANY else 3)))
        t.note("connect", bound_end.connect((t.PEER, t.port(1))))
        both(t, label, bound_end)
        t.peers.append(listener.accept()[0])


@case()
def connecting(t):
    """While a connect goes on the socket has its name, and no peer yet."""
    end = t.stream(O_NONBLOCK)
    t.raw
    t.note("connect", end.connect((t.RAW, t.port())))
    both(t, "meanwhile", end)
    t.raw.accept()
    t.note("poll", end.events(4, 2000))
    both(t, "connected", end)


@case()
def refused(t):
    """After a refused connect: the name of a bound socket, and of one that was not."""
    for bind in (t.ANY, t.SUT, None):
        end = t.stream()
        if bind:
            end.bind((bind, t.port(1 if bind == t.ANY else 2)))
        t.note("connect", end.connect((t.PEER, t.port(5))))
        both(t, f"bound to {bind and t.who((bind, 0))}", end)


@case()
def reset(t):
    """After a RST the name stays, and there is no peer."""
    end, peer = t.opened()
    t.peer_resets(peer)
    t.note("poll", end.events(POLLIN, 2000))
    both(t, "reset", end)
    t.note("read", end.read(1))
    both(t, "read", end)


@case()
def half_closed(t):
    """With one direction shut, or the other, there is still a peer."""
    end, peer = t.opened()
    peer.shutdown(socket.SHUT_WR)
    t.note("poll", end.events(POLLIN, 2000))
    both(t, "peer's FIN", end)
    end.shutdown(socket.SHUT_WR)
    pause(0.1)
    both(t, "both", end)
    end, peer = t.opened(1)
    end.shutdown(socket.SHUT_WR)
    pause(0.1)
    both(t, "own FIN", end)
    peer.close()
    pause(0.1)
    both(t, "TIME-WAIT", end)


@case()
def dissolved(t):
    """A connection that a connect to AF_UNSPEC ended: what is left of its name."""
    for bind in (None, "ANY", "SUT"):
        end = t.stream()
        if bind:
            end.bind((getattr(t, bind), t.port(1 if bind == "ANY" else 2)))
        listener = t.peer_listener(3)
        end.connect((t.PEER, t.port(3)))
        t.peers.append(listener.accept()[0])
        listener.close()
        t.note("unspec", end.connect(bytes(16)))
        both(t, f"bound to {bind}", end)


@case()
def datagrams(t):
    """A UDP socket has a port when it has sent, an address while it is connected."""
    peer = t.peer(socket.SOCK_DGRAM)
    peer.bind((t.PEER, t.port(1)))
    end = t.dgram()
    end.sendto(b"a", (t.PEER, t.port(1)))
    both(t, "sent", end)
    t.note("the port", end.getsockname()[1] == peer.recvfrom(10)[1][1])
    t.note("connect", end.connect((t.PEER, t.port(1))))
    both(t, "connected", end)
    t.note("again", end.connect((t.PEER, t.port(2))))
    both(t, "connected again", end)
    t.note("unspec", end.connect(bytes(16)))
    both(t, "disconnected", end)


@case()
def datagrams_bound(t):
    """A UDP socket that was bound keeps what bind gave it."""
    for host, i in (("ANY", 1), ("SUT2", 2)):
        end = t.dgram()
        end.bind((getattr(t, host), t.port(i)))
        end.connect((t.PEER, t.port(5)))
        both(t, f"{host} connected", end)
        end.connect(bytes(16))
        both(t, f"{host} disconnected", end)


@case()
def connect_failed(t):
    """A connect that cannot begin: the name is as it was, but for a UDP socket's port."""
    for name, kind in KINDS.items():
        end = new(t, kind)
        t.note("connect", end.connect((t.FAR, t.port())))
        both(t, f"{name}, no way", end)
        end = new(t, kind)
        t.note("connect", end.connect(b"\x63\0" + bytes(26)))
        both(t, f"{name}, unknown family", end)


@case((6,))
def mapped(t):
    """An IPv6 socket of an IPv4 connection is called by mapped addresses."""
    listener = socket.socket()
    listener.bind((PEER[4], t.port()))
    listener.listen(1)
    t.peers.append(listener)
    end = t.stream()
    end.connect(("::ffff:" + PEER[4], t.port()))
    both(t, "connected", end)
    end = t.dgram()
    end.connect(("::ffff:" + PEER[4], t.port()))
    both(t, "datagrams", end)
    end = t.stream()
    end.bind(("::ffff:" + SUT[4], t.port(1)))
    both(t, "bound", end)
    end = t.stream()
    end.bind(("::ffff:0.0.0.0", t.port(2)))
    both(t, "bound to any", end)
    end.listen(1)
    peer = socket.socket()
    t.peers.append(peer)
    peer.connect((SUT[4], t.port(2)))
    young = end.accept()[0]
    t.note("accepted", young.getsockname())
