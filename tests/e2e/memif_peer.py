"""A memif client in plain Python, honest or not: memif_peer.py SOCKET CLAIM.

Every claim ends with exit status 0 if it holds. The server's address is 10.99.0.2.
"""
import ctypes, fcntl, mmap, os, random, socket, struct, sys, time

ACK, HELLO, INIT, ADD_REGION, ADD_RING, CONNECT, CONNECTED, DISCONNECT = range(1, 9)
COOKIE, VERSION, NEXT, MASK_INT = 0x3E31F20, 0x200, 1, 1
HEAD_BYTES, DESC_BYTES = 128, 16
F_ADD_SEALS, F_SEAL_SHRINK, F_SEAL_FUTURE_WRITE = 1033, 2, 16
MAC = bytes.fromhex("020000000009")
WAIT_S = 30
REQUEST = (b"\xff" * 6 + MAC + bytes.fromhex("08060001080006040001") + MAC + bytes([10, 99, 0, 9]) + bytes(6) + bytes([10, 99, 0, 2])).ljust(60, b"\0")


def eventfd():
    return os.eventfd(0, os.EFD_NONBLOCK)


class Ended(Exception):
    """The server ended the link; the text is its reason, empty if it gave none."""


class Peer:
    log2, room = 6, 2048

    def __init__(self, path):
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.s.connect(path)
        self.s.settimeout(WAIT_S)
        self.fds, self.mem = [], None

    # ---- messages
    def send(self, kind, body=b"", fd=None):
        text = (struct.pack("<H", kind) + body).ljust(128, b"\0")
        try:
            socket.send_fds(self.s, [text], [] if fd is None else [fd])
        except (BrokenPipeError, ConnectionResetError):
            self.reason()

    def recv(self, kind=None):
        try:
            text = self.s.recv(128)
        except ConnectionResetError:
            text = b""
        if not text:
            raise Ended("")
        got, = struct.unpack_from("<H", text)
        if got == DISCONNECT:
            raise Ended(text[6:102].split(b"\0")[0].decode())
        assert kind in (None, got), (kind, got)
        return text

    def reason(self):
        while True:
            self.recv()

    def ask(self, kind, body=b"", fd=None):
        self.send(kind, body, fd)
        return self.recv(CONNECTED if kind == CONNECT else ACK)

    # ---- the handshake
    def init(self, id=0, version=VERSION, mode=0):
        self.recv(HELLO)
        self.ask(INIT, struct.pack("<HIB24s32s", version, id, mode, b"", b"a test"))

    def region_bytes(self):
        return 2 * (HEAD_BYTES + (DESC_BYTES << self.log2)) + 2 * (self.room << self.log2)

    def region(self, index=0, said=None, seals=F_SEAL_SHRINK, bytes=None):
        bytes = bytes or self.region_bytes()
        fd = os.memfd_create("peer", os.MFD_ALLOW_SEALING)
        self.fds.append(fd)
        os.ftruncate(fd, bytes)
        if index == 0:
            self.mem = mmap.mmap(fd, bytes)
            self.words = memoryview(self.mem).cast("H")
            self.make_rings()
        fcntl.fcntl(fd, F_ADD_SEALS, seals)
        self.ask(ADD_REGION, struct.pack("<HQ", index, said or bytes), fd)

    def make_rings(self):
        for ring in (0, 1):
            struct.pack_into("<IHH", self.mem, self.ring(ring), COOKIE, 0, 0)
            for slot in range(1 << self.log2):
                self.describe(ring, slot, 0)

    def rings(self, which=(0, 1), index=0, region=0, offset=None, log2=None, fd=None):
        for ring in which:
            self.fds.append(eventfd())
            at = self.ring(ring) if offset is None else offset
            self.ask(ADD_RING, struct.pack("<HHHIBH", 1 - ring, index, region, at, log2 or self.log2, 0),
                     self.fds[-1] if fd is None else fd)

    def connect(self):
        self.ask(CONNECT, b"test".ljust(32, b"\0"))

    def up(self, **of_rings):
        self.init()
        self.region()
        self.rings(**of_rings)
        self.connect()
        self.post()
        return self

    # ---- rings: 0 from this client to the server, 1 back
    def ring(self, ring):
        return ring * (HEAD_BYTES + (DESC_BYTES << self.log2))

    def desc(self, ring, slot):
        return self.ring(ring) + HEAD_BYTES + DESC_BYTES * (slot & (1 << self.log2) - 1)

    def buffer(self, ring, slot):
        return 2 * (HEAD_BYTES + (DESC_BYTES << self.log2)) + ((ring << self.log2) + (slot & (1 << self.log2) - 1)) * self.room

    def describe(self, ring, slot, flags, length=None, region=0, offset=None):
        struct.pack_into("<HHII", self.mem, self.desc(ring, slot), flags, region, self.room if length is None else length,
                         self.buffer(ring, slot) if offset is None else offset)

    def word(self, ring, at, value=None):
        """One load or store of 16 bits; struct writes zeros first, then byte by byte, and the server sees that."""
        if value is not None:
            self.words[(self.ring(ring) + at) // 2] = value & 0xffff
        return self.words[(self.ring(ring) + at) // 2]

    def flags(self, ring, value=None): return self.word(ring, 4, value)
    def head(self, ring, value=None): return self.word(ring, 6, value)
    def tail(self, ring, value=None): return self.word(ring, 64, value)

    def post(self):
        """Gives the server all buffers of its ring."""
        self.taken = self.tail(1)
        self.flags(1, MASK_INT)
        self.head(1, self.taken + (1 << self.log2))

    def put(self, frame, parts=1):
        """Sends a frame in that many buffers."""
        slot, size, end = self.head(0), -(-len(frame) // parts), time.monotonic() + WAIT_S
        while (slot + parts - self.tail(0) & 0xffff) > 1 << self.log2:
            assert time.monotonic() < end, "the server takes nothing"
            time.sleep(0.001)
        for i in range(parts):
            part = frame[i * size:(i + 1) * size]
            at = self.buffer(0, slot + i)
            self.mem[at:at + len(part)] = part
            self.describe(0, slot + i, NEXT if i + 1 < parts else 0, len(part))
        self.head(0, slot + parts)

    def get(self):
        """The frames that the server sent."""
        frames, frame = [], b""
        while self.taken != self.tail(1):
            flags, _, length = struct.unpack_from("<HHI", self.mem, self.desc(1, self.taken))
            at = self.buffer(1, self.taken)
            frame += self.mem[at:at + length]
            if not flags & NEXT:
                frames.append(frame)
                frame = b""
            self.describe(1, self.taken, 0)
            self.taken = self.taken + 1 & 0xffff
        self.head(1, self.taken + (1 << self.log2))
        return frames

    def answered(self, parts=1):
        """Whether the server answers ARP over this link; its reason if it ends the link instead."""
        end, at = time.monotonic() + WAIT_S, 0
        while time.monotonic() < end:
            if time.monotonic() > at:
                self.put(REQUEST, parts)
                at = time.monotonic() + 1
            if any(f[12:14] == b"\x08\x06" and f[21] == 2 and f[:6] == MAC for f in self.get()):
                return True
            time.sleep(0.005)
        return False

    def ended(self):
        """The reason of the server, which ends the link by itself."""
        try:
            self.reason()
        except Ended as e:
            return str(e)


def refused(text, do):
    """do() ends with the server's reason."""
    try:
        do()
    except Ended as e:
        assert text in str(e), (text, str(e))
        return
    raise AssertionError(f"not refused: {text}")


# ---- claims: PATH is the socket of a server whose port has no other peer

def honest(path):
    p = Peer(path).up()
    assert p.answered()
    p.put(b"\x02" * 60, parts=3)  # a frame in three buffers, and the link goes on
    assert p.answered(parts=4)
    p.send(DISCONNECT, struct.pack("<I", 0) + b"enough")
    p.ended()


def dies_while_the_worker_reads(path):
    """The interrupt file of our ring is a pipe. DPDK's net_memif reads it inside the burst, and unmaps the ring meanwhile."""
    p = Peer(path)
    r, w = os.pipe()
    p.init()
    p.region()
    p.rings(which=(0,), fd=r)
    p.rings(which=(1,))
    p.connect()
    p.post()
    assert p.answered()
    p.flags(0, 0)
    time.sleep(0.3)
    p.s.close()
    time.sleep(0.3)
    os.write(w, b"12345678")
    time.sleep(0.3)


def is_woken(path):
    """A receiver that does not poll gets an event for what was sent."""
    p = Peer(path).up()
    p.flags(1, 0)
    assert p.answered()
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        try:
            os.eventfd_read(p.fds[-1])
            return
        except BlockingIOError:
            time.sleep(0.01)
    raise AssertionError("not woken")


def full_eventfd(path):
    """An eventfd that is full, and blocks, holds nobody."""
    p = Peer(path).up()
    fd = p.fds[-1]
    os.eventfd_write(fd, 2**64 - 2)
    os.set_blocking(fd, True)
    p.flags(1, 0)
    assert p.answered()
    time.sleep(0.2)
    assert p.answered()


def shrinking_memory(path):
    p = Peer(path)
    p.init()
    refused("F_SEAL_SHRINK", lambda: p.region(seals=0))


def wrong_memory(path):
    p = Peer(path)
    p.init()
    refused("shorter", lambda: p.region(said=1 << 20))
    p = Peer(path)
    p.init()
    refused("longer", lambda: p.region(said=4096))
    p = Peer(path)
    p.init()
    refused("too large", lambda: p.region(said=1 << 40))
    p = Peer(path)
    p.init()
    refused("writing", lambda: p.region(seals=F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE, index=0))
    for fd in (os.open("/etc/hostname", os.O_RDONLY), os.pipe()[0], None):
        p = Peer(path)
        p.init()
        refused("region", lambda: p.ask(ADD_REGION, struct.pack("<HQ", 0, 4096), fd))
    p = Peer(path)
    p.init()
    p.region()
    refused("numbered", lambda: p.region(index=7))
    p = Peer(path)
    p.init()
    for i in range(8):
        p.region(index=i, bytes=None if i == 0 else 4096)
    refused("too many", lambda: p.region(index=8, bytes=4096))
    p = Peer(path)
    p.init()
    p.region()
    refused("too large", lambda: p.region(index=1, bytes=16 << 20))


def wrong_rings(path):
    for text, of_ring in [("lie in its region", {"region": 1}), ("lie in its region", {"region": 65535}),
                          ("lie in its region", {"offset": 8}), ("lie in its region", {"offset": 0xfffffff0}),
                          ("lie in its region", {"log2": 10, "offset": 260000}), ("HELLO", {"log2": 11}), ("HELLO", {"log2": 255}),
                          ("one ring", {"index": 1}), ("eventfd", {"which": (1,), "fd": 0})]:
        p = Peer(path)
        p.init()
        p.region()
        refused(text, lambda: p.rings(**of_ring))
    p = Peer(path)
    p.init()
    p.region()
    p.rings()
    refused("one ring", lambda: p.rings())
    p = Peer(path)
    p.init()
    p.region()
    p.rings(which=(0,))
    refused("each direction", p.connect)
    p = Peer(path)
    p.init()
    p.region()
    p.rings()
    p.mem[0:4] = b"none"
    refused("cookie", p.connect)


def wrong_messages(path):
    for text, of_init in [("number (id)", {"id": 9}), ("version", {"version": 0x300}), ("mode", {"mode": 1})]:
        refused(text, lambda: Peer(path).init(**of_init))
    for kind in (0, ADD_REGION, ADD_RING, CONNECT, CONNECTED, HELLO, 9, 65535):
        p = Peer(path)
        p.recv(HELLO)
        refused("INIT was expected", lambda: p.ask(kind))
    for kind in (0, HELLO, INIT, CONNECTED, 9, 65535):
        p = Peer(path)
        p.init()
        refused("", lambda: p.ask(kind, struct.pack("<HI", VERSION, 0)))
    for bytes in (1, 127):
        p = Peer(path)
        p.recv(HELLO)
        p.s.send(b"\1" * bytes)
        assert "length" in p.ended()
    for kind, body, fd in ((INIT, os.urandom(126), None), (ADD_REGION, struct.pack("<HQ", 1, 4096), 0), (CONNECT, b"", None)):
        p = Peer(path).up()  # and of a peer that is up
        assert p.answered()
        p.send(kind, body, fd)
        p.ended()


def too_many_files(path):
    """More files than a message has, and files with an empty one, are closed: the next peer is served."""
    for _ in range(600):
        p = Peer(path)
        p.recv(HELLO)
        socket.send_fds(p.s, [b""], [0, 1])
        p.ended()
    p = Peer(path).up()
    assert p.answered()


def punches_holes(path):
    """Pages of buffers that are taken away, for moments only and while frames pass, end the link."""
    p = Peer(path).up()
    assert p.answered()
    # From the first page on that holds no ring: a ring of zeros may end the link first, and for another reason.
    punch, at, end = ctypes.CDLL(None).fallocate, -(-p.buffer(0, 0) // 4096) * 4096, time.monotonic() + WAIT_S
    p.s.setblocking(False)
    while time.monotonic() < end:
        punch(p.fds[0], 3, ctypes.c_int64(at), ctypes.c_int64(p.region_bytes() - at))
        if (p.head(0) - p.tail(0) & 0xffff) < 1 << p.log2:  # put() would wait for room, and the link may have ended
            p.put(REQUEST)
        try:
            p.recv()
        except BlockingIOError:
            continue
        except Ended as e:
            assert "took pages" in str(e), str(e)
            break
    else:
        raise AssertionError("the link goes on")
    assert os.fstat(p.fds[0]).st_blocks == 0 or time.sleep(1) or os.fstat(p.fds[0]).st_blocks == 0


def leaves_at_each_step(path):
    steps = [lambda p: p.init(), lambda p: p.region(), lambda p: p.rings(which=(0,)), lambda p: p.rings(which=(1,)), lambda p: p.connect()]
    for last in range(len(steps) + 1):
        for _ in range(20):
            p = Peer(path)
            for step in steps[:last]:
                try:
                    step(p)
                except Ended as e:  # the one before is not gone yet
                    assert "another peer" in str(e), str(e)
                    break
            p.s.close()


def says_nothing(path):
    """Peers that say nothing keep nobody out."""
    idle = [Peer(path) for _ in range(40)]
    p = Peer(path).up()
    assert p.answered()
    refused("another peer", lambda: Peer(path).init())
    assert p.answered() and idle


def broken(path, text, lie):
    """After this lie the server ends the link, and says why."""
    p = Peer(path).up()
    assert p.answered()
    lie(p)
    p.s.settimeout(WAIT_S)
    reason = p.ended()
    assert text in reason, (text, reason)


def sent(p, **d):
    p.describe(0, p.head(0), d.pop("flags", 0), **d)
    p.head(0, p.head(0) + 1)


def all_back(p, **d):
    """Every buffer for the server's frames is that one; a request makes it use one."""
    p.get()
    for slot in range(1 << p.log2):
        p.describe(1, slot, 0, **d)
    p.put(REQUEST)


def wild_descriptors(path):
    end = Peer.region_bytes(Peer)
    for lie in ({"region": 1}, {"region": 65535}, {"offset": 0xffffffff}, {"offset": end, "length": 1}, {"length": 0xffffffff},
                {"offset": end - 59, "length": 60}):
        broken(path, "out of its region", lambda p: sent(p, **({"length": 60} | lie)))
        broken(path, "out of its region", lambda p: all_back(p, **lie))
    broken(path, "out of its region", lambda p: all_back(p, length=0))


def wild_indices(path):
    for jump in (65, 32768, 65535):
        broken(path, "ran ahead", lambda p: p.head(0, p.tail(0) + jump))
    broken(path, "ran ahead", lambda p: (p.get(), p.head(1, p.tail(1) + 65), p.put(REQUEST)))


def odd_frames(path):
    """Frames that no packet can hold are counted, and the link stays."""
    p = Peer(path).up()
    assert p.answered()
    sent(p, length=0)
    sent(p, length=4096, offset=0)
    sent(p, length=60, flags=NEXT)  # and no next one
    assert p.answered()
    time.sleep(0.2)
    for _ in range(200):
        p.put(os.urandom(random.randrange(1, 2048)), parts=random.randrange(1, 5))
        time.sleep(0.001)
    assert p.answered()


def noise(path):
    """Random words everywhere, while the server works."""
    for seed in range(30):
        chance = random.Random(seed)
        p = Peer(path).up()
        for _ in range(200):
            at = chance.randrange(p.buffer(0, 0))
            p.mem[at:at + 2] = chance.randbytes(2)
            p.head(0, p.tail(0) + chance.randrange(60))
        p.s.close()
        time.sleep(0.05)


if __name__ == "__main__":
    globals()[sys.argv[2]](sys.argv[1])
