"""Calls without a connection: socket, bind, listen, flags, wrong descriptors and states."""
import socket

from bench import case, pause
from names import F_GETFL, F_SETFL, O_NONBLOCK, SIOCINQ, SIOCOUTQ
from sut import POLLIN, POLLOUT, POLLRDHUP

SOL = socket.SOL_SOCKET


@case((4,))
def socket_kinds(t):
    """Which domains, types and protocols there are, and the errno of the others."""
    wanted = (("stream", socket.AF_INET, 1, 0), ("stream tcp", socket.AF_INET, 1, 6), ("dgram", socket.AF_INET, 2, 0),
              ("dgram udp", socket.AF_INET, 2, 17), ("stream 6", socket.AF_INET6, 1, 0), ("dgram 6", socket.AF_INET6, 2, 17),
              ("stream udp", socket.AF_INET, 1, 17), ("dgram tcp", socket.AF_INET, 2, 6), ("type 7", socket.AF_INET, 7, 0),
              ("type 0", socket.AF_INET, 0, 0), ("domain 99", 99, 1, 0), ("domain -1", -1, 1, 0),
              ("unknown type", socket.AF_INET, 15, 0), ("unknown protocol", socket.AF_INET, 1, 200))
    for name, *what in wanted:
        got = t.sut.socket(*what)
        t.note(name, got if isinstance(got, str) else "a descriptor")
        if not isinstance(got, str):
            t.end(got)


@case((4,))
def lowest_descriptor(t):
    """A descriptor is small and not negative, and two are not the same."""
    a, b = t.stream(), t.dgram()
    t.note("small", 0 <= a.fd < 65536 and 0 <= b.fd < 65536)
    t.note("two", a.fd != b.fd)


@case()
def flags(t):
    """F_GETFL tells O_RDWR and O_NONBLOCK as set by socket or F_SETFL."""
    for name, end in (("blocking", t.stream()), ("non-blocking", t.stream(O_NONBLOCK)), ("UDP", t.dgram(O_NONBLOCK))):
        t.note(name, oct(end.fcntl(F_GETFL)))
        t.note(f"{name}: set", end.fcntl(F_SETFL, O_NONBLOCK))
        t.note(f"{name}: after", oct(end.fcntl(F_GETFL)))
        t.note(f"{name}: clear", end.fcntl(F_SETFL, 0))
        t.note(f"{name}: after that", oct(end.fcntl(F_GETFL)))


@case((4,))
def unknown_fcntl(t):
    """An unknown fcntl is EINVAL."""
    t.note("9999", t.stream().fcntl(9999))


@case((4,))
def wrong_descriptor(t):
    """Every call on a descriptor that is not open: EBADF."""
    s = t.sut
    where = (t.PEER, 9)
    for fd in (-1, 60000):
        for name, got in (("bind", s.bind(fd, where)), ("listen", s.listen(fd, 1)), ("accept", s.accept(fd)),
                          ("connect", s.connect(fd, where)), ("read", s.read(fd, 1)), ("recv", s.recv(fd, 1)),
                          ("write", s.write(fd, b"a")), ("send", s.send(fd, b"a")), ("sendto", s.sendto(fd, b"a", where)),
                          ("recvfrom", s.recvfrom(fd, 1)), ("fcntl", s.fcntl(fd, F_GETFL)), ("ioctl", s.ioctl(fd, SIOCINQ)),
                          ("close", s.close(fd)), ("shutdown", s.shutdown(fd, 2)), ("getsockopt", s.getsockopt(fd, SOL, 4)),
                          ("setsockopt", s.setsockopt(fd, SOL, 2, 1)), ("epoll_wait", s.epoll_wait(fd, 1, 0))):
            t.note(f"{name} {fd}", got)


@case()
def closed_descriptor(t):
    """After close the descriptor is gone: EBADF, for a second close too."""
    end = t.stream()
    t.note("close", end.close())
    t.note("again", t.sut.close(60000))
    t.note("poll", t.sut.poll([(60000, POLLIN)], 0))


@case()
def fresh_tcp(t):
    """Calls on a TCP socket that is neither bound nor connected."""
    end = t.stream()
    t.note("read", end.read(1))
    t.note("recv peek", end.recv(1, socket.MSG_PEEK))
    t.note("write", end.write(b"a"))
    t.note("send", end.send(b"a", socket.MSG_NOSIGNAL))
    t.note("recvfrom", end.recvfrom(1))
    t.note("shutdown", end.shutdown(socket.SHUT_RDWR))
    t.note("accept", end.accept())
    t.note("SIOCINQ", end.ioctl(SIOCINQ))
    t.note("SIOCOUTQ", end.ioctl(SIOCOUTQ))
    t.note("poll", end.events(POLLIN | POLLOUT | POLLRDHUP))
    t.note("state", end.state())
    t.note("SO_ERROR", end.error())


@case()
def fresh_udp(t):
    """Calls on a UDP socket that is neither bound nor connected."""
    end = t.dgram(O_NONBLOCK)
    t.note("read", end.read(1))
    t.note("write", end.write(b"a"))
    t.note("send", end.send(b"a"))
    t.note("listen", end.listen(1))
    t.note("accept", end.accept())
    t.note("shutdown", end.shutdown(socket.SHUT_RDWR))
    t.note("SIOCINQ", end.ioctl(SIOCINQ))
    t.note("SIOCOUTQ", end.ioctl(SIOCOUTQ))
    t.note("poll", end.events(POLLIN | POLLOUT | POLLRDHUP))


@case()
def bind_twice(t):
    """A bound socket cannot be bound again: EINVAL."""
    end = t.stream()
    t.note("first", end.bind((t.SUT, t.port())))
    t.note("again", end.bind((t.SUT, t.port(1))))
    t.note("listen", end.listen(1))
    t.note("and again", end.bind((t.SUT, t.port(1))))
    udp = t.dgram()
    t.note("UDP", udp.bind((t.SUT, t.port())))
    t.note("UDP again", udp.bind((t.SUT, t.port(1))))


@case()
def bind_conflicts(t):
    """Two sockets on one address and port: EADDRINUSE; on two addresses not; the any address conflicts with each."""
    for kind in (t.stream, t.dgram):
        name = "TCP" if kind == t.stream else "UDP"
        a, b, c, d = kind(), kind(), kind(), kind()
        t.note(f"{name} first", a.bind((t.SUT, t.port())))
        t.note(f"{name} the same", b.bind((t.SUT, t.port())))
        t.note(f"{name} another address", c.bind((t.SUT2, t.port())))
        t.note(f"{name} any", d.bind((t.ANY, t.port())))
        t.note(f"{name} another port", d.bind((t.ANY, t.port(1))))


@case()
def bind_after_any(t):
    """A port of the any address is taken for each address."""
    a, b = t.stream(), t.stream()
    t.note("any", a.bind((t.ANY, t.port())))
    t.note("one", b.bind((t.SUT, t.port())))
    a.close()
    t.note("after close", b.bind((t.SUT, t.port())))


@case()
def bind_reuse(t):
    """With SO_REUSEADDR on both two sockets bind one port; only one listens."""
    a, b = t.stream(), t.stream()
    for end in (a, b):
        t.note("option", end.setsockopt(SOL, socket.SO_REUSEADDR, 1))
    t.note("first", a.bind((t.SUT, t.port())))
    t.note("second", b.bind((t.SUT, t.port())))
    t.note("listen first", a.listen(1))
    t.note("listen second", b.listen(1))
    c = t.stream()
    c.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    t.note("beside a listener", c.bind((t.SUT, t.port())))


@case()
def bind_reuse_one_side(t):
    """SO_REUSEADDR on one of the two is not enough."""
    a, b = t.stream(), t.stream()
    b.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    t.note("first", a.bind((t.SUT, t.port())))
    t.note("second", b.bind((t.SUT, t.port())))


@case()
def bind_reuseport(t):
    """With SO_REUSEPORT on both two listeners share a port, and each connection goes to one of them."""
    a, b = t.stream(O_NONBLOCK), t.stream(O_NONBLOCK)
    for end in (a, b):
        t.note("option", end.setsockopt(SOL, socket.SO_REUSEPORT, 1))
        t.note("bind", end.bind((t.SUT, t.port())))
        t.note("listen", end.listen(64))
    c = t.stream()
    t.note("without the option", c.bind((t.SUT, t.port())))
    peers = [t.peer() for _ in range(32)]
    for p in peers:
        p.connect((t.SUT, t.port()))
    t.sut.poll([(a.fd, POLLIN)], 300)
    counts = []
    for end in (a, b):
        n = 0
        while not isinstance(end.accept(), str):
            n += 1
        counts.append(n)
    t.note("accepted", sum(counts))
    t.note("both had some", all(counts))


def time_wait(t, reuse):
    """A connection of port 0 that ends in TIME-WAIT; reuse: SO_REUSEADDR of its listener."""
    listener = t.stream()
    listener.setsockopt(SOL, socket.SO_REUSEADDR, reuse)
    listener.bind((t.SUT, t.port()))
    listener.listen(1)
    peer = t.peer()
    peer.connect((t.SUT, t.port()))
    end = listener.accept()[0]
    listener.close()
    end.close()
    t.note("the peer's end", t.attempt(peer.recv, 1))
    peer.close()
    pause(0.15)


@case()
def bind_time_wait(t):
    """A port with a connection in TIME-WAIT can be bound if both had SO_REUSEADDR."""
    time_wait(t, 1)
    without = t.stream()
    t.note("without", without.bind((t.SUT, t.port())))
    without.close()
    again = t.stream()
    again.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    t.note("with", again.bind((t.SUT, t.port())))
    t.note("listen", again.listen(1))
    t.note("connect", t.attempt(t.peer().connect, (t.SUT, t.port())))
    t.note("accept", again.accept()[0])


@case()
def bind_time_wait_one_side(t):
    """A port with a connection in TIME-WAIT that had no SO_REUSEADDR: EADDRINUSE."""
    time_wait(t, 0)
    again = t.stream()
    again.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    t.note("with", again.bind((t.SUT, t.port())))


@case()
def bind_connected(t):
    """A port of an accepted connection whose listener is closed: EADDRINUSE without SO_REUSEADDR."""
    end, peer = t.accepted()
    t.note("without", t.stream().bind((t.SUT, t.port())))
    again = t.stream()
    again.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    t.note("with on one side", again.bind((t.SUT, t.port())))


@case()
def bind_reset(t):
    """A port of an accepted connection that was reset is free, though its descriptor is open."""
    end, conn = t.raw_accepted()
    conn.rst()
    t.note("poll", end.events(POLLIN, 2000))
    t.note("bind", t.stream().bind((t.SUT, t.port())))


@case()
def bind_not_local(t):
    """An address that is not this host's: EADDRNOTAVAIL."""
    t.note("TCP", t.stream().bind((t.NOT_OURS, t.port())))
    t.note("UDP", t.dgram().bind((t.NOT_OURS, t.port())))
    t.note("the peer's", t.stream().bind((t.PEER, t.port())))


@case()
def bind_multicast(t):
    """TCP and a multicast address: IPv4 takes it, IPv6 wants an interface."""
    t.note("TCP", t.stream().bind(("224.0.0.251" if t.family == 4 else "ff05::5", t.port())))


@case()
def bind_wrong_address(t):
    """A bind with too short an address: EINVAL; of an unknown family: EAFNOSUPPORT."""
    t.note("short", t.stream().bind(b"\x02\0\0\x07"))
    t.note("nothing", t.stream().bind(b""))
    t.note("unknown family", t.stream().bind(b"\x63\0" + bytes(26)))
    other = ("fd98::1" if t.family == 4 else "10.98.0.1", t.port())
    t.note("the other family", t.stream().bind(other))
    t.note("UDP short", t.dgram().bind(b"\x02\0\0\x07"))
    t.note("unspecified family", t.stream().bind(b"\0\0" + bytes(26)))


@case()
def bind_port_zero(t):
    """Port 0 is a free port, and connects show it."""
    listener = t.peer_listener()
    end = t.stream()
    t.note("bind", end.bind((t.SUT, 0)))
    t.note("connect", end.connect((t.PEER, t.port())))
    t.note("the peer sees", t.who(listener.accept()[1][:2]))


@case()
def listen_unbound(t):
    """A listen without bind takes a free port."""
    end = t.stream()
    t.note("listen", end.listen(1))
    t.note("state", end.state())


@case()
def listen_again(t):
    """A second listen changes the backlog and is no error; a listen after close is possible at once."""
    end = t.listener()
    t.note("again", end.listen(1))
    t.note("state", end.state())
    end.close()
    t.note("anew", t.listener().state())


@case()
def listen_connected(t):
    """A connected socket cannot listen: EINVAL."""
    end, _ = t.opened()
    t.note("listen", end.listen(1))


@case()
def listen_backlogs(t):
    """Backlogs of 0, -1 and more than the limit are taken."""
    for n in (0, -1, 1 << 20):
        end = t.stream()
        end.bind((t.SUT, 0))
        t.note(str(n), end.listen(n))


@case()
def listener_calls(t):
    """Calls on a listener that want a connection: ENOTCONN, EPIPE, EINVAL."""
    end = t.listener()
    t.note("read", end.read(1))
    t.note("write", end.write(b"a"))
    t.note("SIOCINQ", end.ioctl(SIOCINQ))
    t.note("SIOCOUTQ", end.ioctl(SIOCOUTQ))
    t.note("poll", end.events(POLLIN | POLLOUT | POLLRDHUP))
    t.note("shutdown write", end.shutdown(socket.SHUT_WR))
    t.note("state", end.state())


@case()
def shutdown_wrong_way(t):
    """A shutdown of an unknown way is EINVAL."""
    end, _ = t.opened()
    t.note("3", end.shutdown(3))
    t.note("-1", end.shutdown(-1))
    t.note("fresh 3", t.stream().shutdown(3))


@case()
def ioctl_unknown(t):
    """An ioctl that sockets do not know."""
    t.note("TCP", t.stream().ioctl(0x9999))


@case()
def zero_bytes(t):
    """A read of 0 bytes returns at once; a write of 0 bytes sends nothing."""
    end, peer = t.opened()
    t.note("write", end.write(b""))
    t.note("send", end.send(b""))
    t.note("read", end.read(0))
    t.note("recv", end.recv(0, socket.MSG_DONTWAIT))
    peer.sendall(b"ab")
    t.note("poll", end.events(POLLIN, 1000))
    t.note("read none of two", end.read(0))
    t.note("read", end.read(5))
