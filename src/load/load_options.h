// SPDX-License-Identifier: BSD-3-Clause
// load_options.h: what the user of `c10m load` asked for.
#pragma once
#include "base/err.h"
#include "base/text.h"
#include "load/load.h"
#include "mem/page_supply.h"

enum load_kind { LOAD_HOLD, LOAD_REQUEST, LOAD_STREAM, LOAD_RATE, LOAD_SYN, LOAD_UDP };

enum {
    LOAD_WORKERS_MAX = 8,
    LOAD_RING_SLOTS = 8192,  // of the wire between client and server
    LOAD_SETS_MAX = 64,
    LOAD_SERVER_PORT = 7,
    LOAD_ELSEWHERE_DEFAULT = 1000,  // connections
};

// load_faults: trouble on the wire, each way; and answers that the server makes wrong on purpose.
struct load_faults {
    uint32_t loss_ppm, reorder_ppm, duplicate_ppm, corrupt_ppm;
    uint32_t delay_ms;
    uint32_t falsify_ppm;
};

struct load_options {
    enum load_kind kind;
    uint32_t connections, rounds, window, payload;
    // Of full connections, which use addresses and ports of `connections` in turn:
    uint32_t hold, rate, asks, flood;
    uint32_t time_wait_s;
    uint32_t life_s;  // between the answer and the end
    enum load_closer closer;
    bool http;             // in place of echoes
    const char *path;      // with http
    const char *root;      // of the server in this process, with http
    uint32_t keepalive_s;  // of the server; 0: none
    double seconds;
    enum load_order order;
    uint64_t seed;
    enum load_direction direction;  // of `stream`
    uint32_t receive_window;        // bytes a connection; 0: as many as are good for all
    unsigned client_cpu, server_cpu;
    uint32_t workers;  // of the server; more than one share server_cpu
    bool lockstep;     // one core for both: the one worker has its turns between the client's
    enum pages_kind pages;
    struct load_faults faults;
    bool v6;  // over IPv6; with a port of its own: as the server's address says
    bool timestamps, close, json, quiet;
    // With a port of its own; else the server runs in the same process:
    const char *config;  // the file; NULL: none
    char *sets[LOAD_SETS_MAX];
    unsigned n_sets;
    struct ip_addr server, clients;  // clients all zero: the port's own first address
    uint16_t server_port;
};

// load_kind_name: as on the command line.
const char *load_kind_name(enum load_kind kind);

// load_has_full: does it open connections that come and go? load_all: addresses and ports in all.
static inline bool load_has_full(const struct load_options *o)
{
    return o->kind == LOAD_RATE || o->kind == LOAD_SYN;
}

static inline uint32_t load_all(const struct load_options *o)
{
    return o->hold + o->connections;
}

// load_faults_on: is there a fault port to be put in between?
bool load_faults_on(const struct load_faults *f);

// load_options_parse: argv[1] names the load, options follow; defaults are filled in. 0: go on; 1:
// help was asked for; -1: *err is a line for the user.
int load_options_parse(int argc, char **argv, struct load_options *o, struct err *err);

// load_options_help: the text of --help.
void load_options_help(struct text *out);
