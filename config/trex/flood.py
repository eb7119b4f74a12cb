"""flood.py: the stream of a flood: one packet, from 65,536 addresses drawn at random."""
from trex_stl_lib.api import *

import frames


class Flood(object):
    """packet: bytes of a frame. fix: the step of TRex's field engine that makes its checksums right again."""

    def __init__(self, packet, fix):
        self.packet, self.fix = packet, fix

    def get_streams(self, direction=0, **kwargs):
        sources = [
            STLVmFlowVar(name="source", min_value="198.19.0.0", max_value="198.19.255.255", size=4, op="random"),
            STLVmWrFlowVar(fv_name="source", pkt_offset=frames.IP_SOURCE),
            self.fix,
        ]
        return [STLStream(packet=STLPktBuilder(pkt_buffer=self.packet, vm=sources), mode=STLTXCont(pps=1000))]


def tcp(packet):
    return Flood(packet, STLVmFixChecksumHw(l3_offset=frames.IP, l4_offset=frames.L4, l4_type=CTRexVmInsFixHwCs.L4_TYPE_TCP))


def ip(packet):
    """For packets whose payload has no checksum over the addresses."""
    return Flood(packet, STLVmFixIpv4(offset=frames.IP))
