"""Addresses and ports of the two networks that agent.sh makes: A, of the system under test, and B, of the peer."""
import ctypes
import os
import socket

PREFIX4, PREFIX6 = 16, 64
DEVICE_A, DEVICE_B = "caseA", "caseB"
DEVICE_C = "caseC"  # the system's second one, beside which the peer has caseD
MAC_A, MAC_B = bytes.fromhex("02c10a000001"), bytes.fromhex("02c10a000002")
# The system under test has two addresses of each family, the peer one. Nobody has NOBODY; nothing leads to FAR.
SUT = {4: "10.98.0.1", 6: "fd98::1"}
SUT2 = {4: "10.98.0.3", 6: "fd98::3"}
SUT_C = {4: "10.99.0.1", 6: "fd99::1"}
PEER_C = {4: "10.99.0.2", 6: "fd99::2"}
PEER = {4: "10.98.0.2", 6: "fd98::2"}
NOBODY = {4: "10.98.0.99", 6: "fd98::99"}
FAR = {4: "203.0.113.1", 6: "2001:db8::1"}
NOT_OURS = {4: "10.98.0.77", 6: "fd98::77"}
ANY = {4: "0.0.0.0", 6: "::"}
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}

PORTS_A_CASE, FIRST_PORT, PORTS_A_RUN = 10, 2000, 12000  # below the ephemeral ports, of which 40000 is the first


def raw_addresses(case, run):
    """(IPv4, IPv6, MAC) of the hand-driven host of a case: each case of each run has its own, so that what the
    system learns of a path stays with it."""
    high, low = case // 200 + 16 + 8 * run, case % 200 + 10
    return f"10.98.{high}.{low}", f"fd98::{high:x}:{low:x}", bytes((2, 0, 0, 0x77, high, low))


def enter(path):
    """This thread, and those it makes, go on in the network namespace of this path; its descriptor."""
    fd = os.open(path, os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(fd, 0) != 0:
        raise OSError(ctypes.get_errno(), f"setns {path}")
    return fd
