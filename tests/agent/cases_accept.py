"""Listeners: accept, the queue, its overflow, connections that end before they are accepted."""
import socket
import struct

from bench import case, pause
from names import F_GETFL, O_NONBLOCK
from sut import POLLIN, POLLOUT, POLLRDHUP

TCP, SOL = socket.IPPROTO_TCP, socket.SOL_SOCKET
MSS = b"\x02\x04\x05\xb4"


@case()
def in_order(t):
    """Connections are accepted in the order of their handshakes, with the peer's address."""
    listener = t.listener()
    for i in (1, 2, 3):
        peer = t.peer()
        peer.bind((t.PEER, t.port(i)))
        peer.connect((t.SUT, t.port()))
        t.peers.append(peer)
    for _ in range(3):
        t.note("accept", listener.accept()[1])


@case()
def blocks(t):
    """Accept blocks until a handshake is over."""
    listener = t.listener()
    later = t.start(listener.accept)
    t.note("blocked", later.blocked())
    peer = t.peer()
    peer.connect((t.SUT, t.port()))
    t.note("accept", later.result()[0])


@case()
def nonblocking(t):
    """A non-blocking accept of an empty queue: EAGAIN; the accepted socket does not inherit O_NONBLOCK."""
    listener = t.listener()
    listener.nonblocking()
    t.note("empty", listener.accept())
    peer = t.peer()
    peer.connect((t.SUT, t.port()))
    t.note("poll", listener.events(POLLIN | POLLOUT, 2000))
    end = listener.accept()[0]
    t.note("flags", oct(end.fcntl(F_GETFL)))
    t.note("poll then", listener.events(POLLIN | POLLOUT, 0))


@case()
def receive_timeout(t):
    """SO_RCVTIMEO bounds accept: EAGAIN."""
    listener = t.listener()
    listener.set_time(socket.SO_RCVTIMEO, 0.3)
    t.timed("accept", 0.25, 0.8, listener.accept)


@case()
def two_waiters(t):
    """Two blocked accepts get one connection each."""
    listener = t.listener()
    one, two = t.start(listener.accept), t.start(listener.accept)
    pause(0.1)
    peers = [t.peer(), t.peer()]
    for i, p in enumerate(peers):
        p.connect((t.SUT, t.port()))
        p.sendall(b"%d" % i)
    t.note("read", sorted((one.result()[0].read(9), two.result()[0].read(9))))


@case()
def inherited(t):
    """Options of the listener are those of what it accepts."""
    listener = t.stream()
    wanted = ((SOL, socket.SO_KEEPALIVE, 1), (TCP, socket.TCP_NODELAY, 1), (TCP, socket.TCP_KEEPIDLE, 77),
              (TCP, socket.TCP_KEEPINTVL, 7), (TCP, socket.TCP_KEEPCNT, 3), (TCP, socket.TCP_USER_TIMEOUT, 4321),
              (TCP, socket.TCP_LINGER2, 5), (SOL, socket.SO_RCVLOWAT, 3), (SOL, socket.SO_REUSEADDR, 1),
              (t.level, socket.IP_TTL if t.family == 4 else socket.IPV6_UNICAST_HOPS, 44))
    for level, option, value in wanted:
        t.note(f"set {level}/{option}", listener.setsockopt(level, option, value))
    listener.linger(1, 9)
    listener.set_time(socket.SO_RCVTIMEO, 3)
    listener.bind((t.SUT, t.port()))
    listener.listen(1)
    peer = t.peer()
    peer.connect((t.SUT, t.port()))
    end = listener.accept()[0]
    for level, option, _ in wanted:
        t.note(f"get {level}/{option}", end.get(level, option))
    t.note("linger", end.getsockopt(SOL, socket.SO_LINGER, 8))
    t.note("timeout", end.getsockopt(SOL, socket.SO_RCVTIMEO, 16))


@case()
def not_inherited_late(t):
    """An option set on the listener after a handshake does not reach the connection in the queue."""
    listener = t.listener()
    peer = t.peer()
    peer.connect((t.SUT, t.port()))
    listener.events(POLLIN, 2000)
    listener.setsockopt(TCP, socket.TCP_KEEPIDLE, 77)
    t.note("get", listener.accept()[0].get(TCP, socket.TCP_KEEPIDLE))


@case()
def data_before(t):
    """Data that arrives before the accept waits for it, with the FIN."""
    listener = t.listener()
    peer = t.peer()
    peer.connect((t.SUT, t.port()))
    peer.sendall(b"early")
    peer.shutdown(socket.SHUT_WR)
    pause()
    end = listener.accept()[0]
    t.note("state", end.state())
    t.note("read", end.read(10))
    t.note("end", end.read(10))


@case()
def reset_before(t):
    """A connection that is reset before the accept is still accepted; read: ECONNRESET, then 0."""
    listener = t.listener()
    conn = t.raw.connect(t.SUT, 30000, t.port())
    pause(0.1)
    conn.rst()
    pause()
    t.note("poll", listener.events(POLLIN, 0))
    end, where = listener.accept()
    t.note("from", where)
    t.note("poll accepted", end.events(POLLIN | POLLOUT | POLLRDHUP, 0))
    t.note("state", end.state())
    t.note("read", end.read(10))
    t.note("again", end.read(10))
    t.note("write", end.write(b"a"))


@case()
def reset_before_error(t):
    """A connection that is reset before the accept: SO_ERROR tells ECONNRESET once; then write EPIPE."""
    listener = t.listener()
    conn = t.raw.connect(t.SUT, 30000, t.port())
    pause(0.1)
    conn.rst()
    pause()
    end = listener.accept()[0]
    t.note("SO_ERROR", end.error())
    t.note("SO_ERROR again", end.error())
    t.note("write", end.write(b"a"))
    t.note("read", end.read(1))


@case()
def data_and_reset_before(t):
    """Data, then a RST, before the accept: the data is read first, then ECONNRESET."""
    listener = t.listener()
    conn = t.raw.connect(t.SUT, 30000, t.port())
    conn.send("PA", b"data")
    pause(0.1)
    conn.rst()
    pause()
    end = listener.accept()[0]
    t.note("SIOCINQ", end.ioctl(0x541B))
    t.note("read", end.read(10))
    t.note("again", end.read(10))


@case()
def fin_before(t):
    """A peer's FIN before the accept: CLOSE-WAIT; writing is still possible."""
    listener = t.listener()
    conn = t.raw.connect(t.SUT, 30000, t.port())
    conn.fin()
    pause()
    end = listener.accept()[0]
    t.note("state", end.state())
    t.note("poll", end.events(POLLIN | POLLOUT | POLLRDHUP, 0))
    t.note("read", end.read(1))
    t.note("write", end.write(b"abc"))
    t.note("the peer sees", conn.told(conn.expect("A", data=True)))


@case()
def reset_half_open(t):
    """A RST in SYN-RECEIVED removes the half-open connection; nothing is to accept."""
    listener = t.listener()
    listener.nonblocking()
    conn = t.raw.opener(t.SUT, 30000, t.port())
    t.note("SYN-ACK", conn.told(conn.open()))
    conn.rst()
    pause(0.1)
    t.note("accept", listener.accept())
    conn.send("A")
    t.note("an ACK after it", str(conn.expect("R")))


@case()
def half_open_is_nothing(t):
    """A half-open connection is not to accept; its SYN-ACK is sent again after a second."""
    listener = t.listener()
    listener.nonblocking()
    conn = t.raw.opener(t.SUT, 30000, t.port())
    first = conn.open()
    t.note("accept", listener.accept())
    t.note("poll", listener.events(POLLIN, 0))
    again = conn.expect("SA", 2)
    t.note("again", again is not None and again.seq == first.seq)
    t.note_time("after", again.at - first.at if again else None, 0.8, 1.5)
    conn.ack()
    t.note("poll then", listener.events(POLLIN, 2000))


@case()
def syn_twice(t):
    """A SYN sent again is answered by the same SYN-ACK."""
    t.listener()
    conn = t.raw.opener(t.SUT, 30000, t.port())
    first = conn.open()
    conn.send("S", seq=conn.iss, options=MSS)
    again = conn.expect("SA", 0.7)
    t.note("the same", again is not None and (again.seq, again.ack) == (first.seq, first.ack))


@case()
def wrong_ack_half_open(t):
    """An ACK of something else in SYN-RECEIVED is answered by a RST with its number; the half-open one stays."""
    listener = t.listener()
    conn = t.raw.opener(t.SUT, 30000, t.port())
    conn.open()
    conn.send("A", ack=conn.rcv_nxt + 1000)
    p = conn.expect("R", 1)
    t.note("answer", p)
    t.note("its number", p is not None and p.seq == conn.rcv_nxt + 1000 & 0xFFFFFFFF)
    conn.ack()
    t.note("poll", listener.events(POLLIN, 2000))


@case()
def handshake_with_data(t):
    """The ACK of the handshake may carry data, and FIN too."""
    listener = t.listener()
    conn = t.raw.opener(t.SUT, 30000, t.port())
    conn.open()
    conn.fin(b"all")
    end = listener.accept()[0]
    t.note("read", end.read(10))
    t.note("end", end.read(10))
    t.note("the peer sees", conn.told(conn.expect("A", 1)))


@case()
def backlog_full(t):
    """With a backlog of 1 two handshakes go through; a further SYN is dropped until there is room."""
    listener = t.listener(backlog=1)
    one, two = (t.raw.connect(t.SUT, 30000 + i, t.port()) for i in range(2))
    pause(0.1)
    third = t.raw.opener(t.SUT, 30002, t.port())
    t.note("third", third.told(third.open(wait_s=0.5)))
    listener.accept()
    third.send("S", seq=third.iss, options=MSS)
    t.note("after an accept", str(third.expect("SA", 1)))


@case()
def backlog_zero(t):
    """With a backlog of 0 one handshake goes through."""
    t.listener(backlog=0)
    t.raw.connect(t.SUT, 30000, t.port())
    pause(0.1)
    second = t.raw.opener(t.SUT, 30001, t.port())
    t.note("second", second.told(second.open(wait_s=0.5)))


@case()
def last_ack_of_full(t):
    """The last ACK of a handshake that finds the queue full is dropped, and the SYN-ACK sent again until there is room."""
    listener = t.listener(backlog=1)
    t.raw.connect(t.SUT, 30000, t.port())
    two, three = (t.raw.opener(t.SUT, 30001 + i, t.port()) for i in range(2))
    t.note("SYN-ACKs", [str(c.open(wait_s=1)) for c in (two, three)])
    two.ack()
    pause(0.1)
    three.ack()
    pause(0.1)
    three.send("PA", b"data", seq=three.snd_nxt)
    t.note("data", [str(p) for p in three.all(0.3)])
    t.note("accept first", listener.accept()[1])
    t.note("SYN-ACK again", str(three.expect("SA", 3)))
    three.send("PA", b"data")
    listener.accept()
    t.note("accept third", listener.events(POLLIN, 3000))
    t.note("read", listener.accept()[0].read(10))


@case()
def closed_listener(t):
    """Closing a listener resets what is in its queue; a later SYN is refused."""
    listener = t.listener()
    conn = t.raw.connect(t.SUT, 30000, t.port())
    pause(0.1)
    t.note("close", listener.close())
    t.note("queued", conn.told(conn.expect()))
    later = t.raw.opener(t.SUT, 30001, t.port())
    later.send("S", options=MSS)
    t.note("a SYN", str(later.expect("RA", 1)))


@case()
def closed_listener_half_open(t):
    """A half-open connection whose listener is closed: its ACK is answered by a RST."""
    listener = t.listener()
    conn = t.raw.opener(t.SUT, 30000, t.port())
    conn.open()
    listener.close()
    t.note("quiet", [str(p) for p in conn.all(0.3)])
    conn.ack()
    t.note("its ACK", conn.told(conn.expect("R", 1)))


@case()
def close_while_blocked(t):
    """A shutdown of a listener ends a blocked accept with EINVAL; accepts after it too."""
    listener = t.listener()
    later = t.start(listener.accept)
    t.note("blocked", later.blocked())
    t.note("shutdown", listener.shutdown(socket.SHUT_RD))
    t.note("accept", later.result(2))
    t.note("after", listener.accept())
    t.note("state", listener.state())
    t.note("poll", listener.events(POLLIN | POLLOUT | POLLRDHUP, 0))
    t.note("listen again", listener.listen(1))


@case()
def accepts_survive(t):
    """Accepted connections outlive their listener."""
    end, peer = t.accepted()
    peer.sendall(b"still")
    t.note("read", end.read(10))
    end.write(b"here")
    t.note("the peer reads", peer.recv(10))


@case()
def listeners_by_address(t):
    """A SYN goes to the listener of its address, else to that of any address."""
    one, rest = t.listener(host=t.SUT2), t.stream()
    rest.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    t.note("any beside one", rest.bind((t.ANY, t.port())))
    t.note("any on another port", rest.bind((t.ANY, t.port(1))))
    rest.listen(4)
    for end in (one, rest):
        end.nonblocking()
    peer = t.peer()
    peer.connect((t.SUT2, t.port()))
    one.events(POLLIN, 1000)
    t.note("to its address", one.accept()[0])
    t.note("to another", t.attempt(t.peer().connect, (t.SUT, t.port())))
    peer2 = t.peer()
    peer2.connect((t.SUT2, t.port(1)))
    rest.events(POLLIN, 1000)
    t.note("to any", rest.accept()[0])


@case()
def closed_port(t):
    """A SYN to a port without a listener: RST that acknowledges it, with number 0."""
    conn = t.raw.opener(t.SUT, 30000, t.port())
    conn.send("S", options=MSS)
    p = conn.expect()
    t.note("answer", str(p))
    t.note("numbers", (p.seq, p.ack - conn.iss & 0xFFFFFFFF) if p else None)
    t.note("window", p.window if p else None)
    conn.send("A", seq=1000, ack=2000)
    p = conn.expect()
    t.note("to an ACK", (str(p), p.seq) if p else None)
    conn.send("FA", seq=1000, ack=2000)
    p = conn.expect()
    t.note("to a FIN", (str(p), p.seq) if p else None)
    conn.send("R", seq=1000)
    t.note("to a RST", [str(p) for p in conn.all(0.3)])


@case()
def defer(t):
    """TCP_DEFER_ACCEPT: a connection without data is not to accept; with data it is."""
    listener = t.stream()
    t.note("set", listener.setsockopt(TCP, socket.TCP_DEFER_ACCEPT, 3))
    t.note("get", listener.get(TCP, socket.TCP_DEFER_ACCEPT))
    listener.bind((t.SUT, t.port()))
    listener.listen(4)
    conn = t.raw.connect(t.SUT, 30000, t.port())
    t.note("without data", listener.events(POLLIN, 300))
    conn.send("PA", b"request")
    t.note("with data", listener.events(POLLIN, 1000))
    t.note("read", listener.accept()[0].read(20))


@case()
def defer_runs_out(t):
    """TCP_DEFER_ACCEPT of a second: the SYN-ACK is sent again, and the ACK after it is enough."""
    listener = t.stream()
    listener.setsockopt(TCP, socket.TCP_DEFER_ACCEPT, 1)
    t.note("get", listener.get(TCP, socket.TCP_DEFER_ACCEPT))
    listener.bind((t.SUT, t.port()))
    listener.listen(4)
    conn = t.raw.connect(t.SUT, 30000, t.port())
    t.note("at first", listener.events(POLLIN, 300))
    t.note("SYN-ACK again", str(conn.expect("SA", 3)))
    conn.ack()
    t.note("then", listener.events(POLLIN, 1500))


@case()
def accept_on_connected(t):
    """Accept of a connected socket: EINVAL; of UDP: EOPNOTSUPP."""
    end, _ = t.opened()
    t.note("TCP", end.accept())
    t.note("UDP", t.dgram().accept())


@case()
def listener_info(t):
    """TCP_INFO of a listener tells the queue's length and limit; SO_ACCEPTCONN is 1."""
    listener = t.listener(backlog=5)
    peers = [t.peer() for _ in range(3)]
    for p in peers:
        p.connect((t.SUT, t.port()))
    pause(0.1)
    info = listener.info()
    unacked, sacked = struct.unpack_from("II", info, 24)
    t.note("waiting and limit", (unacked, sacked))
    t.note("SO_ACCEPTCONN", listener.get(SOL, socket.SO_ACCEPTCONN))
    t.note("of a connection", listener.accept()[0].get(SOL, socket.SO_ACCEPTCONN))


@case()
def peer_aborts_in_queue_order(t):
    """Of three queued connections the reset one keeps its place."""
    listener = t.listener()
    conns = [t.raw.connect(t.SUT, 30000 + i, t.port()) for i in range(3)]
    pause(0.1)
    conns[1].rst()
    pause(0.1)
    for conn in (conns[0], conns[2]):
        conn.send("PA", b"x")
    pause(0.1)
    for i in range(3):
        t.note(f"{i}", listener.accept()[0].read(1))
