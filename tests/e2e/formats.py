#!/usr/bin/env python3
"""One parser for each of Linux's formats, run over the kernel's file and over ours: both must hold to it,
and agree on the shape: columns, their order, the width of each hexadecimal field, where each begins, the
length of a line. Run in a network namespace with IPv4 and IPv6 on `lo`; usage: formats.py TREE/net."""
import re
import socket
import sys

HEX = re.compile(r"[0-9A-F]+$")


class Wrong(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Wrong(what)


def pairs(text):
    """snmp, netstat: a line of names and one of values behind the same word -> {word: [names]}."""
    lines = text.splitlines()
    need(lines and len(lines) % 2 == 0, "lines come in pairs")
    shape = {}
    for names, values in zip(lines[::2], lines[1::2]):
        word, *names = names.split(" ")
        need(word.endswith(":"), f"'{word}' ends in a colon")
        other, *values = values.split(" ")
        need(word == other, f"'{word}' stands before its values, too, not '{other}'")
        need(len(names) == len(values), f"{word} {len(names)} names, {len(values)} values")
        need(all(re.fullmatch(r"-?\d+", v) for v in values), f"{word} values are numbers, with one blank between")
        need(len(set(names)) == len(names), f"{word} each name once")
        shape[word] = names
    return shape


def names6(text):
    """snmp6: a name in 32 columns, a tab, a number -> [names]."""
    shape = []
    for line in text.splitlines():
        m = re.fullmatch(r"(\w+) *\t(\d+)", line)
        need(m and line.index("\t") == max(32, len(m[1])), f"a name in 32 columns, a tab, a number: '{line}'")
        shape.append(m[1])
    need(shape, "there are lines")
    return {"": shape}


def keys(text):
    """sockstat: `WORD: key value key value` -> {word: [keys]}."""
    shape = {}
    for line in text.splitlines():
        m = re.fullmatch(r"(\w+):((?: \w+ \d+)+)", line)
        need(m, f"a word, then keys and numbers: '{line}'")
        shape[m[1]] = m[2].split()[::2]
    need(shape, "there are lines")
    return shape


def arp(text):
    """arp: a head line, then columns of fixed width -> head and where each column begins."""
    head, *lines = text.split("\n")
    need(lines and lines[-1] == "", "the last line ends")
    for line in lines[:-1]:
        m = re.fullmatch(r"((?:\d+\.){3}\d+) +0x1 +0x([0-9a-f]+) +((?:[0-9a-f]{2}:){5}[0-9a-f]{2}) +\* +(\S+)", line)
        need(m, f"address, type, flags, hardware address, mask, device: '{line}'")
        columns = [at for at in range(len(line)) if line[at] != " " and (at == 0 or line[at - 1] == " ")]
        need(columns == [0, 17, 29, 41, 63, 72], f"columns begin where the kernel's do: {columns}")
    return {"head": [head], "lines": bool(lines[:-1])}


def sockets(text, bits, udp):
    """tcp, udp and so on: -> the head's columns, and for each state the widths of what stands in it."""
    head, *lines = text.split("\n")
    need(lines and lines[-1] == "", "the last line ends")
    states = {}
    for line in lines[:-1]:
        fields = line.split()
        need(re.fullmatch(r"\d+:", fields[0]) and line.startswith("%*d:" % (5 if udp else 4, int(fields[0][:-1]))),
             f"its number first, right-aligned: '{line}'")
        for field in fields[1:3]:
            need(re.fullmatch(r"[0-9A-F]{%d}:[0-9A-F]{4}" % (bits // 4), field), f"address and port: '{field}'")
        for field, width in zip(fields[3:7], ((2,), (8, 8), (2, 8), (8,))):
            parts = field.split(":")
            need([len(p) for p in parts] == list(width) and all(map(HEX.match, parts)), f"hexadecimal: '{field}' in '{line}'")
        need(all(re.fullmatch(r"-?\d+", f) for f in fields[7:11]), f"uid, timeout, inode, references: '{line}'")
        # The kernel gives a pointer that it hides; its width is what counts.
        need(re.fullmatch(r"[0-9a-f]{16}", fields[11]), f"a pointer: '{fields[11]}'")
        need(all(re.fullmatch(r"-?\d+", f) for f in fields[12:]), f"numbers to the end: '{line}'")
        begins = [m.start() for m in re.finditer(r"\S+", line)][1:7]
        states.setdefault(fields[3], set()).add((len(fields), tuple(begins), len(line)))
    return {"head": [head], "states": states}


def same_order(name, ours, kernels):
    """Columns that both have come in the same order; ours has none of its own."""
    need(set(ours) <= set(kernels), f"{name}: no word of our own: {set(ours) - set(kernels)}")
    need(list(ours) == [w for w in kernels if w in ours], f"{name}: the words' order")
    for word, columns in ours.items():
        known = [c for c in columns if c in kernels[word]]
        need(known == [c for c in kernels[word] if c in columns], f"{name}: {word} order of the columns")
        need(len(known) >= min(len(columns), len(kernels[word])) * 0.9,
             f"{name}: {word} the kernel's names, not {set(columns) - set(kernels[word])}")


def same_sockets(name, ours, kernels):
    need(ours["head"][0].split() == kernels["head"][0].split(), f"{name}: the head's columns")
    need(len(ours["head"][0]) == len(kernels["head"][0]), f"{name}: the head's length")
    both = set(ours["states"]) & set(kernels["states"])
    need(both, f"{name}: a state that both show; ours {set(ours['states'])}, the kernel {set(kernels['states'])}")
    for state in both:
        # Numbers of the kernel that are wider than their columns move its later ones.
        need(any(shape in kernels["states"][state] for shape in ours["states"][state]) or
             {s[:2] for s in ours["states"][state]} <= {s[:2] for s in kernels["states"][state]},
             f"{name}: lines in state {state}: ours {ours['states'][state]}, the kernel {kernels['states'][state]}")
    return both


class World:
    """Sockets of the kernel in each state that it shows."""

    def __init__(self):
        self.held = []
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            listener = socket.create_server((host, 0), family=family)
            client = socket.create_connection(listener.getsockname()[:2])
            server = listener.accept()[0]
            gone = socket.create_connection(listener.getsockname()[:2])
            listener.accept()[0].close()  # the one that closes first goes to TIME-WAIT
            gone.recv(1)
            gone.close()
            datagrams = socket.socket(family, socket.SOCK_DGRAM)
            datagrams.bind((host, 0))
            self.held += [listener, client, server, datagrams]


def main():
    tree = sys.argv[1]
    world = World()
    files = [("snmp", pairs), ("netstat", pairs), ("snmp6", names6), ("sockstat", keys), ("sockstat6", keys), ("arp", arp)]
    files += [(f, lambda t, b=b, u=u: sockets(t, b, u))
              for f, b, u in (("tcp", 32, False), ("tcp6", 128, False), ("udp", 32, True), ("udp6", 128, True))]
    wrong = []
    for name, parse in files:
        try:
            shapes = []
            for folder in ("/proc/net", tree):
                try:
                    shapes.append(parse(open(f"{folder}/{name}").read()))
                except Wrong as e:
                    raise Wrong(f"{folder}/{name}: {e}")
            kernels, ours = shapes
            if name == "arp":
                need(ours["head"] == kernels["head"], f"{name}: the head")
                need(ours["lines"], f"{name}: there is a neighbor in ours")
            elif "states" in ours:
                print(name, "states that both show:", *sorted(same_sockets(name, ours, kernels)))
            else:
                same_order(name, ours, kernels)
                print(name, "columns:", sum(map(len, ours.values())), "the kernel's:", sum(map(len, kernels.values())))
        except Wrong as e:
            wrong.append(str(e))
    del world
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
