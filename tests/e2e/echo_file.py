"""Sends a file to the echo service, closes its side, and compares what comes back."""
import socket
import sys
import threading

data = open(sys.argv[2], "rb").read()
s = socket.create_connection((sys.argv[1], 7), timeout=300)


def send():
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)


sender = threading.Thread(target=send)
sender.start()
got = bytearray()
while piece := s.recv(65536):
    got += piece
sender.join()
if got != data:
    sys.exit(f"{len(got)} of {len(data)} bytes came back, or wrong ones")
