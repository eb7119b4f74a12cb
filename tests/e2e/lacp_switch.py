#!/usr/bin/env python3
"""lacp_switch.py TAP FILE INTERFACE...: a switch whose link to c10m is the interfaces, joined by LACP (IEEE 802.1AX); TAP is Linux's
interface behind it. Each line of its input is an order: `silent N` and `loud N`: interface N (from 0) sends no LACPDUs, or sends them
again. FILE has a line for each interface: `joined` or `out`, how many data frames came and went by it, what the other end says of
itself (the bits of its state), and after `silent N` the milliseconds between the last LACPDU that was sent and the one by which the
other end said that it sends by this interface no longer; -1: it has not. Prints `ready`, and runs until it is killed."""
import fcntl
import os
import select
import socket
import struct
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 2, 0x1000
SIOCGIFFLAGS, IFF_RUNNING = 0x8913, 0x40
SLOW, GROUP, OUTGOING = b"\x88\x09", bytes.fromhex("0180c2000002"), 4
ACTIVITY, SHORT, AGGREGATION, SYNC, COLLECTING, DISTRIBUTING = (1 << i for i in range(6))
SYSTEM, KEY = bytes.fromhex("02ff00000001"), 7


class Link:
    def __init__(self, name, port):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((name, 0))
        index = socket.if_nametoindex(name)
        self.socket.setsockopt(263, 1, struct.pack("IHH8s", index, 1, 0, b""))  # PACKET_ADD_MEMBERSHIP, promiscuous
        self.name, self.port, self.partner, self.partner_says = name.encode(), port, bytes(16), 0
        self.carrier = True
        self.heard = self.sent = 0.0
        self.state = ACTIVITY | SHORT | AGGREGATION
        self.told = None
        self.silent, self.left_ms, self.last_sent = False, -1, 0.0
        self.frames = [0, 0]
        self.agreed = False

    def actor(self):
        return struct.pack("!H6sHHHB3x", 0x8000, SYSTEM, KEY, 0x8000, self.port, self.state)

    def in_sync(self):
        return self.carrier and self.agreed and time.monotonic() - self.heard < 3

    def joined(self):
        return self.in_sync() and bool(self.partner_says & SYNC)

    def receive(self, frame):
        """A LACPDU: what the other end says of itself, and of us."""
        theirs, ours = frame[18:36], frame[38:56]
        self.partner, self.partner_says, self.heard = theirs[:14], theirs[14], time.monotonic()
        self.agreed = bool(theirs[14] & AGGREGATION)
        known = ours[:14] == self.actor()[:14]
        if not known:
            self.told = None
            self.partner_says &= ~SYNC
        if self.silent and self.left_ms < 0 and not theirs[14] & DISTRIBUTING:
            self.left_ms = round(1000 * (self.heard - self.last_sent))

    def turn(self):
        """Sends a LACPDU when a second is over, or something is new."""
        flags = fcntl.ioctl(self.socket, SIOCGIFFLAGS, struct.pack("16s16x", self.name))
        self.carrier = bool(struct.unpack_from("H", flags, 16)[0] & IFF_RUNNING)
        self.state = ACTIVITY | SHORT | AGGREGATION
        self.state |= SYNC if self.in_sync() else 0
        self.state |= COLLECTING | DISTRIBUTING if self.joined() else 0
        now, says = time.monotonic(), (self.state, self.partner, self.partner_says)
        if self.silent or (now - self.sent < 1 and (says == self.told or now - self.sent < 0.1)):
            return
        self.sent, self.told = now, says
        pdu = GROUP + SYSTEM + SLOW + b"\x01\x01" + b"\x01\x14" + self.actor()
        pdu += b"\x02\x14" + self.partner[:14].ljust(14, b"\0") + bytes([self.partner_says]) + bytes(3) + b"\x03\x10"
        if send(self.socket, pdu.ljust(124, b"\0")):
            self.last_sent = now


def send(s, frame):
    try:
        s.send(frame)
        return True
    except OSError:  # the interface is down
        return False


def from_link(link, tap):
    try:
        frame, address = link.socket.recvfrom(65536)
    except OSError:
        return
    if address[2] == OUTGOING:
        return
    if frame[12:14] == SLOW:
        if len(frame) >= 124 and frame[14] == 1:
            link.receive(frame)
    elif link.joined():
        link.frames[0] += 1
        try:
            os.write(tap, frame)
        except OSError:  # it is not up yet
            pass


def to_link(links, frame):
    """One of those that have joined, by the ports, as a switch does it."""
    ready = [l for l in links if l.joined()]
    if ready:
        link = ready[sum(frame[26:38]) % len(ready)]
        link.frames[1] += send(link.socket, frame)


def order(links, line):
    word, n = line.split()
    link = links[int(n)]
    link.silent, link.left_ms = word == "silent", -1


def main():
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", sys.argv[1].encode(), IFF_TAP | IFF_NO_PI))
    links = [Link(name, i + 1) for i, name in enumerate(sys.argv[3:])]
    sources, shown = [tap, sys.stdin, *(l.socket for l in links)], 0.0
    print("ready", flush=True)
    while True:
        for at in select.select(sources, [], [], 0.05)[0]:
            if at is tap:
                to_link(links, os.read(tap, 65536))
            elif at is sys.stdin:
                line = sys.stdin.readline()
                if line:
                    order(links, line)
                else:
                    sources.remove(at)
            else:
                from_link(next(l for l in links if l.socket is at), tap)
        for link in links:
            link.turn()
        if time.monotonic() - shown > 0.05:
            shown = time.monotonic()
            with open(sys.argv[2] + ".new", "w") as f:
                for l in links:
                    print("joined" if l.joined() else "out", *l.frames, l.partner_says, l.left_ms, file=f)
            os.replace(sys.argv[2] + ".new", sys.argv[2])


main()
