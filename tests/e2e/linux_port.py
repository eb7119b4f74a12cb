"""linux_port.py serve | peer NAME...: Linux's servers behind a shared port, and what a host on the link finds there.
serve: TCP 2222 and UDP 5353 of both families: they send back what they get, and TCP the greeting of an ssh server first."""
import os
import select
import socket
import struct
import sys
import threading
import time

US = {socket.AF_INET: "10.99.0.2", socket.AF_INET6: "fd99::2"}


def serve_tcp(conn):
    conn.sendall(b"SSH-2.0-test\r\n")
    while data := conn.recv(65536):
        conn.sendall(data)
    conn.close()


def serve():
    tcp = socket.create_server(("::", 2222), family=socket.AF_INET6, dualstack_ipv6=True, backlog=100)
    udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    udp.bind(("::", 5353))
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([tcp, udp], [], [])
        if tcp in ready:
            threading.Thread(target=serve_tcp, args=(tcp.accept()[0],), daemon=True).start()
        if udp in ready:
            data, peer = udp.recvfrom(65536)
            udp.sendto(data, peer)


def tcp_echo(family, count):
    with socket.create_connection((US[family], 2222), 20) as s:
        f = s.makefile("rb")
        assert f.readline() == b"SSH-2.0-test\r\n"
        data = os.urandom(count)
        threading.Thread(target=s.sendall, args=(data,)).start()
        assert f.read(count) == data


def udp_echo(family, count):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        data = os.urandom(count)
        for _ in range(10):  # the first one may be lost while neighbors are asked for
            s.sendto(data, (US[family], 5353))
            try:
                assert s.recv(65536) == data
                return
            except TimeoutError:
                pass
        raise SystemExit("no answer")


def tcp():
    for family in US:
        tcp_echo(family, 100000)


def udp():
    for family in US:
        udp_echo(family, 100)


def fragments():
    udp_echo(socket.AF_INET6, 5000)


def refused():
    """Linux refuses, as any host: by RST and by ICMP."""
    for family in US:
        try:
            socket.create_connection((US[family], 4444), 10)
            raise SystemExit("accepted")
        except ConnectionRefusedError:
            pass
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            s.settimeout(1)
            s.connect((US[family], 4444))
            for _ in range(10):
                try:
                    s.send(b"x")
                    s.recv(1)
                except ConnectionRefusedError:
                    break
                except TimeoutError:
                    pass
            else:
                raise SystemExit("no ICMP error")


def raw(interface):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    s.bind((interface, 0))
    return s


def ip4_udp(src, dst, sport, dport, data):
    def total(b):
        n = sum(struct.unpack(f"!{len(b) // 2}H", b))
        while n >> 16:
            n = (n & 0xffff) + (n >> 16)
        return ~n & 0xffff
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + len(data), 1, 0, 64, 17, 0, socket.inet_aton(src), socket.inet_aton(dst))
    head = head[:10] + struct.pack("!H", total(head)) + head[12:]
    return head + struct.pack("!HHHH", sport, dport, 8 + len(data), 0) + data


def dhcp(interface):
    """A DISCOVER of a host without an address, and an offer to one; by broadcast."""
    s = raw(interface)
    eth = b"\xff" * 6 + b"\x02\x00\x00\x00\x00\x77" + b"\x08\x00"
    s.send(eth + ip4_udp("0.0.0.0", "255.255.255.255", 68, 67, b"DISCOVER"))
    s.send(eth + ip4_udp("10.99.0.1", "255.255.255.255", 67, 68, b"OFFER-ALL"))


def lldp(interface):
    raw(interface).send(b"\x01\x80\xc2\x00\x00\x0e" + b"\x02\x00\x00\x00\x00\x77" + b"\x88\xcc" + b"LLDP" * 12)


def flood(seconds, kind, rate="0"):
    """Datagrams or SYNs to a port that nobody has, of one source, as fast as it goes or `rate` a second. Says how many."""
    end, sent, begin = time.monotonic() + float(seconds), 0, time.monotonic()
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_SNDBUFFORCE
    while time.monotonic() < end:
        for _ in range(32):
            try:
                s.sendto(b"garbage", (US[socket.AF_INET], 4444))
            except OSError:
                pass
            sent += 1
        if float(rate):
            time.sleep(max(0, begin + sent / float(rate) - time.monotonic()))
    print(sent)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
