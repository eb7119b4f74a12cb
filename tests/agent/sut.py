"""The two systems under test behind one interface of BSD socket calls.

A result is the call's value, or the name of the errno as a string; no call raises for an errno. Every
system has one primitive, call(op, fd, args, addr, data) -> (return value, errno, addr, data), that mirrors
a request and a reply of agent.h; everything else is built on it, so both are driven alike.
"""
import ctypes
import select
import socket
import struct
import threading

import names
from names import Op

ROOM = 256 * 1024


def sockaddr(where):
    """struct sockaddr_in or sockaddr_in6 of (host, port); bytes are taken as they are."""
    if isinstance(where, bytes):
        return where
    host, port = where
    if ":" in host:
        return struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0) + \
            socket.inet_pton(socket.AF_INET6, host) + bytes(4)
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8)


def host_port(addr):
    """(host, port) of a struct sockaddr_in or sockaddr_in6; None of nothing."""
    if len(addr) < 8:
        return None
    family, port = struct.unpack("=H", addr[:2])[0], struct.unpack("!H", addr[2:4])[0]
    if family == socket.AF_INET6:
        return socket.inet_ntop(socket.AF_INET6, addr[8:24]), port
    return socket.inet_ntoa(addr[4:8]), port


class Sockets:
    """BSD socket calls over call()."""
    name = "none"

    def call(self, op, fd=-1, args=(), addr=b"", data=b""):
        raise NotImplementedError

    def value(self, *request, **more):
        """The return value alone, or the errno's name."""
        ret, error, _, _ = self.call(*request, **more)
        return names.errno_name(error) if ret < 0 else ret

    def socket(self, domain, kind, protocol=0):
        return self.value(Op.SOCKET, args=(domain, kind, protocol))

    def bind(self, fd, where):
        return self.value(Op.BIND, fd, addr=sockaddr(where))

    def listen(self, fd, backlog):
        return self.value(Op.LISTEN, fd, (backlog,))

    def accept(self, fd):
        """(descriptor, (host, port) of the peer)."""
        ret, error, addr, _ = self.call(Op.ACCEPT, fd)
        return names.errno_name(error) if ret < 0 else (ret, host_port(addr))

    def connect(self, fd, where):
        return self.value(Op.CONNECT, fd, addr=sockaddr(where))

    def _bytes(self, *request):
        ret, error, _, data = self.call(*request)
        return names.errno_name(error) if ret < 0 else data[:ret]

    def _name(self, op, fd):
        """(host, port), or the errno's name."""
        ret, error, addr, _ = self.call(op, fd)
        return names.errno_name(error) if ret < 0 else host_port(addr)

    def getsockname(self, fd):
        return self._name(Op.GETSOCKNAME, fd)

    def getpeername(self, fd):
        return self._name(Op.GETPEERNAME, fd)

    def read(self, fd, n):
        return self._bytes(Op.READ, fd, (n,))

    def recv(self, fd, n, flags=0):
        return self._bytes(Op.RECV, fd, (n, flags))

    def recv_count(self, fd, n, flags=0):
        """What recv returns, which with MSG_TRUNC may be more than it copies, or than n."""
        return self.value(Op.RECV, fd, (n, flags))

    def write(self, fd, data):
        return self.value(Op.WRITE, fd, data=data)

    def send(self, fd, data, flags=0):
        return self.value(Op.SEND, fd, (0, flags), data=data)

    def sendto(self, fd, data, where, flags=0):
        return self.value(Op.SENDTO, fd, (0, flags), addr=sockaddr(where) if where else b"", data=data)

    def recvfrom(self, fd, n, flags=0):
        """(data, (host, port) of the sender)."""
        ret, error, addr, data = self.call(Op.RECVFROM, fd, (n, flags))
        return names.errno_name(error) if ret < 0 else (data[:ret], host_port(addr))

    def fcntl(self, fd, command, argument=0):
        return self.value(Op.FCNTL, fd, (command, argument))

    def ioctl(self, fd, request):
        """The int that SIOCINQ or SIOCOUTQ writes."""
        ret, error, _, data = self.call(Op.IOCTL, fd, (request,))
        return names.errno_name(error) if ret < 0 else struct.unpack("=i", data[:4])[0]

    def close(self, fd):
        return self.value(Op.CLOSE, fd)

    def shutdown(self, fd, how):
        return self.value(Op.SHUTDOWN, fd, (how,))

    def getsockopt(self, fd, level, option, room=4):
        """The bytes it writes, at most `room`."""
        ret, error, _, data = self.call(Op.GETSOCKOPT, fd, (level, option, room))
        return names.errno_name(error) if ret < 0 else data

    def setsockopt(self, fd, level, option, value):
        """value: an int, or the bytes of another type or length."""
        data = value if isinstance(value, bytes) else struct.pack("=i", value)
        return self.value(Op.SETSOCKOPT, fd, (level, option), data=data)

    def poll(self, wanted, timeout_ms):
        """wanted: [(descriptor, events)]; (count, [names of revents])."""
        data = b"".join(struct.pack("=ihh", fd, events, 0) for fd, events in wanted)
        ret, error, _, back = self.call(Op.POLL, -1, (len(wanted), timeout_ms), data=data)
        if ret < 0:
            return names.errno_name(error)
        return ret, [names.bit_names(r & 0xFFFF, names.POLL_BITS) for _, _, r in struct.iter_unpack("=ihh", back)]

    def epoll_create(self):
        return self.value(Op.EPOLL_CREATE)

    def epoll_ctl(self, epfd, what, fd, events=0, tag=0):
        return self.value(Op.EPOLL_CTL, epfd, (what, fd), data=struct.pack("=IQ", events & 0xFFFFFFFF, tag))

    def epoll_wait(self, epfd, most, timeout_ms):
        """[(tag, names of events)], in the order of the tags."""
        ret, error, _, data = self.call(Op.EPOLL_WAIT, epfd, (most, timeout_ms))
        if ret < 0:
            return names.errno_name(error)
        got = struct.iter_unpack("=IQ", data[:12 * ret])
        return sorted((tag, names.bit_names(events, names.EPOLL_BITS)) for events, tag in got)


class Kernel(Sockets):
    """Linux, by ctypes, so that nothing of Python's retries or translates; in the network namespace of
    descriptor `netns`, whatever namespace the calling thread is in."""
    name = "kernel"

    def __init__(self, netns, home):
        self.netns, self.home = netns, home
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.recv.restype = self.libc.send.restype = ctypes.c_ssize_t
        self.libc.read.restype = self.libc.write.restype = ctypes.c_ssize_t
        self.libc.recvfrom.restype = self.libc.sendto.restype = ctypes.c_ssize_t
        size = ctypes.c_size_t
        for f in (self.libc.read, self.libc.write):
            f.argtypes = (ctypes.c_int, ctypes.c_void_p, size)
        for f in (self.libc.recv, self.libc.send):
            f.argtypes = (ctypes.c_int, ctypes.c_void_p, size, ctypes.c_int)
        for f in (self.libc.recvfrom, self.libc.sendto):
            f.argtypes = (ctypes.c_int, ctypes.c_void_p, size, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self.libc.sendto.argtypes = (ctypes.c_int, ctypes.c_void_p, size, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint)

    def call(self, op, fd=-1, args=(), addr=b"", data=b""):
        return getattr(self, "_" + Op(op).name.lower())(fd, args, addr, data)

    @staticmethod
    def _end(ret, addr=b"", data=b""):
        return ret, (ctypes.get_errno() if ret < 0 else 0), addr, data

    def _socket(self, fd, args, addr, data):
        self.libc.setns(self.netns, 0)
        result = self._end(self.libc.socket(*args))
        self.libc.setns(self.home, 0)
        return result

    def _bind(self, fd, args, addr, data):
        return self._end(self.libc.bind(fd, addr, len(addr)))

    def _connect(self, fd, args, addr, data):
        return self._end(self.libc.connect(fd, addr, len(addr)))

    def _listen(self, fd, args, addr, data):
        return self._end(self.libc.listen(fd, *args))

    def _accept(self, fd, args, addr, data):
        room, length = ctypes.create_string_buffer(128), ctypes.c_uint(128)
        ret = self.libc.accept(fd, room, ctypes.byref(length))
        return self._end(ret, room.raw[:length.value] if ret >= 0 else b"")

    def _tell(self, function, fd):
        room, length = ctypes.create_string_buffer(128), ctypes.c_uint(128)
        ret = function(fd, room, ctypes.byref(length))
        return self._end(ret, room.raw[:length.value] if ret == 0 else b"")

    def _getsockname(self, fd, args, addr, data):
        return self._tell(self.libc.getsockname, fd)

    def _getpeername(self, fd, args, addr, data):
        return self._tell(self.libc.getpeername, fd)

    def _take(self, n, function):
        room = ctypes.create_string_buffer(max(1, min(n, ROOM)))
        ret = function(room)
        return self._end(ret, data=room.raw[:min(ret, n)] if ret > 0 else b"")

    def _read(self, fd, args, addr, data):
        return self._take(args[0], lambda room: self.libc.read(fd, room, args[0]))

    def _recv(self, fd, args, addr, data):
        return self._take(args[0], lambda room: self.libc.recv(fd, room, args[0], args[1]))

    def _recvfrom(self, fd, args, addr, data):
        name, length = ctypes.create_string_buffer(128), ctypes.c_uint(128)
        ret, error, _, got = self._take(args[0], lambda room: self.libc.recvfrom(
            fd, room, args[0], args[1], name, ctypes.addressof(length)))
        return ret, error, name.raw[:length.value] if ret >= 0 and length.value < 128 else b"", got

    def _write(self, fd, args, addr, data):
        return self._end(self.libc.write(fd, data, len(data)))

    def _send(self, fd, args, addr, data):
        return self._end(self.libc.send(fd, data, len(data), args[1]))

    def _sendto(self, fd, args, addr, data):
        return self._end(self.libc.sendto(fd, data, len(data), args[1], addr or None, len(addr)))

    def _fcntl(self, fd, args, addr, data):
        return self._end(self.libc.fcntl(fd, *args))

    def _ioctl(self, fd, args, addr, data):
        room = ctypes.c_int(0)
        return self._end(self.libc.ioctl(fd, args[0], ctypes.byref(room)), data=bytes(room))

    def _close(self, fd, args, addr, data):
        return self._end(self.libc.close(fd))

    def _shutdown(self, fd, args, addr, data):
        return self._end(self.libc.shutdown(fd, *args))

    def _getsockopt(self, fd, args, addr, data):
        level, option, n = args
        room, length = ctypes.create_string_buffer(max(n, 1)), ctypes.c_int(n)
        ret = self.libc.getsockopt(fd, level, option, room, ctypes.byref(length))
        return self._end(ret, data=room.raw[:max(0, length.value)] if ret == 0 else b"")

    def _setsockopt(self, fd, args, addr, data):
        return self._end(self.libc.setsockopt(fd, *args, data, len(data)))

    def _poll(self, fd, args, addr, data):
        room = ctypes.create_string_buffer(data, max(len(data), 1))
        ret = self.libc.poll(room, *args)
        return self._end(ret, data=room.raw[:len(data)])

    def _epoll_create(self, fd, args, addr, data):
        return self._end(self.libc.epoll_create1(0))

    def _epoll_ctl(self, fd, args, addr, data):
        return self._end(self.libc.epoll_ctl(fd, *args, ctypes.create_string_buffer(data, len(data))))

    def _epoll_wait(self, fd, args, addr, data):
        room = ctypes.create_string_buffer(12 * max(args[0], 1))
        ret = self.libc.epoll_wait(fd, room, *args)
        return self._end(ret, data=room.raw[:12 * ret] if ret > 0 else b"")


class Agent(Sockets):
    """c10m's socket agent. A call that goes on while others are made has a client connection of its own,
    as a thread has; connections are used again."""
    name = "agent"
    REQUEST, REPLY = struct.Struct("=Ii5qII32s"), struct.Struct("=qiIII32s")

    def __init__(self, path):
        self.path, self.idle, self.lock = path, [], threading.Lock()

    def _client(self):
        with self.lock:
            if self.idle:
                return self.idle.pop()
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        client.connect(self.path)
        return client

    def call(self, op, fd=-1, args=(), addr=b"", data=b""):
        client = self._client()
        a = (*args, 0, 0, 0, 0, 0)[:5]
        client.send(self.REQUEST.pack(op, fd, *a, len(addr), len(data), addr) + data)
        reply = client.recv(ROOM)
        if len(reply) < self.REPLY.size:
            raise ConnectionError(f"the agent ended the connection at {Op(op).name}")
        ret, error, addr_bytes, data_bytes, _, name = self.REPLY.unpack_from(reply)
        with self.lock:
            self.idle.append(client)
        body = reply[self.REPLY.size:]
        if data_bytes != len(body):
            raise ConnectionError(f"{Op(op).name}: {len(body)} bytes behind the header, it says {data_bytes}")
        return ret, error, name[:addr_bytes], body

    def reset(self):
        return self.value(Op.RESET)


POLLIN, POLLOUT, POLLRDHUP = select.POLLIN, select.POLLOUT, select.POLLRDHUP
