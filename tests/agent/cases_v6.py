"""Both families on one IPv6 socket: mapped addresses and IPV6_V6ONLY."""
import socket

from bench import case
from sut import POLLIN
from world import PEER, SUT

V6ONLY = (socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)


def mapped(host):
    return "::ffff:" + host


def any6(t, only, kind=None):
    end = (kind or t.stream)()
    end.setsockopt(*V6ONLY, only)
    t.note(f"bind, V6ONLY {only}", end.bind(("::", t.port())))
    return end


def ipv4_client(t, host=SUT[4], i=0):
    peer = socket.socket()
    peer.settimeout(3)
    t.peers.append(peer)
    return t.attempt(peer.connect, (host, t.port(i))), peer


@case((6,))
def dual_listener(t):
    """A listener of :: takes IPv4 connections, with mapped addresses."""
    listener = any6(t, 0)
    listener.listen(4)
    t.note("IPv4", ipv4_client(t)[0])
    end, where = listener.accept()
    t.note("its address", where)
    peer = t.peer()
    peer.connect((t.SUT, t.port()))
    t.note("IPv6", listener.accept()[1])


@case((6,))
def only_listener(t):
    """With IPV6_V6ONLY IPv4 is refused, and an IPv4 listener can have the port."""
    listener = any6(t, 1)
    listener.listen(4)
    t.note("IPv4", ipv4_client(t)[0])
    other = t.end(t.sut.socket(socket.AF_INET, socket.SOCK_STREAM))
    t.note("bind IPv4", other.bind(("0.0.0.0", t.port())))
    other.listen(4)
    t.note("IPv4 then", ipv4_client(t)[0])
    t.note("its address", other.accept()[1])


@case((6,))
def dual_conflict(t):
    """:: without IPV6_V6ONLY conflicts with every IPv4 address on the port."""
    any6(t, 0)
    for host in ("0.0.0.0", SUT[4]):
        other = t.end(t.sut.socket(socket.AF_INET, socket.SOCK_STREAM))
        t.note(f"IPv4 {'any' if host == '0.0.0.0' else 'one'}", other.bind((host, t.port())))


@case((6,))
def one_address_no_conflict(t):
    """An IPv6 address and an IPv4 address share a port."""
    t.note("IPv6", t.stream().bind((t.SUT, t.port())))
    other = t.end(t.sut.socket(socket.AF_INET, socket.SOCK_STREAM))
    t.note("IPv4", other.bind((SUT[4], t.port())))


@case((6,))
def mapped_bind(t):
    """A socket bound to a mapped address takes IPv4 connections only."""
    listener = t.stream()
    t.note("bind", listener.bind((mapped(SUT[4]), t.port())))
    t.note("listen", listener.listen(4))
    t.note("IPv4", ipv4_client(t)[0])
    t.note("accept", listener.accept()[1])
    t.note("IPv6", t.attempt(t.peer().connect, (t.SUT, t.port())))
    other = t.end(t.sut.socket(socket.AF_INET, socket.SOCK_STREAM))
    t.note("bind IPv4", other.bind((SUT[4], t.port())))


@case((6,))
def mapped_bind_only(t):
    """A mapped address with IPV6_V6ONLY: EINVAL; to connect: ENETUNREACH."""
    end = t.stream()
    end.setsockopt(*V6ONLY, 1)
    t.note("bind", end.bind((mapped(SUT[4]), t.port())))
    other = t.stream()
    other.setsockopt(*V6ONLY, 1)
    t.note("connect", other.connect((mapped(PEER[4]), t.port())))


@case((6,))
def mapped_connect(t):
    """An IPv6 socket connects to a mapped address over IPv4."""
    listener = socket.socket()
    listener.bind((PEER[4], t.port()))
    listener.listen(1)
    end = t.stream()
    t.note("connect", end.connect((mapped(PEER[4]), t.port())))
    peer, where = listener.accept()
    t.note("the peer sees", t.who(where))
    end.write(b"abc")
    t.note("data", peer.recv(10))
    t.note("IP_TTL", end.get(socket.IPPROTO_IP, socket.IP_TTL))
    end.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 5)
    peer.send(b"x")
    t.note("read", end.read(3))


@case((6,))
def mapped_refused(t):
    """A refused connect to a mapped address: ECONNREFUSED."""
    t.note("connect", t.stream().connect((mapped(PEER[4]), t.port())))


@case((6,))
def mapped_bind_then_six(t):
    """A socket bound to a mapped address cannot connect to an IPv6 address."""
    end = t.stream()
    end.bind((mapped(SUT[4]), t.port()))
    t.note("connect", end.connect((t.PEER, t.port(1))))


@case((6,))
def six_bind_then_mapped(t):
    """A socket bound to an IPv6 address cannot connect to a mapped one."""
    end = t.stream()
    end.bind((t.SUT, t.port()))
    t.note("connect", end.connect((mapped(PEER[4]), t.port(1))))


@case((6,))
def udp_dual(t):
    """A UDP socket of :: takes datagrams of both families and answers each."""
    end = any6(t, 0, t.dgram)
    four = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    four.bind((PEER[4], t.port(1)))
    four.settimeout(3)
    four.sendto(b"four", (SUT[4], t.port()))
    data, where = end.recvfrom(10)
    t.note("IPv4", (data, where))
    t.note("answer", end.sendto(b"back", where))
    t.note("the peer", t.attempt(four.recv, 10))
    six = t.peer(socket.SOCK_DGRAM)
    six.bind((PEER[6], t.port(2)))
    six.sendto(b"six", (t.SUT, t.port()))
    t.note("IPv6", end.recvfrom(10))


@case((6,))
def udp_only(t):
    """With IPV6_V6ONLY a UDP socket of :: takes no IPv4 datagram."""
    end = any6(t, 1, t.dgram)
    four = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    four.sendto(b"four", (SUT[4], t.port()))
    t.note("poll", end.events(POLLIN, 200))
    t.note("sendto mapped", end.sendto(b"a", (mapped(PEER[4]), t.port(1))))


@case((6,))
def udp_mapped_connect(t):
    """A UDP socket connects to a mapped address."""
    four = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    four.bind((PEER[4], t.port(1)))
    four.settimeout(3)
    end = t.dgram()
    t.note("connect", end.connect((mapped(PEER[4]), t.port(1))))
    end.write(b"abc")
    t.note("the peer", four.recv(10))


@case((6,))
def one_address_takes_no_ipv4(t):
    """A listener of one IPv6 address takes no connection over IPv4."""
    t.listener()
    t.note("IPv4", ipv4_client(t)[0])


@case((6,))
def link_scope(t):
    """A link-local address without its interface: EINVAL."""
    t.note("connect", t.stream().connect(("fe80::1", t.port())))
    t.note("bind", t.stream().bind(("fe80::1", t.port())))


@case((6,))
def short_address(t):
    """An IPv6 address of 24 bytes, without the scope, is enough."""
    from sut import sockaddr
    listener = t.peer_listener()
    t.note("connect", t.stream().connect(sockaddr((t.PEER, t.port()))[:24]))
    t.note("23 bytes", t.stream().connect(sockaddr((t.PEER, t.port()))[:23]))
    listener.accept()
