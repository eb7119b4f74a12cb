"""Frames with a lie in each layer, each of which has to end as a counted drop. Prints each reason and how often."""
import collections
import socket
import struct
import sys

INTERFACE, MAC = sys.argv[1], bytes.fromhex(sys.argv[2].strip().replace(":", ""))
OURS = bytes.fromhex("020000000001")
SRC, DST = socket.inet_aton("10.99.0.1"), socket.inet_aton("10.99.0.2")


def sum16(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip(payload, proto=6, **lies):
    total = lies.get("total", 20 + len(payload))
    head = struct.pack("!BBHHHBBH4s4s", lies.get("vihl", 0x45), 0, total, 0, lies.get("frag", 0), 64,
                       proto, 0, lies.get("src", SRC), lies.get("dst", DST))
    check = lies.get("check", sum16(head))
    return head[:10] + struct.pack("!H", check) + head[12:] + payload


def tcp(options=b"", data=b"", offset=None, flags=2, good=True, ports=(4000, 7)):
    length = 20 + len(options) + len(data)
    off = (20 + len(options)) // 4 if offset is None else offset
    head = struct.pack("!HHIIBBHHH", *ports, 1, 0, off << 4, flags, 1000, 0, 0)
    pseudo = SRC + DST + struct.pack("!BBH", 0, 6, length)
    check = sum16(pseudo + head + options + data) ^ (0 if good else 0x1234)
    return head[:16] + struct.pack("!H", check) + head[18:] + options + data


def eth(payload, kind=0x0800, dst=MAC):
    return dst + OURS + struct.pack("!H", kind) + payload


bad = [
    ("eth_type_unknown", eth(b"", kind=0x1234)),
    ("eth_not_for_us", eth(ip(tcp()), dst=bytes.fromhex("0200000000ff"))),
    ("arp_malformed", eth(b"\0" * 10, kind=0x0806)),
    ("arp_malformed", eth(b"\xff" * 28, kind=0x0806)),
    ("ip_short", eth(b"\x45" * 10)),
    ("ip_version", eth(ip(tcp(), vihl=0x65))),
    ("ip_header_length", eth(ip(tcp(), vihl=0x44))),
    ("ip_header_length", eth(ip(tcp(), vihl=0x4F, check=0))),
    ("ip_total_length", eth(ip(tcp(), total=19))),
    ("ip_total_length", eth(ip(tcp(), total=4000))),
    ("ip_checksum", eth(ip(tcp(), check=0x1111))),
    ("fragment_length", eth(ip(tcp(), frag=0x2000))),
    ("fragment_length", eth(ip(tcp(), frag=0x1FFF))),
    ("ip_source", eth(ip(tcp(), src=socket.inet_aton("255.255.255.255")))),
    ("ip_source", eth(ip(tcp(), src=DST))),
    ("ip_not_for_us", eth(ip(tcp(), dst=socket.inet_aton("10.99.0.77")))),
    ("ip_protocol", eth(ip(b"x" * 20, proto=132))),
    ("icmp_checksum", eth(ip(tcp(), proto=1))),
    ("tcp_short", eth(ip(tcp()[:10]))),
    ("tcp_header_length", eth(ip(tcp(offset=4)))),
    ("tcp_header_length", eth(ip(tcp(offset=15)))),
    ("tcp_checksum", eth(ip(tcp(good=False)))),
    ("tcp_options", eth(ip(tcp(options=b"\x02\x00\x05\xb4")))),
    ("tcp_options", eth(ip(tcp(options=b"\x02\x01\x05\xb4")))),
    ("tcp_options", eth(ip(tcp(options=b"\x01\x01\x02\x28")))),
    ("tcp_options", eth(ip(tcp(options=b"\x08\xff\x00\x00")))),
    ("tcp_port_zero", eth(ip(tcp(ports=(0, 7))))),
    ("tcp_no_owner", eth(ip(tcp(flags=4)))),
]
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((INTERFACE, 0))
for _, frame in bad:
    s.send(frame)
for reason, count in collections.Counter(reason for reason, _ in bad).items():
    print(reason, count)
