"""top.py PART C10M SOCKET [SERVER_PID]: `c10m top` on a pseudo-terminal of 80x24 that pyte reads, against a server
that serves a page at http://10.99.0.2/. PART is a function below. Needs Debian's python3-pyte."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

import pyte

from gentle import Load

PART, C10M, SOCKET = sys.argv[1:4]
LIMIT_S = 30


class Top:
    """The command on a terminal of its own. TERM=linux is what pyte speaks."""

    def __init__(self, *options, term="linux", rows=24, cols=80):
        self.master, self.slave = pty.openpty()
        self.size(rows, cols)
        self.found = termios.tcgetattr(self.slave)
        self.printed = b""
        self.screen = pyte.Screen(cols, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.pid = os.fork()
        if self.pid == 0:
            os.login_tty(self.slave)
            for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(s, signal.SIG_DFL)
            os.environ["TERM"] = term
            os.execv(C10M, [C10M, "top", "-s", SOCKET, *options])

    def size(self, rows, cols):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return
        piece = os.read(self.master, 65536)
        self.printed += piece
        self.stream.feed(piece)

    def until(self, what, holds):
        """Reads until holds(lines of the screen); returns what it said."""
        end = time.time() + LIMIT_S
        while True:
            said = holds(self.screen.display)
            if said:
                return said
            if time.time() > end:
                sys.exit("%s: not within %d s:\n%s" % (what, LIMIT_S, "\n".join(self.screen.display)))
            self.read(0.1)

    def shows(self, text):
        return self.until("showing " + repr(text), lambda lines: any(text in line for line in lines))

    def press(self, keys):
        os.write(self.master, keys)

    def ended(self):
        """The exit status, negative for a signal, once the terminal is as it was found."""
        end = time.time() + LIMIT_S
        while True:
            self.read(0.1)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                break
            if time.time() > end:
                os.kill(self.pid, signal.SIGKILL)
                sys.exit("still running")
        while select.select([self.master], [], [], 0)[0]:
            self.read(0)
        if termios.tcgetattr(self.slave) != self.found:
            sys.exit("the terminal's modes are not as they were")
        return os.waitstatus_to_exitcode(status)


def row(lines, core="1"):
    """The columns of a core, by the place that they have in 80 columns."""
    for line in lines[7:]:
        if line.startswith(core + " "):
            words = line.split()
            names = "core state rx_pps tx_pps rx_bps tx_bps conns cps cpp busy drops p50 p99_9".split()
            return dict(zip(names, words)) if len(words) == len(names) else None
    return None


def number(text):
    return float(text.rstrip("kMG")) * {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1)


def figures():
    """Figures appear, in 80 columns, and move."""
    top = Top("-d", "0.3")
    top.shows("c10m ")
    for text in ("connections", "memory", "packets/s", "q quit"):
        top.shows(text)
    top.until("no packets", lambda lines: (r := row(lines)) and number(r["rx_pps"]) < 20)
    with Load():
        top.until("packets, bits and connections by the second", lambda lines: (r := row(lines)) and number(r["rx_pps"]) > 50
                  and number(r["tx_pps"]) > 50 and number(r["rx_bps"]) > 1000 and number(r["cps"]) > 5 and number(r["conns"]) >= 1)
        top.until("cycles and latency", lambda lines: (r := row(lines)) and number(r["cpp"]) > 10 and r["p50"] != "-" and r["p99_9"] != "-"
                  and 0 < float(r["busy"]) <= 100 and r["state"] == "running")
        seen = set()
        top.until("figures that move", lambda lines: (r := row(lines)) and seen.add(r["rx_pps"]) or len(seen) > 2)
    top.until("no packets again", lambda lines: (r := row(lines)) and number(r["rx_pps"]) < 20)
    top.press(b"q")
    if (status := top.ended()) != 0:
        sys.exit("status %d" % status)


def keys():
    """Help, zoom, sorting, interval and pause."""
    top = Top("-d", "0.3")
    top.shows("q quit")
    top.press(b"h")
    top.shows("Sort by a column")
    top.press(b"h")
    top.until("the table again", row)
    picked = lambda: {x for x in range(80) if top.screen.buffer[6][x].bg != top.screen.buffer[6][15].bg}
    top.press(b"n")
    top.until("sorted by core", lambda lines: picked() == set(range(0, 4)))
    top.press(b"s")
    top.until("sorted by state", lambda lines: picked() == set(range(5, 10)))
    top.press(b"d")
    top.until("sorted by drops", lambda lines: lines[6][min(picked() or {0}):max(picked() or {0}) + 1] == "/s" and picked())
    with Load():
        top.press(b"\r")
        top.shows("dropped because")
        top.until("cycles of a stage", lambda lines: any(re.match(r"tcp_input +\d+\.\d% +[1-9]", line) for line in lines))
        top.until("a bar", lambda lines: any(re.match(r"(rx|tx|idle) .*#", line) for line in lines))
    top.press(b"\x1b[B\x1b[A")  # arrows: one core, so it stays
    top.press(b"q")
    top.until("the table", row)
    top.press(b"+")
    top.shows("every 0.5 s")
    top.press(b"-")
    top.shows("every 0.2 s")
    top.press(b"p")
    top.shows("paused")
    frozen = top.screen.display[1]
    end = time.time() + 1.2
    while time.time() < end:
        top.read(0.1)
    if top.screen.display[1] != frozen:
        sys.exit("moves while paused")
    top.press(b"p")
    top.until("time that goes on", lambda lines: "paused" not in lines[1] and lines[1] != frozen)
    top.press(b"q")
    if (status := top.ended()) != 0:
        sys.exit("status %d" % status)


def pages():
    """Services, ports, and drops with their help; the first line says what is wrong."""
    top = Top("-d", "0.3")
    top.until("a verdict", lambda lines: lines[0].strip() and "c10m " in lines[1])
    with Load():
        top.press(b"2")
        top.until("services", lambda lines: any(re.match(r"web +open +\d+ +16.4k +.*requests \d", line) for line in lines[6:]))
        top.press(b"3")
        top.until("ports", lambda lines: any(re.match(r"tap0 +tap +up +\d", line) for line in lines[6:]) and "tx err" in lines[5])
        top.press(b"4")
        top.until("drops with what they mean", lambda lines: any(re.match(r"eth_type_unknown +\S+ +\d+  neither ARP", line) for line in lines[6:]))
    top.press(b"q")
    top.until("the cores", row)
    top.press(b"q")
    if (status := top.ended()) != 0:
        sys.exit("status %d" % status)


def sizes():
    """The screen may change its size at any time, and be small."""
    top = Top("-d", "0.3")
    top.until("13 columns", lambda lines: "latency" in lines[5] and row(lines))
    top.screen.resize(10, 40)
    top.size(10, 40)
    top.until("fewer columns", lambda lines: "latency" not in lines[5] and "packets/s" in lines[5] and lines[9].startswith("q quit"))
    top.screen.resize(50, 200)
    top.size(50, 200)
    top.until("all columns", lambda lines: "resent" in lines[5] and "wait" in lines[6] and lines[49].startswith("q quit"))
    top.press(b"q")
    top.ended()


def ends():
    """Whatever ends it, the terminal is as it was."""
    for name, act, expected in (
            ("q", lambda top: top.press(b"q"), 0),
            ("Ctrl-C", lambda top: top.press(b"\x03"), -signal.SIGINT),
            ("SIGTERM", lambda top: os.kill(top.pid, signal.SIGTERM), -signal.SIGTERM),
            ("SIGHUP", lambda top: os.kill(top.pid, signal.SIGHUP), -signal.SIGHUP),
            ("a crash", lambda top: os.kill(top.pid, signal.SIGSEGV), -signal.SIGSEGV),
            ("an abort", lambda top: os.kill(top.pid, signal.SIGABRT), -signal.SIGABRT)):
        top = Top("-d", "0.3", term="xterm")
        top.shows("connections")
        act(top)
        status = top.ended()
        if status != expected:
            sys.exit("%s: status %d, not %d" % (name, status, expected))
        if b"\x1b[?1049h" not in top.printed:
            sys.exit("no screen of its own")
        after = top.printed[top.printed.rindex(b"\x1b[?1049h"):]
        if b"\x1b[?1049l" not in after or after.rindex(b"\x1b[?25h") < after.rindex(b"\x1b[?25l"):
            sys.exit("%s: screen or cursor not given back" % name)
        os.close(top.master)
        os.close(top.slave)


def gone():
    """A server that goes is missed, and met again. SERVER_PID is stopped by us, restarted by who called."""
    top = Top("-d", "0.3")
    top.until("the table", row)
    print("READY", flush=True)
    top.shows("no server at")
    top.until("old figures", row)
    print("GONE", flush=True)
    top.until("the new server", lambda lines: row(lines) and not any("no server" in line for line in lines))
    top.press(b"q")
    top.ended()


globals()[PART]()
