"""A host in the peer's network whose TCP is driven by hand, segment by segment, over AF_PACKET.

It has addresses of its own, which no kernel has: it answers ARP and neighbor solicitations itself, and
nothing but the case answers anything else.
"""
import ctypes
import queue
import random
import socket
import struct
import threading
import time

import packets
from packets import ICMP6, TCP, parse, tcp_packet

MSS_1460 = b"\x02\x04\x05\xb4"
SO_ATTACH_FILTER = 26
WAIT_S = 4.0


def filter_for(mac):
    """Classic BPF: frames to `mac`, ARP, and IPv6 multicast."""
    high, low = struct.unpack(">IH", mac)
    program = [(0x20, 0, 0, 0), (0x15, 0, 2, high), (0x28, 0, 0, 4), (0x15, 4, 0, low),  # to the MAC
               (0x28, 0, 0, 12), (0x15, 2, 0, 0x0806),                                   # ARP
               (0x28, 0, 0, 0), (0x15, 0, 1, 0x3333),                                    # IPv6 multicast
               (0x06, 0, 0, 0x40000), (0x06, 0, 0, 0)]
    return b"".join(struct.pack("=HBBI", *i) for i in program), len(program)


class RawPeer:
    """host4, host6: its addresses. Packets other than of a Conn wait in `others`, SYNs in `syns`."""

    def __init__(self, device, host4, host6, mac, sut_mac):
        self.addresses = {4: packets.packed(host4), 6: packets.packed(host6)}
        self.mac, self.sut_mac = mac, sut_mac
        self.link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        code, count = filter_for(mac)
        room = ctypes.create_string_buffer(code, len(code))
        self.link.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", count, ctypes.addressof(room)))
        self.link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.link.bind((device, 3))
        self.conns, self.syns, self.others = {}, queue.Queue(), queue.Queue()
        self.silent = False  # answers no ARP either
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self):
        while True:
            frame, where = self.link.recvfrom(65536)
            if where[2] == socket.PACKET_OUTGOING:
                continue
            kind = frame[12:14]
            if kind == b"\x08\x06":
                self._arp(frame)
            elif kind in (b"\x08\0", b"\x86\xdd"):
                self._ip(parse(frame[14:]))

    def _arp(self, frame):
        mine = self.addresses[4]
        if frame[20:22] == b"\0\1" and frame[38:42] == mine and not self.silent:
            body = bytes.fromhex("0001080006040002") + self.mac + mine + frame[22:32]
            self.link.send(self.sut_mac + self.mac + b"\x08\x06" + body + bytes(18))

    def _neighbor(self, p):
        """True of a neighbor solicitation, which is answered if it is for this host."""
        if p.proto != ICMP6 or p.body[0] != 135:
            return p.proto == ICMP6 and 133 <= p.body[0] <= 137
        if p.body[8:24] == self.addresses[6] and not self.silent:
            body = struct.pack(">BBHI", 136, 0, 0, 0x60000000) + p.body[8:24] + b"\2\1" + self.mac
            body = packets.with_sum(self.addresses[6], p.src, ICMP6, body, 2)
            self.ip(packets.ip_packet(self.addresses[6], p.src, ICMP6, body, ttl=255))
        return True

    def _ip(self, p):
        if p is None or self._neighbor(p) or p.dst not in self.addresses.values():
            return
        conn = self.conns.get((p.dport, p.sport)) if p.proto == TCP else None
        if conn:
            conn.inbox.put(p)
        elif p.proto == TCP and p.has("S"):
            self.syns.put(p)
        else:
            self.others.put(p)

    def ip(self, packet):
        """Sends an IP packet to the system under test."""
        kind = b"\x86\xdd" if packet[0] >> 4 == 6 else b"\x08\0"
        self.link.send((self.sut_mac + self.mac + kind + packet).ljust(60, b"\0"))

    def icmp(self, about, kind, code, more=0):
        """An ICMP error about a packet that arrived."""
        self.ip(packets.icmp_error(about.dst, about.src, kind, code, about.ip, more))

    def ping(self, host, kind, ident):
        """An echo request or reply to an address of the system under test."""
        to = packets.packed(host)
        mine = self.addresses[4 if len(to) == 4 else 6]
        self.ip(packets.icmp_error(mine, to, kind, 0, b"data", ident << 16 | 1))

    def syn(self, wait_s=WAIT_S):
        """The next SYN to a port without a Conn, as a Conn that has not answered yet; None: none came."""
        try:
            p = self.syns.get(timeout=wait_s)
        except queue.Empty:
            return None
        conn = Conn(self, p.dst, p.src, p.dport, p.sport)
        conn.irs, conn.rcv_nxt, conn.first = p.seq, (p.seq + 1) & 0xFFFFFFFF, p
        return conn

    def accept(self, **how):
        """Answers the next SYN, up to the ACK of its handshake."""
        conn = self.syn()
        conn.synack(**how)
        conn.expect("A")
        return conn

    def opener(self, sut, sport, dport):
        """A Conn to the port of the system under test, of which nothing has been sent."""
        sut = packets.packed(sut)
        return Conn(self, self.addresses[4 if len(sut) == 4 else 6], sut, sport, dport)

    def connect(self, sut, sport, dport, **how):
        """An established Conn; None where the SYN-ACK does not come."""
        conn = self.opener(sut, sport, dport)
        if not conn.open(**how):
            return None
        conn.ack()
        return conn

    def other(self, wait_s=WAIT_S):
        """The next packet that is of no Conn; None: none came."""
        try:
            return self.others.get(timeout=wait_s)
        except queue.Empty:
            return None


class Conn:
    """One TCP connection of a RawPeer: counts what it sends and what arrives in order; sends nothing by itself."""

    def __init__(self, peer, mine, sut, port, sut_port):
        self.peer, self.mine, self.sut, self.port, self.sut_port = peer, mine, sut, port, sut_port
        self.iss = self.snd_nxt = random.getrandbits(32)
        self.irs = self.rcv_nxt = 0
        self.window = 65535
        self.first = None
        self.inbox = queue.Queue()
        peer.conns[port, sut_port] = self

    def send(self, flags="A", data=b"", seq=None, ack=None, window=None, options=b"", **ip):
        """A segment; without seq it is the next one, and counted."""
        ack = (self.rcv_nxt if ack is None else ack) if "A" in flags else 0
        self.peer.ip(tcp_packet(self.mine, self.sut, self.port, self.sut_port, self.snd_nxt if seq is None else seq,
                                ack, flags, self.window if window is None else window, data, options, **ip))
        if seq is None:
            self.snd_nxt = (self.snd_nxt + len(data) + ("S" in flags) + ("F" in flags)) & 0xFFFFFFFF

    def ack(self, **how):
        self.send("A", **how)

    def fin(self, data=b""):
        self.send("FA", data)

    def rst(self, seq=None):
        self.send("R", seq=self.snd_nxt if seq is None else seq)

    def synack(self, options=MSS_1460, window=65535, **how):
        """window: that of the later segments, too."""
        self.window = window
        self.send("SA", options=options, **how)

    def open(self, options=MSS_1460, wait_s=WAIT_S, window=65535, **how):
        """Sends the SYN; the SYN-ACK, or None. window: that of the later segments, too."""
        self.window = window
        self.send("S", options=options, **how)
        p = self.expect("SA", wait_s)
        if p:
            self.irs, self.rcv_nxt = p.seq, (p.seq + 1) & 0xFFFFFFFF
        return p

    def next(self, wait_s=WAIT_S):
        """The next segment; None: none came. What is in order moves rcv_nxt."""
        try:
            p = self.inbox.get(timeout=max(wait_s, 0.0001))
        except queue.Empty:
            return None
        p.fresh = self.fresh(p)
        self.rcv_nxt = (self.rcv_nxt + p.fresh) & 0xFFFFFFFF
        return p

    def fresh(self, p):
        """How much a segment moves rcv_nxt, its FIN counted; what was sent again may have more behind it."""
        old = (self.rcv_nxt - p.seq) & 0xFFFFFFFF
        length = len(p.data) + ("F" in p.flags)
        return max(0, length - old) if old < 1 << 31 and "S" not in p.flags else 0

    def expect(self, flags=None, wait_s=WAIT_S, data=None):
        """The next segment with exactly these flags (P aside), and with data or without if that is asked for;
        others are passed over. None: none came in time."""
        end = time.monotonic() + wait_s
        while (p := self.next(end - time.monotonic())) is not None:
            if (flags is None or p.has(flags)) and (data is None or bool(p.data) == data):
                return p
            if time.monotonic() > end:
                break
        return None

    def all(self, seconds):
        """Every segment of the next so many seconds."""
        end, got = time.monotonic() + seconds, []
        while (left := end - time.monotonic()) > 0:
            if p := self.next(left):
                got.append(p)
        return got

    def take(self, n, wait_s=WAIT_S):
        """n bytes in order, each segment acknowledged; what came of them in time."""
        got, end = b"", time.monotonic() + wait_s
        while len(got) < n and (left := end - time.monotonic()) > 0:
            p = self.next(left)
            if p and p.data and p.fresh:
                got += p.data[-(p.fresh - ("F" in p.flags)):] if p.fresh > ("F" in p.flags) else b""
            if p and (p.data or "F" in p.flags):
                self.ack()
        return got

    def relative(self, p):
        """A segment's sequence and acknowledgment numbers counted from the two initial ones."""
        return (p.seq - self.irs) & 0xFFFFFFFF, (p.ack - self.iss) & 0xFFFFFFFF if "A" in p.flags else None

    def told(self, p):
        """The segment for a transcript: flags, length, relative numbers."""
        if p is None:
            return "nothing"
        seq, ack = self.relative(p)
        return f"{p} seq {seq}" + ("" if ack is None else f" ack {ack}")
