# Fragment flood: first fragments from 65,536 addresses, whose other parts never come.
#   start -f fragment_flood.py -m 1mpps -d 30
import os
import sys

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import flood
import frames


def register():
    return flood.ip(frames.fragments("198.19.0.1", 40000, 1)[0])
