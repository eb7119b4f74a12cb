#include "ctl/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl_tree_priv.h"

const double metrics_bounds[METRIC_BOUNDS] = {1e-6,   2e-6,   5e-6,   10e-6, 20e-6, 50e-6,
                                              100e-6, 200e-6, 500e-6, 1e-3,  2e-3,  5e-3,
                                              10e-3,  20e-3,  50e-3,  100e-3};

// now: one reading of all that many families show.
struct now {
    const struct ctl_shown *shown;
    struct metric_sink *to;
    const struct metric *m;
    unsigned n_cores;
    char core_names[SERVER_WORKERS_MAX][CORE_NAME_BYTES];
    struct core_stats cores[SERVER_WORKERS_MAX];
    unsigned n_ports;
    struct port_stats ports[WORKER_PORTS_MAX];
};

#define LABEL(name, value)                                                                         \
    (struct metric_label)                                                                          \
    {                                                                                              \
        name, value                                                                                \
    }

static void put(const struct now *now, const char *suffix, struct metric_value v, unsigned n,
                const struct metric_label *labels)
{
    struct metric_sample s = {.metric = now->m, .suffix = suffix, .n_labels = n, .value = v};
    for (unsigned i = 0; i < n; i++)
        s.labels[i] = labels[i];
    now->to->sample(now->to, &s);
}

static struct metric_value whole(uint64_t n)
{
    return (struct metric_value){.n = n};
}

static struct metric_value real(double x)
{
    return (struct metric_value){.is_real = true, .real = x};
}

#define PUT0(now, v) put(now, "", v, 0, NULL)
#define PUT(now, v, ...)                                                                           \
    put(now, "", v, ARRAY_LEN(((struct metric_label[]){__VA_ARGS__})),                             \
        (struct metric_label[]){__VA_ARGS__})

static const struct worker *worker_at(const struct now *now, unsigned i)
{
    return server_worker(now->shown->server, i);
}

// ---- the process

static void put_build_info(const struct now *now)
{
    PUT(now, whole(1), LABEL("version", now->shown->version));
}

static double now_s(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void put_start_time(const struct now *now)
{
    const struct timespec *began = &now->shown->started;
    const double up_s =
        now_s(CLOCK_MONOTONIC) - (double)began->tv_sec - (double)began->tv_nsec / 1e9;
    PUT0(now, real(now_s(CLOCK_REALTIME) - up_s));
}

static void put_cpu_seconds(const struct now *now)
{
    PUT0(now, real(now_s(CLOCK_PROCESS_CPUTIME_ID)));
}

static void put_resident_bytes(const struct now *now)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f != NULL && fscanf(f, "%*s %llu", &pages) != 1)
        pages = 0;
    if (f != NULL)
        fclose(f);
    PUT0(now, whole(pages * (uint64_t)sysconf(_SC_PAGESIZE)));
}

static void put_connections_max(const struct now *now)
{
    PUT0(now, whole(server_params_of(now->shown->server)->connections));
}

// ---- cores

static void put_core_clock(const struct now *now)
{
    for (unsigned i = 0; i < now->n_cores; i++)
        PUT(now, whole(worker_tsc_hz(worker_at(now, i))), LABEL("core", now->core_names[i]));
}

static void put_core_useful(const struct now *now)
{
    struct pulse_now p;
    for (unsigned i = 0; i < now->n_cores; i++) {
        pulse_look(now->shown->pulse, i, pulse_clock_ns(), &p);
        PUT(now, real(p.recent.useful), LABEL("core", now->core_names[i]));
    }
}

static void put_core_stalled(const struct now *now)
{
    struct pulse_now p;
    for (unsigned i = 0; i < now->n_cores; i++) {
        pulse_look(now->shown->pulse, i, pulse_clock_ns(), &p);
        PUT(now, real(p.state == PULSE_STALLED ? (double)p.for_ms / 1e3 : 0),
            LABEL("core", now->core_names[i]));
    }
}

static void put_drops(const struct now *now)
{
    static const char *const sides[DROP_COUNT] = {
#define DROP_SIDE(name, side, help) [DROP_##name] = #side,
        DROP_TABLE(DROP_SIDE)
#undef DROP_SIDE
    };
    for (unsigned i = 0; i < now->n_cores; i++)
        for (unsigned d = DROP_NONE + 1; d < DROP_COUNT; d++)
            PUT(now, whole(now->cores[i].drops[d]), LABEL("core", now->core_names[i]),
                LABEL("reason", stat_drop_names[d].name), LABEL("side", sides[d]));
}

static void put_stage_cycles(const struct now *now)
{
    for (unsigned i = 0; i < now->n_cores; i++)
        for (unsigned st = 0; st < STAGE_COUNT; st++)
            PUT(now, whole(now->cores[i].cycles[st]), LABEL("core", now->core_names[i]),
                LABEL("stage", stat_stage_names[st].name));
}

// The histogram is finer than these buckets: what it cannot tell from a bound counts above it. The
// sum is of the middles of its buckets, which are a sixteenth wide.
static void put_histogram(const struct now *now, const char *core, const struct latency *l,
                          uint64_t tsc_hz)
{
    uint64_t below = 0;
    double sum_cycles = 0;
    uint32_t b = 0;
    for (unsigned i = 0; i < METRIC_BOUNDS; i++) {
        char le[16];
        snprintf(le, sizeof(le), "%g", metrics_bounds[i]);
        for (; b < LATENCY_BUCKETS && (double)latency_top(b) <= metrics_bounds[i] * (double)tsc_hz;
             b++)
            below += l->counts[b];
        const struct metric_label labels[] = {{"core", core}, {"le", le}};
        put(now, "_bucket", whole(below), 2, labels);
    }
    for (uint32_t k = 0; k < LATENCY_BUCKETS; k++) {
        const double low = k == 0 ? 0 : (double)latency_top(k - 1) + 1;
        sum_cycles += (double)l->counts[k] * (low + (double)latency_top(k)) / 2;
    }
    const struct metric_label labels[] = {{"core", core}, {"le", "+Inf"}};
    const uint64_t count = latency_count(l);
    put(now, "_bucket", whole(count), 2, labels);
    put(now, "_sum", real(sum_cycles / (double)tsc_hz), 1, labels);
    put(now, "_count", whole(count), 1, labels);
}

static void put_latency(const struct now *now)
{
    static struct latency copy;
    for (unsigned i = 0; i < now->n_cores; i++) {
        latency_snapshot(&copy, &worker_at(now, i)->busy);
        put_histogram(now, now->core_names[i], &copy, worker_tsc_hz(worker_at(now, i)));
    }
}

static void put_idle_turns(const struct now *now)
{
    static struct latency copy;
    for (unsigned i = 0; i < now->n_cores; i++) {
        latency_snapshot(&copy, &worker_at(now, i)->idle);
        put_histogram(now, now->core_names[i], &copy, worker_tsc_hz(worker_at(now, i)));
    }
}

static const char *const causes[STALL_CAUSES] = {
#define CAUSE_NAME(name, help) #name,
    STALL_CAUSE_TABLE(CAUSE_NAME)
#undef CAUSE_NAME
};

static void put_stalls(const struct now *now)
{
    uint64_t ns;
    for (unsigned i = 0; i < now->n_cores; i++)
        for (unsigned c = 0; c < STALL_CAUSES; c++)
            PUT(now, whole(stalls_by_cause(now->shown->stalls, i, (enum stall_cause)c, &ns)),
                LABEL("core", now->core_names[i]), LABEL("cause", causes[c]));
}

static void put_stall_seconds(const struct now *now)
{
    uint64_t ns;
    for (unsigned i = 0; i < now->n_cores; i++)
        for (unsigned c = 0; c < STALL_CAUSES; c++) {
            stalls_by_cause(now->shown->stalls, i, (enum stall_cause)c, &ns);
            PUT(now, real((double)ns / 1e9), LABEL("core", now->core_names[i]),
                LABEL("cause", causes[c]));
        }
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
    X(rx_taken_away, "frames that a fault port lost on purpose on the way in")                     \
    X(rx_added, "frames that a fault port added on purpose on the way in")                         \
    X(tx_taken_away, "frames that a fault port lost on purpose on the way out")                    \
    X(tx_added, "frames that a fault port added on purpose on the way out")

#define PUT_PORT(field, help)                                                                      \
    static void put_port_##field(const struct now *now)                                            \
    {                                                                                              \
        for (unsigned i = 0; i < now->n_ports; i++)                                                \
            PUT(now, whole(now->ports[i].field),                                                   \
                LABEL("port", server_port(now->shown->server, i)->name));                          \
    }
PORT_COUNTER_TABLE(PUT_PORT)
#undef PUT_PORT

// What mem/arenas shows: `NAME_bytes VALUE` of each arena, and sums.
static void put_memory(const struct now *now)
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
            PUT(now, whole(strtoull(value, NULL, 10)), LABEL("arena", line));
    }
    text_free(&t);
}

static void put_services(const struct now *now, bool gauges)
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
            PUT(now, whole(sum), LABEL("service", sv->name), LABEL("counter", name));
        }
    }
}

static void put_service_counters(const struct now *now)
{
    put_services(now, false);
}

static void put_service_values(const struct now *now)
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
    X(process_resident_memory_bytes, GAUGE, "Ordinary memory in use; huge pages are apart.",       \
      put_resident_bytes)                                                                          \
    X(c10m_connections_max, GAUGE, "Connections that can be open at once.", put_connections_max)   \
    X(c10m_core_clock_hertz, GAUGE, "Cycles a second of the core's time stamp counter.",           \
      put_core_clock)                                                                              \
    X(c10m_core_useful_ratio, GAUGE, "Share of the last second in turns with work.",               \
      put_core_useful)                                                                             \
    X(c10m_core_stalled_seconds, GAUGE,                                                            \
      "For how long the worker has been caught in one turn; 0: it is not.", put_core_stalled)      \
    X(c10m_core_drops_total, COUNTER,                                                              \
      "Packets that ended for this reason; side rx: received ones, tx: ours.", put_drops)          \
    X(c10m_core_stage_cycles_total, COUNTER, "Cycles spent in this stage of the loop.",            \
      put_stage_cycles)                                                                            \
    X(c10m_core_rx_to_tx_seconds, HISTOGRAM,                                                       \
      "From a packet's receipt to the end of the turn that answers it, each packet once.",         \
      put_latency)                                                                                 \
    X(c10m_core_idle_turn_seconds, HISTOGRAM,                                                      \
      "Lengths of turns that had nothing to do: what the machine takes from the core.",            \
      put_idle_turns)                                                                              \
    X(c10m_core_stalls_total, COUNTER, "Turns over 100 us by their cause.", put_stalls)            \
    X(c10m_core_stall_seconds_total, COUNTER, "Time in turns over 100 us by their cause.",         \
      put_stall_seconds)                                                                           \
    X(c10m_memory_bytes, GAUGE, "Memory reserved at start, by what it is for.", put_memory)        \
    X(c10m_service_events_total, COUNTER, "What the application of a service counts.",             \
      put_service_counters)                                                                        \
    X(c10m_service_value, GAUGE, "Present values that the application of a service shows.",        \
      put_service_values)

struct row {
    struct metric metric;
    void (*put)(const struct now *now);
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

static void read_all(struct now *now, const struct ctl_shown *s, struct metric_sink *to)
{
    now->shown = s;
    now->to = to;
    now->n_cores = server_workers(s->server);
    now->n_ports = server_params_of(s->server)->n_ports;
    for (unsigned i = 0; i < now->n_cores; i++) {
        ctl_tree_core_name(s->server, i, now->core_names[i]);
        stat_snapshot(&now->cores[i], server_worker(s->server, i)->stats);
    }
    for (unsigned i = 0; i < now->n_ports; i++) {
        struct port *p = server_port(s->server, i);
        now->ports[i] = (struct port_stats){0};
        p->ops->stats(p, &now->ports[i]);
    }
}

static void put_core_counter(const struct now *now, unsigned counter)
{
    for (unsigned i = 0; i < now->n_cores; i++)
        PUT(now, whole(((const uint64_t *)&now->cores[i].c)[counter]),
            LABEL("core", now->core_names[i]));
}

void metrics_visit(const struct ctl_shown *s, struct metric_sink *to)
{
    static struct now now;
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
