// SPDX-License-Identifier: BSD-3-Clause
// The application of a script: takes everything, or as much as the script says, keeps it for
// `expect`, and makes the script's calls from inside a callback, as applications do.
#include <stdlib.h>
#include <string.h>

#include "c10m/socket.h"
#include "pkt_machine.h"
#include "sock/sock_internal.h"

static struct pkt_machine *machine_of(struct c10m_conn *c)
{
    return c10m_service_data(c10m_service_of(c));
}

// One that the script did not number is counted as connection 1's: its events are then unexpected.
static struct pkt_conn *conn_of(struct c10m_conn *c)
{
    struct pkt_machine *m = machine_of(c);
    for (unsigned i = 0; i < PKT_CONNS_MAX; i++)
        if (flow_key_equal(&m->conns[i].key, &c->b->key))
            return &m->conns[i];
    return &m->conns[0];
}

static void on_open(struct c10m_conn *c)
{
    conn_of(c)->opened++;
}

static void keep(struct pkt_conn *p, const uint8_t *data, size_t len)
{
    if (p->n_read + len > p->n_room) {
        p->n_room = (p->n_read + len) * 2;
        p->read = realloc(p->read, p->n_room);
        CHECK(p->read != NULL);
    }
    if (len != 0)
        memcpy(p->read + p->n_read, data, len);
    p->n_read += len;
    p->credit -= p->hold ? len : 0;
}

static size_t on_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    struct pkt_conn *p = conn_of(c);
    if (p->hold)
        len = MIN(len, p->credit);
    keep(p, data, len);
    return len;
}

// By itself: in two pieces, the first of which is looked at before.
static void on_readable(struct c10m_conn *c)
{
    struct pkt_conn *p = conn_of(c);
    uint8_t bytes[1000], again[sizeof(bytes)];
    p->error = c10m_error(c);
    for (size_t n = 1; n != 0;) {
        n = p->hold ? MIN(sizeof(bytes), p->credit) : sizeof(bytes);
        n = c10m_peek(c, 0, bytes, n);
        CHECK(c10m_read(c, again, n) == n && memcmp(bytes, again, n) == 0);
        keep(p, bytes, n);
    }
}

static void on_end(struct c10m_conn *c)
{
    conn_of(c)->ended++;
}

static void on_writable(struct c10m_conn *c)
{
    conn_of(c)->writable++;
}

static void on_close(struct c10m_conn *c, enum c10m_close why)
{
    struct pkt_conn *p = conn_of(c);
    p->closed++;
    p->why = why;
    p->error = c10m_error(c);
}

static void do_write(struct pkt_machine *m, struct pkt_conn *p, struct c10m_conn *c)
{
    const size_t len = (size_t)m->call->n[0];
    uint8_t *bytes = malloc(len + 1);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < len; i++)
        bytes[i] = pkt_byte(p->written + (uint32_t)i, 0);
    const size_t n = c10m_send(c, bytes, len);
    const int64_t expected = m->call->n[1] < 0 ? (int64_t)len : m->call->n[1];
    p->written += (uint32_t)n;
    free(bytes);
    if ((int64_t)n != expected)
        pkt_fail(m, "expected write %zu = %lld, got %zu", len, (long long)expected, n);
}

static void take(struct pkt_conn *p, struct c10m_conn *c, bool hold, uint64_t credit)
{
    p->hold = hold;
    p->credit = credit;
    if (c10m_service_of(c)->app == &pkt_puller)
        on_readable(c);
    else
        c10m_resume(c);
}

static void set_option(struct pkt_machine *m, struct c10m_conn *c)
{
    static const struct {
        const char *name;
        enum c10m_option option;
    } all[] = {{"keepalive_interval_ms", C10M_OPT_KEEPALIVE_INTERVAL_MS},
               {"keepalive_probes", C10M_OPT_KEEPALIVE_PROBES},
               {"user_timeout_ms", C10M_OPT_USER_TIMEOUT_MS},
               {"rcv_limit", C10M_OPT_RCV_LIMIT},
               {"snd_limit", C10M_OPT_SND_LIMIT},
               {"window_clamp", C10M_OPT_WINDOW_CLAMP},
               {"maxseg", C10M_OPT_MAXSEG},
               {"syn_retries", C10M_OPT_SYN_RETRIES},
               {"linger2_ms", C10M_OPT_LINGER2_MS},
               {"cork", C10M_OPT_CORK},
               {"more", C10M_OPT_MORE},
               {"quickack", C10M_OPT_QUICKACK},
               {"df", C10M_OPT_DF}};
    for (unsigned i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(all[i].name, m->call->word[1]) == 0) {
            if (c10m_set_option(c, all[i].option, (uint32_t)m->call->n[0]) != 0)
                pkt_fail(m, "expected option %s to be set", all[i].name);
            return;
        }
    pkt_fail(m, "no option is called '%s'", m->call->word[1]);
}

// The call that the script makes now.
static void on_timer(struct c10m_conn *c)
{
    struct pkt_machine *m = machine_of(c);
    struct pkt_conn *p = conn_of(c);
    const char *what = m->call->word[0];
    if (strcmp(what, "write") == 0)
        do_write(m, p, c);
    else if (strcmp(what, "read") == 0)
        take(p, c, true, (uint64_t)m->call->n[0]);
    else if (strcmp(what, "drain") == 0)
        take(p, c, false, 0);
    else if (strcmp(what, "hold") == 0)
        p->hold = true;
    else if (strcmp(what, "pause") == 0)
        c10m_pause(c);
    else if (strcmp(what, "resume") == 0)
        c10m_resume(c);
    else if (strcmp(what, "shutdown") == 0)
        c10m_shutdown(c);
    else if (strcmp(what, "abort") == 0)
        c10m_abort(c);
    else if (strcmp(what, "nodelay") == 0)
        c10m_set_option(c, C10M_OPT_NODELAY, (uint32_t)m->call->n[0]);
    else if (strcmp(what, "keepalive_ms") == 0)
        c10m_set_option(c, C10M_OPT_KEEPALIVE_MS, (uint32_t)m->call->n[0]);
    else if (strcmp(what, "close") == 0)
        c10m_close(c);
    else if (strcmp(what, "record") == 0)
        c10m_end_record(c);
    else if (strcmp(what, "option") == 0)
        set_option(m, c);
    else
        CHECK(false);
}

const struct c10m_app pkt_app = {
    .name = "script",
    .open = on_open,
    .data = on_data,
    .end = on_end,
    .writable = on_writable,
    .timer = on_timer,
    .close = on_close,
};

const struct c10m_app pkt_puller = {
    .name = "script that reads",
    .open = on_open,
    .readable = on_readable,
    .end = on_end,
    .writable = on_writable,
    .timer = on_timer,
    .close = on_close,
};

static void do_connect(struct pkt_machine *m, struct pkt_conn *p)
{
    struct tcp *t = &m->e.tcp;
    uint32_t ix;
    const int rc = tcp_connect(t, &p->key.remote, p->key.remote_port, 0, 0, &ix);
    if (rc != 0) {
        pkt_fail(m, "expected connect to work, got %s", strerror(-rc));
        return;
    }
    t->blocks[ix].flags |= BF_IN_APP;
    pkt_conn_key(m, p, &t->blocks[ix].key);
}

static void one_call(struct pkt_machine *m, struct pkt_conn *p)
{
    struct tcp *t = &m->e.tcp;
    if (strcmp(m->call->word[0], "connect") == 0) {
        do_connect(m, p);
        return;
    }
    const uint32_t handle = tcp_owner(t, &p->key);
    if (strcmp(m->call->word[0], "hold") == 0 && handle == FLOW_NONE) {  // beforehand
        p->hold = true;
        return;
    }
    if (handle == FLOW_NONE || flow_index_kind(handle) != FLOW_BLOCK) {
        pkt_fail(m, "expected a connection for %s, got none", m->call->word[0]);
        return;
    }
    const struct tcp_verdict v = {
        .block = flow_index_ix(handle), .chain = BUF_NONE, .events = TCP_EV_APP_TIMER};
    sock_event(&m->e.sock, &v, NULL);
    if (p->credit != 0)
        pkt_fail(m, "expected read %lld, got %lld bytes", (long long)m->call->n[0],
                 (long long)m->call->n[0] - (long long)p->credit);
    p->credit = 0;
}

void pkt_calls(void *machine)
{
    struct pkt_machine *m = machine;
    const struct pkt_line *line = m->line;
    for (unsigned i = 0; i < m->n_calls; i++) {
        m->line = m->call = m->calls[i].line;
        one_call(m, &m->conns[m->calls[i].conn]);
    }
    m->n_calls = 0;
    m->line = line;
}
