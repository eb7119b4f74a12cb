// SPDX-License-Identifier: BSD-3-Clause
// The applications of the table: host 0 sends to whoever opens a connection what the flow's bursts
// say, host 1 opens and takes; the bytes are compared. Byte i of a flow is
// sim_pattern[i % SIM_PATTERN].
#include <string.h>

#include "sock/sock_internal.h"
#include "table.h"

struct state {
    uint32_t flow_1;  // plus one; 0: just opened
    uint32_t host;
};

static struct table_flow *flow_of(const struct c10m_conn *c)
{
    return &table_now->flows[((const struct state *)c->b->app)->flow_1 - 1];
}

static bool sends(const struct c10m_conn *c)
{
    return ((const struct state *)c->b->app)->host == 0;
}

static void attach(struct table_world *t, unsigned f, unsigned host, uint32_t ix)
{
    const struct state st = {f + 1, host};
    memcpy(t->w.hosts[host]->w->tcp.blocks[ix].app, &st, sizeof(st));
    t->flows[f].block[host] = ix;
}

void table_connect(struct table_world *t, unsigned f)
{
    struct sim_host *h = t->w.hosts[1];
    struct tcp *tcp = &h->w->tcp;
    const struct ip_addr to = sim_addr(t->w.plan, 0);
    uint32_t ix;
    tcp->now = clock_at_us(sim_host_us(h, t->w.now_ns));
    CHECK(tcp_connect(tcp, &to, SIM_PORT, 0, 0, &ix) == 0);
    tcp->blocks[ix].flags |= BF_IN_APP;
    attach(t, f, 1, ix);
    t->flows[f].port = tcp->blocks[ix].key.local_port;
}

static void pump(struct c10m_conn *c)
{
    static const struct c10m_image image = {sim_pattern, sizeof(sim_pattern), NULL};
    struct table_flow *f = flow_of(c);
    while (f->queued < f->allowed) {
        const uint64_t n = MIN(f->allowed - f->queued, (uint64_t)SIM_PATTERN_MORE);
        if (!c10m_send_ref(c, &image, f->queued % SIM_PATTERN, n))
            return;
        f->queued += n;
    }
}

// What the bursts that are due allow; a timer for the next.
static void go_on(struct c10m_conn *c)
{
    struct table_flow *f = flow_of(c);
    const uint64_t ms = c10m_now_us(c) / 1000 - f->opened_ms;
    f->allowed = 0;
    for (unsigned i = 0; i < f->n_bursts; i++) {
        if (f->bursts[i].at_ms > ms) {
            c10m_set_timer(c, f->bursts[i].at_ms - (uint32_t)ms);
            break;
        }
        f->allowed =
            f->bursts[i].bytes == UINT64_MAX ? UINT64_MAX : f->allowed + f->bursts[i].bytes;
    }
    pump(c);
}

static void on_open(struct c10m_conn *c)
{
    struct table_world *t = table_now;
    if (((const struct state *)c->b->app)->flow_1 == 0) {
        unsigned f = 0;
        while (f < t->n_flows && t->flows[f].port != c->b->key.remote_port)
            f++;
        SIM_CHECK(f < t->n_flows, "opened by a stranger");
        attach(t, f, 0, c->ix);
    }
    struct table_flow *f = flow_of(c);
    f->open[!sends(c)] = true;
    if (!sends(c))
        return;
    f->opened_ms = c10m_now_us(c) / 1000;
    go_on(c);
}

static size_t on_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    struct table_flow *f = flow_of(c);
    SIM_CHECK(memcmp(data, sim_pattern + f->received % SIM_PATTERN, len) == 0,
              "flow %u: wrong bytes near %llu", (unsigned)(f - table_now->flows),
              (unsigned long long)f->received);
    f->received += len;
    return len;
}

static void on_writable(struct c10m_conn *c)
{
    pump(c);
}

static void on_timer(struct c10m_conn *c)
{
    go_on(c);
}

static void on_close(struct c10m_conn *c, enum c10m_close why)
{
    sim_fail("flow %u: closed, %d", (unsigned)(flow_of(c) - table_now->flows), (int)why);
}

static const struct c10m_app app = {.name = "table",
                                    .open = on_open,
                                    .data = on_data,
                                    .writable = on_writable,
                                    .timer = on_timer,
                                    .close = on_close};

const struct c10m_app *sim_app_of(const struct sim_host_plan *h)
{
    (void)h;
    return &app;
}

const struct block *table_sender(const struct table_world *t, unsigned f)
{
    const struct table_flow *flow = &t->flows[f];
    return flow->open[0] ? &t->w.hosts[0]->w->tcp.blocks[flow->block[0]] : NULL;
}

const struct block *table_receiver(const struct table_world *t, unsigned f)
{
    const struct table_flow *flow = &t->flows[f];
    return flow->open[1] ? &t->w.hosts[1]->w->tcp.blocks[flow->block[1]] : NULL;
}
