"""Reading: blocking, flags, low-water mark, time limits, order, the end."""
import socket

from bench import case, pattern, pause
from names import O_NONBLOCK, SIOCINQ
from sut import POLLIN, POLLOUT, POLLRDHUP

SOL = socket.SOL_SOCKET
PEEK, WAITALL, TRUNC, DONTWAIT = socket.MSG_PEEK, socket.MSG_WAITALL, socket.MSG_TRUNC, socket.MSG_DONTWAIT


@case()
def blocks(t):
    """A read blocks until there is a byte, and returns what there is."""
    end, conn = t.raw_accepted()
    later = t.start(end.read, 100)
    t.note("blocked", later.blocked())
    conn.send("PA", b"abc")
    t.note("read", later.result())


@case()
def nonblocking(t):
    """A non-blocking read without data: EAGAIN; MSG_DONTWAIT alike on a blocking socket."""
    end, conn = t.raw_accepted()
    t.note("MSG_DONTWAIT", end.recv(10, DONTWAIT))
    end.nonblocking()
    t.note("read", end.read(10))
    t.note("recvfrom", end.recvfrom(10))
    conn.send("PA", b"abc")
    t.note("poll", end.events(POLLIN, 1000))
    t.note("then", end.read(10))


@case()
def in_parts(t):
    """A read takes at most what is asked for and leaves the rest; segments are not borders."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"abcd")
    conn.send("PA", b"efgh")
    pause(0.1)
    t.note("3", end.read(3))
    t.note("3 more", end.read(3))
    t.note("the rest", end.read(100))


@case()
def end_of_file(t):
    """After the peer's FIN and all data every read returns 0."""
    end, conn = t.raw_accepted()
    conn.fin(b"last")
    t.note("read", end.read(10))
    t.note("end", end.read(10))
    t.note("again", end.read(10))
    t.note("peek", end.recv(1, PEEK))
    t.note("DONTWAIT", end.recv(1, DONTWAIT))


@case()
def fin_ends_blocked(t):
    """The peer's FIN ends a blocked read with 0."""
    end, conn = t.raw_accepted()
    later = t.start(end.read, 10)
    t.note("blocked", later.blocked())
    conn.fin()
    t.note("read", later.result())


@case()
def peek(t):
    """MSG_PEEK leaves the data; SIOCINQ stays."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"abcdef")
    t.note("peek 3", end.recv(3, PEEK))
    t.note("peek all", end.recv(10, PEEK))
    t.note("SIOCINQ", end.ioctl(SIOCINQ))
    t.note("read", end.read(10))
    t.note("peek of nothing", end.recv(10, PEEK | DONTWAIT))


@case()
def peek_blocks(t):
    """MSG_PEEK blocks until there is data."""
    end, conn = t.raw_accepted()
    later = t.start(end.recv, 10, PEEK)
    t.note("blocked", later.blocked())
    conn.send("PA", b"abc")
    t.note("peek", later.result())
    t.note("read", end.read(10))


@case()
def waitall(t):
    """MSG_WAITALL waits for all of it."""
    end, conn = t.raw_accepted()
    later = t.start(end.recv, 6, WAITALL)
    conn.send("PA", b"abc")
    t.note("blocked", later.blocked())
    conn.send("PA", b"defg")
    t.note("read", later.result())
    t.note("rest", end.read(10))


@case()
def waitall_ended(t):
    """MSG_WAITALL returns what there is at the peer's FIN."""
    end, conn = t.raw_accepted()
    later = t.start(end.recv, 6, WAITALL)
    conn.send("PA", b"abc")
    t.note("blocked", later.blocked())
    conn.fin()
    t.note("read", later.result())
    t.note("end", end.read(10))


@case()
def waitall_reset(t):
    """MSG_WAITALL cut short by a RST returns what there was, and the error is told later."""
    end, conn = t.raw_accepted()
    later = t.start(end.recv, 6, WAITALL)
    conn.send("PA", b"abc")
    t.note("blocked", later.blocked())
    conn.rst()
    t.note("read", later.result())
    t.note("then", end.read(10))
    t.note("and then", end.read(10))


@case()
def waitall_nonblocking(t):
    """MSG_WAITALL does not wait on a non-blocking socket."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"abc")
    end.events(POLLIN, 1000)
    t.note("DONTWAIT", end.recv(6, WAITALL | DONTWAIT))


@case()
def waitall_peek(t):
    """MSG_WAITALL with MSG_PEEK waits for all of it and leaves it."""
    end, conn = t.raw_accepted()
    later = t.start(end.recv, 6, WAITALL | PEEK)
    conn.send("PA", b"abc")
    t.note("blocked", later.blocked())
    conn.send("PA", b"def")
    t.note("peek", later.result())
    t.note("read", end.read(10))


@case()
def waitall_timeout(t):
    """MSG_WAITALL under SO_RCVTIMEO returns what there is in the end."""
    end, conn = t.raw_accepted()
    end.set_time(socket.SO_RCVTIMEO, 0.4)
    conn.send("PA", b"abc")
    t.timed("read", 0.3, 0.9, end.recv, 6, WAITALL)


@case()
def truncate(t):
    """MSG_TRUNC on TCP throws away as many bytes."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"abcdef")
    pause(0.1)
    t.note("count", end.recv_count(4, TRUNC))
    t.note("rest", end.read(10))


@case()
def timeout(t):
    """SO_RCVTIMEO bounds a read: EAGAIN."""
    end, conn = t.raw_accepted()
    t.note("set", end.set_time(socket.SO_RCVTIMEO, 0.3))
    t.timed("read", 0.25, 0.8, end.read, 10)
    conn.send("PA", b"abc")
    t.note("with data", end.read(10))
    end.set_time(socket.SO_RCVTIMEO, 0)
    later = t.start(end.read, 10)
    t.note("without a limit", later.blocked(0.5))


@case()
def timeout_values(t):
    """SO_RCVTIMEO as set is read back, in the kernel's ticks; wrong ones are EDOM or EINVAL."""
    end = t.stream()
    t.note("at first", end.getsockopt(SOL, socket.SO_RCVTIMEO, 16))
    for seconds in (1, 2.5, 0):
        t.note(f"set {seconds}", end.set_time(socket.SO_RCVTIMEO, seconds))
        t.note(f"get {seconds}", end.getsockopt(SOL, socket.SO_RCVTIMEO, 16))
    big = (1000000).to_bytes(8, "little")
    t.note("microseconds", end.setsockopt(SOL, socket.SO_RCVTIMEO, bytes(8) + big))
    t.note("short", end.setsockopt(SOL, socket.SO_RCVTIMEO, 1))
    t.note("negative", end.setsockopt(SOL, socket.SO_RCVTIMEO, b"\xff" * 8 + bytes(8)))
    t.note("of that", end.getsockopt(SOL, socket.SO_RCVTIMEO, 16))


@case()
def low_water(t):
    """SO_RCVLOWAT: a blocking read waits for so many bytes, poll for as many."""
    end, conn = t.raw_accepted()
    t.note("set", end.setsockopt(SOL, socket.SO_RCVLOWAT, 5))
    t.note("get", end.get(SOL, socket.SO_RCVLOWAT))
    later = t.start(end.read, 10)
    pause(0.1)
    conn.send("PA", b"abc")
    t.note("blocked", later.blocked())
    conn.send("PA", b"def")
    t.note("read", later.result())


@case()
def low_water_poll(t):
    """SO_RCVLOWAT: poll tells POLLIN from the mark on, and at the FIN."""
    end, conn = t.raw_accepted()
    end.setsockopt(SOL, socket.SO_RCVLOWAT, 5)
    conn.send("PA", b"abc")
    t.note("3", end.events(POLLIN, 200))
    conn.send("PA", b"de")
    t.note("5", end.events(POLLIN, 1000))
    end.read(4)
    t.note("1", end.events(POLLIN, 100))
    conn.fin()
    t.note("FIN", end.events(POLLIN | POLLRDHUP, 1000))


@case()
def low_water_nonblocking(t):
    """SO_RCVLOWAT does not keep a non-blocking read from less."""
    end, conn = t.raw_accepted()
    end.setsockopt(SOL, socket.SO_RCVLOWAT, 5)
    conn.send("PA", b"abc")
    pause(0.1)
    t.note("DONTWAIT", end.recv(10, DONTWAIT))


@case()
def low_water_values(t):
    """SO_RCVLOWAT of 0 is 1; the largest is a setting of the machine."""
    end = t.stream()
    t.note("at first", end.get(SOL, socket.SO_RCVLOWAT))
    for value in (0, 7, 1):
        t.note(f"set {value}", end.setsockopt(SOL, socket.SO_RCVLOWAT, value))
        t.note(f"get {value}", end.get(SOL, socket.SO_RCVLOWAT))


@case()
def inq(t):
    """SIOCINQ counts unread bytes, without a FIN, once all is read."""
    end, conn = t.raw_accepted()
    t.note("nothing", end.ioctl(SIOCINQ))
    conn.send("PA", b"abcde")
    pause(0.1)
    t.note("5", end.ioctl(SIOCINQ))
    end.read(2)
    t.note("3", end.ioctl(SIOCINQ))
    conn.fin()
    pause(0.1)
    t.note("with a FIN", end.ioctl(SIOCINQ))
    end.read(10)
    t.note("at the end", end.ioctl(SIOCINQ))


@case()
def out_of_order(t):
    """Bytes that arrive out of order are read in order, and not counted before."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"def", seq=conn.snd_nxt + 3)
    t.note("duplicate ACK", conn.told(conn.expect("A")))
    t.note("DONTWAIT", end.recv(10, DONTWAIT))
    t.note("SIOCINQ", end.ioctl(SIOCINQ))
    conn.send("PA", b"abc")
    t.note("ACK", conn.told(conn.expect("A")))
    t.note("read", end.read(10))


@case()
def overlap(t):
    """Bytes that arrive twice are read once."""
    end, conn = t.raw_accepted()
    start = conn.snd_nxt
    conn.send("PA", b"abcd")
    conn.send("PA", b"cdef", seq=start + 2)
    pause(0.1)
    t.note("read", end.read(10))
    conn.send("PA", b"abcdefgh", seq=start)
    pause(0.1)
    t.note("then", end.read(10))


@case()
def fin_out_of_order(t):
    """A FIN that overtakes data is not the end before the data is there."""
    end, conn = t.raw_accepted()
    conn.send("FA", seq=conn.snd_nxt + 3)
    pause(0.1)
    t.note("state", end.state())
    t.note("DONTWAIT", end.recv(10, DONTWAIT))
    conn.send("PA", b"abc")
    pause(0.1)
    t.note("state then", end.state())
    t.note("read", end.read(10))
    t.note("end", end.read(10))


@case()
def large(t):
    """200,000 bytes from the peer arrive in order."""
    end, peer = t.accepted()
    data = pattern(200000)
    later = t.start(peer.sendall, data)
    got = b""
    while len(got) < len(data):
        piece = end.read(50000)
        if not piece or isinstance(piece, str):
            break
        got += piece
    t.note("read", got)
    later.result()


@case()
def window_closes(t):
    """A peer that is not read from can send until the window is closed; reading opens it again."""
    end, peer = t.accepted()
    peer.settimeout(0)
    sent = 0
    for _ in range(40):
        got = t.attempt(peer.send, pattern(65536))
        if isinstance(got, int):
            sent += got
        else:
            pause(0.03)
    t.note("stuck in the end", got)
    peer.settimeout(5)
    n = 0
    end.set_time(socket.SO_RCVTIMEO, 2)
    while n < sent:
        piece = end.read(65536)
        if not piece or isinstance(piece, str):
            break
        n += len(piece)
    t.note("all read", n == sent)
    t.note("the peer sends again", t.attempt(peer.send, b"more"))
    t.note("read", end.read(10))


@case()
def two_readers(t):
    """Two blocked reads of one socket: the first segment ends one, the second the other."""
    end, conn = t.raw_accepted()
    one, two = t.start(end.read, 10), t.start(end.read, 10)
    pause()
    conn.send("PA", b"abc")
    pause(0.1)
    t.note("one still blocked", sorted((one.blocked(0.1), two.blocked(0.1))))
    conn.send("PA", b"abc")
    t.note("both", sorted((one.result(), two.result())))


@case()
def recvfrom_tcp(t):
    """recvfrom of TCP gives the data and no address."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"abc")
    t.note("recvfrom", end.recvfrom(10))


@case()
def out_of_band(t):
    """MSG_OOB without urgent data: EINVAL."""
    end, conn = t.raw_accepted()
    t.note("recv", end.recv(1, socket.MSG_OOB))


@case()
def error_queue(t):
    """MSG_ERRQUEUE of an empty queue: EAGAIN."""
    end, conn = t.raw_accepted()
    t.note("recv", end.recv(1, 0x2000))
