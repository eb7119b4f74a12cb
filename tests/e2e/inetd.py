"""The small services: what each answers, byte by byte, and when it closes."""
import calendar
import re
import socket
import sys
import time

HOST = sys.argv[1]


def connect(port):
    return socket.create_connection((HOST, port), timeout=20)


def read_all(s, most=1 << 30):
    got = bytearray()
    while len(got) < most and (piece := s.recv(65536)):
        got += piece
    return bytes(got)


def daytime():
    s = connect(13)
    line = read_all(s).decode()
    assert re.fullmatch(r"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\r\n", line), line
    told = calendar.timegm(time.strptime(line.strip(), "%a %b %d %H:%M:%S %Y"))
    assert abs(told - time.time()) < 3, line


def chargen(most):
    s = connect(19)
    s.sendall(b"thrown away")
    got = read_all(s, most)
    for i in range(0, len(got) // 74):
        want = bytes(32 + (i + k) % 95 for k in range(72)) + b"\r\n"
        assert got[74 * i : 74 * i + 74] == want, (i, got[74 * i : 74 * i + 74])
    s.shutdown(socket.SHUT_WR)  # and now it ends
    read_all(s)


def echo():
    s = connect(7)
    s.sendall(b"a\0b" * 1000)
    s.shutdown(socket.SHUT_WR)
    assert read_all(s) == b"a\0b" * 1000


def discard():
    s = connect(9)
    s.sendall(b"x" * 1000000)
    s.shutdown(socket.SHUT_WR)
    assert read_all(s) == b""


def udp(port, data, timeout=15):
    """The answer to one datagram, from a socket that takes none but from the address it asked."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(timeout)
        s.connect((HOST, port))
        s.send(data)
        return s.recv(65536)


def refused(port):
    try:
        udp(port, b"is anybody there?")
    except ConnectionRefusedError:  # the kernel believed the port unreachable
        return True
    return False


def udp_services():
    for n in (0, 1, 2, 7, 512, 1471, 1472):
        assert udp(7, bytes(i % 251 for i in range(n))) == bytes(i % 251 for i in range(n)), n
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:  # without a checksum
        s.setsockopt(socket.SOL_SOCKET, 11, 1)  # SO_NO_CHECK
        s.settimeout(15)
        s.sendto(b"unchecked", (HOST, 7))
        assert s.recvfrom(100) == (b"unchecked", (HOST, 7))
    line = udp(13, b"").decode()
    assert abs(calendar.timegm(time.strptime(line.strip(), "%a %b %d %H:%M:%S %Y")) - time.time()) < 3
    try:
        udp(9, b"gone", 1)
        raise AssertionError("discard answered")
    except TimeoutError:
        pass
    line = bytes(range(32, 104)) + b"\r\n"
    for n, want in ((0, b""), (1, b" "), (74, line), (1472, None)):  # no more than was sent
        got = udp(19, b"x" * n)
        assert got == want if want is not None else len(got) == 512 and got.startswith(line), (n, got)
    for port in (80, 65535):  # http has no UDP
        assert refused(port), port


daytime()
udp_services()
chargen(5_000_000)
for _ in range(50):
    chargen(100)
echo()
discard()
