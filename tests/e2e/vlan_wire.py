#!/usr/bin/env python3
"""vlan_wire.py IFACE VID=TAP...: the VLAN interfaces of a kernel that has none (CONFIG_VLAN_8021Q). Each TAP is Linux's
interface of that VLAN: what the kernel sends there goes to IFACE with the tag, and what arrives on IFACE with the tag comes
out of the TAP. Frames without a tag are the kernel's own on IFACE. Prints `ready`, and runs until it is killed.

vlan_wire.py IFACE send HEX...: sends these frames (vlan_frames.py) on IFACE. Prints how many frames came within a second that
are to their sender or about its address, and each of them in hex."""
import errno
import fcntl
import os
import re
import select
import socket
import struct
import sys
import time

ETH_P_ALL, SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING = 3, 263, 8, 4
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6
SENDER_V4 = rb"\x0a[\x63\x64\xc8]\x00\x4d"  # 10.99.0.77, 10.100.0.77, 10.200.0.77
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 2, 0x1000


def wire_of(iface):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    s.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
    s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    s.bind((iface, 0))
    return s


def receive(wire):
    """The next frame as it was on the wire, or None if the kernel sent it here. Linux takes the outer tag out of the frame
    and hands it over beside it (packet(7), PACKET_AUXDATA)."""
    frame, extra, _, address = wire.recvmsg(65536, 256)
    if address[2] == PACKET_OUTGOING:
        return None
    for level, kind, data in extra:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", data[:20])
            if status & TP_STATUS_VLAN_VALID:
                tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
                return frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
    return frame


def tap_of(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    return fd


def pass_on(write, *args):
    """Loses the frame where the interface is down, as it is until the test sets it up."""
    try:
        write(*args)
    except OSError as e:
        if e.errno not in (errno.EIO, errno.ENETDOWN, errno.ENOBUFS):
            raise


def forward(iface, pairs):
    wire = wire_of(iface)
    taps = {int(vid): tap_of(name) for vid, name in (p.split("=") for p in pairs)}
    print("ready", flush=True)
    while True:
        for fd in select.select([wire, *taps.values()], [], [])[0]:
            if fd is wire:
                frame = receive(wire)
                if frame is None or len(frame) < 18 or frame[12:14] != b"\x81\x00":
                    continue
                tap = taps.get(struct.unpack("!H", frame[14:16])[0] & 0xFFF)
                if tap is not None:
                    pass_on(os.write, tap, frame[:12] + frame[16:])
                continue
            vid = next(v for v, t in taps.items() if t == fd)
            frame = os.read(fd, 65536)
            pass_on(wire.send, frame[:12] + struct.pack("!HH", 0x8100, vid) + frame[12:])


def send(iface, frames):
    wire = wire_of(iface)
    frames = [bytes.fromhex(f) for f in frames]
    for f in frames:
        wire.send(f)
    senders = {f[6:12] for f in frames}
    answers, end = [], time.monotonic() + 1
    while (left := end - time.monotonic()) > 0:
        if not select.select([wire], [], [], left)[0]:
            break
        frame = receive(wire)
        if frame is not None and (frame[:6] in senders or re.search(SENDER_V4, frame)):
            answers.append(frame)
    print(len(answers))
    for f in answers:
        print(f.hex())


if __name__ == "__main__":
    if sys.argv[2] == "send":
        send(sys.argv[1], sys.argv[3:])
    else:
        try:
            forward(sys.argv[1], sys.argv[2:])
        except OSError as e:  # the interface goes before this process does
            print(e, file=sys.stderr)
