// SPDX-License-Identifier: BSD-3-Clause
// load_options.h: the options of `c10m load`.
#pragma once
#include "base/err.h"
#include "base/text.h"
#include "load/load.h"
#include "mem/page_supply.h"
#include "prof/prof_files.h"

enum load_kind { LOAD_HOLD, LOAD_REQUEST, LOAD_STREAM, LOAD_RATE, LOAD_SYN, LOAD_UDP };

enum {
    LOAD_WORKERS_MAX = 8,
    LOAD_RING_SLOTS = 8192,  // of the ring between client and server
    LOAD_SETS_MAX = 64,
    LOAD_SERVER_PORT = 7,
    LOAD_ELSEWHERE_DEFAULT = 1000,  // connections with --config
};

// load_faults: faults of the wire, in each direction, and wrong answers of the server
// (falsify_ppm).
struct load_faults {
    uint32_t loss_ppm, reorder_ppm, duplicate_ppm, corrupt_ppm;
    uint32_t delay_ms;
    uint32_t falsify_ppm;
};

struct load_options {
    enum load_kind kind;
    uint32_t connections, rounds, window, payload;
    // Full connections, which use the addresses and ports of `connections` in turn:
    uint32_t hold, rate, asks, flood;
    uint32_t time_wait_s;
    uint32_t give_up_ms;  // 0: never
    uint32_t life_s;      // time between the answer and the FIN
    enum load_closer closer;
    bool http;             // HTTP instead of echo
    const char *path;      // path of HTTP requests
    const char *root;      // root of the HTTP server in this process
    uint32_t keepalive_s;  // keepalive of the server in this process; 0: none
    double seconds;
    enum load_order order;
    uint64_t seed;
    enum load_direction direction;  // in `stream`
    bool reopen;                    // in `stream`
    // bytes for each connection; 0: chosen by the number of connections
    uint32_t receive_window;
    unsigned client_cpu, server_cpu;
    uint32_t workers;  // workers of the server; all run on server_cpu
    bool lockstep;     // one CPU for both: turns of the client and of the worker alternate
    enum pages_kind pages;
    struct load_faults faults;
    bool v6;  // IPv6; with `config` the family of the server's address
    bool timestamps, close, json, quiet;
    const char *profiles[PROF_FILE_KINDS];  // files; NULL: none
    // With --config; otherwise the server runs in the same process:
    const char *config;  // file of the configuration; NULL: none
    char *sets[LOAD_SETS_MAX];
    unsigned n_sets;
    struct ip_addr server, clients;  // clients all zero: the first address of the port
    uint16_t server_port;
};

// load_kind_name: the name of the load on the command line.
const char *load_kind_name(enum load_kind kind);

// load_has_full: whether the load has full connections. load_all: the number of addresses and
// ports.
static inline bool load_has_full(const struct load_options *o)
{
    return o->kind == LOAD_RATE || o->kind == LOAD_SYN;
}

static inline uint32_t load_all(const struct load_options *o)
{
    return o->hold + o->connections;
}

// load_faults_on: whether a fault port is needed between client and server.
bool load_faults_on(const struct load_faults *f);

// load_options_parse: parses argv[1], the name of the load, and the options after it; sets
// defaults. Returns 0: continue; 1: print the help; -1: *err has a line for the user.
int load_options_parse(int argc, char **argv, struct load_options *o, struct err *err);

// load_options_help: appends the text of --help.
void load_options_help(struct text *out);
