// SPDX-License-Identifier: BSD-3-Clause
// conf.h: the configuration: one INI file and `--set` overrides, read into plain structs.
//
//   defaults (key_table.c) -> file -> --set SECTION.KEY=VALUE -> auto values -> checks
//   -> struct conf
//
// Every key is one row of the table in key_table.c: section, type, range, default, help. From that
// row come parsing, the message of each error, conf_print(), conf_help() and config/default.conf.
// Control thread only, before the workers start; afterwards a struct conf is read only.
//
// Syntax: `[section]` or `[section NAME]`, `key = value`, blank lines; `#` or `;` begins a comment
// at the start of a line or after a blank. One line has at most CONF_LINE_BYTES bytes.
#pragma once
#include "base/addr.h"
#include "base/err.h"
#include "base/text.h"

#define CONF_UNLIMITED UINT32_MAX  // of numbers whose key has a word for it

enum {
    CONF_NAME_BYTES = 32,  // of a port, a service or an application; terminator included
    CONF_PATH_BYTES = 256,
    CONF_SOCKET_BYTES = 108,  // Linux's limit of a unix socket's path
    CONF_LINE_BYTES = 4096,
    CONF_FILE_BYTES_MAX = 1 << 20,
    CONF_CPU_ID_MAX = 1023,  // Linux's CPU_SETSIZE - 1
    CONF_CPUS_MAX = 256,
    CONF_WORKERS_MAX = 64,
    CONF_PORTS_MAX = 16,
    CONF_MEMBERS_MAX = 8,  // of a bond
    CONF_SERVICES_MAX = 32,
    CONF_LISTENS_MAX = 32,  // TCP ports of all services together
    CONF_SERVICE_PORTS_MAX = 8,
    CONF_ADDRESSES_MAX = 16,  // of both families
    CONF_NEIGHBORS_MAX = 16,
    CONF_ROUTES_MAX = 16,
    CONF_QUEUES_MAX = 16,
    CONF_WEB_BYTES = 4096,     // lines of one repeated key of an http service
    CONF_HOST_LINES_MAX = 64,  // app/http/site.h has room for them and the default host
    CONF_HOST_NAME_MAX = 253,  // RFC 1035 section 2.3.4, as text
    CONF_TARGET_BYTES = 1024,  // of a redirect
    // 40 keys of 40 bytes, 5 paths of 255, 16 prefixes of 45, the lines, name and app
    CONF_PARAM_TEXT_BYTES = 3712 + 5 * CONF_WEB_BYTES,
    CONF_PREFIX_BYTES = 64,  // of statsd's names
    CONF_LOG_BYTES = 256,
    CONF_TOKEN_BYTES_MIN = 16,  // of the token of http_token_file
    CONF_TOKEN_BYTES_MAX = 256,
    CONF_ERRORS_SHOWN = 100,
};

// conf_cpus: core numbers, ascending, each once.
struct conf_cpus {
    uint32_t n;
    uint16_t id[CONF_CPUS_MAX];
};

// The statuses that may have a page of their own.
#define CONF_PAGE_STATUSES "400|404|405|408|411|412|413|414|417|421|431|501|503|505"

// conf_prefix: ADDRESS/BITS of either family; bits 1..32 or 1..128, 0: not given.
struct conf_prefix {
    struct ip_addr addr;
    uint32_t bits;
};

struct conf_prefixes {
    uint32_t n;
    struct conf_prefix at[CONF_ADDRESSES_MAX];
};

struct conf_neighbor {
    struct ip_addr addr;
    struct mac_addr mac;
};

struct conf_neighbors {
    uint32_t n;
    struct conf_neighbor at[CONF_NEIGHBORS_MAX];
};

struct conf_route {
    struct conf_prefix to;
    struct ip_addr via;  // of the same family
};

struct conf_routes {
    uint32_t n;
    struct conf_route at[CONF_ROUTES_MAX];
};

struct conf_names {
    uint32_t n;
    char at[CONF_MEMBERS_MAX][CONF_NAME_BYTES];
};

// conf_endpoint: ADDRESS:PORT of either family; port 0: not given.
struct conf_endpoint {
    struct ip_addr addr;
    uint16_t port;
};

struct conf_tcp_ports {
    uint32_t n;
    uint16_t at[CONF_SERVICE_PORTS_MAX];
};

struct conf_cpu {
    struct conf_cpus linux_cpus;
    struct conf_cpus workers;
    uint32_t workers_per_core;
    bool exclusive;
    uint32_t idle;  // enum conf_idle
    uint32_t idle_after_us;
};

enum conf_idle { CONF_IDLE_POLL, CONF_IDLE_PAUSE, CONF_IDLE_MONITOR, CONF_IDLE_INTERRUPT };

enum conf_adopt { CONF_ADOPT_NEVER, CONF_ADOPT_AUTO, CONF_ADOPT_REQUIRE };

enum conf_hugepage {
    CONF_HUGEPAGE_AUTO,
    CONF_HUGEPAGE_1G,
    CONF_HUGEPAGE_2M,
    CONF_HUGEPAGE_NONE,
};

// conf_memory: connections and the records are totals over all workers. connections 0: as many as
// fit; extension_records and flight_logs are then 0, too, where they follow them.
struct conf_memory {
    uint32_t hugepage;  // enum conf_hugepage
    uint32_t connections;
    uint32_t time_wait;
    uint32_t time_wait6;  // 0: as time_wait if a port has an IPv6 address, else none
    uint32_t syn_received;
    uint32_t extension_records;
    uint32_t flight_logs;
    uint32_t packets;        // per worker
    uint32_t jumbo_packets;  // per worker, if a port has jumbo frames
    uint32_t buffers;        // per worker, of 2 KiB
    uint32_t reassembly;     // per worker; 0: off
    uint64_t image_bytes;    // 0: what the services need
    char hugetlbfs[CONF_PATH_BYTES];
};

enum conf_seccomp {
    CONF_SECCOMP_OFF,
    CONF_SECCOMP_LOG,
    CONF_SECCOMP_ON,
};

struct conf_control {
    char name[CONF_NAME_BYTES];  // made of run_dir where none was given
    char run_dir[CONF_PATH_BYTES];
    char mount[CONF_PATH_BYTES];     // empty: none
    char socket[CONF_SOCKET_BYTES];  // relative: below run_dir; empty: none
    struct conf_endpoint http;       // port 0: none
    char http_token_file[CONF_PATH_BYTES];
    bool required;             // what is missing of mount, http and socket is an error of the start
    uint32_t log_level;        // enum log_level
    char log[CONF_LOG_BYTES];  // a target of base/log_target.h
    uint32_t log_time;         // enum log_times
    uint32_t drain_s;
    char user[CONF_NAME_BYTES];
    uint32_t seccomp;  // enum conf_seccomp
    uint32_t adopt;    // enum conf_adopt
    bool landlock;
    bool telemetry;
    uint32_t dump_ring;   // bytes, of each worker and capture
    uint32_t trace_ring;  // bytes, of each worker; 0: off
};

enum conf_large {
    CONF_LARGE_AUTO,
    CONF_LARGE_ON,
    CONF_LARGE_OFF,
};

enum conf_ecn {
    CONF_ECN_OFF,
    CONF_ECN_ACCEPT,
    CONF_ECN_ON,
};

enum conf_congestion {
    CONF_CUBIC,
    CONF_NEWRENO,
    CONF_CONGESTION_AUTO,
};

enum conf_cookies {
    CONF_COOKIES_OFF,
    CONF_COOKIES_AUTO,
    CONF_COOKIES_ALWAYS,
};

struct conf_tcp {
    uint32_t rto_min_ms, rto_initial_ms, rto_max_ms;
    uint32_t syn_retries, synack_retries, retries1, retries;
    uint32_t time_wait_ms, fin_wait2_ms, delayed_ack_ms;
    uint32_t window_scale;
    uint32_t initial_window;  // segments
    uint32_t congestion;      // enum conf_congestion: CUBIC or NEWRENO
    uint32_t pacing_rtt_ms;   // 0: never
    uint32_t rst_rate_per_s, icmp_rate_per_s;
    uint32_t invalid_ack_ms;
    uint32_t prefix_share_ppm, service_share_ppm;  // 1000000: no limit
    uint32_t accept_wait_ms;                       // 0: auto; CONF_UNLIMITED: off
    bool ack_merge, quick_ack, timestamps, sack;
    bool black_hole_detection;
    bool rfc1337;
    uint32_t ecn;             // enum conf_ecn
    uint32_t large_segments;  // enum conf_large
    uint32_t syn_cookies;     // enum conf_cookies
};

// What a port may do itself; what it may not, or cannot, is done in software.
enum conf_offload {
    CONF_RX_CHECKSUM = 1 << 0,
    CONF_TX_CHECKSUM = 1 << 1,
    CONF_MULTI_SEGMENT = 1 << 2,
    CONF_TSO = 1 << 3,
    CONF_RSS = 1 << 4,
};

enum conf_bond_mode { CONF_ACTIVE_BACKUP, CONF_LACP };

// CONF_SET_GIVEN: of a set of words: it was given, if only as `none`.
#define CONF_SET_GIVEN (UINT32_C(1) << 31)

struct conf_port {
    char name[CONF_NAME_BYTES];
    char driver[CONF_NAME_BYTES];
    char device[CONF_PATH_BYTES];
    char capture[CONF_PATH_BYTES];  // pcap: the one to write; empty: none
    uint32_t role;                  // memif: 0: server, 1: client
    uint32_t id;                    // memif
    struct conf_prefixes address;
    char follow[CONF_NAME_BYTES];       // interface; empty: none
    bool attach;                        // tap: to an interface that exists
    struct conf_prefixes host_address;  // tap: of the kernel's side, one of each family
    struct ip_addr gateway, gateway6;   // all zero: none
    struct conf_routes route;
    struct conf_neighbors neighbor;
    struct mac_addr mac;  // all zero: the driver's choice
    uint32_t mtu;
    uint32_t queues;
    uint32_t rx_ring, tx_ring;  // packets, 0: the driver's choice
    uint32_t offloads;          // enum conf_offload and CONF_SET_GIVEN; 0: the driver's choice
    uint32_t open_ms;           // pci
    uint32_t arp_entries, arp_rate_per_s;
    char parent[CONF_NAME_BYTES];      // vlan: name of the port on whose link it is
    uint32_t vlan;                     // vlan: 1..4094
    char wraps[CONF_NAME_BYTES];       // fault: name of the port inside
    struct conf_names members;         // bond: names of the ports that it is over
    uint32_t mode;                     // bond: enum conf_bond_mode
    char primary[CONF_NAME_BYTES];     // bond, active-backup: name of a member; empty: none
    uint32_t lacp_rate;                // bond, lacp: 0: slow, 1: fast
    uint32_t hash;                     // bond, lacp: 0: l2, 1: l23, 2: l34
    char linux_name[CONF_NAME_BYTES];  // interface by which Linux shares the port; empty: none
    bool linux_icmp;
    uint32_t linux_rate;  // packets per second
    uint64_t seed;
    uint32_t loss_ppm, reorder_ppm, duplicate_ppm, corrupt_ppm;
    uint32_t delay_ms;
};

enum conf_watchdog {
    CONF_WATCHDOG_LOG,
    CONF_WATCHDOG_ABORT,
};

struct conf_service {
    char name[CONF_NAME_BYTES];
    char app[CONF_NAME_BYTES];
    struct conf_tcp_ports port;
    struct ip_addr address;                // all zero: all local addresses
    uint32_t limit_connections;            // 0: no limit but [memory] connections
    uint32_t source_connections;           // of one address; 0: no limit
    uint32_t congestion;                   // enum conf_congestion; AUTO: as in conf_tcp
    uint32_t send_buffer, receive_buffer;  // bytes per connection, at most
    uint32_t send_buffer_initial, receive_buffer_initial;
    uint32_t keepalive_ms;  // 0: off
    uint32_t keepalive_interval_ms, keepalive_probes;
    uint32_t user_timeout_ms;  // 0: off
    uint32_t watchdog;         // enum conf_watchdog
    uint32_t watchdog_ms;
    uint32_t fast_open;  // 0: off
    bool nodelay;
    bool udp;  // on the same ports
    // http:
    char root[CONF_PATH_BYTES];
    uint32_t header_bytes_max;
    uint32_t header_timeout_ms, keepalive_timeout_ms;
    uint32_t max_wait_ms;  // 0: auto; CONF_UNLIMITED: off
    uint64_t header_bytes_held;
    uint32_t write_timeout_ms, write_bytes_min;
    uint32_t body_bytes_max, body_timeout_ms;
    uint32_t holds_max;
    char echo_path[CONF_PATH_BYTES], headers_path[CONF_PATH_BYTES];
    char access_log[CONF_PATH_BYTES];  // empty: none
    uint32_t access_log_format;        // 0: common, 1: combined
    uint32_t files_max;
    uint64_t bytes_max;
    char mime_types[CONF_PATH_BYTES];  // empty: the built-in table
    char host[CONF_WEB_BYTES], header[CONF_WEB_BYTES], expires[CONF_WEB_BYTES],
        redirect[CONF_WEB_BYTES], error_page[CONF_WEB_BYTES];  // lines (conf/conf_web.h)
    bool listing, proxy_protocol;
    struct conf_prefixes proxy_from;  // empty: everybody
    uint32_t proxy_connections_max;   // per worker
    // proxy:
    struct conf_endpoint upstream;
    uint32_t connect_timeout_ms, idle_timeout_ms;  // idle 0: no limit
    // All keys of the service as conf_print() writes them, "key\0value\0" each; conf_load() fills
    // it in for conf_service_param().
    char param_text[CONF_PARAM_TEXT_BYTES];
};

// conf_agent: the application `agent`, which is no [service NAME]: it listens where its clients
// say.
struct conf_agent {
    char socket[CONF_PATH_BYTES];  // empty: there is no agent
    uint32_t sockets_max;
    uint32_t send_buffer, receive_buffer;    // bytes per connection
    char param_text[CONF_PATH_BYTES + 128];  // as conf_service.param_text
};

// conf_statsd: where the metrics are pushed to; address.port 0: nowhere.
struct conf_statsd {
    struct conf_endpoint address;
    uint32_t interval_ms;
    uint32_t sample_rate_ppm;
    char prefix[CONF_PREFIX_BYTES];
};

struct conf {
    struct conf_cpu cpu;
    struct conf_memory memory;
    struct conf_control control;
    struct conf_tcp tcp;
    struct conf_agent agent;
    struct conf_statsd statsd;
    uint32_t n_ports, n_services;  // in the order of the file, then of the overrides
    struct conf_port ports[CONF_PORTS_MAX];
    struct conf_service services[CONF_SERVICES_MAX];
};

// conf_workers: how many there are.
// conf_is_jumbo: whether the port has jumbo frames, which need packets of [memory] jumbo_packets.
static inline bool conf_is_jumbo(const struct conf_port *p)
{
    enum { SMALL_MTU_MAX = 1900 };  // PORT_MTU_SMALL
    return p->mtu > SMALL_MTU_MAX;
}

static inline uint32_t conf_workers(const struct conf *c)
{
    return c->cpu.workers.n * c->cpu.workers_per_core;
}

// conf_errors: what was wrong, one line each:
//   FILE:LINE: KEY: what was expected          --set SECTION.KEY: what was expected
// Lines behind the first CONF_ERRORS_SHOWN are counted, and a last line says how many.
struct conf_errors {
    unsigned n;
    struct text lines;  // text_str(&e->lines)
};

void conf_errors_init(struct conf_errors *e);
void conf_errors_free(struct conf_errors *e);

// conf_host: what the checks need to know about the machine and the program.
struct conf_host {
    struct conf_cpus cpus;  // online and allowed to this thread, isolated ones included
    const char *apps;       // names of the applications, "echo|http"; NULL: any name is good
};

// conf_host_read: this machine, and the built-in applications. To be called before the calling
// thread is pinned.
void conf_host_read(struct conf_host *h);

// conf_host_here: the same, as it was at the first call.
const struct conf_host *conf_host_here(void);

// conf_load: sets *c from the defaults, the file (path NULL: none) and the overrides
// "SECTION.KEY=VALUE" ("port.NAME.KEY=VALUE", "service.NAME.KEY=VALUE"), of which the last one for
// a key wins and replaces what the file gave. All errors are collected. Returns 0, or -1 when
// errs->n > 0: *c is then to be used for nothing.
int conf_load(struct conf *c, const char *path, char *const *sets, unsigned n_sets,
              struct conf_errors *errs);

// conf_load_text: the same on `host`, from len bytes of text; `name` stands for the file in errors.
int conf_load_text(struct conf *c, const struct conf_host *host, const char *name, const char *text,
                   size_t len, char *const *sets, unsigned n_sets, struct conf_errors *errs);

// conf_print: the effective configuration in the file's own syntax: conf_load of it gives the same
// struct on the same machine. Keys that have no value, or belong to another driver or application,
// are left out. 0, or out->error.
int conf_print(const struct conf *c, struct text *out);

// conf_help: every key with its help, what is expected and its default. config/default.conf is this
// text. 0, or out->error.
int conf_help(struct text *out);

// conf_token_read: *token = the first and only line of the file at `path`: CONF_TOKEN_BYTES_MIN to
// CONF_TOKEN_BYTES_MAX printable characters, no blanks, in a file that not everybody may read or
// write. 0, or -1 with *e and an empty token.
int conf_token_read(const char *path, char token[CONF_TOKEN_BYTES_MAX + 1], struct err *e);

// conf_service_param: the value of a key of the service as conf_print() writes it (numbers as plain
// digits), be it from the file or the default; NULL: unknown key, or it has no value.
const char *conf_service_param(const struct conf_service *s, const char *key);

// conf_socket_path: where [control] socket is, with run_dir before it unless it begins with /; ""
// if there is none.
void conf_socket_path(const struct conf *c, char *out, size_t bytes);

// conf_agent_param: the same of a key of [agent].
const char *conf_agent_param(const struct conf_agent *a, const char *key);
