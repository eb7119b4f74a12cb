// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_options.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/lists.h"
#include "drivers/fault.h"
#include "load/load_http.h"

enum { ECHO_PORT = 7, DISCARD_PORT = 9, HTTP_PORT = 80 };

enum {
    ON_HOLD = 1 << LOAD_HOLD,
    ON_REQUEST = 1 << LOAD_REQUEST,
    ON_STREAM = 1 << LOAD_STREAM,
    ON_ASKING = ON_HOLD | ON_REQUEST,
    ON_RATE = 1 << LOAD_RATE,
    ON_SYN = 1 << LOAD_SYN,
    ON_FULL = ON_RATE | ON_SYN,
    ON_TCP = ON_ASKING | ON_STREAM | ON_FULL,
    ON_UDP = 1 << LOAD_UDP,
    ON_ALL = ON_TCP | ON_UDP,
};

static const struct {
    const char *name, *help;
    uint32_t connections, window;  // defaults
    uint16_t port;                 // default port of the service
} kinds[] = {
    [LOAD_HOLD] = {"hold", "open connections, then send requests on each of them, round by round",
                   1000000, 1024, 7},
    [LOAD_REQUEST] = {"request",
                      "send a request as soon as the previous answer has arrived, for S seconds",
                      1000, 1024, 7},
    [LOAD_STREAM] = {"stream", "transfer bulk data for S seconds", 8, 1024, 19},
    [LOAD_RATE] = {"rate", "open connections, send one request on each and close, for S seconds", 0,
                   256, 7},
    [LOAD_SYN] = {"syn", "as rate, during a flood of SYNs from spoofed addresses", 0, 256, 7},
    [LOAD_UDP] = {"udp", "send datagrams and receive their echoes for S seconds", 1000, 1024, 7},
};

// Parses a number with an optional suffix k or M.
static bool parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    char *end;
    if (*text < '0' || *text > '9')  // strtoull() also accepts a sign and spaces
        return false;
    uint64_t v = strtoull(text, &end, 10), unit = 1;
    if (*end == 'k' || *end == 'K')
        unit = 1000;
    else if (*end == 'M')
        unit = 1000000;
    end += unit != 1;
    *out = v * unit;
    return *end == '\0' && v <= UINT64_MAX / unit && *out >= min && *out <= max;
}

static bool parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
    uint64_t v = 0;
    const bool good = parse_u64(text, min, max, &v);
    *out = (uint32_t)v;
    return good;
}

static bool parse_real(const char *text, double max, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out) && *out >= 0 && *out <= max;
}

static bool parse_connections(const char *text, struct load_options *o)
{
    return parse_u32(text, 1, LOAD_CONNECTIONS_MAX, &o->connections);
}

static bool parse_rounds(const char *text, struct load_options *o)
{
    return parse_u32(text, 1, 1000000, &o->rounds);
}

static bool parse_seconds(const char *text, struct load_options *o)
{
    return parse_real(text, 86400, &o->seconds) && o->seconds > 0;
}

static bool parse_order(const char *text, struct load_options *o)
{
    o->order = strcmp(text, "turn") == 0 ? LOAD_IN_TURN : LOAD_RANDOM;
    return o->order == LOAD_IN_TURN || strcmp(text, "random") == 0;
}

static bool parse_payload(const char *text, struct load_options *o)
{
    return parse_u32(text, LOAD_PAYLOAD_MIN, LOAD_PAYLOAD_MAX, &o->payload);
}

static bool parse_window(const char *text, struct load_options *o)
{
    return parse_u32(text, 1, LOAD_RING_SLOTS / 4, &o->window);
}

static bool parse_seed(const char *text, struct load_options *o)
{
    return parse_u64(text, 0, UINT64_MAX, &o->seed);
}

static bool parse_pages(const char *text, struct load_options *o)
{
    static const char *const names[] = {
        [PAGES_AUTO] = "auto", [PAGES_1G] = "1G", [PAGES_2M] = "2M", [PAGES_NONE] = "none"};
    for (unsigned i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(text, names[i]) == 0) {
            o->pages = (enum pages_kind)i;
            return true;
        }
    return false;
}

static bool parse_cpus(const char *text, struct load_options *o)
{
    char a[16];
    const char *comma = strchr(text, ',');
    if (comma == NULL || comma - text >= (long)sizeof(a))
        return false;
    memcpy(a, text, (size_t)(comma - text));
    a[comma - text] = '\0';
    const uint32_t last = (uint32_t)sysconf(_SC_NPROCESSORS_CONF) - 1;
    return parse_u32(a, 0, last, &o->client_cpu) && parse_u32(comma + 1, 0, last, &o->server_cpu) &&
           o->client_cpu != o->server_cpu;
}

static bool parse_lockstep(const char *text, struct load_options *o)
{
    (void)text;
    return o->lockstep = true;
}

static bool parse_workers(const char *text, struct load_options *o)
{
    return parse_u32(text, 1, LOAD_WORKERS_MAX, &o->workers);
}

static bool parse_percent(const char *text, uint32_t *ppm)
{
    double percent;
    const bool good = parse_real(text, 100, &percent);
    *ppm = good ? (uint32_t)(percent * (FAULT_PPM / 100) + 0.5) : 0;
    return good;
}

static bool parse_fault(const char *key, const char *value, struct load_faults *f)
{
    const struct {
        const char *name;
        uint32_t *ppm;
    } percents[] = {{"loss", &f->loss_ppm},
                    {"reorder", &f->reorder_ppm},
                    {"duplicate", &f->duplicate_ppm},
                    {"corrupt", &f->corrupt_ppm},
                    {"falsify", &f->falsify_ppm}};
    for (unsigned i = 0; i < ARRAY_LEN(percents); i++)
        if (strcmp(key, percents[i].name) == 0)
            return parse_percent(value, percents[i].ppm);
    return strcmp(key, "delay") == 0 && parse_u32(value, 0, FAULT_DELAY_MS_MAX, &f->delay_ms);
}

static bool parse_faults(const char *text, struct load_options *o)
{
    char copy[256];
    const size_t len = strlen(text);
    if (len == 0 || len >= sizeof(copy) || text[len - 1] == ',')
        return false;
    memcpy(copy, text, len + 1);
    for (char *rest = copy, *item; (item = strsep(&rest, ",")) != NULL;) {
        char *value = strchr(item, '=');
        if (value == NULL)
            return false;
        *value++ = '\0';
        if (!parse_fault(item, value, &o->faults))
            return false;
    }
    return true;
}

static bool parse_close(const char *text, struct load_options *o)
{
    (void)text;
    return o->close = true;
}

static bool parse_no_timestamps(const char *text, struct load_options *o)
{
    (void)text;
    o->timestamps = false;
    return true;
}

static bool parse_config(const char *text, struct load_options *o)
{
    o->config = text;
    return *text != '\0';
}

static bool parse_set(const char *text, struct load_options *o)
{
    if (o->n_sets == LOAD_SETS_MAX)
        return false;
    o->sets[o->n_sets++] = (char *)(uintptr_t)text;
    return true;
}

// Parses A, A:PORT, [A6] or [A6]:PORT.
static bool parse_server(const char *text, struct load_options *o)
{
    struct conf_endpoint e;
    char copy[IP_TEXT_BYTES + 2];
    const size_t len = strlen(text);
    const bool bracket = text[0] == '[' && text[len - 1] == ']';
    if (!endpoint_parse(&e, text)) {
        if (len >= sizeof(copy))
            return false;
        memcpy(copy, text + bracket, len - bracket + 1);
        copy[len - (bracket ? 2 : 0)] = '\0';
        e.port = 0;  // the default port of the load
        if (!address_parse(&e.addr, copy))
            return false;
    }
    o->server = e.addr;
    o->server_port = e.port;
    o->v6 = !ip_is_v4(&o->server);
    return !ip_is_zero(&o->server) && (o->v6 || ip_to_v4(&o->server) != 0);
}

static bool parse_clients(const char *text, struct load_options *o)
{
    return address_parse(&o->clients, text);
}

static bool parse_family(const char *text, struct load_options *o)
{
    o->v6 = strcmp(text, "6") == 0;
    return o->v6 || strcmp(text, "4") == 0;
}

static bool parse_rate(const char *text, struct load_options *o)
{
    return parse_u32(text, 1, LOAD_RATE_MAX, &o->rate);
}

static bool parse_hold(const char *text, struct load_options *o)
{
    return parse_u32(text, 1, LOAD_CONNECTIONS_MAX, &o->hold);
}

static bool parse_asks(const char *text, struct load_options *o)
{
    return parse_u32(text, 0, LOAD_RATE_MAX, &o->asks);
}

static bool parse_closer(const char *text, struct load_options *o)
{
    o->closer = strcmp(text, "server") == 0 ? LOAD_BY_SERVER : LOAD_BY_CLIENT;
    return o->closer == LOAD_BY_SERVER || strcmp(text, "client") == 0;
}

static bool parse_time_wait(const char *text, struct load_options *o)
{
    return parse_u32(text, 0, 3600, &o->time_wait_s);
}

static bool parse_life(const char *text, struct load_options *o)
{
    return parse_u32(text, 1, 3600, &o->life_s);
}

static bool parse_give_up(const char *text, struct load_options *o)
{
    return parse_u32(text, 1, LOAD_GIVE_UP_MS_MAX, &o->give_up_ms);
}

static bool parse_flood(const char *text, struct load_options *o)
{
    return parse_u32(text, 1, LOAD_RATE_MAX, &o->flood);
}

static bool parse_keepalive(const char *text, struct load_options *o)
{
    return parse_u32(text, 1, 86400, &o->keepalive_s);
}

static bool parse_direction(const char *text, struct load_options *o)
{
    static const char *const names[] = {
        [LOAD_DOWN] = "down", [LOAD_UP] = "up", [LOAD_BOTH] = "both"};
    for (unsigned i = LOAD_DOWN; i < ARRAY_LEN(names); i++)
        if (strcmp(text, names[i]) == 0) {
            o->direction = (enum load_direction)i;
            return true;
        }
    return false;
}

static bool parse_reopen(const char *text, struct load_options *o)
{
    (void)text;
    return o->reopen = true;
}

static bool parse_receive_window(const char *text, struct load_options *o)
{
    return parse_u32(text, 2920, 8000000, &o->receive_window);
}

static bool parse_protocol(const char *text, struct load_options *o)
{
    o->http = strcmp(text, "http") == 0;
    return o->http || strcmp(text, "echo") == 0;
}

// Checks the path, which is copied into the request line.
static bool parse_path(const char *text, struct load_options *o)
{
    o->path = text;
    if (text[0] != '/' || strlen(text) > LOAD_HTTP_PATH_MAX)
        return false;
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

static bool parse_root(const char *text, struct load_options *o)
{
    o->root = text;
    return *text != '\0';
}

static bool parse_json(const char *text, struct load_options *o)
{
    (void)text;
    return o->json = true;
}

static bool parse_quiet(const char *text, struct load_options *o)
{
    (void)text;
    return o->quiet = true;
}

static bool parse_cpuprofile(const char *text, struct load_options *o)
{
    return *(o->profiles[PROF_FILE_CPU] = text) != '\0';
}

static bool parse_memprofile(const char *text, struct load_options *o)
{
    return *(o->profiles[PROF_FILE_MEM] = text) != '\0';
}

static bool parse_trace(const char *text, struct load_options *o)
{
    return *(o->profiles[PROF_FILE_TRACE] = text) != '\0';
}

// Whether an option applies with a server in this process, or with one elsewhere.
enum place { ANYWHERE, HERE, ELSEWHERE };

static const struct row {
    const char *name;
    const char *value;  // name of the value in the help; NULL: no value
    unsigned loads;     // bits of the loads that have the option
    enum place place;
    const char *help;
    const char *expected;
    bool (*parse)(const char *text, struct load_options *o);
} rows[] = {
    {"connections", "N", ON_ALL, ANYWHERE,
     "number of connections (default 1M for hold, 1k for request, udp and --config, 8 for stream); "
     "for rate, syn: number of addresses and ports, used in turn (default: as TIME-WAIT requires)",
     "1 to 200M", parse_connections},
    {"rounds", "N", ON_HOLD, ANYWHERE, "requests on each connection (default 3)", "1 to 1M",
     parse_rounds},
    {"seconds", "S", ON_ALL & ~ON_HOLD, ANYWHERE, "duration in seconds (default 5)",
     "more than 0, at most 86400", parse_seconds},
    {"order", "ORDER", ON_ASKING, ANYWHERE,
     "order of the connections: `random` (default) or in `turn`", "random or turn", parse_order},
    {"payload", "BYTES", ON_ALL & ~ON_STREAM, ANYWHERE,
     "bytes of a request, 8 to 1400 (default 64; udp: 18, which makes frames of 64 bytes)",
     "8 to 1400", parse_payload},
    {"window", "N", ON_ALL, ANYWHERE,
     "connections that wait for an answer at the same time, 1 to 2048 (default 1024; rate, syn: "
     "256)",
     "1 to 2048", parse_window},
    {"close", NULL, ON_TCP, ANYWHERE,
     "close every connection at the end (always done with --config)", NULL, parse_close},
    {"no-timestamps", NULL, ON_TCP, ANYWHERE, "do not offer the timestamp option", NULL,
     parse_no_timestamps},
    {"seed", "N", ON_ALL, ANYWHERE, "seed of the random order and of the faults (default 1)",
     "a number", parse_seed},
    {"protocol", "NAME", ON_ASKING | ON_FULL, ANYWHERE, "protocol: `echo` (default) or `http`",
     "echo or http", parse_protocol},
    {"path", "/PATH", ON_ASKING | ON_FULL, ANYWHERE, "path that http requests (default /)",
     "a slash and at most 399 printable characters", parse_path},
    {"direction", "WAY", ON_STREAM, ANYWHERE,
     "`down`: the server sends (default); `up`: the client sends; `both`: the server returns what "
     "the client sends",
     "down, up or both", parse_direction},
    {"reopen", NULL, ON_STREAM, ANYWHERE,
     "open a connection that was reset, or given up, again; it counts as failed and once more as "
     "opened",
     NULL, parse_reopen},
    {"receive-window", "BYTES", ON_STREAM, ANYWHERE,
     "receive window of each connection on each side (default 16k to 512k, 1 MiB for all together)",
     "2920 to 8M", parse_receive_window},
    {"rate", "N", ON_FULL | ON_REQUEST | ON_UDP, ANYWHERE,
     "connections, requests or datagrams started per second (default: as many as possible; syn: "
     "1k)",
     "1 to 10M", parse_rate},
    {"hold", "N", ON_FULL, ANYWHERE,
     "connections that stay open and receive requests at random (default 0)", "1 to 200M",
     parse_hold},
    {"asks", "N", ON_FULL, ANYWHERE,
     "requests per second on the held connections (default: a hundredth of their number)",
     "0 to 10M", parse_asks},
    {"closed-by", "WHO", ON_FULL, ANYWHERE,
     "side that closes first: `client` (default) or `server`", "client or server", parse_closer},
    {"time-wait", "S", ON_FULL, ANYWHERE,
     "seconds of TIME-WAIT on the side that closes first (default 60)", "0 to 3600",
     parse_time_wait},
    {"life", "S", ON_RATE, ANYWHERE,
     "seconds that each connection stays open after its answer (default: none)", "1 to 3600",
     parse_life},
    {"give-up", "MS", ON_FULL | ON_REQUEST, ANYWHERE,
     "milliseconds after which a client gives up what is not answered; `window` then limits the "
     "opening only; "
     "requires --rate (default: never)",
     "1 to 60000", parse_give_up},
    {"flood", "N", ON_SYN, ANYWHERE, "SYNs of the flood per second (default 500k)", "1 to 10M",
     parse_flood},
    {"json", NULL, ON_ALL, ANYWHERE, "print one JSON object instead of the table", NULL,
     parse_json},
    {"quiet", NULL, ON_ALL, ANYWHERE, "do not print a line every second", NULL, parse_quiet},
    {"fault", "LIST", ON_ALL, HERE, "faults on the wire; see below (default: none)",
     "loss, reorder, duplicate, corrupt, falsify (percent, 0 to 100) or delay (ms, 0 to 10000), "
     "each as NAME=NUMBER, separated by commas",
     parse_faults},
    {"root", "DIR", ON_ASKING | ON_FULL, HERE, "directory of the server's files, for http",
     "a directory", parse_root},
    {"hugepage", "KIND", ON_ALL, HERE, "page size: auto (default), 2M, 1G or none",
     "auto, 2M, 1G or none", parse_pages},
    {"cpus", "A,B", ON_ALL, HERE, "CPUs of the client and of the server (default 0,1)",
     "two different CPUs of this machine, as in 0,1", parse_cpus},
    {"family", "N", ON_ALL, HERE, "IP version: 4 (default) or 6", "4 or 6", parse_family},
    {"keepalive", "S", ON_TCP, HERE, "keepalive time of the server in seconds (default: none)",
     "1 to 86400", parse_keepalive},
    {"lockstep", NULL, ON_ALL, HERE,
     "run client and server in turn on the client's CPU, so that no other core affects the "
     "server's cycles",
     NULL, parse_lockstep},
    {"workers", "N", ON_ALL, HERE, "workers of the server, all on its CPU (default 1)", "1 to 8",
     parse_workers},
    {"cpuprofile", "FILE", ON_ALL, HERE, "write a CPU profile of the whole run, for go tool pprof",
     "a file", parse_cpuprofile},
    {"memprofile", "FILE", ON_ALL, HERE,
     "write a memory profile, before the connections are closed", "a file", parse_memprofile},
    {"trace", "FILE", ON_ALL, HERE, "write an execution trace of the whole run, for go tool trace",
     "a file", parse_trace},
    {"config", "FILE", ON_ALL, ELSEWHERE,
     "read the configuration with the client's [port]; also -c", "a file", parse_config},
    {"set", "S.KEY=V", ON_ALL, ELSEWHERE,
     "override one key of the configuration; may be repeated; also -s", "at most 64 of them",
     parse_set},
    {"server", "A[:PORT]", ON_ALL, ELSEWHERE,
     "address and port of the server (default port 7; http: 80; stream: 19, up: 9, both: 7)",
     "an address with a port from 1 to 65535, as in 10.0.0.1:7 or [fd99::1]:7", parse_server},
    {"clients", "ADDRESS", ON_ALL, ELSEWHERE,
     "first address of the clients; each has 60000 connections (default: the port's own address)",
     "an address", parse_clients},
};

static_assert(LOAD_CONNECTIONS_MAX == 200000000 && LOAD_PAYLOAD_MIN == 8 &&
                  LOAD_PAYLOAD_MAX == 1400 && LOAD_WORKERS_MAX == 8 &&
                  LOAD_RING_SLOTS / 4 == 2048 && FAULT_DELAY_MS_MAX == 10000 &&
                  LOAD_GIVE_UP_MS_MAX == 60000,
              "the texts of the rows contain these numbers");

const char *load_kind_name(enum load_kind kind)
{
    return kinds[kind].name;
}

bool load_faults_on(const struct load_faults *f)
{
    return (f->loss_ppm | f->reorder_ppm | f->duplicate_ppm | f->corrupt_ppm | f->delay_ms) != 0;
}

static int find_kind(int argc, char **argv, struct load_options *o, struct err *err)
{
    if (argc < 2)
        return err_set(err, "expected a load: hold, request, stream, rate, syn or udp; see --help");
    for (unsigned i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(argv[1], kinds[i].name) == 0) {
            o->kind = (enum load_kind)i;
            o->connections = kinds[i].connections;
            o->window = kinds[i].window;
            return 0;
        }
    return err_set(err, "%s: expected hold, request, stream, rate, syn or udp; see --help",
                   argv[1]);
}

static int take(const struct row *r, const char *value, struct load_options *o, struct err *err)
{
    if ((r->loads >> o->kind & 1) == 0)
        return err_set(err, "--%s cannot be used with %s", r->name, kinds[o->kind].name);
    return r->parse(value, o) ? 0
                              : err_set(err, "--%s %s: expected %s", r->name, value, r->expected);
}

// The row with this name; -1: there is none.
static int row_of(const char *name)
{
    int i = (int)ARRAY_LEN(rows) - 1;
    while (i >= 0 && strcmp(rows[i].name, name) != 0)
        i--;
    return i;
}

// Checks options that do not apply here, and those that a server elsewhere needs. given: a bit for
// each row.
static int check_place(uint64_t given, struct load_options *o, struct err *err)
{
    if (o->lockstep && o->workers > 1)
        return err_set(err, "--lockstep: expected one worker");
    const enum place wrong = o->config != NULL ? HERE : ELSEWHERE;
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].place == wrong && (given >> i & 1) != 0)
            return err_set(err, "--%s %s --config", rows[i].name,
                           wrong == HERE ? "cannot be used with" : "requires");
    if (o->config == NULL)
        return 0;
    o->close = true;  // otherwise the connections would stay open on the server
    if ((given >> row_of("connections") & 1) == 0)
        o->connections = MIN(o->connections, (uint32_t)LOAD_ELSEWHERE_DEFAULT);
    if (ip_is_zero(&o->server))
        return err_set(err, "--config requires --server ADDRESS");
    if (!ip_is_zero(&o->clients) && ip_is_v4(&o->clients) == o->v6)
        return err_set(err, "--clients: expected an address of the server's family");
    return 0;
}

// The number of addresses and ports with which none is needed again before its TIME-WAIT ends.
static uint32_t tuples(const struct load_options *o)
{
    enum { FASTEST = 1500000, MOST = 120000000, ELSEWHERE_TUPLES = LOAD_PORTS };
    const double seconds = MIN(o->seconds, (double)o->time_wait_s + o->life_s) + 1;
    const double n = seconds * (o->rate != 0 ? o->rate : FASTEST) + o->window;
    return o->config != NULL ? ELSEWHERE_TUPLES : (uint32_t)MIN(n, (double)MOST);
}

static int complete_full(struct load_options *o, struct err *err)
{
    if (o->kind == LOAD_SYN) {
        o->rate = o->rate != 0 ? o->rate : 1000;
        o->flood = o->flood != 0 ? o->flood : 500000;
    }
    if (o->life_s != 0 && (o->closer == LOAD_BY_SERVER || o->rate == 0))
        return err_set(err, "--life requires --rate and --closed-by client");
    if (o->connections == 0)
        o->connections = tuples(o);
    if (o->asks == UINT32_MAX)
        o->asks = o->hold / 100;
    if ((uint64_t)o->hold + o->connections > LOAD_CONNECTIONS_MAX)
        return err_set(err, "--hold %u: expected at most %u with --connections %u", o->hold,
                       LOAD_CONNECTIONS_MAX - o->connections, o->connections);
    return 0;
}

static int check_http(uint64_t given, const struct load_options *o, struct err *err)
{
    static const char *const only[] = {"path", "root"};
    for (unsigned i = 0; i < ARRAY_LEN(only) && !o->http; i++)
        if ((given >> row_of(only[i]) & 1) != 0)
            return err_set(err, "--%s requires --protocol http", only[i]);
    if (!o->http)
        return 0;
    if ((given >> row_of("payload") & 1) != 0 || o->faults.falsify_ppm != 0)
        return err_set(err, "--protocol http cannot be used with --payload or falsify");
    if (o->config == NULL && o->root == NULL)
        return err_set(err, "--protocol http requires --root DIR or --config FILE");
    return 0;
}

int load_options_parse(int argc, char **argv, struct load_options *o, struct err *err)
{
    enum { VALUE = 256 };  // getopt value of the first row
    struct option table[ARRAY_LEN(rows) + 2] = {{"help", no_argument, NULL, 'h'}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        table[i + 1] = (struct option){rows[i].name, rows[i].value != NULL, NULL, VALUE + (int)i};
    *o = (struct load_options){.rounds = 3,
                               .payload = 64,
                               .seconds = 5,
                               .seed = 1,
                               .server_cpu = 1,
                               .workers = 1,
                               .direction = LOAD_DOWN,
                               .path = "/",
                               .time_wait_s = 60,
                               .asks = UINT32_MAX,
                               .timestamps = true};
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return 1;
    if (find_kind(argc, argv, o, err) != 0)
        return -1;
    if (o->kind == LOAD_UDP)
        o->payload = 18;  // IPv4 frames of 64 bytes, including the FCS
    argc--, argv++;
    optind = 0;  // 0: resets getopt also if it has stopped inside an argument
    opterr = 0;
    uint64_t given = 0;
    for (int c; (c = getopt_long(argc, argv, "+:hc:s:", table, NULL)) != -1;) {
        if (c == 'h')
            return 1;
        if (c == ':')
            return err_set(err, "%s: expected a value", argv[optind - 1]);
        if (c == '?' && optopt != 0 && optopt < VALUE)
            return err_set(err, "-%c: no such option; see --help", optopt);
        if (c == '?')
            return err_set(err, "%s: no such option; see --help", argv[optind - 1]);
        const int row = c == 'c' ? row_of("config") : c == 's' ? row_of("set") : c - VALUE;
        if (take(&rows[row], optarg, o, err) != 0)
            return -1;
        given |= UINT64_C(1) << row;
    }
    if (optind < argc)
        return err_set(err, "%s: unexpected argument; see --help", argv[optind]);
    if (check_http(given, o, err) != 0)
        return -1;
    if (o->server_port == 0)
        o->server_port = o->http                     ? HTTP_PORT
                         : o->direction == LOAD_UP   ? DISCARD_PORT
                         : o->direction == LOAD_BOTH ? ECHO_PORT
                                                     : kinds[o->kind].port;
    if (check_place(given, o, err) != 0)
        return -1;
    if (load_has_full(o) && complete_full(o, err) != 0)
        return -1;
    if (o->give_up_ms != 0 && (o->rate == 0 || o->life_s != 0))
        return err_set(err, "--give-up requires --rate and cannot be used with --life");
    return 0;
}

// The loads that have an option, unless all have it.
static void put_only(struct text *out, unsigned loads)
{
    const char *before = "";
    for (unsigned i = 0; i < ARRAY_LEN(kinds) && loads != ON_ALL; i++)
        if (loads >> i & 1) {
            text_printf(out, "%s%s", before, kinds[i].name);
            before = ", ";
        }
    text_printf(out, loads == ON_ALL ? "" : ": ");
}

// Appends words with line breaks before column HELP_COLUMNS. The text begins at column HELP_INDENT.
static void put_wrapped(struct text *out, const char *words)
{
    enum { HELP_INDENT = 26, HELP_COLUMNS = 100 };
    size_t at = HELP_INDENT;
    while (*words != '\0') {
        const size_t n = strcspn(words, " ");
        if (at != HELP_INDENT && at + 1 + n > HELP_COLUMNS) {
            text_printf(out, "\n%*s", HELP_INDENT, "");
            at = HELP_INDENT;
        }
        text_printf(out, at == HELP_INDENT ? "%.*s" : " %.*s", (int)n, words);
        at += n + (at != HELP_INDENT);
        words += n + strspn(words + n, " ");
    }
    text_printf(out, "\n");
}

static void help_rows(struct text *out, enum place place)
{
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        char left[32];
        struct text help;
        if (rows[i].place != place)
            continue;
        snprintf(left, sizeof(left), "--%s %s", rows[i].name,
                 rows[i].value != NULL ? rows[i].value : "");
        text_printf(out, "  %-23s ", left);
        text_init(&help, 1 << 10);
        put_only(&help, rows[i].loads);
        text_printf(&help, "%s", rows[i].help);
        put_wrapped(out, text_str(&help));
        text_free(&help);
    }
}

void load_options_help(struct text *out)
{
    text_printf(out, "usage: c10m load LOAD [OPTIONS]\n\n");
    for (unsigned i = 0; i < ARRAY_LEN(kinds); i++)
        text_printf(out, "  %-8s %s\n", kinds[i].name, kinds[i].help);
    text_printf(
        out,
        "\nThe client compares every answer byte by byte and acknowledges it with a separate\n"
        "segment. It retransmits lost segments; lost datagrams are only counted. A list of loads\n"
        "before a colon means: for these loads only.\n\n");
    help_rows(out, ANYWHERE);
    text_printf(
        out,
        "\nWithout --config the server runs in the same process. The wire is a ring that copies\n"
        "every packet:\n\n");
    help_rows(out, HERE);
    text_printf(
        out,
        "\nWith --config the client uses the port of the configuration and runs on the first core\n"
        "of [cpu] workers. The server is another process, host or stack. The client answers ARP\n"
        "requests and neighbor solicitations for its addresses. The server needs a route to\n"
        "addresses that are not on the link:\n\n");
    help_rows(out, ELSEWHERE);
    text_printf(
        out,
        "\nNumbers may end in k (thousands) or M (millions).\n\n"
        "LIST of --fault has items NAME=NUMBER, separated by commas, for both directions:\n"
        "loss, reorder, duplicate and corrupt (one bit, which a checksum detects) in percent of\n"
        "the frames, and delay in milliseconds. falsify is a fault of the server, not of the\n"
        "wire: it changes one bit in that percentage of its answers, which the client must\n"
        "detect.\n"
        "  c10m load hold --connections 10k --fault loss=2,reorder=2,duplicate=1\n"
        "  c10m load hold -c client.conf --server 10.99.0.2 --connections 10k\n"
        "\nExit status: 0 every answer arrived and was correct; 1 an answer was missing or\n"
        "wrong, the run was interrupted, or it could not start; 2 invalid usage. Ctrl-C ends the\n"
        "run and prints its report. SIGUSR1 ends the requests as if their time were over: those\n"
        "that wait are answered first, and the connections are closed.\n");
}
