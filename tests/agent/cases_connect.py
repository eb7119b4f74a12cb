"""Opening a connection: how connect ends, blocking and not, and what the peer sees of it."""
import socket

from bench import case, pause
from names import O_NONBLOCK
from sut import POLLIN, POLLOUT, POLLRDHUP

UNREACHABLE = {4: (3, 1), 6: (1, 3)}  # type and code: host, address
TCP_SYNCNT = socket.TCP_SYNCNT


@case()
def established(t):
    """A connect to a listener returns 0; bytes go both ways."""
    listener = t.peer_listener()
    end = t.stream()
    t.note("connect", end.connect((t.PEER, t.port())))
    peer, where = listener.accept()
    t.note("the peer sees", t.who(where[:2]))
    t.note("write", end.write(b"abc"))
    t.note("the peer reads", peer.recv(10))
    peer.sendall(b"defg")
    t.note("read", end.read(10))
    t.note("SO_ERROR", end.error())
    t.note("state", end.state())


@case()
def refused(t):
    """A connect to a port nobody listens on fails with ECONNREFUSED; SO_ERROR is clear after it."""
    end = t.stream()
    t.note("connect", end.connect((t.PEER, t.port())))
    t.note("SO_ERROR", end.error())
    t.note("state", end.state())
    t.note("read", end.read(10))
    t.note("write", end.write(b"a"))


@case()
def refused_then_again(t):
    """After ECONNREFUSED the same socket may connect again."""
    end = t.stream()
    t.note("first", end.connect((t.PEER, t.port())))
    listener = t.peer_listener()
    t.note("second", end.connect((t.PEER, t.port())))
    peer = listener.accept()[0]
    end.write(b"again")
    t.note("the peer reads", peer.recv(10))


@case()
def nonblocking(t):
    """A non-blocking connect returns EINPROGRESS; POLLOUT tells its end, SO_ERROR that it went well."""
    listener = t.peer_listener()
    end = t.stream(O_NONBLOCK)
    t.note("connect", end.connect((t.PEER, t.port())))
    t.note("poll", end.events(POLLIN | POLLOUT, 2000))
    t.note("SO_ERROR", end.error())
    t.note("connect again", end.connect((t.PEER, t.port())))
    t.note("and again", end.connect((t.PEER, t.port())))
    listener.accept()


@case()
def nonblocking_refused(t):
    """A refused non-blocking connect: POLLERR and POLLHUP, SO_ERROR ECONNREFUSED once, then 0."""
    end = t.stream(O_NONBLOCK)
    t.note("connect", end.connect((t.PEER, t.port())))
    t.note("poll", end.events(POLLIN | POLLOUT | POLLRDHUP, 2000))
    t.note("SO_ERROR", end.error())
    t.note("SO_ERROR again", end.error())
    t.note("poll again", end.events(POLLIN | POLLOUT | POLLRDHUP, 0))
    t.note("read", end.read(10))


@case()
def nonblocking_refused_read(t):
    """A refused non-blocking connect whose error a read takes: ECONNREFUSED, then end of file."""
    end = t.stream(O_NONBLOCK)
    end.connect((t.PEER, t.port()))
    end.events(POLLOUT, 2000)
    t.note("read", end.read(10))
    t.note("read again", end.read(10))
    t.note("SO_ERROR", end.error())


@case()
def nonblocking_refused_connect(t):
    """A refused non-blocking connect whose error the next connect takes; a third tries anew."""
    end = t.stream(O_NONBLOCK)
    end.connect((t.PEER, t.port()))
    end.events(POLLOUT, 2000)
    t.note("second", end.connect((t.PEER, t.port())))
    t.note("third", end.connect((t.PEER, t.port())))


@case()
def in_progress(t):
    """While a handshake has no answer: EALREADY for a second connect, EAGAIN for read and write, no events."""
    t.raw
    end = t.stream(O_NONBLOCK)
    t.note("connect", end.connect((t.RAW, t.port())))
    t.raw.syn()
    t.note("connect again", end.connect((t.RAW, t.port())))
    t.note("read", end.read(10))
    t.note("write", end.write(b"a"))
    t.note("poll", end.events(POLLIN | POLLOUT | POLLRDHUP, 0))
    t.note("state", end.state())
    t.note("SO_ERROR", end.error())
    t.note("shutdown", end.shutdown(socket.SHUT_WR))


@case()
def is_connected(t):
    """A connect on an established connection: EISCONN."""
    end, _ = t.opened()
    t.note("same address", end.connect((t.PEER, t.port())))
    t.note("another", end.connect((t.PEER, t.port(1))))


@case()
def no_answer(t):
    """Without an answer connect ends with ETIMEDOUT after TCP_SYNCNT retransmissions, at 1, 2, 4 seconds apart."""
    t.raw
    end = t.stream()
    t.note("TCP_SYNCNT", end.setsockopt(socket.IPPROTO_TCP, TCP_SYNCNT, 1))
    later = t.start(end.connect, (t.RAW, t.port()))
    conn = t.raw.syn()
    again = conn.all(3.5)
    t.note("SYNs", 1 + len(again))
    t.note("the same", all(p.seq == conn.irs and p.options.keys() == conn.first.options.keys() for p in again))
    t.note("connect", later.result(1))
    t.note_time("after", later.seconds, 2.5, 3.6)
    t.note("SO_ERROR", end.error())


@case()
def send_timeout(t):
    """SO_SNDTIMEO bounds connect: EINPROGRESS, and the handshake goes on."""
    t.raw
    end = t.stream()
    end.set_time(socket.SO_SNDTIMEO, 0.4)
    later = t.start(end.connect, (t.RAW, t.port()))
    conn = t.raw.syn()
    t.note("connect", later.result())
    t.note_time("after", later.seconds, 0.3, 0.8)
    t.note("state", end.state())
    conn.synack()
    t.note("the handshake ends", conn.told(conn.expect("A")))
    t.note("state then", end.state())
    t.note("connect then", end.connect((t.RAW, t.port())))


@case()
def user_timeout(t):
    """TCP_USER_TIMEOUT bounds a handshake without an answer: ETIMEDOUT."""
    t.raw
    end = t.stream()
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1500)
    later = t.start(end.connect, (t.RAW, t.port()))
    t.raw.syn()
    t.note("connect", later.result())
    t.note_time("after", later.seconds, 1.2, 3.6)


@case()
def reset_in_handshake(t):
    """A RST that acknowledges the SYN: ECONNREFUSED; one with another acknowledgment is ignored."""
    t.raw
    end = t.stream()
    later = t.start(end.connect, (t.RAW, t.port()))
    conn = t.raw.syn()
    conn.send("RA", seq=0, ack=conn.rcv_nxt + 1)
    t.note("blocked by a wrong one", later.blocked())
    conn.send("R", seq=0)
    t.note("blocked by one without an ACK", later.blocked())
    conn.send("RA", seq=0)
    t.note("connect", later.result())


@case()
def wrong_ack(t):
    """A SYN-ACK that acknowledges something else is answered by a RST of that number, and ignored."""
    t.raw
    end = t.stream()
    later = t.start(end.connect, (t.RAW, t.port()))
    conn = t.raw.syn()
    wrong = conn.rcv_nxt + 100 & 0xFFFFFFFF
    conn.send("SA", seq=conn.iss, ack=wrong)
    p = conn.expect("R")
    t.note("answer", p)
    t.note("its number", p is not None and p.seq == wrong)
    t.note("still blocked", later.blocked())
    conn.synack()
    t.note("then", later.result())


@case()
def icmp_while_blocked(t):
    """ICMP host unreachable amid a blocking handshake ends it at once with EHOSTUNREACH; SO_ERROR is clear after it."""
    t.raw
    end = t.stream()
    later = t.start(end.connect, (t.RAW, t.port()))
    conn = t.raw.syn()
    t.raw.icmp(conn.first, *UNREACHABLE[t.family])
    t.note("connect", later.result(2))
    t.note("SO_ERROR", end.error())
    conn.synack()
    t.note("a late SYN-ACK", conn.told(conn.expect()))


@case((4,))
def icmp_each_code(t):
    """What each code of ICMP destination unreachable does to a handshake: ended at once or not, and the errno."""
    for code in (0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15):
        end = t.stream(O_NONBLOCK)
        t.raw
        end.connect((t.RAW, t.port()))
        conn = t.raw.syn()
        t.raw.icmp(conn.first, 3, code)
        pause(0.1)
        t.note(f"code {code}: poll", end.events(POLLIN | POLLOUT | POLLRDHUP, 0))
        t.note(f"code {code}: SO_ERROR", end.error())
        t.note(f"code {code}: state", end.state())
        end.close()


@case((6,))
def icmp6_each_code(t):
    """What each code of ICMPv6 destination unreachable does to a handshake."""
    for code in range(8):
        end = t.stream(O_NONBLOCK)
        t.raw
        end.connect((t.RAW, t.port()))
        conn = t.raw.syn()
        t.raw.icmp(conn.first, 1, code)
        pause(0.1)
        t.note(f"code {code}: poll", end.events(POLLIN | POLLOUT | POLLRDHUP, 0))
        t.note(f"code {code}: SO_ERROR", end.error())
        t.note(f"code {code}: state", end.state())
        end.close()


@case()
def icmp_other_kinds(t):
    """Time exceeded and parameter problem amid a handshake."""
    kinds = ((11, 0), (11, 1), (12, 0), (4, 0)) if t.family == 4 else ((3, 0), (3, 1), (4, 0), (4, 1), (4, 2))
    for kind, code in kinds:
        end = t.stream(O_NONBLOCK)
        t.raw
        end.connect((t.RAW, t.port()))
        conn = t.raw.syn()
        t.raw.icmp(conn.first, kind, code)
        pause(0.1)
        t.note(f"{kind}/{code}: poll", end.events(POLLIN | POLLOUT | POLLRDHUP, 0))
        t.note(f"{kind}/{code}: SO_ERROR", end.error())
        t.note(f"{kind}/{code}: state", end.state())
        end.close()


@case()
def icmp_wrong_number(t):
    """An ICMP error that quotes a sequence number not in flight ends no handshake."""
    t.raw
    end = t.stream(O_NONBLOCK)
    end.connect((t.RAW, t.port()))
    conn = t.raw.syn()
    at = 24 if t.family == 4 else 44
    first = conn.first
    first.ip = first.ip[:at] + bytes(b ^ 0x55 for b in first.ip[at:at + 4]) + first.ip[at + 4:]
    t.raw.icmp(first, *{4: (3, 3), 6: (1, 4)}[t.family])
    pause()
    t.note("poll", end.events(POLLIN | POLLOUT, 0))
    t.note("SO_ERROR", end.error())
    conn.synack()
    t.note("poll then", end.events(POLLIN | POLLOUT, 2000))


@case(timeout_s=20)
def nobody_there(t):
    """An address on the link that does not answer neighbor requests: EHOSTUNREACH."""
    end = t.stream()
    later = t.start(end.connect, (t.NOBODY, t.port()))
    t.note("connect", later.result(8))
    t.note_time("after", later.seconds, 1.5, 5)
    t.note("SO_ERROR", end.error())


@case()
def no_route(t):
    """An address without a route: ENETUNREACH at once."""
    end = t.stream()
    t.timed("connect", 0, 0.3, end.connect, (t.FAR, t.port()))
    t.note("state", end.state())
    t.note("UDP connect", t.dgram().connect((t.FAR, t.port())))
    t.note("UDP sendto", t.dgram().sendto(b"a", (t.FAR, t.port())))


@case()
def from_bound(t):
    """A bound socket connects from its address and port."""
    listener = t.peer_listener()
    end = t.stream()
    t.note("bind", end.bind((t.SUT2, t.port(1))))
    t.note("connect", end.connect((t.PEER, t.port())))
    t.note("the peer sees", t.who(listener.accept()[1][:2]))


@case()
def same_tuple(t):
    """Two sockets of one bound port cannot connect to one destination: EADDRNOTAVAIL; to another they can."""
    first, second = t.peer_listener(0), t.peer_listener(1)
    one, two = t.stream(), t.stream()
    for end in (one, two):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        t.note("bind", end.bind((t.SUT, t.port(2))))
    t.note("first", one.connect((t.PEER, t.port(0))))
    t.note("the same", two.connect((t.PEER, t.port(0))))
    t.note("another", two.connect((t.PEER, t.port(1))))
    first.accept(), second.accept()


@case()
def wrong_addresses(t):
    """A connect with too short an address: EINVAL; an IPv6 address on an IPv4 socket: EAFNOSUPPORT."""
    end = t.stream()
    t.note("short", end.connect(b"\x02\0\0\x07"))
    t.note("two bytes", end.connect(b"\x02\0"))
    t.note("one byte", end.connect(b"\x02"))
    other = ("fd98::2" if t.family == 4 else "10.98.0.2", t.port())
    t.note("the other family", end.connect(other))
    t.note("unknown family", end.connect(b"\x63\0" + bytes(26)))
    t.note("UDP short", t.dgram().connect(b"\x02\0\0\x07"))


@case()
def port_zero(t):
    """A connect to port 0 is refused by the peer."""
    end = t.stream()
    t.note("connect", end.connect((t.PEER, 0)))


@case()
def multicast(t):
    """TCP to a multicast address: ENETUNREACH; to the broadcast address alike."""
    end = t.stream()
    t.note("multicast", end.connect(("224.0.0.5" if t.family == 4 else "ff02::5", t.port())))
    if t.family == 4:
        t.note("broadcast", end.connect(("255.255.255.255", t.port())))
        t.note("the network's", end.connect(("10.98.255.255", t.port())))


@case()
def unspecified(t):
    """A connect of an unconnected socket to AF_UNSPEC succeeds and does nothing."""
    end = t.stream()
    t.note("fresh", end.connect(bytes(16)))
    t.note("state", end.state())


@case()
def dissolve(t):
    """A connect to AF_UNSPEC aborts an established connection, and the socket can connect again."""
    end, conn = t.raw_opened()
    t.note("unspec", end.connect(bytes(16)))
    t.note("the peer sees", conn.told(conn.expect()))
    t.note("state", end.state())
    listener = t.peer_listener(1)
    t.note("connect", end.connect((t.PEER, t.port(1))))
    listener.accept()


@case()
def simultaneous_open(t):
    """Two SYNs that cross: SYN-ACK is answered, and the connection is established."""
    t.raw
    end = t.stream()
    later = t.start(end.connect, (t.RAW, t.port()))
    conn = t.raw.syn()
    conn.send("S", options=b"\x02\x04\x05\xb4")
    t.note("answer", conn.told(conn.expect("SA")))
    conn.ack()
    t.note("connect", later.result())
    t.note("state", end.state())
    conn.send("PA", b"hello")
    t.note("read", end.read(10))


@case()
def simultaneous_open_poll(t):
    """SYN-RECEIVED by crossed SYNs is not yet connected: no events."""
    t.raw
    end = t.stream(O_NONBLOCK)
    end.connect((t.RAW, t.port()))
    conn = t.raw.syn()
    conn.send("S", options=b"\x02\x04\x05\xb4")
    conn.expect("SA")
    t.note("poll", end.events(POLLIN | POLLOUT | POLLRDHUP, 0))
    t.note("state", end.state())
    conn.ack()
    t.note("poll then", end.events(POLLIN | POLLOUT | POLLRDHUP, 2000))


@case()
def closed_while_connecting(t):
    """A close amid a handshake sends nothing; the SYN-ACK that comes later is reset."""
    t.raw
    end = t.stream(O_NONBLOCK)
    end.connect((t.RAW, t.port()))
    conn = t.raw.syn()
    t.note("close", end.close())
    t.note("quiet", [str(p) for p in conn.all(0.3)])
    conn.synack()
    t.note("answer", conn.told(conn.expect("R")))


@case()
def shutdown_while_blocked(t):
    """A shutdown of both ways amid a blocking connect ends it."""
    t.raw
    end = t.stream()
    later = t.start(end.connect, (t.RAW, t.port()))
    t.raw.syn()
    t.note("shutdown", end.shutdown(socket.SHUT_RDWR))
    t.note("connect", later.result(2))
    t.note("state", end.state())


@case()
def data_in_handshake(t):
    """Data that comes with the SYN-ACK is not lost when it is sent again."""
    t.raw
    end = t.stream()
    later = t.start(end.connect, (t.RAW, t.port()))
    conn = t.raw.syn()
    conn.synack()
    conn.send("PA", b"early")
    t.note("connect", later.result())
    t.note("read", end.read(10))


@case()
def synack_twice(t):
    """A SYN-ACK that comes again after the handshake is answered by an ACK."""
    end, conn = t.raw_opened()
    conn.send("SA", seq=conn.iss)
    t.note("answer", conn.told(conn.expect("A")))
    conn.send("PA", b"on")
    t.note("read", end.read(10))


@case()
def syn_options(t):
    """A SYN carries MSS, window scale, SACK permitted and timestamps, TTL 64 and DF."""
    t.raw
    end = t.stream(O_NONBLOCK)
    end.connect((t.RAW, t.port()))
    p = t.raw.syn().first
    t.note("options", sorted(p.options))
    t.note("MSS", int.from_bytes(p.options.get(2, b""), "big"))
    t.note("TTL", p.ttl)
    t.note("TOS", p.tos)
    if t.family == 4:
        t.note("DF", p.dont_fragment)


@case()
def bound_elsewhere(t):
    """A socket bound to one family's any address connects from the route's address."""
    listener = t.peer_listener()
    end = t.stream()
    t.note("bind", end.bind((t.ANY, t.port(1))))
    t.note("connect", end.connect((t.PEER, t.port())))
    t.note("the peer sees", t.who(listener.accept()[1][:2]))


@case()
def no_syn_retries_option(t):
    """TCP_SYNCNT takes 1 to 127, others are EINVAL."""
    end = t.stream()
    for value in (0, 1, 127, 128, -1):
        t.note(str(value), end.setsockopt(socket.IPPROTO_TCP, TCP_SYNCNT, value))
        t.note(f"after {value}", end.get(socket.IPPROTO_TCP, TCP_SYNCNT))


@case()
def out_of_listener(t):
    """A connect of a listening socket: EISCONN, and it goes on listening."""
    listener = t.listener()
    t.note("connect", listener.connect((t.PEER, t.port(1))))
    t.note("state", listener.state())
