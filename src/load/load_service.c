// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_service.h"

#include <string.h>

#include "load/load_sink.h"
#include "net/net.h"
#include "tcp/tcp.h"

// A ring uses its packets in rotation. With 1024 slots they stay in the caches of both sides; with
// 8192 slots (20 MB) a copy takes three times as long. The ring has room for the windows of all
// streams, and for two packets of each full connection in the window.
enum { SLOTS = 1024, ALL_WINDOWS = 1 << 20, WINDOW_MIN = 16384, WINDOW_MAX = 512 << 10 };

uint32_t load_ring_slots(const struct load_options *o)
{
    if (o->kind == LOAD_STREAM)
        return SLOTS;
    if (!load_has_full(o))
        return LOAD_RING_SLOTS;
    uint32_t slots = SLOTS;
    while (slots < 2 * o->window)
        slots *= 2;
    return slots;
}

uint32_t load_stream_window(const struct load_options *o)
{
    const uint32_t fair = ALL_WINDOWS / o->connections;
    if (o->receive_window != 0)
        return o->receive_window;
    return MIN(MAX(fair, (uint32_t)WINDOW_MIN), (uint32_t)WINDOW_MAX);
}

const struct c10m_app *load_service_app(const struct load_options *o,
                                        const struct c10m_app *const *apps)
{
    const bool chargen = o->kind == LOAD_STREAM && o->direction == LOAD_DOWN;
    const char *name = o->http ? "http" : chargen ? "chargen" : "echo";
    if (o->direction == LOAD_UP)
        return &load_sink;
    while (strcmp((*apps)->name, name) != 0)
        apps++;
    return *apps;
}

// Parameters of [service http]. The keepalive timeout must not close held connections.
static const char *http_param(const void *options, const char *key)
{
    const struct load_options *o = options;
    if (strcmp(key, "root") == 0)
        return o->root;
    return strcmp(key, "keepalive_timeout_ms") == 0 ? "1073741824" : NULL;
}

void load_service(const struct load_options *o, const struct c10m_app *app, struct server_params *p)
{
    struct server_service_params *s = &p->services[0];
    const bool stream = o->kind == LOAD_STREAM;
    p->n_services = 1;
    s->app = app;
    s->param = o->http ? http_param : NULL;
    s->conf = o;
    s->name = s->app->name;
    s->tcp = (struct tcp_service){.ports = {o->server_port},
                                  .n_ports = 1,
                                  .local_ix = UINT16_MAX,
                                  .nodelay = true,
                                  .rcv_limit = 65536,
                                  .snd_limit = 65536,
                                  .connections_max = p->connections};
    s->tcp.keepalive_ms = o->keepalive_s * 1000;
    s->tcp.keepalive_interval_ms = 75000;  // Linux's
    s->tcp.keepalive_probes = 9;
    if (o->kind == LOAD_UDP) {
        struct net_config *n = &p->ports[0].net;
        n->udp[n->n_udp++] = (struct net_udp_port){o->server_port, UINT16_MAX, 0};
    }
    if (stream)
        s->tcp.rcv_limit = s->tcp.snd_limit = load_stream_window(o);
}
