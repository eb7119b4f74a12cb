"""epoll: level, edge, one shot; what wakes, what stays; wrong use."""
import select
import socket

from bench import case, pause
from names import EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, O_NONBLOCK

IN, OUT, RDHUP, ERR, HUP = select.EPOLLIN, select.EPOLLOUT, select.EPOLLRDHUP, select.EPOLLERR, select.EPOLLHUP
ET, ONESHOT, EXCLUSIVE = select.EPOLLET, select.EPOLLONESHOT, select.EPOLLEXCLUSIVE


def watched(t, events, tag=7, **how):
    """(epoll End, End, Conn) of an accepted connection."""
    end, conn = t.raw_accepted(**how)
    ep = t.epoll()
    t.note("add", ep.epoll_ctl(EPOLL_CTL_ADD, end.fd, events, tag))
    return ep, end, conn


@case()
def level(t):
    """Level: the event comes as long as it is so."""
    ep, end, conn = watched(t, IN)
    t.note("nothing", ep.epoll_wait(8, 0))
    conn.send("PA", b"ab")
    t.note("data", ep.epoll_wait(8, 1000))
    t.note("again", ep.epoll_wait(8, 0))
    end.read(1)
    t.note("a byte left", ep.epoll_wait(8, 0))
    end.read(1)
    t.note("all read", ep.epoll_wait(8, 0))


@case()
def edge(t):
    """Edge: the event comes once, and again with new data, though the old was not read."""
    ep, end, conn = watched(t, IN | ET)
    conn.send("PA", b"ab")
    t.note("data", ep.epoll_wait(8, 1000))
    t.note("again", ep.epoll_wait(8, 50))
    end.read(1)
    t.note("after a part was read", ep.epoll_wait(8, 50))
    conn.send("PA", b"c")
    t.note("more data", ep.epoll_wait(8, 1000))
    t.note("and again", ep.epoll_wait(8, 50))


@case()
def edge_at_add(t):
    """Edge: what is so when the socket is added is told."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"ab")
    pause(0.1)
    ep = t.epoll()
    ep.epoll_ctl(EPOLL_CTL_ADD, end.fd, IN | OUT | ET, 1)
    t.note("at first", ep.epoll_wait(8, 0))
    t.note("again", ep.epoll_wait(8, 0))


@case()
def edge_modify(t):
    """Edge: EPOLL_CTL_MOD tells again what is so."""
    ep, end, conn = watched(t, IN | ET)
    conn.send("PA", b"ab")
    ep.epoll_wait(8, 1000)
    t.note("mod", ep.epoll_ctl(EPOLL_CTL_MOD, end.fd, IN | ET, 9))
    t.note("again", ep.epoll_wait(8, 0))


@case()
def edge_fin(t):
    """Edge: a FIN after data is an event of its own."""
    ep, end, conn = watched(t, IN | RDHUP | ET)
    conn.send("PA", b"ab")
    t.note("data", ep.epoll_wait(8, 1000))
    conn.fin()
    t.note("FIN", ep.epoll_wait(8, 1000))
    t.note("again", ep.epoll_wait(8, 50))


@case()
def edge_writable(t):
    """Edge: EPOLLOUT comes again once the buffer that was full has room."""
    end, conn = t.raw_accepted(window=0)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4608)
    end.nonblocking()
    ep = t.epoll()
    ep.epoll_ctl(EPOLL_CTL_ADD, end.fd, OUT | ET, 1)
    t.note("at first", ep.epoll_wait(8, 0))
    while isinstance(end.write(bytes(4000)), int):
        pass
    t.note("full", ep.epoll_wait(8, 100))
    conn.window = 65535
    conn.ack()
    later = t.start(conn.take, 10 ** 6, 1)
    t.note("room", ep.epoll_wait(8, 3000))
    later.result()


@case()
def one_shot(t):
    """One shot: an event, then none until EPOLL_CTL_MOD."""
    ep, end, conn = watched(t, IN | ONESHOT)
    conn.send("PA", b"ab")
    t.note("data", ep.epoll_wait(8, 1000))
    t.note("again", ep.epoll_wait(8, 0))
    conn.send("PA", b"c")
    t.note("more data", ep.epoll_wait(8, 100))
    t.note("mod", ep.epoll_ctl(EPOLL_CTL_MOD, end.fd, IN | ONESHOT, 8))
    t.note("then", ep.epoll_wait(8, 0))


@case()
def one_shot_errors(t):
    """One shot: after its event not even an error is told."""
    ep, end, conn = watched(t, IN | ONESHOT)
    conn.send("PA", b"ab")
    ep.epoll_wait(8, 1000)
    conn.rst()
    t.note("after a RST", ep.epoll_wait(8, 200))


@case()
def errors_unasked(t):
    """EPOLLERR and EPOLLHUP come unasked."""
    ep, end, conn = watched(t, 0)
    t.note("nothing", ep.epoll_wait(8, 0))
    conn.rst()
    t.note("RST", ep.epoll_wait(8, 1000))
    end.error()
    t.note("error read", ep.epoll_wait(8, 0))


@case()
def peer_fin(t):
    """The peer's FIN: EPOLLIN and EPOLLRDHUP, where asked for."""
    ep, end, conn = watched(t, IN | RDHUP)
    conn.fin()
    t.note("FIN", ep.epoll_wait(8, 1000))
    ep.epoll_ctl(EPOLL_CTL_MOD, end.fd, IN, 1)
    t.note("without RDHUP", ep.epoll_wait(8, 0))
    ep.epoll_ctl(EPOLL_CTL_MOD, end.fd, RDHUP, 2)
    t.note("only RDHUP", ep.epoll_wait(8, 0))


@case()
def shut_both(t):
    """EPOLLHUP once both sides are shut."""
    ep, end, conn = watched(t, IN | RDHUP)
    end.shutdown(socket.SHUT_RDWR)
    t.note("shut", ep.epoll_wait(8, 1000))


@case()
def wakes(t):
    """A blocked epoll_wait returns at data; without an event after its time."""
    ep, end, conn = watched(t, IN)
    t.timed("without", 0.25, 0.8, ep.epoll_wait, 8, 300)
    later = t.start(ep.epoll_wait, 8, -1)
    t.note("blocked", later.blocked())
    conn.send("PA", b"a")
    t.note("with", later.result())


@case()
def add_wakes(t):
    """A blocked epoll_wait returns when a socket that is ready is added."""
    end, conn = t.raw_accepted()
    ep = t.epoll()
    later = t.start(ep.epoll_wait, 8, 3000)
    t.note("blocked", later.blocked())
    ep.epoll_ctl(EPOLL_CTL_ADD, end.fd, OUT, 5)
    t.note("wait", later.result())


@case()
def modify_wakes(t):
    """A blocked epoll_wait returns when EPOLL_CTL_MOD asks for what is so."""
    ep, end, conn = watched(t, IN)
    later = t.start(ep.epoll_wait, 8, 3000)
    t.note("blocked", later.blocked())
    ep.epoll_ctl(EPOLL_CTL_MOD, end.fd, OUT, 6)
    t.note("wait", later.result())


@case()
def removed(t):
    """After EPOLL_CTL_DEL nothing is told; it can be added again."""
    ep, end, conn = watched(t, IN)
    conn.send("PA", b"a")
    pause(0.1)
    t.note("del", ep.epoll_ctl(EPOLL_CTL_DEL, end.fd))
    t.note("wait", ep.epoll_wait(8, 0))
    t.note("del again", ep.epoll_ctl(EPOLL_CTL_DEL, end.fd))
    t.note("mod", ep.epoll_ctl(EPOLL_CTL_MOD, end.fd, IN, 1))
    t.note("add", ep.epoll_ctl(EPOLL_CTL_ADD, end.fd, IN, 3))
    t.note("wait then", ep.epoll_wait(8, 0))


@case(alone=True)  # another case may get the same descriptor
def closed(t):
    """A descriptor that is closed leaves the set."""
    ep, end, conn = watched(t, IN | OUT)
    t.note("before", ep.epoll_wait(8, 0))
    fd = end.fd
    end.close()
    t.note("after", ep.epoll_wait(8, 50))
    t.note("mod", ep.epoll_ctl(EPOLL_CTL_MOD, fd, IN, 1))


@case()
def wrong_use(t):
    """Added twice: EEXIST; not open: EBADF; itself: EINVAL; not an epoll descriptor: EINVAL; unknown operation: EINVAL."""
    ep, end, conn = watched(t, IN)
    t.note("twice", ep.epoll_ctl(EPOLL_CTL_ADD, end.fd, IN, 1))
    t.note("not open", ep.epoll_ctl(EPOLL_CTL_ADD, 60000, IN, 1))
    t.note("itself", ep.epoll_ctl(EPOLL_CTL_ADD, ep.fd, IN, 1))
    t.note("of a socket", end.epoll_ctl(EPOLL_CTL_ADD, end.fd, IN, 1))
    t.note("wait of a socket", end.epoll_wait(8, 0))
    t.note("operation 9", ep.epoll_ctl(9, end.fd, IN, 1))
    t.note("no events", ep.epoll_wait(0, 0))
    t.note("negative", ep.epoll_wait(-1, 0))
    t.note("closed epoll", t.sut.epoll_wait(60000, 8, 0))


@case()
def socket_calls(t):
    """Socket calls on an epoll descriptor: ENOTSOCK; read and write EINVAL."""
    ep = t.epoll()
    t.note("recv", ep.recv(1))
    t.note("send", ep.send(b"a"))
    t.note("bind", ep.bind((t.SUT, t.port())))
    t.note("listen", ep.listen(1))
    t.note("accept", ep.accept())
    t.note("connect", ep.connect((t.PEER, 9)))
    t.note("getsockopt", ep.getsockopt(1, 4))
    t.note("setsockopt", ep.setsockopt(1, 2, 1))
    t.note("shutdown", ep.shutdown(2))
    t.note("read", ep.read(1))
    t.note("write", ep.write(b"a"))


@case()
def several(t):
    """Two sockets ready give two events, with their tags; at most as many as asked for, in turn."""
    one, peer1 = t.accepted(0)
    two, peer2 = t.accepted(1)
    ep = t.epoll()
    ep.epoll_ctl(EPOLL_CTL_ADD, one.fd, IN, 1 << 40 | 1)
    ep.epoll_ctl(EPOLL_CTL_ADD, two.fd, IN, 2)
    peer1.sendall(b"a")
    peer2.sendall(b"a")
    pause(0.1)
    t.note("both", ep.epoll_wait(8, 1000))
    got = ep.epoll_wait(1, 0) + ep.epoll_wait(1, 0)
    t.note("in turn", sorted(tag for tag, _ in got))


@case()
def two_sets(t):
    """A socket in two sets is told by each."""
    ep, end, conn = watched(t, IN)
    other = t.epoll()
    t.note("add", other.epoll_ctl(EPOLL_CTL_ADD, end.fd, IN | ET, 5))
    conn.send("PA", b"a")
    t.note("one", ep.epoll_wait(8, 1000))
    t.note("other", other.epoll_wait(8, 1000))


@case()
def of_listener(t):
    """A listener in a set: EPOLLIN while there is something to accept; edge: at each handshake."""
    listener = t.listener()
    ep = t.epoll()
    ep.epoll_ctl(EPOLL_CTL_ADD, listener.fd, IN | ET, 1)
    t.note("nothing", ep.epoll_wait(8, 0))
    t.peer().connect((t.SUT, t.port()))
    t.note("first", ep.epoll_wait(8, 1000))
    t.peer().connect((t.SUT, t.port()))
    t.note("second", ep.epoll_wait(8, 1000))
    t.note("again", ep.epoll_wait(8, 50))


@case()
def of_connecting(t):
    """A connecting socket in a set: EPOLLOUT when it is established."""
    t.raw
    end = t.stream(O_NONBLOCK)
    ep = t.epoll()
    ep.epoll_ctl(EPOLL_CTL_ADD, end.fd, IN | OUT | RDHUP, 1)
    t.note("fresh", ep.epoll_wait(8, 0))
    end.connect((t.RAW, t.port()))
    conn = t.raw.syn()
    t.note("connecting", ep.epoll_wait(8, 0))
    conn.synack()
    t.note("established", ep.epoll_wait(8, 1000))


@case()
def of_refused(t):
    """A refused connect in a set: EPOLLERR and EPOLLHUP with the rest."""
    t.raw
    end = t.stream(O_NONBLOCK)
    ep = t.epoll()
    end.connect((t.RAW, t.port()))
    conn = t.raw.syn()
    ep.epoll_ctl(EPOLL_CTL_ADD, end.fd, IN | OUT | RDHUP | ET, 1)
    conn.send("RA", seq=0)
    t.note("refused", ep.epoll_wait(8, 1000))
    t.note("again", ep.epoll_wait(8, 50))


@case()
def of_udp(t):
    """A UDP socket in a set: EPOLLIN for each datagram while one is there."""
    end = t.dgram()
    end.bind((t.SUT, t.port()))
    ep = t.epoll()
    ep.epoll_ctl(EPOLL_CTL_ADD, end.fd, IN, 1)
    t.note("nothing", ep.epoll_wait(8, 0))
    peer = t.peer(socket.SOCK_DGRAM)
    peer.sendto(b"", (t.SUT, t.port()))
    t.note("an empty one", ep.epoll_wait(8, 1000))
    t.note("read", end.recv(10))
    t.note("then", ep.epoll_wait(8, 0))


@case()
def nested(t):
    """An epoll descriptor in poll and in another set is readable while its set has an event."""
    ep, end, conn = watched(t, IN)
    outer = t.epoll()
    t.note("add", outer.epoll_ctl(EPOLL_CTL_ADD, ep.fd, IN, 4))
    t.note("nothing", outer.epoll_wait(8, 0))
    t.note("poll", ep.events(IN))
    conn.send("PA", b"a")
    t.note("data", outer.epoll_wait(8, 1000))
    t.note("poll then", ep.events(IN))


@case()
def exclusive(t):
    """EPOLLEXCLUSIVE can be added, not modified to."""
    end, conn = t.raw_accepted()
    ep = t.epoll()
    t.note("add", ep.epoll_ctl(EPOLL_CTL_ADD, end.fd, IN | EXCLUSIVE, 1))
    t.note("mod", ep.epoll_ctl(EPOLL_CTL_MOD, end.fd, IN, 1))
    t.note("with one shot", t.epoll().epoll_ctl(EPOLL_CTL_ADD, end.fd, IN | EXCLUSIVE | ONESHOT, 1))


@case()
def two_waiters(t):
    """Two threads that wait for one set: level wakes, and one reads."""
    ep, end, conn = watched(t, IN | ET)
    one, two = t.start(ep.epoll_wait, 8, 600), t.start(ep.epoll_wait, 8, 600)
    pause(0.1)
    conn.send("PA", b"a")
    t.note("edge wakes one", sorted((one.result(), two.result())))
