#!/usr/bin/env python3
"""The clients of tests/e2e/profile.sh. `profile.py load CLIENTS FILE`: each asks the planted application again and again,
until FILE is gone; prints how many were asked and answered. `profile.py ask`: prints what the application says of its time."""
import asyncio
import os
import sys

ADDRESS = ("10.99.0.2", 77)


async def client(until, sums):
    reader, writer = await asyncio.open_connection(*ADDRESS)
    while os.path.exists(until):
        writer.write(b"go\n")
        sums[0] += 1
        if await asyncio.wait_for(reader.readline(), 60) == b"ok\n":
            sums[1] += 1
    writer.close()


async def load(n, until):
    sums = [0, 0]
    await asyncio.gather(*(client(until, sums) for _ in range(n)))
    print(*sums)


async def ask():
    reader, writer = await asyncio.open_connection(*ADDRESS)
    writer.write(b"?\n")
    print((await asyncio.wait_for(reader.readline(), 60)).decode().strip())
    writer.close()


asyncio.run(load(int(sys.argv[2]), sys.argv[3]) if sys.argv[1] == "load" else ask())
