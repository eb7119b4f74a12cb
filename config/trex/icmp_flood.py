# ICMP flood: echo requests from 65,536 addresses. The server answers only as many as its limit allows.
#   start -f icmp_flood.py -m 1mpps -d 30
import os
import sys

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import flood
import frames


def register():
    return flood.ip(frames.ping("198.19.0.1", 1, 1))
