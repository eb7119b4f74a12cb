"""poll: events, several descriptors, time limits, wrong descriptors."""
import select
import socket

from bench import case, pause
from names import O_NONBLOCK
from sut import POLLIN, POLLOUT, POLLRDHUP

ALL = POLLIN | POLLOUT | POLLRDHUP


@case()
def idle(t):
    """An idle connection is writable, and nothing else."""
    end, conn = t.raw_accepted()
    t.note("all", end.events(ALL))
    t.note("in", end.events(POLLIN))
    t.note("none", end.events(0))


@case()
def readable(t):
    """POLLIN while there are bytes, not after."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"ab")
    end.events(POLLIN, 1000)
    t.note("2", end.events(ALL))
    end.read(1)
    t.note("1", end.events(ALL))
    end.read(1)
    t.note("0", end.events(ALL))


@case()
def peer_fin(t):
    """The peer's FIN: POLLIN and POLLRDHUP, no POLLHUP; POLLRDHUP only where asked for."""
    end, conn = t.raw_accepted()
    conn.fin()
    end.events(POLLRDHUP, 1000)
    t.note("all", end.events(ALL))
    t.note("in", end.events(POLLIN))
    t.note("none", end.events(0))
    end.read(1)
    t.note("after the end was read", end.events(ALL))


@case()
def wakes(t):
    """A blocked poll returns when data comes."""
    end, conn = t.raw_accepted()
    later = t.start(end.events, POLLIN, 4000)
    t.note("blocked", later.blocked())
    conn.send("PA", b"a")
    t.note("poll", later.result())


@case()
def times_out(t):
    """A poll without an event returns 0 after its time; with 0 at once."""
    end, conn = t.raw_accepted()
    t.timed("300 ms", 0.28, 0.8, t.sut.poll, [(end.fd, POLLIN)], 300)
    t.timed("0", 0, 0.15, t.sut.poll, [(end.fd, POLLIN)], 0)
    t.timed("no descriptor", 0.18, 0.6, t.sut.poll, [], 200)


@case()
def without_limit(t):
    """A poll with -1 waits for as long as it takes."""
    end, conn = t.raw_accepted()
    later = t.start(end.events, POLLIN, -1)
    t.note("blocked", later.blocked(1))
    conn.fin()
    t.note("poll", later.result())


@case()
def several(t):
    """Of several descriptors only those with events count; the order stays."""
    one, peer1 = t.accepted(0)
    two, peer2 = t.accepted(1)
    listener = t.listener(2)
    udp = t.dgram()
    udp.bind((t.SUT, t.port(3)))
    fds = [(e.fd, POLLIN) for e in (one, two, listener, udp)]
    t.note("none", t.sut.poll(fds, 0))
    peer2.sendall(b"a")
    t.note("second", t.sut.poll(fds, 1000))
    t.peer().connect((t.SUT, t.port(2)))
    t.peer(socket.SOCK_DGRAM).sendto(b"a", (t.SUT, t.port(3)))
    pause(0.1)
    t.note("three", t.sut.poll(fds, 1000))


@case()
def same_twice(t):
    """A descriptor that is there twice is answered twice."""
    end, conn = t.raw_accepted()
    t.note("twice", t.sut.poll([(end.fd, POLLOUT), (end.fd, POLLIN | POLLOUT)], 0))


@case()
def wrong_descriptors(t):
    """A descriptor that is not open: POLLNVAL, counted, at once; a negative one is passed over."""
    end, conn = t.raw_accepted()
    t.timed("not open", 0, 0.2, t.sut.poll, [(60000, POLLIN)], 1000)
    t.note("negative", t.sut.poll([(-1, POLLIN), (end.fd, POLLOUT)], 0))
    t.timed("only negative", 0.18, 0.6, t.sut.poll, [(-5, POLLIN)], 200)


@case()
def fresh(t):
    """A fresh TCP socket: POLLOUT and POLLHUP; a listener: nothing."""
    t.note("fresh", t.stream().events(ALL))
    bound = t.stream()
    bound.bind((t.SUT, t.port(1)))
    t.note("bound", bound.events(ALL))
    t.note("listening", t.listener().events(ALL))
    t.note("UDP", t.dgram().events(ALL))


@case()
def priority(t):
    """POLLPRI of a connection without urgent data is not told."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"a")
    t.note("poll", end.events(POLLIN | select.POLLPRI, 1000))


@case()
def band_bits(t):
    """POLLRDNORM and POLLWRNORM come beside POLLIN and POLLOUT."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"a")
    end.events(POLLIN, 1000)
    got = t.sut.call(18, -1, (1, 0), data=end.fd.to_bytes(4, "little") + (0x1C7).to_bytes(2, "little") + b"\0\0")
    t.note("revents", hex(int.from_bytes(got[3][6:8], "little")))


@case()
def listener_wakes(t):
    """A poll of a listener wakes at a handshake; after the accept the event is gone."""
    listener = t.listener()
    later = t.start(listener.events, POLLIN, 3000)
    t.note("blocked", later.blocked())
    t.peer().connect((t.SUT, t.port()))
    t.note("poll", later.result())
    listener.accept()
    t.note("after", listener.events(POLLIN))


@case()
def connecting_wakes(t):
    """A poll for POLLOUT of a connecting socket wakes when it is established."""
    t.raw
    end = t.stream(O_NONBLOCK)
    end.connect((t.RAW, t.port()))
    conn = t.raw.syn()
    later = t.start(end.events, POLLOUT, 3000)
    t.note("blocked", later.blocked())
    conn.synack()
    t.note("poll", later.result())


@case()
def connecting_reset_wakes(t):
    """A poll of a connecting socket wakes when it is refused."""
    t.raw
    end = t.stream(O_NONBLOCK)
    end.connect((t.RAW, t.port()))
    conn = t.raw.syn()
    later = t.start(end.events, POLLOUT, 3000)
    t.note("blocked", later.blocked())
    conn.send("RA", seq=0)
    t.note("poll", later.result())
    t.note("SO_ERROR", end.error())


@case()
def both_ends_closed(t):
    """Both FINs: POLLHUP, asked for or not."""
    end, conn = t.raw_accepted()
    end.shutdown(socket.SHUT_WR)
    conn.expect("FA")
    conn.fin()
    pause(0.1)
    t.note("none", end.events(0))
    t.note("all", end.events(ALL))


@case(alone=True)  # another case may get the same descriptor
def closed_during(t):
    """A descriptor that is closed while a poll waits for it: POLLNVAL at the end of its time."""
    end, conn = t.raw_accepted()
    later = t.start(t.sut.poll, [(end.fd, POLLIN)], 700)
    t.note("blocked", later.blocked(0.2))
    end.close()
    t.note("poll", later.result())


@case()
def many_threads(t):
    """Two polls of one socket wake both."""
    end, conn = t.raw_accepted()
    one, two = t.start(end.events, POLLIN, 3000), t.start(end.events, POLLIN, 3000)
    pause(0.1)
    conn.send("PA", b"a")
    t.note("both", (one.result(), two.result()))
