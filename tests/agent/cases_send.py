"""Writing: blocking, flags, buffers, what becomes a segment."""
import socket
import time

from bench import case, pattern, pause
from names import O_NONBLOCK, SIOCOUTQ, TCP_NOTSENT_LOWAT
from sut import POLLIN, POLLOUT, POLLRDHUP

SOL, TCP = socket.SOL_SOCKET, socket.IPPROTO_TCP
MORE, DONTWAIT, NOSIGNAL, EOR = socket.MSG_MORE, socket.MSG_DONTWAIT, socket.MSG_NOSIGNAL, 0x80


def sizes(conn, seconds=0.15, ack=True):
    """The lengths of the segments with new data that come in so many seconds; each is acknowledged."""
    got, end = [], time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        p = conn.next(left)
        if p and p.data and p.fresh:
            got.append(p.fresh)
            if ack:
                conn.ack()
    return got


def fill(end, piece=4000):
    """Writes until the send buffer stays full; its last result, and whether anything went in."""
    end.nonblocking()
    n, quiet = 0, 0
    while quiet < 3:
        if isinstance(got := end.write(pattern(piece)), int):
            n, quiet = n + got, 0
        else:
            quiet += 1
            pause(0.05)
    end.nonblocking(False)
    return got, n > 0


@case()
def one_segment(t):
    """A small write is one segment at once."""
    end, conn = t.raw_accepted()
    t.note("write", end.write(b"abc"))
    p = conn.expect("A", data=True)
    t.note("segment", conn.told(p))
    t.note("PSH", "P" in p.flags)


def stuck(t):
    """A connection whose peer's window is closed, with a small send buffer that is full."""
    end, conn = t.raw_accepted(window=0)
    end.setsockopt(SOL, socket.SO_SNDBUF, 4608)
    t.note("fill", fill(end))
    conn.window = 65535
    return end, conn


@case()
def nonblocking_full(t):
    """A non-blocking write into a full buffer: what fits, then EAGAIN; POLLOUT is off until the peer takes some."""
    end, conn = stuck(t)
    end.nonblocking()
    t.note("poll", end.events(POLLOUT))
    conn.ack()
    later = t.start(conn.take, 10 ** 6, 1)
    t.note("poll then", end.events(POLLOUT, 3000))
    t.note("write", end.write(b"a"))
    t.note("some came", len(later.result()) >= 4000)


@case()
def blocks(t):
    """A blocking write into a full buffer blocks until the peer takes some."""
    end, conn = stuck(t)
    later = t.start(end.write, pattern(1000))
    t.note("blocked", later.blocked())
    conn.ack()
    taken = t.start(conn.take, 10 ** 6, 1)
    t.note("write", later.result())
    t.note("all came", len(taken.result()) >= 5000)


@case()
def blocking_takes_all(t):
    """A blocking write returns only when all is taken, however large."""
    end, peer = t.accepted()
    end.setsockopt(SOL, socket.SO_SNDBUF, 4608)
    later = t.start(end.write, pattern(190000))
    got = t.peer_reads(peer, 190000)
    t.note("write", later.result())
    t.note("the peer reads", got)


@case()
def dontwait(t):
    """MSG_DONTWAIT on a blocking socket: EAGAIN when full."""
    end, conn = stuck(t)
    t.note("send", end.send(b"a", DONTWAIT))


@case()
def timeout(t):
    """SO_SNDTIMEO bounds a write: EAGAIN when nothing fits, else what did."""
    end, conn = stuck(t)
    end.set_time(socket.SO_SNDTIMEO, 0.3)
    t.timed("write", 0.25, 0.9, end.write, b"a")


@case()
def timeout_partly(t):
    """SO_SNDTIMEO: a write of which a part fits returns that part in the end."""
    end, conn = t.raw_accepted(window=0)
    end.setsockopt(SOL, socket.SO_SNDBUF, 4608)
    end.set_time(socket.SO_SNDTIMEO, 0.3)
    got = end.write(pattern(190000))
    t.note("a part", isinstance(got, int) and 0 < got < 190000)


@case()
def closed_by_peer(t):
    """Writing to a peer that closed: the first write works, its RST makes the next EPIPE."""
    end, peer = t.accepted()
    peer.close()
    pause(0.1)
    t.note("first", end.write(b"a"))
    pause(0.1)
    t.note("poll", end.events(POLLIN | POLLOUT | POLLRDHUP))
    t.note("second", end.write(b"a"))
    t.note("third", end.write(b"a"))
    t.note("read", end.read(1))
    t.note("SO_ERROR", end.error())


@case()
def closed_by_peer_read(t):
    """RST in CLOSE-WAIT is EPIPE as SO_ERROR, and a read takes the end of file first."""
    end, conn = t.raw_accepted()
    conn.fin()
    pause(0.1)
    end.write(b"a")
    conn.rst()
    pause(0.1)
    t.note("SO_ERROR", end.error())
    t.note("read", end.read(1))
    t.note("write", end.write(b"a"))


@case()
def reset_ends_blocked(t):
    """A RST ends a blocked write with ECONNRESET, and the next is EPIPE."""
    end, conn = stuck(t)
    later = t.start(end.write, b"one more")
    t.note("blocked", later.blocked())
    conn.rst()
    t.note("write", later.result())
    t.note("next", end.write(b"a"))
    t.note("read", end.read(1))


@case()
def nosignal(t):
    """EPIPE comes with MSG_NOSIGNAL and without."""
    end, conn = t.raw_accepted()
    end.shutdown(socket.SHUT_WR)
    t.note("with", end.send(b"a", NOSIGNAL))
    t.note("without", end.send(b"a"))


@case()
def nagle(t):
    """Without TCP_NODELAY a small write waits while another is unacknowledged; then all of it is one segment."""
    end, conn = t.raw_accepted()
    for piece in (b"a", b"bc", b"def"):
        end.write(piece)
    t.note("before an ACK", sizes(conn, 0.08, ack=False))
    conn.ack()
    t.note("after", sizes(conn))


@case()
def nodelay(t):
    """With TCP_NODELAY each write is a segment at once."""
    end, conn = t.raw_accepted()
    t.note("set", end.setsockopt(TCP, socket.TCP_NODELAY, 1))
    for piece in (b"a", b"bc", b"def"):
        end.write(piece)
    t.note("segments", sizes(conn, 0.15, ack=False))


@case()
def nodelay_pushes(t):
    """Setting TCP_NODELAY sends what Nagle's algorithm held back."""
    end, conn = t.raw_accepted()
    end.write(b"a")
    end.write(b"bcd")
    t.note("before", sizes(conn, 0.1, ack=False))
    end.setsockopt(TCP, socket.TCP_NODELAY, 1)
    t.note("after", sizes(conn, 0.1, ack=False))


@case()
def cork(t):
    """TCP_CORK holds what does not fill a segment until it is taken off."""
    end, conn = t.raw_accepted()
    t.note("set", end.setsockopt(TCP, socket.TCP_CORK, 1))
    t.note("get", end.get(TCP, socket.TCP_CORK))
    end.write(b"head")
    end.write(b"body")
    t.note("corked", sizes(conn, 0.1, ack=False))
    end.setsockopt(TCP, socket.TCP_CORK, 0)
    t.note("off", sizes(conn, 0.15))


@case()
def cork_full_segments(t):
    """TCP_CORK lets full segments go."""
    end, conn = t.raw_accepted(options=b"\x02\x04\x01\xf4")
    end.setsockopt(TCP, socket.TCP_CORK, 1)
    end.write(pattern(1200))
    t.note("corked", sizes(conn, 0.1))
    end.setsockopt(TCP, socket.TCP_CORK, 0)
    t.note("off", sizes(conn, 0.15))


@case()
def cork_runs_out(t):
    """Corked data goes after 200 ms."""
    end, conn = t.raw_accepted()
    end.setsockopt(TCP, socket.TCP_CORK, 1)
    end.write(b"held")
    t.note("at first", sizes(conn, 0.1))
    t.note("later", sizes(conn, 0.4))


@case()
def cork_and_nodelay(t):
    """TCP_CORK is stronger than TCP_NODELAY; setting TCP_NODELAY on it sends what is held."""
    end, conn = t.raw_accepted()
    end.setsockopt(TCP, socket.TCP_NODELAY, 1)
    end.setsockopt(TCP, socket.TCP_CORK, 1)
    end.write(b"held")
    t.note("corked", sizes(conn, 0.1))
    end.setsockopt(TCP, socket.TCP_NODELAY, 1)
    t.note("NODELAY again", sizes(conn, 0.1))


@case()
def cork_and_close(t):
    """A close sends corked data, with FIN."""
    end, conn = t.raw_accepted()
    end.setsockopt(TCP, socket.TCP_CORK, 1)
    end.write(b"held")
    end.close()
    t.note("data", conn.take(4))


@case()
def more(t):
    """MSG_MORE holds a piece for the next send, and they are one segment."""
    end, conn = t.raw_accepted()
    t.note("more", end.send(b"head ", MORE))
    t.note("held", sizes(conn, 0.1, ack=False))
    t.note("last", end.send(b"body"))
    t.note("segments", sizes(conn, 0.15))


@case()
def more_with_nodelay(t):
    """MSG_MORE holds with TCP_NODELAY, too."""
    end, conn = t.raw_accepted()
    end.setsockopt(TCP, socket.TCP_NODELAY, 1)
    end.send(b"head ", MORE)
    t.note("held", sizes(conn, 0.1, ack=False))
    end.send(b"body")
    t.note("segments", sizes(conn, 0.15))


@case()
def more_runs_out(t):
    """A piece held by MSG_MORE goes after 200 ms."""
    end, conn = t.raw_accepted()
    end.send(b"head", MORE)
    t.note("segments", sizes(conn, 1))


@case()
def more_and_shutdown(t):
    """A shutdown sends what MSG_MORE held."""
    end, conn = t.raw_accepted()
    end.send(b"head", MORE)
    end.shutdown(socket.SHUT_WR)
    t.note("data", conn.take(4))


@case()
def end_of_record(t):
    """MSG_EOR keeps what follows out of the segment."""
    end, conn = t.raw_accepted()
    end.send(b"first", EOR)
    end.send(b"a", EOR)
    end.send(b"b")
    t.note("before an ACK", sizes(conn, 0.1, ack=False))
    conn.ack()
    t.note("after", sizes(conn))


@case()
def segments_of_mss(t):
    """A large write is cut at the peer's MSS."""
    end, conn = t.raw_accepted(options=b"\x02\x04\x01\xf4")
    end.write(pattern(1700))
    t.note("segments", sizes(conn, 0.3))


@case()
def mss_default(t):
    """A peer without an MSS option gets 536 bytes over IPv4, 1220 over IPv6."""
    end, conn = t.raw_accepted(options=b"")
    end.write(pattern(2600))
    t.note("segments", sizes(conn, 0.3))


@case()
def window_bounds(t):
    """No more is sent than the peer's window."""
    end, conn = t.raw_accepted(window=1000)
    end.write(pattern(3000))
    t.note("bytes", sum(sizes(conn, 0.2, ack=False)))


@case()
def window_zero(t):
    """A closed window is probed after the timeout; when it opens the data goes."""
    end, conn = t.raw_accepted(window=0)
    end.write(b"stuck")
    got = conn.all(0.9)
    t.note("probes", len(got) in (1, 2))
    t.note("data in probes", any(len(p.data) > 1 for p in got))
    conn.window = 1000
    conn.ack()
    t.note("data", conn.take(5))


@case()
def not_sent_low_water(t):
    """TCP_NOTSENT_LOWAT: POLLOUT is off while half as many bytes are unsent; a write still works."""
    end, conn = t.raw_accepted(window=0)
    t.note("set", end.setsockopt(TCP, TCP_NOTSENT_LOWAT, 1000))
    t.note("get", end.get(TCP, TCP_NOTSENT_LOWAT))
    t.note("empty", end.events(POLLOUT))
    end.nonblocking()
    end.write(pattern(500))
    t.note("500", end.events(POLLOUT))
    end.write(pattern(1500))
    t.note("2000", end.events(POLLOUT))
    t.note("write", end.write(b"a"))
    conn.window = 65000
    conn.ack()
    conn.take(2001)
    t.note("sent", end.events(POLLOUT, 1000))


@case()
def send_buffer_small(t):
    """A small SO_SNDBUF still takes a write, and EAGAIN comes soon after."""
    end, conn = t.raw_accepted(window=0)
    t.note("set", end.setsockopt(SOL, socket.SO_SNDBUF, 1))
    t.note("get", end.get(SOL, socket.SO_SNDBUF))
    end.nonblocking()
    n = 0
    while isinstance(got := end.write(pattern(1000)), int):
        n += got
    t.note("some", n > 0)
    t.note("less than 100000", n < 100000)
    t.note("then", got)


@case()
def retransmission(t):
    """A segment without an answer is sent again with the same number, after 200 ms at least."""
    end, conn = t.raw_accepted()
    end.write(b"abc")
    first = conn.expect("A", data=True)
    again = conn.expect("A", 2, data=True)
    t.note("the same", again is not None and (again.seq, again.data) == (first.seq, first.data))
    t.note("outq", end.ioctl(SIOCOUTQ))
    conn.ack()
    pause(0.1)
    t.note("outq then", end.ioctl(SIOCOUTQ))


@case()
def sendto_tcp(t):
    """sendto of TCP ignores the address."""
    end, conn = t.raw_accepted()
    t.note("sendto", end.sendto(b"abc", (t.NOBODY, 9)))
    t.note("segment", conn.told(conn.expect("A", data=True)))


@case()
def before_connected(t):
    """A write amid a blocking handshake waits for it."""
    t.raw
    end = t.stream(O_NONBLOCK)
    end.connect((t.RAW, t.port()))
    conn = t.raw.syn()
    end.nonblocking(False)
    later = t.start(end.write, b"abc")
    t.note("blocked", later.blocked())
    conn.synack()
    t.note("write", later.result())
    t.note("segment", conn.told(conn.expect("A", data=True)))


@case()
def out_of_band(t):
    """MSG_OOB sets the urgent pointer."""
    end, conn = t.raw_accepted()
    t.note("send", end.send(b"a", socket.MSG_OOB))
    p = conn.expect(None, 1)
    t.note("URG", p is not None and "U" in p.flags)


@case()
def large(t):
    """200,000 bytes arrive at the peer in order."""
    end, peer = t.opened()
    data = pattern(200000)
    later = t.start(end.write, data)
    t.note("the peer reads", t.peer_reads(peer, len(data)))
    t.note("write", later.result())
