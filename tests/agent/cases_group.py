"""Datagrams to broadcast addresses and to groups: who may bind, send, join, and who receives."""
import socket
import struct

from bench import case, pause
from sut import POLLIN
from world import PEER

SOL = socket.SOL_SOCKET
BROADCAST = "10.98.255.255"
EVERYBODY = "255.255.255.255"
DONTWAIT = socket.MSG_DONTWAIT
IP_MULTICAST_ALL, IP_RECVTTL = 49, 12
IPV6_MULTICAST_ALL = 29


def group(t, i=0):
    """A multicast address of this case's own."""
    high, low = divmod(t.case.number, 250)
    return f"239.{i}.{high}.{low + 1}" if t.family == 4 else f"ff15::{t.case.number:x}:{i:x}"


def mreq(where, interface=None):
    """struct ip_mreq, or ipv6_mreq, by the family of the group."""
    if ":" in where:
        return socket.inet_pton(socket.AF_INET6, where) + struct.pack("=I", interface or 0)
    return socket.inet_aton(where) + socket.inet_aton(interface or "0.0.0.0")


def join(end, where, interface=None):
    six = ":" in where
    return end.setsockopt(socket.IPPROTO_IPV6 if six else socket.IPPROTO_IP,
                          socket.IPV6_JOIN_GROUP if six else socket.IP_ADD_MEMBERSHIP, mreq(where, interface))


def leave(end, where, interface=None):
    six = ":" in where
    return end.setsockopt(socket.IPPROTO_IPV6 if six else socket.IPPROTO_IP,
                          socket.IPV6_LEAVE_GROUP if six else socket.IP_DROP_MEMBERSHIP, mreq(where, interface))


def reusing(t, host, i=0):
    end = t.dgram()
    end.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    t.note("bind", end.bind((host, t.port(i))))
    return end


def sender(t):
    """A peer's socket that may send to all."""
    peer = t.peer(socket.SOCK_DGRAM)
    peer.setsockopt(SOL, socket.SO_BROADCAST, 1)
    return peer


def received(t, **ends):
    """What each has, at most one datagram."""
    pause(0.1)
    for label, end in ends.items():
        t.note(label, end.recv(20, DONTWAIT))


@case((4,))
def broadcast_bind(t):
    """A UDP socket, and one of TCP, can be bound to a broadcast address of a port, and to that of all."""
    for i, host in enumerate((BROADCAST, EVERYBODY)):
        end = t.dgram()
        t.note("bind", end.bind((host, t.port(i))))
        t.note("name", end.getsockname())
        t.note("a second", t.dgram().bind((host, t.port(i))))
        t.note("any address", t.dgram().bind((t.ANY, t.port(i))))
        t.note("one address", t.dgram().bind((t.SUT, t.port(i))))
        t.note("TCP", t.stream().bind((host, t.port(i))))
    for host in ("10.255.255.255", "10.98.0.255", "255.255.255.254", "255.0.0.1", "240.0.0.1"):
        t.note(host, t.dgram().bind((host, t.port(3))))


@case((6,))
def broadcast_bind_mapped(t):
    """An IPv6 socket can be bound to a broadcast address in its mapped form."""
    for i, host in enumerate((BROADCAST, EVERYBODY)):
        end = t.dgram()
        t.note("bind", end.bind(("::ffff:" + host, t.port(i))))
        t.note("name", end.getsockname())
        sender_ = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        t.peers.append(sender_)
        sender_.setsockopt(SOL, socket.SO_BROADCAST, 1)
        sender_.bind((PEER[4], 0))
        sender_.sendto(b"a", (host, t.port(i)))
        pause(0.1)
        got = end.recvfrom(20, DONTWAIT)
        t.note("recv", got if isinstance(got, str) else (got[0], t.names.get(got[1][0].removeprefix("::ffff:"))))


@case((4,))
def broadcast_received(t):
    """A broadcast comes to all sockets of the broadcast address and of any, to none of one address."""
    ends = {"broadcast": reusing(t, BROADCAST), "again": reusing(t, BROADCAST), "any": reusing(t, t.ANY),
            "everybody": reusing(t, EVERYBODY), "one": reusing(t, t.SUT), "other": reusing(t, t.SUT2)}
    peer = sender(t)
    peer.bind((PEER[4], t.port(5)))
    for host in (BROADCAST, EVERYBODY):
        peer.sendto(host.encode(), (host, t.port()))
        received(t, **ends)


@case((4,))
def broadcast_no_unicast(t):
    """A socket of a broadcast address gets nothing that was sent to one of ours, and who sends that is told."""
    end = reusing(t, BROADCAST)
    peer = t.peer(socket.SOCK_DGRAM)
    peer.connect((t.SUT, t.port()))
    peer.send(b"a")
    received(t, end=end)
    t.note("the peer", t.attempt(peer.send, b"a"))


@case((4,))
def broadcast_connected(t):
    """A connected socket gets broadcasts of its peer, if its address allows them."""
    end, bound = reusing(t, t.ANY), reusing(t, BROADCAST)
    one, two = sender(t), sender(t)
    one.bind((t.PEER, t.port(1)))
    two.bind((t.PEER, t.port(2)))
    t.note("connect", end.connect((t.PEER, t.port(1))))
    t.note("connect", bound.connect((t.PEER, t.port(1))))
    t.note("name", bound.getsockname())
    for peer in (one, two):
        peer.sendto(b"a", (BROADCAST, t.port()))
        received(t, any=end, broadcast=bound)


@case((4,))
def broadcast_source(t):
    """A socket that is bound to a broadcast address sends from the port's address."""
    end, peer = reusing(t, BROADCAST), t.peer(socket.SOCK_DGRAM)
    peer.bind((t.PEER, t.port(1)))
    t.note("sendto", end.sendto(b"a", (t.PEER, t.port(1))))
    t.note("the peer sees", t.attempt(peer.recvfrom, 10))
    t.note("connect", end.connect((t.PEER, t.port(1))))
    both = end.getsockname()
    t.note("name", both)
    t.note("write", end.write(b"b"))
    t.note("the peer sees", t.attempt(peer.recvfrom, 10))
    tcp = t.stream()
    t.note("TCP", tcp.bind((BROADCAST, t.port(2))))
    listener = t.peer_listener(3)
    t.note("connect", tcp.connect((t.PEER, t.port(3))))
    t.note("TCP's name", tcp.getsockname())
    t.peers.append(listener.accept()[0])


@case((4,))
def broadcast_sent(t):
    """With SO_BROADCAST a socket sends to a broadcast address, or connects to it; EACCES without."""
    peer = t.peer(socket.SOCK_DGRAM)
    peer.bind(("0.0.0.0", t.port(1)))
    end = t.dgram()
    end.bind((t.SUT, t.port()))
    for host in (BROADCAST, EVERYBODY):
        end.setsockopt(SOL, socket.SO_BROADCAST, 0)
        t.note("without", end.sendto(b"a", (host, t.port(1))))
        t.note("connect", end.connect((host, t.port(1))))
        t.note("set", end.setsockopt(SOL, socket.SO_BROADCAST, 1))
        t.note("get", end.get(SOL, socket.SO_BROADCAST))
        t.note("with", end.sendto(host.encode(), (host, t.port(1))))
        t.note("the peer", t.attempt(peer.recvfrom, 20))
    t.note("connect", end.connect((BROADCAST, t.port(1))))
    t.note("names", (end.getsockname(), end.getpeername()))
    t.note("write", end.write(b"b"))
    t.note("the peer", t.attempt(peer.recvfrom, 20))


@case((4,))
def broadcast_looped(t):
    """What is broadcast comes to the sender's own sockets, too."""
    one, other = reusing(t, t.ANY), reusing(t, BROADCAST)
    end = t.dgram()
    end.bind((t.SUT, t.port(1)))
    end.setsockopt(SOL, socket.SO_BROADCAST, 1)
    t.note("sendto", end.sendto(b"loop", (BROADCAST, t.port())))
    t.note("poll", one.events(POLLIN, 1000))
    t.note("any", one.recvfrom(20, DONTWAIT))
    t.note("broadcast", other.recvfrom(20, DONTWAIT))


@case()
def bind_to_group(t):
    """A UDP socket can be bound to a group that it is not in; sends from the port's address."""
    end, peer = t.dgram(), t.peer(socket.SOCK_DGRAM)
    peer.bind((t.PEER, t.port(1)))
    t.note("bind", end.bind((group(t), t.port())))
    name = end.getsockname()
    t.note("name", (name[0] == group(t), name[1] == t.port()))
    t.note("a second", t.dgram().bind((group(t), t.port())))
    t.note("one address", t.dgram().bind((t.SUT, t.port())))
    t.note("any", t.dgram().bind((t.ANY, t.port())))
    t.note("sendto", end.sendto(b"a", (t.PEER, t.port(1))))
    t.note("the peer sees", t.attempt(peer.recvfrom, 10)[1][:2])
    t.note("TCP", t.stream().bind((group(t), t.port())))


@case()
def not_joined(t):
    """A group that nobody joined: nothing comes, to a socket of the group as little as to one of any."""
    ends = {"group": reusing(t, group(t)), "any": reusing(t, t.ANY)}
    sender(t).sendto(b"a", (group(t), t.port()))
    received(t, **ends)


@case()
def joined(t):
    """One socket's membership lets all of fitting name have the group's datagrams, until it is left."""
    ends = {"group": reusing(t, group(t)), "any": reusing(t, t.ANY), "one address": reusing(t, t.SUT),
            "other group": reusing(t, group(t, 1))}
    peer = sender(t)
    t.note("join", join(ends["group"], group(t)))
    peer.sendto(b"joined", (group(t), t.port()))
    received(t, **ends)
    peer.sendto(b"other", (group(t, 1), t.port()))
    received(t, **ends)
    t.note("leave", leave(ends["group"], group(t)))
    peer.sendto(b"left", (group(t), t.port()))
    received(t, **ends)


@case()
def joined_by_other(t):
    """The membership of a socket without a port counts for all, and ends with it."""
    end, member = reusing(t, t.ANY), t.dgram()
    peer = sender(t)
    t.note("join", join(member, group(t)))
    peer.sendto(b"joined", (group(t), t.port()))
    received(t, end=end)
    member.close()
    pause(0.1)
    peer.sendto(b"closed", (group(t), t.port()))
    received(t, end=end)


@case()
def members(t):
    """Two members: the group stays until both have left."""
    one, two = reusing(t, t.ANY), reusing(t, t.ANY)
    peer = sender(t)
    t.note("join", (join(one, group(t)), join(two, group(t))))
    peer.sendto(b"both", (group(t), t.port()))
    received(t, one=one, two=two)
    t.note("leave", leave(one, group(t)))
    peer.sendto(b"second", (group(t), t.port()))
    received(t, one=one, two=two)
    two.close()
    pause(0.1)
    peer.sendto(b"none", (group(t), t.port()))
    received(t, one=one)


@case()
def members_only(t):
    """With IP_MULTICAST_ALL, or its like, off a socket gets only what it joined itself."""
    six = t.family == 6
    one, two = reusing(t, t.ANY), reusing(t, t.ANY)
    option = IPV6_MULTICAST_ALL if six else IP_MULTICAST_ALL
    t.note("get", one.get(t.level, option))
    t.note("set", one.setsockopt(t.level, option, 0))
    t.note("get", one.get(t.level, option))
    join(two, group(t))
    peer = sender(t)
    peer.sendto(b"a", (group(t), t.port()))
    received(t, without=one, with_=two)
    t.note("join", join(one, group(t)))
    peer.sendto(b"b", (group(t), t.port()))
    received(t, without=one, with_=two)


@case()
def join_errors(t):
    """What cannot be joined or left, and by whom."""
    end = t.dgram()
    t.note("no group", join(end, t.PEER))
    t.note("any", join(end, t.ANY))
    t.note("leave", leave(end, group(t)))
    t.note("join", join(end, group(t)))
    t.note("again", join(end, group(t)))
    t.note("leave", leave(end, group(t)))
    t.note("leave again", leave(end, group(t)))
    t.note("leave no group", leave(end, t.PEER))
    option = socket.IPV6_JOIN_GROUP if t.family == 6 else socket.IP_ADD_MEMBERSHIP
    for n in (0, 4, 7, 16, 19):
        t.note(f"{n} bytes", end.setsockopt(t.level, option, mreq(group(t))[:n]) if n < len(mreq(group(t))) else None)
    t.note("no interface", join(end, group(t), 9999 if t.family == 6 else t.NOT_OURS))
    t.note("TCP", join(t.stream(), group(t)))
    t.note("get", end.get(t.level, option))


@case((4,))
def join_interface(t):
    """ip_mreqn, and the interface by its address."""
    end = reusing(t, t.ANY)
    peer = sender(t)
    t.note("by address", join(end, group(t), t.SUT2))
    t.note("the same by another", join(end, group(t), t.SUT))
    t.note("by none", join(end, group(t)))
    peer.sendto(b"a", (group(t), t.port()))
    received(t, end=end)
    mreqn = socket.inet_aton(group(t, 1)) + socket.inet_aton(t.SUT) + struct.pack("=i", 0)
    t.note("mreqn", end.setsockopt(t.level, socket.IP_ADD_MEMBERSHIP, mreqn))
    t.note("no such index", end.setsockopt(t.level, socket.IP_ADD_MEMBERSHIP, mreqn[:8] + struct.pack("=i", 9999)))
    t.note("leave", end.setsockopt(t.level, socket.IP_DROP_MEMBERSHIP, mreqn))


@case((4,))
def join_many(t):
    """A socket is in twenty groups at most."""
    end = t.dgram()
    results = [join(end, group(t, i)) for i in range(22)]
    t.note("joined", results)
    t.note("leave", leave(end, group(t, 3)))
    t.note("another", join(end, group(t, 21)))


@case((6,))
def join_mapped(t):
    """An IPv6 socket of any address gets IPv4 groups that it joined by IP_ADD_MEMBERSHIP."""
    end = reusing(t, t.ANY)
    where = f"239.9.{t.case.number // 250}.{t.case.number % 250 + 1}"
    t.note("join", join(end, where))
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    t.peers.append(peer)
    peer.sendto(b"four", (where, t.port()))
    received(t, end=end)
    t.note("option of IPv6", end.setsockopt(t.level, socket.IPV6_JOIN_GROUP, mreq("::ffff:" + where)))


@case()
def sent(t):
    """A datagram to a group goes to who is in it, with a TTL of 1 unless the option says otherwise."""
    end = t.dgram()
    t.raw
    hops = socket.IPV6_MULTICAST_HOPS if t.family == 6 else socket.IP_MULTICAST_TTL
    t.note("get", end.get(t.level, hops))
    peer = sender(t)
    peer.bind((t.ANY, t.port(1)))
    join_peer(t, peer)
    end.bind((t.SUT, t.port()))
    t.note("sendto", end.sendto(b"a", (group(t), t.port(1))))
    t.note("the peer", t.attempt(lambda: peer.recvfrom(10)[0]))
    t.note("connect", end.connect((group(t), t.port(1))))
    t.note("name", end.getsockname())
    t.note("write", end.write(b"b"))
    t.note("the peer", t.attempt(lambda: peer.recvfrom(10)[0]))


def join_peer(t, peer):
    six = t.family == 6
    peer.setsockopt(t.level, socket.IPV6_JOIN_GROUP if six else socket.IP_ADD_MEMBERSHIP, mreq(group(t)))


@case()
def hops(t):
    """The TTL of what is sent to a group."""
    end, peer = t.dgram(), t.peer(socket.SOCK_DGRAM)
    six = t.family == 6
    option = socket.IPV6_MULTICAST_HOPS if six else socket.IP_MULTICAST_TTL
    peer.bind((t.ANY, t.port(1)))
    peer.setsockopt(t.level, socket.IPV6_RECVHOPLIMIT if six else IP_RECVTTL, 1)
    join_peer(t, peer)
    for value in (None, 7, 255, -1, 256, -2):
        if value is not None:
            t.note(f"set {value}", end.setsockopt(t.level, option, value))
        t.note("get", end.get(t.level, option))
        end.sendto(b"a", (group(t), t.port(1)))
        t.note("TTL", [struct.unpack("=i", d)[0] for _, _, d in t.attempt(peer.recvmsg, 10, 100)[1]])
    t.note("a byte", end.setsockopt(t.level, option, b"\x05"))
    t.note("TCP", t.stream().setsockopt(t.level, option, 3))


@case()
def looped(t):
    """What is sent to a group comes to the host's own members, unless IP_MULTICAST_LOOP or its like is off."""
    end, member = t.dgram(), reusing(t, t.ANY)
    option = socket.IPV6_MULTICAST_LOOP if t.family == 6 else socket.IP_MULTICAST_LOOP
    end.bind((t.SUT, t.port(1)))
    t.note("nobody joined", end.sendto(b"0", (group(t), t.port())))
    received(t, member=member)
    join(member, group(t))
    t.note("get", end.get(t.level, option))
    t.note("sendto", end.sendto(b"1", (group(t), t.port())))
    t.note("poll", member.events(POLLIN, 1000))
    t.note("member", member.recvfrom(20, DONTWAIT))
    t.note("off", end.setsockopt(t.level, option, 0))
    t.note("get", end.get(t.level, option))
    t.note("sendto", end.sendto(b"2", (group(t), t.port())))
    received(t, member=member)
    t.note("set 2", end.setsockopt(t.level, option, 2))
    t.note("get", end.get(t.level, option))


@case((4,))
def interface_option(t):
    """IP_MULTICAST_IF: by the address, and its forms."""
    end = t.dgram()
    t.note("get", end.getsockopt(t.level, socket.IP_MULTICAST_IF))
    t.note("set", end.setsockopt(t.level, socket.IP_MULTICAST_IF, socket.inet_aton(t.SUT2)))
    t.note("get", end.getsockopt(t.level, socket.IP_MULTICAST_IF))
    peer = t.peer(socket.SOCK_DGRAM)
    peer.bind((t.ANY, t.port(1)))
    join_peer(t, peer)
    t.note("sendto", end.sendto(b"a", (group(t), t.port(1))))
    t.note("the peer sees", t.attempt(peer.recvfrom, 10)[1][0])
    t.note("not ours", end.setsockopt(t.level, socket.IP_MULTICAST_IF, socket.inet_aton(t.NOT_OURS)))
    t.note("short", end.setsockopt(t.level, socket.IP_MULTICAST_IF, b"\0\0"))
    t.note("mreq", end.setsockopt(t.level, socket.IP_MULTICAST_IF, mreq(group(t), t.SUT)))
    t.note("get", end.getsockopt(t.level, socket.IP_MULTICAST_IF))
    t.note("none", end.setsockopt(t.level, socket.IP_MULTICAST_IF, bytes(4)))
    t.note("get", end.getsockopt(t.level, socket.IP_MULTICAST_IF))
    t.note("TCP", t.stream().setsockopt(t.level, socket.IP_MULTICAST_IF, bytes(4)))


@case((6,))
def interface_option6(t):
    """IPV6_MULTICAST_IF: an index."""
    end = t.dgram()
    t.note("get", end.get(t.level, socket.IPV6_MULTICAST_IF))
    t.note("none", end.setsockopt(t.level, socket.IPV6_MULTICAST_IF, 0))
    t.note("no such", end.setsockopt(t.level, socket.IPV6_MULTICAST_IF, 9999))
    t.note("short", end.setsockopt(t.level, socket.IPV6_MULTICAST_IF, b"\0\0"))
    t.note("TCP", t.stream().setsockopt(t.level, socket.IPV6_MULTICAST_IF, 0))


@case((6,))
def link_group(t):
    """A group of the link needs its interface to be bound or sent to."""
    t.note("bind", t.dgram().bind(("ff02::1234", t.port())))
    t.note("connect", t.dgram().connect(("ff02::1234", t.port())))


@case((4,))
def all_systems(t):
    """224.0.0.1 needs no membership."""
    ends = {"any": reusing(t, t.ANY), "group": reusing(t, "224.0.0.1"), "one address": reusing(t, t.SUT)}
    sender(t).sendto(b"a", ("224.0.0.1", t.port()))
    received(t, **ends)


@case()
def joined_fragments(t):
    """A long datagram to a group, which goes in fragments, comes whole to a member."""
    end = reusing(t, t.ANY)
    join(end, group(t))
    sender(t).sendto(bytes(3000), (group(t), t.port()))
    t.note("poll", end.events(POLLIN, 1000))
    t.note("recv", end.recv_count(4000, DONTWAIT))
    out = t.dgram()
    peer = t.peer(socket.SOCK_DGRAM)
    peer.bind((t.ANY, t.port(1)))
    join_peer(t, peer)
    t.note("sendto", out.sendto(bytes(3000), (group(t), t.port(1))))
    t.note("the peer", len(t.attempt(peer.recv, 4000)))
