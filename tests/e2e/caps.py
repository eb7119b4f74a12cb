"""caps.py INTERFACE ADDRESS: sends segments whose TCP or IP checksum is wrong from the kernel's side
of a TAP, to the echo service's port, and one whole SYN: only that one is answered."""
import socket
import struct
import sys

INTERFACE, SERVER, CLIENT = sys.argv[1], socket.inet_aton(sys.argv[2]), socket.inet_aton("10.99.0.77")
OURS = bytes.fromhex("020000000077")


def sum16(b):
    b += b"\0" * (len(b) & 1)
    s = sum(struct.unpack(">%dH" % (len(b) // 2), b))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return s ^ 0xFFFF


def syn(port, ip_off, tcp_off):
    """A SYN; what is added to each checksum makes it wrong."""
    tcp = struct.pack(">HHIIBBHHH", port, 7, 1000, 0, 0x50, 2, 65535, 0, 0)
    good = sum16(CLIENT + SERVER + struct.pack(">HH", 6, len(tcp)) + tcp)
    tcp = tcp[:16] + struct.pack(">H", (good + tcp_off) & 0xFFFF) + tcp[18:]
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40, 1, 0, 64, 6, 0) + CLIENT + SERVER
    return ip[:10] + struct.pack(">H", (sum16(ip) + ip_off) & 0xFFFF) + ip[12:] + tcp


s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind((INTERFACE, 0))
s.settimeout(15)
mac = None
s.send((b"\xff" * 6 + OURS + bytes.fromhex("08060001080006040001") + OURS + CLIENT + b"\0" * 6 + SERVER).ljust(60, b"\0"))
while mac is None:
    f = s.recv(2048)
    if f[12:14] == b"\x08\x06" and f[20:22] == b"\0\2" and f[28:32] == SERVER:
        mac = f[22:28]
for port, ip_off, tcp_off in ((5001, 0, 1), (5002, 1, 0), (5003, 1, 1), (5004, 0, 0x8000), (5005, 0, 0)):
    s.send((mac + OURS + b"\x08\0" + syn(port, ip_off, tcp_off)).ljust(60, b"\0"))
answered = set()
try:
    while 5005 not in answered:
        f = s.recv(2048)
        if f[12:14] == b"\x08\0" and f[23] == 6 and f[26:30] == SERVER and f[30:34] == CLIENT:
            answered.add(struct.unpack(">H", f[36:38])[0])
except TimeoutError:
    pass
print(answered)
sys.exit(answered != {5005})
