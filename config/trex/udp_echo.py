# UDP echo: datagrams in frames of 64 bytes to port 7, from 60,000 ports. Each one comes back.
#   start -f udp_echo.py -m 1mpps -d 30
import os
import sys

from trex_stl_lib.api import *

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import frames


class UdpEcho(object):
    def get_streams(self, direction=0, **kwargs):
        packet = frames.udp(frames.GENERATOR, 1024, 7)
        ports = [
            STLVmFlowVar(name="port", min_value=1024, max_value=61023, size=2, op="inc"),
            STLVmWrFlowVar(fv_name="port", pkt_offset=frames.SOURCE_PORT),
            STLVmFixChecksumHw(l3_offset=frames.IP, l4_offset=frames.L4, l4_type=CTRexVmInsFixHwCs.L4_TYPE_UDP),
        ]
        return [STLStream(packet=STLPktBuilder(pkt_buffer=packet, vm=ports), mode=STLTXCont(pps=1000))]


def register():
    return UdpEcho()
