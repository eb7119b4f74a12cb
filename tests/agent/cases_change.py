"""What changes under a blocked call, and what that changes; datagrams to groups."""
import socket

import packets
from bench import case, pattern, pause
from names import O_NONBLOCK
from sut import POLLIN, POLLOUT, POLLRDHUP

SOL, TCP = socket.SOL_SOCKET, socket.IPPROTO_TCP
ALL = POLLIN | POLLOUT | POLLRDHUP
DONTWAIT, PEEK = socket.MSG_DONTWAIT, socket.MSG_PEEK
ET = 1 << 31


@case()
def nonblocking_while_blocked(t):
    """O_NONBLOCK, set while a read is blocked, is for the next one."""
    end, conn = t.raw_accepted()
    later = t.start(end.read, 10)
    t.note("blocked", later.blocked())
    end.nonblocking()
    t.note("still", later.blocked())
    t.note("another", end.read(10))
    conn.send("PA", b"abc")
    t.note("read", later.result())


@case()
def timeout_while_blocked(t):
    """SO_RCVTIMEO, set while a read is blocked, is for the next one."""
    end, conn = t.raw_accepted()
    later = t.start(end.read, 10)
    t.note("blocked", later.blocked())
    end.set_time(socket.SO_RCVTIMEO, 0.1)
    t.note("still", later.blocked(0.5))
    conn.send("PA", b"abc")
    t.note("read", later.result())


@case()
def low_water_while_polled(t):
    """SO_RCVLOWAT, set lower than what is there, wakes a poll and an epoll_wait."""
    end, conn = t.raw_accepted()
    end.setsockopt(SOL, socket.SO_RCVLOWAT, 10)
    ep = t.epoll()
    ep.epoll_ctl(1, end.fd, POLLIN | ET, 7)
    conn.send("PA", b"abcde")
    later, other = t.start(end.events, POLLIN, 3000), t.start(ep.epoll_wait, 4, 3000)
    t.note("blocked", [later.blocked(), other.blocked()])
    end.setsockopt(SOL, socket.SO_RCVLOWAT, 3)
    t.note("poll", later.result(1))
    t.note("epoll", other.result(1))


@case()
def send_buffer_while_polled(t):
    """SO_SNDBUF, set larger, wakes a poll for POLLOUT, and a blocked write goes on."""
    end, conn = t.raw_accepted(window=1000)
    end.setsockopt(SOL, socket.SO_SNDBUF, 4608)
    end.nonblocking()
    while not isinstance(end.write(pattern(1000)), str):
        pass
    later = t.start(end.events, POLLOUT, 3000)
    t.note("blocked", later.blocked())
    end.setsockopt(SOL, socket.SO_SNDBUF, 200000)
    t.note("poll", later.result(1))
    t.note("write", end.write(pattern(1000)))


@case()
def dead_in_epoll(t):
    """A connection that was reset can be added to an epoll, which tells of it each time; edge-triggered once."""
    end, conn = t.raw_accepted()
    conn.rst()
    end.events(0, 1000)
    level, edge = t.epoll(), t.epoll()
    t.note("add", [level.epoll_ctl(1, end.fd, POLLIN, 1), edge.epoll_ctl(1, end.fd, POLLIN | ET, 2)])
    t.note("level", [level.epoll_wait(4, 500), level.epoll_wait(4, 0)])
    t.note("edge", [edge.epoll_wait(4, 500), edge.epoll_wait(4, 0)])
    t.note("error", end.error())
    t.note("level then", level.epoll_wait(4, 0))


@case()
def edge_of_listener(t):
    """EPOLLET of a listener tells of each handshake, accepted or not."""
    listener = t.listener()
    ep = t.epoll()
    ep.epoll_ctl(1, listener.fd, POLLIN | ET, 7)
    t.note("nothing", ep.epoll_wait(4, 50))
    for i in range(2):
        t.peer().connect((t.SUT, t.port()))
        t.note("a handshake", ep.epoll_wait(4, 1000))
        t.note("told", ep.epoll_wait(4, 50))
    listener.accept()
    t.note("accepted one", ep.epoll_wait(4, 50))


@case()
def out_of_listener(t):
    """A listener in an epoll that wants POLLOUT alone tells nothing of a handshake."""
    listener = t.listener()
    ep = t.epoll()
    ep.epoll_ctl(1, listener.fd, POLLOUT, 7)
    t.peer().connect((t.SUT, t.port()))
    t.note("wait", ep.epoll_wait(4, 200))
    listener.accept()


@case()
def both_reuse(t):
    """The port of an accepted connection whose listener is closed can be listened on, if both have SO_REUSEADDR."""
    listener = t.stream()
    listener.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    listener.bind((t.SUT, t.port()))
    listener.listen(4)
    peer = t.peer()
    peer.connect((t.SUT, t.port()))
    old = listener.accept()[0]
    listener.close()
    again = t.stream()
    again.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    t.note("bind", again.bind((t.SUT, t.port())))
    t.note("listen", again.listen(4))
    t.note("connect", t.attempt(t.peer().connect, (t.SUT, t.port())))
    t.note("accept", again.accept()[0])
    peer.sendall(b"old")
    t.note("the old one", old.read(10))


@case()
def port_of_opened(t):
    """The port that a connect chose cannot be bound by another; nor in TIME-WAIT."""
    end, peer = t.opened()
    port = peer.getpeername()[1]
    t.note("bind", t.stream().bind((t.SUT, port)))
    t.note("another address", t.stream().bind((t.SUT2, port)))
    end.close()
    t.note("the peer", t.attempt(peer.recv, 1))
    peer.close()
    pause(0.1)
    t.note("in TIME-WAIT", t.stream().bind((t.SUT, port)))


@case()
def peek_sees_more(t):
    """A MSG_PEEK after more has come sees all of it; a blocked one of a thread is woken by a byte."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"abc")
    t.note("peek", end.recv(10, PEEK))
    conn.send("PA", b"def")
    pause(0.1)
    t.note("peek again", end.recv(10, PEEK))
    t.note("read one", end.read(1))
    t.note("peek then", end.recv(10, PEEK))


@case()
def two_peeks(t):
    """Two threads that peek both see the bytes; then one reads them."""
    end, conn = t.raw_accepted()
    later = [t.start(end.recv, 10, PEEK) for _ in range(2)]
    t.note("blocked", [x.blocked() for x in later])
    conn.send("PA", b"abc")
    t.note("peeks", [x.result(2) for x in later])
    t.note("read", end.read(10))


@case()
def urgent(t):
    """A segment with the urgent flag: is the urgent byte in the stream, and does poll tell?"""
    end, conn = t.raw_accepted()
    p = packets.tcp_packet(conn.mine, conn.sut, conn.port, conn.sut_port, conn.snd_nxt, conn.rcv_nxt, "PAU", 65535, b"abcd")
    head = len(p) - 24
    body = p[head:head + 16] + b"\0\0" + (2).to_bytes(2, "big") + p[head + 20:]
    conn.snd_nxt += 4
    t.raw.ip(p[:head] + packets.with_sum(conn.mine, conn.sut, packets.TCP, body, 16))
    pause(0.1)
    t.note("poll", end.events(POLLIN | 2))
    t.note("OOB", end.recv(10, socket.MSG_OOB | DONTWAIT))
    t.note("read", end.recv(10, DONTWAIT))
    t.note("read on", end.recv(10, DONTWAIT))


@case((6,))
def udp_no_checksum(t):
    """A datagram over IPv6 without a checksum is not read."""
    end = t.dgram(O_NONBLOCK)
    end.bind((t.SUT, t.port()))
    mine, sut = t.raw.addresses[6], packets.packed(t.SUT)
    body = packets.udp_packet(mine, sut, 30000, t.port(), b"data")[40:]
    t.raw.ip(packets.ip_packet(mine, sut, packets.UDP, body[:6] + b"\0\0" + body[8:]))
    pause(0.1)
    t.note("recv", end.recv(10))


@case()
def udp_group_in(t):
    """A datagram to all hosts of the link: sockets of the any address have it, each; no ICMP where nobody does."""
    group = packets.packed("224.0.0.1" if t.family == 4 else "ff02::1")
    mac = b"\1\0\x5e\0\0\1" if t.family == 4 else b"\x33\x33\0\0\0\1"
    ends = [t.dgram(O_NONBLOCK) for _ in range(3)]
    for end, host in zip(ends, (t.ANY, t.ANY, t.SUT)):
        end.setsockopt(SOL, socket.SO_REUSEADDR, 1)
        end.bind((host, t.port()))
    for port in (t.port(), t.port(1)):
        p = packets.udp_packet(t.raw.addresses[t.family], group, 30000, port, b"all")
        t.raw.link.send(mac + t.raw.mac + (b"\x08\0" if t.family == 4 else b"\x86\xdd") + p.ljust(46, b"\0"))
    pause(0.1)
    t.note("recv", [end.recv(10) for end in ends])
    t.note("ICMP", t.raw.other(0.2))


@case((4,))
def udp_limited_broadcast_in(t):
    """A datagram to 255.255.255.255 is for sockets of the any address."""
    ends = [t.dgram(O_NONBLOCK) for _ in range(2)]
    for end, host in zip(ends, (t.ANY, t.SUT)):
        end.setsockopt(SOL, socket.SO_REUSEADDR, 1)
        end.bind((host, t.port()))
    p = packets.udp_packet(t.raw.addresses[4], b"\xff" * 4, 30000, t.port(), b"all")
    t.raw.link.send(b"\xff" * 6 + t.raw.mac + b"\x08\0" + p.ljust(46, b"\0"))
    pause(0.1)
    t.note("recv", [end.recv(10) for end in ends])


@case()
def udp_many_ports(t):
    """Three hundred UDP sockets, each with a port, at once; and as many listeners."""
    t.note("bind", {t.dgram().bind((t.SUT, 0)) for _ in range(300)})
    t.note("listen", {t.stream().listen(1) for _ in range(300)})
