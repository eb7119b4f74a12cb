"""shutdown against what is blocked, read, written and polled."""
import socket

from bench import case, pattern, pause
from names import O_NONBLOCK
from sut import POLLIN, POLLOUT, POLLRDHUP

RD, WR, RDWR = socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR
ALL = POLLIN | POLLOUT | POLLRDHUP


@case()
def write_side(t):
    """SHUT_WR sends FIN; reading goes on; writing is EPIPE."""
    end, conn = t.raw_accepted()
    t.note("shutdown", end.shutdown(WR))
    t.note("FIN", conn.told(conn.expect("FA")))
    conn.ack()
    t.note("write", end.write(b"a"))
    t.note("send of nothing", end.send(b""))
    t.note("poll", end.events(ALL))
    conn.send("PA", b"still")
    t.note("read", end.read(10))
    t.note("again", end.shutdown(WR))


@case()
def write_side_nothing_more(t):
    """A second SHUT_WR sends nothing."""
    end, conn = t.raw_accepted()
    end.shutdown(WR)
    conn.expect("FA")
    conn.ack()
    t.note("again", end.shutdown(WR))
    t.note("the peer sees", [str(p) for p in conn.all(0.3)])


@case()
def read_side(t):
    """SHUT_RD sends nothing; read returns 0 at once; data that comes can still be read."""
    end, conn = t.raw_accepted()
    t.note("shutdown", end.shutdown(RD))
    t.note("the peer sees", [str(p) for p in conn.all(0.2)])
    t.note("poll", end.events(ALL))
    t.note("read", end.read(10))
    conn.send("PA", b"more")
    t.note("ACK", conn.told(conn.expect("A")))
    t.note("read then", end.read(10))
    t.note("and then", end.read(10))
    t.note("write", end.write(b"a"))


@case()
def read_side_with_data(t):
    """SHUT_RD leaves what had arrived to be read."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"before")
    end.events(POLLIN, 1000)
    end.shutdown(RD)
    t.note("read", end.read(10))
    t.note("then", end.read(10))


@case()
def read_side_then_close(t):
    """A close with data that came after SHUT_RD and was not read resets."""
    end, conn = t.raw_accepted()
    end.shutdown(RD)
    conn.send("PA", b"unread")
    conn.expect("A")
    end.close()
    t.note("the peer sees", conn.told(conn.expect()))


@case()
def both(t):
    """SHUT_RDWR: FIN, read 0, write EPIPE, POLLHUP not before the peer's FIN."""
    end, conn = t.raw_accepted()
    t.note("shutdown", end.shutdown(RDWR))
    t.note("FIN", conn.told(conn.expect("FA")))
    conn.ack()
    t.note("poll", end.events(ALL))
    t.note("read", end.read(1))
    t.note("write", end.write(b"a"))
    conn.fin()
    pause(0.1)
    t.note("poll then", end.events(ALL))
    t.note("state", end.state())


@case()
def both_then_data(t):
    """SHUT_RDWR, and data comes: a reset, which is told."""
    for acked in (False, True):
        end, conn = t.raw_accepted(int(acked))
        end.shutdown(RDWR)
        conn.expect("FA")
        if acked:
            conn.ack()
        conn.send("PA", b"late")
        t.note("the peer gets", conn.told(conn.expect("R")))
        pause(0.1)
        t.note("poll", end.events(ALL))
        t.note("read", end.read(10))
        t.note("again", end.read(10))


@case()
def ends_blocked_read(t):
    """SHUT_RD and SHUT_RDWR end a blocked read with 0."""
    for how in (RD, RDWR):
        end, conn = t.raw_accepted(how)
        later = t.start(end.read, 10)
        t.note(f"{how} blocked", later.blocked())
        end.shutdown(how)
        t.note(f"{how} read", later.result(2))


@case()
def write_side_leaves_blocked_read(t):
    """SHUT_WR does not end a blocked read."""
    end, conn = t.raw_accepted()
    later = t.start(end.read, 10)
    end.shutdown(WR)
    t.note("blocked", later.blocked())
    conn.send("PA", b"data")
    t.note("read", later.result(2))


@case()
def ends_blocked_write(t):
    """SHUT_WR ends a blocked write."""
    end, conn = t.raw_accepted(window=0)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4608)
    t.note("set", end.nonblocking())
    while isinstance(end.write(pattern(4000)), int):
        pass
    end.nonblocking(False)
    later = t.start(end.write, b"one more")
    t.note("blocked", later.blocked())
    end.shutdown(WR)
    t.note("write", later.result(2))


@case()
def ends_poll(t):
    """A shutdown wakes a poll that is blocked in another thread."""
    end, conn = t.raw_accepted()
    later = t.start(end.events, POLLIN | POLLRDHUP, 3000)
    t.note("blocked", later.blocked())
    end.shutdown(RDWR)
    t.note("poll", later.result(2))


@case()
def after_peer_fin(t):
    """SHUT_WR in CLOSE-WAIT: LAST-ACK, and POLLHUP at once."""
    end, conn = t.raw_accepted()
    conn.fin()
    end.events(POLLRDHUP, 1000)
    t.note("before", end.events(ALL))
    t.note("shutdown", end.shutdown(WR))
    t.note("after", end.events(ALL))
    t.note("state", end.state())


@case()
def read_after_peer_fin(t):
    """SHUT_RD after the peer's FIN."""
    end, conn = t.raw_accepted()
    conn.fin()
    end.events(POLLRDHUP, 1000)
    t.note("shutdown", end.shutdown(RD))
    t.note("poll", end.events(ALL))


@case()
def after_close_of_both(t):
    """A shutdown of a connection that has ended: ENOTCONN."""
    end, conn = t.raw_accepted()
    end.shutdown(WR)
    conn.expect("FA")
    conn.fin()
    pause(0.1)
    for how in (RD, WR, RDWR):
        t.note(str(how), end.shutdown(how))


@case()
def after_reset(t):
    """A shutdown after a RST: ENOTCONN; the error is still to be had."""
    end, conn = t.raw_accepted()
    conn.rst()
    pause(0.1)
    t.note("shutdown", end.shutdown(RDWR))
    t.note("SO_ERROR", end.error())


@case()
def with_data_waiting(t):
    """SHUT_WR with data that waits for the window: the FIN comes after it."""
    end, conn = t.raw_accepted(window=0)
    end.write(b"waiting")
    t.note("shutdown", end.shutdown(WR))
    conn.all(0.1)
    conn.window = 1000
    conn.ack()
    t.note("data", conn.take(7))
    conn.expect("FA", 0.5)
    t.note("and FIN", conn.rcv_nxt - conn.irs & 0xFFFFFFFF)


@case()
def udp_connected(t):
    """UDP: shutdown of a connected socket; reads return at once, writes are EPIPE."""
    peer = t.peer(socket.SOCK_DGRAM)
    peer.bind((t.PEER, t.port()))
    end = t.dgram()
    end.connect((t.PEER, t.port()))
    t.note("shutdown read", end.shutdown(RD))
    t.note("read", end.recv(10))
    t.note("poll", end.events(ALL))
    t.note("shutdown write", end.shutdown(WR))
    t.note("write", end.write(b"a"))
    t.note("sendto", end.sendto(b"a", (t.PEER, t.port())))
    t.note("poll then", end.events(ALL))


@case()
def udp_ends_blocked_read(t):
    """UDP: a shutdown ends a blocked read, of an unconnected socket too, though it is ENOTCONN."""
    end = t.dgram()
    end.bind((t.SUT, t.port()))
    later = t.start(end.recv, 10)
    t.note("blocked", later.blocked())
    t.note("shutdown", end.shutdown(RDWR))
    t.note("read", later.result(1))
