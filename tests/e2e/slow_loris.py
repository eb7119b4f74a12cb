"""A header that comes byte by byte and never ends: answered by 408, then closed, within 30 s."""
import socket
import sys
import time

s = socket.create_connection((sys.argv[1], 80), timeout=30)
s.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")
end = time.time() + 30
answer = b""
s.settimeout(0.5)
while time.time() < end:
    try:
        s.sendall(b"x")
        piece = s.recv(4096)
        if not piece:
            break
        answer += piece
    except socket.timeout:
        continue
    except (BrokenPipeError, ConnectionResetError):
        break
else:
    sys.exit("still open after 30 s")
if not answer.startswith(b"HTTP/1.1 408"):
    sys.exit(f"not a 408: {answer[:60]!r}")
