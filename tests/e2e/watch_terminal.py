#!/usr/bin/env python3
"""watch_terminal.py C10M: c10m watch on a terminal of 10 lines of 40: draws within it, draws again, shows what has
changed, and ends on Ctrl-C with 130 and no backtrace."""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

LIMIT_S = 60


def main(c10m):
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 40, 0, 0))
        os.execv(c10m, [c10m, "watch", "-d", "-n", "0.1", "uptime", "config"])
    seen, end, sent = b"", time.monotonic() + LIMIT_S, False
    while time.monotonic() < end:
        if not select.select([fd], [], [], 0.5)[0]:
            continue
        try:
            got = os.read(fd, 65536)
        except OSError:
            break  # the terminal's other end is closed
        if not got:
            break
        seen += got
        if seen.count(b"\x1b[H") >= 5 and b"\x1b[7m" in seen and not sent:
            os.write(fd, b"\x03")
            sent = True
    if not sent:
        os.kill(pid, signal.SIGKILL)  # or it would be waited for without end
    _, status = os.waitpid(pid, 0)
    text = seen.decode(errors="replace")
    assert sent, "was not drawn five times with a change: %r" % text[-400:]
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 130, "status %r" % status
    assert "every 0.1 s  uptime ..." in text, text[:200]
    for frame in text.split("\x1b[H")[1:-1]:
        lines = frame.replace("\x1b[7m", "").replace("\x1b[27m", "").replace("\x1b[K", "").replace("\x1b[J", "").split("\r\n")
        assert len(lines) <= 10 and max(map(len, lines)) <= 40, lines
    print("drawn %d times" % seen.count(b"\x1b[H"))


main(sys.argv[1])
