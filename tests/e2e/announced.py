#!/usr/bin/env python3
"""announced.py INTERFACE MAC COMMAND...: runs COMMAND, after which MAC has to announce 10.99.0.2 and fd99::2 on the interface:
by gratuitous ARP, a probe of duplicate address detection, an unsolicited advertisement and an MLD report."""
import select
import socket
import subprocess
import sys
import time

US, US6 = bytes([10, 99, 0, 2]), bytes.fromhex("fd99" + "00" * 13 + "02")
SECONDS = 60  # nobody would wait longer


def kind_of(f):
    """The announcement that the frame is, or None."""
    if f[12:14] == b"\x08\x06" and f[:6] == b"\xff" * 6 and f[28:32] == f[38:42] == US:
        return "arp"
    if f[12:14] != b"\x86\xdd":
        return None
    kind, at = (f[54], 62) if f[20] == 0 else (f[20], 54)  # behind the router alert of a report
    if kind != 58:
        return None
    if f[at] == 143:
        return "mld"
    if f[at + 8 : at + 24] != US6:
        return None
    if f[at] == 135 and f[22:38] == bytes(16):
        return "probe"
    return "advertisement" if f[at] == 136 and not f[at + 4] & 0x40 else None


def main():
    interface, mac, command = sys.argv[1], bytes.fromhex(sys.argv[2].replace(":", "")), sys.argv[3:]
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((interface, 0))
    subprocess.run(command, check=True)
    want, end = {"arp", "probe", "advertisement", "mld"}, time.monotonic() + SECONDS
    while want and time.monotonic() < end:
        if not select.select([s], [], [], 1)[0]:
            continue
        try:
            f = s.recv(2000)
        except OSError:  # an interface that is down says so once
            continue
        if f[6:12] == mac:
            want.discard(kind_of(f))
    sys.exit(f"not announced: {want}" if want else 0)


main()
