#!/usr/bin/env python3
"""bench_greedy: clients that hold what a server has, for scripts/bench overload.

  bench_greedy.py slow ADDRESS PORT N     N connections that read nothing; each sends a byte, for a service that waits for one
  bench_greedy.py hold ADDRESS PORT N     N connections that send nothing

The sockets are the kernel's. One that the server ends is opened again. Ends at SIGTERM, after one JSON object: opened, ended, and open
at the end.
"""
import errno
import json
import resource
import select
import signal
import socket
import sys

AT_ONCE = 200      # connections that are opened in a step
STEP_S = 0.05


def main(kind, address, port, n):
    going = [True]
    signal.signal(signal.SIGTERM, lambda *_: going.__setitem__(0, False))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(n + 100, hard), hard))
    found, opened, ended = {}, 0, 0
    poll = select.epoll()
    while going[0]:
        for _ in range(min(AT_ONCE, n - len(found))):
            s = socket.socket()
            s.setblocking(False)
            if kind == "slow":
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            if s.connect_ex((address, port)) not in (0, errno.EINPROGRESS):
                s.close()
                break
            found[s.fileno()] = [s, False]
            poll.register(s, select.EPOLLOUT | select.EPOLLRDHUP)
        for fd, events in poll.poll(STEP_S, 1024):
            s, is_open = found[fd]
            if events & (select.EPOLLERR | select.EPOLLHUP | select.EPOLLRDHUP):
                poll.unregister(fd)
                s.close()
                del found[fd]
                ended += is_open
            elif not is_open:
                found[fd][1] = True
                opened += 1
                if kind == "slow":
                    s.send(b"\n")
                poll.modify(fd, select.EPOLLRDHUP)
    json.dump({"opened": opened, "ended": ended, "open": sum(is_open for _, is_open in found.values())}, sys.stdout)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in ("slow", "hold"):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
