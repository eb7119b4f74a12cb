"""Many at once: connections, threads, bytes, resets; what must hold whatever the order."""
import resource
import socket
import zlib

from bench import case, pattern, pause
from names import O_NONBLOCK
from sut import POLLIN, POLLOUT

SOL = socket.SOL_SOCKET
MANY = 200


def exactly(end, n):
    """n bytes of a descriptor, fewer at the end, or the errno's name."""
    got = b""
    while len(got) < n:
        piece = end.read(min(n - len(got), 60000))
        if not piece or isinstance(piece, str):
            return piece or got
        got += piece
    return got


def all_written(end, data):
    """Writes in pieces; how much went, or the errno's name."""
    for at in range(0, len(data), 60000):
        if isinstance(got := end.write(data[at:at + 60000]), str):
            return got
    return len(data)


@case()
def accept_many(t):
    """Two hundred connections are accepted, each answers what it was asked."""
    listener = t.listener(backlog=512)
    peers = [t.peer() for _ in range(MANY)]
    for i, p in enumerate(peers):
        p.connect((t.SUT, t.port()))
        p.sendall(b"%03d" % i)
    ends = [listener.accept()[0] for _ in peers]
    for end in ends:
        end.write(end.read(3))
        end.close()
    t.note("answers", sum(t.peer_reads(p, 4) == b"%03d" % i for i, p in enumerate(peers)))


@case()
def connect_many(t):
    """Two hundred non-blocking connects are all established, and told by one poll."""
    listener = t.peer_listener(backlog=512)
    ends = [t.stream(O_NONBLOCK) for _ in range(MANY)]
    t.note("connect", sorted({end.connect((t.PEER, t.port())) for end in ends}))
    peers = [listener.accept()[0] for _ in ends]
    pause(0.1)
    count, events = t.sut.poll([(end.fd, POLLOUT) for end in ends], 3000)
    t.note("poll", (count, sorted(set(events))))
    for p in peers:
        p.close()
    pause()
    t.note("reads", sorted({t.plain(end.read(1)) for end in ends}))


@case()
def connect_refused_many(t):
    """A hundred connects to a closed port all end with ECONNREFUSED."""
    t.note("connect", sorted({t.stream().connect((t.PEER, t.port())) for _ in range(100)}))


@case()
def threads(t):
    """Ten threads speak with ten peers at once, fifty questions each."""
    pairs = [t.accepted(i) for i in range(10)]

    def ask(end, peer, tag):
        for i in range(50):
            peer.sendall(b"%d:%02d" % (tag, i))
            if end.write(exactly(end, 4)) != 4 or t.peer_reads(peer, 4) != b"%d:%02d" % (tag, i):
                return i
        return "all"
    later = [t.start(ask, end, peer, n) for n, (end, peer) in enumerate(pairs)]
    t.note("answers", [x.result(15) for x in later])


@case()
def both_ways(t):
    """A megabyte each way at once, through small buffers."""
    end, peer = t.accepted()
    end.setsockopt(SOL, socket.SO_RCVBUF, 16384)
    end.setsockopt(SOL, socket.SO_SNDBUF, 16384)
    data = pattern(1 << 20)
    calls = [t.start(f, *a) for f, a in ((all_written, (end, data)), (exactly, (end, len(data))),
                                         (t.attempt, (peer.sendall, data)), (t.peer_reads, (peer, len(data))))]
    t.note("sent", calls[0].result(20))
    t.note("read", zlib.crc32(calls[1].result(20)) == zlib.crc32(data))
    t.note("the peer read", zlib.crc32(calls[3].result(20)) == zlib.crc32(data))


@case()
def half_closed(t):
    """A peer that has sent FIN still takes a megabyte."""
    end, peer = t.accepted()
    peer.shutdown(socket.SHUT_WR)
    data = pattern(1 << 20)
    later = t.start(all_written, end, data)
    got = t.peer_reads(peer, len(data))
    t.note("sent", later.result(10))
    t.note("the peer read", got == data)
    t.note("read", end.read(1))


@case()
def resets(t):
    """A hundred connections that their peers reset after data: the data, then ECONNRESET, then 0."""
    listener = t.listener(backlog=256)
    ends = []
    for i in range(100):
        p = t.peer()
        p.connect((t.SUT, t.port()))
        p.sendall(b"x" * 10)
        ends.append(listener.accept()[0])
        ends[-1].events(POLLIN, 1000)
        t.peer_resets(p)
    pause()
    t.note("data", sorted({t.plain(e.read(100)) for e in ends}))
    t.note("error", sorted({t.plain(e.read(100)) for e in ends}))
    t.note("then", sorted({t.plain(e.read(100)) for e in ends}))


@case()
def open_and_close(t):
    """Three hundred connections one after the other, closed by turns from either side."""
    listener = t.listener()
    wrong = 0
    for i in range(300):
        p = t.peer()
        p.connect((t.SUT, t.port()))
        end = listener.accept()[0]
        if i % 2:
            end.close()
            wrong += t.attempt(p.recv, 1) != b""
            p.close()
        else:
            p.close()
            wrong += end.read(1) != b""
            end.close()
    t.note("wrong", wrong)


@case()
def datagrams(t):
    """A hundred datagrams each way keep their borders and their order."""
    end, peer = t.dgram(), t.peer(socket.SOCK_DGRAM)
    end.bind((t.SUT, t.port()))
    peer.bind((t.PEER, t.port(1)))
    wrong = 0
    for i in range(100):
        peer.sendto(b"%d" % i * (i % 10), (t.SUT, t.port()))
        data, where = end.recvfrom(100)
        wrong += data != b"%d" % i * (i % 10)
        end.sendto(data, where)
        wrong += t.attempt(peer.recv, 100) != data
    t.note("wrong", wrong)


@case((4,), alone=True)
def descriptors_run_out(t):
    """When descriptors run out: EMFILE of socket; after a close there is one again, the lowest."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600))
    ends, got = [], None
    while len(ends) < 5000:
        got = t.sut.socket(socket.AF_INET, socket.SOCK_STREAM)
        if isinstance(got, str):
            break
        ends.append(t.end(got))
    t.note("in the end", got)
    lowest = ends[3].fd
    ends[3].close()
    ends[9].close()
    again = t.stream()
    t.note("the lowest", again.fd == lowest)
    for end in list(t.ends):
        end.close()


@case((4,), alone=True)
def descriptors_run_out_accept(t):
    """An accept without a free descriptor: EMFILE, and the connection stays in the queue."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600))
    listener = t.listener()
    peer = t.peer()
    peer.connect((t.SUT, t.port()))
    peer.sendall(b"abc")
    listener.events(POLLIN, 1000)
    ends = []
    while not isinstance(got := t.sut.socket(socket.AF_INET, socket.SOCK_STREAM), str):
        ends.append(t.end(got))
    t.note("accept", listener.accept())
    ends.pop().close()
    end = listener.accept()[0]
    t.note("then", end.read(10))
    for e in list(t.ends):
        e.close()


@case()
def small_windows(t):
    """A peer that offers ten bytes at a time gets all of a hundred, in order."""
    end, conn = t.raw_accepted(window=10)
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    end.write(pattern(100))
    got = conn.take(100, 8)
    t.note("all", got == pattern(100))


@case()
def byte_by_byte(t):
    """A thousand bytes that come one by one, every other pair swapped, are read in order."""
    end, conn = t.raw_accepted()
    data = pattern(200)
    start = conn.snd_nxt
    for at in range(0, len(data), 4):
        for i in (at + 1, at, at + 3, at + 2):
            conn.send("PA", data[i:i + 1], seq=(start + i) & 0xFFFFFFFF)
    t.note("read", exactly(end, len(data)) == data)


@case()
def epoll_many(t):
    """A hundred sockets in a set: each that has data is told, and no other."""
    listener = t.listener(backlog=256)
    ep, peers, ends = t.epoll(), [], []
    for i in range(100):
        peers.append(t.peer())
        peers[-1].connect((t.SUT, t.port()))
        ends.append(listener.accept()[0])
        ep.epoll_ctl(1, ends[-1].fd, POLLIN, i)
    for i in range(0, 100, 3):
        peers[i].sendall(b"a")
    pause()
    got = [tag for tag, _ in ep.epoll_wait(200, 1000)]
    t.note("those with data", got == list(range(0, 100, 3)))
