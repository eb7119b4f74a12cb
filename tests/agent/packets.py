"""Frames built and read by hand: Ethernet, ARP, neighbor discovery, IPv4, IPv6, TCP, UDP, ICMP."""
import socket
import struct
import time
from dataclasses import dataclass, field

BITS = (("C", 128), ("E", 64), ("S", 2), ("F", 1), ("R", 4), ("P", 8), ("A", 16), ("U", 32))
TCP, UDP, ICMP, ICMP6 = 6, 17, 1, 58


def sum16(b):
    """RFC 1071."""
    b += b"\0" * (len(b) & 1)
    s = sum(struct.unpack(f">{len(b) // 2}H", b))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return s ^ 0xFFFF


def packed(host):
    return socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host)


def pseudo(src, dst, proto, n):
    """The pseudo header of either family."""
    if len(src) == 4:
        return src + dst + struct.pack(">HH", proto, n)
    return src + dst + struct.pack(">II", n, proto)


def ip_packet(src, dst, proto, body, ttl=64, tos=0):
    """src, dst: packed addresses of one family."""
    if len(src) == 16:
        return struct.pack(">IHBB", 6 << 28 | tos << 20, len(body), proto, ttl) + src + dst + body
    head = struct.pack(">BBHHHBBH", 0x45, tos, 20 + len(body), 1, 0x4000, ttl, proto, 0) + src + dst
    return head[:10] + struct.pack(">H", sum16(head)) + head[12:] + body


def with_sum(src, dst, proto, body, at):
    """body with its checksum, over the pseudo header, at offset `at`."""
    s = sum16(pseudo(src, dst, proto, len(body)) + body)
    return body[:at] + struct.pack(">H", s) + body[at + 2:]


def flag_bits(letters):
    return sum(bit for name, bit in BITS if name in letters)


def tcp_packet(src, dst, sport, dport, seq, ack, flags, window, data=b"", options=b"", ttl=64, tos=0):
    options += b"\0" * (-len(options) % 4)
    body = struct.pack(">HHIIBBHHH", sport, dport, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, (20 + len(options)) // 4 << 4,
                       flag_bits(flags), window, 0, 0) + options + data
    return ip_packet(src, dst, TCP, with_sum(src, dst, TCP, body, 16), ttl, tos)


def udp_packet(src, dst, sport, dport, data):
    body = struct.pack(">HHHH", sport, dport, 8 + len(data), 0) + data
    return ip_packet(src, dst, UDP, with_sum(src, dst, UDP, body, 6))


def icmp_error(src, dst, kind, code, quoted, more=0):
    """An ICMP or ICMPv6 error about the IP packet `quoted`; more: the MTU, where the type has one."""
    if len(src) == 4:
        body = struct.pack(">BBHI", kind, code, 0, more) + quoted[:548]
        return ip_packet(src, dst, ICMP, body[:2] + struct.pack(">H", sum16(body)) + body[4:])
    body = struct.pack(">BBHI", kind, code, 0, more) + quoted[:1200]
    return ip_packet(src, dst, ICMP6, with_sum(src, dst, ICMP6, body, 2))


def options_of(b):
    """{kind: body}; of a repeated kind the last."""
    got, i = {}, 0
    while i < len(b) and b[i] != 0:
        if b[i] == 1:
            i += 1
            continue
        if i + 1 >= len(b) or b[i + 1] < 2:
            break
        got[b[i]] = b[i + 2:i + b[i + 1]]
        i += b[i + 1]
    return got


@dataclass
class Packet:
    """An IP packet that arrived; for TCP also its segment."""
    ip: bytes
    src: bytes
    dst: bytes
    proto: int
    ttl: int
    tos: int
    dont_fragment: bool
    body: bytes
    at: float = field(default_factory=time.monotonic)
    sport: int = 0
    dport: int = 0
    seq: int = 0
    ack: int = 0
    flags: str = ""
    window: int = 0
    options: dict = field(default_factory=dict)
    data: bytes = b""
    fresh: int = 0  # see Conn.next

    def has(self, letters):
        """Exactly these flags, P aside."""
        return set(self.flags) - {"P"} == set(letters)

    def __str__(self):
        """The flags without P, which is the sender's taste, and the length of the data."""
        flags = self.flags.replace("P", "")
        return f"{flags} {len(self.data)}" if self.data else flags


def parse(ip):
    """The Packet of these bytes, None where they are none we know."""
    if len(ip) < 20:
        return None
    if ip[0] >> 4 == 4:
        n = (ip[0] & 15) * 4
        total, frag = struct.unpack(">H2xH", ip[2:8])
        p = Packet(ip[:total], ip[12:16], ip[16:20], ip[9], ip[8], ip[1], bool(frag & 0x4000), ip[n:total])
    elif ip[0] >> 4 == 6 and len(ip) >= 40:
        head, n = struct.unpack(">IH", ip[:6])
        p = Packet(ip[:40 + n], ip[8:24], ip[24:40], ip[6], ip[7], head >> 20 & 0xFF, False, ip[40:40 + n])
    else:
        return None
    if p.proto == TCP and len(p.body) >= 20:
        p.sport, p.dport, p.seq, p.ack, off, flags, p.window = struct.unpack(">HHIIBBH", p.body[:16])
        p.flags = "".join(name for name, bit in BITS if flags & bit)
        p.options, p.data = options_of(p.body[20:(off >> 4) * 4]), p.body[(off >> 4) * 4:]
    elif p.proto == UDP and len(p.body) >= 8:
        p.sport, p.dport = struct.unpack(">HH", p.body[:4])
        p.data = p.body[8:]
    return p
