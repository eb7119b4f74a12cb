"""UDP: datagrams, their borders, who gets them, errors by ICMP."""
import socket

import packets
from bench import case, pattern, pause
from names import O_NONBLOCK, SIOCINQ, SIOCOUTQ
from sut import POLLIN, POLLOUT, POLLRDHUP

SOL = socket.SOL_SOCKET
PEEK, TRUNC, DONTWAIT, WAITALL = socket.MSG_PEEK, socket.MSG_TRUNC, socket.MSG_DONTWAIT, socket.MSG_WAITALL


def bound(t, i=0, host=None):
    end = t.dgram()
    value = end.bind((host or t.SUT, t.port(i)))
    if value != 0:
        raise RuntimeError(f"bind: {value}")
    return end


def peer_bound(t, i=0):
    peer = t.peer(socket.SOCK_DGRAM)
    peer.bind((t.PEER, t.port(i)))
    return peer


@case()
def echo(t):
    """A datagram comes with its sender's address, an answer goes back."""
    end, peer = bound(t), peer_bound(t, 1)
    peer.sendto(b"ask", (t.SUT, t.port()))
    data, where = end.recvfrom(100)
    t.note("recvfrom", (data, where))
    t.note("sendto", end.sendto(b"answer", where))
    data, where = peer.recvfrom(100)
    t.note("the peer", (data, where[:2]))


@case()
def borders(t):
    """Each read is one datagram; what does not fit is lost."""
    end, peer = bound(t), peer_bound(t, 1)
    for d in (b"first", b"second", b"third"):
        peer.sendto(d, (t.SUT, t.port()))
    t.note("3 bytes", end.recv(3))
    t.note("next", end.recv(100))
    t.note("third", end.read(100))


@case()
def empty(t):
    """An empty datagram is read as 0 bytes with an address, and sent as well."""
    end, peer = bound(t), peer_bound(t, 1)
    peer.sendto(b"", (t.SUT, t.port()))
    t.note("poll", end.events(POLLIN, 1000))
    t.note("SIOCINQ", end.ioctl(SIOCINQ))
    t.note("recvfrom", end.recvfrom(100))
    t.note("sendto", end.sendto(b"", (t.PEER, t.port(1))))
    t.note("the peer", t.attempt(peer.recv, 100))
    end.connect((t.PEER, t.port(1)))
    t.note("write", end.write(b""))
    t.note("send", end.send(b""))


@case()
def read_of_nothing(t):
    """A recv of 0 bytes takes the whole datagram."""
    end, peer = bound(t), peer_bound(t, 1)
    peer.sendto(b"lost", (t.SUT, t.port()))
    peer.sendto(b"next", (t.SUT, t.port()))
    pause(0.1)
    t.note("recv", end.recv(0))
    t.note("next", end.recv(10))


@case()
def truncation(t):
    """MSG_TRUNC tells the whole length; MSG_PEEK leaves the datagram."""
    end, peer = bound(t), peer_bound(t, 1)
    peer.sendto(b"0123456789", (t.SUT, t.port()))
    t.note("peek", end.recv(4, PEEK))
    t.note("peek and length", end.recv_count(4, PEEK | TRUNC))
    t.note("length", end.recv_count(4, TRUNC))
    t.note("gone", end.recv(4, DONTWAIT))


@case()
def inq(t):
    """SIOCINQ is the length of the first datagram; SIOCOUTQ 0."""
    end, peer = bound(t), peer_bound(t, 1)
    t.note("nothing", end.ioctl(SIOCINQ))
    peer.sendto(b"12345", (t.SUT, t.port()))
    peer.sendto(b"123", (t.SUT, t.port()))
    pause(0.1)
    t.note("two", end.ioctl(SIOCINQ))
    end.recv(10)
    t.note("one", end.ioctl(SIOCINQ))
    t.note("SIOCOUTQ", end.ioctl(SIOCOUTQ))


@case()
def blocks(t):
    """A read blocks until a datagram comes; O_NONBLOCK and MSG_DONTWAIT: EAGAIN; SO_RCVTIMEO: EAGAIN later."""
    end, peer = bound(t), peer_bound(t, 1)
    t.note("DONTWAIT", end.recv(10, DONTWAIT))
    later = t.start(end.recvfrom, 10)
    t.note("blocked", later.blocked())
    peer.sendto(b"a", (t.SUT, t.port()))
    t.note("recvfrom", later.result())
    end.set_time(socket.SO_RCVTIMEO, 0.3)
    t.timed("limit", 0.25, 0.8, end.recv, 10)
    end.nonblocking()
    t.note("O_NONBLOCK", end.recv(10))


@case()
def waitall_is_one(t):
    """MSG_WAITALL does not wait for a second datagram."""
    end, peer = bound(t), peer_bound(t, 1)
    peer.sendto(b"abc", (t.SUT, t.port()))
    t.note("recv", end.recv(10, WAITALL))


@case()
def connected_filters(t):
    """A connected socket takes datagrams of its peer only."""
    end, peer, other = t.dgram(), peer_bound(t, 1), peer_bound(t, 2)
    end.bind((t.SUT, t.port()))
    t.note("connect", end.connect((t.PEER, t.port(1))))
    other.sendto(b"other", (t.SUT, t.port()))
    peer.sendto(b"peer", (t.SUT, t.port()))
    t.note("recvfrom", end.recvfrom(10))
    t.note("nothing else", end.recv(10, DONTWAIT))
    t.note("write", end.write(b"w"))
    t.note("send", end.send(b"s"))
    t.note("the peer", [peer.recv(10), peer.recv(10)])


@case()
def connected_filter_leaves_queue(t):
    """What was queued before connect is still read."""
    end, peer, other = bound(t), peer_bound(t, 1), peer_bound(t, 2)
    other.sendto(b"before", (t.SUT, t.port()))
    pause(0.1)
    end.connect((t.PEER, t.port(1)))
    t.note("recvfrom", end.recvfrom(10))


@case()
def reconnected(t):
    """A second connect changes the peer; AF_UNSPEC takes it off."""
    end, one, two = t.dgram(), peer_bound(t, 1), peer_bound(t, 2)
    end.connect((t.PEER, t.port(1)))
    t.note("again", end.connect((t.PEER, t.port(2))))
    end.write(b"to two")
    t.note("two", two.recv(10))
    t.note("unspec", end.connect(bytes(16)))
    t.note("write", end.write(b"to none"))
    t.note("sendto", end.sendto(b"to one", (t.PEER, t.port(1))))
    t.note("one", one.recv(10))


@case()
def connected_sendto(t):
    """A connected socket can send elsewhere."""
    end, one, two = t.dgram(), peer_bound(t, 1), peer_bound(t, 2)
    end.connect((t.PEER, t.port(1)))
    t.note("sendto", end.sendto(b"elsewhere", (t.PEER, t.port(2))))
    t.note("two", two.recv(10))
    t.note("without an address", end.sendto(b"here", None))
    t.note("one", one.recv(10))


@case()
def refused(t):
    """ICMP port unreachable on a connected socket: ECONNREFUSED at the next call, once; POLLERR before."""
    end = t.dgram()
    end.connect((t.PEER, t.port(1)))
    t.note("write", end.write(b"a"))
    pause(0.1)
    t.note("poll", end.events(POLLIN | POLLOUT))
    t.note("write again", end.write(b"a"))
    pause(0.1)
    t.note("recv", end.recv(10, DONTWAIT))
    t.note("recv again", end.recv(10, DONTWAIT))
    end.write(b"a")
    pause(0.1)
    t.note("SO_ERROR", end.error())
    t.note("SO_ERROR again", end.error())


@case()
def refused_blocked(t):
    """ICMP port unreachable ends a blocked read with ECONNREFUSED."""
    end = t.dgram()
    end.connect((t.PEER, t.port(1)))
    later = t.start(end.recv, 10)
    t.note("blocked", later.blocked())
    end.write(b"a")
    t.note("recv", later.result())


@case()
def refused_unconnected(t):
    """An unconnected socket is not told."""
    end = bound(t)
    end.sendto(b"a", (t.PEER, t.port(1)))
    pause(0.1)
    t.note("recv", end.recv(10, DONTWAIT))
    t.note("SO_ERROR", end.error())
    t.note("sendto", end.sendto(b"a", (t.PEER, t.port(1))))


@case((4,))
def icmp_each_code(t):
    """What each code of ICMP unreachable does to a connected socket."""
    end = t.dgram()
    end.connect((t.RAW, t.port(1)))
    for code in (0, 1, 2, 3, 5, 9, 10, 13):
        end.write(b"a")
        t.raw.icmp(t.raw.other(), 3, code)
        pause(0.06)
        t.note(f"code {code}", end.recv(10, DONTWAIT))


@case((6,))
def icmp6_each_code(t):
    """What each code of ICMPv6 unreachable does to a connected socket."""
    end = t.dgram()
    end.connect((t.RAW, t.port(1)))
    for code in range(7):
        end.write(b"a")
        t.raw.icmp(t.raw.other(), 1, code)
        pause(0.06)
        t.note(f"code {code}", end.recv(10, DONTWAIT))


@case()
def closed_port(t):
    """A datagram to a port nobody has: ICMP port unreachable."""
    t.raw.ip(packets.udp_packet(t.raw.addresses[t.family], packets.packed(t.SUT), 30000, t.port(), b"hello"))
    p = t.raw.other()
    t.note("type and code", (p.body[0], p.body[1]) if p else None)
    t.note("quotes it", p is not None and b"hello" in p.body)


@case()
def connected_elsewhere_port(t):
    """A datagram that a connected socket does not take finds no port: ICMP port unreachable."""
    end, peer, other = t.dgram(), peer_bound(t, 1), peer_bound(t, 2)
    end.bind((t.SUT, t.port()))
    end.connect((t.PEER, t.port(1)))
    other.connect((t.SUT, t.port()))
    other.send(b"a")
    pause(0.1)
    t.note("the other", t.attempt(other.send, b"a"))


@case()
def large(t):
    """The largest datagram that needs no fragments goes and comes."""
    n = 1472 if t.family == 4 else 1452
    end, peer = bound(t), peer_bound(t, 1)
    t.note("sendto", end.sendto(pattern(n), (t.PEER, t.port(1))))
    t.note("the peer", peer.recv(3000))
    peer.sendto(pattern(n), (t.SUT, t.port()))
    t.note("recv", end.recv(3000))


@case()
def too_large(t):
    """More than 65,507 bytes: EMSGSIZE."""
    end = bound(t)
    t.note("70000", end.sendto(bytes(70000), (t.PEER, t.port(1))))
    t.note("65536", end.sendto(bytes(65536), (t.PEER, t.port(1))))


@case()
def fragments(t):
    """A datagram longer than the link's MTU goes in fragments."""
    end, peer = bound(t), peer_bound(t, 1)
    t.note("sendto", end.sendto(pattern(4000), (t.PEER, t.port(1))))
    t.note("the peer", t.attempt(peer.recv, 5000))
    peer.sendto(pattern(4000), (t.SUT, t.port()))
    end.set_time(socket.SO_RCVTIMEO, 1)
    t.note("recv", end.recv(5000))


@case()
def largest(t):
    """The longest datagram there is goes in fragments and comes in fragments."""
    n = 65507 if t.family == 4 else 65527
    end, peer = bound(t), peer_bound(t, 1)
    end.setsockopt(SOL, socket.SO_RCVBUF, 400000)
    t.note("sendto", end.sendto(pattern(n), (t.PEER, t.port(1))))
    t.note("the peer", t.attempt(peer.recv, 66000))
    peer.sendto(pattern(n), (t.SUT, t.port()))
    end.set_time(socket.SO_RCVTIMEO, 1)
    t.note("recv", end.recv(66000))


@case()
def not_to_be_cut(t):
    """With IP_PMTUDISC_DO a datagram longer than the link's MTU is EMSGSIZE."""
    end = bound(t)
    for discover in (0, 1, 2, 3, 4, 5):
        if t.family == 4:
            end.setsockopt(socket.IPPROTO_IP, 10, discover)  # IP_MTU_DISCOVER
        else:
            end.setsockopt(socket.IPPROTO_IPV6, 23, discover)  # IPV6_MTU_DISCOVER
        t.note(f"discover {discover}", end.sendto(pattern(4000), (t.PEER, t.port(1))))


@case()
def any_address(t):
    """A socket of the any address takes datagrams to each address."""
    end, peer = bound(t, host=t.ANY), peer_bound(t, 1)
    for host in (t.SUT, t.SUT2):
        peer.sendto(host.encode(), (host, t.port()))
        t.note("recvfrom", end.recvfrom(20))


@case()
def bound_address(t):
    """A socket of one address takes none to another, and sends from it."""
    end, peer = bound(t, host=t.SUT2), peer_bound(t, 1)
    peer.sendto(b"a", (t.SUT, t.port()))
    t.note("other", end.recv(10, DONTWAIT))
    peer.sendto(b"b", (t.SUT2, t.port()))
    t.note("own", end.recv(10))
    end.sendto(b"c", (t.PEER, t.port(1)))
    t.note("the peer sees", t.who(peer.recvfrom(10)[1][:2]))


@case()
def unbound_gets_port(t):
    """A sendto of an unbound socket gets a port, at which answers arrive."""
    end, peer = t.dgram(), peer_bound(t, 1)
    end.sendto(b"ask", (t.PEER, t.port(1)))
    data, where = peer.recvfrom(10)
    t.note("the peer sees", t.who(where[:2]))
    peer.sendto(b"answer", where)
    t.note("recv", end.recv(10))


@case()
def reuse_address(t):
    """Two sockets with SO_REUSEADDR share a port; the last bound gets the datagrams."""
    one, two, peer = t.dgram(), t.dgram(), peer_bound(t, 1)
    for end in (one, two):
        end.setsockopt(SOL, socket.SO_REUSEADDR, 1)
        t.note("bind", end.bind((t.SUT, t.port())))
    peer.sendto(b"a", (t.SUT, t.port()))
    pause(0.1)
    t.note("first", one.recv(10, DONTWAIT))
    t.note("second", two.recv(10, DONTWAIT))


@case()
def reuse_port(t):
    """Two sockets with SO_REUSEPORT share a port; a sender's datagrams go to one of them."""
    one, two = t.dgram(), t.dgram()
    for end in (one, two):
        end.setsockopt(SOL, socket.SO_REUSEPORT, 1)
        t.note("bind", end.bind((t.SUT, t.port())))
    for _ in range(24):
        t.peer(socket.SOCK_DGRAM).sendto(b"a", (t.SUT, t.port()))
    pause(0.1)
    counts = []
    for end in (one, two):
        n = 0
        while end.recv(10, DONTWAIT) == b"a":
            n += 1
        counts.append(n)
    t.note("all", sum(counts))
    t.note("both had some", all(counts))


@case()
def connected_wins(t):
    """Of two sockets on a port the connected one gets its peer's datagrams."""
    one, two, peer, other = t.dgram(), t.dgram(), peer_bound(t, 1), peer_bound(t, 2)
    for end in (one, two):
        end.setsockopt(SOL, socket.SO_REUSEADDR, 1)
        end.bind((t.SUT, t.port()))
    one.connect((t.PEER, t.port(1)))
    peer.sendto(b"peer", (t.SUT, t.port()))
    other.sendto(b"other", (t.SUT, t.port()))
    pause(0.1)
    t.note("connected", one.recv(10, DONTWAIT))
    t.note("other", two.recv(10, DONTWAIT))


@case()
def closed(t):
    """After close the port is free, and datagrams find nobody."""
    end, peer = bound(t), peer_bound(t, 1)
    end.close()
    peer.connect((t.SUT, t.port()))
    peer.send(b"a")
    pause(0.1)
    t.note("the peer", t.attempt(peer.send, b"a"))
    t.note("bind", bound(t).recv(1, DONTWAIT))


@case()
def queue_full(t):
    """When the receive buffer is full datagrams are lost, and those before are kept in order."""
    end, peer = t.dgram(), peer_bound(t, 1)
    end.setsockopt(SOL, socket.SO_RCVBUF, 4096)
    end.bind((t.SUT, t.port()))
    for i in range(200):
        peer.sendto(bytes([i]) * 500, (t.SUT, t.port()))
    pause(0.2)
    got = []
    while isinstance(d := end.recv(1000, DONTWAIT), bytes):
        got.append(d[0])
    t.note("some", 0 < len(got) < 200)
    t.note("in order from the first", got == list(range(len(got))))


@case()
def ttl_and_tos(t):
    """IP_TTL and IP_TOS are in the packets."""
    end = t.dgram()
    six = t.family == 6
    end.setsockopt(t.level, socket.IPV6_UNICAST_HOPS if six else socket.IP_TTL, 7)
    end.setsockopt(t.level, socket.IPV6_TCLASS if six else socket.IP_TOS, 0x2E)
    end.sendto(b"a", (t.RAW, t.port(1))) if t.raw else None
    p = t.raw.other()
    t.note("TTL", p.ttl)
    t.note("TOS", p.tos)


@case((4,))
def dont_fragment(t):
    """DF is set as IP_MTU_DISCOVER says; with it a datagram above the MTU is EMSGSIZE."""
    end = t.dgram()
    t.raw
    end.sendto(b"a", (t.RAW, t.port(1)))
    t.note("at first", t.raw.other().dont_fragment)
    end.setsockopt(socket.IPPROTO_IP, 10, 0)
    end.sendto(b"a", (t.RAW, t.port(1)))
    t.note("without", t.raw.other().dont_fragment)
    end.setsockopt(socket.IPPROTO_IP, 10, 2)
    end.sendto(b"a", (t.RAW, t.port(1)))
    t.note("with", t.raw.other().dont_fragment)
    t.note("2000 bytes", end.sendto(bytes(2000), (t.RAW, t.port(1))))


@case()
def checksum(t):
    """A datagram with a wrong checksum is not read."""
    end = bound(t)
    good = packets.udp_packet(t.raw.addresses[t.family], packets.packed(t.SUT), 30000, t.port(), b"data")
    t.raw.ip(good[:-1] + b"x")
    pause(0.1)
    t.note("wrong", end.recv(10, DONTWAIT))
    t.raw.ip(good)
    t.note("right", end.recv(10))


@case((4,))
def no_checksum(t):
    """A datagram over IPv4 without a checksum is read."""
    end = bound(t)
    body = packets.udp_packet(t.raw.addresses[4], packets.packed(t.SUT), 30000, t.port(), b"data")[20:]
    t.raw.ip(packets.ip_packet(t.raw.addresses[4], packets.packed(t.SUT), packets.UDP, body[:6] + b"\0\0" + body[8:]))
    t.note("recv", end.recv(10))


@case()
def wrong_addresses(t):
    """sendto with a short address: EINVAL; to port 0: EINVAL; of another family: EAFNOSUPPORT."""
    end = t.dgram()
    t.note("short", end.sendto(b"a", b"\x02\0\0\x07"))
    t.note("port 0", end.sendto(b"a", (t.PEER, 0)))
    t.note("unknown family", end.sendto(b"a", b"\x63\0" + bytes(26)))
    t.note("none", end.sendto(b"a", None))
    t.note("connect to port 0", end.connect((t.PEER, 0)))


@case((4,))
def broadcast(t):
    """The broadcast address needs SO_BROADCAST: EACCES without."""
    end = t.dgram()
    t.note("without", end.sendto(b"a", ("10.98.255.255", t.port(1))))
    t.note("connect", end.connect(("10.98.255.255", t.port(1))))


@case()
def poll_writable(t):
    """A UDP socket is writable; readable while a datagram is there."""
    end, peer = bound(t), peer_bound(t, 1)
    t.note("at first", end.events(POLLIN | POLLOUT | POLLRDHUP))
    peer.sendto(b"a", (t.SUT, t.port()))
    t.note("with one", end.events(POLLIN, 1000))
    t.note("all", end.events(POLLIN | POLLOUT | POLLRDHUP))
    end.recv(1)
    t.note("after", end.events(POLLIN | POLLOUT | POLLRDHUP))


@case()
def nobody_there(t):
    """sendto to an address that answers no neighbor requests succeeds; a connected socket is told later."""
    end = t.dgram()
    t.note("sendto", end.sendto(b"a", (t.NOBODY, t.port(1))))
    end.connect((t.NOBODY, t.port(1)))
    t.note("write", end.write(b"a"))
    t.note("poll", end.events(POLLIN, 6000))
    t.note("recv", end.recv(1, DONTWAIT))


@case()
def beside_tcp(t):
    """TCP and UDP share no ports."""
    listener = t.listener()
    end = bound(t)
    peer = t.peer(socket.SOCK_DGRAM)
    peer.sendto(b"udp", (t.SUT, t.port()))
    t.note("recv", end.recv(10))
    tcp = t.peer()
    tcp.connect((t.SUT, t.port()))
    t.note("accept", listener.accept()[0])
