"""Frames with a lie in each layer, each of which has to end as a counted drop. Prints how many."""
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
    eth(b"", kind=0x1234), eth(b"\x45" * 10), eth(ip(tcp(), vihl=0x65)), eth(ip(tcp(), vihl=0x44)),
    eth(ip(tcp(), vihl=0x4F, check=0)), eth(ip(tcp(), total=19)), eth(ip(tcp(), total=4000)),
    eth(ip(tcp(), check=0x1111)), eth(ip(tcp(), frag=0x2000)), eth(ip(tcp(), frag=0x0005)),
    eth(ip(tcp(), src=socket.inet_aton("255.255.255.255"))), eth(ip(tcp(), src=DST)),
    eth(ip(tcp(), dst=socket.inet_aton("10.99.0.77"))), eth(ip(b"x" * 20, proto=132)),
    eth(ip(tcp()[:10])), eth(ip(tcp(offset=4))), eth(ip(tcp(offset=15))), eth(ip(tcp(good=False))),
    eth(ip(tcp(options=b"\x02\x00\x05\xb4"))), eth(ip(tcp(options=b"\x02\x01\x05\xb4"))),
    eth(ip(tcp(options=b"\x01\x01\x02\x28"))), eth(ip(tcp(options=b"\x08\xff\x00\x00"))),
    eth(ip(tcp(ports=(0, 7)))), eth(ip(tcp(), proto=1)), eth(b"\0" * 10, kind=0x0806),
    eth(b"\xff" * 28, kind=0x0806), eth(ip(tcp()), dst=bytes.fromhex("0200000000ff")),
    eth(ip(tcp(flags=4))),
]
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((INTERFACE, 0))
for frame in bad:
    s.send(frame)
print(len(bad))
