"""c10m_gdb.py: what c10m's structures say, in gdb, of a running server and of a core dump:

    gdb -ex 'source c10m_gdb.py' c10m core        (for hugepages: echo 0x7f >/proc/PID/coredump_filter before)

    print *worker, print *block, print *packet    one line, then what matters (print/r shows the fields)
    c10m workers                                  every worker of the server
    c10m conns [-n MAX] [STATE]                   connections of all workers
    c10m packets [ADDRESS]                        those of the present turn, and those that wait to be sent; or one

Names of states and flags are those of the program's own enums. What a damaged block holds is shown as it is:
a number that has no name is printed as a number, memory that the dump lacks as such."""
import itertools
import re
import struct

import gdb
import gdb.printing

READ_BLOCKS = 4096  # looked at in one read of memory
VALUE_BYTES = 1 << 20


def enum_names(name):
    """{value: name} of an enum of the program, without the part that all names share; {} when it is unknown."""
    try:
        fields = gdb.lookup_type("enum " + name).fields()
    except gdb.error:
        return {}
    names = {int(f.enumval): f.name for f in fields if not f.name.endswith("_COUNT")}
    common = 0
    if len(names) > 1:
        parts = [n.split("_") for n in names.values()]
        while all(len(p) > common + 1 for p in parts) and len({p[common] for p in parts}) == 1:
            common += 1
    return {v: "_".join(n.split("_")[common:]) for v, n in names.items()}


def name_of(enum, value):
    return enum_names(enum).get(value, "%d" % value)


def flags_of(enum, value):
    """The names of the bits that are set; those without a name as one number."""
    return flag_names(enum_names(enum), value)


def flag_names(names, value):
    out = []
    for bit, name in sorted(names.items()):
        if bit and value & bit == bit:
            out.append(name)
            value &= ~bit
    if value:
        out.append("%#x" % value)
    return "|".join(out) or "none"


def octets(value, n):
    """The first n bytes of an array of bytes."""
    return bytes(int(value[i]) & 0xFF for i in range(n))


def ip_text(b):
    if b[:12] == b"\0" * 10 + b"\xff\xff":
        return "%d.%d.%d.%d" % tuple(b[12:])
    groups = struct.unpack(">8H", b)
    # RFC 5952: the longest run of zeros, of two or more, is left out.
    best, at = 1, -1
    for start in range(8):
        n = len(list(itertools.takewhile(lambda g: g == 0, groups[start:])))
        if n > best:
            best, at = n, start
    if at < 0:
        return ":".join("%x" % g for g in groups)
    return ":".join("%x" % g for g in groups[:at]) + "::" + ":".join("%x" % g for g in groups[at + best:])


def endpoint(ip, port):
    return ("[%s]:%d" if ":" in ip else "%s:%d") % (ip, port)


def seq_minus(a, b):
    """a - b of sequence numbers: signed, 32 bits."""
    d = (a - b) & 0xFFFFFFFF
    return d - (1 << 32) if d & 0x80000000 else d


class Safe:
    """A printer that never raises: what cannot be read says so."""

    def __init__(self, value):
        self.value = value

    def field(self, name):
        return int(self.value[name])

    def to_string(self):
        try:
            return self.line()
        except (gdb.error, gdb.MemoryError, ValueError, TypeError, OverflowError) as why:
            return "<unreadable: %s>" % why

    def children(self):
        try:
            yield from self.rows()
        except (gdb.error, gdb.MemoryError, ValueError, TypeError, OverflowError) as why:
            yield "unreadable", str(why)

    def rows(self):
        return iter(())


class IpAddr(Safe):
    def line(self):
        return ip_text(octets(self.value["b"], 16))


class MacAddr(Safe):
    def line(self):
        return ":".join("%02x" % b for b in octets(self.value["b"], 6))


def key_text(key, locals_at=None, n_locals=0):
    remote = endpoint(ip_text(octets(key["remote"]["b"], 16)), int(key["remote_port"]))
    ix = int(key["local_ix"])
    if locals_at is not None and ix < n_locals:
        local = endpoint(ip_text(octets(locals_at[ix]["b"], 16)), int(key["local_port"]))
    else:
        local = "#%d:%d" % (ix, int(key["local_port"]))  # of the worker's local addresses
    return "%s -> %s" % (remote, local)


class FlowKey(Safe):
    def line(self):
        return key_text(self.value)


class Block(Safe):
    """A connection: who with whom, state, flags; then what is under way and which deadlines run."""

    def line(self):
        state = self.field("state")
        if state == 0:
            return "%s generation %d" % (name_of("tcp_state", 0), self.field("generation"))
        return "%s %s service %d flags %s agreed %s" % (
            name_of("tcp_state", state), key_text(self.value["key"]), self.field("service"),
            flags_of("block_flag", self.field("flags")), flags_of("block_agreed", self.field("agreed")))

    def rows(self):
        f = self.field
        yield "rcv_nxt", "%d" % f("rcv_nxt")
        yield "rcv_window_bytes", "%d" % seq_minus(f("rcv_adv"), f("rcv_nxt"))
        yield "rcv_unconsumed_bytes", "%d" % f("rcvq_bytes")
        yield "snd_una", "%d" % f("snd_una")
        yield "snd_in_flight_bytes", "%d" % seq_minus(f("snd_nxt"), f("snd_una"))
        yield "snd_queued_bytes", "%d" % seq_minus(f("snd_end"), f("snd_nxt"))
        yield "snd_window_bytes", "%d" % f("snd_wnd")
        yield "mss", "%d" % f("mss")
        yield "cwnd_bytes", "%d" % f("cwnd")
        yield "srtt_us", "%d" % (f("srtt_us") // 8)
        yield "backoff", "%d" % f("backoff")
        for name in ("rto_at_ms", "delack_at_ms", "app_timer_at_ms", "linger_at_ms", "keepalive_ms"):
            if f(name):
                yield name, "%d" % f(name)
        if f("ext") != 0xFFFFFFFF:
            yield "ext", "%d" % f("ext")
        yield "close_why", name_of("c10m_close", f("close_why"))
        yield "generation", "%d" % f("generation")
        yield "app", octets(self.value["app"], 64).hex()


# rte_mbuf's ol_flags are macros, which no debug information has (rte_mbuf_core.h).
MBUF_FLAGS = {
    1 << 0: "RX_VLAN", 1 << 1: "RX_RSS_HASH", 1 << 2: "RX_FDIR", 1 << 3: "RX_L4_CKSUM_BAD", 1 << 4: "RX_IP_CKSUM_BAD",
    1 << 5: "RX_OUTER_IP_CKSUM_BAD", 1 << 6: "RX_VLAN_STRIPPED", 1 << 7: "RX_IP_CKSUM_GOOD", 1 << 8: "RX_L4_CKSUM_GOOD",
    1 << 16: "RX_LRO", 1 << 50: "TX_TCP_SEG", 1 << 54: "TX_IP_CKSUM", 1 << 55: "TX_IPV4", 1 << 56: "TX_IPV6",
    1 << 57: "TX_VLAN", 1 << 61: "EXTERNAL", 1 << 62: "INDIRECT",
}
TX_L4 = {0: None, 1: "TX_TCP_CKSUM", 2: "TX_SCTP_CKSUM", 3: "TX_UDP_CKSUM"}  # two bits, from 52


def mbuf_flags(value):
    names = flag_names(MBUF_FLAGS, value & ~(3 << 52))
    l4 = TX_L4[value >> 52 & 3]
    if l4 is None:
        return names
    return l4 if names == "none" else names + "|" + l4


def tcp_flags(bits):
    return "".join(c for i, c in enumerate("FSRPAUEW") if bits >> i & 1) or "."


def transport(proto, b, src, dst):
    if proto in (6, 17) and len(b) >= 8:
        sport, dport = struct.unpack_from(">HH", b)
        ends = "%s > %s" % (endpoint(src, sport), endpoint(dst, dport))
        if proto == 17:
            return "UDP " + ends
        if len(b) >= 20:
            seq, ack = struct.unpack_from(">II", b, 4)
            return "TCP %s [%s] seq %d ack %d" % (ends, tcp_flags(b[13]), seq, ack)
        return "TCP " + ends
    return "%s %s > %s" % ({1: "ICMP", 58: "ICMPv6"}.get(proto, "protocol %d" % proto), src, dst)


def frame_text(b):
    """A frame's headers in a line, as far as its bytes go."""
    if len(b) < 14:
        return "%d bytes" % len(b)
    kind = struct.unpack_from(">H", b, 12)[0]
    if kind == 0x0800 and len(b) >= 34 and b[14] >> 4 == 4:
        src, dst = (".".join("%d" % x for x in b[i:i + 4]) for i in (26, 30))
        return transport(b[23], b[14 + 4 * (b[14] & 15):], src, dst)
    if kind == 0x86DD and len(b) >= 54:
        return transport(b[20], b[54:], ip_text(b[22:38]), ip_text(b[38:54]))
    return "ARP" if kind == 0x0806 else "ethertype %#06x" % kind


class Mbuf(Safe):
    """A packet: its headers in a line; then where it lies and what the port is asked or says."""

    def mbuf(self):
        return self.value

    def bytes_of(self, most):
        m = self.mbuf()
        n = min(int(m["data_len"]), most)
        at = (int(m["buf_addr"]) + int(m["data_off"])) & ((1 << 64) - 1)
        if n == 0:
            return b""
        return bytes(gdb.selected_inferior().read_memory(at, n))

    def line(self):
        m = self.mbuf()
        try:
            what = frame_text(self.bytes_of(128))
        except (gdb.error, gdb.MemoryError):
            what = "<bytes not in the dump>"
        return "%s, %d bytes in %d segment(s)" % (what, int(m["pkt_len"]), int(m["nb_segs"]))

    def rows(self):
        m = self.mbuf()
        yield "flags", mbuf_flags(int(m["ol_flags"]))
        yield "data_len", "%d" % int(m["data_len"])
        yield "data_off", "%d of %d" % (int(m["data_off"]), int(m["buf_len"]))
        yield "refcnt", "%d" % int(m["refcnt"])
        yield "port", "none" if int(m["port"]) == 0xFFFF else "%d" % int(m["port"])
        yield "next", "%#x" % int(m["next"])
        try:
            yield "bytes", self.bytes_of(64).hex()
        except (gdb.error, gdb.MemoryError):
            yield "bytes", "not in the dump"


class Pkt(Mbuf):
    def mbuf(self):
        return self.value["m"]


class Worker(Safe):
    """A worker: where it runs and what it does; then its ports, connections by state, and the present turn."""

    def line(self):
        v = self.value
        text = "worker %d on CPU %d node %d: %s" % (int(v["id"]), int(v["cpu"]), int(v["node"]), name_of("worker_state", int(v["state"]["v"])))
        order = int(v["order"]["v"])
        if order:
            text += ", ordered to %s" % name_of("worker_order", order)
        try:
            text += ", in stage %s" % name_of("stage", int(v["at"]["v"]))
        except gdb.error:
            pass
        return text

    def rows(self):
        v = self.value
        yield "thread", "%d" % int(v["tid"]["v"])
        yield "turn", "%d" % int(v["turn"])
        n = min(int(v["n_ports"]), v["ports"].type.range()[1] + 1)
        for i in range(n):
            wp = v["ports"][i]
            yield "port %d" % i, "%s queue %d, %d packet(s) to send" % (port_name(wp["port"]), int(wp["queue"]), int(wp["tx"]["n"]))
        yield "blocks_max", "%d" % int(v["block_count"])
        yield "received", "%d packet(s) in this turn" % int(v["n_rx"])
        yield "to_send", "%d segment(s)" % int(v["tcp"]["n_out"])
        yield "expired", "%d" % int(v["n_expired"])
        services = min(int(v["tcp"]["n_services"]), v["tcp"]["services"].type.range()[1] + 1)
        for i in range(services):
            yield "service %d" % i, "%s, %d connection(s)" % (service_name(v, i), int(v["tcp"]["services"][i]["connections"]))


def port_name(port):
    try:
        return port["name"].string(errors="replace")
    except (gdb.error, gdb.MemoryError):
        return "<port %#x>" % int(port)


def service_name(worker, i):
    try:
        return worker["sock"]["services"][i]["name"].string(errors="replace")
    except (gdb.error, gdb.MemoryError):
        return "?"


def server_pointer():
    """server_started. Of a program linked with LTO the debug information does not say where it lies, the linker's
    symbol does."""
    at = gdb.parse_and_eval("server_started")
    if not at.is_optimized_out:
        return at
    symbols = gdb.execute("maint print msymbols", to_string=True)
    found = re.search(r"(0x[0-9a-f]+) server_started\b", symbols)
    if found is None:
        raise gdb.error("there is no symbol server_started")
    return gdb.Value(int(found[1], 16)).cast(at.type.pointer()).dereference()


def the_server():
    """The server of this process."""
    try:
        at = server_pointer()
        if int(at) != 0 and int(at["params"]["n_workers"]) >= 0:
            return at.dereference()
        why = "none was started"
    except (gdb.error, gdb.MemoryError) as error:
        why = error
    raise gdb.GdbError("no server in this process: %s" % why)


def workers():
    server = the_server()
    n = min(int(server["params"]["n_workers"]), server["workers"].type.range()[1] + 1)
    for i in range(n):
        if int(server["workers"][i]):
            yield server["workers"][i].dereference()


class C10m(gdb.Command):
    """c10m workers | conns [-n MAX] [STATE] | packets [ADDRESS]"""

    def __init__(self):
        super().__init__("c10m", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class Workers(gdb.Command):
    """Every worker of the server."""

    def __init__(self):
        super().__init__("c10m workers", gdb.COMMAND_DATA)

    def invoke(self, arg, from_tty):
        for w in workers():
            printer = Worker(w)
            print(printer.to_string())
            for name, value in printer.children():
                print("  %s: %s" % (name, value))


def offset_of(type_name, field):
    kind = gdb.lookup_type(type_name)
    return next(f.bitpos // 8 for f in kind.fields() if f.name == field)


def used_blocks(worker):
    """(index, block) of every block that is not free, READ_BLOCKS looked at in one read."""
    first = worker["tcp"]["blocks"]
    size, state_at = first.dereference().type.sizeof, offset_of("struct block", "state")
    inferior, count = gdb.selected_inferior(), int(worker["block_count"])
    for start in range(0, count, READ_BLOCKS):
        n = min(READ_BLOCKS, count - start)
        try:
            states = bytes(inferior.read_memory(int(first) + start * size, n * size))[state_at::size]
        except gdb.MemoryError:
            print("blocks %d to %d are not in the dump" % (start, start + n - 1))
            continue
        for i, state in enumerate(states):
            if state:
                yield start + i, first[start + i]


class Conns(gdb.Command):
    """c10m conns [-n MAX] [STATE]: connections of all workers, one a line, at most MAX (default 100); then how many
there are in each state."""

    def __init__(self):
        super().__init__("c10m conns", gdb.COMMAND_DATA)

    def invoke(self, arg, from_tty):
        args = gdb.string_to_argv(arg)
        most = 100
        if args[:1] == ["-n"]:
            if len(args) < 2 or not args[1].isdigit():
                raise gdb.GdbError("c10m conns: -n wants a number")
            most, args = int(args[1]), args[2:]
        wanted = args[0].upper() if args else None
        counts, shown = {}, 0
        for w in workers():
            sock = w["sock"]
            for i, b in used_blocks(w):
                state = name_of("tcp_state", int(b["state"]))
                counts[state] = counts.get(state, 0) + 1
                if wanted not in (None, state) or shown == most:
                    continue
                shown += 1
                p = Block(b)
                print("%d/%d %s %s %s in flight %d queued %d unconsumed %d" % (
                    int(w["id"]), i, state, key_text(b["key"], sock["locals"], int(sock["n_locals"])), service_name(w, p.field("service")),
                    seq_minus(p.field("snd_nxt"), p.field("snd_una")), seq_minus(p.field("snd_end"), p.field("snd_nxt")), p.field("rcvq_bytes")))
        print("in all: " + (", ".join("%d %s" % (n, s) for s, n in sorted(counts.items())) or "none"))


class Packets(gdb.Command):
    """c10m packets [ADDRESS]: the packets of the present turn and those that wait to be sent; or the one at ADDRESS."""

    def __init__(self):
        super().__init__("c10m packets", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, arg, from_tty):
        if arg.strip():
            address = gdb.parse_and_eval(arg)
            printer = Pkt(address.cast(gdb.lookup_type("struct pkt").pointer()).dereference())
            print(printer.to_string())
            for name, value in printer.children():
                print("  %s: %s" % (name, value))
            return
        for w in workers():
            self.some("worker %d received" % int(w["id"]), w["pkts"], int(w["n_rx"]))
            for i in range(min(int(w["n_ports"]), w["ports"].type.range()[1] + 1)):
                tx = w["ports"][i]["tx"]
                self.some("worker %d sends on %s" % (int(w["id"]), port_name(w["ports"][i]["port"])), tx["pkts"], int(tx["n"]))

    @staticmethod
    def some(what, pkts, n):
        if pkts.type.code == gdb.TYPE_CODE_ARRAY:
            n = min(n, pkts.type.range()[1] + 1)
        print("%s: %d" % (what, n))
        for i in range(min(n, 64)):
            print("  %#x %s" % (int(pkts[i]), Pkt(pkts[i].dereference()).to_string()))


def register():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("c10m")
    for name, printer in (("ip_addr", IpAddr), ("mac_addr", MacAddr), ("flow_key", FlowKey), ("block", Block),
                          ("worker", Worker), ("pkt", Pkt), ("rte_mbuf", Mbuf)):
        printers.add_printer(name, "^%s$" % name, printer)
    gdb.printing.register_pretty_printer(gdb.current_objfile(), printers, replace=True)
    # A worker is larger than what gdb takes by itself.
    most = gdb.parameter("max-value-size")
    if most is not None and 0 <= most < VALUE_BYTES:
        gdb.execute("set max-value-size %d" % VALUE_BYTES)
    C10m()
    Workers()
    Conns()
    Packets()


register()
