"""What a kernel client of TCP Fast Open (RFC 7413) sees. `fast_open.py yes|no HOST PORT...`: asks
each port by both of Linux's calls for it; data has to be taken in the SYN, or must not be, and the
answers have to be right. `first` instead: one connection that brings a new cookie."""
import os
import socket
import struct
import sys

TCP_FASTOPEN_CONNECT = 30
TCPI_OPT_SYN_DATA = 32  # of tcp_info, whose byte 5 has the options
IN_SYN, HOST, PORTS = sys.argv[1], sys.argv[2], [int(p) for p in sys.argv[3:]]
GET = b"GET / HTTP/1.0\r\nHost: x\r\n\r\n"


def new():
    s = socket.socket(socket.AF_INET6 if ":" in HOST else socket.AF_INET)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):  # Python's own would not let a call block
        s.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", 5, 0))
    return s


def by_sendto(data, port):
    s = new()
    return s, s.sendto(data, socket.MSG_FASTOPEN, (HOST, port))


def by_connect(data, port):
    s = new()
    s.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
    s.connect((HOST, port))
    return s, s.send(data)


def ask(how, port, data):
    """The answer to data, and whether the SYN carried the first of it."""
    s, sent = how(data, port)
    got = bytearray()
    while len(got) < len(data) or port != 7:  # the echo does not close
        if sent < len(data):
            sent += s.send(data[sent : sent + 8192])
        if not (piece := s.recv(65536)):
            break
        got += piece
    options = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[5]
    s.close()
    return bytes(got), bool(options & TCPI_OPT_SYN_DATA)


for port in PORTS:
    for how in (by_sendto,) if IN_SYN == "first" else (by_sendto, by_connect):
        for size in (100,) if port != 7 or IN_SYN == "first" else (1, 500, 50000):
            data = os.urandom(size) if port == 7 else GET
            answer, in_syn = ask(how, port, data)
            right = answer == data if port == 7 else answer.startswith(b"HTTP/1.1 200") and b"hello" in answer
            if not right or in_syn != (IN_SYN == "yes"):
                sys.exit(f"{how.__name__}, port {port}, {size} bytes: {len(answer)} came, in the SYN: {in_syn}")
