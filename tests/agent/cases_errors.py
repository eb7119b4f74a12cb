"""What a reset, an ICMP error or silence does to an established connection, and how often it is told."""
import socket

from bench import case, pattern, pause
from names import SIOCINQ
from sut import POLLIN, POLLOUT, POLLRDHUP

SOL, TCP = socket.SOL_SOCKET, socket.IPPROTO_TCP
ALL = POLLIN | POLLOUT | POLLRDHUP


@case()
def reset_read(t):
    """After a RST read is ECONNRESET once, then 0; write EPIPE."""
    end, conn = t.raw_accepted()
    conn.rst()
    pause(0.1)
    t.note("poll", end.events(ALL))
    t.note("read", end.read(1))
    t.note("again", end.read(1))
    t.note("poll then", end.events(ALL))
    t.note("write", end.write(b"a"))
    t.note("SO_ERROR", end.error())
    t.note("state", end.state())


@case()
def reset_write(t):
    """After a RST the first write is ECONNRESET, the next EPIPE; read then 0."""
    end, conn = t.raw_accepted()
    conn.rst()
    pause(0.1)
    t.note("write", end.write(b"a"))
    t.note("again", end.write(b"a"))
    t.note("read", end.read(1))


@case()
def reset_error(t):
    """After a RST SO_ERROR is ECONNRESET once; read then 0."""
    end, conn = t.raw_accepted()
    conn.rst()
    pause(0.1)
    t.note("SO_ERROR", end.error())
    t.note("again", end.error())
    t.note("read", end.read(1))
    t.note("write", end.write(b"a"))


@case()
def reset_blocked_read(t):
    """A RST ends a blocked read with ECONNRESET."""
    end, conn = t.raw_accepted()
    later = t.start(end.read, 10)
    t.note("blocked", later.blocked())
    conn.rst()
    t.note("read", later.result())
    t.note("again", end.read(10))


@case()
def reset_blocked_poll(t):
    """A RST ends a poll for nothing at all: POLLERR and POLLHUP."""
    end, conn = t.raw_accepted()
    later = t.start(end.events, 0, 3000)
    t.note("blocked", later.blocked())
    conn.rst()
    t.note("poll", later.result())


@case()
def reset_with_unread(t):
    """Unread data survives a RST: it is read first, then the error."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"data")
    pause(0.1)
    conn.rst()
    pause(0.1)
    t.note("SIOCINQ", end.ioctl(SIOCINQ))
    t.note("read", end.read(10))
    t.note("then", end.read(10))
    t.note("and then", end.read(10))


@case()
def reset_with_unread_write(t):
    """Unread data after a RST whose error a write took: data, then 0."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"data")
    pause(0.1)
    conn.rst()
    pause(0.1)
    t.note("write", end.write(b"a"))
    t.note("read", end.read(10))
    t.note("then", end.read(10))


@case()
def reset_in_close_wait(t):
    """A RST in CLOSE-WAIT: EPIPE, by write or SO_ERROR; a read has the end of file all the same."""
    for i, name in enumerate(("write", "read", "SO_ERROR")):
        end, conn = t.raw_accepted(i)
        conn.fin()
        pause(0.1)
        conn.rst()
        pause(0.1)
        t.note(f"{name}: poll", end.events(ALL))
        t.note(name, end.write(b"a") if name == "write" else end.read(1) if name == "read" else end.error())
        t.note(f"{name}: SO_ERROR", end.error())
        t.note(f"{name}: state", end.state())


@case()
def reset_not_exact(t):
    """A RST in the window but not at its begin is challenged by an ACK; the exact one that follows ends it."""
    end, conn = t.raw_accepted()
    conn.rst(conn.snd_nxt + 10)
    t.note("challenge", conn.told(conn.expect("A", 1)))
    t.note("state", end.state())
    conn.rst()
    pause(0.1)
    t.note("state then", end.state())


@case()
def reset_outside(t):
    """A RST outside the window is ignored without a word."""
    end, conn = t.raw_accepted()
    conn.rst(conn.snd_nxt - 10)
    conn.rst(conn.snd_nxt + 10000000)
    t.note("the peer sees", [str(p) for p in conn.all(0.3)])
    conn.send("PA", b"on")
    t.note("read", end.read(10))


@case()
def syn_in_window(t):
    """A SYN in an established connection is challenged by an ACK, and changes nothing."""
    end, conn = t.raw_accepted()
    conn.send("S", seq=conn.snd_nxt)
    t.note("challenge", conn.told(conn.expect("A", 1)))
    conn.send("PA", b"on")
    t.note("read", end.read(10))


@case()
def ack_of_the_future(t):
    """An ACK of what was never sent is answered by an ACK."""
    end, conn = t.raw_accepted()
    conn.send("A", ack=conn.rcv_nxt + 5000)
    t.note("answer", conn.told(conn.expect("A", 1)))
    t.note("state", end.state())


@case()
def data_before_window(t):
    """Old data is answered by an ACK and not read."""
    end, conn = t.raw_accepted()
    conn.send("PA", b"abc")
    t.note("read", end.read(10))
    conn.expect("A")
    pause(0.6)
    conn.send("PA", b"abc", seq=conn.snd_nxt - 3)
    t.note("answer", conn.told(conn.expect("A", 1)))
    t.note("DONTWAIT", end.recv(10, socket.MSG_DONTWAIT))


@case()
def keepalive_probe_of_peer(t):
    """A segment one below the window is answered by an ACK."""
    end, conn = t.raw_accepted()
    pause(0.6)
    conn.send("A", seq=conn.snd_nxt - 1)
    t.note("answer", conn.told(conn.expect("A", 1)))


@case()
def reset_after_data_sent(t):
    """A RST while our data is unacknowledged: ECONNRESET; SIOCOUTQ is 0."""
    end, conn = t.raw_accepted()
    end.write(b"data")
    conn.expect("A", data=True)
    conn.rst()
    pause(0.1)
    t.note("SIOCOUTQ", end.ioctl(0x5411))
    t.note("write", end.write(b"a"))


@case((4,))
def icmp_each_code(t):
    """No code of ICMP destination unreachable ends an established connection; SO_ERROR tells it once, poll does not."""
    end, conn = t.raw_accepted()
    end.write(b"data")
    p = conn.expect("A", data=True)
    for code in (0, 1, 2, 3, 5, 9, 10, 13):
        t.raw.icmp(p, 3, code)
        pause(0.05)
        t.note(f"code {code}: SO_ERROR", end.error())
        t.note(f"code {code}: poll", end.events(ALL))
    t.note("state", end.state())
    conn.ack()
    conn.send("PA", b"on")
    t.note("read", end.read(10))


@case((6,))
def icmp6_each_code(t):
    """No code of ICMPv6 destination unreachable ends an established connection; SO_ERROR tells it once, poll does not."""
    end, conn = t.raw_accepted()
    end.write(b"data")
    p = conn.expect("A", data=True)
    for code in range(7):
        t.raw.icmp(p, 1, code)
        pause(0.05)
        t.note(f"code {code}: SO_ERROR", end.error())
        t.note(f"code {code}: poll", end.events(ALL))
    t.note("state", end.state())
    conn.ack()
    conn.send("PA", b"on")
    t.note("read", end.read(10))


@case()
def icmp_then_gives_up(t):
    """A connection that is given up by TCP_USER_TIMEOUT after ICMP host unreachable ends with EHOSTUNREACH."""
    end, conn = t.raw_accepted()
    end.setsockopt(TCP, socket.TCP_USER_TIMEOUT, 800)
    end.write(b"data")
    p = conn.expect("A", data=True)
    t.raw.icmp(p, *{4: (3, 1), 6: (1, 3)}[t.family])
    t.note("poll", end.events(POLLIN, 5000))
    t.note("read", end.read(1))
    t.note("again", end.read(1))


@case()
def path_mtu(t):
    """Packet too big: what was lost is sent again in smaller segments; IP_MTU tells it."""
    end, conn = t.raw_accepted()
    end.write(pattern(1400))
    p = conn.expect("A", data=True)
    t.note("first", len(p.data))
    conn.rcv_nxt = p.seq  # as if it had not arrived
    if t.family == 4:
        t.raw.icmp(p, 3, 4, 1000)
    else:
        t.raw.icmp(p, 2, 0, 1300)
    again = conn.expect("A", data=True)
    t.note("again", len(again.data) if again else None)
    t.note("the same place", again is not None and again.seq == p.seq)
    conn.ack()
    t.note("the rest", len(conn.take(1400 - (len(again.data) if again else 0))))
    t.note("MTU", end.get(t.level, 14 if t.family == 4 else 24))


@case()
def path_mtu_wrong_number(t):
    """Packet too big that quotes a number not in flight changes nothing."""
    end, conn = t.raw_accepted()
    end.write(pattern(1400))
    p = conn.expect("A", data=True)
    conn.ack()
    pause(0.1)
    at = 24 if t.family == 4 else 44
    p.ip = p.ip[:at] + bytes(b ^ 0x55 for b in p.ip[at:at + 4]) + p.ip[at + 4:]
    t.raw.icmp(p, 3, 4, 1000) if t.family == 4 else t.raw.icmp(p, 2, 0, 1300)
    pause(0.1)
    end.write(pattern(1400))
    t.note("next", len(conn.expect("A", data=True).data))


@case()
def user_timeout(t):
    """TCP_USER_TIMEOUT ends a connection whose data stays unanswered: ETIMEDOUT once, then 0 and EPIPE."""
    end, conn = t.raw_accepted()
    t.note("set", end.setsockopt(TCP, socket.TCP_USER_TIMEOUT, 700))
    t.note("get", end.get(TCP, socket.TCP_USER_TIMEOUT))
    end.write(b"data")
    t.timed("poll", 0.6, 2.5, end.events, POLLIN, 5000)
    t.note("read", end.read(1))
    t.note("again", end.read(1))
    t.note("write", end.write(b"a"))
    t.note("state", end.state())


@case()
def user_timeout_zero_window(t):
    """TCP_USER_TIMEOUT counts for probes of a closed window that nobody answers, too."""
    end, conn = t.raw_accepted(window=0)
    end.setsockopt(TCP, socket.TCP_USER_TIMEOUT, 700)
    end.write(b"data")
    t.timed("poll", 0.6, 4, end.events, POLLIN, 5000)
    t.note("read", end.read(1))


@case()
def keepalive(t):
    """SO_KEEPALIVE: probes after TCP_KEEPIDLE, each TCP_KEEPINTVL, of the number before the next, without data."""
    end, conn = t.raw_accepted()
    for option, value in ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 2)):
        t.note(f"set {option}", end.setsockopt(TCP, option, value))
    t.note("set", end.setsockopt(SOL, socket.SO_KEEPALIVE, 1))
    first = conn.expect("A", 2)
    t.note("probe", (conn.relative(first)[0] & 0xFFFFFFFF, len(first.data)) if first else None)
    conn.ack()
    second = conn.expect("A", 2)
    t.note("the next", second is not None)
    t.note_time("after", second.at - first.at if second else None, 0.8, 1.5)


@case()
def keepalive_gives_up(t):
    """After TCP_KEEPCNT probes without an answer: ETIMEDOUT, and a RST."""
    end, conn = t.raw_accepted()
    for option, value in ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 2)):
        end.setsockopt(TCP, option, value)
    end.setsockopt(SOL, socket.SO_KEEPALIVE, 1)
    later = t.start(end.read, 10)
    seen = conn.all(3.7)
    t.note("probes", sum(p.has("A") for p in seen))
    t.note("RST", [str(p) for p in seen if "R" in p.flags])
    t.note("read", later.result(1))
    t.note_time("after", later.seconds, 2.5, 4.5)
    t.note("again", end.read(1))


@case()
def keepalive_late(t):
    """SO_KEEPALIVE that is set on an idle connection counts from the last that arrived; taken off it ends."""
    end, conn = t.raw_accepted()
    end.setsockopt(TCP, socket.TCP_KEEPIDLE, 1)
    pause(0.5)
    end.setsockopt(SOL, socket.SO_KEEPALIVE, 1)
    t.note("probe", str(conn.expect("A", 1.4)))
    end.setsockopt(SOL, socket.SO_KEEPALIVE, 0)
    conn.ack()
    t.note("off", [str(p) for p in conn.all(1.3)])


@case()
def silent_peer(t):
    """Data without an answer is sent again at 0.2, 0.4, 0.8 seconds and so on."""
    end, conn = t.raw_accepted()
    end.write(b"data")
    got = [p for p in conn.all(2.2) if p.data]
    t.note("at least", 3 <= len(got) <= 5)
    gaps = [b.at - a.at for a, b in zip(got, got[1:])]
    t.note("each longer", all(b > 1.5 * a for a, b in zip(gaps[1:], gaps[2:])))


@case()
def error_once_for_two(t):
    """Two blocked reads of a connection that is reset: one has ECONNRESET, the other 0."""
    end, conn = t.raw_accepted()
    one, two = t.start(end.read, 10), t.start(end.read, 10)
    pause()
    conn.rst()
    t.note("both", sorted(t.plain(x.result()) for x in (one, two)))


@case()
def poll_after_error_read(t):
    """POLLERR goes once the error is read; POLLHUP stays."""
    end, conn = t.raw_accepted()
    conn.rst()
    pause(0.1)
    t.note("before", end.events(0))
    end.error()
    t.note("after", end.events(0))
    t.note("all", end.events(ALL))
