"""Calls in states and with flags that programs seldom combine."""
import socket
import time

import packets
from bench import case, pattern, pause
from names import O_NONBLOCK, SIOCINQ, SIOCOUTQ
from sut import POLLIN, POLLOUT, POLLRDHUP

SOL, TCP = socket.SOL_SOCKET, socket.IPPROTO_TCP
PEEK, WAITALL, TRUNC, DONTWAIT, MORE = socket.MSG_PEEK, socket.MSG_WAITALL, socket.MSG_TRUNC, socket.MSG_DONTWAIT, 0x8000
ALL = POLLIN | POLLOUT | POLLRDHUP
ERRQUEUE, ZEROCOPY, CMSG_CLOEXEC = 0x2000, 0x4000000, 0x40000000


@case()
def peek_and_truncate(t):
    """MSG_PEEK with MSG_TRUNC of TCP: counts what is there, at most what was asked for, and takes nothing."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"0123456789")
    end.events(POLLIN, 1000)
    t.note("4", end.recv_count(4, PEEK | TRUNC))
    t.note("100", end.recv_count(100, PEEK | TRUNC))
    t.note("SIOCINQ", end.ioctl(SIOCINQ))
    t.note("TRUNC 3", end.recv_count(3, TRUNC))
    t.note("read", end.read(100))
    t.note("of nothing", end.recv_count(3, TRUNC | DONTWAIT))


@case()
def truncate_all(t):
    """MSG_TRUNC with MSG_WAITALL throws away as many bytes as it is told, as they come."""
    end, conn = t.raw_accepted()
    later = t.start(end.recv_count, 8, TRUNC | WAITALL)
    conn.send("PA", b"01234")
    t.note("blocked", later.blocked())
    conn.send("PA", b"56789")
    t.note("recv", later.result())
    t.note("read", end.read(100))


@case()
def peek_with_timeout(t):
    """MSG_PEEK with MSG_WAITALL and SO_RCVTIMEO: what is there after the time, and it stays."""
    end, conn = t.raw_accepted()
    end.set_time(socket.SO_RCVTIMEO, 0.3)
    conn.send("PA", b"abc")
    t.timed("peek", 0.25, 1, end.recv, 10, PEEK | WAITALL)
    t.note("read", end.read(10))


@case()
def read_nothing(t):
    """A recv of 0 bytes: blocks without data, returns 0 with; of a connection that was reset the error."""
    end, conn = t.raw_accepted()
    t.note("DONTWAIT", end.recv(0, DONTWAIT))
    later = t.start(end.recv, 0)
    t.note("blocked", later.blocked())
    conn.send("PA", b"a")
    t.note("recv", later.result())
    conn.rst()
    end.events(0, 1000)
    t.note("with data", end.recv(0))
    t.note("data", end.read(10))
    t.note("error", end.recv(0))
    t.note("then", end.recv(0))


@case()
def write_nothing(t):
    """A send of 0 bytes: 0 when connected, EPIPE when not, and after SHUT_WR; an error is told by it."""
    t.note("fresh", t.stream().send(b""))
    end, conn = t.raw_accepted()
    t.note("connected", end.send(b""))
    end.shutdown(socket.SHUT_WR)
    t.note("shut", end.send(b""))
    conn.expect("FA")
    end, conn = t.raw_accepted(1)
    conn.rst()
    end.events(0, 1000)
    t.note("reset", end.send(b""))
    t.note("again", end.send(b""))


@case()
def queues_after_fins(t):
    """SIOCINQ and SIOCOUTQ with the FINs of both sides: the peer's is no byte, ours is until it is acknowledged."""
    end, conn = t.raw_accepted()
    conn.fin(b"abc")
    end.events(POLLRDHUP, 1000)
    t.note("SIOCINQ", end.ioctl(SIOCINQ))
    end.write(b"defg")
    end.shutdown(socket.SHUT_WR)
    t.note("SIOCOUTQ", end.ioctl(SIOCOUTQ))
    conn.take(4)
    conn.expect("FA", 0.3)
    conn.ack(ack=conn.irs + 6)
    pause(0.1)
    t.note("acknowledged", end.ioctl(SIOCOUTQ))
    t.note("read", end.read(10))
    t.note("SIOCINQ then", end.ioctl(SIOCINQ))


@case()
def unknown_flags(t):
    """Flags of send and recv that mean nothing here are taken: MSG_CONFIRM, MSG_DONTROUTE, MSG_CMSG_CLOEXEC and others."""
    end, peer = t.opened()
    t.note("send", [end.send(b"a", f) for f in (0x800, 4, ZEROCOPY, 0x10000, 0x40)])
    t.note("the peer", t.peer_reads(peer, 5))
    peer.sendall(b"abc")
    end.events(POLLIN, 1000)
    t.note("recv", end.recv(1, CMSG_CLOEXEC))
    t.note("recv ERRQUEUE", end.recv(1, ERRQUEUE))
    t.note("recv more", end.recv(10, 0x10000))
    t.note("send OOB and more", end.send(b"a", 0x80))


@case()
def blocked_in_handshake(t):
    """A write and a read of a socket that is connecting wait for the handshake."""
    end = t.stream(O_NONBLOCK)
    t.raw
    t.note("connect", end.connect((t.RAW, t.port())))
    t.note("write", end.write(b"early"))
    t.note("read", end.read(10))
    t.note("SIOCOUTQ", end.ioctl(SIOCOUTQ))
    end.nonblocking(False)
    write, read = t.start(end.write, b"early"), t.start(end.read, 10)
    t.note("blocked", [write.blocked(), read.blocked()])
    conn = t.raw.syn()
    conn.synack()
    t.note("written", write.result())
    t.note("the peer", conn.take(5))
    conn.send("PA", b"hello")
    t.note("got", read.result())


@case()
def blocked_in_handshake_refused(t):
    """A write that waits for a handshake that is refused has the error; a read of two has it or the end."""
    end = t.stream(O_NONBLOCK)
    t.raw
    end.connect((t.RAW, t.port()))
    end.nonblocking(False)
    write = t.start(end.write, b"early")
    t.note("blocked", write.blocked())
    conn = t.raw.syn()
    conn.send("RA", seq=0)
    t.note("write", write.result())
    t.note("then", end.write(b"late"))
    t.note("SO_ERROR", end.error())


@case()
def write_timeout_in_handshake(t):
    """SO_SNDTIMEO of a write that waits for a handshake: EAGAIN, and the connect goes on."""
    end = t.stream(O_NONBLOCK)
    t.raw
    end.connect((t.RAW, t.port()))
    end.nonblocking(False)
    end.set_time(socket.SO_SNDTIMEO, 0.3)
    t.timed("write", 0.25, 1, end.write, b"early")
    conn = t.raw.accept()
    t.note("connect", end.connect((t.RAW, t.port())))
    t.note("write then", end.write(b"now"))


@case()
def dissolved_under_read(t):
    """A connect to AF_UNSPEC under a blocked read, a poll and a write of the same socket."""
    end, conn = t.raw_accepted()
    read, polled = t.start(end.read, 10), t.start(end.events, POLLIN, 3000)
    t.note("blocked", [read.blocked(), polled.blocked()])
    t.note("unspec", end.connect(bytes(16)))
    t.note("the peer sees", conn.told(conn.expect()))
    t.note("read", read.result(1))
    t.note("poll", polled.result(4))
    t.note("SO_ERROR", end.error())
    t.note("read again", end.read(10))


@case()
def dissolved_with_data(t):
    """A connect to AF_UNSPEC forgets what was received; the next connection begins without."""
    end, conn = t.raw_opened()
    conn.send("PA", b"old")
    end.events(POLLIN, 1000)
    conn.expect("A")
    t.note("unspec", end.connect(bytes(16)))
    t.note("the peer sees", conn.told(conn.expect()))
    t.note("SIOCINQ", end.ioctl(SIOCINQ))
    t.note("read", end.read(10))
    later = t.start(end.connect, (t.RAW, t.port(1)))
    conn = t.raw.accept()
    t.note("connect", later.result())
    conn.send("PA", b"new")
    t.note("read then", end.read(10))


@case()
def linger_with_unread(t):
    """A close with SO_LINGER and unread data resets at once and does not wait."""
    end, conn = t.raw_accepted()
    end.write(b"never acknowledged")
    conn.send("PA", b"unread")
    end.events(POLLIN, 1000)
    end.linger(1, 5)
    t.timed("close", 0, 0.5, end.close)
    t.note("the peer sees", [conn.told(p) for p in conn.all(0.3) if "R" in p.flags])


@case()
def linger_zero_both_ways(t):
    """SO_LINGER {1, 0} with data in both queues: a RST, and what was not sent never is."""
    end, conn = t.raw_accepted(window=4)
    conn.send("PA", b"unread")
    end.events(POLLIN, 1000)
    end.write(b"more than the window")
    conn.expect("A", data=True)
    end.linger(1, 0)
    t.timed("close", 0, 0.5, end.close)
    t.note("the peer sees", [str(p) for p in conn.all(0.4) if "R" in p.flags or p.fresh])


@case()
def linger_closed_window(t):
    """SO_LINGER with a closed window: close waits for its time; then the data goes when the window opens."""
    end, conn = t.raw_accepted(window=0)
    end.write(b"patience")
    end.linger(1, 1)
    t.timed("close", 0.9, 1.6, end.close)
    conn.ack(window=1000)
    conn.window = 1000
    t.note("data", conn.take(8))


@case()
def linger_after_shutdown(t):
    """A close with SO_LINGER after SHUT_WR waits for the acknowledgment of the FIN."""
    end, conn = t.raw_accepted()
    end.write(b"abc")
    end.shutdown(socket.SHUT_WR)
    end.linger(1, 3)
    later = t.start(end.close)
    t.note("blocked", later.blocked())
    conn.take(3)
    conn.expect("FA", 0.3)
    conn.ack(ack=conn.irs + 5)
    t.note("close", later.result(1))


@case()
def close_after_both_shut(t):
    """A close after SHUT_RDWR says nothing more; the peer's FIN is acknowledged."""
    end, conn = t.raw_accepted()
    end.shutdown(socket.SHUT_RDWR)
    conn.expect("FA")
    conn.ack()
    t.note("close", end.close())
    t.note("quiet", [str(p) for p in conn.all(0.2)])
    conn.fin()
    t.note("ACK", conn.told(conn.expect("A")))


@case()
def unread_after_shutdown(t):
    """SHUT_RD, then data, then close: the data is unread."""
    end, conn = t.raw_accepted()
    end.shutdown(socket.SHUT_RD)
    conn.send("PA", b"unread")
    conn.expect("A")
    end.close()
    t.note("the peer sees", conn.told(conn.expect()))


@case()
def write_after_peer_closed(t):
    """Writes to a kernel that closed: the first is taken, then EPIPE, with the reset's error first."""
    end, peer = t.opened()
    peer.close()
    t.note("poll", end.events(POLLRDHUP, 1000))
    t.note("first", end.write(b"a"))
    pause(0.1)
    t.note("poll then", end.events(ALL))
    t.note("second", end.write(b"a"))
    t.note("third", end.write(b"a"))
    t.note("read", end.read(1))
    t.note("SO_ERROR", end.error())


@case()
def blocked_write_and_fin(t):
    """The peer's FIN does not end a blocked write; its window does; a RST then does."""
    end, conn = t.raw_accepted(window=1000)
    end.setsockopt(SOL, socket.SO_SNDBUF, 4608)
    later = t.start(end.write, pattern(200000))
    t.note("blocked", later.blocked())
    conn.fin()
    t.note("after FIN", later.blocked())
    conn.rst()
    got = later.result(2)
    t.note("ended with a part", isinstance(got, int) and 0 < got < 200000)
    t.note("SO_ERROR", end.error())
    t.note("write", end.write(b"a"))


@case()
def half_close_blocked_writer(t):
    """SHUT_WR under a blocked write: that returns what it had, and all of it is sent, then FIN."""
    end, conn = t.raw_accepted(window=1000)
    end.setsockopt(SOL, socket.SO_SNDBUF, 4608)
    later = t.start(end.write, pattern(200000))
    t.note("blocked", later.blocked())
    t.note("shutdown", end.shutdown(socket.SHUT_WR))
    got = later.result(2)
    t.note("a part", isinstance(got, int) and 0 < got < 200000)
    data = conn.take(got, 6) if isinstance(got, int) else b""
    t.note("it arrives", data == pattern(200000)[:len(data)] and len(data) == got)
    t.note("write", end.write(b"a"))


@case()
def user_timeout_and_keepalive(t):
    """TCP_USER_TIMEOUT ends a connection whose keepalive probes are not answered, before TCP_KEEPCNT does."""
    end, conn = t.raw_accepted()
    for option, value in ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 20), (18, 2500)):
        end.setsockopt(TCP, option, value)
    end.setsockopt(SOL, socket.SO_KEEPALIVE, 1)
    later = t.start(end.read, 10)
    t.note("read", later.result(10))
    t.note_time("time", later.seconds, 2.3, 5)
    t.note("poll", end.events(ALL))


@case()
def keepalive_with_unacked(t):
    """Keepalive sends no probe while data is unacknowledged: the retransmission does its work."""
    end, conn = t.raw_accepted()
    end.setsockopt(TCP, socket.TCP_KEEPIDLE, 1)
    end.setsockopt(SOL, socket.SO_KEEPALIVE, 1)
    end.write(b"data")
    got = conn.all(2.2)
    t.note("all have data", all(p.data == b"data" for p in got))


@case()
def accept_after_reset_in_queue(t):
    """Of three in the queue the second was reset: accept gives all three; the second reads ECONNRESET."""
    listener = t.listener()
    conns = [t.raw.connect(t.SUT, 30000 + i, t.port()) for i in range(3)]
    pause(0.1)
    conns[1].rst()
    pause(0.1)
    t.note("poll", listener.events(POLLIN))
    ends = [listener.accept() for _ in range(3)]
    t.note("accepted", [e if isinstance(e, str) else e[1][1] for e in ends])
    t.note("read", [e[0].recv(1, DONTWAIT) for e in ends])
    t.note("error", [e[0].error() for e in ends])


@case()
def listener_options_on_accepted(t):
    """What an accepted socket has of its listener: time limits, linger, low-water mark, buffers; not SO_ERROR or O_NONBLOCK."""
    listener = t.stream(O_NONBLOCK)
    listener.linger(1, 7)
    listener.set_time(socket.SO_RCVTIMEO, 3)
    listener.setsockopt(SOL, socket.SO_RCVLOWAT, 5)
    listener.setsockopt(SOL, socket.SO_RCVBUF, 20000)
    listener.setsockopt(TCP, 18, 4321)
    listener.setsockopt(TCP, 25, 1000)
    listener.bind((t.SUT, t.port()))
    listener.listen(1)
    peer = t.peer()
    peer.connect((t.SUT, t.port()))
    listener.events(POLLIN, 1000)
    end = listener.accept()[0]
    t.note("flags", end.fcntl(3))
    t.note("linger", end.getsockopt(SOL, socket.SO_LINGER, 8))
    t.note("time", end.getsockopt(SOL, socket.SO_RCVTIMEO, 16))
    t.note("low water", end.get(SOL, socket.SO_RCVLOWAT))
    t.note("buffer", end.get(SOL, socket.SO_RCVBUF))
    t.note("user timeout", end.get(TCP, 18))
    t.note("notsent", end.get(TCP, 25))
    t.note("reuse", end.get(SOL, socket.SO_REUSEADDR))


@case()
def epoll_edge_again(t):
    """EPOLLET tells again when more bytes come, read or not, and not when some are read."""
    end, conn = t.raw_accepted()
    ep = t.epoll()
    ep.epoll_ctl(1, end.fd, POLLIN | 1 << 31, 7)
    conn.send("PA", b"abc")
    t.note("first", ep.epoll_wait(4, 1000))
    t.note("nothing new", ep.epoll_wait(4, 100))
    conn.send("PA", b"def")
    t.note("more", ep.epoll_wait(4, 1000))
    t.note("read", end.read(2))
    t.note("after a read", ep.epoll_wait(4, 100))
    conn.fin()
    t.note("FIN", ep.epoll_wait(4, 1000))


@case()
def epoll_one_shot_again(t):
    """EPOLLONESHOT is silent until it is set again, and then tells what there is at once."""
    end, conn = t.raw_accepted()
    ep = t.epoll()
    ep.epoll_ctl(1, end.fd, POLLIN | 1 << 30, 7)
    conn.send("PA", b"abc")
    t.note("first", ep.epoll_wait(4, 1000))
    conn.send("PA", b"def")
    t.note("silent", ep.epoll_wait(4, 150))
    conn.rst()
    t.note("errors too", ep.epoll_wait(4, 150))
    t.note("set again", ep.epoll_ctl(3, end.fd, POLLIN | 1 << 30, 8))
    t.note("then", ep.epoll_wait(4, 150))


@case()
def epoll_exclusive_wakes_one(t):
    """EPOLLEXCLUSIVE: of two sets that wait for one listener one is woken."""
    listener = t.listener()
    sets = [t.epoll(), t.epoll()]
    for ep in sets:
        ep.epoll_ctl(1, listener.fd, POLLIN | 1 << 28, 7)
    later = [t.start(ep.epoll_wait, 4, 1500) for ep in sets]
    t.note("blocked", [x.blocked() for x in later])
    t.peer().connect((t.SUT, t.port()))
    got = [x.result(3) for x in later]
    t.note("woken", sum(x != [] for x in got))


@case((4,), only="agent")
def epoll_many_ways(t):
    """Epolls that watch each other in ever more ways are refused (EINVAL) before an event would take long."""
    rows = [[t.epoll() for _ in range(40)] for _ in range(4)]
    end, conn = t.raw_accepted()
    for ep in rows[3]:
        ep.epoll_ctl(1, end.fd, POLLIN, 0)
    refused = sum(a.epoll_ctl(1, b.fd, POLLIN, 0) == "EINVAL" for i in (0, 2, 1) for a in rows[i] for b in rows[i + 1])
    begin = time.monotonic()
    conn.send("PA", b"a")
    end.read(1)
    t.note("ok", refused > 500 and time.monotonic() - begin < 1)


@case()
def epoll_edge_wakes_one(t):
    """EPOLLET: of two threads that wait in one set one is woken by one event."""
    end, conn = t.raw_accepted()
    ep = t.epoll()
    ep.epoll_ctl(1, end.fd, POLLIN | 1 << 31, 7)
    later = [t.start(ep.epoll_wait, 4, 1000) for _ in range(2)]
    t.note("blocked", [x.blocked() for x in later])
    conn.send("PA", b"abc")
    t.note("woken", sum(x.result(3) != [] for x in later))


@case()
def udp_out_of_band(t):
    """UDP knows no urgent data: MSG_OOB of sendto is EOPNOTSUPP, of recv it means nothing."""
    end, peer = t.dgram(), t.peer(socket.SOCK_DGRAM)
    end.bind((t.SUT, t.port()))
    t.note("send", end.sendto(b"a", (t.PEER, t.port()), 1))
    peer.sendto(b"abc", (t.SUT, t.port()))
    end.events(POLLIN, 1000)
    t.note("recv", end.recv(10, 1 | DONTWAIT))


@case()
def udp_more(t):
    """MSG_MORE of UDP: what follows is part of the same datagram, until a send without it."""
    end, peer = t.dgram(), t.peer(socket.SOCK_DGRAM)
    peer.bind((t.PEER, t.port()))
    t.note("one", end.sendto(b"one ", (t.PEER, t.port()), MORE))
    t.note("two", end.sendto(b"two ", (t.PEER, t.port(1)), MORE))
    peer.settimeout(0.2)
    t.note("not yet", t.attempt(peer.recv, 100))
    t.note("poll", end.events(ALL))
    t.note("three", end.sendto(b"three", (t.PEER, t.port())))
    t.note("the peer", t.attempt(peer.recv, 100))
    t.note("nothing else", t.attempt(peer.recv, 100))
    end.connect((t.PEER, t.port()))
    t.note("connected", end.send(b"a", MORE))
    t.note("and", end.write(b"b"))
    t.note("the peer then", t.attempt(peer.recv, 100))


@case()
def udp_queue_after_shutdown(t):
    """UDP: what was queued before SHUT_RD is read still, then 0; DONTWAIT is EAGAIN."""
    end, peer = t.dgram(), t.peer(socket.SOCK_DGRAM)
    peer.bind((t.PEER, t.port(1)))
    end.bind((t.SUT, t.port()))
    end.connect((t.PEER, t.port(1)))
    peer.sendto(b"abc", (t.SUT, t.port()))
    end.events(POLLIN, 1000)
    t.note("shutdown", end.shutdown(socket.SHUT_RD))
    t.note("read", end.recv(10))
    t.note("end", end.recv(10))
    t.note("DONTWAIT", end.recv(10, DONTWAIT))
    peer.sendto(b"late", (t.SUT, t.port()))
    pause(0.1)
    t.note("late", end.recv(10))
    t.note("write", end.write(b"a"))


@case()
def udp_error_and_data(t):
    """UDP: an error is told before a datagram that came first; poll tells both."""
    end = t.dgram(O_NONBLOCK)
    end.bind((t.SUT, t.port()))
    end.connect((t.RAW, t.port(1)))
    t.raw.ip(packets.udp_packet(t.raw.addresses[t.family], packets.packed(t.SUT), t.port(1), t.port(), b"data"))
    end.write(b"a")
    p = t.raw.other()
    t.raw.icmp(p, *((3, 3) if t.family == 4 else (1, 4)))
    pause(0.1)
    t.note("poll", end.events(ALL))
    t.note("SIOCINQ", end.ioctl(SIOCINQ))
    t.note("recv", end.recv(10))
    t.note("recv again", end.recv(10))
    t.note("recv once more", end.recv(10))


@case()
def udp_zero_port(t):
    """A datagram from port 0 is read, and cannot be answered."""
    end = t.dgram()
    end.bind((t.SUT, t.port()))
    t.raw.ip(packets.udp_packet(t.raw.addresses[t.family], packets.packed(t.SUT), 0, t.port(), b"data"))
    end.set_time(socket.SO_RCVTIMEO, 0.5)
    t.note("recv", end.recvfrom(10))


@case((4,))
def udp_length_field(t):
    """A datagram whose UDP length is less than the packet's is cut to it; more is dropped."""
    end = t.dgram(O_NONBLOCK)
    end.bind((t.SUT, t.port()))
    mine, sut = t.raw.addresses[4], packets.packed(t.SUT)
    for label, length in (("less", 12), ("more", 40), ("less than a header", 7)):
        body = packets.udp_packet(mine, sut, 30000, t.port(), b"0123456789")[20:]
        body = body[:4] + length.to_bytes(2, "big") + b"\0\0" + body[8:]
        t.raw.ip(packets.ip_packet(mine, sut, packets.UDP, body))
        pause(0.1)
        t.note(label, end.recv(20))


@case((4,))
def udp_broadcast_in(t):
    """A broadcast datagram goes to each socket of the any address, and to none of one address."""
    ends = [t.dgram(O_NONBLOCK) for _ in range(3)]
    for end, host in zip(ends, (t.ANY, t.ANY, t.SUT)):
        end.setsockopt(SOL, socket.SO_REUSEADDR, 1)
        t.note("bind", end.bind((host, t.port())))
    peer = t.peer(socket.SOCK_DGRAM)
    peer.setsockopt(SOL, socket.SO_BROADCAST, 1)
    peer.sendto(b"all", ("10.98.255.255", t.port()))
    pause(0.1)
    t.note("recv", [end.recv(10) for end in ends])


@case()
def udp_same_message_to_two(t):
    """A UDP socket that is bound twice by SO_REUSEADDR: the last has all; when it is closed the first has."""
    one, two, peer = t.dgram(O_NONBLOCK), t.dgram(O_NONBLOCK), t.peer(socket.SOCK_DGRAM)
    for end in (one, two):
        end.setsockopt(SOL, socket.SO_REUSEADDR, 1)
        end.bind((t.SUT, t.port()))
    peer.sendto(b"a", (t.SUT, t.port()))
    pause(0.1)
    t.note("two", two.recv(10))
    two.close()
    peer.sendto(b"b", (t.SUT, t.port()))
    pause(0.1)
    t.note("one", one.recv(10))


@case()
def getsockopt_room(t):
    """getsockopt with no room at all, a byte, and too much; setsockopt with none."""
    end = t.stream()
    for level, option in ((SOL, socket.SO_ERROR), (SOL, socket.SO_RCVBUF), (SOL, socket.SO_LINGER), (TCP, socket.TCP_NODELAY),
                          (TCP, socket.TCP_INFO), (TCP, 13), (SOL, socket.SO_RCVTIMEO)):
        for room in (0, 1, 3, -1):
            got = end.getsockopt(level, option, room)
            t.note(f"{level} {option} {room}", got if isinstance(got, str) else len(got))
        t.note(f"{level} {option} set", end.setsockopt(level, option, b""))
        t.note(f"{level} {option} set 3", end.setsockopt(level, option, b"\1\0\0"))


@case()
def poll_many_changes(t):
    """A poll for one event is not ended by another."""
    end, conn = t.raw_accepted()
    later = t.start(end.events, POLLRDHUP, 1200)
    conn.send("PA", b"abc")
    t.note("data", later.blocked())
    conn.fin()
    t.note("poll", later.result())
