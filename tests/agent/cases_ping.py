"""Datagram sockets of ICMP and ICMPv6: echo requests out, replies in."""
import socket
import struct

from bench import case, pause
from sut import POLLIN
from world import DEVICE_C, PEER, PEER_C, SUT

SOL = socket.SOL_SOCKET
DONTWAIT = socket.MSG_DONTWAIT
PROTOCOL = {4: socket.IPPROTO_ICMP, 6: socket.IPPROTO_ICMPV6}


def ping(t, kind=0):
    return t.end(t.sut.socket(t.domain, socket.SOCK_DGRAM | kind, PROTOCOL[t.family]))


def request(t, sequence=1, data=b"data", ident=0, checksum=0, code=0):
    return struct.pack("!BBHHH", 8 if t.family == 4 else 128, code, checksum, ident, sequence) + data


def told(t, label, got, ident=None):
    """A reply: type, code, whether the identifier is `ident`, sequence, data, and who sent it."""
    if isinstance(got, str):
        return t.note(label, got)
    data, where = got
    kind, code, _, seen, sequence = struct.unpack("!BBHHH", data[:8])
    t.note(label, (kind, code, seen == ident if ident else seen != 0, sequence, data[8:]))
    t.note(f"{label}: from", where)
    return data


@case()
def echo(t):
    """A request to the peer is answered; identifier and checksum are not the sender's affair."""
    end = ping(t)
    t.note("sendto", end.sendto(request(t, 7, b"hello", ident=9, checksum=77), (t.PEER, 0)))
    t.note("poll", end.events(POLLIN, 2000))
    told(t, "reply", end.recvfrom(100, DONTWAIT), end.getsockname()[1])
    name = end.getsockname()
    t.note("name", (name[0] == t.ANY, name[1] != 0))


@case()
def own_address(t):
    """A request to an address of the host itself is answered by itself."""
    end = ping(t)
    for host in (t.SUT, t.SUT2):
        t.note("sendto", end.sendto(request(t), (host, 0)))
        t.note("poll", end.events(POLLIN, 2000))
        told(t, "reply", end.recvfrom(100, DONTWAIT), end.getsockname()[1])


@case()
def bound(t):
    """bind chooses the identifier, and the address that the request leaves from."""
    end = ping(t)
    t.note("bind", end.bind((t.SUT2, t.port())))
    t.note("name", end.getsockname())
    t.note("again", end.bind((t.SUT2, t.port(1))))
    t.raw
    t.note("sendto", end.sendto(request(t), (t.RAW, 0)))
    p = t.raw.other()
    t.note("identifier", struct.unpack("!H", p.body[4:6])[0] == t.port())
    end.sendto(request(t), (t.PEER, 0))
    t.note("poll", end.events(POLLIN, 2000))
    told(t, "reply", end.recvfrom(100, DONTWAIT), t.port())


@case()
def names(t):
    """What can be bound: identifiers are one space of all addresses."""
    one = ping(t)
    t.note("SO_REUSEADDR at first", one.get(SOL, socket.SO_REUSEADDR))
    t.note("any", one.bind((t.ANY, t.port())))
    t.note("the same", ping(t).bind((t.SUT, t.port())))
    t.note("not ours", ping(t).bind((t.NOT_OURS, t.port(1))))
    t.note("zero", ping(t).bind((t.SUT, 0)))
    other = ping(t)
    other.setsockopt(SOL, socket.SO_REUSEADDR, 0)
    t.note("not reusing", other.bind((t.SUT, t.port())))
    t.note("another", other.bind((t.SUT, t.port(3))))
    if t.family == 4:
        for host in ("255.255.255.255", "10.98.255.255", "224.0.0.1"):
            t.note(host, ping(t).bind((host, t.port(2))))
    else:
        t.note("group", ping(t).bind(("ff15::1", t.port(2))))
        t.note("mapped", ping(t).bind(("::ffff:" + SUT[4], t.port(2))))
    udp = t.dgram()
    t.note("UDP's port", udp.bind((t.ANY, t.port())))


@case()
def connected(t):
    """connect gives an address and a peer; replies of others come as well."""
    end = ping(t)
    t.note("connect", end.connect((t.PEER, 0)))
    t.note("name", end.getsockname()[0])
    t.note("peer", end.getpeername())
    t.note("write", end.write(request(t, 3)))
    t.note("poll", end.events(POLLIN, 2000))
    told(t, "reply", end.recvfrom(100, DONTWAIT), end.getsockname()[1])
    t.note("connect with a port", end.connect((t.PEER, 99)))
    t.note("peer", end.getpeername())
    t.note("to another", end.sendto(request(t, 4), (t.SUT2, 0)))
    t.note("poll", end.events(POLLIN, 2000))
    t.note("unspec", end.connect(bytes(16)))
    t.note("write then", end.write(request(t)))


@case()
def wrong(t):
    """What may not be sent."""
    end = ping(t)
    good = (t.PEER, 0)
    t.note("reply", end.sendto(bytes([0 if t.family == 4 else 129]) + bytes(7), good))
    t.note("unreachable", end.sendto(bytes([3 if t.family == 4 else 1]) + bytes(7), good))
    t.note("code 1", end.sendto(request(t, code=1), good))
    t.note("7 bytes", end.sendto(request(t)[:7], good))
    t.note("nothing", end.sendto(b"", good))
    t.note("8 bytes", end.sendto(request(t)[:8], good))
    t.note("70000", end.sendto(request(t) + bytes(70000), good))
    t.note("no address", end.sendto(request(t), None))
    t.note("short address", end.sendto(request(t), b"\2\0\0\0"))
    t.note("other family", end.sendto(request(t), (PEER[10 - t.family], 0)))
    t.note("no way", end.sendto(request(t), (t.FAR, 0)))
    t.note("MSG_OOB", end.sendto(request(t), good, socket.MSG_OOB))
    t.note("listen", end.listen(1))
    t.note("accept", end.accept())
    t.note("SIOCINQ", end.ioctl(0x541B))


@case()
def told_of(t):
    """SO_TYPE, SO_PROTOCOL, SO_DOMAIN; protocols of the other family."""
    end = ping(t)
    for name in ("SO_TYPE", "SO_PROTOCOL", "SO_DOMAIN"):
        t.note(name, end.get(SOL, getattr(socket, name)))
    t.note("the other's protocol", t.sut.socket(t.domain, socket.SOCK_DGRAM, PROTOCOL[10 - t.family]))
    t.note("of a stream", t.sut.socket(t.domain, socket.SOCK_STREAM, PROTOCOL[t.family]))
    t.note("shutdown", end.shutdown(socket.SHUT_RD))


@case()
def each_its_own(t):
    """Of two sockets each gets the replies to its own requests; MSG_PEEK, MSG_TRUNC as of any datagram."""
    one, two = ping(t), ping(t)
    one.sendto(request(t, 1, b"one"), (t.PEER, 0))
    two.sendto(request(t, 2, b"two"), (t.PEER, 0))
    for end in (one, two):
        t.note("poll", end.events(POLLIN, 2000))
        t.note("length", end.recv_count(4, socket.MSG_PEEK | socket.MSG_TRUNC))
        told(t, "reply", end.recvfrom(100, DONTWAIT), end.getsockname()[1])
        t.note("nothing more", end.recv(10, DONTWAIT))


@case()
def unwanted(t):
    """A reply that nobody waits for, and one to another address than the socket's, are not told."""
    end = ping(t)
    end.bind((t.SUT2, t.port()))
    kind = 0 if t.family == 4 else 129
    for host, ident in ((t.SUT2, t.port(1)), (t.SUT, t.port())):
        t.raw.ping(host, kind, ident)
    pause(0.1)
    t.note("recv", end.recv(10, DONTWAIT))
    t.raw.ping(t.SUT2, kind, t.port())
    t.note("poll", end.events(POLLIN, 1000))
    t.note("its own", end.recv_count(100, DONTWAIT))


@case()
def large(t):
    """A request in fragments is answered by a reply in fragments."""
    end = ping(t)
    end.setsockopt(SOL, socket.SO_RCVBUF, 100000)
    t.note("1400", end.sendto(request(t, 1, bytes(1400)), (t.PEER, 0)))
    t.note("poll", end.events(POLLIN, 2000))
    t.note("length", end.recv_count(9000, DONTWAIT))
    t.note("4000", end.sendto(request(t, 1, bytes(4000)), (t.PEER, 0)))
    t.note("poll of fragments", end.events(POLLIN, 1000))
    t.note("length of fragments", end.recv_count(9000, DONTWAIT))


@case()
def options(t):
    """TTL and TOS are in the packet."""
    end, six = ping(t), t.family == 6
    t.raw
    end.setsockopt(t.level, socket.IPV6_UNICAST_HOPS if six else socket.IP_TTL, 9)
    end.setsockopt(t.level, socket.IPV6_TCLASS if six else socket.IP_TOS, 0x20)
    end.sendto(request(t), (t.RAW, 0))
    p = t.raw.other()
    t.note("TTL", p.ttl)
    t.note("TOS", p.tos)
    t.note("type and code", (p.body[0], p.body[1]))


@case()
def device(t):
    """A socket of a device sends by it and hears what comes by it."""
    end = ping(t)
    t.note("set", end.setsockopt(SOL, socket.SO_BINDTODEVICE, DEVICE_C.encode()))
    t.note("sendto", end.sendto(request(t), (PEER_C[t.family], 0)))
    t.note("poll", end.events(POLLIN, 2000))
    got = end.recvfrom(100, DONTWAIT)
    t.note("from", got if isinstance(got, str) else got[1])


@case((4,))
def broadcast(t):
    """A request to a broadcast address needs SO_BROADCAST."""
    end = ping(t)
    t.note("without", end.sendto(request(t), ("10.98.255.255", 0)))
    end.setsockopt(SOL, socket.SO_BROADCAST, 1)
    t.note("with", end.sendto(request(t), ("10.98.255.255", 0)))


@case()
def errors(t):
    """An ICMP error about a request is told a connected socket, once."""
    end, six = ping(t), t.family == 6
    t.note("connect", end.connect((t.RAW, 0)))
    t.raw
    for kind, code in ((1, 4), (1, 0), (3, 0), (1, 1)) if six else ((3, 1), (3, 3), (3, 0), (11, 0), (3, 10)):
        t.note("write", end.write(request(t)))
        t.raw.icmp(t.raw.other(), kind, code)
        pause(0.1)
        t.note(f"{kind} {code}", end.recv(10, DONTWAIT))
        t.note("again", end.recv(10, DONTWAIT))
    other = ping(t)
    other.sendto(request(t), (t.RAW, 0))
    t.raw.icmp(t.raw.other(), *((1, 4) if six else (3, 3)))
    pause(0.1)
    t.note("not connected", other.recv(10, DONTWAIT))
    t.note("SO_ERROR", other.error())


@case()
def nobody_there(t):
    """A connected socket hears that nobody answers neighbor requests."""
    end = ping(t)
    end.connect((t.NOBODY, 0))
    t.note("write", end.write(request(t)))
    t.note("poll", end.events(POLLIN, 6000))
    t.note("recv", end.recv(1, DONTWAIT))
