"""peer.py connections ADDRESS N: N connections to the echo service that are open at once; each is answered.
peer.py datagrams ADDRESS N: N datagrams from as many ports, each is echoed; over IPv4 every other one has no checksum."""
import select
import socket
import sys
import time

what, address, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
SO_NO_CHECK = 11


def connections():
    conns = [socket.create_connection((address, 7), 60) for _ in range(count)]
    for i, s in enumerate(conns):
        s.sendall(b"%08d" % i * 50)
    got = {s: b"" for s in conns}
    end = time.monotonic() + 120
    while waiting := [s for s in conns if len(got[s]) < 400]:
        assert time.monotonic() < end, f"{len(waiting)} of {count} connections are not answered"
        for s in select.select(waiting, [], [], 5)[0]:
            piece = s.recv(1000)
            assert piece, "closed"
            got[s] += piece
    assert all(got[s] == b"%08d" % i * 50 for i, s in enumerate(conns)), "wrong bytes"


def datagrams():
    for i in range(count):
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            if i % 2 and family == socket.AF_INET:
                s.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
            s.settimeout(20)
            data = b"%d " % i * (1 + i % 40)
            s.sendto(data, (address, 7))
            assert s.recv(2000) == data, i


{"connections": connections, "datagrams": datagrams}[what]()
