"""A host to itself: its own addresses and the loopback's, over TCP and UDP."""
import socket

from bench import case, pattern, pause
from sut import POLLIN
from world import SUT2

SOL = socket.SOL_SOCKET
LOOPBACK = {4: "127.0.0.1", 6: "::1"}


def joined(t, host, i=0):
    """A connection of two sockets of the system under test: (who opened it, who accepted)."""
    listener = t.listener(i, host=host)
    one = t.stream()
    t.note("connect", one.connect((host, t.port(i))))
    two, where = listener.accept()
    if host != SUT2[4]:  # of one network: Linux has the first address for the second
        t.note("from", t.who((where[0], 0)))
    listener.close()
    return one, two


@case()
def own_address(t):
    """A connection to an own address: bytes go both ways, and so does the end."""
    one, two = joined(t, t.SUT)
    t.note("write", one.write(b"there"))
    t.note("read", two.read(10))
    two.write(b"and back")
    t.note("back", one.read(10))
    one.close()
    t.note("end", two.read(1))


@case()
def loopback(t):
    """A connection over the loopback address, from it."""
    one, two = joined(t, LOOPBACK[t.family])
    one.write(b"there")
    t.note("read", two.read(10))


@case()
def loopback_refused(t):
    """Nobody listens at the loopback address: ECONNREFUSED."""
    t.note("connect", t.stream().connect((LOOPBACK[t.family], t.port())))


@case()
def large(t):
    """A megabyte to itself."""
    one, two = joined(t, t.SUT2)
    data = pattern(1 << 20)
    later = t.start(lambda: [one.write(data[i:i + 65536]) for i in range(0, len(data), 65536)])
    got = b""
    while len(got) < len(data) and isinstance(more := two.recv(100000), bytes) and more:
        got += more
    t.note("all", got == data)
    t.note("writes", len(later.result()))


@case()
def itself(t):
    """A socket that connects to its own port is its own peer (simultaneous open)."""
    end = t.stream()
    end.bind((t.SUT, t.port()))
    t.note("connect", end.connect((t.SUT, t.port())))
    t.note("write", end.write(b"to myself"))
    t.note("read", end.read(20))


@case()
def reset(t):
    """A reset between two sockets of one host."""
    one, two = joined(t, t.SUT)
    one.linger(1, 0)
    one.close()
    t.note("read", two.read(1))
    t.note("read again", two.read(1))


@case()
def udp(t):
    """Datagrams between two sockets of one host, by an own address and by the loopback's."""
    for i, host in enumerate((t.SUT, LOOPBACK[t.family])):
        one, two = t.dgram(), t.dgram()
        t.note("bind", two.bind((host, t.port(i))))
        t.note("sendto", one.sendto(b"there", (host, t.port(i))))
        data, where = two.recvfrom(10)
        t.note("recvfrom", data)
        t.note("from", t.who((where[0], 0)))
        t.note("back", two.sendto(b"back", where))
        t.note("recv", one.recv(10))


@case()
def udp_refused(t):
    """A datagram to an own port that nobody has: a connected socket is told."""
    end = t.dgram()
    end.connect((t.SUT, t.port()))
    end.write(b"a")
    t.note("poll", end.events(POLLIN, 1000))
    t.note("read", end.recv(1, socket.MSG_DONTWAIT))


@case()
def udp_to_any(t):
    """A datagram to the any address is for this host."""
    two, one = t.dgram(), t.dgram()
    two.bind((t.ANY, t.port()))
    t.note("sendto", one.sendto(b"a", (t.ANY, t.port())))
    data, where = two.recvfrom(10)
    t.note("recvfrom", data)
    t.note("loopback", where[0] == LOOPBACK[t.family])


@case()
def udp_itself(t):
    """A UDP socket sends to itself."""
    end = t.dgram()
    end.bind((t.SUT, t.port()))
    t.note("sendto", end.sendto(b"me", (t.SUT, t.port())))
    t.note("recvfrom", end.recvfrom(10))
    t.note("connect", end.connect((t.SUT, t.port())))
    t.note("write", end.write(b"me too"))
    t.note("read", end.recv(10))
