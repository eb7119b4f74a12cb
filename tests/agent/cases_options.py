"""Socket options: as set they are read back; limits, lengths, levels; what they are at first."""
import socket
import struct

from bench import case, pattern, pause
from names import (IP_MTU, IP_MTU_DISCOVER, IPV6_MTU, IPV6_MTU_DISCOVER, PMTUDISC_DO, PMTUDISC_DONT, PMTUDISC_WANT,
                   TCP_CONGESTION, TCP_NOTSENT_LOWAT)

SOL, TCP, IP, IPV6 = socket.SOL_SOCKET, socket.IPPROTO_TCP, socket.IPPROTO_IP, socket.IPPROTO_IPV6


def values(t, end, level, option, *wanted):
    """Sets each value and notes what it is then."""
    t.note("at first", end.get(level, option))
    for value in wanted:
        t.note(f"set {value}", end.setsockopt(level, option, value))
        t.note(f"get after {value}", end.get(level, option))


@case()
def booleans(t):
    """Options that are on or off: any value but 0 is on."""
    for kind, end in (("TCP", t.stream()), ("UDP", t.dgram())):
        for name in ("SO_KEEPALIVE", "SO_REUSEADDR", "SO_REUSEPORT", "SO_BROADCAST", "SO_OOBINLINE"):
            option = getattr(socket, name)
            t.note(f"{kind} {name} at first", end.get(SOL, option))
            for value in (1, 0, 7, -1):
                t.note(f"{kind} {name} set {value}", end.setsockopt(SOL, option, value))
                t.note(f"{kind} {name} get {value}", end.get(SOL, option))


@case()
def told(t):
    """SO_TYPE, SO_PROTOCOL, SO_DOMAIN, SO_ACCEPTCONN, SO_ERROR are told and cannot be set."""
    for kind, end in (("TCP", t.stream()), ("UDP", t.dgram())):
        for name in ("SO_TYPE", "SO_PROTOCOL", "SO_DOMAIN", "SO_ACCEPTCONN", "SO_ERROR"):
            option = getattr(socket, name)
            got = end.get(SOL, option)
            t.note(f"{kind} {name}", "its domain" if got == t.domain else got)
            t.note(f"{kind} {name} set", end.setsockopt(SOL, option, 1))


@case((4,))
def unknown(t):
    """Unknown options and levels: ENOPROTOOPT; of getsockopt too."""
    for kind, end in (("TCP", t.stream()), ("UDP", t.dgram())):
        for level, option in ((SOL, 9999), (TCP, 9999), (IP, 9999), (IPV6, 9999), (77, 1), (-1, 1), (17, 9999)):
            t.note(f"{kind} set {level}/{option}", end.setsockopt(level, option, 1))
            t.note(f"{kind} get {level}/{option}", end.getsockopt(level, option))


@case((4,))
def level_of_other(t):
    """IPv6 options of an IPv4 socket; TCP options of UDP."""
    end = t.stream()
    t.note("IPV6_V6ONLY set", end.setsockopt(IPV6, socket.IPV6_V6ONLY, 1))
    t.note("IPV6_V6ONLY get", end.getsockopt(IPV6, socket.IPV6_V6ONLY))
    udp = t.dgram()
    t.note("TCP_NODELAY of UDP set", udp.setsockopt(TCP, socket.TCP_NODELAY, 1))
    t.note("TCP_NODELAY of UDP get", udp.getsockopt(TCP, socket.TCP_NODELAY))
    t.note("TCP_INFO of UDP", udp.getsockopt(TCP, socket.TCP_INFO, 256))


@case((6,))
def ip_options_of_ipv6(t):
    """IP_TTL and IP_TOS of an IPv6 socket can be set and read: they are for mapped addresses."""
    end = t.stream()
    for name in ("IP_TTL", "IP_TOS"):
        t.note(f"{name} set", end.setsockopt(IP, getattr(socket, name), 16))
        t.note(f"{name} get", end.get(IP, getattr(socket, name)))


@case()
def lengths(t):
    """A value shorter than an int: EINVAL; longer is taken; getsockopt with less room gives so many bytes."""
    end = t.stream()
    for level, option, name in ((SOL, socket.SO_KEEPALIVE, "SO_KEEPALIVE"), (TCP, socket.TCP_NODELAY, "TCP_NODELAY"),
                                (TCP, socket.TCP_KEEPIDLE, "TCP_KEEPIDLE"), (SOL, socket.SO_RCVBUF, "SO_RCVBUF")):
        for n in (0, 1, 3, 4, 8):
            t.note(f"{name} set {n} bytes", end.setsockopt(level, option, b"\1" + bytes(7) if n == 8 else (b"\1" + bytes(7))[:n]))
    for level, option, name in ((SOL, socket.SO_TYPE, "SO_TYPE"), (TCP, socket.TCP_NODELAY, "TCP_NODELAY")):
        for room in (0, 1, 2, 4, 100):
            t.note(f"{name} get {room}", end.getsockopt(level, option, room))


@case((4,))
def ttl_lengths(t):
    """IP_TTL and IP_TOS take a byte as well as an int."""
    end = t.stream()
    for name in ("IP_TTL", "IP_TOS"):
        option = getattr(socket, name)
        t.note(f"{name} 1 byte", end.setsockopt(IP, option, b"\x20"))
        t.note(f"{name} get", end.get(IP, option))
        t.note(f"{name} nothing", end.setsockopt(IP, option, b""))
        t.note(f"{name} room 1", end.getsockopt(IP, option, 1))


@case((4,))
def ttl(t):
    """IP_TTL: 1 to 255, -1 for the default."""
    values(t, t.stream(), IP, socket.IP_TTL, 1, 255, 0, 256, -1, -2, 64)


@case((6,))
def hops(t):
    """IPV6_UNICAST_HOPS: 0 to 255, -1 for the default."""
    values(t, t.stream(), IPV6, socket.IPV6_UNICAST_HOPS, 1, 255, 0, 256, -1, -2, 64)


@case((4,))
def tos(t):
    """IP_TOS: the ECN bits of a TCP socket stay the stack's."""
    values(t, t.stream(), IP, socket.IP_TOS, 0x10, 0xB8, 0x03, 255, 256, 0)


@case((4,))
def tos_udp(t):
    """IP_TOS of UDP takes all bits."""
    values(t, t.dgram(), IP, socket.IP_TOS, 0x10, 0x03, 255, 0)


@case((6,))
def traffic_class(t):
    """IPV6_TCLASS: 0 to 255, -1 for the default."""
    values(t, t.stream(), IPV6, socket.IPV6_TCLASS, 0x10, 0xB8, 0x03, 255, 256, -1, -2)


@case((4,))
def mtu_discover(t):
    """IP_MTU_DISCOVER: 0 to 5; IP_MTU of an unconnected socket is ENOTCONN."""
    end = t.stream()
    values(t, end, IP, IP_MTU_DISCOVER, PMTUDISC_DONT, PMTUDISC_WANT, PMTUDISC_DO, 3, 4, 5, 6, -1)
    t.note("IP_MTU", end.getsockopt(IP, IP_MTU))
    t.note("IP_MTU set", end.setsockopt(IP, IP_MTU, 1000))


@case((6,))
def mtu_discover6(t):
    """IPV6_MTU_DISCOVER and IPV6_MTU."""
    end = t.stream()
    values(t, end, IPV6, IPV6_MTU_DISCOVER, PMTUDISC_DONT, PMTUDISC_WANT, PMTUDISC_DO, 3, 4, 5, 6, -1)
    t.note("IPV6_MTU", end.getsockopt(IPV6, IPV6_MTU))


@case()
def mtu_of_connection(t):
    """IP_MTU of a connection is the link's."""
    end, _ = t.raw_accepted()
    t.note("MTU", end.get(t.level, IP_MTU if t.family == 4 else IPV6_MTU))


@case()
def buffers(t):
    """SO_RCVBUF and SO_SNDBUF are doubled, with a least value; the largest is a setting of the machine."""
    end = t.stream()
    for name in ("SO_RCVBUF", "SO_SNDBUF"):
        option = getattr(socket, name)
        for value in (0, 1, 5000, 100000):
            t.note(f"{name} set {value}", end.setsockopt(SOL, option, value))
            t.note(f"{name} get {value}", end.get(SOL, option))
        t.note(f"{name} huge", end.setsockopt(SOL, option, 1 << 30))


@case()
def send_low_water(t):
    """SO_SNDLOWAT is 1 and cannot be set."""
    end = t.stream()
    t.note("get", end.get(SOL, socket.SO_SNDLOWAT))
    t.note("set", end.setsockopt(SOL, socket.SO_SNDLOWAT, 5))


@case()
def nodelay(t):
    """TCP_NODELAY."""
    values(t, t.stream(), TCP, socket.TCP_NODELAY, 1, 0, 5, -1)


@case()
def cork(t):
    """TCP_CORK."""
    values(t, t.stream(), TCP, socket.TCP_CORK, 1, 0, 5)


@case()
def keepalive_times(t):
    """TCP_KEEPIDLE, TCP_KEEPINTVL: 1 to 32767; TCP_KEEPCNT: 1 to 127; others are EINVAL."""
    end = t.stream()
    for name, most in (("TCP_KEEPIDLE", 32767), ("TCP_KEEPINTVL", 32767), ("TCP_KEEPCNT", 127)):
        option = getattr(socket, name)
        t.note(f"{name} at first", end.get(TCP, option))
        for value in (1, most, 0, most + 1, -1):
            t.note(f"{name} set {value}", end.setsockopt(TCP, option, value))
            t.note(f"{name} get {value}", end.get(TCP, option))


@case()
def user_timeout(t):
    """TCP_USER_TIMEOUT: milliseconds, not negative."""
    values(t, t.stream(), TCP, socket.TCP_USER_TIMEOUT, 1, 30000, 0, -1)


@case()
def linger2(t):
    """TCP_LINGER2: seconds; 0 and values above the limit are the default, negative is -1."""
    values(t, t.stream(), TCP, socket.TCP_LINGER2, 5, 0, 60, 120, 121, -1, -7)


@case()
def defer_accept(t):
    """TCP_DEFER_ACCEPT is rounded to the times of retransmissions."""
    values(t, t.stream(), TCP, socket.TCP_DEFER_ACCEPT, 1, 2, 3, 5, 10, 0, -1, 100000)


@case()
def window_clamp(t):
    """TCP_WINDOW_CLAMP."""
    values(t, t.stream(), TCP, socket.TCP_WINDOW_CLAMP, 4000, 1, 0)


@case()
def quick_ack(t):
    """TCP_QUICKACK is on at first and can be turned off and on."""
    end, _ = t.raw_accepted()
    values(t, end, TCP, socket.TCP_QUICKACK, 0, 1, 2)


@case()
def not_sent_low_water(t):
    """TCP_NOTSENT_LOWAT."""
    values(t, t.stream(), TCP, TCP_NOTSENT_LOWAT, 1, 16384, 0, -1)


@case()
def max_segment(t):
    """TCP_MAXSEG: 88 to 32767, or 0, of a socket that is not connected; read back it is the MSS in use."""
    end = t.stream()
    values(t, end, TCP, socket.TCP_MAXSEG, 88, 1000, 87, 32767, 32768, 0, -1)


@case()
def max_segment_of_connection(t):
    """TCP_MAXSEG of a connection is what is sent at most."""
    end, _ = t.raw_accepted(options=b"\x02\x04\x03\xe8")
    t.note("MSS of 1000", end.get(TCP, socket.TCP_MAXSEG))
    t.note("smaller", end.setsockopt(TCP, socket.TCP_MAXSEG, 500))
    t.note("then", end.get(TCP, socket.TCP_MAXSEG))


@case()
def congestion(t):
    """TCP_CONGESTION: reno and cubic; an unknown one is ENOENT, an empty one EINVAL."""
    end = t.stream()
    t.note("reno", end.setsockopt(TCP, TCP_CONGESTION, b"reno"))
    got = end.getsockopt(TCP, TCP_CONGESTION, 16)
    t.note("get", got if isinstance(got, str) else got.rstrip(b"\0"))
    t.note("length", got if isinstance(got, str) else len(got))
    t.note("unknown", end.setsockopt(TCP, TCP_CONGESTION, b"none-such"))
    t.note("empty", end.setsockopt(TCP, TCP_CONGESTION, b""))
    t.note("room 2", end.getsockopt(TCP, TCP_CONGESTION, 2))
    got = end.getsockopt(TCP, TCP_CONGESTION, 16)
    t.note("still", got if isinstance(got, str) else got.rstrip(b"\0"))


@case()
def info_length(t):
    """TCP_INFO gives as many bytes as there is room for."""
    end, _ = t.raw_accepted()
    t.note("8", len(end.getsockopt(TCP, socket.TCP_INFO, 8)))
    t.note("104", len(end.getsockopt(TCP, socket.TCP_INFO, 104)))
    t.note("set", end.setsockopt(TCP, socket.TCP_INFO, 1))


@case()
def of_connection(t):
    """Options of an established connection can be changed, but TCP_DEFER_ACCEPT and the like have no effect."""
    end, conn = t.raw_accepted()
    for name, value in (("TCP_KEEPIDLE", 9), ("TCP_KEEPINTVL", 8), ("TCP_KEEPCNT", 7), ("TCP_USER_TIMEOUT", 654),
                        ("TCP_SYNCNT", 3), ("TCP_LINGER2", 4), ("TCP_NODELAY", 1), ("TCP_DEFER_ACCEPT", 3)):
        option = getattr(socket, name)
        t.note(f"set {name}", end.setsockopt(TCP, option, value))
        t.note(f"get {name}", end.get(TCP, option))


@case()
def of_ended(t):
    """Options of a connection that was reset can be read and set still."""
    end, conn = t.raw_accepted()
    conn.rst()
    pause(0.1)
    t.note("set", end.setsockopt(TCP, socket.TCP_NODELAY, 1))
    t.note("get", end.get(TCP, socket.TCP_NODELAY))
    t.note("SO_ERROR", end.error())
    t.note("TTL", end.setsockopt(t.level, socket.IP_TTL if t.family == 4 else socket.IPV6_UNICAST_HOPS, 5))


@case((6,))
def v6only(t):
    """IPV6_V6ONLY can be set until the socket is bound."""
    end = t.stream()
    values(t, end, IPV6, socket.IPV6_V6ONLY, 1, 0, 1)
    end.bind((t.SUT, t.port()))
    t.note("after bind", end.setsockopt(IPV6, socket.IPV6_V6ONLY, 0))
    t.note("get", end.get(IPV6, socket.IPV6_V6ONLY))


@case()
def udp_options(t):
    """Options of UDP sockets: buffers, time limits, TTL."""
    end = t.dgram()
    t.note("SO_RCVLOWAT", end.setsockopt(SOL, socket.SO_RCVLOWAT, 5))
    t.note("get", end.get(SOL, socket.SO_RCVLOWAT))
    t.note("linger", end.linger(1, 3))
    t.note("SO_RCVTIMEO", end.set_time(socket.SO_RCVTIMEO, 1.5))
    t.note("get it", end.getsockopt(SOL, socket.SO_RCVTIMEO, 16))
    t.note("SO_RCVBUF", end.setsockopt(SOL, socket.SO_RCVBUF, 8192))
    t.note("its value", end.get(SOL, socket.SO_RCVBUF))


@case()
def send_timeout_values(t):
    """SO_SNDTIMEO as set is read back."""
    end = t.stream()
    for seconds in (3, 0.5, 0):
        t.note(f"set {seconds}", end.set_time(socket.SO_SNDTIMEO, seconds))
        t.note(f"get {seconds}", end.getsockopt(SOL, socket.SO_SNDTIMEO, 16))
    t.note("short room", end.getsockopt(SOL, socket.SO_SNDTIMEO, 4))
