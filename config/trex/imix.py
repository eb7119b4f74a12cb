# IMIX: datagrams to port 7 in frames of 64, 594 and 1,518 bytes, in the ratio 7 : 4 : 1.
#   start -f imix.py -m 5gbps -d 30
import os
import sys

from trex_stl_lib.api import *

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import frames

MIX = ((64, 7), (594, 4), (1518, 1))


class Imix(object):
    def get_streams(self, direction=0, **kwargs):
        return [
            STLStream(isg=10 * i, packet=STLPktBuilder(pkt_buffer=frames.udp(frames.GENERATOR, 1024 + i, 7, size)), mode=STLTXCont(pps=100 * share))
            for i, (size, share) in enumerate(MIX)
        ]


def register():
    return Imix()
