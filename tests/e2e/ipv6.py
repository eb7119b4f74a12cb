"""Frames of neighbor discovery that no host sends, and clients over IPv6.

  ipv6.py bad INTERFACE MAC         40 of each malformed kind, to the server at MAC
  ipv6.py echo ADDRESS COUNT        COUNT connections at once, three rounds
  ipv6.py udp ADDRESS COUNT         as many datagrams from as many ports
"""
import resource
import socket
import struct
import sys

import spread

OURS, SERVER = "fd99::1", "fd99::2"


def checksum(src, dst, proto, data):
    whole = src + dst + struct.pack("!IxxxB", len(data), proto) + data
    whole += b"\0" * (len(whole) % 2)
    total = sum(struct.unpack(f"!{len(whole) // 2}H", whole))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def nd(mac_to, mac_from, kind, body, hops=255, right=True, cut=0):
    src, dst = (socket.inet_pton(socket.AF_INET6, a) for a in (OURS, SERVER))
    icmp = struct.pack("!BBH", kind, 0, 0) + body
    icmp = icmp[:len(icmp) - cut]
    sum_ = checksum(src, dst, 58, icmp) ^ (0 if right else 0x5555)
    icmp = icmp[:2] + struct.pack("!H", sum_) + icmp[4:]
    head = struct.pack("!IHBB", 6 << 28, len(icmp), 58, hops) + src + dst
    return mac_to + mac_from + b"\x86\xdd" + head + icmp


def bad(interface, mac):
    to = bytes.fromhex(mac.replace(":", ""))
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((interface, 0))
    me = s.getsockname()[4]
    target = b"\0" * 4 + socket.inet_pton(socket.AF_INET6, SERVER)
    lla = b"\x01\x01" + me
    frames = [
        nd(to, me, 135, target + lla, hops=64),         # nd_hops
        nd(to, me, 135, target + lla, right=False),     # icmp6_checksum
        nd(to, me, 135, target, cut=10),                # nd_malformed: short
        nd(to, me, 135, target + b"\x01\x00" + me),     # ... an option of length 0
        nd(to, me, 135, target + b"\x01\x09" + me),     # ... one that ends behind the message
        nd(to, me, 136, b"\x40\0\0\0" + socket.inet_pton(socket.AF_INET6, "ff02::1")),
        nd(to, me, 134, b"\0" * 12),                    # nd_router
        nd(to, me, 137, b"\0" * 36),
    ]
    for _ in range(40):
        for f in frames:
            s.send(f)


def echo(address, count):
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, count + 100))
    conns = [spread.connect(address) for _ in range(count)]
    spread.exchange(conns, 3)
    for c in conns:
        c.close()


def udp(address, count):
    for i in range(count):
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        s.settimeout(5)
        s.sendto(b"%d" % i, (address, 7))
        assert s.recv(100) == b"%d" % i


what, *rest = sys.argv[1:]
if what == "bad":
    bad(*rest)
else:
    {"echo": echo, "udp": udp}[what](rest[0], int(rest[1]))
