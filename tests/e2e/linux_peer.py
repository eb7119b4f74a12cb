"""The Linux kernel's TCP against c10m's: every byte of every connection is compared.

  linux_peer.py listen PORT                       a server of both families that converse() speaks with
  linux_peer.py direct COUNT SEED ADDRESS...      COUNT clients of echo (7), discard (9), chargen (19)
  linux_peer.py relayed COUNT SEED ADDRESS=PORT.. COUNT clients of relays to `listen`

All connections of a run are open at once before the first byte goes. Sizes, who ends first and who
aborts are drawn from SEED.
"""
import asyncio
import random
import resource
import socket
import struct
import sys

BLOCK = random.Random(10).randbytes(1 << 20)
PIECE = 16384
WAIT_S = 60
HEAD = struct.Struct("!IIII")  # bytes up, bytes down, offset in BLOCK, enum below
BOTH, CLIENT_ABORTS, SERVER_ABORTS, SERVER_FIRST = range(4)


def part(offset, at, n):
    """Bytes [at, at + n) of the stream that begins at `offset` of BLOCK."""
    i = (offset + at) % len(BLOCK)
    got = BLOCK[i:i + n]
    return got if len(got) == n else got + BLOCK[:n - len(got)]


async def say(writer, offset, n):
    for at in range(0, n, PIECE):
        writer.write(part(offset, at, min(PIECE, n - at)))
        await writer.drain()


async def hear(reader, offset, n):
    """Exactly n bytes of the stream, then its end."""
    at = 0
    while got := await reader.read(65536):
        assert at + len(got) <= n, f"{at + len(got)} bytes of {n}"
        assert got == part(offset, at, len(got)), f"other bytes at {at}"
        at += len(got)
    assert at == n, f"the end after {at} bytes of {n}"


def reset(writer):
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def until_reset(reader, writer):
    """The other side aborts. A reset that is lost is seen by who says something."""
    async def poke():
        while True:
            writer.write(b"?")
            await asyncio.sleep(0.5)
    poking = asyncio.create_task(poke())
    try:
        while await reader.read(65536):
            pass
        raise AssertionError("the end, and no reset")
    except (ConnectionResetError, BrokenPipeError):
        pass
    finally:
        poking.cancel()


async def serve_one(reader, writer):
    up, down, offset, manner = HEAD.unpack(await reader.readexactly(HEAD.size))
    if manner == CLIENT_ABORTS:
        await until_reset(reader, writer)
        return
    if manner == SERVER_ABORTS:
        await say(writer, offset + 1, down)
        reset(writer)
        return
    if manner == SERVER_FIRST:
        await say(writer, offset + 1, down)
        writer.write_eof()
        await hear(reader, offset, up)
    else:
        await asyncio.gather(say(writer, offset + 1, down), hear(reader, offset, up))
        writer.write_eof()
    writer.close()
    await writer.wait_closed()


async def listen(port):
    served = failed = 0

    async def one(reader, writer):
        nonlocal served, failed
        try:
            await serve_one(reader, writer)
            served += 1
        except Exception as e:
            failed += 1
            print(f"server: {writer.get_extra_info('peername')}: {e!r}", flush=True)
            writer.transport.abort()

    async def tell(reader, writer):  # what came of it, asked on port + 1
        writer.write(f"{served} {failed}\n".encode())
        writer.close()

    servers = [await asyncio.start_server(one, None, port, backlog=4096),
               await asyncio.start_server(tell, None, port + 1)]
    print("listening", flush=True)
    await asyncio.gather(*(s.serve_forever() for s in servers))


async def converse(reader, writer, rng):
    up, down = rng.choice((0, 1, rng.randrange(60000))), rng.choice((0, 1, rng.randrange(60000)))
    offset = rng.randrange(len(BLOCK))
    manner = rng.choices((BOTH, SERVER_FIRST, CLIENT_ABORTS, SERVER_ABORTS), (60, 20, 10, 10))[0]
    writer.write(HEAD.pack(up, down, offset, manner))
    if manner == CLIENT_ABORTS:
        await say(writer, offset, up)
        await reader.readexactly(1)  # a reset takes along what is on its way, the head among it
        reset(writer)
        return
    if manner == SERVER_ABORTS:
        await until_reset(reader, writer)
        return
    if manner == SERVER_FIRST:
        await hear(reader, offset + 1, down)
        await say(writer, offset, up)
    else:
        async def talk():
            await say(writer, offset, up)
            writer.write_eof()
        await asyncio.gather(talk(), hear(reader, offset + 1, down))
    writer.close()
    await writer.wait_closed()


async def echo(reader, writer, rng):
    n, offset = rng.choice((0, 1, rng.randrange(100000))), rng.randrange(len(BLOCK))

    async def talk():
        await say(writer, offset, n)
        writer.write_eof()
    await asyncio.gather(talk(), hear(reader, offset, n))


async def discard(reader, writer, rng):
    await say(writer, rng.randrange(len(BLOCK)), rng.randrange(100000))
    writer.write_eof()
    assert await reader.read() == b"", "discard says something"


def chargen_lines():
    chars = bytes(range(32, 127))
    return b"".join((chars * 2)[i:i + 72] + b"\r\n" for i in range(95))


async def chargen(reader, writer, rng):
    """A part of the pattern; then our end first, and the rest of it; or a reset amid it."""
    want, at, n = chargen_lines(), 0, rng.randrange(1, 60000)
    async def more():
        nonlocal at
        got = await reader.read(8192)
        i = at % len(want)
        assert got == (want * 4)[i:i + len(got)], f"other bytes at {at}"
        at += len(got)
        return len(got)
    while at < n:
        assert await more() != 0, f"the end after {at} bytes"
    if rng.random() < 0.5:
        reset(writer)
        return
    writer.write_eof()
    while await more() != 0:
        pass


async def run(targets, seed):
    """One client for each (address, port, manner): all open, then all at work."""
    limit = len(targets) + 100
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    opened = await asyncio.gather(*(asyncio.wait_for(asyncio.open_connection(a, p), WAIT_S)
                                    for a, p, _ in targets))
    print(len(opened), "open")
    failed = 0

    async def one(i, manner):
        nonlocal failed
        reader, writer = opened[i]
        try:
            await asyncio.wait_for(manner(reader, writer, random.Random(seed * 10000 + i)), WAIT_S)
        except Exception as e:
            failed += 1
            print(f"client {i}: {manner.__name__}: {e!r}")
        finally:
            writer.close()

    await asyncio.gather(*(one(i, t[2]) for i, t in enumerate(targets)))
    print(failed, "failed, seed", seed)
    return failed


def main():
    what, number, *rest = sys.argv[1:]
    if what == "listen":
        asyncio.run(listen(int(number)))
        return 0
    count, seed, to = int(number), int(rest[0]), rest[1:]
    if what == "direct":
        kinds = ((7, echo), (7, echo), (7, echo), (9, discard), (19, chargen))
        targets = [(to[i % len(to)], *kinds[i % len(kinds)]) for i in range(count)]
    else:
        pairs = [t.split("=") for t in to]
        targets = [(a, int(p), converse) for a, p in (pairs[i % len(pairs)] for i in range(count))]
    return asyncio.run(run(targets, seed)) != 0


sys.exit(main())
