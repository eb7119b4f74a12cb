"""trex_frames.py PROFILE OUT COUNT: loads a stateless profile of TRex with a stand-in for TRex's library, carries out its
field engine COUNT times for each stream, and writes the frames to OUT (pcap). Prints a line for each stream: frame
bytes with the FCS, and packets a second."""
import importlib.util
import ipaddress
import random
import struct
import sys
import types


class Call:
    """Any class of TRex's library: keeps its arguments, which have to be ones that it takes."""
    def __init__(self, **arguments):
        assert set(arguments) <= self.allowed, (type(self).__name__, arguments)
        self.__dict__.update(arguments)


# name: its arguments in trex_stl_lib/trex_stl_packet_builder_scapy.py and trex_stl_streams.py
API = {
    "STLVmFlowVar": {"name", "min_value", "max_value", "size", "op"},
    "STLVmWrFlowVar": {"fv_name", "pkt_offset"},
    "STLVmFixIpv4": {"offset"},
    "STLVmFixChecksumHw": {"l3_offset", "l4_offset", "l4_type"},
    "STLPktBuilder": {"pkt_buffer", "vm"},
    "STLStream": {"packet", "mode", "isg"},
    "STLTXCont": {"pps"},
}


def stand_in():
    api = types.ModuleType("trex_stl_lib.api")
    for name, arguments in API.items():
        setattr(api, name, type(name, (Call,), {"allowed": arguments}))
    api.CTRexVmInsFixHwCs = types.SimpleNamespace(L4_TYPE_UDP=11, L4_TYPE_TCP=13)
    sys.modules["trex_stl_lib"], sys.modules["trex_stl_lib.api"] = types.ModuleType("trex_stl_lib"), api


def number(value):
    return value if isinstance(value, int) else int(ipaddress.ip_address(value))


def engine(frame, steps, frames):
    """One frame as the field engine would send it."""
    values, frame = {}, bytearray(frame)
    for step in steps:
        kind = type(step).__name__
        if kind == "STLVmFlowVar":
            low, high = number(step.min_value), number(step.max_value)
            assert high < 1 << 8 * step.size and step.op in ("inc", "random")
            values[step.name] = random.randint(low, high).to_bytes(step.size, "big")
        elif kind == "STLVmWrFlowVar":
            value = values[step.fv_name]
            frame[step.pkt_offset:step.pkt_offset + len(value)] = value
        elif kind == "STLVmFixIpv4":
            fix_ip(frame, step.offset, frames)
        else:
            fix_ip(frame, step.l3_offset, frames)
            fix_l4(frame, step, frames)
    return bytes(frame)


def fix_ip(frame, at, frames):
    frame[at + 10:at + 12] = b"\0\0"
    frame[at + 10:at + 12] = struct.pack(">H", frames.ones_sum(bytes(frame[at:at + 20])))


def fix_l4(frame, step, frames):
    ip, l4 = step.l3_offset, step.l4_offset
    protocol, at = (17, l4 + 6) if step.l4_type == 11 else (6, l4 + 16)
    assert frame[ip + 9] == protocol, "the checksum is of another protocol than the packet"
    end = ip + struct.unpack(">H", frame[ip + 2:ip + 4])[0]
    frame[at:at + 2] = b"\0\0"
    pseudo = bytes(frame[ip + 12:ip + 20]) + struct.pack(">HH", protocol, end - l4)
    frame[at:at + 2] = struct.pack(">H", frames.ones_sum(pseudo + bytes(frame[l4:end])) or 0xFFFF)


def main():
    path, out, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    stand_in()
    spec = importlib.util.spec_from_file_location("profile", path)
    profile = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(profile)
    random.seed(1)
    sent = []
    for stream in profile.register().get_streams(direction=0):
        frame = stream.packet.pkt_buffer
        print(len(frame) + 4, stream.mode.pps)
        sent += [engine(frame, getattr(stream.packet, "vm", []), profile.frames) for _ in range(count)]
    with open(out, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for frame in sent:
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


if __name__ == "__main__":
    main()
