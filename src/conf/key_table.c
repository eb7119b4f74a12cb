// SPDX-License-Identifier: BSD-3-Clause
#include "conf/key_table.h"

#include <string.h>

const struct section conf_sections[SECTION_COUNT] = {
    [SECTION_cpu] = {"cpu", "Which cores do what.", false},
    [SECTION_memory] = {"memory", "What is reserved at start, and never more.", false},
    [SECTION_control] = {"control", "The control side: names, files, messages.", false},
    [SECTION_tcp] = {"tcp", "TCP and ICMP of all services.", false},
    [SECTION_agent] = {"agent", "BSD socket calls on this stack for other processes.", false},
    [SECTION_statsd] = {"statsd", "Metrics pushed to a StatsD server over UDP.", false},
    [SECTION_port] = {"port", "A network port; as many sections as ports.", true},
    [SECTION_service] = {"service", "An application and where it listens.", true},
};

// The row's field; the second line refuses a range that the field cannot hold.
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

#define FAULT      .only = "fault"
#define HTTP       .only = "http"
#define PROXY      .only = "proxy"
#define ZERO(word) .zero = word
#define OPTIONAL   .optional = true
#define REPEAT     .repeat = true
#define LIVE       .live = true

#define DRIVERS    "ring|tap|af_packet|af_xdp|memif|pci|pcap|fault"
#define G          (UINT64_C(1) << 30)

const struct key conf_keys[] = {
    {.name = "linux",
     .type = KEY_CPUS,
     FIELD(cpu, linux_cpus),
     ZERO("auto"),
     VALUE("auto",
           "Cores of the control thread. auto: the first two, of fewer than four the first")},
    LIST(cpu, workers, KEY_CPUS, ZERO("auto"),
         VALUE("auto", "Cores with one worker each. auto: all others that are online and allowed")),
    BOOL(cpu, exclusive,
         VALUE("on", "No start on a worker's core that a running server has; off: with a warning")),
    NUMBER(cpu, workers_per_core, 1, CONF_WORKERS_MAX,
           VALUE("1",
                 "More than 1 (tests): workers share cores, also with linux, and yield each turn")),

    WORD(memory, hugepage, "auto|1G|2M|none",
         VALUE("auto",
               "Pages to use. auto: 1G where there are enough, else 2M; none: ordinary memory")),
    COUNT(memory, connections, 1, 100000000, ZERO("max"),
          VALUE("65536", "Connections that can be open at once, over all workers. max: as many as "
                         "the free pages hold at start (c10m plan)")),
    COUNT(memory, time_wait, 1, 1000000000, ZERO("auto"),
          VALUE("auto",
                "TIME-WAIT records, 32 bytes; when full the oldest goes. auto: as connections, "
                "1024 to 1000000")),
    COUNT(
        memory, time_wait6, 1, 1000000000, ZERO("auto"),
        VALUE("auto",
              "TIME-WAIT records over IPv6, 64 bytes. auto: as many as time_wait if a port has an "
              "IPv6 address, else none")),
    COUNT(memory, syn_received, 1, 100000000, ZERO("auto"),
          VALUE("auto", "Half-open connections, 64 bytes. auto: as connections, 1024 to 262144")),
    COUNT(memory, extension_records, 1, 100000000, ZERO("auto"),
          VALUE("auto",
                "Connections in trouble, 256 bytes. auto: 1/64 of connections, at least 16384 or "
                "all")),
    COUNT(memory, flight_logs, 1, 100000000, ZERO("auto"),
          VALUE("auto", "Connections with more than one segment in flight, 640 bytes. auto: as "
                        "extension_records")),
    COUNT(memory, packets, 512, 10000000, VALUE("16384", "Packets per worker, of about 2.3 KiB")),
    COUNT(memory, buffers, 64, 100000000,
          VALUE("8192", "Buffers of 2 KiB per worker, for data to send and data not consumed yet")),
    COUNT(memory, reassembly, 32, 8192, ZERO("off"),
          VALUE("256", "Datagrams per worker that come in fragments, at once, of about 11 KiB; one "
                       "address has an eighth of them. off: fragments are dropped, none are made")),
    SIZE(memory, image_bytes, 1, 1024 * G, ZERO("auto"),
         VALUE("auto", "Memory for the files of services. auto: what they need")),
    TEXT(memory, hugetlbfs, KEY_PATH, CONF_PATH_BYTES,
         VALUE("huge",
               "Where hugetlbfs is mounted by the server (a directory per page size), below "
               "run_dir unless it begins with /")),

    TEXT(control, name, KEY_NAME, CONF_NAME_BYTES, OPTIONAL,
         VALUE("", "Name of this server in shared places (DPDK's, files on hugetlbfs). empty: made "
                   "of run_dir, /run/web is web: two servers on one machine need two of that")),
    // 80: sockets (memif's) may lie in it, and a socket's path has at most 107 characters.
    TEXT(control, run_dir, KEY_DIR, 81,
         VALUE("/run/c10m",
               "Directory of this server; made, and removed at the end if it is empty")),
    TEXT(control, mount, KEY_PATH, CONF_PATH_BYTES, OPTIONAL,
         VALUE("proc",
               "Where the tree is mounted, below run_dir unless it begins with /; empty: nowhere")),
    LIST(control, http, KEY_ENDPOINT, OPTIONAL,
         VALUE("127.0.0.1:9910",
               "Where HTTP shows the tree and /metrics; empty: nowhere. Beyond this host "
               "(127.0.0.0/8, ::1) with http_token_file only")),
    TEXT(control, http_token_file, KEY_PATH, CONF_PATH_BYTES, OPTIONAL,
         VALUE("",
               "File with the token that requests then have to bring (Authorization: Bearer): 16 "
               "to 256 printable characters; not for everybody to read")),
    TEXT(control, socket, KEY_PATH, CONF_SOCKET_BYTES, OPTIONAL,
         VALUE(
             "control.sock",
             "Unix socket of the tree (c10m cat, ls, write, watch), below run_dir unless it begins "
             "with /; empty: none")),
    NUMBER(control, drain_s, 0, 86400, LIVE,
           VALUE("5", "Seconds that connections get to finish at SIGTERM; 0: none")),
    WORD(control, log_level, "error|warn|info|debug", LIVE,
         VALUE("info", "Least urgent message written")),
    BOOL(control, telemetry, VALUE("on", "DPDK's telemetry socket")),
    SIZE(control, dump_ring, 256 * 1024, 256 * 1024 * 1024,
         VALUE("4M",
               "Memory for frames on their way to c10m dump, of each worker and capture, while "
               "it runs; rounded down to a power of two")),

    MS(tcp, rto_min_ms, 1, 60000, LIVE, VALUE("200", "Shortest retransmission timeout")),
    MS(tcp, rto_initial_ms, 1, 60000, LIVE,
       VALUE("1000", "Before the first round trip is measured (RFC 6298)")),
    MS(tcp, rto_max_ms, 1000, 3600000, LIVE, VALUE("120000", "Longest retransmission timeout")),
    NUMBER(tcp, syn_retries, 0, 15, LIVE,
           VALUE("6", "SYNs sent again before an active open fails")),
    NUMBER(tcp, synack_retries, 0, 15, LIVE,
           VALUE("5", "SYN-ACKs sent again before a half-open one is dropped")),
    NUMBER(tcp, retries1, 3, 30, LIVE,
           VALUE("3", "Retransmissions after which the path is suspected (R1)")),
    NUMBER(tcp, retries, 1, 30, LIVE,
           VALUE("15", "Retransmissions before a connection is given up (R2)")),
    MS(tcp, time_wait_ms, 1, 600000, LIVE, VALUE("60000", "Time in TIME-WAIT")),
    MS(tcp, fin_wait2_ms, 1, 3600000, LIVE,
       VALUE("60000", "Time in FIN-WAIT-2 without data from the peer")),
    // 500: RFC 1122 4.2.3.2.
    MS(tcp, delayed_ack_ms, 0, 500, LIVE,
       VALUE("40", "Longest delay of an acknowledgement; 0: none")),
    BOOL(tcp, ack_merge, LIVE,
         VALUE("on", "One ACK a burst for in-order data; off: every second segment exactly")),
    BOOL(tcp, quick_ack, LIVE,
         VALUE("on",
               "Lone segments at the begin of a connection and after an idle time, 16 at most, are "
               "acknowledged at once")),
    NUMBER(tcp, window_scale, 0, 14, VALUE("7", "Shift count offered (RFC 7323)")),
    NUMBER(tcp, initial_window, 1, 64, LIVE,
           VALUE("10", "Segments sent before the first ACK (RFC 6928)")),
    WORD(tcp, congestion, "cubic|newreno",
         VALUE("cubic", "Congestion control: CUBIC (RFC 9438) or NewReno (RFC 5681)")),
    MS(tcp, pacing_rtt_ms, 0, 60000, LIVE,
       VALUE("5",
             "Shortest round trip whose windows leave in parts, a millisecond's worth at a time; "
             "0: bursts leave whole")),
    BOOL(tcp, timestamps, VALUE("on", "Timestamps (RFC 7323)")),
    BOOL(tcp, sack, VALUE("on", "Selective acknowledgements (RFC 2018): offered and accepted")),
    BOOL(tcp, black_hole_detection, LIVE,
         VALUE("on",
               "Smaller segments when large ones stay without answer retries1 times: the path may "
               "drop them without a word (RFC 2923)")),
    BOOL(tcp, rfc1337, LIVE,
         VALUE("off", "TIME-WAIT does not end by a reset, not even one with the right number (RFC "
                      "1337)")),
    WORD(tcp, ecn, "off|accept|on",
         VALUE("accept",
               "Explicit congestion notification (RFC 3168). accept: where the peer asks for it")),
    WORD(tcp, large_segments, "auto|on|off",
         VALUE("auto",
               "Full segments of a connection go down as one, which the port cuts (TSO), or the "
               "border where the port does not. auto: on where a port does")),
    WORD(tcp, syn_cookies, "off|auto|always", LIVE,
         VALUE("auto",
               "SYNs answered without keeping anything (RFC 4987). auto: those for which [memory] "
               "syn_received has no room; options but MSS are then kept only with timestamps")),
    MS(tcp, invalid_ack_ms, 0, 60000, LIVE,
       VALUE("500",
             "Least time between two answers of a connection to segments without data that are "
             "outside its window, old, or challenged (RFC 5961); 0: none")),
    COUNT(tcp, rst_rate_per_s, 0, 100000000, LIVE,
          VALUE("10000",
                "RSTs sent per worker and second for segments without an owner, half more or less "
                "by chance; to one source a fourth of them; 0: none")),
    COUNT(tcp, icmp_rate_per_s, 0, 100000000,
          VALUE("10000",
                "Echo requests answered per worker and second, and ICMP errors sent, of which "
                "1000 at most; half more or less by chance; to one source a fourth of them; 0: "
                "none")),

    // 108: of a socket's path.
    TEXT(agent, socket, KEY_PATH, 108, OPTIONAL,
         VALUE("",
               "Unix socket where the agent takes calls (c10m/agent.h); none: there is no agent")),
    COUNT(agent, sockets_max, 1, 65536, VALUE("1024", "Descriptors that it gives out")),
    SIZE(agent, send_buffer, 2048, G,
         VALUE("65536", "Unacknowledged bytes of a connection; SO_SNDBUF changes it")),
    SIZE(agent, receive_buffer, 2048, G,
         VALUE("65536", "Bytes of a connection not read yet; SO_RCVBUF changes it")),

    LIST(statsd, address, KEY_ENDPOINT, OPTIONAL, VALUE("", "Where to; none: nothing is pushed")),
    MS(statsd, interval_ms, 100, 3600000, LIVE, VALUE("10000", "Time between two pushes")),
    TEXT(statsd, prefix, KEY_TEXT, CONF_PREFIX_BYTES,
         VALUE("c10m", "First part of every name: letters, digits, . - and _")),
    PERCENT(statsd, sample_rate, LIVE,
            VALUE("100", "Counters sent each time, chosen by chance, marked so (|@RATE)")),

    {.name = "driver",
     .type = KEY_DRIVER,
     FIELD(port, driver),
     .words = DRIVERS,
     VALUE(NULL, "ring: a wire in memory; fault: wraps another port")},
    TEXT(port, device, KEY_TEXT, CONF_PATH_BYTES, OPTIONAL,
         .only = "tap|af_packet|af_xdp|memif|pci|pcap",
         VALUE("",
               "Interface (tap: the one to create), PCI address, or path of a socket or capture")),
    TEXT(port, capture, KEY_TEXT, CONF_PATH_BYTES, OPTIONAL, .only = "pcap",
         VALUE("", "Capture to write; device is the one to replay")),
    WORD(port, role, "server|client", .only = "memif",
         VALUE("server", "Side of the socket; the peer is the other")),
    NUMBER(port, id, 0, 65535, .only = "memif",
           VALUE("0", "Number of the link; the peer has the same")),
    LIST(port, address, KEY_PREFIXES, OPTIONAL, REPEAT,
         VALUE("", "Local addresses, of both families")),
    LIST(port, host_address, KEY_PREFIXES, OPTIONAL, REPEAT, .only = "tap",
         VALUE("", "Addresses of the kernel's side, one of each family")),
    LIST(port, gateway, KEY_ADDRESS4, OPTIONAL,
         VALUE("", "Next hop to everything of IPv4 off the link that has no route")),
    LIST(port, gateway6, KEY_ADDRESS6, OPTIONAL, VALUE("", "The same for IPv6")),
    LIST(port, route, KEY_ROUTES, OPTIONAL, REPEAT,
         VALUE("", "Next hops to prefixes; of several that hold an address the longest counts")),
    LIST(port, neighbor, KEY_NEIGHBORS, OPTIONAL, REPEAT,
         VALUE("", "Neighbours that are known without ARP or neighbour discovery")),
    LIST(port, mac, KEY_MAC, OPTIONAL, VALUE("", "Hardware address; none: the driver's choice")),
    // 2034: the frame lies in one packet of 2048 bytes.
    NUMBER(port, mtu, 576, 2034, VALUE("1500", "Longest IP packet")),
    NUMBER(port, queues, 1, CONF_QUEUES_MAX, ZERO("auto"),
           VALUE("auto", "Queues. auto: one per worker, at most 16")),
    POWER(port, rx_ring, 64, 32768, ZERO("auto"),
          VALUE("auto", "Packets that a receive queue holds. auto: the driver's choice")),
    POWER(port, tx_ring, 64, 32768, ZERO("auto"),
          VALUE("auto", "Packets that a transmit queue holds. auto: the driver's choice")),
    {.name = "offloads",
     .type = KEY_SET,
     FIELD(port, offloads),
     .words = "rx_checksum|tx_checksum|multi_segment|tso|rss",
     ZERO("auto"),
     .only = "ring|tap|af_packet|af_xdp|memif|pci|pcap",
     VALUE("auto",
           "What the port may do itself, as far as it can; the rest is done in software. auto: "
           "the driver's choice")},
    POWER(port, arp_entries, 64, 32768,
          VALUE("1024", "Neighbours of each family remembered per worker")),
    COUNT(port, arp_rate_per_s, 1, 1000000,
          VALUE("1000", "ARP requests, and neighbour solicitations, sent per worker and second")),
    TEXT(port, wraps, KEY_NAME, CONF_NAME_BYTES, OPTIONAL, FAULT,
         VALUE("", "Name of the port inside")),
    NUMBER(port, seed, 0, UINT64_MAX, FAULT, VALUE("1", "The same seed makes the same faults")),
    PERCENT(port, loss, FAULT, VALUE("0", "Packets lost, each way")),
    PERCENT(port, reorder, FAULT, VALUE("0", "Packets that later ones overtake")),
    PERCENT(port, duplicate, FAULT, VALUE("0", "Packets that arrive twice")),
    PERCENT(port, corrupt, FAULT, VALUE("0", "Packets with a flipped bit")),
    MS(port, delay_ms, 0, 10000, FAULT, VALUE("0", "Delay, each way")),

    TEXT(service, app, KEY_NAME, CONF_NAME_BYTES,
         VALUE(NULL, "Application: echo, discard, chargen, daytime, http, proxy")),
    LIST(service, port, KEY_PORTS, VALUE(NULL, "Where it listens")),
    BOOL(service, udp, VALUE("off", "UDP on the same ports: echo, discard, chargen, daytime")),
    LIST(service, address, KEY_ADDRESS, OPTIONAL,
         VALUE("", "Local address on which it listens; none: all")),
    COUNT(service, limit_connections, 1, 100000000, ZERO("none"), LIVE,
          VALUE("none", "Connections of this service at once; each worker has an equal part of the "
                        "limit. none: as memory allows")),
    COUNT(service, source_connections, 1, 100000000, ZERO("none"),
          VALUE("none",
                "Connections of one source address to this service at once; each worker has "
                "an equal part of the limit. none: no limit")),
    WORD(service, congestion, "cubic|newreno|auto",
         VALUE("auto", "Congestion control. auto: [tcp] congestion")),
    SIZE(service, send_buffer, 2048, G, ZERO("auto"),
         VALUE("auto",
               "Unacknowledged bytes of a connection, at most. auto: an eighth of the buffers, "
               "64 KiB to 4 MiB")),
    SIZE(service, send_buffer_initial, 2048, G,
         VALUE("65536", "The same as long as its window of congestion is not half as large")),
    SIZE(service, receive_buffer, 2048, G, ZERO("auto"),
         VALUE("auto",
               "Bytes of a connection not consumed yet, at most. auto: an eighth of the buffers, "
               "64 KiB to 4 MiB")),
    SIZE(
        service, receive_buffer_initial, 2048, G,
        VALUE("65536", "The same at its begin: it is doubled as more is consumed in a round trip")),
    BOOL(service, nodelay, VALUE("on", "Small segments leave at once (no Nagle)")),
    COUNT(service, fast_open, 1, 1000000, ZERO("off"),
          VALUE("off",
                "Connections of a worker that TCP Fast Open (RFC 7413) has begun and nobody has "
                "confirmed, at most; data of a SYN that comes again may arrive twice")),
    MS(service, keepalive_ms, 1000, 86400000, ZERO("off"), LIVE,
       VALUE("off", "Idle time before a connection is probed")),
    MS(service, keepalive_interval_ms, 1000, 32767000, LIVE,
       VALUE("75000", "Time between two probes of an idle connection")),
    NUMBER(service, keepalive_probes, 1, 127, LIVE,
           VALUE("9", "Probes without an answer after which an idle connection ends")),
    MS(service, user_timeout_ms, 1000, 86400000, ZERO("off"), LIVE,
       VALUE("off",
             "Time that data, or a probe of a closed window or an idle peer, may stay without an "
             "acknowledgement (RFC 5482). off: as long as retries and keepalive_probes last")),
    TEXT(service, root, KEY_PATH, CONF_PATH_BYTES, OPTIONAL, HTTP, VALUE("", "Directory to serve")),
    SIZE(service, header_bytes_max, 256, 16384, HTTP, VALUE("8192", "Longest request header")),
    MS(service, header_timeout_ms, 1, 1 << 30, HTTP,
       VALUE("10000", "Time for a whole request header")),
    // 16384: the longest header_bytes_max.
    SIZE(service, header_bytes_held, 16384, 1024 * G, HTTP, ZERO("auto"),
         VALUE("auto",
               "Bytes, in buffers of 2 KiB, of headers without their end (over: 503) and of "
               "what waits behind an answer in work (half of it at most; over: closed after it), "
               "per worker; one address has a quarter. "
               "auto: half of the buffers, shared among the http services")),
    MS(service, write_timeout_ms, 1, 3600000, HTTP,
       VALUE("60000",
             "Time in which a client takes write_bytes_min of an answer, or what is left")),
    SIZE(service, write_bytes_min, 1, G, HTTP,
         VALUE("4096", "Bytes that it takes in that time; fewer: reset")),
    MS(service, keepalive_timeout_ms, 1, 1 << 30, HTTP,
       VALUE("60000", "Time that a connection may idle between requests")),
    SIZE(service, body_bytes_max, 1, G, HTTP,
         VALUE("65536", "Longest content of a request; over: 413")),
    MS(service, body_timeout_ms, 1, 1 << 30, HTTP,
       VALUE("30000", "Time for the whole content of a request")),
    COUNT(service, holds_max, 1, 65535, HTTP,
          VALUE("256", "Requests with content, or for several ranges, in work at once per worker; "
                       "one address has a quarter; over: 503")),
    TEXT(service, echo_path, KEY_TEXT, CONF_PATH_BYTES, OPTIONAL, HTTP,
         VALUE("", "Path where POST is answered with its content; none: nowhere")),
    TEXT(service, headers_path, KEY_TEXT, CONF_PATH_BYTES, OPTIONAL, HTTP,
         VALUE("", "Path where GET is answered with the request's header lines; none: nowhere")),
    TEXT(service, access_log, KEY_PATH, CONF_PATH_BYTES, OPTIONAL, HTTP,
         VALUE("", "File with a line for each answer; none: no log")),
    WORD(service, access_log_format, "common|combined", HTTP,
         VALUE("combined", "Its format, as Apache's. combined: with Referer and User-Agent")),
    COUNT(service, files_max, 1, 1 << 24, HTTP, VALUE("65536", "Files in root")),
    SIZE(service, bytes_max, 1, 1024 * G, HTTP, VALUE("1G", "Bytes of the files in root")),
    TEXT(service, mime_types, KEY_PATH, CONF_PATH_BYTES, OPTIONAL, HTTP,
         VALUE("", "File of media types, as /etc/mime.types; none: a built-in table")),
    LIST(service, host, KEY_HOSTS, OPTIONAL, REPEAT, HTTP,
         VALUE("", "Names that are asked for in Host, and the directory that they have in place of "
                   "root. Others have root, or 421 where there is none")),
    LIST(service, header, KEY_HEADERS, OPTIONAL, REPEAT, HTTP,
         VALUE("", "Field of the answers for files of this pattern, [HOST]PATH; * is any text")),
    LIST(service, expires, KEY_EXPIRES, OPTIONAL, REPEAT, HTTP,
         VALUE("", "Expires and Cache-Control: max-age of these files; the first line counts")),
    LIST(service, redirect, KEY_REDIRECTS, OPTIONAL, REPEAT, HTTP,
         VALUE("", "Paths that have moved; * takes the rest along, and the query goes with it")),
    LIST(service, error_page, KEY_PAGES, OPTIONAL, REPEAT, HTTP,
         VALUE("", "File below root that is the content of answers with this status")),
    BOOL(service, listing, HTTP,
         VALUE("off", "Directories without an index.html are answered with their files' names")),
    BOOL(service, proxy_protocol, HTTP,
         VALUE("off", "Each connection begins with a PROXY header, version 1 or 2, that names the "
                      "client; one without is reset")),
    LIST(service, proxy_from, KEY_PREFIXES, OPTIONAL, REPEAT, HTTP,
         VALUE("", "Who may send PROXY headers; others are reset. None: everybody")),
    COUNT(service, proxy_connections_max, 1, 100000000, HTTP,
          VALUE("65536", "Connections with a PROXY header per worker at once, 48 bytes each; over: "
                         "reset")),
    LIST(service, upstream, KEY_ENDPOINT, OPTIONAL, PROXY,
         VALUE("", "Where each connection is relayed to")),
    MS(service, connect_timeout_ms, 1, 1 << 30, PROXY,
       VALUE("10000", "Time for upstream to answer")),
    MS(service, idle_timeout_ms, 1, 1 << 30, PROXY, ZERO("off"),
       VALUE("300000", "Time in which neither side takes a byte before both are reset; up to a "
                       "quarter more")),
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
