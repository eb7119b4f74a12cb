// SPDX-License-Identifier: BSD-3-Clause
// The stack as the first lines of a script want it.
#include <stdlib.h>
#include <string.h>

#include "pkt_machine.h"
#include "wire/proto.h"

struct field {
    const char *name;
    size_t at, bytes;
};

#define FIELD(type, name)                                                                          \
    {                                                                                              \
#name, offsetof(type, name), sizeof(((type *)0)->name)                                     \
    }

static const struct field config[] = {
    FIELD(struct tcp_config, rto_min_ms),
    FIELD(struct tcp_config, rto_max_ms),
    FIELD(struct tcp_config, rto_initial_ms),
    FIELD(struct tcp_config, syn_retries),
    FIELD(struct tcp_config, synack_retries),
    FIELD(struct tcp_config, retries),
    FIELD(struct tcp_config, retries1),
    FIELD(struct tcp_config, time_wait_ms),
    FIELD(struct tcp_config, delayed_ack_ms),
    FIELD(struct tcp_config, fin_wait2_ms),
    FIELD(struct tcp_config, rst_per_s),
    FIELD(struct tcp_config, invalid_ack_ms),
    FIELD(struct tcp_config, initial_window),
    FIELD(struct tcp_config, window_scale),
    FIELD(struct tcp_config, pacing_rtt_ms),
    FIELD(struct tcp_config, ack_merge),
    FIELD(struct tcp_config, timestamps),
    FIELD(struct tcp_config, sack),
    FIELD(struct tcp_config, large),
    FIELD(struct tcp_config, black_hole_detection),
    FIELD(struct tcp_config, rfc1337),
    FIELD(struct tcp_config, ecn),
    FIELD(struct tcp_config, mss),
    FIELD(struct tcp_config, mss6),
    FIELD(struct tcp_config, syn_cookies),
    FIELD(struct tcp_config, quick_ack),
    FIELD(struct tcp_config, prefix_share_ppm),
    FIELD(struct tcp_config, service_share_ppm),
};

static const struct field service[] = {
    FIELD(struct tcp_service, nodelay),
    FIELD(struct tcp_service, state),
    FIELD(struct tcp_service, rcv_limit),
    FIELD(struct tcp_service, snd_limit),
    FIELD(struct tcp_service, rcv_initial),
    FIELD(struct tcp_service, snd_initial),
    FIELD(struct tcp_service, keepalive_ms),
    FIELD(struct tcp_service, keepalive_interval_ms),
    FIELD(struct tcp_service, keepalive_probes),
    FIELD(struct tcp_service, user_timeout_ms),
    FIELD(struct tcp_service, connections_max),
    FIELD(struct tcp_service, congestion),
    FIELD(struct tcp_service, pulls),
    FIELD(struct tcp_service, fast_open),
};

static const struct field pool[] = {
    FIELD(struct pair_sizes, blocks),  FIELD(struct pair_sizes, syns),
    FIELD(struct pair_sizes, exts),    FIELD(struct pair_sizes, tw),
    FIELD(struct pair_sizes, bufs),    FIELD(struct pair_sizes, wheel),
    FIELD(struct pair_sizes, flights), FIELD(struct pair_sizes, no_flights),
};

static bool set(struct pkt_machine *m, const struct field *fields, size_t n, void *base)
{
    const uint64_t value = (uint64_t)m->line->n[0];
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i].name, m->line->word[0]) == 0) {
            if (fields[i].bytes < 8 && value >> (8 * fields[i].bytes) != 0)
                return pkt_fail(m, "%llu is too much for %s", (unsigned long long)value,
                                fields[i].name);
            memcpy((uint8_t *)base + fields[i].at, &value, fields[i].bytes);
            return true;
        }
    return pkt_fail(m, "there is no '%s' to set", m->line->word[0]);
}

static bool makes_active_open(const struct pkt_script *s)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->lines[i].verb == PKT_CALL && strcmp(s->lines[i].word[0], "connect") == 0)
            return true;
    return false;
}

// Our initial sequence number is a clock of 4 us plus a hash of the connection (RFC 6528): it is
// chosen by the time at which the script begins.
static uint64_t start_for_isn(struct pkt_machine *m, uint32_t isn)
{
    enum { FIRST_ACTIVE_PORT = 32768 };
    struct flow_key key = m->conns[0].key;
    if (makes_active_open(m->script))
        key.local_port = FIRST_ACTIVE_PORT;
    m->e.tcp.now = clock_at_us(0);
    return 4 * ((uint64_t)(uint32_t)(isn - tcp_isn(&m->e.tcp, &key)) + (1ULL << 32));
}

static void begin_at(struct pkt_machine *m, uint64_t start_us)
{
    struct tcp *t = &m->e.tcp;
    m->start_us = m->now_us = m->last_us = start_us;
    t->now = clock_at_us(start_us);
    t->wheel = wheel_init(t->wheel, m->e.sizes.wheel, t->now.ms);
    t->sweep_ms = t->now.ms - 1000;
}

void pkt_conn_key(struct pkt_machine *m, struct pkt_conn *c, const struct flow_key *key)
{
    c->key = *key;
    const struct clock_now now = m->e.tcp.now;
    m->e.tcp.now = clock_at_us(m->start_us);
    c->ts_base = tcp_ts_now(&m->e.tcp, key);
    m->e.tcp.now = now;
}

void pkt_conn_use(struct pkt_machine *m, unsigned n, uint16_t local_port)
{
    const struct ip_addr v6 = {
        {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};  // RFC 3849
    struct pkt_conn *c = &m->conns[n - 1];
    m->conn = n - 1;
    if (c->key.remote_port != 0 && (local_port == 0 || local_port == c->key.local_port))
        return;
    const struct flow_key key = {
        .remote = m->how.family == 6 ? v6 : ip_from_v4(0x0a000002),
        .remote_port = (uint16_t)(PAIR_RAW_PORT + n - 1),
        .local_port = local_port != 0 ? local_port : PAIR_PORT,
    };
    c->peer_isn = 1000 * n;
    c->win = 65535;
    pkt_conn_key(m, c, &key);
}

static bool set_line(struct pkt_machine *m, uint64_t *start_us)
{
    const struct pkt_line *l = m->line;
    switch (l->verb) {
    case PKT_CONFIG:
        return set(m, config, ARRAY_LEN(config), &m->e.tcp.cfg);
    case PKT_SERVICE:
        return set(m, service, ARRAY_LEN(service), &m->e.tcp.services[0]);
    case PKT_ISN:
        *start_us = start_for_isn(m, (uint32_t)l->n[0]);
        return true;
    case PKT_PEER_ISN:
        m->conns[0].peer_isn = (uint32_t)l->n[0];
        return true;
    case PKT_CLOCK_MS:
        *start_us = (uint64_t)l->n[0] * 1000;
        return true;
    case PKT_TOLERANCE:
        m->tolerance_us = l->at_us[0];
        return true;
    default:
        return true;  // the runner's, or done before
    }
}

bool pkt_setup(struct pkt_machine *m)
{
    struct pair_sizes sizes = {.blocks = 0};
    uint64_t start_us = 1000 * 1000;
    const struct pkt_script *s = m->script;
    for (unsigned i = 0; i < s->n; i++) {
        m->line = &s->lines[i];
        if (m->line->verb == PKT_POOL && !set(m, pool, ARRAY_LEN(pool), &sizes))
            return false;
    }
    end_init(&m->e, 0x0a000001, &sizes);
    m->e.services[0] = (struct c10m_service){.name = pkt_app.name, .app = &pkt_app, .data = m};
    m->e.calls = pkt_calls;
    m->e.tcp.cfg.mss6 = m->e.tcp.cfg.mss;  // as if its links had 20 bytes more
    m->e.calls_arg = m;
    pkt_conn_use(m, 1, 0);
    for (unsigned i = 0; i < s->n; i++) {
        m->line = &s->lines[i];
        if (!set_line(m, &start_us))
            return false;
    }
    if (m->e.tcp.services[0].pulls)
        m->e.services[0].app = &pkt_puller;
    if (m->how.timestamps) {  // full segments carry as much as without
        m->e.tcp.cfg.mss = (uint16_t)(m->e.tcp.cfg.mss + TCP_TS_BYTES);
        m->e.tcp.cfg.mss6 = (uint16_t)(m->e.tcp.cfg.mss6 + TCP_TS_BYTES);
    }
    begin_at(m, start_us);
    pkt_conn_key(m, &m->conns[0], &m->conns[0].key);
    return true;
}
