"""How a connection ends: close, linger, unread data, what the peer sees, and the states in between."""
import socket

from bench import case, pattern, pause
from names import SIOCOUTQ
from sut import POLLIN, POLLOUT, POLLRDHUP

SOL, TCP = socket.SOL_SOCKET, socket.IPPROTO_TCP


def told(conn, seconds=0.3):
    """What comes in so many seconds, without what only comes again."""
    return [conn.told(p) for p in conn.all(seconds) if p.fresh or not (p.data or "F" in p.flags)]


@case()
def orderly(t):
    """A close sends FIN; the peer's FIN is acknowledged."""
    end, conn = t.raw_accepted()
    t.note("close", end.close())
    t.note("FIN", conn.told(conn.expect("FA")))
    conn.ack()
    t.note("quiet", told(conn))
    conn.fin()
    t.note("ACK", conn.told(conn.expect("A")))


@case()
def after_data(t):
    """A close sends what is still to send, then FIN."""
    end, conn = t.raw_accepted()
    end.write(b"last words")
    end.close()
    t.note("data", conn.take(10))
    t.note("FIN", conn.told(conn.expect("FA", 1)) if conn.rcv_nxt == (conn.irs + 11) & 0xFFFFFFFF else "came along")


@case()
def unread_data(t):
    """A close with unread data resets the connection."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"unread")
    end.events(POLLIN, 1000)
    conn.expect("A")
    end.close()
    t.note("the peer sees", conn.told(conn.expect()))
    t.note("and then", told(conn))


@case()
def unread_data_after_fin(t):
    """A close with unread data after the peer's FIN resets, too."""
    end, conn = t.raw_accepted()
    conn.fin(b"unread")
    end.events(POLLRDHUP, 1000)
    conn.expect("A")
    end.close()
    t.note("the peer sees", conn.told(conn.expect()))


@case()
def partly_read(t):
    """Data of which a part was read is unread data."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"unread")
    t.note("read", end.read(3))
    conn.expect("A")
    end.close()
    t.note("the peer sees", conn.told(conn.expect()))


@case()
def peeked_data(t):
    """Data that was only peeked at is unread data."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"unread")
    t.note("peek", end.recv(10, socket.MSG_PEEK))
    conn.expect("A")
    end.close()
    t.note("the peer sees", conn.told(conn.expect()))


@case()
def data_after_close(t):
    """Data that arrives after a close is answered by a RST."""
    end, conn = t.raw_accepted()
    end.close()
    conn.expect("FA")
    conn.ack()
    pause(0.1)
    conn.send("PA", b"late")
    t.note("answer", conn.told(conn.expect("R")))


@case()
def data_before_fin_ack(t):
    """Data that crosses the FIN of a close is answered by a RST."""
    end, conn = t.raw_accepted()
    end.close()
    fin = conn.expect("FA")
    conn.send("PA", b"crossed", ack=fin.seq)
    t.note("answer", conn.told(conn.expect("R")))


@case()
def fin_with_data_after_close(t):
    """A FIN that carries data after a close is answered by a RST."""
    end, conn = t.raw_accepted()
    end.close()
    conn.expect("FA")
    conn.ack()
    pause(0.1)
    conn.fin(b"late")
    t.note("answer", conn.told(conn.expect("R")))


@case()
def linger_zero(t):
    """SO_LINGER {1, 0}: close sends a RST at once."""
    end, conn = t.raw_accepted()
    t.note("option", end.linger(1, 0))
    t.note("close", end.close())
    t.note("the peer sees", conn.told(conn.expect()))
    t.note("and then", told(conn))


@case()
def linger_zero_with_data(t):
    """SO_LINGER {1, 0} throws away what waits to be sent."""
    end, conn = t.raw_accepted(window=0)
    end.write(b"never sent")
    end.linger(1, 0)
    end.close()
    seen = [p for p in conn.all(0.5)]
    t.note("RST", any("R" in p.flags for p in seen))
    t.note("data", any(p.data for p in seen if len(p.data) > 1))


@case()
def linger_zero_after_fin(t):
    """SO_LINGER {1, 0} in CLOSE-WAIT: RST."""
    end, conn = t.raw_accepted()
    conn.fin()
    end.events(POLLRDHUP, 1000)
    conn.expect("A")
    end.linger(1, 0)
    end.close()
    t.note("the peer sees", conn.told(conn.expect()))


@case()
def linger_blocks(t):
    """SO_LINGER {1, 2}: close blocks until the FIN is acknowledged."""
    end, conn = t.raw_accepted()
    end.write(b"data")
    end.linger(1, 3)
    later = t.start(end.close)
    t.note("blocked", later.blocked(0.4))
    conn.take(4)
    conn.expect("FA", 0.5)
    conn.ack()
    t.note("close", later.result())
    t.note_time("after", later.seconds, 0.3, 1.5)


@case()
def linger_runs_out(t):
    """SO_LINGER {1, 1}: close returns after a second if nothing is acknowledged; the connection goes on."""
    end, conn = t.raw_accepted(window=0)
    end.write(b"stuck")
    end.linger(1, 1)
    t.timed("close", 0.8, 1.6, end.close)
    conn.all(0.05)
    conn.window = 1000
    conn.ack()
    t.note("data then", conn.take(5))


@case()
def linger_nonblocking(t):
    """SO_LINGER with time on a non-blocking socket: close still waits."""
    end, conn = t.raw_accepted(window=0)
    end.nonblocking()
    end.write(b"stuck")
    end.linger(1, 1)
    t.timed("close", 0.8, 1.6, end.close)


@case()
def linger_value(t):
    """SO_LINGER as set is read back; a negative time is a large one."""
    end = t.stream()
    t.note("at first", end.getsockopt(SOL, socket.SO_LINGER, 8))
    for on, seconds in ((1, 0), (1, 60), (0, 5), (5, 1)):
        t.note(f"set {on} {seconds}", end.linger(on, seconds))
        t.note(f"get {on} {seconds}", end.getsockopt(SOL, socket.SO_LINGER, 8))
    t.note("short", end.setsockopt(SOL, socket.SO_LINGER, 1))


@case()
def states_active(t):
    """ESTABLISHED, FIN-WAIT-1, FIN-WAIT-2, closed: as TCP_INFO tells after a shutdown."""
    end, conn = t.raw_accepted()
    t.note("before", end.state())
    end.shutdown(socket.SHUT_WR)
    t.note("unacknowledged", end.state())
    conn.expect("FA")
    conn.ack()
    pause(0.1)
    t.note("acknowledged", end.state())
    conn.fin()
    pause(0.1)
    t.note("both", end.state())
    t.note("read", end.read(1))
    t.note("write", end.write(b"a"))


@case()
def states_passive(t):
    """CLOSE-WAIT, LAST-ACK, closed."""
    end, conn = t.raw_accepted()
    conn.fin()
    pause(0.1)
    t.note("FIN", end.state())
    end.shutdown(socket.SHUT_WR)
    t.note("ours", end.state())
    conn.expect("FA")
    conn.ack()
    pause(0.1)
    t.note("acknowledged", end.state())
    t.note("poll", end.events(POLLIN | POLLOUT | POLLRDHUP))
    t.note("read", end.read(1))
    t.note("SO_ERROR", end.error())


@case()
def states_simultaneous(t):
    """FINs that cross: CLOSING, then closed."""
    end, conn = t.raw_accepted()
    end.shutdown(socket.SHUT_WR)
    fin = conn.expect("FA")
    conn.send("FA", ack=fin.seq)
    t.note("answer", conn.told(conn.expect("A")))
    t.note("crossed", end.state())
    conn.ack()
    pause(0.1)
    t.note("acknowledged", end.state())
    t.note("read", end.read(1))


@case()
def fin_again(t):
    """A FIN without an answer is sent again, with the same number."""
    end, conn = t.raw_accepted()
    end.close()
    first = conn.expect("FA")
    again = conn.expect("FA", 2)
    t.note("the same", again is not None and again.seq == first.seq)
    conn.ack()


@case()
def peer_fin_again(t):
    """A FIN of the peer that comes again is acknowledged again, in TIME-WAIT too."""
    end, conn = t.raw_accepted()
    end.close()
    conn.expect("FA")
    conn.fin()
    t.note("ACK", conn.told(conn.expect("A")))
    pause(0.6)
    conn.send("FA", seq=conn.snd_nxt - 1)
    t.note("again", conn.told(conn.expect("A", 1)))


@case()
def time_wait_syn(t):
    """A SYN with a larger number to a connection in TIME-WAIT opens it anew if somebody listens."""
    listener = t.listener()
    conn = t.raw.connect(t.SUT, 30000, t.port())
    end = listener.accept()[0]
    end.close()
    conn.expect("FA")
    conn.fin()
    conn.expect("A")
    again = t.raw.opener(t.SUT, 30000, t.port())
    again.iss = again.snd_nxt = (conn.snd_nxt + 100000) & 0xFFFFFFFF
    t.note("SYN-ACK", again.told(again.open(wait_s=1)))
    again.ack()
    t.note("accept", listener.accept()[1])


@case()
def time_wait_reset(t):
    """A RST to a connection in TIME-WAIT; a FIN after it."""
    end, conn = t.raw_accepted()
    end.close()
    conn.expect("FA")
    conn.fin()
    conn.expect("A")
    conn.rst()
    pause(0.6)
    conn.send("FA", seq=conn.snd_nxt - 1)
    t.note("a FIN after it", str(conn.expect(None, 0.6)))


@case()
def close_in_close_wait(t):
    """A close in CLOSE-WAIT without unread data sends FIN; data that was written goes first."""
    end, conn = t.raw_accepted()
    conn.fin()
    end.events(POLLRDHUP, 1000)
    conn.expect("A")
    end.write(b"goodbye")
    end.close()
    t.note("data", conn.take(7))
    seen = conn.rcv_nxt - conn.irs & 0xFFFFFFFF
    if seen == 8:
        conn.expect("FA", 1)
    t.note("all and FIN", conn.rcv_nxt - conn.irs & 0xFFFFFFFF)


@case()
def linger2(t):
    """TCP_LINGER2 bounds FIN-WAIT-2 of a closed socket: the peer's FIN after that finds nobody."""
    end, conn = t.raw_accepted()
    t.note("set", end.setsockopt(TCP, socket.TCP_LINGER2, 1))
    end.close()
    conn.expect("FA")
    conn.ack()
    pause(2)
    conn.fin()
    t.note("answer", str(conn.expect(None, 1)))


@case()
def linger2_negative(t):
    """TCP_LINGER2 of -1: a closed socket whose FIN is not acknowledged yet leaves FIN-WAIT-2 at once, with a RST."""
    end, conn = t.raw_accepted()
    t.note("set", end.setsockopt(TCP, socket.TCP_LINGER2, -1))
    t.note("get", end.get(TCP, socket.TCP_LINGER2))
    end.close()
    conn.expect("FA")
    conn.ack()
    t.note("then", told(conn))


@case()
def linger2_not_for_shutdown(t):
    """TCP_LINGER2 does not end FIN-WAIT-2 of an open socket."""
    end, conn = t.raw_accepted()
    end.setsockopt(TCP, socket.TCP_LINGER2, 1)
    end.shutdown(socket.SHUT_WR)
    conn.expect("FA")
    conn.ack()
    pause(2)
    t.note("state", end.state())
    conn.send("PA", b"still")
    t.note("read", end.read(10))


@case()
def close_with_blocked_read(t):
    """A close while another thread is blocked in read: the peer sees nothing until that call ends, which data ends."""
    end, conn = t.raw_accepted()
    later = t.start(end.read, 10)
    t.note("blocked", later.blocked())
    t.note("close", end.close())
    t.note("still blocked", later.blocked())
    t.note("the peer sees", told(conn, 0.2))
    conn.send("PA", b"data")
    t.note("read", later.result(2))
    t.note("then the peer sees", str(conn.expect("FA", 2)))


@case()
def close_peer_kernel(t):
    """A close with unread data: the kernel as the peer has ECONNRESET."""
    end, peer = t.accepted()
    peer.sendall(b"unread")
    end.events(POLLIN, 1000)
    end.close()
    t.note("the peer reads", t.attempt(peer.recv, 10))
    t.note("and again", t.attempt(peer.recv, 10))


@case()
def large_and_close(t):
    """A close right after a large write: the peer reads all of it and then the end."""
    end, peer = t.accepted()
    data = pattern(150000)
    t.note("write", end.write(data))
    end.close()
    t.note("the peer reads", t.peer_reads(peer, len(data)))
    t.note("and the end", t.attempt(peer.recv, 10))


@case()
def outq(t):
    """SIOCOUTQ counts unacknowledged bytes, and a FIN."""
    end, conn = t.raw_accepted()
    t.note("at first", end.ioctl(SIOCOUTQ))
    end.write(b"12345")
    t.note("written", end.ioctl(SIOCOUTQ))
    conn.take(5)
    pause(0.1)
    t.note("acknowledged", end.ioctl(SIOCOUTQ))
    end.write(b"678")
    end.shutdown(socket.SHUT_WR)
    t.note("with a FIN", end.ioctl(SIOCOUTQ))
    conn.take(3)
    conn.expect("FA", 0.3)
    conn.ack()
    pause(0.1)
    t.note("all acknowledged", end.ioctl(SIOCOUTQ))


@case()
def reset_of_lingering(t):
    """A RST in FIN-WAIT-1 after a shutdown: read ECONNRESET, then 0."""
    end, conn = t.raw_accepted()
    end.shutdown(socket.SHUT_WR)
    conn.expect("FA")
    conn.rst()
    pause(0.1)
    t.note("poll", end.events(POLLIN | POLLOUT | POLLRDHUP))
    t.note("read", end.read(1))
    t.note("again", end.read(1))
