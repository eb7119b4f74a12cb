"""Who may have a port, and what a socket still has after its connection, its listening or its peer is gone."""
import socket

from bench import case, pause
from names import O_NONBLOCK, PMTUDISC_DO
from rawpeer import MSS_1460
from sut import POLLIN, POLLOUT, POLLRDHUP
from world import ANY, SUT

SOL = socket.SOL_SOCKET
ALL = POLLIN | POLLOUT | POLLRDHUP


def reusing(t, option=socket.SO_REUSEADDR, kind=socket.SOCK_STREAM, domain=None):
    end = t.end(t.sut.socket(domain or t.domain, kind))
    end.setsockopt(SOL, option, 1)
    return end


@case((6,))
def any_of_both_families(t):
    """0.0.0.0 beside ::, with IPV6_V6ONLY and without; TCP and UDP."""
    for i, kind in enumerate((socket.SOCK_STREAM, socket.SOCK_DGRAM)):
        four = t.end(t.sut.socket(socket.AF_INET, kind))
        t.note("0.0.0.0", four.bind((ANY[4], t.port(i))))
        six = t.end(t.sut.socket(socket.AF_INET6, kind))
        t.note("::", six.bind((ANY[6], t.port(i))))
        t.note("only", six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1))
        t.note(":: alone", six.bind((ANY[6], t.port(i))))
        t.note("too late", six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0))


@case((6,))
def any_of_both_families_reusing(t):
    """0.0.0.0 beside :: with SO_REUSEADDR: they bind; of TCP one listens."""
    four, six = reusing(t, domain=socket.AF_INET), reusing(t)
    t.note("0.0.0.0", four.bind((ANY[4], t.port())))
    t.note("::", six.bind((ANY[6], t.port())))
    t.note("listen", four.listen(1))
    t.note("listen ::", six.listen(1))


@case((6,))
def mapped_beside_four(t):
    """A mapped address of an IPv6 socket and the IPv4 one are one address."""
    four, six = t.end(t.sut.socket(socket.AF_INET, socket.SOCK_STREAM)), t.stream()
    t.note("IPv4", four.bind((SUT[4], t.port())))
    t.note("mapped", six.bind(("::ffff:" + SUT[4], t.port())))


@case()
def reuse_set_late(t):
    """SO_REUSEADDR of the first, set after its bind, counts."""
    one, two = t.stream(), reusing(t)
    one.bind((t.SUT, t.port()))
    t.note("before", two.bind((t.SUT, t.port())))
    one.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    t.note("after", two.bind((t.SUT, t.port())))


@case()
def reuse_address_and_port(t):
    """One with SO_REUSEADDR, the other with SO_REUSEPORT: EADDRINUSE."""
    for i, kind in enumerate((socket.SOCK_STREAM, socket.SOCK_DGRAM)):
        one, two = reusing(t, kind=kind), reusing(t, socket.SO_REUSEPORT, kind)
        t.note("first", one.bind((t.SUT, t.port(i))))
        t.note("second", two.bind((t.SUT, t.port(i))))


@case()
def reuse_port_one_listens(t):
    """SO_REUSEPORT: a third one binds while two listen, and a connection never goes to it."""
    ends = [reusing(t, socket.SO_REUSEPORT) for _ in range(3)]
    for end in ends:
        t.note("bind", end.bind((t.SUT, t.port())))
    for end in ends[:2]:
        end.nonblocking()
        end.listen(16)
    for _ in range(12):
        t.peer().connect((t.SUT, t.port()))
    pause(0.1)
    n = 0
    for end in ends[:2]:
        while not isinstance(end.accept(), str):
            n += 1
    t.note("accepted", n)


@case()
def after_refused(t):
    """After a refused connect a bound socket has its port still: it can connect again, or listen."""
    end = t.stream()
    end.bind((t.SUT, t.port()))
    t.note("refused", end.connect((t.PEER, t.port(1))))
    t.note("another's bind", t.stream().bind((t.SUT, t.port())))
    t.note("bind", end.bind((t.SUT, t.port(2))))
    t.note("listen", end.listen(1))
    peer = t.peer()
    t.note("the peer", t.attempt(peer.connect, (t.SUT, t.port())))
    got = end.accept()
    t.note("accept", got if isinstance(got, str) else "a socket")


@case()
def after_refused_unbound(t):
    """After a refused connect an unbound socket can be bound."""
    end = t.stream()
    t.note("refused", end.connect((t.PEER, t.port(1))))
    t.note("bind", end.bind((t.SUT, t.port())))
    t.note("bind again", end.bind((t.SUT, t.port(1))))


@case()
def after_reset(t):
    """After a RST: a bind, a listen and a connect of the socket that had the connection."""
    end, conn = t.raw_opened()
    conn.rst()
    t.note("poll", end.events(POLLIN, 2000))
    t.note("bind", end.bind((t.SUT, t.port(2))))
    t.note("listen", end.listen(1))
    t.note("connect", end.connect((t.RAW, t.port())))
    t.note("connect again", end.connect((t.RAW, t.port())))


@case()
def after_close_of_listener(t):
    """A listener that was shut down keeps its port; who was in its queue is reset."""
    listener = t.listener()
    conn = t.raw.connect(t.SUT, 30000, t.port())
    pause(0.1)
    t.note("shutdown", listener.shutdown(socket.SHUT_RDWR))
    t.note("queued", conn.told(conn.expect()))
    t.note("another's bind", t.stream().bind((t.SUT, t.port())))
    t.note("connect", listener.connect((t.PEER, t.port(1))))
    t.note("listen", listener.listen(1))
    t.note("the peer", t.attempt(t.peer().connect, (t.SUT, t.port())))


@case()
def listener_dissolved(t):
    """A connect to AF_UNSPEC of a listener ends its listening; the port stays."""
    listener = t.listener()
    t.note("unspec", listener.connect(bytes(16)))
    t.note("state", listener.state())
    t.note("accept", listener.accept())
    t.note("poll", listener.events(ALL))
    t.note("another's bind", t.stream().bind((t.SUT, t.port())))
    t.note("listen", listener.listen(1))


@case()
def time_wait_again(t):
    """To a destination whose connection is in TIME-WAIT a socket of that port can connect, by their timestamps."""
    first = t.peer_listener(0)
    one, two = reusing(t), reusing(t)
    one.bind((t.SUT, t.port(2)))
    t.note("first", one.connect((t.PEER, t.port(0))))
    peer = first.accept()[0]
    one.close()
    t.note("the peer's end", t.attempt(peer.recv, 1))
    peer.close()
    pause(0.1)
    t.note("bind", two.bind((t.SUT, t.port(2))))
    t.note("the same", two.connect((t.PEER, t.port(0))))
    peer = first.accept()[0]
    t.note("write", two.write(b"again"))
    t.note("the peer", t.attempt(peer.recv, 10))


@case()
def two_listeners_one_port(t):
    """Two addresses with a listener each, and a third on all addresses: EADDRINUSE, with SO_REUSEADDR too."""
    t.listener(host=t.SUT), t.listener(host=t.SUT2)
    t.note("all", t.stream().bind((t.ANY, t.port())))
    t.note("reusing", reusing(t).bind((t.ANY, t.port())))


@case()
def udp_port_stays(t):
    """A UDP socket that was bound to port 0 keeps it when it is disconnected; one that got it by connect does not."""
    peer = t.peer(socket.SOCK_DGRAM)
    peer.bind((t.PEER, t.port()))
    for bind in (True, False):
        end = t.dgram()
        if bind:
            end.bind((t.SUT, t.port(3)))
        end.connect((t.PEER, t.port()))
        end.write(b"a")
        before = peer.recvfrom(10)[1][1]
        t.note("unspec", end.connect(bytes(16)))
        end.sendto(b"a", (t.PEER, t.port()))
        t.note("the same port" if bind else "a port", peer.recvfrom(10)[1][1] == before if bind else before != 0)


@case()
def udp_connect_fixes_address(t):
    """A UDP socket of any address has one while it is connected: what its peer sends to another finds no port."""
    peer = t.peer(socket.SOCK_DGRAM)
    peer.bind((t.PEER, t.port()))
    end = t.dgram(O_NONBLOCK)
    end.bind((t.ANY, t.port(1)))
    t.note("connect", end.connect((t.PEER, t.port())))
    peer.sendto(b"here", (t.SUT, t.port(1)))
    pause(0.1)
    t.note("to its address", end.recv(10))
    peer.sendto(b"there", (t.SUT2, t.port(1)))
    pause(0.1)
    t.note("to the other", end.recv(10))
    t.note("another's bind", t.dgram().bind((t.SUT2, t.port(1))))
    t.note("unspec", end.connect(bytes(16)))
    t.note("another's bind then", t.dgram().bind((t.SUT, t.port(1))))


@case()
def udp_error_is_of_the_peer(t):
    """ICMP about a datagram to another than the peer is not told a connected socket."""
    end = t.dgram(O_NONBLOCK)
    end.bind((t.SUT, t.port(1)))
    end.connect((t.RAW, t.port()))
    end.sendto(b"a", (t.RAW, t.port(2)))
    p = t.raw.other()
    t.raw.icmp(p, 3 if t.family == 4 else 1, 3 if t.family == 4 else 4)
    pause(0.1)
    t.note("recv", end.recv(1))
    end.write(b"a")
    p = t.raw.other()
    t.raw.icmp(p, 3 if t.family == 4 else 1, 3 if t.family == 4 else 4)
    pause(0.1)
    t.note("recv of the peer's", end.recv(1))


@case()
def udp_path_mtu(t):
    """Packet too big: a connected socket that forbids fragments is told EMSGSIZE, IP_MTU and the next sendto say so."""
    six = t.family == 6
    end = t.dgram(O_NONBLOCK)
    end.setsockopt(t.level, 23 if six else 10, PMTUDISC_DO)
    t.raw
    end.connect((t.RAW, t.port()))
    t.note("IP_MTU", end.get(t.level, 24 if six else 14))
    t.note("write", end.write(bytes(1400)))
    t.raw.icmp(t.raw.other(), *((2, 0) if six else (3, 4)), more=1300)
    pause(0.1)
    t.note("poll", end.events(ALL))
    t.note("error", end.recv(10))
    t.note("IP_MTU then", end.get(t.level, 24 if six else 14))
    t.note("write then", end.write(bytes(1400)))
    t.note("write of less", end.write(bytes(1200)))
    t.note("another's", t.dgram().sendto(bytes(1200), (t.RAW, t.port())))
