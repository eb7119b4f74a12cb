"""The network around the server, played by hand on the kernel's end of a veth pair.

    net.py IFACE announced SECONDS      the server announces its address while it starts
    net.py IFACE conflict MAC           claims of its address: one announcement
    net.py IFACE silent MAC             65,000 hosts on the link that never answer ARP get a RST each
    net.py IFACE errors MAC             more datagrams to a closed port than ICMP errors are due
    net.py IFACE hoard MAC COUNT        so many connections that ask, and then close their window
    net.py IFACE icmp MAC               ICMP errors about a connection, in and out of its window
"""
import fcntl
import socket
import struct
import sys
import time

SERVER, PEER = bytes([10, 99, 0, 2]), bytes([10, 99, 0, 77])
PEER_MAC = bytes.fromhex("020000000077")
ALL = b"\xff" * 6
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
link.bind((sys.argv[1], 0))


def sum16(b):
    b += b"\0" * (len(b) & 1)
    s = sum(struct.unpack(">%dH" % (len(b) // 2), b))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return s ^ 0xFFFF


def ip(to_mac, source, proto, body):
    h = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 1, 0x4000, 64, proto, 0) + source + SERVER
    h = h[:10] + struct.pack(">H", sum16(h)) + h[12:]
    return (to_mac + PEER_MAC + b"\x08\x00" + h + body).ljust(60, b"\0")


def tcp(to_mac, source, sport, dport, seq, ack, flags, data=b"", options=b"", window=65535):
    off = (20 + len(options)) // 4 << 4
    t = struct.pack(">HHIIBBHHH", sport, dport, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, off, flags, window, 0, 0)
    t += options + data
    t = t[:16] + struct.pack(">H", sum16(source + SERVER + struct.pack(">HH", 6, len(t)) + t)) + t[18:]
    return ip(to_mac, source, 6, t)


def arp(op, to_mac, sender_mac, sender, target_mac, target):
    return (to_mac + sender_mac + bytes.fromhex("080600010800060400") + bytes([op]) + sender_mac + sender + target_mac +
            target).ljust(60, b"\0")


def frames(seconds):
    """Frames that arrive within so many seconds."""
    end = time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        if left <= 0:
            return
        link.settimeout(left)
        try:
            f, where = link.recvfrom(65536)
        except socket.timeout:
            return
        if where[2] != socket.PACKET_OUTGOING:
            yield f


def is_announcement(f):
    return f[12:14] == b"\x08\x06" and f[:6] == ALL and f[20:22] == b"\0\1" and f[28:32] == f[38:42] == SERVER


def announced():
    print("ready", flush=True)
    assert any(is_announcement(f) for f in frames(float(sys.argv[3]))), "no announcement"


def conflict(mac):
    for _ in range(20):
        link.send(arp(1, ALL, PEER_MAC, SERVER, bytes(6), SERVER))
    seen = [f for f in frames(1.0) if is_announcement(f)]
    assert len(seen) == 1, "%d announcements" % len(seen)
    assert seen[0][6:12] == mac and seen[0][22:28] == mac


def silent(mac):
    for i in range(65000):
        source = bytes([10, 99, 1 + i // 256 % 254, i % 256])
        link.send(tcp(mac, source, 1024 + i // 65024, 81, i, 0, 2))
        if i % 100 == 0:
            time.sleep(0.005)


def errors(mac):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(15)
    s.connect(("10.99.0.2", 4444))
    s.send(b"nobody")
    try:
        s.recv(10)
        raise SystemExit("an answer from a closed port")
    except ConnectionRefusedError:
        pass  # the kernel has found its own datagram in the error
    began = time.monotonic()
    body = struct.pack(">HHHH", 5555, 4444, 12, 0) + b"none"
    for _ in range(5000):
        link.send(ip(mac, PEER, 17, body))
    got, elapsed = 0, 0.0
    for f in frames(0.7):
        if f[12:14] == b"\x08\x00" and f[23] == 1 and f[30:34] == PEER and f[34] == 3:
            got, elapsed = got + 1, time.monotonic() - began
            assert f[35] == 3 and f[:6] == PEER_MAC and sum16(f[34:14 + struct.unpack(">H", f[16:18])[0]]) == 0
            assert f[42 + 20:42 + 28] == body[:8], "it quotes another datagram"
    # One source has a fourth of 1,000 a second, and a fourth of a second's worth of that at once (src/base/limit.h).
    most = 250 / 4 + 250 * elapsed + 2
    print(f"{got} errors for 5000 datagrams in {elapsed:.2f} s, at most {most:.0f} are due")
    assert 50 <= got <= most


def hoard(mac):
    """Answers ARP and SYN-ACKs for a minute, or until killed; lets no byte of an answer in."""
    count, asked = int(sys.argv[4]), set()
    request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    for first in range(0, count, 100):
        for port in range(10000 + first, 10000 + min(first + 100, count)):
            link.send(tcp(mac, PEER, port, 80, 1000, 0, 2, options=b"\x02\x04\x05\xb4"))
        for f in frames(5 if first == 0 else 0.5):
            if f[12:14] == b"\x08\x06" and f[20:22] == b"\0\1" and f[38:42] == PEER:
                link.send(arp(2, mac, PEER_MAC, PEER, mac, SERVER))
            if f[12:14] != b"\x08\x00" or f[23] != 6 or f[30:34] != PEER or f[47] != 0x12:
                continue
            port, seq = struct.unpack(">H", f[36:38])[0], struct.unpack(">I", f[38:42])[0]
            link.send(tcp(mac, PEER, port, 80, 1001, seq + 1, 0x18, request, window=0))
            asked.add(port)
            if len(asked) >= first + 100:
                break
    print(f"{len(asked)} connections hoard", flush=True)
    for f in frames(60):
        if f[12:14] == b"\x08\x06" and f[20:22] == b"\0\1" and f[38:42] == PEER:
            link.send(arp(2, mac, PEER_MAC, PEER, mac, SERVER))


class Connection:
    """A TCP client by hand: acknowledges when told to."""

    def __init__(self, mac, path):
        self.mac, self.sport, self.seq = mac, 40000, 1000
        self.send(2, options=b"\x02\x04\x05\xb4")
        syn_ack = self.segments(2)[0]
        assert syn_ack["flags"] & 0x12 == 0x12
        self.seq += 1
        self.ack = syn_ack["seq"] + 1
        self.first = self.ack
        self.send(0x10)
        request = b"GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % path
        self.send(0x18, request)
        self.seq += len(request)

    def send(self, flags, data=b"", options=b""):
        ack = getattr(self, "ack", 0)
        link.send(tcp(self.mac, PEER, self.sport, 80, self.seq, ack, flags, data, options))

    def segments(self, seconds, enough=1):
        """Waits for segments of the connection; answers ARP."""
        out = []
        for f in frames(seconds):
            if f[12:14] == b"\x08\x06" and f[20:22] == b"\0\1" and f[38:42] == PEER:
                link.send(arp(2, self.mac, PEER_MAC, PEER, self.mac, SERVER))
            if f[12:14] != b"\x08\x00" or f[23] != 6 or f[30:34] != PEER:
                continue
            total = struct.unpack(">H", f[16:18])[0]
            head = (f[46] >> 4) * 4
            out.append({"seq": struct.unpack(">I", f[38:42])[0], "flags": f[47], "total": total, "ip": f[14:14 + total],
                        "data": f[34 + head:14 + total]})
            if len(out) >= enough:
                break
        return out

    def error(self, kind, code, quoted, mtu=0):
        m = struct.pack(">BBHHH", kind, code, 0, 0, mtu) + quoted
        m = m[:2] + struct.pack(">H", sum16(m)) + m[4:]
        link.send(ip(self.mac, bytes([10, 99, 0, 1]), 1, m))

    def read_all(self):
        """Acknowledges all that comes in order, to the FIN; returns the stream."""
        stream, kept, largest = b"", {}, 0
        while True:
            self.send(0x10)
            got = self.segments(3)
            assert got, "nothing more comes"
            got += self.segments(0.002, enough=64)
            for s in got:
                assert not s["flags"] & 4, "reset"
                largest = max(largest, s["total"])
                kept[s["seq"]] = max(kept.get(s["seq"], (b"", 0)), (s["data"], s["flags"] & 1))
            while self.ack in kept:
                data, fin = kept.pop(self.ack)
                stream += data
                self.ack += len(data)
                if fin:
                    self.ack += 1
                    self.send(0x11)
                    return stream, largest
                if not data:
                    break


def icmp(mac):
    c = Connection(mac, b"/big.bin")
    flight = c.segments(1.0, enough=10)
    first = next(s for s in flight if s["data"])
    assert first["seq"] == c.first and first["total"] == 1500, first["total"]
    quoted = first["ip"][:28]
    wrong = lambda at, value: quoted[:at] + value + quoted[at + len(value):]
    c.error(3, 4, wrong(24, struct.pack(">I", first["seq"] - 5000)), 600)  # not in flight: icmp_sequence
    c.error(3, 4, wrong(22, b"\x01\x01"), 600)  # no such connection: icmp_no_owner
    c.error(3, 1, quoted)  # host unreachable: noted, and the connection lives
    assert not [s for s in c.segments(0.1, enough=100) if s["total"] < 1000 and s["data"]], "one of them was believed"
    c.error(3, 4, quoted, 1000)
    again = [s for s in c.segments(0.5, enough=3) if s["seq"] == c.first]
    assert again and again[0]["total"] == 1000, [s["total"] for s in again]
    c.error(3, 4, again[0]["ip"][:28], 1400)  # never up again
    c.error(3, 4, again[0]["ip"][:28], 68)  # and not below 552
    stream, largest = c.read_all()
    head, _, body = stream.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200") and body == bytes(range(256)) * 1000, "another file"
    assert largest <= 1000, largest


mode = sys.argv[2]
if mode == "announced":
    announced()
else:
    {"conflict": conflict, "silent": silent, "errors": errors, "hoard": hoard, "icmp": icmp}[mode](bytes.fromhex(sys.argv[3].replace(":", "")))
