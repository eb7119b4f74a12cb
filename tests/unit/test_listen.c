// SPDX-License-Identifier: BSD-3-Clause
// Listening while running (c10m/socket.h): who gets a SYN, and both of Linux's queues, on a real
// TCP in virtual time. Over both families.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "seed.h"
#include "tcp_pair.h"

enum { PORT = 8000 };

static const struct ip_addr locals[] = {{{[10] = 0xff, [11] = 0xff, 10, 0, 0, 1}},
                                        {{[10] = 0xff, [11] = 0xff, 10, 0, 0, 9}},
                                        {{0xfd, [15] = 1}},
                                        {{0xfd, [15] = 9}}};

// ---- an application that notes by whom its connections came

static struct {
    int by[64];
    unsigned opened, closed;
    bool accepts;  // in open
} seen;

static void note_open(struct c10m_conn *c)
{
    static const uint8_t zero[C10M_STATE_BYTES];
    const int by = c10m_listener(c);
    assert_memory_equal(c10m_state(c), zero, sizeof(zero));
    seen.by[seen.opened++] = by;
    if (seen.accepts)
        c10m_accepted(c10m_core_of(c), by);
}

static size_t note_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    (void)data;
    assert_int_equal(c10m_listener(c), -1);  // in `open` alone
    return len;
}

static void note_close(struct c10m_conn *c, enum c10m_close why)
{
    (void)c;
    (void)why;
    seen.closed++;
}

static const struct c10m_app noter = {
    .name = "noter", .open = note_open, .data = note_data, .close = note_close};

// ---- a peer by hand, at any address

static struct raw *begin(void)
{
    memset(&seen, 0, sizeof(seen));
    struct raw *r = raw_new(&(struct pair_sizes){.blocks = 64, .syns = 64});
    r->e.tcp.listens = calloc(1, sizeof(*r->e.tcp.listens));
    r->e.sock.locals = r->e.sock.shown = locals;
    r->e.sock.n_locals = ARRAY_LEN(locals);
    r->e.services[0].app = &noter;
    return r;
}

static void done(struct raw *r)
{
    struct listen_table *l = r->e.tcp.listens;
    r->n = 0;
    for (uint32_t ix = 0; ix < r->e.sizes.blocks; ix++)
        if (r->e.tcp.blocks[ix].state != TCP_FREE) {
            r->e.tcp.blocks[ix].flags |= BF_ABORT;
            const struct tcp_verdict v = {.block = ix, .chain = BUF_NONE};
            sock_event(&r->e.sock, &v, NULL);
        }
    for (int i = 0; i < 6000 && end_leaks(&r->e) != NULL; i++)
        raw_turn(r, 100);
    raw_free(r, true);
    free(l);
}

static struct c10m_listening at(const struct ip_addr *addr, uint16_t port)
{
    struct c10m_listening l = {.at = {.port = port}, .backlog = 128};
    if (addr != NULL)
        memcpy(l.at.addr, addr->b, sizeof(l.at.addr));
    return l;
}

static int listen_at(struct raw *r, const struct c10m_listening *l)
{
    return c10m_listen(&r->e.sock.core, &r->e.services[0], l);
}

// A listener at all addresses on PORT.
static int listen_with(struct raw *r, uint32_t backlog, uint32_t defer_s)
{
    struct c10m_listening l = at(NULL, PORT);
    l.backlog = backlog;
    l.defer_s = defer_s;
    const int id = listen_at(r, &l);
    assert_true(id >= 0);
    return id;
}

static uint8_t answer(const struct raw *r)
{
    return r->e.tcp.n_out == 0 ? 0 : r->e.out[0].flags;
}

static struct seg_in *seg(struct raw *r, uint8_t flags, uint16_t port, uint16_t local_ix)
{
    struct seg_in *s = raw_seg(r, flags, r->seq, flags & SEG_ACK ? r->ack : 0, 0, 0);
    s->key.local_port = port;
    s->key.local_ix = local_ix;
    if (!ip_is_v4(&locals[local_ix]))
        s->key.remote = (struct ip_addr){{0xfd, [15] = 77}};
    return s;
}

// A SYN from the next port of the peer; the flags of the answer.
static uint8_t syn(struct raw *r, uint16_t port, uint16_t local_ix)
{
    r->port++;
    r->seq += 100000;
    seg(r, SEG_SYN, port, local_ix);
    raw_turn(r, 1);
    if (answer(r) == (SEG_SYN | SEG_ACK))
        r->ack = r->e.out[0].seq + 1;
    r->seq++;
    return answer(r);
}

static uint8_t ack(struct raw *r, uint16_t port, uint16_t local_ix)
{
    seg(r, SEG_ACK, port, local_ix);
    raw_turn(r, 1);
    return answer(r);
}

// A whole handshake: by whom it came; -2: there was none.
static int shake(struct raw *r, uint16_t port, uint16_t local_ix)
{
    const unsigned before = seen.opened;
    if (syn(r, port, local_ix) != (SEG_SYN | SEG_ACK))
        return -2;
    ack(r, port, local_ix);
    return seen.opened == before ? -2 : seen.by[before];
}

#define DROPPED(r, reason) ((r)->e.stats.drops[DROP_##reason])
#define HALF_OPEN(r)       ((r)->e.stats.c.syn_records_now)

// ---- who gets it

static void a_connection_comes_by_the_listener_that_fits_it_best(void **state)
{
    struct raw *r = begin();
    const struct ip_addr v4 = ip_from_v4(0);
    struct c10m_listening any = at(NULL, PORT), all4 = at(&v4, PORT), all6 = at(NULL, PORT);
    struct c10m_listening one4 = at(&locals[1], PORT), one6 = at(&locals[3], PORT);
    all6.v6only = true;
    const int of_any = listen_at(r, &any);
    for (uint16_t i = 0; i < ARRAY_LEN(locals); i++)
        assert_int_equal(shake(r, PORT, i), of_any);
    const int of_all4 = listen_at(r, &all4);
    const int of_one4 = listen_at(r, &one4), of_one6 = listen_at(r, &one6);
    assert_int_equal(shake(r, PORT, 0), of_all4);
    assert_int_equal(shake(r, PORT, 1), of_one4);
    assert_int_equal(shake(r, PORT, 2), of_any);
    assert_int_equal(shake(r, PORT, 3), of_one6);
    const int of_all6 = listen_at(r, &all6);
    assert_int_equal(shake(r, PORT, 2), of_all6);
    assert_int_equal(shake(r, PORT, 3), of_one6);
    c10m_unlisten(&r->e.sock.core, of_one4);
    assert_int_equal(shake(r, PORT, 1), of_all4);
    c10m_unlisten(&r->e.sock.core, of_all4);
    assert_int_equal(shake(r, PORT, 1), of_any);
    c10m_unlisten(&r->e.sock.core, of_any);
    assert_int_equal(shake(r, PORT, 1), -2);
    assert_int_equal(answer(r), SEG_RST | SEG_ACK);
    assert_int_equal(shake(r, PORT, 2), of_all6);
    done(r);
}

static void other_ports_are_reset_and_configured_ones_go_on(void **state)
{
    struct raw *r = begin();
    assert_int_equal(syn(r, PORT, 0), SEG_RST | SEG_ACK);
    listen_with(r, 1, 0);
    assert_int_equal(syn(r, PORT + 1, 0), SEG_RST | SEG_ACK);
    assert_int_equal(shake(r, PAIR_PORT, 0), -1);
    assert_int_equal(seen.opened, 1);
    done(r);
}

static void a_listener_that_cannot_be_is_refused_by_an_error(void **state)
{
    struct raw *r = begin();
    const struct ip_addr stranger = ip_from_v4(0x0a000002), v4 = ip_from_v4(0);
    struct c10m_listening l = at(NULL, 0);
    assert_int_equal(listen_at(r, &l), -EINVAL);
    l = at(&stranger, PORT);
    assert_int_equal(listen_at(r, &l), -EADDRNOTAVAIL);
    l = at(&locals[1], PAIR_PORT);
    assert_int_equal(listen_at(r, &l), -EADDRINUSE);
    l = at(NULL, PAIR_PORT);
    assert_int_equal(listen_at(r, &l), -EADDRINUSE);
    r->e.tcp.services[0].local_ix = 0;
    assert_int_equal(listen_at(r, &l), -EADDRINUSE);
    l = at(&locals[0], PAIR_PORT);
    assert_int_equal(listen_at(r, &l), -EADDRINUSE);
    l = at(&locals[1], PAIR_PORT);
    const int id = listen_at(r, &l);  // the service is at another address
    assert_true(id >= 0);
    assert_int_equal(listen_at(r, &l), -EADDRINUSE);
    l = at(&v4, PORT);
    assert_true(listen_at(r, &l) >= 0);
    l.v6only = true;  // says nothing of IPv4
    assert_int_equal(listen_at(r, &l), -EADDRINUSE);
    struct listen_table *table = r->e.tcp.listens;
    r->e.tcp.listens = NULL;
    assert_int_equal(listen_at(r, &l), -ENOBUFS);
    assert_int_equal(c10m_listen_set(&r->e.sock.core, id, &l), -EBADF);
    c10m_unlisten(&r->e.sock.core, id);
    c10m_accepted(&r->e.sock.core, id);
    r->e.tcp.listens = table;
    done(r);
}

static void there_are_so_many_and_a_place_given_back_has_another_id(void **state)
{
    static int ids[C10M_LISTENING_MAX];
    struct raw *r = begin();
    struct c10m_core *w = &r->e.sock.core;
    for (unsigned i = 0; i < C10M_LISTENING_MAX; i++) {
        const struct c10m_listening l = at(&locals[i % 4], (uint16_t)(1000 + i / 4));
        ids[i] = listen_at(r, &l);
        assert_true(ids[i] >= 0);
        for (unsigned k = 0; k < i; k++)
            assert_int_not_equal(ids[i], ids[k]);
    }
    struct c10m_listening l = at(NULL, PORT);
    assert_int_equal(listen_at(r, &l), -ENOBUFS);
    for (unsigned i = 0; i < C10M_LISTENING_MAX; i += 97)
        assert_int_equal(shake(r, (uint16_t)(1000 + i / 4), (uint16_t)(i % 4)), ids[i]);
    c10m_unlisten(w, ids[500]);
    const int id = listen_at(r, &l);
    assert_true(id >= 0 && id != ids[500]);
    assert_int_equal(shake(r, PORT, 2), id);
    assert_int_equal(c10m_listen_set(w, ids[500], &l), -EBADF);
    c10m_unlisten(w, ids[500]);  // not the new one
    assert_int_equal(shake(r, PORT, 2), id);
    assert_int_equal(c10m_listen_set(w, -1, &l), -EBADF);
    assert_int_equal(c10m_listen_set(w, INT32_MAX, &l), -EBADF);
    for (unsigned i = 0; i < C10M_LISTENING_MAX; i++)
        c10m_unlisten(w, ids[i]);
    c10m_unlisten(w, id);
    assert_int_equal(r->e.tcp.listens->used, 0);
    for (unsigned i = 0; i < ARRAY_LEN(r->e.tcp.listens->heads); i++)
        assert_int_equal(r->e.tcp.listens->heads[i], 0);
    done(r);
}

// What a list of them says.
struct model {
    uint16_t port, scope;
    uint8_t device;
    int id;
};

static int model_id(const struct model *m, unsigned n, uint16_t port, uint16_t scope,
                    uint8_t device)
{
    for (unsigned i = 0; i < n; i++)
        if (m[i].port == port && m[i].scope == scope && m[i].device == device)
            return m[i].id;
    return -1;
}

static int best_of(const struct model *m, unsigned n, uint16_t port, uint16_t local_ix,
                   uint8_t device)
{
    const uint16_t family = ip_is_v4(&locals[local_ix]) ? TCP_LISTEN_V4 : TCP_LISTEN_V6;
    const struct model order[] = {{.scope = local_ix, .device = device},
                                  {.scope = local_ix},
                                  {.scope = family, .device = device},
                                  {.scope = TCP_LISTEN_ANY, .device = device},
                                  {.scope = family},
                                  {.scope = TCP_LISTEN_ANY}};
    for (unsigned k = 0; k < ARRAY_LEN(order); k++) {
        const int id = model_id(m, n, port, order[k].scope, order[k].device);
        if (id >= 0)
            return id;
    }
    return -1;
}

static int found_for(const struct tcp *t, uint16_t port, uint16_t local_ix, uint8_t device)
{
    const uint16_t at =
        tcp_listen_find(t->listens, port, local_ix, ip_is_v4(&locals[local_ix]), device);
    return at == TCP_LISTEN_NONE ? -1 : tcp_listen_id(t->listens, at);
}

static void what_is_opened_and_closed_at_random_is_found_as_in_a_list(void **state)
{
    enum { STEPS = 30000, PORTS = 12, DEVICES = 3 };
    static const uint16_t scopes[] = {0, 1, 2, 3, TCP_LISTEN_V4, TCP_LISTEN_V6, TCP_LISTEN_ANY};
    static struct model model[PORTS * ARRAY_LEN(scopes) * DEVICES];
    struct rng rng = test_rng(__func__);
    struct raw *r = begin();
    struct tcp *t = &r->e.tcp;
    int gone = -1;
    unsigned n = 0;
    for (int step = 0; step < STEPS; step++) {
        if (rng_below(&rng, 100) < 55) {
            const struct tcp_listen_ask ask = {.port = (uint16_t)(PORT + rng_below(&rng, PORTS)),
                                               .scope = scopes[rng_below(&rng, ARRAY_LEN(scopes))],
                                               .device = (uint8_t)rng_below(&rng, DEVICES)};
            bool there = false;
            for (unsigned i = 0; i < n; i++)
                there |= model[i].port == ask.port && model[i].scope == ask.scope &&
                         model[i].device == ask.device;
            const int id = tcp_listen(t, &ask);
            assert_true(there ? id == -EADDRINUSE : id >= 0);
            if (id >= 0)
                model[n++] = (struct model){ask.port, ask.scope, ask.device, id};
        } else if (n != 0) {
            const unsigned i = rng_below(&rng, n);
            gone = model[i].id;
            assert_true(tcp_unlisten(t, gone));
            model[i] = model[--n];
        }
        if (gone >= 0)
            assert_false(tcp_unlisten(t, gone));
        const uint16_t port = (uint16_t)(PORT + rng_below(&rng, PORTS));
        for (uint16_t ix = 0; ix < ARRAY_LEN(locals); ix++)
            for (uint8_t device = 1; device <= DEVICES; device++)
                assert_int_equal(found_for(t, port, ix, device),
                                 best_of(model, n, port, ix, device));
        assert_int_equal(t->listens->used, n);
    }
    assert_true(t->listens->unused <= ARRAY_LEN(model));  // places are used again
    done(r);
}

// So many that some share a head of the table: each port finds its own listener, or none.
static void ports_that_share_a_head_are_told_apart(void **state)
{
    enum { LISTENERS = 600 };
    static uint16_t place_of[UINT16_MAX + 1];
    struct rng rng = test_rng(__func__);
    struct raw *r = begin();
    struct tcp *t = &r->e.tcp;
    memset(place_of, 0, sizeof(place_of));
    for (unsigned n = 0; n < LISTENERS;) {
        const uint16_t port = (uint16_t)(1024 + rng_below(&rng, 60000));
        const int id = tcp_listen(t, &(struct tcp_listen_ask){.port = port, .scope = 1});
        if (id == -EADDRINUSE)
            continue;
        assert_true(id >= 0);
        place_of[port] = (uint16_t)((id & (TCP_LISTENINGS_MAX - 1)) + 1);
        n++;
    }
    for (uint32_t port = 1; port <= UINT16_MAX; port++) {
        assert_int_equal(tcp_listen_find(t->listens, (uint16_t)port, 1, true, 0), place_of[port]);
        assert_int_equal(tcp_listen_find(t->listens, (uint16_t)port, 0, true, 0), TCP_LISTEN_NONE);
    }
    done(r);
}

// ---- the queue of connections that wait to be accepted

static void one_more_than_the_backlog_waits_and_further_syns_are_dropped(void **state)
{
    for (uint32_t backlog = 0; backlog < 4; backlog++) {
        struct raw *r = begin();
        const int id = listen_with(r, backlog, 0);
        for (uint32_t i = 0; i <= backlog; i++)
            assert_int_equal(shake(r, PORT, 0), id);
        assert_int_equal(syn(r, PORT, 0), 0);
        assert_int_equal(DROPPED(r, listen_overflow), 1);
        assert_int_equal(HALF_OPEN(r), 0);
        c10m_accepted(&r->e.sock.core, id);
        assert_int_equal(shake(r, PORT, 0), id);
        assert_int_equal(syn(r, PORT, 0), 0);
        c10m_accepted(&r->e.sock.core, id + 1024);  // another's
        assert_int_equal(syn(r, PORT, 0), 0);
        done(r);
    }
}

static void more_is_accepted_than_waits_without_harm(void **state)
{
    struct raw *r = begin();
    const int id = listen_with(r, 0, 0);
    c10m_accepted(&r->e.sock.core, id);
    assert_int_equal(shake(r, PORT, 0), id);
    assert_int_equal(syn(r, PORT, 0), 0);
    done(r);
}

static void who_accepts_in_open_has_no_queue(void **state)
{
    struct raw *r = begin();
    const int id = listen_with(r, 0, 0);
    seen.accepts = true;
    for (int i = 0; i < 20; i++)
        assert_int_equal(shake(r, PORT, 0), id);
    done(r);
}

// Two handshakes at once for one place: Linux drops the last ACK, and sends the SYN-ACK again.
static void the_last_ack_to_a_full_queue_is_dropped_and_asked_for_again(void **state)
{
    struct raw *r = begin();
    const int id = listen_with(r, 1, 0);
    assert_int_equal(shake(r, PORT, 0), id);
    assert_int_equal(syn(r, PORT, 0), SEG_SYN | SEG_ACK);
    const uint16_t port = r->port;
    const uint32_t seq = r->seq, number = r->ack;
    assert_int_equal(shake(r, PORT, 0), id);
    assert_int_equal(HALF_OPEN(r), 1);
    r->port = port;
    r->seq = seq;
    r->ack = number;
    assert_int_equal(ack(r, PORT, 0), 0);
    assert_int_equal(DROPPED(r, listen_overflow), 1);
    assert_int_equal(HALF_OPEN(r), 1);
    // With data, too; and the peer is asked again by the timer.
    raw_seg(r, SEG_ACK, seq, number, 0, 10)->key.local_port = PORT;
    raw_turn(r, 1);
    assert_int_equal(DROPPED(r, listen_overflow), 2);
    assert_in_range(raw_wait(r, 2000), 900, 1100);
    assert_int_equal(answer(r), SEG_SYN | SEG_ACK);
    c10m_accepted(&r->e.sock.core, id);
    ack(r, PORT, 0);
    assert_int_equal(seen.opened, 3);
    assert_int_equal(HALF_OPEN(r), 0);
    done(r);
}

static void a_queue_that_stays_full_lets_the_half_open_one_end_as_others_do(void **state)
{
    struct raw *r = begin();
    r->e.tcp.cfg.synack_retries = 2;
    const int id = listen_with(r, 0, 0);
    assert_int_equal(syn(r, PORT, 0), SEG_SYN | SEG_ACK);
    r->port++;
    r->e.tcp.listens->at[0].waiting = 1;
    r->port--;
    ack(r, PORT, 0);
    unsigned again = 0;
    while (HALF_OPEN(r) != 0) {
        assert_true(again < 10);
        if (raw_wait(r, 200) != UINT32_MAX)
            again++;
    }
    assert_int_equal(again, 2);
    assert_int_equal(r->e.stats.c.syn_records_timed_out, 1);
    assert_int_equal(r->e.tcp.listens->at[0].half_open, 0);
    assert_true(id >= 0);
    done(r);
}

// ---- the queue of half-open ones

static void with_more_half_open_than_the_backlog_syns_get_cookies(void **state)
{
    struct raw *r = begin();
    const int id = listen_with(r, 1, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(syn(r, PORT, 0), SEG_SYN | SEG_ACK);
    assert_int_equal(HALF_OPEN(r), 2);
    assert_int_equal(r->e.stats.c.syncookies_sent, 2);
    ack(r, PORT, 0);  // the last one's
    assert_int_equal(seen.opened, 1);
    assert_int_equal(seen.by[0], id);
    assert_int_equal(r->e.stats.c.syncookies_received, 1);
    // And to a full queue, a cookie's acknowledgment is as any other.
    assert_int_equal(syn(r, PORT, 0), SEG_SYN | SEG_ACK);
    r->e.tcp.listens->at[0].waiting = 2;
    assert_int_equal(ack(r, PORT, 0), 0);
    assert_int_equal(DROPPED(r, listen_overflow), 1);
    done(r);
}

static void without_cookies_those_syns_are_dropped(void **state)
{
    struct raw *r = begin();
    r->e.tcp.cfg.syn_cookies = TCP_COOKIES_OFF;
    listen_with(r, 0, 0);
    assert_int_equal(syn(r, PORT, 0), SEG_SYN | SEG_ACK);
    assert_int_equal(syn(r, PORT, 0), 0);
    assert_int_equal(DROPPED(r, syn_table_full), 1);
    assert_int_equal(HALF_OPEN(r), 1);
    done(r);
}

static void a_listener_may_ask_for_its_own_number_of_syn_acks(void **state)
{
    struct raw *r = begin();
    struct c10m_listening l = at(NULL, PORT);
    l.syn_retries = 1;
    assert_true(listen_at(r, &l) >= 0);
    assert_int_equal(syn(r, PORT, 0), SEG_SYN | SEG_ACK);
    assert_in_range(raw_wait(r, 2000), 900, 1100);
    assert_int_equal(raw_wait(r, 6000), UINT32_MAX);
    assert_int_equal(HALF_OPEN(r), 0);
    done(r);
}

static void its_options_are_those_of_the_syn_ack_and_of_what_it_opens(void **state)
{
    for (uint16_t local_ix = 0; local_ix < 4; local_ix += 2) {
        struct raw *r = begin();
        struct c10m_listening l = at(NULL, PORT);
        l.rcv_limit = 3000;
        l.maxseg = 600;
        l.ttl = 33;
        l.tos = 0x23;
        l.backlog = local_ix != 0 ? 128 : 0;  // a cookie, the second time
        const int id = listen_at(r, &l);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(syn(r, PORT, local_ix), SEG_SYN | SEG_ACK);
            const struct seg_out *o = &r->e.out[0];
            assert_int_equal(o->mss, 600);
            assert_int_equal(o->wnd, 3000);
            assert_true(o->opts & SEG_OPT_IP);
            assert_int_equal(o->ttl, 33);
            assert_int_equal(o->tos, 0x20);
        }
        ack(r, PORT, local_ix);
        assert_int_equal(r->e.tcp.n_out, 0);
        assert_int_equal(seen.by[0], id);
        const struct block *b = raw_block(r);
        assert_int_equal(b->mss, local_ix != 0 ? 600 : 536);  // the peer says nothing
        assert_int_equal(b->rcv_adv - b->rcv_nxt, 3000);
        assert_int_equal(tcp_sockopt_value(&r->e.tcp, b, SOCKOPT_RCV_LIMIT), 3000);
        assert_int_equal(tcp_sockopt_value(&r->e.tcp, b, SOCKOPT_TTL), 33);
        assert_int_equal(tcp_sockopt_value(&r->e.tcp, b, SOCKOPT_TOS), 0x20);
        assert_int_equal(tcp_sockopt_value(&r->e.tcp, b, SOCKOPT_MSS), 600);
        done(r);
    }
}

static void a_segment_size_below_what_any_peer_takes_is_raised(void **state)
{
    struct raw *r = begin();
    struct c10m_listening l = at(NULL, PORT);
    l.maxseg = 1;
    assert_true(listen_at(r, &l) >= 0);
    assert_int_equal(syn(r, PORT, 0), SEG_SYN | SEG_ACK);
    assert_int_equal(r->e.out[0].mss, TCP_MSS_MIN);
    l.maxseg = UINT16_MAX;
    l.rcv_limit = 1 << 20;
    assert_int_equal(c10m_listen_set(&r->e.sock.core, 1 << 10, &l), 0);
    assert_int_equal(syn(r, PORT, 0), SEG_SYN | SEG_ACK);
    assert_int_equal(r->e.out[0].mss, r->e.tcp.cfg.mss);
    assert_int_equal(r->e.out[0].wnd, UINT16_MAX);
    ack(r, PORT, 0);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(seen.opened, 1);
    done(r);
}

// ---- TCP_DEFER_ACCEPT

static void a_deferred_listener_waits_for_data(void **state)
{
    struct raw *r = begin();
    const int id = listen_with(r, 5, 10);
    assert_int_equal(shake(r, PORT, 0), -2);
    assert_int_equal(DROPPED(r, syn_deferred), 1);
    assert_int_equal(raw_wait(r, 3000), UINT32_MAX);  // the SYN-ACK is not sent again
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 10)->key.local_port = PORT;
    raw_turn(r, 1);
    assert_int_equal(seen.opened, 1);
    assert_int_equal(seen.by[0], id);
    done(r);
}

static void a_deferred_listener_asks_again_who_has_not_acknowledged(void **state)
{
    struct raw *r = begin();
    listen_with(r, 5, 30);
    assert_int_equal(syn(r, PORT, 0), SEG_SYN | SEG_ACK);
    assert_in_range(raw_wait(r, 3000), 900, 1100);
    assert_int_equal(answer(r), SEG_SYN | SEG_ACK);
    done(r);
}

static void a_fin_opens_a_deferred_connection_too(void **state)
{
    struct raw *r = begin();
    listen_with(r, 5, 10);
    assert_int_equal(shake(r, PORT, 0), -2);
    seg(r, SEG_ACK | SEG_FIN, PORT, 0);
    raw_turn(r, 1);
    assert_int_equal(seen.opened, 1);
    done(r);
}

// 1 s: one timeout; 3: two; 7: three. At the end of the time the SYN-ACK asks once more, and what
// answers it opens the connection.
static void after_its_time_a_bare_ack_will_do(void **state)
{
    static const struct {
        uint32_t s, ms;
    } rows[] = {{1, 1000}, {2, 3000}, {3, 3000}, {4, 7000}, {7, 7000}, {8, 15000}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct raw *r = begin();
        listen_with(r, 5, rows[i].s);
        assert_int_equal(shake(r, PORT, 0), -2);
        assert_in_range(raw_wait(r, 20000), rows[i].ms - 100, rows[i].ms + 100);
        assert_int_equal(answer(r), SEG_SYN | SEG_ACK);
        ack(r, PORT, 0);
        assert_int_equal(seen.opened, 1);
        done(r);
    }
}

static void a_time_without_end_is_as_many_timeouts_as_are_counted(void **state)
{
    struct raw *r = begin();
    listen_with(r, 5, UINT32_MAX);
    assert_int_equal(r->e.tcp.listens->at[0].defer, UINT8_MAX);
    done(r);
}

// Longer than the retries would last: who has acknowledged is kept that long, others are not.
static void a_long_time_outlives_the_retries_for_those_who_acknowledged(void **state)
{
    struct raw *r = begin();
    r->e.tcp.cfg.synack_retries = 2;
    listen_with(r, 5, 60);
    assert_int_equal(shake(r, PORT, 0), -2);
    assert_int_equal(syn(r, PORT, 0), SEG_SYN | SEG_ACK);
    for (int i = 0; i < 300; i++)
        raw_turn(r, 100);
    assert_int_equal(HALF_OPEN(r), 1);
    for (int i = 0; i < 3000 && HALF_OPEN(r) != 0; i++)
        raw_turn(r, 100);
    assert_int_equal(HALF_OPEN(r), 0);
    assert_int_equal(seen.opened, 0);
    done(r);
}

static void listen_set_changes_what_waits_already(void **state)
{
    struct raw *r = begin();
    const int id = listen_with(r, 0, 10);
    assert_int_equal(shake(r, PORT, 0), -2);
    struct c10m_listening l = {.backlog = 1};
    assert_int_equal(c10m_listen_set(&r->e.sock.core, id, &l), 0);
    ack(r, PORT, 0);
    assert_int_equal(seen.opened, 1);
    assert_int_equal(shake(r, PORT, 0), id);
    assert_int_equal(syn(r, PORT, 0), 0);
    done(r);
}

// SYNs, ACKs, RSTs, data, accepts, other limits, and ends of listeners at random: the two numbers
// of each are what can be counted.
static void both_queues_are_what_can_be_counted_whatever_comes(void **state)
{
    enum { STEPS = 20000, PEERS = 8, PORTS = 3 };
    struct rng rng = test_rng(__func__);
    struct raw *r = begin();
    struct tcp *t = &r->e.tcp;
    uint32_t waits[C10M_LISTENING_MAX] = {0};
    uint32_t acks[PEERS * PORTS] = {0};
    t->cfg.syn_cookies = TCP_COOKIES_OFF;  // whose ACKs open what has no record
    for (int step = 0; step < STEPS; step++) {
        const uint16_t port = (uint16_t)(PORT + rng_below(&rng, PORTS));
        const unsigned peer = rng_below(&rng, PEERS);
        uint32_t *ack_of = &acks[peer * PORTS + port - PORT];
        struct c10m_listening l = at(NULL, port);
        l.backlog = rng_below(&rng, 6);
        l.defer_s = rng_below(&rng, 4) == 0 ? 3 : 0;
        const int id = found_for(t, port, 0, 1);
        r->port = (uint16_t)(30000 + peer);
        r->seq = 1000 * peer;
        seen.opened = 0;
        switch (rng_below(&rng, 12)) {
        case 0:
            if (id < 0 || rng_below(&rng, 2) == 0)
                listen_at(r, &l);
            else
                c10m_listen_set(&r->e.sock.core, id, &l);
            break;
        case 1:
            if (rng_below(&rng, 4) == 0 && id >= 0) {
                waits[id & (C10M_LISTENING_MAX - 1)] = 0;
                c10m_unlisten(&r->e.sock.core, id);
            }
            break;
        case 2:
        case 3:
            if (id >= 0) {
                uint32_t *waiting = &waits[id & (C10M_LISTENING_MAX - 1)];
                c10m_accepted(&r->e.sock.core, id);
                *waiting -= *waiting != 0;
            }
            break;
        case 4:
            raw_turn(r, rng_below(&rng, 3000));
            break;
        case 5:
            r->seq++;
            r->ack = 0;
            seg(r, SEG_RST, port, 0);
            break;
        case 6:
        case 7:
        case 8:
            seg(r, SEG_SYN, port, 0);
            break;
        default:
            r->seq++;
            r->ack = *ack_of;
            raw_seg(r, SEG_ACK, r->seq, r->ack, 0, rng_below(&rng, 2) != 0 ? 10 : 0)
                ->key.local_port = port;
            break;
        }
        raw_turn(r, 1);
        for (uint32_t i = 0; i < t->n_out; i++)
            if (r->e.out[i].flags == (SEG_SYN | SEG_ACK))
                acks[(r->e.out[i].key.remote_port - 30000u) * PORTS + r->e.out[i].key.local_port -
                     PORT] = r->e.out[i].seq + 1;
        for (unsigned i = 0; i < seen.opened; i++)
            waits[seen.by[i] & (C10M_LISTENING_MAX - 1)]++;
        for (uint32_t at_ix = 0; at_ix < t->listens->unused; at_ix++) {
            const struct listening *g = &t->listens->at[at_ix];
            uint32_t records = 0;
            if (!g->live)
                continue;
            for (uint32_t i = 0; i < r->e.sizes.syns; i++)
                records += t->syns[i].live && listening_of(t, &t->syns[i]) == g;
            assert_int_equal(g->half_open, records);
            assert_int_equal(g->waiting, waits[at_ix]);
        }
        struct block *b = raw_block(r);
        if (b != NULL && rng_below(&rng, 4) == 0) {  // room for more
            b->flags |= BF_ABORT;
            const struct tcp_verdict v = {.block = (uint32_t)(b - t->blocks), .chain = BUF_NONE};
            sock_event(&r->e.sock, &v, NULL);
        }
    }
    assert_true(DROPPED(r, listen_overflow) > 50);
    assert_true(DROPPED(r, syn_deferred) > 10);
    assert_true(DROPPED(r, syn_table_full) > 100);
    done(r);
}

// ---- the end of a listener

static void half_open_ones_go_with_their_listener_without_a_word(void **state)
{
    struct raw *r = begin();
    const int id = listen_with(r, 5, 0);
    assert_int_equal(syn(r, PORT, 0), SEG_SYN | SEG_ACK);
    c10m_unlisten(&r->e.sock.core, id);
    assert_int_equal(raw_wait(r, 5000), UINT32_MAX);
    assert_int_equal(HALF_OPEN(r), 0);
    assert_int_equal(r->e.stats.c.syn_records_timed_out, 0);
    done(r);
}

static void an_ack_for_such_a_one_is_answered_by_a_reset(void **state)
{
    for (int again = 0; again < 2; again++) {
        struct raw *r = begin();
        const int id = listen_with(r, 5, 0);
        assert_int_equal(syn(r, PORT, 0), SEG_SYN | SEG_ACK);
        c10m_unlisten(&r->e.sock.core, id);
        if (again)  // by another of the same place
            listen_with(r, 5, 0);
        assert_int_equal(ack(r, PORT, 0), SEG_RST);
        assert_int_equal(HALF_OPEN(r), 0);
        assert_int_equal(seen.opened, 0);
        done(r);
    }
}

static void the_next_listener_of_the_port_takes_the_syn_again(void **state)
{
    struct raw *r = begin();
    const int id = listen_with(r, 5, 0);
    assert_int_equal(syn(r, PORT, 0), SEG_SYN | SEG_ACK);
    c10m_unlisten(&r->e.sock.core, id);
    const int next = listen_with(r, 0, 0);
    r->seq--;
    seg(r, SEG_SYN, PORT, 0);
    raw_turn(r, 1);
    assert_int_equal(answer(r), SEG_SYN | SEG_ACK);
    assert_int_equal(HALF_OPEN(r), 1);
    assert_int_equal(r->e.tcp.listens->at[0].half_open, 1);
    r->ack = r->e.out[0].seq + 1;
    r->seq++;
    ack(r, PORT, 0);
    assert_int_equal(seen.by[0], next);
    assert_int_equal(r->e.tcp.listens->at[0].half_open, 0);
    done(r);
}

static void open_connections_stay_when_their_listener_goes(void **state)
{
    struct raw *r = begin();
    const int id = listen_with(r, 5, 0);
    assert_int_equal(shake(r, PORT, 0), id);
    c10m_unlisten(&r->e.sock.core, id);
    raw_seg(r, SEG_ACK | SEG_PSH, r->seq, r->ack, 0, 10)->key.local_port = PORT;
    raw_turn(r, 1);
    assert_true(raw_wait(r, 100) <= 100);
    assert_int_equal(answer(r), SEG_ACK);
    assert_int_equal(seen.closed, 0);
    c10m_accepted(&r->e.sock.core, id);
    done(r);
}

// ---- TIME-WAIT

// A connection of PORT, closed from here and then by the peer.
static void into_time_wait(struct raw *r)
{
    shake(r, PORT, 0);
    struct block *b = raw_block(r);
    tcp_close(&r->e.tcp, (uint32_t)(b - r->e.tcp.blocks));
    raw_turn(r, 1);
    r->ack++;
    seg(r, SEG_ACK | SEG_FIN, PORT, 0);
    raw_turn(r, 1);
    r->seq++;
    assert_int_equal(r->e.stats.c.time_wait_now, 1);
}

static void a_younger_syn_in_time_wait_comes_to_a_listener_too(void **state)
{
    struct raw *r = begin();
    const int id = listen_with(r, 1, 0);
    into_time_wait(r);
    seg(r, SEG_SYN, PORT, 0)->seq = r->seq + 100000;
    raw_turn(r, 1);
    assert_int_equal(answer(r), SEG_SYN | SEG_ACK);
    assert_int_equal(r->e.stats.c.time_wait_now, 0);
    r->seq += 100001;
    r->ack = r->e.out[0].seq + 1;
    ack(r, PORT, 0);
    assert_int_equal(seen.opened, 2);
    assert_int_equal(seen.by[1], id);
    done(r);
}

static void a_full_queue_leaves_time_wait_as_it_is(void **state)
{
    struct raw *r = begin();
    listen_with(r, 0, 0);
    into_time_wait(r);  // and nobody has accepted it
    seg(r, SEG_SYN, PORT, 0)->seq = r->seq + 100000;
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(DROPPED(r, listen_overflow), 1);
    assert_int_equal(r->e.stats.c.time_wait_now, 1);
    done(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_comes_by_the_listener_that_fits_it_best),
        cmocka_unit_test(other_ports_are_reset_and_configured_ones_go_on),
        cmocka_unit_test(a_listener_that_cannot_be_is_refused_by_an_error),
        cmocka_unit_test(there_are_so_many_and_a_place_given_back_has_another_id),
        cmocka_unit_test(what_is_opened_and_closed_at_random_is_found_as_in_a_list),
        cmocka_unit_test(ports_that_share_a_head_are_told_apart),
        cmocka_unit_test(one_more_than_the_backlog_waits_and_further_syns_are_dropped),
        cmocka_unit_test(more_is_accepted_than_waits_without_harm),
        cmocka_unit_test(who_accepts_in_open_has_no_queue),
        cmocka_unit_test(the_last_ack_to_a_full_queue_is_dropped_and_asked_for_again),
        cmocka_unit_test(a_queue_that_stays_full_lets_the_half_open_one_end_as_others_do),
        cmocka_unit_test(with_more_half_open_than_the_backlog_syns_get_cookies),
        cmocka_unit_test(without_cookies_those_syns_are_dropped),
        cmocka_unit_test(a_listener_may_ask_for_its_own_number_of_syn_acks),
        cmocka_unit_test(its_options_are_those_of_the_syn_ack_and_of_what_it_opens),
        cmocka_unit_test(a_segment_size_below_what_any_peer_takes_is_raised),
        cmocka_unit_test(a_deferred_listener_waits_for_data),
        cmocka_unit_test(a_deferred_listener_asks_again_who_has_not_acknowledged),
        cmocka_unit_test(a_fin_opens_a_deferred_connection_too),
        cmocka_unit_test(after_its_time_a_bare_ack_will_do),
        cmocka_unit_test(a_time_without_end_is_as_many_timeouts_as_are_counted),
        cmocka_unit_test(a_long_time_outlives_the_retries_for_those_who_acknowledged),
        cmocka_unit_test(listen_set_changes_what_waits_already),
        cmocka_unit_test(both_queues_are_what_can_be_counted_whatever_comes),
        cmocka_unit_test(half_open_ones_go_with_their_listener_without_a_word),
        cmocka_unit_test(an_ack_for_such_a_one_is_answered_by_a_reset),
        cmocka_unit_test(the_next_listener_of_the_port_takes_the_syn_again),
        cmocka_unit_test(open_connections_stay_when_their_listener_goes),
        cmocka_unit_test(a_younger_syn_in_time_wait_comes_to_a_listener_too),
        cmocka_unit_test(a_full_queue_leaves_time_wait_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
