"""terminal.py SECONDS TEXT COMMAND...: runs COMMAND on a terminal of its own, as a person would, until
TEXT is printed (at most SECONDS), then prints READY, waits for a line on standard input, presses
Ctrl-C twice, and ends when COMMAND does. What COMMAND printed goes to standard error."""
import os
import pty
import select
import signal
import sys
import time

limit, text, command = float(sys.argv[1]), sys.argv[2].encode(), sys.argv[3:]
pid, terminal = pty.fork()
if pid == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
    os.execvp(command[0], command)

printed = b""


def read(seconds):
    """False when the command is gone."""
    global printed
    if not select.select([terminal], [], [], seconds)[0]:
        return True
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        piece = b""
    printed += piece
    sys.stderr.buffer.write(piece)
    sys.stderr.flush()
    return bool(piece)


def give_up(why):
    os.write(terminal, b"\x03")
    while read(5):
        pass
    sys.exit(why)


end = time.time() + limit
while text not in printed:
    if not read(0.2):
        sys.exit("the command ended early")
    if time.time() > end:
        give_up(f"{limit} s without {text!r}")
print("READY", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    if not read(0.2):
        sys.exit("the command ended by itself")
os.write(terminal, b"\x03")
time.sleep(0.05)
os.write(terminal, b"\x03")
end = time.time() + 20
while read(0.2):
    if time.time() > end:
        sys.exit("20 s after Ctrl-C the command still runs")
status = os.waitpid(pid, 0)[1]
if not (os.WIFEXITED(status) and os.WEXITSTATUS(status) == 130):
    sys.exit(f"status {status}, not exit 130")
