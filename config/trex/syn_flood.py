# SYN flood: SYNs to port 80 from 65,536 addresses that never answer.
#   start -f syn_flood.py -m 1mpps -d 30
import os
import sys

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import flood
import frames


def register():
    return flood.tcp(frames.tcp("198.19.0.1", 40000, 80, frames.SYN, mss=1460))
