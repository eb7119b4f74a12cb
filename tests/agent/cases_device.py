"""SO_BINDTODEVICE: what a bound socket sends by, what it receives, and who else may have its name."""
import socket
import struct

from bench import case, pause
from sut import sockaddr
from world import DEVICE_A, DEVICE_C, PEER, SUT, SUT_C, PEER_C

SOL = socket.SOL_SOCKET
BIND = socket.SO_BINDTODEVICE
BINDTOIFINDEX = 62
DONTWAIT = socket.MSG_DONTWAIT
KINDS = {"stream": socket.SOCK_STREAM, "datagram": socket.SOCK_DGRAM}


def new(t, kind, device=None, reuse=False):
    end = t.end(t.sut.socket(t.domain, kind))
    if reuse:
        end.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    if device:
        t.note(f"to {device}", end.setsockopt(SOL, BIND, device.encode()))
    return end


def datagram(t, device=None, host=None, i=0, reuse=True):
    end = new(t, socket.SOCK_DGRAM, device, reuse)
    t.note("bind", end.bind((host or t.ANY, t.port(i))))
    return end


def received(t, **ends):
    pause(0.1)
    for label, end in ends.items():
        t.note(label, end.recv(20, DONTWAIT))


def all_received(t, **ends):
    """All that each has; what came by two ways came in any order."""
    pause(0.2)
    for label, end in ends.items():
        got = []
        while isinstance(data := end.recv(20, DONTWAIT), bytes):
            got.append(data)
        t.note(label, sorted(got))


def peers(t, to_port=0):
    """A datagram by each of the two ways."""
    for host, data in ((t.SUT, b"by A"), (SUT_C[t.family], b"by C")):
        t.peer(socket.SOCK_DGRAM).sendto(data, (host, t.port(to_port)))


@case()
def names(t):
    """The name with its NUL and without; the empty one unbinds; one that is none is ENODEV."""
    for kind in KINDS.values():
        end = new(t, kind)
        t.note("unbound", end.getsockopt(SOL, BIND, 16))
        t.note("unbound index", end.get(SOL, BINDTOIFINDEX))
        for name in (b"caseA", b"caseA\0", b"caseC\0\0\0\0\0\0\0\0\0\0\0", b"caseA\0and more", b"", b"caseA", b"\0", b"lo"):
            t.note("set", end.setsockopt(SOL, BIND, name))
            t.note("get", end.getsockopt(SOL, BIND, 16))
        for name in (b"nobody", b"caseAA", b"a name of sixteen", b"x" * 200, b"case\xff"):
            t.note("set", end.setsockopt(SOL, BIND, name))
        t.note("still", end.getsockopt(SOL, BIND, 16))
        t.note("room of 15", end.getsockopt(SOL, BIND, 15))
        t.note("room of 100", end.getsockopt(SOL, BIND, 100))
        t.note("room of 0", end.getsockopt(SOL, BIND, 0))


@case()
def index(t):
    """SO_BINDTOIFINDEX is the same by the index."""
    end = t.dgram()
    end.setsockopt(SOL, BIND, b"caseC")
    ix = end.get(SOL, BINDTOIFINDEX)
    t.note("an index", ix > 0)
    other = t.stream()
    t.note("set", other.setsockopt(SOL, BINDTOIFINDEX, ix))
    t.note("get", other.get(SOL, BINDTOIFINDEX) == ix)
    t.note("none", other.setsockopt(SOL, BINDTOIFINDEX, 0))
    t.note("get", other.getsockopt(SOL, BIND, 16))
    t.note("below", other.setsockopt(SOL, BINDTOIFINDEX, -1))
    t.note("short", other.setsockopt(SOL, BINDTOIFINDEX, b"\1"))


@case()
def datagrams_received(t):
    """A bound UDP socket gets only what came in by its device."""
    ends = {"A": datagram(t, DEVICE_A), "C": datagram(t, DEVICE_C)}
    peers(t)
    all_received(t, **ends)


@case()
def datagrams_most_specific(t):
    """A socket of the device goes before one of all, the address before the device."""
    ends = {"any": datagram(t), "C": datagram(t, DEVICE_C)}
    peers(t)
    all_received(t, **ends)
    ends["address"] = datagram(t, host=SUT_C[t.family])
    peers(t)
    all_received(t, **ends)


@case()
def datagrams_nobody(t):
    """Where only a socket of another device is bound there is nobody: ICMP port unreachable."""
    end = datagram(t, DEVICE_C)
    peer = t.peer(socket.SOCK_DGRAM)
    peer.connect((t.SUT, t.port()))
    peer.send(b"a")
    received(t, end=end)
    t.note("the peer", t.attempt(peer.send, b"a"))


@case()
def datagrams_rebound(t):
    """The device can be set, changed and taken off while the socket has its port."""
    end = datagram(t)
    for device in (DEVICE_C, DEVICE_A, ""):
        t.note("set", end.setsockopt(SOL, BIND, device.encode()))
        peers(t)
        all_received(t, end=end)


@case()
def broadcasts(t):
    """Datagrams to many come to each socket of their device, and of any."""
    ends = {"any": datagram(t), "A": datagram(t, DEVICE_A), "C": datagram(t, DEVICE_C)}
    peer = t.peer(socket.SOCK_DGRAM)
    peer.setsockopt(SOL, socket.SO_BROADCAST, 1)
    if t.family == 4:
        for host in ("10.98.255.255", "10.99.255.255"):
            peer.sendto(host.encode(), (host, t.port()))
            received(t, **ends)
        return
    for device in ("caseB", "caseD"):
        peer.sendto(device.encode(), ("ff02::1", t.port(), 0, socket.if_nametoindex(device)))
        received(t, **ends)


@case()
def conflicts(t):
    """Sockets of two devices share a name; one of a device and one of all do not."""
    for i, kind in enumerate(KINDS.values()):
        for j, host in enumerate((t.ANY, t.SUT)):
            where = (host, t.port(2 * i + j))
            t.note("A", new(t, kind, DEVICE_A).bind(where))
            t.note("C", new(t, kind, DEVICE_C).bind(where))
            t.note("A again", new(t, kind, DEVICE_A).bind(where))
            t.note("all", new(t, kind).bind(where))
        one = new(t, kind)
        t.note("all", one.bind((t.ANY, t.port(4 + i))))
        t.note("then A", new(t, kind, DEVICE_A).bind((t.ANY, t.port(4 + i))))


def listener(t, device, host=None, i=0, reuse=False):
    end = new(t, socket.SOCK_STREAM, device, reuse)
    t.note("bind", end.bind((host or t.ANY, t.port(i))))
    t.note("listen", end.listen(4))
    end.nonblocking()
    return end


def connections(t, i=0):
    """A connection by each of the two ways; what connect says."""
    for host, label in ((t.SUT, "by A"), (SUT_C[t.family], "by C")):
        peer = t.peer()
        t.note(label, t.attempt(peer.connect, (host, t.port(i))))
    pause(0.1)


def accepted(t, **ends):
    for label, end in ends.items():
        n, names_ = 0, []
        while not isinstance(got := end.accept(), str):
            n += 1
            names_.append(got[0].getsockopt(SOL, BIND, 16))
        t.note(f"{label} accepted", (n, names_))


@case()
def listeners(t):
    """A bound listener gets only connections that come in by its device; others are refused."""
    end = listener(t, DEVICE_C)
    connections(t)
    accepted(t, C=end)


@case()
def listeners_of_two(t):
    """Listeners of two devices on one name get what comes in by their own."""
    a, c = listener(t, DEVICE_A), listener(t, DEVICE_C)
    connections(t)
    accepted(t, A=a, C=c)


@case()
def listeners_rebound(t):
    """The device of a listener can be set, changed and taken off."""
    end = listener(t, None)
    for device in (DEVICE_C, DEVICE_A, ""):
        t.note("set", end.setsockopt(SOL, BIND, device.encode()))
        connections(t)
        accepted(t, listener=end)


@case()
def listener_of_address(t):
    """A listener of one address and a device, and the address of the other one."""
    end = listener(t, DEVICE_A, t.SUT)
    connections(t)
    accepted(t, listener=end)


@case()
def connects(t):
    """A connect leaves by the device: to who is behind the other one there is no way."""
    for host, i in ((PEER[t.family], 0), (PEER_C[t.family], 1)):
        s = t.peer()
        s.bind((host, t.port(i)))
        s.listen(4)
    for device in (DEVICE_A, DEVICE_C):
        for host, i in ((PEER[t.family], 0), (PEER_C[t.family], 1)):
            end = new(t, socket.SOCK_STREAM, device)
            near = (device == DEVICE_A) == (i == 0)
            if near:
                t.note("connect", end.connect((host, t.port(i))))
                t.note("own name", end.getsockname()[0] in (SUT[t.family], SUT_C[t.family]))


@case()
def sends(t):
    """A datagram leaves by the device, from the device's address."""
    ends = {}
    for host, i in ((PEER[t.family], 0), (PEER_C[t.family], 1)):
        s = t.peer(socket.SOCK_DGRAM)
        s.bind((host, t.port(i)))
        end = new(t, socket.SOCK_DGRAM, DEVICE_C if i else DEVICE_A)
        t.note("sendto", end.sendto(b"a", (host, t.port(i))))
        got = t.attempt(s.recvfrom, 10)
        t.note("from", got[1][0] == (SUT_C if i else SUT)[t.family])
        t.note("connect", end.connect((host, t.port(i))))
        t.note("own name", end.getsockname()[0] == (SUT_C if i else SUT)[t.family])
        t.note("write", end.write(b"b"))
        t.note("the peer", t.attempt(s.recv, 10))
        t.note("device", end.getsockopt(SOL, BIND, 16))
        t.note("unspec", end.connect(bytes(16)))
        t.note("device then", end.getsockopt(SOL, BIND, 16))


@case((4,))
def sends_to_everybody(t):
    """255.255.255.255 leaves by the device."""
    peer = t.peer(socket.SOCK_DGRAM)
    peer.bind(("0.0.0.0", t.port(1)))
    for device in (DEVICE_A, DEVICE_C):
        end = new(t, socket.SOCK_DGRAM, device)
        end.setsockopt(SOL, socket.SO_BROADCAST, 1)
        t.note("sendto", end.sendto(device.encode(), ("255.255.255.255", t.port(1))))
        got = t.attempt(peer.recvfrom, 20)
        t.note("the peer", (got[0], got[1][0]))


@case((6,))
def link_group(t):
    """A group of the link by the device, by its index in the address, by IPV6_MULTICAST_IF."""
    peer = t.peer(socket.SOCK_DGRAM)
    peer.bind(("::", t.port(1)))
    one = new(t, socket.SOCK_DGRAM, DEVICE_C)
    ix = one.get(SOL, BINDTOIFINDEX)
    t.note("device", one.sendto(b"1", ("ff02::1", t.port(1))))
    t.note("the peer", t.attempt(peer.recv, 10))
    t.note("bind", one.bind(("ff02::77", t.port())))
    two = t.dgram()
    scoped = sockaddr(("ff02::1", t.port(1)))[:24] + struct.pack("=I", ix)
    t.note("index", two.sendto(b"2", scoped))
    t.note("the peer", t.attempt(peer.recv, 10))
    t.note("connect", two.connect(scoped))
    t.note("bound", two.get(SOL, BINDTOIFINDEX) == ix)
    three = t.dgram()
    t.note("option", three.setsockopt(t.level, socket.IPV6_MULTICAST_IF, ix))
    t.note("get", three.get(t.level, socket.IPV6_MULTICAST_IF) == ix)
    t.note("sendto", three.sendto(b"3", ("ff02::1", t.port(1))))
    t.note("the peer", t.attempt(peer.recv, 10))
    four = t.dgram()
    four.setsockopt(SOL, BIND, b"caseA")
    t.note("another's option", four.setsockopt(t.level, socket.IPV6_MULTICAST_IF, ix))
    t.note("another's bind", four.bind(sockaddr(("ff02::78", t.port(2)))[:24] + struct.pack("=I", ix)))
    t.note("no such index", t.dgram().bind(sockaddr(("ff02::78", t.port(2)))[:24] + struct.pack("=I", 9999)))


@case()
def own_host(t):
    """A listener and a socket of `lo` get what the host sends to itself, and nobody else's."""
    end, dgram = listener(t, "lo"), datagram(t, "lo")
    connections(t)
    peers(t)
    accepted(t, lo=end)
    received(t, lo=dgram)
    t.note("connect", t.stream().connect((t.SUT, t.port())))
    pause(0.1)
    accepted(t, lo=end)
    t.note("sendto", t.dgram().sendto(b"self", (t.SUT, t.port())))
    received(t, lo=dgram)


LOOPBACK = {4: "127.0.0.1", 6: "::1"}


@case()
def own_host_address(t):
    """What the host sends to an address of its own comes by the device that has the address."""
    end, dgram = listener(t, DEVICE_A), datagram(t, DEVICE_A)
    for host in (t.SUT, SUT_C[t.family], LOOPBACK[t.family]):
        t.note("connect", t.stream().connect((host, t.port())))
        t.note("sendto", t.dgram().sendto(b"self", (host, t.port())))
        received(t, A=dgram)
        accepted(t, A=end)


@case()
def own_host_loopback(t):
    """A listener and a socket of `lo` get what is sent to the loopback address."""
    end, dgram = listener(t, "lo"), datagram(t, "lo")
    t.note("connect", t.stream().connect((LOOPBACK[t.family], t.port())))
    t.note("sendto", t.dgram().sendto(b"self", (LOOPBACK[t.family], t.port())))
    received(t, lo=dgram)
    accepted(t, lo=end)


@case()
def own_host_bound(t):
    """A socket of a device sends to the host's own address of that device."""
    end, dgram = listener(t, None), datagram(t)
    t.note("connect", new(t, socket.SOCK_STREAM, DEVICE_A).connect((t.SUT, t.port())))
    t.note("sendto", new(t, socket.SOCK_DGRAM, DEVICE_A).sendto(b"self", (t.SUT, t.port())))
    received(t, all=dgram)
    accepted(t, all=end)


@case()
def joined(t):
    """A group that one device joined is heard by that one."""
    group = f"239.200.{t.case.number // 250}.{t.case.number % 250 + 1}" if t.family == 4 else f"ff15:200::{t.case.number:x}"
    ends = {"A": datagram(t, DEVICE_A), "C": datagram(t, DEVICE_C)}
    if t.family == 4:
        mreq = socket.inet_aton(group) + socket.inet_aton(SUT_C[4])
        t.note("join", ends["C"].setsockopt(t.level, socket.IP_ADD_MEMBERSHIP, mreq))
    else:
        mreq = socket.inet_pton(socket.AF_INET6, group) + struct.pack("=I", ends["C"].get(SOL, BINDTOIFINDEX))
        t.note("join", ends["C"].setsockopt(t.level, socket.IPV6_JOIN_GROUP, mreq))
    for device, host in (("caseB", PEER[4]), ("caseD", PEER_C[4])):
        peer = t.peer(socket.SOCK_DGRAM)
        if t.family == 4:
            peer.setsockopt(t.level, socket.IP_MULTICAST_IF, socket.inet_aton(host))
        else:
            peer.setsockopt(t.level, socket.IPV6_MULTICAST_IF, socket.if_nametoindex(device))
        peer.sendto(device.encode(), (group, t.port()))
        received(t, **ends)
