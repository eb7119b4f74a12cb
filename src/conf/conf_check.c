// SPDX-License-Identifier: BSD-3-Clause
#include <inttypes.h>
#include <string.h>

#include "base/log_target.h"
#include "conf/conf_load.h"
#include "conf/lists.h"
#include "conf/value.h"
#include "tables/driver_table.h"

static void check_online(struct load *l, const struct key *k, const struct conf_cpus *cpus)
{
    const struct conf_cpus *host = &l->host->cpus;
    struct conf_cpus missing;
    memset(&missing, 0, sizeof(missing));
    for (unsigned i = 0; i < cpus->n; i++)
        if (!cpus_has(host, cpus->id[i]))
            missing.id[missing.n++] = cpus->id[i];
    if (missing.n == 0 || !key_good(l, k, 0))
        return;
    struct text have, got;
    text_init(&have, CONF_LINE_BYTES);
    text_init(&got, CONF_LINE_BYTES);
    cpus_print(host, "", &have);
    cpus_print(&missing, "", &got);
    fail_key(l, k, 0, "expected cores that are online and allowed here (%u: %s), got %s", host->n,
             text_str(&have), text_str(&got));
    text_free(&have);
    text_free(&got);
}

static void check_overlap(struct load *l)
{
    const struct key *workers = KEY_AT(cpu, workers), *linux_key = KEY_AT(cpu, linux_cpus);
    const struct conf_cpu *cpu = &l->c->cpu;
    if (l->host->cpus.n == 1 || cpu->workers_per_core > 1 || !key_good(l, workers, 0) ||
        !key_good(l, linux_key, 0))
        return;
    for (unsigned i = 0; i < cpu->workers.n; i++) {
        unsigned id = cpu->workers.id[i];
        if (cpus_has(&cpu->linux_cpus, id)) {
            fail_key(l, workers, 0, "expected cores that are not in linux, got core %u in both",
                     id);
            return;
        }
    }
}

static void check_cpu(struct load *l)
{
    const struct key *workers = KEY_AT(cpu, workers), *each = KEY_AT(cpu, workers_per_core);
    check_online(l, KEY_AT(cpu, linux_cpus), &l->c->cpu.linux_cpus);
    check_online(l, workers, &l->c->cpu.workers);
    check_overlap(l);
    if (l->c->cpu.workers.n > CONF_WORKERS_MAX && key_good(l, workers, 0))
        fail_key(l, workers, 0, "expected at most %d cores, got %u", CONF_WORKERS_MAX,
                 l->c->cpu.workers.n);
    else if (conf_workers(l->c) > CONF_WORKERS_MAX && key_good(l, each, 0))
        fail_key(l, each, 0, "expected at most %d workers in all, got %u on each of %u cores",
                 CONF_WORKERS_MAX, l->c->cpu.workers_per_core, l->c->cpu.workers.n);
}

static void check_shares(struct load *l)
{
    const struct conf_memory *m = &l->c->memory;
    const struct key *keys[] = {KEY_AT(memory, connections),       KEY_AT(memory, time_wait),
                                KEY_AT(memory, time_wait6),        KEY_AT(memory, syn_received),
                                KEY_AT(memory, extension_records), KEY_AT(memory, flight_logs)};
    const uint32_t totals[] = {m->connections,  m->time_wait,         m->time_wait6,
                               m->syn_received, m->extension_records, m->flight_logs};
    uint32_t workers = conf_workers(l->c);
    for (unsigned i = 0; i < ARRAY_LEN(keys); i++)
        if (totals[i] != 0 && totals[i] < workers && key_good(l, keys[i], 0) &&
            (i == 0 || key_given(l, keys[i], 0)))
            fail_key(l, keys[i], 0, "expected at least %u, one for each worker, got %u", workers,
                     totals[i]);
}

// check_pool: a packet in a queue of a port is not available to the stack, so the pool must exceed
// their sum. jumbo: the pool of the ports with jumbo frames, whose key is `packets`; has: its size.
static void check_pool(struct load *l, bool jumbo, const struct key *packets, uint32_t has)
{
    enum { SPARE = 4 * BURST_MAX };  // a received burst, a burst to send, ARP, other replies
    const struct conf *c = l->c;
    uint64_t need = SPARE;
    struct text sum;
    text_init(&sum, CONF_LINE_BYTES);
    text_printf(&sum, "%d", SPARE);
    for (unsigned i = 0; i < c->n_ports; i++) {
        const struct conf_port *p = &c->ports[i];
        const struct driver *d = driver_find(p->driver);
        if (d == NULL || conf_is_jumbo(p) != jumbo)
            continue;
        const uint32_t rings = driver_held(d, p->rx_ring, p->tx_ring);
        if (rings == 0)
            continue;
        need += rings;
        text_printf(&sum, " + %u in the rings of port %s", rings, p->name);
    }
    if (has < need && key_good(l, packets, 0))
        fail_key(l, packets, 0, "expected at least %" PRIu64 " (%s), got %u", need, text_str(&sum),
                 has);
    text_free(&sum);
}

static void check_packets(struct load *l)
{
    const struct conf_memory *m = &l->c->memory;
    check_pool(l, false, KEY_AT(memory, packets), m->packets);
    check_pool(l, true, KEY_AT(memory, jumbo_packets), m->jumbo_packets);
}

// check_share: with a share of nothing, the last eighth of the connections would be for nobody.
static void check_share(struct load *l, const struct key *k, uint32_t ppm)
{
    if (key_good(l, k, 0) && ppm == 0)
        fail_key(l, k, 0, "expected more than 0 percent");
}

static void check_tcp(struct load *l)
{
    const struct conf_tcp *t = &l->c->tcp;
    const struct key *initial = KEY_AT(tcp, rto_initial_ms), *min = KEY_AT(tcp, rto_min_ms),
                     *max = KEY_AT(tcp, rto_max_ms);
    check_share(l, KEY_AT(tcp, prefix_share_ppm), t->prefix_share_ppm);
    check_share(l, KEY_AT(tcp, service_share_ppm), t->service_share_ppm);
    if (!key_good(l, initial, 0) || !key_good(l, min, 0) || !key_good(l, max, 0))
        return;
    if (t->rto_min_ms > t->rto_max_ms)
        fail_key(l, min, 0, "expected at most rto_max_ms = %u, got %u", t->rto_max_ms,
                 t->rto_min_ms);
    else if (t->rto_initial_ms < t->rto_min_ms || t->rto_initial_ms > t->rto_max_ms)
        fail_key(l, initial, 0, "expected rto_min_ms to rto_max_ms = %u to %u, got %u",
                 t->rto_min_ms, t->rto_max_ms, t->rto_initial_ms);
}

// holds_path: whether dir is `path` or a directory above it.
static bool holds_path(const char *dir, const char *path)
{
    size_t n = strlen(dir);
    while (n > 0 && dir[n - 1] == '/')
        n--;
    return strncmp(dir, path, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

// Files below the mount point cannot be reached while it is mounted.
static void check_mount(struct load *l)
{
    const struct key *mount = KEY_AT(control, mount);
    const char *dir = l->c->control.mount;
    char socket[2 * CONF_PATH_BYTES];
    conf_socket_path(l->c, socket, sizeof(socket));
    const struct {
        const char *key, *path;
    } hidden[] = {{"run_dir", l->c->control.run_dir},
                  {"hugetlbfs", l->c->memory.hugetlbfs},
                  {"socket", socket}};
    for (unsigned i = 0; i < ARRAY_LEN(hidden) && dir[0] != '\0'; i++)
        if (holds_path(dir, hidden[i].path) && key_good(l, mount, 0))
            fail_key(l, mount, 0, "expected a directory that does not hide %s = %s, got \"%s\"",
                     hidden[i].key, hidden[i].path, dir);
}

static bool is_loopback(const struct ip_addr *a)
{
    const struct ip_addr one = {.b[15] = 1};
    return ip_is_v4(a) ? ip_to_v4(a) >> 24 == 127 : ip_equal(a, &one);
}

// Without a token, everybody who can reach the address can read the tree.
static void check_http(struct load *l)
{
    const struct key *http = KEY_AT(control, http), *file = KEY_AT(control, http_token_file);
    const struct conf_control *c = &l->c->control;
    char token[CONF_TOKEN_BYTES_MAX + 1], addr[IP_TEXT_BYTES];
    struct err e;
    if (!key_good(l, http, 0) || !key_good(l, file, 0) || c->http.port == 0)
        return;
    if (c->http_token_file[0] != '\0' && conf_token_read(c->http_token_file, token, &e) != 0)
        fail_key(l, file, 0, "%s", e.text);
    else if (c->http_token_file[0] == '\0' && !is_loopback(&c->http.addr))
        fail_key(l, http, 0,
                 "expected an address of this host alone (127.0.0.0/8 or ::1) without "
                 "http_token_file, got %s",
                 ip_text(&c->http.addr, addr));
    explicit_bzero(token, sizeof(token));
}

// Linux limits the length of the socket's path, which may begin with run_dir.
static void check_socket(struct load *l)
{
    const struct key *socket = KEY_AT(control, socket);
    char path[2 * CONF_PATH_BYTES];
    conf_socket_path(l->c, path, sizeof(path));
    if (strlen(path) >= CONF_SOCKET_BYTES && key_good(l, socket, 0))
        fail_key(l, socket, 0,
                 "expected a path of at most %d characters including run_dir, got \"%s\"",
                 CONF_SOCKET_BYTES - 1, path);
}

static void check_log(struct load *l)
{
    const struct key *log = KEY_AT(control, log);
    if (key_good(l, log, 0) && !log_target_check(l->c->control.log))
        fail_key(l, log, 0,
                 "expected stderr, syslog, syslog:SOCKET or a path that begins with /, got \"%s\"",
                 l->c->control.log);
}

static void check_adopt(struct load *l)
{
    const struct key *adopt = KEY_AT(control, adopt);
    if (key_good(l, adopt, 0) && key_good(l, KEY_AT(memory, hugepage), 0) &&
        l->c->control.adopt == CONF_ADOPT_REQUIRE && l->c->memory.hugepage == CONF_HUGEPAGE_NONE)
        fail_key(l, adopt, 0,
                 "expected never with [memory] hugepage = none, got require: connections outlive "
                 "their process in hugepages only");
}

static void check_statsd(struct load *l)
{
    const struct key *prefix = KEY_AT(statsd, prefix), *rate = KEY_AT(statsd, sample_rate_ppm);
    const char *p = l->c->statsd.prefix;
    const size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    if (key_good(l, prefix, 0) && (n == 0 || p[n] != '\0' || p[0] == '.' || p[n - 1] == '.'))
        fail_key(l, prefix, 0, "expected letters, digits, . - and _, no . at the ends, got \"%s\"",
                 p);
    if (key_good(l, rate, 0) && l->c->statsd.sample_rate_ppm == 0)
        fail_key(l, rate, 0, "expected more than 0 percent");
}

// check_rows: refuses a section that lacks a required key, and one with a key that its driver or
// application does not have.
static void check_rows(struct load *l, enum conf_section section, unsigned at, const char *kind,
                       const char *kind_key)
{
    struct text t;
    for (unsigned i = 0; i < conf_n_keys; i++) {
        const struct key *k = &conf_keys[i];
        if (k->section != section)
            continue;
        text_init(&t, CONF_LINE_BYTES);
        if (k->initial == NULL && !key_given(l, k, at)) {
            value_expected(k, &t);
            fail_key(l, k, at, "missing: expected %s", text_str(&t));
        } else if (kind[0] != '\0' && key_given(l, k, at) && !key_applies(k, kind)) {
            words_list(k->only, &t);
            fail_key(l, k, at, "expected with %s = %s only, got %s = %s", kind_key, text_str(&t),
                     kind_key, kind);
        }
        text_free(&t);
    }
}

void check_all(struct load *l)
{
    check_cpu(l);
    check_shares(l);
    check_packets(l);
    check_mount(l);
    check_http(l);
    check_socket(l);
    check_log(l);
    check_adopt(l);
    check_statsd(l);
    check_tcp(l);
    for (unsigned i = 0; i < l->c->n_ports; i++)
        check_rows(l, SECTION_port, i, l->c->ports[i].driver, "driver");
    check_ports(l);
    for (unsigned i = 0; i < l->c->n_services; i++)
        check_rows(l, SECTION_service, i, l->c->services[i].app, "app");
    check_services(l);
}
