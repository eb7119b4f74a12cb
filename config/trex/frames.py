"""frames.py: Ethernet frames as bytes, without a library. The TRex profiles of this folder and
../pktgen/make-captures build their frames with it.

Addresses: the benchmark network of RFC 2544 (198.18.0.0/15). The server is 198.18.0.2, the generator
198.18.0.1; the server's gateway is the generator, so that sources in 198.19.0.0/16 need no ARP.
"""
import struct

SERVER, GENERATOR = "198.18.0.2", "198.18.0.1"
SERVER_MAC, GENERATOR_MAC = "02:c1:0a:00:00:02", "02:c1:0a:00:00:01"

# Offsets in an untagged IPv4 frame without IP options.
IP, IP_SOURCE, L4 = 14, 26, 34
SOURCE_PORT = L4

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def address(text):
    return bytes(int(part) for part in text.split("."))


def ones_sum(data):
    """RFC 1071: the checksum of these bytes."""
    data += b"\0" * (len(data) & 1)
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ipv4(protocol, payload, source, destination=SERVER, ident=0, offset=0, more=False, to=SERVER_MAC, by=GENERATOR_MAC):
    """A frame with this payload; offset in bytes, a multiple of 8. Padded to 60 bytes (64 with the FCS)."""
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), ident, offset // 8 | more << 13, 64, protocol, 0)
    head += address(source) + address(destination)
    head = head[:10] + struct.pack(">H", ones_sum(head)) + head[12:]
    return (mac(to) + mac(by) + b"\x08\x00" + head + payload).ljust(60, b"\0")


def l4_sum(protocol, segment, source, destination):
    return ones_sum(address(source) + address(destination) + struct.pack(">HH", protocol, len(segment)) + segment)


def udp_datagram(data, source, port, to_port, destination=SERVER):
    head = struct.pack(">HHHH", port, to_port, 8 + len(data), 0)
    check = l4_sum(17, head + data, source, destination) or 0xFFFF
    return head[:6] + struct.pack(">H", check) + data


def udp(source, port, to_port, frame_bytes=64, **ip):
    """A datagram in a frame of frame_bytes, the FCS (4 bytes) included: 64 to 1518."""
    data = bytes(range(256)) * 6
    return ipv4(17, udp_datagram(data[:frame_bytes - 46], source, port, to_port), source, **ip)


def tcp(source, port, to_port, flags, seq=1, ack=0, mss=None, **ip):
    options = struct.pack(">BBH", 2, 4, mss) if mss else b""
    head = struct.pack(">HHIIBBHHH", port, to_port, seq, ack, (20 + len(options)) // 4 << 4, flags, 65535, 0, 0) + options
    head = head[:16] + struct.pack(">H", l4_sum(6, head, source, SERVER)) + head[18:]
    return ipv4(6, head, source, **ip)


def ping(source, ident, number, **ip):
    body = struct.pack(">BBHHH", 8, 0, 0, ident, number) + b"c10m" * 2
    return ipv4(1, body[:2] + struct.pack(">H", ones_sum(body)) + body[4:], source, **ip)


def fragments(source, port, ident, data_bytes=1024, part_bytes=512, **ip):
    """A datagram for the echo service, in IPv4 fragments."""
    whole = udp_datagram((b"c10m" * 4096)[:data_bytes], source, port, 7)
    return [ipv4(17, whole[at:at + part_bytes], source, ident=ident, offset=at, more=at + part_bytes < len(whole), **ip)
            for at in range(0, len(whole), part_bytes)]
