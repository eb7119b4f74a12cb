"""Linux's constants that Python's socket module lacks, and names for errno values and bits."""
import errno
import select
import socket
from enum import IntEnum


class Op(IntEnum):
    """The calls, numbered as in agent.h."""
    SOCKET = 1
    BIND = 2
    LISTEN = 3
    ACCEPT = 4
    CONNECT = 5
    READ = 6
    RECV = 7
    WRITE = 8
    SEND = 9
    SENDTO = 10
    RECVFROM = 11
    FCNTL = 12
    IOCTL = 13
    CLOSE = 14
    SHUTDOWN = 15
    GETSOCKOPT = 16
    SETSOCKOPT = 17
    POLL = 18
    EPOLL_CREATE = 19
    EPOLL_CTL = 20
    EPOLL_WAIT = 21
    RESET = 22
    GETSOCKNAME = 23
    GETPEERNAME = 24


SIOCINQ, SIOCOUTQ = 0x541B, 0x5411
F_GETFL, F_SETFL, O_NONBLOCK = 3, 4, 0o4000

IP_MTU_DISCOVER, IP_MTU = 10, 14
IPV6_MTU_DISCOVER, IPV6_MTU = 23, 24
PMTUDISC_DONT, PMTUDISC_WANT, PMTUDISC_DO = 0, 1, 2
TCP_CONGESTION, TCP_USER_TIMEOUT, TCP_NOTSENT_LOWAT = 13, 18, 25

EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD = 1, 2, 3

POLL_BITS = {getattr(select, n): n[4:] for n in
             ("POLLIN", "POLLPRI", "POLLOUT", "POLLERR", "POLLHUP", "POLLNVAL", "POLLRDHUP")}
EPOLL_BITS = {select.EPOLLIN: "IN", select.EPOLLPRI: "PRI", select.EPOLLOUT: "OUT", select.EPOLLERR: "ERR",
              select.EPOLLHUP: "HUP", select.EPOLLRDHUP: "RDHUP"}

TCP_STATES = ("?", "ESTABLISHED", "SYN-SENT", "SYN-RECEIVED", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "CLOSE",
              "CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING")


def errno_name(number):
    """EAGAIN for 11."""
    if number == errno.EOPNOTSUPP:  # Python says ENOTSUP, which Linux's manual pages do not
        return "EOPNOTSUPP"
    return errno.errorcode.get(number, f"errno {number}")


def bit_names(value, names):
    """The bits of a value as 'IN OUT', in the order of `names`; bits without a name that are not readiness
    of normal data (RDNORM and the like) are left out."""
    return " ".join(n for b, n in names.items() if value & b) or "none"


def family_of(host):
    """The address family of a numeric address."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET
