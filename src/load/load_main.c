// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_main.h"

#include <rte_cycles.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "drivers/eal.h"
#include "drivers/port_table.h"
#include "load/load_close_first.h"
#include "load/load_corrupt.h"
#include "load/load_port.h"
#include "load/load_prof.h"
#include "load/load_ring.h"
#include "load/load_service.h"
#include "load/load_sink.h"
#include "worker/worker.h"

static volatile sig_atomic_t asked_to_stop;  // by SIGUSR1

enum {
    HOP_SECONDS = 10,                        // time for the next hop to answer
    LOCKSTEP_TURNS = 2 * 16384 / BURST_MAX,  // most turns of the server after one of the client
};

#define LINGER_S 0.4  // seconds; twice the shortest retransmission timeout

void load_run_params(const struct load_options *o, struct load_params *p)
{
    p->connections = load_all(o);
    p->window = MIN(o->window, p->connections);
    p->give_up_ms = o->give_up_ms;
    p->payload = o->payload;
    p->rounds = o->kind == LOAD_HOLD ? o->rounds : 0;
    p->http_path = o->http ? o->path : NULL;
    p->order = o->order;
    p->seed = o->seed;
    p->timestamps = o->timestamps;
    p->close = o->close;
    if (load_has_full(o)) {
        p->tuples = o->connections;
        p->rate = o->rate;
        p->asks = o->asks;
        p->flood = o->flood;
        p->time_wait_ms = o->time_wait_s * 1000;
        p->life_ms = o->life_s * 1000;
        p->closer = o->closer;
    }
    p->udp = o->kind == LOAD_UDP;
    if (p->udp || o->kind == LOAD_REQUEST)
        p->rate = o->rate;
    if (o->kind == LOAD_STREAM) {
        p->stream = o->direction;
        p->reopen = o->reopen;
        p->stream_window = load_stream_window(o);
    }
}

static void progress(struct load_run *r, uint64_t second)
{
    struct text line;
    text_init(&line, 1 << 10);
    load_report_progress(r->load, &r->shown, second, &line);
    fputs(text_str(&line), stderr);
    text_free(&line);
}

// The sum of the counters of all workers.
static void snapshot(const struct load_run *r, struct core_stats *sum)
{
    const struct core_stats *each[LOAD_WORKERS_MAX];
    if (r->server == NULL)
        return;
    for (unsigned i = 0; i < r->o.workers; i++)
        each[i] = server_worker(r->server, i)->stats;
    stat_sum(sum, each, r->o.workers);
}

// Whether it is the phase in which requests are sent.
static bool has_asked(const struct load_run *r, enum load_phase phase)
{
    return phase == (load_has_full(&r->o) ? LOAD_FULL : LOAD_ASK);
}

// Stores times and counters at the end of a phase that took `seconds`.
static void note_phase(struct load_run *r, enum load_phase ended, enum load_phase next,
                       double seconds)
{
    struct load_result *out = &r->result;
    double *const took[] = {[LOAD_OPEN] = &out->open_s, [LOAD_CLOSE] = &out->close_s};
    const enum load_phase asked = load_has_full(&r->o) ? LOAD_FULL : LOAD_ASK;
    if (ended == asked)
        out->ask_s = seconds;
    else if (took[ended] != NULL)
        *took[ended] = seconds;
    if (next == asked) {
        snapshot(r, &out->asked_from);
        out->counted_from = *load_counters(r->load);
    }
    if (ended == asked) {
        snapshot(r, &out->asked_to);
        out->counted_to = *load_counters(r->load);
        if (out->stop_s <= 0) {
            out->stop_s = seconds;
            out->counted_stop = out->counted_to;
        }
    }
}

// A server elsewhere may retransmit its FIN if the last ACK was lost: answer it for LINGER_S.
static void linger(struct load_run *r, double now_s)
{
    const double hz = (double)rte_get_tsc_hz();
    const uint64_t start = tsc_read();
    for (double s = 0; s < LINGER_S && !interrupted(); s = (double)(tsc_read() - start) / hz)
        load_turn(r->load, (uint64_t)((now_s + s) * 1e9));
}

// After this call only outstanding requests are completed.
static void stop_asking(struct load_run *r, double seconds)
{
    struct load_result *out = &r->result;
    load_stop_asking(r->load);
    if (out->stop_s > 0)
        return;
    out->stop_s = seconds;
    out->counted_stop = *load_counters(r->load);
}

// Whether the time of the requests is over, or SIGUSR1 has ended it. `hold` counts rounds instead.
static bool is_over(const struct load_run *r, double seconds)
{
    return r->o.kind != LOAD_HOLD && (seconds >= r->o.seconds || asked_to_stop != 0);
}

static void on_stop(int sig)
{
    (void)sig;
    asked_to_stop = 1;
}

// Runs the server's turns on the client's core until it receives nothing.
static void server_turns(const struct load_run *r)
{
    struct worker *w = server_worker(r->server, 0);
    unsigned n = 0;
    do
        worker_turn_now(w);
    while (w->n_rx != 0 && ++n < LOCKSTEP_TURNS);
}

// Returns 0, or -1 if the next hop does not answer, or if a profile cannot be written.
static int drive(struct load_run *r, struct err *err)
{
    const double hz = (double)rte_get_tsc_hz();
    const uint64_t start = tsc_read();
    enum load_phase phase = LOAD_OPEN;
    uint64_t second = 0;
    double began = 0, now = 0;
    while (phase != LOAD_END && !interrupted()) {
        now = (double)(tsc_read() - start) / hz;
        const enum load_phase next = load_turn(r->load, (uint64_t)(now * 1e9));
        if (r->o.lockstep)
            server_turns(r);
        load_prof_turn(r, now);
        if (unlikely(!load_ready(r->load))) {
            began = now;
            if (now >= HOP_SECONDS)
                return err_set(err, "the next hop has not answered for %d s (%s)", HOP_SECONDS,
                               r->o.v6 ? "Neighbor Discovery" : "ARP");
        }
        if (next != phase) {
            note_phase(r, phase, next, now - began);
            if (has_asked(r, phase) && load_prof_memory(r, err) != 0)
                return -1;
            began = now;
            phase = next;
        }
        if (is_over(r, now - began) && has_asked(r, phase))
            stop_asking(r, now - began);
        if ((uint64_t)now != second) {
            second = (uint64_t)now;
            if (!r->o.quiet)
                progress(r, second);
        }
    }
    if (phase != LOAD_END)
        note_phase(r, phase, LOAD_END, now - began);
    else if (r->server == NULL)
        linger(r, now);
    return 0;
}

static void collect_server(struct load_run *r)
{
    struct load_result *out = &r->result;
    struct core_stats end;
    struct port *server_end = server_port(r->server, 0);
    snapshot(r, &end);
    out->workers = r->o.workers;
    for (unsigned i = 0; i < r->o.workers; i++)
        stat_snapshot(&out->end[i], server_worker(r->server, i)->stats);
    out->server_retransmitted = end.c.tx_retransmits_segs;
    if (fault_inner(server_end) != NULL)
        fault_read(server_end, &out->to_server, &out->to_client);
    if (r->o.kind == LOAD_STREAM && r->o.direction == LOAD_UP) {
        out->sink_bytes = load_sink_bytes();
        out->sink_wrong = load_sink_wrong();
        out->ok = out->ok && out->sink_wrong == 0;
    }
    if (r->o.faults.falsify_ppm != 0)
        out->falsified = load_corrupt_count();
}

static void collect(struct load_run *r)
{
    struct load_result *out = &r->result;
    out->options = &r->o;
    out->load = r->load;
    out->here = r->server != NULL;
    out->interrupted = interrupted();
    out->ok = !interrupted() && load_all_right(r->load);
    out->tsc_hz = (double)rte_get_tsc_hz();
    if (r->server != NULL)
        collect_server(r);
    else if (fault_inner(r->port) != NULL)
        fault_read(r->port, &out->to_client, &out->to_server);
}

static void report(struct load_run *r)
{
    struct text out, arenas;
    text_init(&out, 1 << 16);
    text_init(&arenas, 1 << 12);
    if (r->server != NULL)
        server_arenas(r->server, &arenas);
    r->result.arenas = text_str(&arenas);
    if (r->o.json)
        load_report_json(&r->result, &out);
    else
        load_report_table(&r->result, &out);
    fputs(text_str(&out), stdout);
    text_free(&arenas);
    text_free(&out);
}

static void tear_down(struct load_run *r)
{
    struct err ignored;
    load_prof_end(r, &ignored);
    if (r->server != NULL)
        server_stop_workers(r->server);
    load_free(r->load);
    port_close(r->port);
    pkt_pool_destroy(r->pool);
    if (r->server != NULL)
        server_stop(r->server);
    if (r->eal_up)
        eal_stop();
}

static int show_help(void)
{
    struct text help;
    text_init(&help, 1 << 14);
    load_options_help(&help);
    fputs(text_str(&help), stdout);
    text_free(&help);
    return 0;
}

int load_main(int argc, char **argv, const struct c10m_app *const *apps)
{
    static struct load_run r;
    struct err err = {.text = ""};
    char prefix[32];
    const int rc = load_options_parse(argc, argv, &r.o, &err);
    if (rc > 0)
        return show_help();
    if (rc < 0) {
        fprintf(stderr, "c10m load: %s\n", err.text);
        return 2;
    }
    const struct c10m_app *app = load_service_app(&r.o, apps);
    if (r.o.faults.falsify_ppm != 0)
        app = load_corrupt(app, r.o.faults.falsify_ppm, r.o.seed);
    if (r.o.closer == LOAD_BY_SERVER)
        app = load_close_first(app);
    if (r.o.config != NULL && load_port_read(&r.o, stderr) != 0)
        return 2;
    snprintf(prefix, sizeof(prefix), "c10mload%d", (int)getpid());
    // A signal ends the run with its report, and all resources are freed.
    interrupt_catch();
    sigaction(SIGUSR1, &(const struct sigaction){.sa_handler = on_stop}, NULL);
    const bool up = load_prof_open(&r, &err) == 0 &&
                    (r.o.config != NULL ? load_port_set_up(&r, prefix, &err)
                                        : load_ring_set_up(&r, app, prefix, &err)) == 0;
    bool done = up && load_prof_begin(&r, &err) == 0 && drive(&r, &err) == 0;
    if (done) {
        collect(&r);
        report(&r);
        done = load_prof_end(&r, &err) == 0;
        r.result.ok &= done;
    }
    if (!done)
        fprintf(stderr, "c10m load: %s\n", err.text);
    tear_down(&r);
    return r.result.ok ? 0 : 1;
}
