"""What options and calls do to the segments that the hand-driven peer sees, and TCP_INFO beside them."""
import socket
import struct
import time

from bench import case, pattern, pause
from names import TCP_STATES
from sut import POLLIN

SOL, TCP = socket.SOL_SOCKET, socket.IPPROTO_TCP
ALL_OPTIONS = b"\x02\x04\x05\xb4\x04\x02\x08\x0a\x00\x00\x03\xe8\x00\x00\x00\x00\x01\x03\x03\x07"  # MSS 1460, SACK, TS 1000, scale 7


def info_of(end):
    """The fields of TCP_INFO by name: Linux's struct tcp_info up to total_retrans, then some of the rest."""
    b = end.info()
    names = ("state ca_state retransmits probes backoff options scales delivery_limited rto ato snd_mss rcv_mss unacked "
             "sacked lost retrans fackets last_data_sent last_ack_sent last_data_recv last_ack_recv pmtu rcv_ssthresh rtt "
             "rttvar snd_ssthresh snd_cwnd advmss reordering rcv_rtt rcv_space total_retrans").split()
    return dict(zip(names, struct.unpack_from("=8B24I", b)))


@case()
def ttl(t):
    """IP_TTL or IPV6_UNICAST_HOPS is in every packet, of the SYN-ACK on."""
    option = socket.IP_TTL if t.family == 4 else socket.IPV6_UNICAST_HOPS
    listener = t.stream()
    listener.setsockopt(t.level, option, 33)
    listener.bind((t.SUT, t.port()))
    listener.listen(1)
    conn = t.raw.opener(t.SUT, 30000, t.port())
    t.note("SYN-ACK", conn.open().ttl)
    conn.ack()
    end = listener.accept()[0]
    end.write(b"a")
    t.note("data", conn.expect("A", data=True).ttl)
    conn.ack()
    end.setsockopt(t.level, option, 5)
    end.write(b"a")
    t.note("changed", conn.expect("A", data=True).ttl)


@case()
def ttl_of_syn(t):
    """IP_TTL of a connecting socket is in its SYN."""
    t.raw
    end = t.stream(0o4000)
    end.setsockopt(t.level, socket.IP_TTL if t.family == 4 else socket.IPV6_UNICAST_HOPS, 9)
    end.connect((t.RAW, t.port()))
    t.note("SYN", t.raw.syn().first.ttl)


@case()
def tos(t):
    """IP_TOS or IPV6_TCLASS is in every packet."""
    option = socket.IP_TOS if t.family == 4 else socket.IPV6_TCLASS
    t.raw
    end = t.stream()
    end.setsockopt(t.level, option, 0x10)
    later = t.start(end.connect, (t.RAW, t.port()))
    conn = t.raw.syn()
    t.note("SYN", conn.first.tos)
    conn.synack()
    later.result()
    end.write(b"a")
    t.note("data", conn.expect("A", data=True).tos)
    conn.ack()
    end.setsockopt(t.level, option, 0xB8)
    end.write(b"a")
    t.note("changed", conn.expect("A", data=True).tos)


@case()
def tos_of_listener(t):
    """IP_TOS of a listener is in what it accepted; the SYN-ACK alike."""
    option = socket.IP_TOS if t.family == 4 else socket.IPV6_TCLASS
    listener = t.stream()
    listener.setsockopt(t.level, option, 0x20)
    listener.bind((t.SUT, t.port()))
    listener.listen(1)
    conn = t.raw.opener(t.SUT, 30000, t.port())
    t.note("SYN-ACK", conn.open().tos)
    conn.ack()
    end = listener.accept()[0]
    t.note("get", end.get(t.level, option))
    end.write(b"a")
    t.note("data", conn.expect("A", data=True).tos)


@case((4,))
def dont_fragment(t):
    """IP_PMTUDISC_DONT takes the DF bit off."""
    end, conn = t.raw_accepted()
    end.write(b"a")
    t.note("at first", conn.expect("A", data=True).dont_fragment)
    conn.ack()
    end.setsockopt(socket.IPPROTO_IP, 10, 0)
    end.write(b"a")
    t.note("without", conn.expect("A", data=True).dont_fragment)


@case()
def max_segment_offered(t):
    """TCP_MAXSEG is the MSS of the SYN, and bounds what is sent."""
    t.raw
    end = t.stream()
    end.setsockopt(TCP, socket.TCP_MAXSEG, 600)
    later = t.start(end.connect, (t.RAW, t.port()))
    conn = t.raw.syn()
    t.note("SYN", int.from_bytes(conn.first.options[2], "big"))
    conn.synack()
    later.result()
    end.write(pattern(1500))
    t.note("longest", max(len(p.data) for p in conn.all(0.15)))


@case()
def max_segment_of_listener(t):
    """TCP_MAXSEG of a listener is the MSS of its SYN-ACK."""
    listener = t.stream()
    listener.setsockopt(TCP, socket.TCP_MAXSEG, 600)
    listener.bind((t.SUT, t.port()))
    listener.listen(1)
    conn = t.raw.opener(t.SUT, 30000, t.port())
    t.note("SYN-ACK", int.from_bytes(conn.open().options[2], "big"))
    conn.ack()
    end = listener.accept()[0]
    end.write(pattern(1500))
    t.note("longest", max(len(p.data) for p in conn.all(0.15)))


@case()
def options_answered(t):
    """A SYN-ACK has those options that the SYN has."""
    t.listener()
    for i, options in enumerate((b"", b"\x02\x04\x05\xb4", b"\x02\x04\x05\xb4\x04\x02\x01\x01",
                                 b"\x02\x04\x05\xb4\x01\x03\x03\x02", ALL_OPTIONS)):
        conn = t.raw.opener(t.SUT, 30000 + i, t.port())
        t.note(f"{i}", sorted(conn.open(options=options).options))
        conn.rst()


@case()
def timestamps(t):
    """With timestamps every segment has them, and echoes the last that came."""
    t.listener()
    conn = t.raw.opener(t.SUT, 30000, t.port())
    p = conn.open(options=ALL_OPTIONS)
    t.note("echo", int.from_bytes(p.options[8][4:], "big"))
    theirs = p.options[8][:4]
    conn.send("PA", b"abc", options=b"\x01\x01\x08\x0a" + struct.pack(">I", 2000) + theirs)
    p = conn.expect("A")
    t.note("echo then", int.from_bytes(p.options[8][4:], "big"))
    conn.send("PA", b"def", options=b"\x01\x01\x08\x0a" + struct.pack(">I", 1500) + theirs)
    p = conn.expect("A")
    t.note("an old one (PAWS)", conn.told(p))


@case()
def selective(t):
    """A gap is told by a SACK block."""
    listener = t.listener()
    conn = t.raw.connect(t.SUT, 30000, t.port(), options=b"\x02\x04\x05\xb4\x04\x02\x01\x01")
    listener.accept()
    conn.send("PA", b"def", seq=conn.snd_nxt + 3)
    p = conn.expect("A")
    block = p.options.get(5)
    t.note("block", [x - conn.iss & 0xFFFFFFFF for x in struct.unpack(">II", block[:8])] if block else None)


@case()
def duplicate_told(t):
    """Data that comes twice is told by a duplicate SACK."""
    listener = t.listener()
    conn = t.raw.connect(t.SUT, 30000, t.port(), options=b"\x02\x04\x05\xb4\x04\x02\x01\x01")
    listener.accept()
    conn.send("PA", b"abc")
    conn.expect("A")
    conn.send("PA", b"abc", seq=conn.snd_nxt - 3)
    p = conn.expect("A")
    block = p.options.get(5) if p else None
    t.note("block", [x - conn.iss & 0xFFFFFFFF for x in struct.unpack(">II", block[:8])] if block else None)


@case()
def delayed_ack(t):
    """With TCP_QUICKACK off a lone segment is acknowledged late, two at once."""
    end, conn = t.raw_accepted()
    for _ in range(20):
        conn.send("PA", b"x" * 100)
        conn.expect("A")
    end.setsockopt(TCP, socket.TCP_QUICKACK, 0)
    conn.send("PA", b"lone")
    t.note("at last", conn.expect("A", 0.5) is not None)


@case()
def quick_ack(t):
    """At the begin of a connection a lone segment is acknowledged at once: in less than the 40 ms of a delay,
    of three tries at least once."""
    times = []
    for i in range(3):
        end, conn = t.raw_accepted(i)
        begin = time.monotonic()
        conn.send("PA", b"lone")
        times.append(conn.expect("A", 1).at - begin)
    t.note("at once", min(times) < 0.03)


@case()
def fast_retransmit(t):
    """Three duplicate ACKs bring the segment again before its time."""
    end, conn = t.raw_accepted(options=b"\x02\x04\x01\xf4")
    end.write(pattern(2500))
    first = conn.expect("A", data=True)
    for _ in range(4):
        conn.expect("A", 0.5, data=True)
    for _ in range(3):
        conn.send("A", ack=first.seq)
    t.note("again", any(p.seq == first.seq for p in conn.all(0.12)))


@case()
def fast_retransmit_selective(t):
    """SACK blocks that show a gap bring the segment again before its time."""
    listener = t.listener()
    conn = t.raw.connect(t.SUT, 30000, t.port(), options=b"\x02\x04\x01\xf4\x04\x02\x01\x01")
    end = listener.accept()[0]
    end.write(pattern(2500))
    first = conn.expect("A", data=True)
    for _ in range(4):
        conn.expect("A", 0.5, data=True)
    for n in (1, 2, 3, 4):
        block = struct.pack(">II", first.seq + 500 & 0xFFFFFFFF, first.seq + 500 * (n + 1) & 0xFFFFFFFF)
        conn.send("A", ack=first.seq, options=b"\x01\x01\x05\x0a" + block)
    t.note("again", any(p.seq == first.seq for p in conn.all(0.12)))


@case()
def initial_window(t):
    """Ten segments go before the first ACK."""
    end, conn = t.raw_accepted(options=b"\x02\x04\x01\xf4")
    end.write(pattern(20000))
    t.note("bytes", sum(len(p.data) for p in conn.all(0.12)))


@case()
def window_of_receiver(t):
    """The window that is offered never shrinks: its right edge moves only up."""
    listener = t.listener()
    conn = t.raw.connect(t.SUT, 30000, t.port(), options=b"\x02\x04\x05\xb4")
    listener.accept()
    edge, ok = 0, True
    for _ in range(30):
        conn.send("PA", pattern(1000))
        p = conn.expect("A", 0.5)
        if p is None:
            continue
        now = (p.ack - conn.iss & 0xFFFFFFFF) + p.window
        ok, edge = ok and now >= edge, max(now, edge)
    t.note("never shrinks", ok)


@case()
def window_update(t):
    """Reading from a full receive buffer tells the peer of the room."""
    listener = t.stream()
    listener.setsockopt(SOL, socket.SO_RCVBUF, 8192)
    listener.bind((t.SUT, t.port()))
    listener.listen(1)
    conn = t.raw.connect(t.SUT, 30000, t.port())
    end = listener.accept()[0]
    window = 1
    for _ in range(150):
        conn.send("PA", pattern(min(window, 1000)) if window else b"x")
        p = conn.expect("A", 1)
        if p is None:
            break
        window = p.window
        if window == 0:
            break
    t.note("closed", window)
    conn.all(0.1)
    while isinstance(got := end.recv(65536, socket.MSG_DONTWAIT), bytes) and got:
        pass
    p = conn.expect("A", 1)
    t.note("open again", p is not None and p.window > 1000)


@case()
def receive_buffer_bounds_window(t):
    """A small SO_RCVBUF before listen makes a small window."""
    listener = t.stream()
    listener.setsockopt(SOL, socket.SO_RCVBUF, 4096)
    listener.bind((t.SUT, t.port()))
    listener.listen(1)
    conn = t.raw.opener(t.SUT, 30000, t.port())
    t.note("less than 8192", conn.open(options=b"\x02\x04\x05\xb4").window <= 8192)


@case()
def info_established(t):
    """TCP_INFO of a fresh connection: state, options, MSS, MTU."""
    listener = t.listener()
    conn = t.raw.connect(t.SUT, 30000, t.port(), options=b"\x02\x04\x05\x78\x04\x02\x01\x03\x03\x05\x01\x01")
    end = listener.accept()[0]
    got = info_of(end)
    t.note("state", TCP_STATES[got["state"]])
    t.note("options", got["options"] & 7)
    t.note("scale of the peer", got["scales"] & 15)
    for name in ("ca_state", "retransmits", "probes", "backoff", "snd_mss", "advmss", "pmtu", "unacked", "sacked", "lost",
                 "retrans", "total_retrans", "snd_cwnd", "reordering"):
        t.note(name, got[name])


@case()
def info_options(t):
    """TCP_INFO's options with everything negotiated: timestamps, SACK, window scale."""
    listener = t.listener()
    conn = t.raw.opener(t.SUT, 30000, t.port())
    p = conn.open(options=ALL_OPTIONS)
    conn.send("A", options=b"\x01\x01\x08\x0a" + struct.pack(">I", 1001) + p.options[8][:4])
    got = info_of(listener.accept()[0])
    t.note("options", got["options"])
    t.note("scale of the peer", got["scales"] & 15)
    t.note("snd_mss", got["snd_mss"])


@case()
def info_unacked(t):
    """TCP_INFO counts segments in flight, retransmissions and the timeout's doubling."""
    end, conn = t.raw_accepted()
    end.write(b"data")
    conn.expect("A", data=True)
    t.note("unacked", info_of(end)["unacked"])
    conn.expect("A", 2, data=True)
    pause(0.03)
    got = info_of(end)
    for name in ("retransmits", "backoff", "total_retrans", "ca_state", "lost", "retrans", "snd_cwnd"):
        t.note(name, got[name])
    conn.ack()
    pause(0.1)
    got = info_of(end)
    for name in ("unacked", "retransmits", "backoff", "total_retrans", "ca_state"):
        t.note(f"{name} then", got[name])


@case()
def info_probes(t):
    """TCP_INFO counts probes of a closed window."""
    end, conn = t.raw_accepted(window=0)
    end.write(b"stuck")
    conn.expect("A", 2)
    pause(0.03)
    got = info_of(end)
    t.note("probes", got["probes"])
    t.note("unacked", got["unacked"])


@case()
def info_times(t):
    """TCP_INFO's times since data was sent and received are milliseconds."""
    end, conn = t.raw_accepted()
    begin = time.monotonic()
    end.write(b"a")
    conn.take(1)
    conn.send("PA", b"b")
    pause(0.5)
    got = info_of(end)
    passed_ms = (time.monotonic() - begin) * 1000
    for name in ("last_data_sent", "last_data_recv", "last_ack_recv"):
        t.note(name, 350 <= got[name] <= passed_ms + 20)
    t.note("rto", 200000 <= got["rto"] <= 400000)
    t.note("rtt", 0 < got["rtt"] < 100000)


@case()
def info_bytes(t):
    """TCP_INFO's counts of bytes acknowledged and received, and of segments."""
    end, conn = t.raw_accepted()
    end.write(b"12345")
    conn.take(5)
    conn.send("PA", b"123")
    pause(0.1)
    b = end.info()
    acked, received = struct.unpack_from("=QQ", b, 120)
    segs_out, segs_in, notsent, min_rtt, data_in, data_out = struct.unpack_from("=6I", b, 136)
    t.note("bytes acknowledged", acked)
    t.note("bytes received", received)
    t.note("data segments", (data_in, data_out))
    t.note("not sent", notsent)
    t.note("segments in", segs_in)


@case()
def info_closed(t):
    """TCP_INFO of a fresh and of a reset socket."""
    t.note("fresh", TCP_STATES[info_of(t.stream())["state"]])
    end, conn = t.raw_accepted()
    conn.rst()
    pause(0.1)
    t.note("reset", TCP_STATES[info_of(end)["state"]])


@case()
def push_at_end(t):
    """The last segment of a write has PSH, those before it need not."""
    end, conn = t.raw_accepted(options=b"\x02\x04\x01\xf4")
    end.write(pattern(1300))
    got = [p for p in conn.all(0.12) if p.data]
    t.note("lengths", [len(p.data) for p in got])
    t.note("last", "P" in got[-1].flags)


@case()
def idle_says_nothing(t):
    """An idle connection sends nothing."""
    end, conn = t.raw_accepted()
    t.note("segments", [str(p) for p in conn.all(1.5)])


@case()
def ecn_accepted(t):
    """A SYN that asks for ECN is answered so, and CE marks are echoed until CWR."""
    listener = t.listener()
    conn = t.raw.opener(t.SUT, 30000, t.port())
    conn.send("SEC", options=b"\x02\x04\x05\xb4")
    p = conn.expect(None)
    t.note("SYN-ACK", str(p))
    conn.irs, conn.rcv_nxt = p.seq, p.seq + 1 & 0xFFFFFFFF
    conn.ack()
    listener.accept()
    conn.send("PA", b"abc", tos=3)
    t.note("marked", str(conn.expect(None)))
    conn.send("PA", b"def", tos=2)
    t.note("next", str(conn.expect(None)))
    conn.send("PAC", b"ghi", tos=2)
    t.note("CWR", str(conn.expect(None)))


@case()
def checksum_wrong(t):
    """A segment with a wrong checksum is ignored."""
    from packets import tcp_packet
    end, conn = t.raw_accepted()
    bad = bytearray(tcp_packet(conn.mine, conn.sut, conn.port, conn.sut_port, conn.snd_nxt, conn.rcv_nxt, "PA", 1000, b"bad"))
    bad[-1] ^= 1
    t.raw.ip(bytes(bad))
    t.note("quiet", [str(p) for p in conn.all(0.2)])
    conn.send("PA", b"good")
    t.note("read", end.read(10))
