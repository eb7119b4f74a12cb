// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "ctl/metrics/metrics_internal.h"
#include "pkt/port.h"
#include "server/linux_port.h"
#include "sock/sock.h"
#include "stat/counters.h"
#include "worker/handoff.h"

const double metrics_bounds[METRIC_BOUNDS] = {1e-6,   2e-6,   5e-6,   10e-6, 20e-6, 50e-6,
                                              100e-6, 200e-6, 500e-6, 1e-3,  2e-3,  5e-3,
                                              10e-3,  20e-3,  50e-3,  100e-3};

void metrics_put(const struct metrics_now *now, const char *suffix, struct metric_value v,
                 unsigned n, const struct metric_label *labels)
{
    struct metric_sample s = {.metric = now->m, .suffix = suffix, .n_labels = n, .value = v};
    for (unsigned i = 0; i < n; i++)
        s.labels[i] = labels[i];
    now->to->sample(now->to, &s);
}

struct metric_value metrics_whole(uint64_t n)
{
    return (struct metric_value){.n = n};
}

struct metric_value metrics_real(double x)
{
    return (struct metric_value){.is_real = true, .real = x};
}

// ---- the process

static void put_build_info(const struct metrics_now *now)
{
    PUT(now, metrics_whole(1), LABEL("version", now->shown->version));
}

static double now_s(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void put_start_time(const struct metrics_now *now)
{
    const struct timespec *began = &now->shown->started;
    const double up_s =
        now_s(CLOCK_MONOTONIC) - (double)began->tv_sec - (double)began->tv_nsec / 1e9;
    PUT0(now, metrics_real(now_s(CLOCK_REALTIME) - up_s));
}

static void put_cpu_seconds(const struct metrics_now *now)
{
    PUT0(now, metrics_real(now_s(CLOCK_PROCESS_CPUTIME_ID)));
}

static void put_resident_bytes(const struct metrics_now *now)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f != NULL && fscanf(f, "%*s %llu", &pages) != 1)
        pages = 0;
    if (f != NULL)
        fclose(f);
    PUT0(now, metrics_whole(pages * (uint64_t)sysconf(_SC_PAGESIZE)));
}

static void put_connections_max(const struct metrics_now *now)
{
    PUT0(now, metrics_whole(server_params_of(now->shown->server)->connections));
}

// ---- ports, memory, services

#define PORT_COUNTER_TABLE(X)                                                                      \
    X(rx_packets, "packets that the device received for us")                                       \
    X(rx_bytes, "bytes of them")                                                                   \
    X(tx_packets, "packets that the device sent")                                                  \
    X(tx_bytes, "bytes of them")                                                                   \
    X(rx_missed, "frames lost because no buffer was posted for them")                              \
    X(rx_nombuf, "frames lost because the packet pool was empty")                                  \
    X(rx_errors, "frames received with an error")                                                  \
    X(tx_errors, "frames that the device would not send")                                          \
    X(tx_no_device, "of them, those that had no device because it was gone")                       \
    X(rx_taken_away, "frames that a fault port lost, or a bond left out, on the way in")           \
    X(rx_added, "frames that a fault port added on purpose on the way in")                         \
    X(tx_taken_away, "frames that a fault port lost on purpose on the way out")                    \
    X(tx_added, "frames that a fault port or a bond added on the way out")

static void put_port(const struct metrics_now *now, unsigned i, uint64_t value)
{
    PUT(now, metrics_whole(value), LABEL("port", server_port(now->shown->server, i)->name));
}

#define PUT_PORT(field, help)                                                                      \
    static void put_port_##field(const struct metrics_now *now)                                    \
    {                                                                                              \
        for (unsigned i = 0; i < now->n_ports; i++)                                                \
            put_port(now, i, now->ports[i].field);                                                 \
    }
PORT_COUNTER_TABLE(PUT_PORT)
#undef PUT_PORT

// Ports that do not tell, as pcap, have no sample.
static void put_port_link_up(const struct metrics_now *now)
{
    for (unsigned i = 0; i < now->n_ports; i++)
        if (now->links[i].known &&
            (now->links[i].link.up || now->links[i].link.reason != PORT_LINK_UNKNOWN))
            put_port(now, i, now->links[i].link.up);
}

static void put_port_link_changes(const struct metrics_now *now)
{
    for (unsigned i = 0; i < now->n_ports; i++)
        put_port(now, i, now->links[i].changes);
}

static void put_member(const struct metrics_now *now, unsigned i, const struct port_member *is,
                       uint64_t value)
{
    PUT(now, metrics_whole(value), LABEL("port", server_port(now->shown->server, i)->name),
        LABEL("member", is->port->name));
}

// Of each member of each bond.
#define PUT_MEMBER(field)                                                                          \
    static void put_member_##field(const struct metrics_now *now)                                  \
    {                                                                                              \
        struct port_member is;                                                                     \
        for (unsigned i = 0; i < now->n_ports; i++) {                                              \
            struct port *p = server_port(now->shown->server, i);                                   \
            for (unsigned m = 0; p->ops->group != NULL && p->ops->group->member(p, m, &is); m++)   \
                put_member(now, i, &is, is.field);                                                 \
        }                                                                                          \
    }
PUT_MEMBER(usable)
PUT_MEMBER(active)
PUT_MEMBER(changes)
#undef PUT_MEMBER

// next_shared: the first port from i on that is shared with Linux; n_ports: none is.
static unsigned next_shared(const struct metrics_now *now, unsigned i)
{
    while (i < now->n_ports && linux_port_name(now->shown->server, i) == NULL)
        i++;
    return i;
}

static void put_linux_up(const struct metrics_now *now)
{
    for (unsigned i = next_shared(now, 0); i < now->n_ports; i = next_shared(now, i + 1))
        put_port(now, i, !linux_port_gone(now->shown->server, i));
}

static void put_linux_packets(const struct metrics_now *now)
{
    const struct server *s = now->shown->server;
    for (unsigned i = next_shared(now, 0); i < now->n_ports; i = next_shared(now, i + 1)) {
        struct linux_port_counts c;
        linux_port_read_counts(s, i, &c);
        PUT(now, metrics_whole(c.written), LABEL("port", server_port(s, i)->name),
            LABEL("direction", "to_linux"));
        PUT(now, metrics_whole(c.workers.sent), LABEL("port", server_port(s, i)->name),
            LABEL("direction", "from_linux"));
    }
}

static void put_linux_over_rate(const struct metrics_now *now)
{
    const struct server *s = now->shown->server;
    for (unsigned i = next_shared(now, 0); i < now->n_ports; i = next_shared(now, i + 1)) {
        struct linux_port_counts c;
        linux_port_read_counts(s, i, &c);
        for (unsigned k = 0; linux_class_name(k) != NULL; k++)
            PUT(now, metrics_whole(c.workers.rate[k]), LABEL("port", server_port(s, i)->name),
                LABEL("kind", linux_class_name(k)));
    }
}

// Zero where software spreads the packets; no sample with one worker.
static void put_port_wrong_core(const struct metrics_now *now)
{
    const struct server *s = now->shown->server;
    for (unsigned i = 0; i < now->n_ports; i++) {
        const struct handoff *handoff = server_handoff(s, i);
        uint64_t wrong[PORT_RSS_ALL_KINDS];
        if (handoff == NULL)
            continue;
        rss_wrong_sum(handoff, server_workers(s), wrong);
        for (unsigned k = 0; k < PORT_RSS_ALL_KINDS; k++)
            PUT(now, metrics_whole(wrong[k]), LABEL("port", server_port(s, i)->name),
                LABEL("kind", rss_kind_name((enum port_rss_kind)k)));
    }
}

// What mem/arenas shows: `NAME_bytes VALUE` of each arena, and sums.
static void put_memory(const struct metrics_now *now)
{
    struct text t;
    char *save = NULL;
    text_init(&t, 1 << 16);
    server_arenas(now->shown->server, &t);
    char *line = t.len == 0 ? NULL : strtok_r(t.data, "\n", &save);
    for (; line != NULL; line = strtok_r(NULL, "\n", &save)) {
        char *value = strchr(line, ' '), *end = value == NULL ? NULL : value - strlen("_bytes");
        if (value == NULL || end <= line || strncmp(end, "_bytes", strlen("_bytes")) != 0)
            continue;
        *end = '\0';
        if (strcmp(line, "arena_page") != 0 && strcmp(line, "per_connection") != 0 &&
            strstr(line, "_reserved") == NULL)
            PUT(now, metrics_whole(strtoull(value, NULL, 10)), LABEL("arena", line));
    }
    text_free(&t);
}

static void put_services(const struct metrics_now *now, bool gauges)
{
    const struct server *s = now->shown->server;
    for (unsigned i = 0; i < server_params_of(s)->n_services; i++) {
        const struct c10m_service *sv = server_service(s, i);
        for (int c = 0; c < sv->n_counters; c++) {
            const char *name = sv->counters[c].name;
            const size_t len = strlen(name);
            uint64_t sum = 0;
            if ((len > 4 && strcmp(name + len - 4, "_now") == 0) != gauges)
                continue;
            for (unsigned w = 0; w < server_workers(s); w++)
                sum += stat_load(&server_worker(s, w)->sock.counters[i][c]);
            PUT(now, metrics_whole(sum), LABEL("service", sv->name), LABEL("counter", name));
        }
    }
}

static void put_service_counters(const struct metrics_now *now)
{
    put_services(now, false);
}

// What is wrong now (server/verdict.h).
static void put_verdicts(const struct metrics_now *now)
{
    for (unsigned i = 0; i < VERDICT_SEVERITIES; i++)
        PUT(now, metrics_whole(verdict_count(ctl_verdict(now->shown), i)),
            LABEL("severity", verdict_severities[i]));
}

static void put_verdict_kinds(const struct metrics_now *now)
{
    for (unsigned i = 0; i < VERDICT_KINDS; i++)
        PUT(now, metrics_whole(verdict_count_kind(ctl_verdict(now->shown), i)),
            LABEL("kind", verdict_kinds[i].name),
            LABEL("severity", verdict_severities[verdict_kinds[i].severity]));
}

static void put_verdict_seconds(const struct metrics_now *now)
{
    const struct verdict_item *list[VERDICT_ITEMS_MAX];
    const uint64_t now_ns = liveness_clock_ns();
    const unsigned n = verdict_list(ctl_verdict(now->shown), list);
    for (unsigned i = 0; i < n; i++)
        PUT(now, metrics_real((double)(now_ns - MIN(list[i]->since_ns, now_ns)) / 1e9),
            LABEL("kind", verdict_kinds[list[i]->kind].name), LABEL("subject", list[i]->subject));
}

static void put_verdicts_missed(const struct metrics_now *now)
{
    PUT0(now, metrics_whole(ctl_verdict(now->shown)->n_missed));
}

// What services have open, summed over the workers, and may have.
static void put_service_connections(const struct metrics_now *now, size_t at)
{
    const struct server *s = now->shown->server;
    for (unsigned i = 0; i < server_params_of(s)->n_services; i++) {
        uint64_t sum = 0;
        for (unsigned w = 0; w < server_workers(s); w++)
            sum += peek_u32(
                (const uint32_t *)((const char *)&server_worker(s, w)->tcp.services[i] + at));
        PUT(now, metrics_whole(sum), LABEL("service", server_service(s, i)->name));
    }
}

static void put_service_open(const struct metrics_now *now)
{
    put_service_connections(now, offsetof(struct tcp_service, connections));
}

static void put_service_limit(const struct metrics_now *now)
{
    put_service_connections(now, offsetof(struct tcp_service, connections_max));
}

static void put_service_images(const struct metrics_now *now)
{
    const struct server *s = now->shown->server;
    for (unsigned i = 0; i < server_params_of(s)->n_services; i++)
        PUT(now, metrics_whole(shared_u64_load(&server_service(s, i)->image_bytes)),
            LABEL("service", server_service(s, i)->name));
}

static void put_service_images_private(const struct metrics_now *now)
{
    const struct server *s = now->shown->server;
    for (unsigned i = 0; i < server_params_of(s)->n_services; i++)
        PUT(now, metrics_whole(shared_u64_load(&server_service(s, i)->image_private_bytes)),
            LABEL("service", server_service(s, i)->name));
}

static void put_service_state(const struct metrics_now *now)
{
    static const char *const names[] = {[TCP_SERVICE_OPEN] = "open",
                                        [TCP_SERVICE_DRAINING] = "draining",
                                        [TCP_SERVICE_CLOSED] = "closed"};
    const struct server *s = now->shown->server;
    for (unsigned i = 0; i < server_params_of(s)->n_services; i++)
        for (unsigned state = 0; state < ARRAY_LEN(names); state++)
            PUT(now, metrics_whole(peek_u8(&server_worker(s, 0)->tcp.services[i].state) == state),
                LABEL("service", server_service(s, i)->name), LABEL("state", names[state]));
}

static void put_port_info(const struct metrics_now *now)
{
    for (unsigned i = 0; i < now->n_ports; i++)
        PUT(now, metrics_whole(1), LABEL("port", server_port(now->shown->server, i)->name),
            LABEL("driver", server_port(now->shown->server, i)->ops->driver));
}

static void put_service_values(const struct metrics_now *now)
{
    put_services(now, true);
}

// ---- the table

// X(name, type, help, who puts its samples)
#define METRIC_TABLE(X)                                                                            \
    X(c10m_build_info, GAUGE, "Version of the server; always 1.", put_build_info)                  \
    X(process_start_time_seconds, GAUGE, "When the server was started, in seconds since 1970.",    \
      put_start_time)                                                                              \
    X(process_cpu_seconds_total, COUNTER,                                                          \
      "CPU time of all threads; a worker polls and takes a whole core.", put_cpu_seconds)          \
    X(process_resident_memory_bytes, GAUGE, "Resident memory; hugepages are not included.",        \
      put_resident_bytes)                                                                          \
    X(c10m_connections_max, GAUGE, "Connections that can be open at once.", put_connections_max)   \
    X(c10m_adopted, GAUGE, "What this server has adopted at its start from the one before.",       \
      metrics_adopted)                                                                             \
    X(c10m_not_adopted, GAUGE, "What it has refused of that, by reason.", metrics_not_adopted)     \
    X(c10m_adoption_silence_seconds, GAUGE,                                                        \
      "From the end of the workers before to the start of these.", metrics_adoption_silence)       \
    X(c10m_image_spans, GAUGE, "Spans of images in use that outlive the process, of 64.",          \
      metrics_image_spans)                                                                         \
    X(c10m_verdicts, GAUGE, "What is wrong now: how many sentences of this severity.",             \
      put_verdicts)                                                                                \
    X(c10m_verdict_active, GAUGE, "The same by kind; 0: nothing of this kind is wrong.",           \
      put_verdict_kinds)                                                                           \
    X(c10m_verdict_seconds, PASSING, "For how long each of them has lasted.", put_verdict_seconds) \
    X(c10m_verdicts_missed, GAUGE, "How many more there are than the server keeps.",               \
      put_verdicts_missed)                                                                         \
    X(c10m_core_clock_hertz, GAUGE, "Cycles a second of the core's time stamp counter.",           \
      metrics_clock)                                                                               \
    X(c10m_core_useful_ratio, GAUGE, "Share of the last second in turns with work.",               \
      metrics_useful)                                                                              \
    X(c10m_core_stalled_seconds, GAUGE,                                                            \
      "For how long the worker has been caught in one turn; 0: it is not.", metrics_stalled)       \
    X(c10m_core_hangs_total, COUNTER,                                                              \
      "Turns that took longer than watchdog_ms, or half a second outside of applications.",        \
      metrics_hangs)                                                                               \
    X(c10m_core_drops_total, COUNTER,                                                              \
      "Packets that ended for this reason; side rx: received ones, tx: ours.", metrics_drops)      \
    X(c10m_core_stage_cycles_total, COUNTER, "Cycles spent in this stage of the loop.",            \
      metrics_stage_cycles)                                                                        \
    X(c10m_core_rx_to_tx_seconds, HISTOGRAM,                                                       \
      "From a packet's receipt to the end of the turn that answers it, each packet once.",         \
      metrics_latency)                                                                             \
    X(c10m_core_idle_turn_seconds, HISTOGRAM,                                                      \
      "Lengths of turns that had nothing to do: what the machine takes from the core.",            \
      metrics_idle_turns)                                                                          \
    X(c10m_core_stalls_total, COUNTER, "Turns over 100 us by their cause.", metrics_stalls)        \
    X(c10m_core_stall_seconds_total, COUNTER, "Time in turns over 100 us by their cause.",         \
      metrics_stall_seconds)                                                                       \
    X(c10m_core_involuntary_switches_total, COUNTER,                                               \
      "Times that Linux took the worker's CPU for another thread.", metrics_switches)              \
    X(c10m_core_page_faults_total, COUNTER, "Page faults of the worker's thread.",                 \
      metrics_page_faults)                                                                         \
    X(c10m_core_interrupts_total, COUNTER, "Interrupts that hit the CPU: of its timer, others.",   \
      metrics_interrupts)                                                                          \
    X(c10m_core_wait_seconds_total, COUNTER,                                                       \
      "Time that the worker was ready and others were on its CPU.", metrics_wait_seconds)          \
    X(c10m_core_steal_seconds_total, COUNTER, "Time that the hypervisor ran somebody else.",       \
      metrics_steal_seconds)                                                                       \
    X(c10m_core_pool_entries, GAUGE, "Entries that a pool of the worker has.", metrics_pool_size)  \
    X(c10m_core_pool_used, GAUGE, "Entries of a pool in use.", metrics_pool_used)                  \
    X(c10m_core_pool_used_max, GAUGE, "Most that were in use at once.", metrics_pool_used_max)     \
    X(c10m_port_link_up, GAUGE, "Whether the link of the port is up.", put_port_link_up)           \
    X(c10m_port_link_changes_total, COUNTER,                                                       \
      "Times that the link went up or down, or was down for another reason.",                      \
      put_port_link_changes)                                                                       \
    X(c10m_port_member_usable, GAUGE,                                                              \
      "Whether the member of a bond has a link, and with LACP a partner that agreed.",             \
      put_member_usable)                                                                           \
    X(c10m_port_member_active, GAUGE, "Whether the bond sends by this member.", put_member_active) \
    X(c10m_port_member_changes_total, COUNTER,                                                     \
      "Times that the member became usable, or was no longer.", put_member_changes)                \
    X(c10m_port_wrong_core_packets_total, COUNTER,                                                 \
      "Packets that the port brought to another worker than theirs.", put_port_wrong_core)         \
    X(c10m_memory_bytes, GAUGE, "Memory reserved at start, by what it is for.", put_memory)        \
    X(c10m_port_linux_up, GAUGE, "Whether the interface by which Linux shares the port exists.",   \
      put_linux_up)                                                                                \
    X(c10m_port_linux_packets_total, COUNTER, "Packets that Linux got, and that it sent.",         \
      put_linux_packets)                                                                           \
    X(c10m_port_linux_over_rate_packets_total, COUNTER,                                            \
      "Packets for Linux over the rate of their kind.", put_linux_over_rate)                       \
    X(c10m_port_info, GAUGE, "Driver of the port; always 1.", put_port_info)                       \
    X(c10m_service_connections, GAUGE, "Connections of the service that are open.",                \
      put_service_open)                                                                            \
    X(c10m_service_connections_max, GAUGE, "Connections that the service may have.",               \
      put_service_limit)                                                                           \
    X(c10m_service_image_bytes, GAUGE, "Images of the service, held for sending by reference.",    \
      put_service_images)                                                                          \
    X(c10m_service_image_private_bytes, GAUGE,                                                     \
      "Memory of images that does not outlive the process.", put_service_images_private)           \
    X(c10m_service_state, GAUGE, "1 for the state in which the service is.", put_service_state)    \
    X(c10m_service_events_total, COUNTER, "What the application of a service counts.",             \
      put_service_counters)                                                                        \
    X(c10m_service_value, GAUGE, "Present values that the application of a service shows.",        \
      put_service_values)

struct row {
    struct metric metric;
    void (*put)(const struct metrics_now *now);
};

static const struct row rows[] = {
#define ROW(name, type, help, f) {{#name, METRIC_##type, help}, f},
    METRIC_TABLE(ROW)
#undef ROW
#define ROW(name, help) {{"c10m_port_" #name "_total", METRIC_COUNTER, help}, put_port_##name},
        PORT_COUNTER_TABLE(ROW)
#undef ROW
};

const unsigned metrics_own = ARRAY_LEN(rows);

// core_metric: the family of a line of CORE_COUNTER_TABLE.
static const struct metric *core_metric(unsigned i)
{
    static struct metric made[CORE_COUNTER_COUNT];
    struct metric *m = &made[i];
    const struct stat_name *from = &stat_counter_names[i];
    const size_t n = strlen(from->name);
    const bool gauge = n > 4 && strcmp(from->name + n - 4, "_now") == 0;
    if (m->name[0] != '\0')
        return m;
    const int len =
        gauge ? snprintf(m->name, sizeof(m->name), "c10m_core_%.*s", (int)n - 4, from->name)
              : snprintf(m->name, sizeof(m->name), "c10m_core_%s_total", from->name);
    CHECK(len < (int)sizeof(m->name));
    m->type = gauge ? METRIC_GAUGE : METRIC_COUNTER;
    m->help = from->help;
    return m;
}

const struct metric *metrics_family(unsigned i)
{
    if (i < ARRAY_LEN(rows))
        return &rows[i].metric;
    i -= ARRAY_LEN(rows);
    return i < CORE_COUNTER_COUNT ? core_metric(i) : NULL;
}

static void read_all(struct metrics_now *now, const struct ctl_shown *s, struct metric_sink *to)
{
    now->shown = s;
    now->to = to;
    now->n_cores = server_workers(s->server);
    now->n_ports = server_params_of(s->server)->n_ports;
    for (unsigned i = 0; i < now->n_cores; i++) {
        server_core_name(s->server, i, now->core_names[i]);
        stat_snapshot(&now->cores[i], server_worker(s->server, i)->stats);
    }
    for (unsigned i = 0; i < now->n_ports; i++) {
        struct port *p = server_port(s->server, i);
        now->ports[i] = (struct port_stats){0};
        p->ops->stats(p, &now->ports[i]);
        link_watch_look(s->links, i, liveness_clock_ns(), &now->links[i]);
    }
}

static void put_core_counter(const struct metrics_now *now, unsigned counter)
{
    for (unsigned i = 0; i < now->n_cores; i++)
        PUT(now, metrics_whole(((const uint64_t *)&now->cores[i].c)[counter]),
            LABEL("core", now->core_names[i]));
}

void metrics_visit(const struct ctl_shown *s, struct metric_sink *to)
{
    static struct metrics_now now;
    read_all(&now, s, to);
    for (unsigned i = 0; (now.m = metrics_family(i)) != NULL; i++) {
        if (to->family != NULL)
            to->family(to, now.m);
        if (i < ARRAY_LEN(rows))
            rows[i].put(&now);
        else
            put_core_counter(&now, i - ARRAY_LEN(rows));
    }
}
