"""Connections that all workers get a share of.

The hash of RSS is linear. Source ports that follow each other, as Linux chooses them, may reach a part of the workers only: with
one key in twenty, if 40 connections are spread over 4 workers.
"""
import errno, os, random, socket


def connect(address, port=7):
    """Returns a connection from a source port drawn by chance."""
    while True:
        try:
            return socket.create_connection((address, port), 20, ("::" if ":" in address else "", random.randrange(10000, 60000)))
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
                raise


def exchange(conns, rounds):
    """In each round every connection sends bytes of its own, and receives them back."""
    for r in range(rounds):
        said = [os.urandom(1 + (i * 37 + r) % 1400) for i in range(len(conns))]
        for c, b in zip(conns, said):
            c.sendall(b)
        for c, b in zip(conns, said):
            got = b""
            while len(got) < len(b):
                more = c.recv(65536)
                assert more, "closed"
                got += more
            assert got == b
