// SPDX-License-Identifier: BSD-3-Clause
#include "conf/key_table.h"

#include <string.h>

#include "tables/app_table.h"
#include "tables/driver_table.h"

const struct section conf_sections[SECTION_COUNT] = {
    [SECTION_cpu] = {"cpu", "Which cores run the workers and the control thread.", false},
    [SECTION_memory] = {"memory", "Memory that is reserved at start. The server never takes more.",
                        false},
    [SECTION_control] = {"control", "Files, addresses and log messages of the control thread.",
                         false},
    [SECTION_tcp] = {"tcp", "TCP and ICMP, for all services.", false},
    [SECTION_agent] = {"agent", "BSD socket calls on this stack for other processes.", false},
    [SECTION_statsd] = {"statsd", "Metrics that are pushed to a StatsD server over UDP.", false},
    [SECTION_port] = {"port", "A network port. There is a section for each port.", true},
    [SECTION_service] = {"service", "An application and the addresses and ports where it listens.",
                         true},
};

// FIELD: where the row's field is in struct conf. HOLDS: does not compile if the field is too
// narrow for the largest value.
#define FIELD(s, f)                                                                                \
    .section = SECTION_##s, .offset = offsetof(struct conf_##s, f),                                \
    .width = sizeof(((struct conf_##s *)0)->f)
#define HOLDS(s, f, hi)                                                                            \
    (0 * sizeof(char[(__typeof__(((struct conf_##s *)0)->f))(hi) == (hi) ? 1 : -1]) + (hi))
#define RANGE(s, f, lo, hi) FIELD(s, f), .min = (lo), .max = HOLDS(s, f, hi)
#define VALUE(value, text)  .initial = (value), .help = (text)

#define NUMBER(s, f, lo, hi, ...)                                                                  \
    {                                                                                              \
        .name = #f, .type = KEY_NUMBER, RANGE(s, f, lo, hi), __VA_ARGS__                           \
    }
#define POWER(s, f, lo, hi, ...)                                                                   \
    {                                                                                              \
        .name = #f, .type = KEY_POWER, RANGE(s, f, lo, hi), __VA_ARGS__                            \
    }
#define COUNT(s, f, lo, hi, ...)                                                                   \
    {                                                                                              \
        .name = #f, .type = KEY_COUNT, RANGE(s, f, lo, hi), __VA_ARGS__                            \
    }
#define SIZE(s, f, lo, hi, ...)                                                                    \
    {                                                                                              \
        .name = #f, .type = KEY_SIZE, RANGE(s, f, lo, hi), __VA_ARGS__                             \
    }
#define MS(s, f, lo, hi, ...)                                                                      \
    {                                                                                              \
        .name = #f, .type = KEY_MS, RANGE(s, f, lo, hi), __VA_ARGS__                               \
    }
#define PERCENT(s, f, ...)                                                                         \
    {                                                                                              \
        .name = #f, .type = KEY_PERCENT, RANGE(s, f##_ppm, 0, 1000000), __VA_ARGS__                \
    }
#define BOOL(s, f, ...)                                                                            \
    {                                                                                              \
        .name = #f, .type = KEY_BOOL, FIELD(s, f), __VA_ARGS__                                     \
    }
#define WORD(s, f, list, ...)                                                                      \
    {                                                                                              \
        .name = #f, .type = KEY_WORD, FIELD(s, f), .words = list, __VA_ARGS__                      \
    }
#define LIST(s, f, kind, ...)                                                                      \
    {                                                                                              \
        .name = #f, .type = kind, FIELD(s, f), __VA_ARGS__                                         \
    }
#define TEXT(s, f, kind, room, ...)                                                                \
    {                                                                                              \
        .name = #f, .type = kind, FIELD(s, f), .max = (room)-1, __VA_ARGS__                        \
    }

// OFFERED_KIND: the text if the key table offers rows of this KIND or DEVICE, else "".
#define OFFERED_LINK(text)                          text
#define OFFERED_WRAPPER(text)                       text
#define OFFERED_SUBPORT(text)                       text
#define OFFERED_GROUP(text)                         text
#define OFFERED_INTERNAL(text)                      ""
#define OFFERED_SERVICE(text)                       text
#define OFFERED_SECTION(text)                       ""
#define LINK_LINK(text)                             text
#define LINK_WRAPPER(text)                          ""
#define LINK_SUBPORT(text)                          ""
#define LINK_GROUP(text)                            ""
#define LINK_INTERNAL(text)                         ""
#define WRAPPER_LINK(text)                          ""
#define WRAPPER_WRAPPER(text)                       text
#define WRAPPER_SUBPORT(text)                       ""
#define WRAPPER_GROUP(text)                         ""
#define WRAPPER_INTERNAL(text)                      ""
#define SUBPORT_LINK(text)                          ""
#define SUBPORT_WRAPPER(text)                       ""
#define SUBPORT_SUBPORT(text)                       text
#define SUBPORT_GROUP(text)                         ""
#define SUBPORT_INTERNAL(text)                      ""
#define WHOLE_LINK(text)                            text
#define WHOLE_WRAPPER(text)                         text
#define WHOLE_SUBPORT(text)                         ""
#define WHOLE_GROUP(text)                           text
#define WHOLE_INTERNAL(text)                        ""
#define RINGS_LINK(text)                            text
#define RINGS_WRAPPER(text)                         text
#define RINGS_SUBPORT(text)                         ""
#define RINGS_GROUP(text)                           ""
#define RINGS_INTERNAL(text)                        ""
#define GROUP_LINK(text)                            ""
#define GROUP_WRAPPER(text)                         ""
#define GROUP_SUBPORT(text)                         ""
#define GROUP_GROUP(text)                           text
#define GROUP_INTERNAL(text)                        ""
#define HAS_DEVICE_NONE(text)                       ""
#define HAS_DEVICE_INTERFACE(text)                  text
#define HAS_DEVICE_PCI(text)                        text
#define HAS_DEVICE_SOCKET(text)                     text
#define HAS_DEVICE_CAPTURE(text)                    text

#define DRIVER_OFFERED(name, kind, ...)             OFFERED_##kind("|" #name)
#define DRIVER_LINK_ONLY(name, kind, ...)           LINK_##kind("|" #name)
#define DRIVER_WRAPPER_ONLY(name, kind, ...)        WRAPPER_##kind("|" #name)
#define DRIVER_SUBPORT_ONLY(name, kind, ...)        SUBPORT_##kind("|" #name)
#define DRIVER_RINGS(name, kind, ...)               RINGS_##kind("|" #name)
#define DRIVER_GROUP_ONLY(name, kind, ...)          GROUP_##kind("|" #name)
#define DRIVER_WHOLE(name, kind, ...)               WHOLE_##kind("|" #name)
#define DRIVER_WITH_DEVICE(name, kind, device, ...) HAS_DEVICE_##device("|" #name)
#define DRIVER_HELP(name, kind, device, port_kib, queue_kib, rx_held, tx_held, at_least, help)     \
    OFFERED_##kind(#name ": " help "\n")
#define APP_HELP(name, kind, help) OFFERED_##kind(#name ": " help "\n")

// [1] skips the leading |.
#define DRIVERS         &DRIVER_TABLE(DRIVER_OFFERED)[1]
#define LINKS           .only = &DRIVER_TABLE(DRIVER_LINK_ONLY)[1]
#define WRAPPERS        .only = &DRIVER_TABLE(DRIVER_WRAPPER_ONLY)[1]
#define SUBPORTS        .only = &DRIVER_TABLE(DRIVER_SUBPORT_ONLY)[1]
#define RINGS           .only = &DRIVER_TABLE(DRIVER_RINGS)[1]
#define GROUPS          .only = &DRIVER_TABLE(DRIVER_GROUP_ONLY)[1]
#define WHOLE           .only = &DRIVER_TABLE(DRIVER_WHOLE)[1]
#define WITH_DEVICE     .only = &DRIVER_TABLE(DRIVER_WITH_DEVICE)[1]

#define FAULT           .only = "fault"
#define HTTP            .only = "http"
#define PROXY           .only = "proxy"
#define ZERO(word)      .zero = word
#define UNLIMITED(word) .unlimited = word
#define OPTIONAL        .optional = true
#define REPEAT          .repeat = true
#define LIVE            .live = true

#define G               (UINT64_C(1) << 30)

const struct key conf_keys[] = {
    {.name = "linux",
     .type = KEY_CPUS,
     FIELD(cpu, linux_cpus),
     ZERO("auto"),
     VALUE("auto", "Cores of the control thread. auto: the first two cores, or the first one on a "
                   "machine with fewer than four")},
    LIST(
        cpu, workers, KEY_CPUS, ZERO("auto"),
        VALUE("auto",
              "Cores that run one worker each. auto: all other cores that are online and allowed")),
    BOOL(cpu, exclusive,
         VALUE("on",
               "Refuse to start on a core where another server runs a worker. off: warn only")),
    NUMBER(cpu, workers_per_core, 1, CONF_WORKERS_MAX,
           VALUE("1", "Workers on each core. More than 1 is for tests: the workers share cores, "
                      "also with the control thread, and yield the core after each turn")),

    WORD(cpu, idle, "poll|pause|monitor|interrupt",
         VALUE("poll", "What a worker does that has nothing to do. poll: it looks for packets all "
                       "the time. pause: it pauses its core for up to 8 us between two looks. "
                       "monitor: its core waits for up to 20 us until a NIC writes a packet "
                       "(UMWAIT); only with one port of driver pci. interrupt: it sleeps until a "
                       "packet, a timer or another thread wakes it; only with ports of kernel "
                       "interfaces")),
    NUMBER(cpu, idle_after_us, 1, 1000000,
           VALUE("100", "Microseconds without work after which a worker does what idle says")),

    WORD(memory, hugepage, "auto|1G|2M|none",
         VALUE("auto", "Size of the pages to use. auto: 1G if enough of them are free, else 2M. "
                       "none: 4 KiB pages")),
    COUNT(memory, connections, 1, 100000000, ZERO("max"),
          VALUE("65536", "Connections that can be open at once, over all workers. max: as many as "
                         "fit in the free pages at start (c10m plan)")),
    COUNT(memory, time_wait, 1, 1000000000, ZERO("auto"),
          VALUE("auto",
                "TIME-WAIT records of IPv4, of 32 bytes each. If none is free, the oldest one is "
                "replaced. auto: as many as connections, but 1024 to 1000000")),
    COUNT(memory, time_wait6, 1, 1000000000, ZERO("auto"),
          VALUE("auto", "TIME-WAIT records of IPv6, of 64 bytes each. auto: as many as time_wait "
                        "if a port has an IPv6 address, else none")),
    COUNT(memory, syn_received, 1, 100000000, ZERO("auto"),
          VALUE("auto", "Records of half-open connections, of 64 bytes each. auto: as many as "
                        "connections, but 1024 to 262144")),
    COUNT(memory, extension_records, 1, 100000000, ZERO("auto"),
          VALUE("auto",
                "Records of 256 bytes for connections with out-of-order data, losses or options. "
                "auto: 1/64 of connections, but at least 16384, or connections if that is less")),
    COUNT(memory, flight_logs, 1, 100000000, ZERO("auto"),
          VALUE("auto", "Records for connections with more than one segment in flight, of 640 "
                        "bytes each. auto: as many as extension_records")),
    COUNT(memory, packets, 1024, 10000000,
          VALUE("16384", "Packets of each worker, of about 2.3 KiB each")),
    COUNT(memory, jumbo_packets, 1024, 10000000,
          VALUE("4096", "Packets of each worker for ports with an mtu above 1900, of about 9.5 KiB "
                        "each. Without such a port there are none")),
    COUNT(memory, buffers, 64, 100000000,
          VALUE("8192", "Buffers of each worker, of 2 KiB each. They hold data to send and data "
                        "that applications have not consumed yet")),
    COUNT(memory, reassembly, 32, 8192, ZERO("off"),
          VALUE("256", "Datagrams of each worker that can be reassembled from fragments at once, "
                       "of about 11 KiB each. One source can use an eighth of them. off: received "
                       "fragments are dropped, and no fragments are sent")),
    SIZE(memory, image_bytes, 1, 1024 * G, ZERO("auto"),
         VALUE("auto",
               "Memory for the files that a service serves, for each version of them that a "
               "reload makes. auto: as much as the files need")),
    TEXT(memory, hugetlbfs, KEY_PATH, CONF_PATH_BYTES,
         VALUE("huge", "Directory where the server mounts hugetlbfs, with a subdirectory for each "
                       "page size. A path that does not begin with / is below run_dir")),

    TEXT(control, name, KEY_NAME, CONF_NAME_BYTES, OPTIONAL,
         VALUE("",
               "Name of this server. It is part of the names of its DPDK files and hugetlbfs "
               "files. Two servers on one machine need different names. empty: made from run_dir, "
               "for example web from /run/web")),
    // 80: memif's sockets may lie in it, and the path of a socket has at most 107 characters.
    TEXT(control, run_dir, KEY_DIR, 81,
         VALUE("/run/c10m", "Directory for the files of this server. The server creates it, and "
                            "removes it at exit if it is empty")),
    TEXT(control, mount, KEY_PATH, CONF_PATH_BYTES, OPTIONAL,
         VALUE("proc", "Directory where the tree is mounted. A path that does not begin with / is "
                       "below run_dir. empty: the tree is not mounted")),
    LIST(control, http, KEY_ENDPOINT, OPTIONAL,
         VALUE("127.0.0.1:9910",
               "Address and port where HTTP serves the tree and /metrics. An address other than "
               "127.0.0.0/8 and ::1 requires http_token_file. empty: no HTTP")),
    TEXT(control, http_token_file, KEY_PATH, CONF_PATH_BYTES, OPTIONAL,
         VALUE("", "File with the token that HTTP requests must carry (Authorization: Bearer), of "
                   "16 to 256 printable characters. The file must not be readable by everybody")),
    TEXT(control, socket, KEY_PATH, CONF_SOCKET_BYTES, OPTIONAL,
         VALUE("control.sock", "Unix socket for the tree (c10m cat, ls, write, watch). A path that "
                               "does not begin with / is below run_dir. empty: no socket")),
    BOOL(control, required,
         VALUE("off", "Whether a start fails if the mount, HTTP or the control socket that are "
                      "configured cannot be had. off: the server runs without them and warns")),
    NUMBER(control, drain_s, 0, 86400, LIVE,
           VALUE("5", "Seconds that open connections have to finish after SIGTERM. 0: they are "
                      "closed at once")),
    WORD(control, log_level, "error|warn|info|debug", LIVE,
         VALUE("info", "Lowest level of messages that are logged")),
    TEXT(control, user, KEY_NAME, CONF_NAME_BYTES,
         VALUE("auto", "User as whom a server that root started runs, when all that needs root is "
                       "open. auto: c10m if there is such a user, else root. root: it stays root")),
    WORD(control, adopt, "never|auto|require",
         VALUE("never", "Whether a start adopts the connections of a server of the same name that "
                        "was killed or ended for a restart (SIGUSR2), and leaves its own to the "
                        "next one. Needs hugepages. require: it fails if there are none to adopt")),
    WORD(control, seccomp, "off|log|on",
         VALUE("on", "Filters of system calls, for workers and for all other threads. A call that "
                     "a filter does not allow ends the process. log: the kernel logs the call, and "
                     "makes it. off: for applications that need more calls")),
    BOOL(control, landlock,
         VALUE("on", "Rules for files (Landlock), where root was given up: the server may write to "
                     "run_dir and to the directories of the log and of access logs, and read what "
                     "it serves, its "
                     "configuration and the system. off: for applications that open other files")),
    TEXT(control, log, KEY_TEXT, CONF_LOG_BYTES,
         VALUE("stderr", "Where messages are logged: stderr; syslog, or syslog:SOCKET if it is not "
                         "/dev/log; or the path of a file, which SIGUSR1 opens again")),
    WORD(control, log_time, "auto|on|off",
         VALUE("auto", "Time (UTC) before each message in a file or on stderr. auto: in a file. A "
                       "journal and syslog have their own")),
    BOOL(control, telemetry, VALUE("on", "Open the telemetry socket of DPDK")),
    SIZE(control, dump_ring, 256 * 1024, 256 * 1024 * 1024,
         VALUE("4M",
               "Memory for frames that c10m dump has not fetched yet, for each worker and each "
               "capture. It is rounded down to a power of two and used while the capture runs")),
    SIZE(control, trace_ring, 64 * 1024, 256 * 1024 * 1024, ZERO("off"),
         VALUE("4M",
               "Memory of each worker for the records of a trace, 16 bytes each, that are not "
               "collected yet. It is rounded down to a power of two. 0: there are no traces")),

    MS(tcp, rto_min_ms, 1, 60000, LIVE, VALUE("200", "Shortest retransmission timeout")),
    MS(tcp, rto_initial_ms, 1, 60000, LIVE,
       VALUE("1000", "Retransmission timeout before the first round trip is measured (RFC 6298)")),
    MS(tcp, rto_max_ms, 1000, 3600000, LIVE, VALUE("120000", "Longest retransmission timeout")),
    NUMBER(tcp, syn_retries, 0, 15, LIVE,
           VALUE("6", "Retransmissions of a SYN before an active open fails")),
    NUMBER(tcp, synack_retries, 0, 15, LIVE,
           VALUE("5", "Retransmissions of a SYN-ACK before a half-open connection is dropped")),
    NUMBER(tcp, retries1, 3, 30, LIVE,
           VALUE("3", "Retransmissions of a segment after which the path is suspected to have "
                      "failed (R1 of RFC 1122)")),
    NUMBER(
        tcp, retries, 1, 30, LIVE,
        VALUE(
            "15",
            "Retransmissions of a segment after which the connection is aborted (R2 of RFC 1122)")),
    MS(tcp, time_wait_ms, 1, 600000, LIVE,
       VALUE("60000", "Time that a connection stays in TIME-WAIT")),
    MS(tcp, fin_wait2_ms, 1, 3600000, LIVE,
       VALUE("60000", "Time that a connection stays in FIN-WAIT-2 while its peer sends no data")),
    // 500: RFC 1122 4.2.3.2.
    MS(tcp, delayed_ack_ms, 0, 500, LIVE,
       VALUE("40", "Longest delay of an acknowledgment. 0: no delay")),
    BOOL(tcp, ack_merge, LIVE,
         VALUE("on", "Send one ACK for all in-order data of a connection in a burst. off: send an "
                     "ACK for every second segment exactly")),
    BOOL(tcp, quick_ack, LIVE,
         VALUE("on", "Acknowledge single segments at once at the start of a connection and after "
                     "an idle time, at most 16 of them")),
    NUMBER(tcp, window_scale, 0, 14,
           VALUE("7", "Window scale option to offer, a shift count (RFC 7323)")),
    NUMBER(tcp, initial_window, 1, 64, LIVE,
           VALUE("10", "Segments that are sent before the first ACK (RFC 6928)")),
    WORD(tcp, congestion, "cubic|newreno",
         VALUE("cubic", "Congestion control: CUBIC (RFC 9438) or NewReno (RFC 5681)")),
    MS(tcp, pacing_rtt_ms, 0, 60000, LIVE,
       VALUE("5", "Connections with at least this round-trip time are paced: they send their "
                  "window in parts, one for each millisecond. 0: no pacing")),
    BOOL(tcp, timestamps, VALUE("on", "Timestamps option (RFC 7323)")),
    BOOL(tcp, sack, VALUE("on", "Offer and accept selective acknowledgments (RFC 2018)")),
    BOOL(tcp, black_hole_detection, LIVE,
         VALUE("on", "Send smaller segments after large ones were retransmitted retries1 times "
                     "without an answer, since the path may drop them silently (RFC 2923)")),
    BOOL(
        tcp, rfc1337, LIVE,
        VALUE("off",
              "Ignore every RST in TIME-WAIT, also one with the right sequence number (RFC 1337)")),
    WORD(
        tcp, ecn, "off|accept|on",
        VALUE("accept",
              "Explicit congestion notification (RFC 3168). accept: only if the peer requests it")),
    WORD(tcp, large_segments, "auto|on|off",
         VALUE("auto",
               "Pass several full segments of a connection to the port as one large segment. The "
               "port cuts it (TSO), or the software does if the port cannot. auto: on if a port "
               "has TSO")),
    WORD(tcp, syn_cookies, "off|auto|always", LIVE,
         VALUE("auto", "Answer SYNs with cookies, without a record (RFC 4987). auto: only if no "
                       "record of [memory] syn_received is free. With a cookie, options other than "
                       "MSS are kept only if timestamps are used")),
    PERCENT(tcp, prefix_share, LIVE,
            VALUE("50", "Connections that the addresses of one IPv4 /24 or IPv6 /48 can have "
                        "when seven eighths of the connections of their worker are open. The "
                        "share becomes smaller as more are open. 100: no limit")),
    PERCENT(tcp, service_share, LIVE,
            VALUE("50", "The same for the connections of one service, if there are several, when "
                        "fifteen sixteenths are open. 100: no limit")),
    MS(tcp, accept_wait_ms, 1, 60000, ZERO("auto"), UNLIMITED("off"), LIVE,
       VALUE("auto", "Drop SYNs while packets wait for this time in the receive queue of a worker: "
                     "it gets more than it can handle, and those of open connections go first. "
                     "auto: 50, if the port's driver counts a nearly full queue, else off")),
    MS(tcp, invalid_ack_ms, 0, 60000, LIVE,
       VALUE("500",
             "Shortest time between two ACKs that a connection sends in answer to segments without "
             "data that are outside its window, old, or need a challenge ACK (RFC 5961). 0: no "
             "limit")),
    COUNT(
        tcp, rst_rate_per_s, 0, 100000000, LIVE,
        VALUE("10000",
              "RSTs that a worker sends per second for segments of unknown connections, varied at "
              "random by up to a half. At most a quarter of them goes to one source. 0: no RSTs")),
    COUNT(tcp, icmp_rate_per_s, 0, 100000000,
          VALUE("10000",
                "Echo replies that a worker sends per second. ICMP errors have the same limit, "
                "but at most 1000. Both are varied at random by up to a half. At most a quarter "
                "of them goes to one source. 0: none")),

    // 108: Linux's limit of the path of a socket, with the terminator.
    TEXT(agent, socket, KEY_PATH, 108, OPTIONAL,
         VALUE("", "Unix socket where the agent takes calls (c10m/agent.h). empty: no agent")),
    COUNT(agent, sockets_max, 1, 65536,
          VALUE("1024", "Largest number of open sockets of the agent")),
    SIZE(agent, send_buffer, 2048, G,
         VALUE("65536",
               "Largest number of unacknowledged bytes of a connection. SO_SNDBUF changes it")),
    SIZE(agent, receive_buffer, 2048, G,
         VALUE("65536", "Largest number of unread bytes of a connection. SO_RCVBUF changes it")),

    LIST(statsd, address, KEY_ENDPOINT, OPTIONAL,
         VALUE("", "Address and port of the StatsD server. empty: no metrics are pushed")),
    MS(statsd, interval_ms, 100, 3600000, LIVE, VALUE("10000", "Time between two pushes")),
    TEXT(statsd, prefix, KEY_TEXT, CONF_PREFIX_BYTES,
         VALUE("c10m", "First part of every metric's name: letters, digits, . - and _")),
    PERCENT(
        statsd, sample_rate, LIVE,
        VALUE(
            "100",
            "Counters that are sent in each push, chosen at random. They carry the rate (|@RATE)")),

    {.name = "driver",
     .type = KEY_DRIVER,
     FIELD(port, driver),
     .words = DRIVERS,
     .choices = DRIVER_TABLE(DRIVER_HELP),
     VALUE(NULL, "Driver of the port")},
    TEXT(port, device, KEY_TEXT, CONF_PATH_BYTES, OPTIONAL, WITH_DEVICE,
         VALUE("", "Device of the port: the name of an interface (tap creates it), a PCI address, "
                   "the path of a socket, or the capture to replay")),
    TEXT(port, capture, KEY_TEXT, CONF_PATH_BYTES, OPTIONAL, .only = "pcap",
         VALUE("", "Capture to write")),
    WORD(port, role, "server|client", .only = "memif",
         VALUE("server", "This side of the socket. The peer is the other side")),
    NUMBER(port, id, 0, 65535, .only = "memif",
           VALUE("0", "Number of the link. The peer has the same number")),
    LIST(port, address, KEY_PREFIXES, OPTIONAL, REPEAT,
         VALUE("", "Local addresses, of both families")),
    TEXT(port, follow, KEY_TEXT, CONF_NAME_BYTES, OPTIONAL,
         VALUE("", "Linux interface whose addresses, routes, permanent neighbors, MTU and state "
                   "this port takes over while the server runs. address, gateway, gateway6 and "
                   "route hold until it was read")),
    BOOL(port, attach, .only = "tap",
         VALUE("off", "Take the TAP interface `device` that exists, and that this user may open, "
                      "instead of creating it. The interface stays as it is. Needs no root")),
    LIST(port, host_address, KEY_PREFIXES, OPTIONAL, REPEAT, .only = "tap",
         VALUE("", "Addresses of the kernel's side, one of each family")),
    LIST(port, gateway, KEY_ADDRESS4, OPTIONAL,
         VALUE("", "IPv4 next hop to destinations that are not on the link and have no route")),
    LIST(port, gateway6, KEY_ADDRESS6, OPTIONAL,
         VALUE("", "IPv6 next hop to destinations that are not on the link and have no route")),
    LIST(
        port, route, KEY_ROUTES, OPTIONAL, REPEAT,
        VALUE("",
              "Next hops to prefixes. The longest prefix that contains an address is used for it")),
    LIST(port, neighbor, KEY_NEIGHBORS, OPTIONAL, REPEAT,
         VALUE("", "Neighbors whose MAC address is given here instead of being asked for by ARP "
                   "or neighbor discovery")),
    LIST(port, mac, KEY_MAC, OPTIONAL, WHOLE,
         VALUE("", "MAC address of the port. empty: the driver chooses it")),
    NUMBER(port, mtu, 576, 9000,
           VALUE("1500",
                 "Largest IP packet, in bytes. Above 1900, the port uses jumbo_packets. A vlan "
                 "port takes that of its parent, unless it has the key")),
    NUMBER(port, queues, 1, CONF_QUEUES_MAX, ZERO("auto"), WHOLE,
           VALUE("auto", "Queues of the port. auto: one for each worker, at most 16")),
    POWER(port, rx_ring, 64, 32768, ZERO("auto"), RINGS,
          VALUE("auto", "Packets that a receive queue holds. auto: the driver chooses")),
    POWER(port, tx_ring, 64, 32768, ZERO("auto"), RINGS,
          VALUE("auto", "Packets that a transmit queue holds. auto: the driver chooses")),
    {.name = "offloads",
     .type = KEY_SET,
     FIELD(port, offloads),
     .words = "rx_checksum|tx_checksum|multi_segment|tso|rss",
     ZERO("auto"),
     LINKS,
     VALUE("auto", "Work that the port does itself if it can. The rest is done in software. auto: "
                   "the driver chooses")},
    MS(port, open_ms, 100, 600000, .only = "pci",
       VALUE(
           "30000",
           "Time in which DPDK's driver must open the device. If it takes longer, the server ends "
           "with an error")),
    POWER(port, arp_entries, 64, 32768,
          VALUE("1024", "Entries of a worker's neighbor cache, for each family")),
    COUNT(port, arp_rate_per_s, 1, 1000000,
          VALUE("1000", "ARP requests and neighbor solicitations that a worker sends per second")),
    TEXT(port, parent, KEY_NAME, CONF_NAME_BYTES, OPTIONAL, SUBPORTS,
         VALUE("", "Name of the port on whose link the VLAN is")),
    NUMBER(port, vlan, 1, 4094, ZERO("none"), SUBPORTS,
           VALUE("none", "VLAN of the port: the identifier in the tags of its frames")),
    {.name = "linux",
     .type = KEY_TEXT,
     FIELD(port, linux_name),
     .optional = true,
     .max = CONF_NAME_BYTES - 1,
     VALUE("", "Interface that the server makes, by which Linux shares the port: it gets what no "
               "service owns. empty: it is refused or dropped")},
    BOOL(port, linux_icmp,
         VALUE("off", "Linux answers echo requests (ping). off: the worker does")),
    COUNT(port, linux_rate, 8, 10000000,
          VALUE("20000", "Packets per second that a worker passes to Linux, and from it. Half of "
                         "it is for connections of Linux, the rest for four other kinds")),
    TEXT(port, wraps, KEY_NAME, CONF_NAME_BYTES, OPTIONAL, WRAPPERS,
         VALUE("", "Name of the port to wrap")),
    LIST(
        port, members, KEY_NAMES, OPTIONAL, GROUPS,
        VALUE("", "Names of the ports that the bond is over. They have no addresses of their own")),
    WORD(port, mode, "active-backup|lacp", GROUPS,
         VALUE("active-backup",
               "How the members are used. active-backup: one, another one when its link is lost. "
               "lacp: all that the switch agreed to by LACP (IEEE 802.1AX)")),
    TEXT(port, primary, KEY_NAME, CONF_NAME_BYTES, OPTIONAL, GROUPS,
         VALUE("", "active-backup: the member that is used whenever it has a link. empty: the "
                   "present one stays")),
    WORD(port, lacp_rate, "slow|fast", GROUPS,
         VALUE("slow", "lacp: how often the switch is asked to send. A member whose switch is "
                       "silent is given up after 90 s (slow) or 3 s (fast)")),
    WORD(port, hash, "l2|l23|l34", GROUPS,
         VALUE("l34", "lacp: what chooses the member by which a packet is sent. l2: MAC addresses "
                      "and type. l23: also IP addresses. l34: also TCP and UDP ports")),
    NUMBER(port, seed, 0, UINT64_MAX, FAULT,
           VALUE("1", "Seed of the random numbers. The same seed makes the same faults")),
    PERCENT(port, loss, FAULT, VALUE("0", "Packets that are lost, in each direction")),
    PERCENT(port, reorder, FAULT,
            VALUE("0", "Packets that arrive after later packets, in each direction")),
    PERCENT(port, duplicate, FAULT, VALUE("0", "Packets that arrive twice, in each direction")),
    PERCENT(port, corrupt, FAULT,
            VALUE("0", "Packets in which a bit is flipped, in each direction")),
    MS(port, delay_ms, 0, 10000, FAULT, VALUE("0", "Delay of packets, in each direction")),

    TEXT(service, app, KEY_NAME, CONF_NAME_BYTES, .choices = APP_TABLE(APP_HELP),
         VALUE(NULL, "Application of the service")),
    LIST(service, port, KEY_PORTS, VALUE(NULL, "TCP ports on which the service listens")),
    BOOL(service, udp,
         VALUE("off", "Receive UDP on the same port numbers too, if the application has UDP")),
    LIST(service, address, KEY_ADDRESS, OPTIONAL,
         VALUE("", "Local address on which the service listens. empty: all local addresses")),
    COUNT(service, limit_connections, 1, 100000000, ZERO("none"), LIVE,
          VALUE("none", "Largest number of open connections of this service. Each worker has an "
                        "equal part of the limit. none: limited by memory only")),
    COUNT(
        service, source_connections, 1, 100000000, ZERO("none"),
        VALUE(
            "none",
            "Largest number of open connections of one source address (IPv6: of its /64 prefix) to "
            "this service. Each worker has an equal part of the limit. none: no limit")),
    WORD(service, congestion, "cubic|newreno|auto",
         VALUE("auto", "Congestion control. auto: as [tcp] congestion")),
    SIZE(service, send_buffer, 2048, G, ZERO("auto"),
         VALUE("auto", "Largest number of unacknowledged bytes of a connection. auto: an eighth of "
                       "the buffers, but 64 KiB to 4 MiB")),
    SIZE(service, send_buffer_initial, 2048, G,
         VALUE("65536", "The same limit while the congestion window is smaller than half of it")),
    SIZE(service, receive_buffer, 2048, G, ZERO("auto"),
         VALUE("auto",
               "Largest number of bytes of a connection that the application has not consumed. "
               "auto: an eighth of the buffers, but 64 KiB to 4 MiB")),
    SIZE(service, receive_buffer_initial, 2048, G,
         VALUE("65536", "The same limit at the start of a connection. It is doubled whenever the "
                        "application consumes more than that in a round trip")),
    BOOL(service, nodelay, VALUE("on", "Send small segments at once (no Nagle algorithm)")),
    COUNT(service, fast_open, 1, 1000000, ZERO("off"),
          VALUE("off",
                "Largest number of unconfirmed connections of a worker that were opened by TCP "
                "Fast Open (RFC 7413). With Fast Open, the data of a duplicate SYN may be "
                "delivered twice")),
    MS(service, keepalive_ms, 1000, 86400000, ZERO("off"), LIVE,
       VALUE("off", "Idle time after which a connection is probed")),
    MS(service, keepalive_interval_ms, 1000, 32767000, LIVE,
       VALUE("75000", "Time between two probes of an idle connection")),
    NUMBER(service, keepalive_probes, 1, 127, LIVE,
           VALUE("9", "Unanswered probes after which an idle connection is aborted")),
    MS(service, user_timeout_ms, 1000, 86400000, ZERO("off"), LIVE,
       VALUE("off", "Time after which a connection is aborted if its peer acknowledges neither "
                    "data nor probes (RFC 5482). off: retries and keepalive_probes decide")),
    WORD(service, watchdog, "log|abort", LIVE,
         VALUE("log", "What happens when a callback of the application does not return within "
                      "watchdog_ms. log: the log and the verdict name the function. abort: the "
                      "process ends as in a crash, too, so that the service manager starts it "
                      "again")),
    MS(service, watchdog_ms, 100, 3600000, LIVE,
       VALUE("500", "Time that a callback may take before it counts as hanging. With watchdog = "
                    "abort, set it above the longest time for which the host may stop the core")),
    TEXT(service, root, KEY_PATH, CONF_PATH_BYTES, OPTIONAL, HTTP, VALUE("", "Directory to serve")),
    SIZE(service, header_bytes_max, 256, 16384, HTTP, VALUE("8192", "Largest request header")),
    MS(service, header_timeout_ms, 1, 1 << 30, HTTP,
       VALUE("10000", "Time for a client to send a whole request header")),
    // 16384: the largest header_bytes_max.
    SIZE(service, header_bytes_held, 16384, 1024 * G, HTTP, ZERO("auto"),
         VALUE("auto",
               "Bytes of each worker, in buffers of 2 KiB, for incomplete headers (503 if "
               "exceeded) and for requests that wait behind an unfinished answer (at most half of "
               "the bytes; the connection is closed after that answer if exceeded). One source can "
               "use a quarter. auto: half of the buffers, shared by the http services")),
    MS(service, max_wait_ms, 1, 60000, HTTP, ZERO("auto"), UNLIMITED("off"),
       VALUE("auto",
             "Answer requests with 503 if they may have waited for this time in the "
             "receive queue of their worker. auto: 100, if the worker gets more packets "
             "than it can handle, and the port's driver counts a nearly full queue, else off")),
    MS(service, write_timeout_ms, 1, 3600000, HTTP,
       VALUE("60000",
             "Time for a client to take write_bytes_min bytes of an answer, or the rest of it")),
    SIZE(service, write_bytes_min, 1, G, HTTP,
         VALUE("4096", "Bytes of an answer that a client has to take within write_timeout_ms. A "
                       "slower connection is reset")),
    MS(service, keepalive_timeout_ms, 1, 1 << 30, HTTP,
       VALUE("60000", "Time that a connection may be idle between two requests")),
    SIZE(service, body_bytes_max, 1, G, HTTP,
         VALUE("65536", "Largest content of a request. A larger one is answered with 413")),
    MS(service, body_timeout_ms, 1, 1 << 30, HTTP,
       VALUE("30000", "Time for a client to send the whole content of a request")),
    COUNT(service, holds_max, 1, 65535, HTTP,
          VALUE("256",
                "Largest number of unfinished requests of each worker that have content or several "
                "ranges. One source can have a quarter of them. More are answered with 503")),
    TEXT(service, echo_path, KEY_TEXT, CONF_PATH_BYTES, OPTIONAL, HTTP,
         VALUE("", "Path where a POST is answered with its own content. empty: no such path")),
    TEXT(
        service, headers_path, KEY_TEXT, CONF_PATH_BYTES, OPTIONAL, HTTP,
        VALUE("",
              "Path where a GET is answered with the request's header lines. empty: no such path")),
    TEXT(service, access_log, KEY_PATH, CONF_PATH_BYTES, OPTIONAL, HTTP,
         VALUE("", "File that gets a line for each answer. empty: no log")),
    WORD(service, access_log_format, "common|combined", HTTP,
         VALUE("combined",
               "Format of access_log, as Apache's. combined: with Referer and User-Agent")),
    COUNT(service, files_max, 1, 1 << 24, HTTP,
          VALUE("65536", "Largest number of files below root")),
    SIZE(service, bytes_max, 1, 1024 * G, HTTP,
         VALUE("1G", "Largest total size of the files below root")),
    TEXT(service, mime_types, KEY_PATH, CONF_PATH_BYTES, OPTIONAL, HTTP,
         VALUE("",
               "File of media types, in the format of /etc/mime.types. empty: a built-in table")),
    LIST(service, host, KEY_HOSTS, OPTIONAL, REPEAT, HTTP,
         VALUE("", "Host names of requests, and the directory that is served for them instead of "
                   "root. Requests for other hosts get root, or 421 if there is no root")),
    LIST(service, header, KEY_HEADERS, OPTIONAL, REPEAT, HTTP,
         VALUE("", "Field that is added to the answers for files that match the pattern "
                   "[HOST]PATH, where * is any text")),
    LIST(service, expires, KEY_EXPIRES, OPTIONAL, REPEAT, HTTP,
         VALUE("", "Fields Expires and Cache-Control: max-age for files that match the pattern. "
                   "The first line that matches is used")),
    LIST(service, redirect, KEY_REDIRECTS, OPTIONAL, REPEAT, HTTP,
         VALUE("", "Paths that have moved. A * passes the rest of the path on to the target. The "
                   "query is passed on too")),
    LIST(service, error_page, KEY_PAGES, OPTIONAL, REPEAT, HTTP,
         VALUE("", "File below root that is the content of answers with this status")),
    BOOL(service, listing, HTTP,
         VALUE("off",
               "Answer requests for a directory without an index.html with a list of its files")),
    BOOL(service, proxy_protocol, HTTP,
         VALUE("off", "Expect each connection to begin with a PROXY header, of version 1 or 2, "
                      "that names the client. Connections without it are reset")),
    LIST(service, proxy_from, KEY_PREFIXES, OPTIONAL, REPEAT, HTTP,
         VALUE("", "Addresses that may send PROXY headers. Connections from others are reset. "
                   "empty: all addresses")),
    COUNT(
        service, proxy_connections_max, 1, 100000000, HTTP,
        VALUE("65536",
              "Largest number of open connections of each worker with a PROXY header, of 48 bytes "
              "each. More of them are reset")),
    LIST(service, upstream, KEY_ENDPOINT, OPTIONAL, PROXY,
         VALUE("", "Server to which connections are relayed")),
    MS(service, connect_timeout_ms, 1, 1 << 30, PROXY,
       VALUE("10000", "Time for upstream to accept a connection")),
    MS(service, idle_timeout_ms, 1, 1 << 30, PROXY, ZERO("off"),
       VALUE("300000", "Time without data in both directions after which both connections are "
                       "reset, up to a quarter later")),
};

const unsigned conf_n_keys = ARRAY_LEN(conf_keys);
static_assert(ARRAY_LEN(conf_keys) <= KEY_ROWS_MAX, "the loader keeps one place per row");

const struct key *key_find(enum conf_section section, const char *name)
{
    for (unsigned i = 0; i < conf_n_keys; i++)
        if (conf_keys[i].section == section && strcmp(conf_keys[i].name, name) == 0)
            return &conf_keys[i];
    return NULL;
}

const struct key *key_at(enum conf_section section, size_t offset)
{
    unsigned i = 0;
    while (conf_keys[i].section != section || conf_keys[i].offset != offset) {
        i++;
        CHECK(i < conf_n_keys);
    }
    return &conf_keys[i];
}

const void *key_field_const(const struct key *k, const struct conf *c, unsigned at)
{
    const void *base[SECTION_COUNT] = {
        [SECTION_cpu] = &c->cpu,   [SECTION_memory] = &c->memory,   [SECTION_control] = &c->control,
        [SECTION_tcp] = &c->tcp,   [SECTION_agent] = &c->agent,     [SECTION_statsd] = &c->statsd,
        [SECTION_port] = c->ports, [SECTION_service] = c->services,
    };
    size_t skip = k->section == SECTION_port      ? at * sizeof(c->ports[0])
                  : k->section == SECTION_service ? at * sizeof(c->services[0])
                                                  : 0;
    return (const char *)base[k->section] + skip + k->offset;
}

void *key_field(const struct key *k, struct conf *c, unsigned at)
{
    return (void *)(uintptr_t)key_field_const(k, c, at);
}

int word_index(const char *words, const char *text)
{
    size_t len = strlen(text);
    for (int i = 0; len > 0; i++) {
        size_t n = strcspn(words, "|");
        if (n == len && memcmp(words, text, n) == 0)
            return i;
        if (words[n] == '\0')
            break;
        words += n + 1;
    }
    return -1;
}

bool key_applies(const struct key *k, const char *driver_or_app)
{
    return k->only == NULL || word_index(k->only, driver_or_app) >= 0;
}

void words_list(const char *words, struct text *out)
{
    for (;;) {
        size_t n = strcspn(words, "|");
        text_put(out, words, n);
        if (words[n] == '\0')
            return;
        words += n + 1;
        text_printf(out, "%s", strchr(words, '|') == NULL ? " or " : ", ");
    }
}
