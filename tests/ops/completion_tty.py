#!/usr/bin/env python3
"""completion_tty.py DIR SCRIPTS: types into bash and, where there is one, zsh on a terminal of its own, presses TAB,
and looks at the line that the shell makes of it. DIR holds c10m and is for scratch files."""
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import sys
import time

WAIT_S = 30  # for a shell on a busy machine

# What is typed before TAB; what the line becomes.
LINES = (
    ("c10m ser", "c10m serve"),
    ("c10m bench ro", "c10m bench roofline"),
    ("c10m plan --meas", "c10m plan --measure"),
    ("c10m check --set tcp.sac", "c10m check --set tcp.sack="),
    ("c10m check --set tcp.ecn=acc", "c10m check --set tcp.ecn=accept"),
)


class Shell:
    """A shell on a terminal; nothing of it outlives close()."""

    def __init__(self, argv, env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, env)
        self.seen = ""

    def send(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, what):
        """Reads until the plain text matches; False when it does not in time."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            if re.search(what, self.plain()):
                return True
            ready, _, _ = select.select([self.fd], [], [], 0.2)
            if ready:
                try:
                    self.seen += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    break
        return bool(re.search(what, self.plain()))

    def plain(self):
        """What was seen, without what moves the cursor or sets colors."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r|\x07", "", self.seen)

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def check(name, argv, setup, env):
    shell = Shell(argv, env)
    failed = 0
    try:
        shell.send(setup + "\necho re'a'dy\n")
        if not shell.wait_for(r"\nready\n"):
            print("FAIL %s did not start:\n%s" % (name, shell.plain()[-500:]))
            return 1
        for typed, wanted in LINES:
            shell.seen = ""
            shell.send(typed + "\t")
            good = shell.wait_for(re.escape(wanted))
            print("%s %s: %s TAB" % ("ok  " if good else "FAIL", name, typed))
            if not good:
                print(repr(shell.plain()[-300:]))
            failed += not good
            shell.send("\x15\n")  # the line is thrown away
            shell.wait_for(r"\n")
    finally:
        shell.close()
    return failed


def main(work, scripts):
    work, scripts = pathlib.Path(work), pathlib.Path(scripts).resolve()
    env = {**os.environ, "PATH": "%s:%s" % (work, os.environ["PATH"]), "TERM": "dumb", "PS1": "$ ", "HOME": str(work), "ZDOTDIR": str(work)}
    failed = check("bash", ["bash", "--norc", "-i"], ". %s/c10m.bash" % scripts, env)
    if shutil.which("zsh") is None:
        print("skip zsh: it is not installed")
        return failed != 0
    (work / "_c10m").write_text((scripts / "_c10m.in").read_text().replace("@BASH_COMPLETION@", str(scripts / "c10m.bash")))
    setup = "unsetopt prompt_sp; PROMPT='$ '; fpath=(%s $fpath); autoload -U compinit; compinit -u -d %s/dump" % (work, work)
    return failed + check("zsh", ["zsh", "-f", "-i"], setup, env) != 0


sys.exit(main(*sys.argv[1:]))
