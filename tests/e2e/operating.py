#!/usr/bin/env python3
"""operating.py C10M [--write]: runs every command of docs/operating.md, in order, against a server of its own (network
and mount namespaces of its own, so that the names of the page are the real ones), and compares the shape of what
they print: words as they are, whatever has a digit masked. Every line of the page has to be printed, and nothing that
the page does not show, unless the block says `console more`. --write puts what is printed into the page."""
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operating.md"
COMMAND_S = 60
START_S = 60
TRIES = 3
INSIDE = "C10M_OPERATING_INSIDE"

CONF = """\
[cpu]
linux = 0
workers = 1
[memory]
hugepage = none
connections = 16384
[port c10m0]
driver = tap
device = c10m0
address = 10.99.0.2/24
host_address = 10.99.0.1/24
[service web]
app = http
port = 80
root = ROOT
[service echo]
app = echo
port = 7
"""

# Words that say how things are at the moment: running or idle, up to a byte or none.
CHANGING = {"running", "idle", "stalled", "-", "none"}


def shape(line):
    """A line's words; what has a digit, and what is now this and now that, as #."""
    words = []
    for word in line.split():
        words.append("#" if re.search(r"\d", word) or word in CHANGING else word)
    return " ".join(words)


def blocks(text):
    """The page as [(text, None)] and [(fence line, [(command, output)])]."""
    out, lines, i, plain = [], text.split("\n"), 0, []
    while i < len(lines):
        if not lines[i].startswith("```console"):
            plain.append(lines[i])
            i += 1
            continue
        out.append(("\n".join(plain), None))
        fence, commands = lines[i], []
        i += 1
        while lines[i] != "```":
            if lines[i].startswith("$ "):
                command = lines[i][2:]
                while command.endswith("\\"):
                    i += 1
                    command += "\n" + lines[i]
                commands.append([command, []])
            else:
                commands[-1][1].append(lines[i])
            i += 1
        out.append((fence, commands))
        plain = []
        i += 1
    out.append(("\n".join(plain), None))
    return out


def run(command, env):
    got = subprocess.run(["bash", "-c", command], env=env, cwd=env["WORK"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=COMMAND_S, check=False)
    return [line.rstrip() for line in got.stdout.rstrip("\n").split("\n")] if got.stdout.strip() else []


def differences(command, shown, printed, more):
    wrong = []
    shapes = {shape(line) for line in printed}
    for line in shown:
        if shape(line) not in shapes:
            wrong.append("  not printed: " + line)
    known = {shape(line) for line in shown}
    for line in printed:
        if not more and shape(line) not in known:
            wrong.append("  not in the page: " + line)
    return ["$ " + command] + wrong if wrong else []


class Traffic:
    """Somebody for the page to look at: three connections that stay, and a page asked for again and again."""

    def __init__(self):
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        held = []
        while not self.stop.wait(0.02):
            try:
                while len(held) < 3:
                    held.append(socket.create_connection(("10.99.0.2", 7), timeout=5))
                    held[-1].sendall(b"hello")
                urllib.request.urlopen("http://10.99.0.2/", timeout=5).read()
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"?", ("10.99.0.2", 5000))
                for s in held:
                    s.setblocking(False)
                    try:
                        if s.recv(100) == b"":
                            raise ConnectionResetError
                    except BlockingIOError:
                        pass
            except OSError:
                held = [s for s in held if alive(s)]


def alive(s):
    try:
        s.setblocking(False)
        return s.recv(100, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def check(env, write):
    page = blocks(PAGE.read_text())
    wrong, count, text = [], 0, []
    for head, commands in page:
        if commands is None:
            text.append(head)
            continue
        lines = [head]
        for command, shown in commands:
            count += 1
            printed = run(command, env)
            for _ in range(TRIES):  # what is under way is seen before or after it happened: looked at once more
                if write or "write" in command or not differences(command, shown, printed, "more" in head):
                    break
                time.sleep(1)
                printed = run(command, env)
            if not write:
                wrong += differences(command, shown, printed, "more" in head)
            lines += ["$ " + command] + printed
        text.append("\n".join(lines + ["```"]))
    if write:
        PAGE.write_text("\n".join(text))
        print("operating: %d commands written" % count)
    elif wrong:
        print("docs/operating.md shows what is not so (tests/e2e/operating.py C10M --write puts it right):\n" + "\n".join(wrong))
    else:
        print("operating: %d commands print what the page shows" % count)
    return bool(wrong)


def serve(c10m, work):
    (work / "site").mkdir()
    (work / "site" / "index.html").write_text("<h1>hello</h1>\n")
    conf = work / "c10m.conf"
    conf.write_text(CONF.replace("ROOT", str(work / "site")))
    with open(work / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen([c10m, "serve", "-c", str(conf)], stdout=log, stderr=log)
    end = time.monotonic() + START_S
    while "serving\n" not in (work / "log").read_text():
        if server.poll() is not None or time.monotonic() > end:
            server.kill()
            sys.exit("operating: the server did not start:\n" + (work / "log").read_text())
        time.sleep(0.05)
    return server, conf


def inside(c10m, write):
    with tempfile.TemporaryDirectory(prefix="c10m-operating.") as name:
        work = pathlib.Path(name)
        (work / "c10m").symlink_to(c10m)
        server, conf = serve(c10m, work)
        env = {**os.environ, "PATH": "%s:%s" % (work, os.environ["PATH"]), "CONF": str(conf), "WORK": str(work), "LC_ALL": "C"}
        traffic = Traffic()
        try:
            time.sleep(1)
            failed = check(env, write)
            traffic.stop.set()
            server.send_signal(signal.SIGTERM)
            server.send_signal(signal.SIGTERM)
            server.wait(60)
        finally:
            server.kill()
            server.wait()
            subprocess.run(["umount", "-l", "/run/c10m/proc"], stderr=subprocess.DEVNULL, check=False)
        return failed


def main(args):
    if INSIDE in os.environ:
        return inside(args[0], "--write" in args)
    c10m = os.path.abspath(args[0])
    setup = "mount -t tmpfs none /run && ip link set lo up && exec \"$0\" \"$@\""
    return subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c", setup,
                           sys.executable, os.path.abspath(__file__), c10m, *args[1:]], env={**os.environ, INSIDE: "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
