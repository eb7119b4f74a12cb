#!/usr/bin/env python3
"""Runs the cases on a system under test and compares transcripts.

    compare.py --self                         on the kernel twice: what differs is a flaw of the case
    compare.py --sut kernel --save FILE       on the kernel
    compare.py --sut agent --socket PATH --against FILE --listed differences.txt
    compare.py --list                         the cases with their claims

Every run has ports of its own (--run N, 0 to 2), since a connection's end outlives a case. agent.sh makes the
network namespaces and calls this. Each case runs in a process of its own, which is killed if it does not end at its time limit.
"""
import argparse
import fnmatch
import importlib
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import signal
import sys
import time
import traceback

import world
from bench import CASES, Bench
from differences import judge, read, unlisted
from sut import Agent, Kernel

HERE = pathlib.Path(__file__).resolve().parent
AGAIN_MOST = 16  # cases that may differ once and, run again, not: a machine that stood still, or a race worth a look


def load_cases():
    for path in sorted(HERE.glob("cases_*.py")):
        importlib.import_module(path.stem)
    for number, case in enumerate(CASES):
        case.number = number


def too_long(*_):
    raise RuntimeError("time limit")


def play(case, args, run, pipe):
    """The child: runs the case in the peer's namespace and sends the transcript."""
    home = world.enter(args.b)
    if args.sut == "kernel":
        sut = Kernel(os.open(args.a, os.O_RDONLY), home)
    else:
        sut = Agent(args.socket)
    bench = Bench(sut, case, run)
    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, case.timeout_s)
    try:
        case.function(bench)
    except Exception as e:
        where = next(f for f in reversed(traceback.extract_tb(e.__traceback__)) if "/cases_" in f.filename)
        bench.transcript.append(["stopped", f"{type(e).__name__}: {e}"])
        print(f"{case.name}: stopped at {where.filename.rsplit('/', 1)[1]}:{where.lineno}: {e}", file=sys.stderr)
        if args.verbose:
            traceback.print_exc()
    signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        bench.finish()
    except Exception as e:
        bench.transcript.append(["cleaning up", f"{type(e).__name__}: {e}"])
    pipe.send(bench.transcript)
    pipe.close()
    os._exit(0)  # threads may still be in a call


class Playing:
    """A case that runs."""

    def __init__(self, case, args, run):
        self.case, self.begin = case, time.monotonic()
        self.pipe, theirs = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.get_context("fork").Process(target=play, args=(case, args, run, theirs))
        self.process.start()
        theirs.close()

    def left(self):
        return self.begin + self.case.timeout_s + 3 - time.monotonic()

    def end(self):
        """The transcript."""
        try:
            transcript = self.pipe.recv() if self.pipe.poll(0) else [["stopped", "time limit, and deaf"]]
        except EOFError:
            transcript = [["stopped", "died"]]
        self.process.kill()
        self.process.join()
        self.pipe.close()
        return transcript


def run_all(cases, args, run):
    """{name: transcript} of all cases, those that must be alone at the end."""
    waiting = [c for c in cases if not c.alone]
    alone = [c for c in cases if c.alone]
    playing, done, slow = [], {}, []
    while waiting or alone or playing:
        while len(playing) < args.jobs and waiting:
            playing.append(Playing(waiting.pop(0), args, run))
        if not playing:
            playing.append(Playing(alone.pop(0), args, run))
        multiprocessing.connection.wait([p.pipe for p in playing], timeout=max(0, min(p.left() for p in playing)))
        for p in [p for p in playing if p.left() <= 0 or p.pipe.poll(0)]:
            playing.remove(p)
            slow.append((time.monotonic() - p.begin, p.case.name))
            done[p.case.name] = p.end()
    if args.verbose:
        print("slowest:", ", ".join(f"{n} {s:.1f} s" for s, n in sorted(slow)[-12:]))
    return {c.name: done[c.name] for c in cases}


def show(name, transcript):
    print(name)
    for label, value in transcript:
        print(f"    {label}: {value}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sut", choices=("kernel", "agent"), default="kernel")
    parser.add_argument("--a", default="/run/netns/caseA", help="network namespace of the system under test")
    parser.add_argument("--b", default="/run/netns/caseB", help="network namespace of the peer")
    parser.add_argument("--socket", help="where the agent listens")
    parser.add_argument("--self", action="store_true")
    parser.add_argument("--save")
    parser.add_argument("--against")
    parser.add_argument("--listed", default=str(HERE / "differences.txt"))
    parser.add_argument("--run", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("patterns", nargs="*", help="names of cases, as close.*")
    args = parser.parse_args()
    load_cases()
    cases = [c for c in CASES if not args.patterns or
             any(fnmatch.fnmatch(c.name, p) or fnmatch.fnmatch(c.name, p + "/*") for p in args.patterns)]
    if args.list:
        for c in cases:
            print(f"{c.name}: {' '.join(c.claim.split())}")
        return 0
    begin = time.monotonic()
    first = run_all([c for c in cases if c.only in ("", args.sut)], args, args.run)
    print(f"{args.sut}: {len({n.split('/')[0] for n in first})} cases, {len(first)} with their families, "
          f"{time.monotonic() - begin:.0f} s")
    if args.verbose:
        for name, transcript in first.items():
            show(name, transcript)
    if args.save:
        pathlib.Path(args.save).write_text(json.dumps(first))
    stopped = [n for n, t in first.items() if args.sut == "kernel" and any(label in ("stopped", "cleaning up") for label, _ in t)]
    for name in stopped:
        show(f"FAILED on the kernel: {name}", first[name][-2:])
    if args.self:
        again = run_all([c for c in cases if c.only in ("", args.sut)], args, args.run + 1)
        return judge(first, again, None, ("first", "again")) or bool(stopped)
    if args.against:
        other = json.loads(pathlib.Path(args.against).read_text())
        again = unlisted(other, first, read(args.listed))
        if 0 < len(again) <= AGAIN_MOST:
            print("run again:", " ".join(again))
            args.jobs = 2
            first |= run_all([c for c in cases if c.name in again], args, args.run + 1)
        return judge(other, first, args.listed, ("kernel", "agent"), bool(args.patterns))
    return bool(stopped)


if __name__ == "__main__":
    sys.exit(main())
