#!/usr/bin/env python3
"""signals.py C10M DIR NAME SEED: pairs of signals at random moments of a server's life, and what it leaves behind:
nothing, and the right exit status. Run in a network namespace of its own."""
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time

C10M, DIR, NAME, SEED = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
RANDOM = random.Random(SEED)
ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGXCPU}
RESTART, RESTART_STATUS = signal.SIGUSR2, 75  # as SIGTERM, because nothing is adopted here, but for the status
CRASHING = {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS}
NOT_SENT = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT}
ALL = sorted(set(range(1, signal.SIGRTMIN)) & set(signal.valid_signals()) - NOT_SENT) + [
    signal.SIGRTMIN, signal.SIGRTMIN + 1, signal.SIGRTMIN + 5, signal.SIGRTMAX]
END_S = 60  # by when a server has to have ended: it drains for an hour, and never because of these
CONF = """
[control]
name = {name}
run_dir = {dir}/run
mount = {dir}/run/proc
http = 127.0.0.1:19911
drain_s = 3600
[cpu]
workers = 1
[memory]
hugepage = {hugepage}
hugetlbfs = {dir}/huge
connections = 1024
time_wait = 1024
syn_received = 1024
extension_records = 1024
flight_logs = 1024
packets = 4096
buffers = 1024
[port p0]
{port}
address = 10.98.0.2/24
[service echo]
app = echo
port = 7
"""
KINDS = {
    "ring": {"hugepage": "none", "port": "driver = ring"},
    "tap": {"hugepage": "2M", "port": "driver = tap\ndevice = c10msig0\nhost_address = 10.98.0.1/24"},
}


def few(names):
    """Names as text, of many the first three."""
    return ", ".join(names[:3]) + (" and %d more" % (len(names) - 3) if len(names) > 3 else "")


def left_behind():
    """What a server that has ended must not leave, as a list of words."""
    left = [str(p) for p in (DIR / "run", DIR / "huge", pathlib.Path("/run/dpdk") / NAME) if p.exists()]
    left += [line.split()[1] for line in open("/proc/mounts") if line.split()[1].startswith(str(DIR))]
    if "c10msig0" in os.listdir("/proc/sys/net/ipv4/conf"):
        left.append("interface c10msig0")
    return left


class Server:
    def __init__(self, kind):
        conf = DIR / "conf"
        conf.write_text(CONF.format(name=NAME, dir=DIR, **KINDS[kind]))
        self.log = DIR / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([C10M, "serve", "-c", str(conf)], stdout=log, stderr=log)
        # Before main() begins nothing is held, and the kernel knows of no handler.
        self.wait(lambda: self.blocks(signal.SIGTERM), "SIGTERM is not held")

    def blocks(self, number):
        try:
            lines = open("/proc/%d/status" % self.process.pid).read().splitlines()
        except OSError:
            return False
        mask = [int(line.split()[1], 16) for line in lines if line.startswith("SigBlk:")]
        return bool(mask) and mask[0] >> (number - 1) & 1

    def wait(self, until, what):
        end = time.monotonic() + END_S
        while not until():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError("%s: exit status %s: %s" % (what, self.process.returncode, self.log.read_text()))
            time.sleep(0.0005)

    def serves(self):
        return "serving\n" in self.log.read_text(errors="replace")

    def send(self, number):
        """Nothing if it has ended."""
        if self.process.poll() is None:
            os.kill(self.process.pid, number)

    def end(self):
        try:
            return self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("it does not end: %s" % self.log.read_text()) from None


def wanted(sent):
    """The exit statuses that are right after these signals."""
    statuses = {-s for s in sent if s in CRASHING}
    if RESTART in sent:
        statuses.add(RESTART_STATUS)
    return statuses | {0} if not statuses or ENDING & set(sent) else statuses


def one(kind, sent, delay_s, gap_s, connected):
    """What is wrong after one life, as text; "" if nothing."""
    server = Server(kind)
    client = None
    if connected:
        server.wait(server.serves, "does not serve")
        client = socket.create_connection(("10.98.0.2", 7), timeout=END_S)
    time.sleep(delay_s)
    server.send(sent[0])
    time.sleep(gap_s)
    server.send(sent[1])
    if not (ENDING | CRASHING | {RESTART}) & set(sent):
        server.wait(server.serves, "died of a signal that means nothing")
        sent = (*sent, signal.SIGTERM, signal.SIGTERM)
        server.send(signal.SIGTERM)
        server.send(signal.SIGTERM)
    elif connected and not {s for s in sent if s in CRASHING or s in (signal.SIGQUIT, signal.SIGXCPU)}:
        server.send(signal.SIGTERM)  # drains for its connection: at once by another one
        time.sleep(gap_s)
        server.send(signal.SIGTERM)
    status = server.end()
    if client is not None:
        client.close()
    wrong = []
    if status not in wanted(sent):
        wrong.append("exit status %d, not one of %s: %s" % (status, sorted(wanted(sent)), server.log.read_text()))
    if left := left_behind():
        wrong.append("left behind: " + ", ".join(left))
    return "; ".join(wrong)


def one_load(pair, delay_s, gap_s):
    """The same of a load generator, with hugepages of its own: it ends by itself, interrupted."""
    with open(DIR / "log", "wb") as log:
        load = subprocess.Popen([C10M, "load", "request", "--connections", "100", "--seconds", "600", "--quiet"], stdout=log, stderr=log)
    name = pathlib.Path("/run/dpdk/c10mload%d" % load.pid)
    end = time.monotonic() + END_S
    while not name.exists() and load.poll() is None and time.monotonic() < end:
        time.sleep(0.0005)
    time.sleep(delay_s)
    for number in pair:
        os.kill(load.pid, number)  # not waited for yet: the number is still its own
        time.sleep(gap_s)
    if load.poll() is None and not (ENDING | {signal.SIGHUP}) & set(pair):
        os.kill(load.pid, signal.SIGINT)
    try:
        status = load.wait(END_S)
    except subprocess.TimeoutExpired:
        load.kill()
        return "load does not end"
    wrong = [] if status in (0, 1) else ["exit status %d: %s" % (status, (DIR / "log").read_text(errors="replace"))]
    left = [str(name)] if name.exists() else []
    # Its own alone: others on this machine have files and mounts as well.
    left += [str(p) for line in open("/proc/mounts") if line.split()[2] == "hugetlbfs"
             for p in pathlib.Path(line.split()[1]).glob(name.name + "*")]
    return "; ".join(wrong + (["left behind: " + few(left)] if left else []))


def life_s(kind):
    """How long a start lasts: what random moments are chosen from."""
    server = Server(kind)
    begun = time.monotonic()
    server.wait(server.serves, "does not serve")
    length = time.monotonic() - begun
    server.send(signal.SIGTERM)
    assert server.end() == 0 and not left_behind(), left_behind()
    return length


def rounds():
    """Kind, the two signals, whether a connection is open, gap: every signal at least twice."""
    for number in ALL + ALL:
        yield "ring", (number, RANDOM.choice(ALL)), False, RANDOM.choice((0, 0.0005, 0.01, 0.05))
    for gap in (0, 0.0005, 0.01):
        for pair in ((signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGINT), (signal.SIGTERM, signal.SIGQUIT)):
            yield "ring", pair, False, gap
            yield "tap", pair, RANDOM.random() < 0.5, gap
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGHUP, signal.SIGSEGV, signal.SIGRTMIN + 1, signal.SIGIO):
        yield "tap", (number, RANDOM.choice(ALL)), False, 0.001


def main():
    # A shell's background job ignores these two, and so would all that is started here.
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    os.makedirs(DIR, exist_ok=True)
    length = {kind: life_s(kind) for kind in KINDS}
    failed = n = 0
    for kind, pair, connected, gap_s in rounds():
        delay_s = RANDOM.uniform(0, 1.2 * length[kind])
        n += 1
        try:
            wrong = one(kind, pair, delay_s, gap_s, connected)
        except AssertionError as e:
            wrong = str(e)
        if wrong:
            failed += 1
            names = " and ".join(signal.Signals(s).name if s in set(signal.Signals) else "signal %d" % s for s in pair)
            print("%s: %s after %.3f s, %.4f s apart: %s" % (kind, names, delay_s, gap_s, wrong))
            if left_behind():
                break  # the next ones would find it
    for pair in ((signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGTERM), (signal.SIGHUP, signal.SIGINT),
                 (signal.SIGUSR1, signal.SIGALRM), (signal.SIGQUIT, signal.SIGPIPE)):
        delay_s, gap_s = RANDOM.uniform(0, 0.5), RANDOM.choice((0, 0.001, 0.01))
        n += 1
        if wrong := one_load(pair, delay_s, gap_s):
            failed += 1
            print("load: %s after %.3f s, %.4f s apart: %s" % (pair, delay_s, gap_s, wrong))
    print("%d lives, %d wrong, seed %d" % (n, failed, SEED))
    sys.exit(1 if failed else 0)


main()
