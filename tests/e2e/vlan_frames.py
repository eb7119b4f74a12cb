#!/usr/bin/env python3
"""vlan_frames.py MAC KIND [TAG...]: a frame to MAC in hex, with these tags, each TPID:TCI in hex, from the outer one on.
KIND: echo SRC DST (ICMP echo request), syn SRC DST PORT, arp SRC DST (a request)."""
import socket
import struct
import sys

SENDER = bytes.fromhex("020000000099")


def checksum(b):
    b += b"\0" * (len(b) & 1)
    s = sum(struct.unpack("!%dH" % (len(b) // 2), b))
    s = (s & 0xFFFF) + (s >> 16)
    return ~(s + (s >> 16)) & 0xFFFF


def ip(src, dst, proto, payload):
    a, b = socket.inet_aton(src), socket.inet_aton(dst)
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, 0, 64, proto, 0, a, b)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def echo(src, dst):
    m = struct.pack("!BBHHH", 8, 0, 0, 0x7777, 1) + b"x" * 32
    return 0x0800, ip(src, dst, 1, m[:2] + struct.pack("!H", checksum(m)) + m[4:])


def syn(src, dst, port):
    t = struct.pack("!HHIIBBHHH", 4242, int(port), 1, 0, 0x50, 2, 1000, 0, 0)
    pseudo = socket.inet_aton(src) + socket.inet_aton(dst) + struct.pack("!HH", 6, len(t))
    return 0x0800, ip(src, dst, 6, t[:16] + struct.pack("!H", checksum(pseudo + t)) + t[18:])


def arp(src, dst):
    return 0x0806, struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 1, SENDER, socket.inet_aton(src), b"\0" * 6, socket.inet_aton(dst))


def main():
    mac, kind, *rest = sys.argv[1:]
    n = {"echo": 2, "syn": 3, "arp": 2}[kind]
    kind_of_frame, payload = {"echo": echo, "syn": syn, "arp": arp}[kind](*rest[:n])
    tags = b"".join(bytes.fromhex(t.replace(":", "")) for t in rest[n:])
    print((bytes.fromhex(mac.replace(":", "")) + SENDER + tags + struct.pack("!H", kind_of_frame) + payload).hex())


main()
