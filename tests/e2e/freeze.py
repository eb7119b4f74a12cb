#!/usr/bin/env python3
"""freeze.py PID THREAD: stops that one thread of a process, as an endless callback would, until this
program ends. Prints `frozen` when it stands. THREAD is the beginning of its name."""
import ctypes
import os
import pathlib
import signal
import sys

SEIZE, INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def thread_of(pid, name):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith(name):
            return int(task.name)
    sys.exit(f"no thread {name}")


def main():
    tid = thread_of(int(sys.argv[1]), sys.argv[2])
    for request in (SEIZE, INTERRUPT):
        if libc.ptrace(request, tid, None, None) != 0:
            sys.exit(os.strerror(ctypes.get_errno()))
    os.waitpid(tid, WALL)
    print("frozen", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # which lets the thread go on
    while True:  # takes its end, or the process could not end
        _, status = os.waitpid(tid, WALL)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            return


main()
