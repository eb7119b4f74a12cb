#!/usr/bin/env python3
"""Plays systemd for the unit of a service, as far as a test needs it:

    service_manager.py run UNIT --uid UID [--watchdog SECONDS] [--set NAME=VALUE]   ExecStartPre=, then ExecStart=
    service_manager.py reload UNIT --uid UID                                        ExecReload=

The commands get what the unit asks for: user, capabilities, limits, umask, filters of system calls and of families of
sockets, no writable code. Of what needs a machine with systemd there is nothing (DevicePolicy=, ProtectClock=).
`run` prints a line for each datagram at NOTIFY_SOCKET and for each event, and ends with the service:

    notify WATCHDOG=1
    notify READY=1|STATUS=serving
    watchdog expired                 (WatchdogSec= without WATCHDOG=1; printed once, then the service gets SIGABRT if
                                      --abort was given)
    end 0                            status, or -signal
"""
import argparse
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

FILTERS = {"private-anonymous": 0, "shared-anonymous": 1, "private-file-backed": 2, "shared-file-backed": 3, "elf-headers": 4,
           "private-huge": 5, "shared-huge": 6}
PROT_WRITE, PROT_EXEC = 2, 4


def read_unit(path):
    """{name: [value, ...]} of [Service], in the order of the lines."""
    unit, section = {}, ""
    for line in open(path):
        line = line.strip()
        if line.startswith("["):
            section = line
        elif section == "[Service]" and "=" in line and not line.startswith("#"):
            name, value = line.split("=", 1)
            unit.setdefault(name, []).append(value)
    return unit


def expand(names):
    """Sets of system calls (@system-service) as systemd knows them, down to the calls."""
    calls = set()
    for name in names:
        if not name.startswith("@"):
            calls.add(name)
            continue
        text = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True, capture_output=True, text=True).stdout
        calls |= expand(w.strip() for w in text.split("\n")[1:] if w.strip() and not w.strip().startswith("#"))
    return calls


def allowed_calls(unit):
    calls = set()
    for value in unit["SystemCallFilter"]:
        if value.startswith("~"):
            calls -= expand(value[1:].split())
        else:
            calls |= expand(value.split())
    return calls


def load_filters(unit):
    """Confines this process. Two filters: a call has to pass both."""
    import seccomp
    allow = seccomp.SyscallFilter(seccomp.ERRNO(1))
    for call in sorted(allowed_calls(unit)):
        if call == "socket":
            for family in " ".join(unit["RestrictAddressFamilies"]).split():
                allow.add_rule(seccomp.ALLOW, "socket", seccomp.Arg(0, seccomp.EQ, getattr(socket, family, 44)))  # 44: AF_XDP
            continue
        try:
            allow.add_rule(seccomp.ALLOW, call)
        except Exception:  # of another processor, or newer than the library
            pass
    deny = seccomp.SyscallFilter(seccomp.ALLOW)
    if unit.get("MemoryDenyWriteExecute") == ["yes"]:
        both = PROT_WRITE | PROT_EXEC
        deny.add_rule(seccomp.ERRNO(1), "mmap", seccomp.Arg(2, seccomp.MASKED_EQ, both, both))
        deny.add_rule(seccomp.ERRNO(1), "mprotect", seccomp.Arg(2, seccomp.MASKED_EQ, PROT_EXEC, PROT_EXEC))
    deny.load()
    allow.load()


def set_limits(unit):
    infinity = {"infinity": resource.RLIM_INFINITY}
    for name, what in (("LimitMEMLOCK", resource.RLIMIT_MEMLOCK), ("LimitCORE", resource.RLIMIT_CORE), ("LimitNOFILE", resource.RLIMIT_NOFILE)):
        n = infinity.get(unit[name][0]) or int(unit[name][0])
        try:
            resource.setrlimit(what, (n, n))
        except ValueError:  # this machine lets nobody have more
            resource.setrlimit(what, (resource.getrlimit(what)[1],) * 2)
    bits = sum(1 << FILTERS[f] for f in unit["CoredumpFilter"][0].split())
    with open("/proc/self/coredump_filter", "w") as f:
        f.write(hex(bits))
    os.umask(int(unit["UMask"][0], 8))


def confined(unit_path, uid, command):
    """The command line that runs `command` as the unit says."""
    unit = read_unit(unit_path)
    caps = ",".join(["-all"] + ["+" + c[4:].lower() for c in " ".join(unit["AmbientCapabilities"]).split()])
    return ["setpriv", "--pdeathsig", "KILL", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--inh-caps=" + caps, "--ambient-caps=" + caps,
            "--bounding-set=" + caps, "--no-new-privs", sys.executable, __file__, "exec", unit_path] + command


def split(command, args):
    return [w for w in command.split()] + (["--set=" + s for s in args.set] if " serve " in command or " reload " in command or " check " in command else [])


def run_one(args, name):
    unit = read_unit(args.unit)
    for command in unit.get(name, []):
        status = subprocess.run(confined(args.unit, args.uid, split(command, args)), preexec_fn=lambda: set_limits(unit)).returncode
        if status != 0:
            return status
    return 0


def say(*words):
    print(*words, flush=True)


def receive(sock, pid):
    """The assignments of one datagram, if the main process sent it."""
    data, ancillary, _, _ = sock.recvmsg(4096, socket.CMSG_SPACE(12))
    sender = struct.unpack("iii", ancillary[0][2])[0]
    text = "|".join(data.decode().split("\n"))
    say("notify" if sender == pid else "stranger", text)
    return text if sender == pid else ""


def watch(sock, service, period, abort):
    """Until the service ends. The watchdog runs from READY=1 to STOPPING=1."""
    fed = None
    while service.poll() is None:
        ready, _, _ = select.select([sock], [], [], 0.05)
        text = receive(sock, service.pid) if ready else ""
        if "STOPPING=1" in text:
            period = 0
        if "READY=1" in text or "WATCHDOG=1" in text:
            fed = time.monotonic()
        if period and fed and time.monotonic() - fed > period:
            say("watchdog expired")
            fed = None
            if abort:
                service.send_signal(signal.SIGABRT)


def run(args):
    unit = read_unit(args.unit)
    status = run_one(args, "ExecStartPre")
    if status != 0:
        say("pre", status)
        return status
    folder = tempfile.mkdtemp(prefix="c10m-notify.")
    os.chmod(folder, 0o711)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(folder + "/notify")
    os.chmod(folder + "/notify", 0o666)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    period = args.watchdog or float(unit["WatchdogSec"][0])
    os.environ.update(NOTIFY_SOCKET=folder + "/notify", WATCHDOG_USEC=str(int(period * 1e6)))
    command = confined(args.unit, args.uid, split(unit["ExecStart"][0], args))
    service = subprocess.Popen(command, preexec_fn=lambda: set_limits(unit))
    say("pid", service.pid)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: service.send_signal(n))
    watch(sock, service, period, args.abort)
    sock.setblocking(False)
    try:
        while True:
            receive(sock, service.pid)
    except BlockingIOError:
        pass
    os.unlink(folder + "/notify")
    os.rmdir(folder)
    say("end", service.returncode)
    return 0


def main():
    if sys.argv[1] == "exec":
        load_filters(read_unit(sys.argv[2]))
        os.environ["WATCHDOG_PID"] = str(os.getpid())
        os.execv(sys.argv[3], sys.argv[3:])
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("run", "reload"))
    parser.add_argument("unit")
    parser.add_argument("--uid", type=int, required=True)
    parser.add_argument("--watchdog", type=float, default=0)
    parser.add_argument("--abort", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    sys.exit(run(args) if args.what == "run" else run_one(args, "ExecReload"))


main()
