// SPDX-License-Identifier: BSD-3-Clause
// UDP of applications (c10m/socket.h) through real turns of workers: two hosts, both families.
#include <errno.h>
#include <string.h>

#include "c10m/socket.h"
#include "hosts.h"
#include "pkt_env.h"
#include "wire/build6.h"

enum { US, PEER, PORT = 5000, OTHER = 6000, GOT_MAX = 600, BYTES_MAX = 2048 };

// ---- an application that notes what comes, and does what the test says

struct got {
    struct c10m_packet p;
    uint8_t data[BYTES_MAX];
    struct c10m_packet_error e;
    unsigned end;
};

static struct {
    struct got packets[GOT_MAX], errors[GOT_MAX];
    unsigned n_packets, n_errors;
    void (*job)(struct c10m_core *w, struct c10m_service *s);
    void (*on_packet)(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p);
    bool full;  // the application has no room
} seen;

static struct hosts *h;

static unsigned end_of(const struct c10m_service *s)
{
    return server_of(s) == &h->e[PEER].server ? PEER : US;
}

static void note(struct got *g, const struct c10m_service *s, const struct c10m_packet *p)
{
    g->p = *p;
    g->end = end_of(s);
    assert_true(p->len <= BYTES_MAX);
    memcpy(g->data, p->data, p->len);
}

static bool packet(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p)
{
    if (seen.full)
        return false;
    assert_true(seen.n_packets < GOT_MAX);
    note(&seen.packets[seen.n_packets++], s, p);
    if (seen.on_packet != NULL)
        seen.on_packet(w, s, p);
    return true;
}

static void packet_error(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p,
                         const struct c10m_packet_error *e)
{
    assert_true(seen.n_errors < GOT_MAX);
    note(&seen.errors[seen.n_errors], s, p);
    seen.errors[seen.n_errors++].e = *e;
}

static void message(struct c10m_core *w, struct c10m_service *s, void *msg)
{
    seen.job(w, s);
}

static void no_thread(struct c10m_service *s) {}

static size_t no_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return len;
}

static int shout(struct c10m_service *s, const struct c10m_datagram *d)
{
    memcpy(d->answer, "configured", 10);
    return 10;
}

static const struct c10m_app sockets = {.name = "sockets",
                                        .data = no_data,
                                        .thread = no_thread,
                                        .message = message,
                                        .packet = packet,
                                        .packet_error = packet_error};
static const struct c10m_app plain = {
    .name = "plain", .data = no_data, .datagram = shout, .thread = no_thread, .message = message};
static const struct c10m_app *const both[2][3] = {{&sockets}, {&sockets}};

static void begin_with(const struct c10m_app *const apps[2][3],
                       void (*set)(struct server_params *p, unsigned end))
{
    memset(&seen, 0, sizeof(seen));
    h = hosts_new(apps, set);
}

static void begin(void)
{
    begin_with(both, NULL);
}

static uint64_t dropped(unsigned end, enum drop_reason why)
{
    return h->e[end].w->stats->drops[why];
}

// finish: every packet has its end, on both hosts.
static void finish(void)
{
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(stat_balance(h->e[i].w->stats), 0);
    hosts_free(h);
}

// on: the job, in a message of that end's service.
static void on(unsigned end, void (*job)(struct c10m_core *w, struct c10m_service *s))
{
    seen.job = job;
    assert_true(c10m_post(&h->e[end].server.services[0], 0, &seen));
    hosts_turn(h, end);
}

static struct c10m_name name(struct ip_addr a, uint16_t port)
{
    struct c10m_name n = {.port = port};
    memcpy(n.addr, a.b, sizeof(n.addr));
    return n;
}

static const struct ip_addr any6;

static struct ip_addr ip(const char *text)
{
    struct ip_addr a;
    assert_true(ip_parse(text, &a));
    return a;
}

// ---- jobs, and what they are told

static struct c10m_name at;
static bool only6;
static int rc, want_port;
static struct c10m_packet out;
static unsigned repeat;

static void job_open(struct c10m_core *w, struct c10m_service *s)
{
    rc = c10m_udp_open(w, s, &at, only6);
}

static void job_close(struct c10m_core *w, struct c10m_service *s)
{
    c10m_udp_close(w, want_port);
}

static void job_send(struct c10m_core *w, struct c10m_service *s)
{
    for (unsigned i = 0; i <= repeat; i++)
        rc = c10m_udp_send(w, s, &out);
}

static void job_mtu(struct c10m_core *w, struct c10m_service *s)
{
    rc = c10m_udp_mtu(w, &at);
}

static void job_source(struct c10m_core *w, struct c10m_service *s)
{
    struct c10m_name from = {.port = 77};
    rc = c10m_udp_source(w, &at, &from);
    at = from;
}

static int source_for(unsigned end, struct ip_addr to)
{
    at = name(to, 0);
    on(end, job_source);
    return rc;
}

static const struct c10m_name *peer_name;

static void job_peer(struct c10m_core *w, struct c10m_service *s)
{
    rc = c10m_udp_peer(w, want_port, peer_name);
}

static int take_only(unsigned end, int port, const struct c10m_name *peer)
{
    want_port = port;
    peer_name = peer;
    on(end, job_peer);
    return rc;
}

static int open_at(unsigned end, struct ip_addr a, uint16_t port, bool v6only)
{
    at = name(a, port);
    only6 = v6only;
    on(end, job_open);
    return rc;
}

static void close_at(unsigned end, int port)
{
    want_port = port;
    on(end, job_close);
}

static int send_from(unsigned end, struct ip_addr from, struct ip_addr to, const void *data,
                     size_t len)
{
    out = (struct c10m_packet){
        .from = name(from, PORT), .to = name(to, OTHER), .df = true, .data = data, .len = len};
    repeat = 0;
    on(end, job_send);
    return rc;
}

static int mtu_to(unsigned end, struct ip_addr to)
{
    at = name(to, 0);
    on(end, job_mtu);
    return rc;
}

static void expect_name(const struct c10m_name *n, struct ip_addr a, uint16_t port)
{
    assert_memory_equal(n->addr, a.b, 16);
    assert_int_equal(n->port, port);
}

// ---- receiving

static void a_datagram_reaches_the_port_that_was_opened_with_all_that_its_headers_say(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin();
        const int port = open_at(PEER, hosts_addr(PEER, v6), OTHER, false);
        assert_int_equal(port, 0);
        out = (struct c10m_packet){.from = name(hosts_addr(US, v6), PORT),
                                   .to = name(hosts_addr(PEER, v6), OTHER),
                                   .ttl = 7,
                                   .tos = 0xa5,
                                   .df = true,
                                   .data = (const uint8_t *)"hello",
                                   .len = 5};
        repeat = 0;
        on(US, job_send);
        assert_int_equal(rc, 0);
        hosts_run(h, 1);
        assert_int_equal(seen.n_packets, 1);
        const struct got *g = &seen.packets[0];
        assert_int_equal(g->end, PEER);
        expect_name(&g->p.from, hosts_addr(US, v6), PORT);
        expect_name(&g->p.to, hosts_addr(PEER, v6), OTHER);
        assert_int_equal(g->p.ttl, 7);
        assert_int_equal(g->p.tos, 0xa5);
        assert_int_equal(g->p.df, !v6);
        assert_int_equal(g->p.port, port);
        assert_int_equal(g->p.len, 5);
        assert_memory_equal(g->data, "hello", 5);
        const struct core_counters *us = &h->e[US].w->stats->c, *peer = &h->e[PEER].w->stats->c;
        assert_int_equal(us->tx_udp, 1);
        assert_int_equal(us->tx_udp6, v6);
        assert_int_equal(peer->rx_udp, 1);
        assert_int_equal(peer->rx_udp6, v6);
        finish();
    }
}

static void an_empty_datagram_is_one(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin();
        open_at(PEER, any6, OTHER, false);
        assert_int_equal(send_from(US, hosts_addr(US, v6), hosts_addr(PEER, v6), NULL, 0), 0);
        hosts_run(h, 1);
        assert_int_equal(seen.n_packets, 1);
        assert_int_equal(seen.packets[0].p.len, 0);
        finish();
    }
}

static void every_length_up_to_the_mtu_arrives_whole_and_one_more_is_refused(void **state)
{
    static uint8_t bytes[2000];
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7);
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin();
        open_at(PEER, any6, OTHER, false);
        const size_t most = 1500 - 8 - (v6 ? 40 : 20);
        const size_t lens[] = {1, 2, 3, 7, 8, 9, 255, 256, 257, 1000, most - 1, most};
        for (unsigned i = 0; i < ARRAY_LEN(lens); i++) {
            seen.n_packets = 0;
            assert_int_equal(
                send_from(US, hosts_addr(US, v6), hosts_addr(PEER, v6), bytes, lens[i]), 0);
            hosts_run(h, 1);
            assert_int_equal(seen.n_packets, 1);
            assert_int_equal(seen.packets[0].p.len, lens[i]);
            assert_memory_equal(seen.packets[0].data, bytes, lens[i]);
        }
        assert_int_equal(send_from(US, hosts_addr(US, v6), hosts_addr(PEER, v6), bytes, most + 1),
                         -EMSGSIZE);
        assert_int_equal(send_from(US, hosts_addr(US, v6), hosts_addr(PEER, v6), bytes, SIZE_MAX),
                         -EMSGSIZE);
        assert_int_equal(mtu_to(US, hosts_addr(PEER, v6)), 1500);
        finish();
    }
}

static void the_address_itself_comes_before_all_of_its_family_and_those_before_both(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin();
        const struct ip_addr wide = v6 ? any6 : ip("0.0.0.0"), us = hosts_addr(US, v6);
        const int of_both = v6 ? -1 : open_at(PEER, any6, OTHER, false);
        const int of_family = open_at(PEER, wide, OTHER, v6),
                  exact = open_at(PEER, hosts_addr(PEER, v6), OTHER, false);
        const int order[] = {exact, of_family, of_both};
        for (unsigned i = 0; i < (v6 ? 2u : 3u); i++) {
            assert_true(order[i] >= 0);
            seen.n_packets = 0;
            send_from(US, us, hosts_addr(PEER, v6), "x", 1);
            hosts_run(h, 1);
            assert_int_equal(seen.n_packets, 1);
            assert_int_equal(seen.packets[0].p.port, order[i]);
            close_at(PEER, order[i]);
        }
        finish();
    }
}

static void a_port_with_a_peer_takes_its_datagrams_before_others_and_no_others(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin();
        const struct c10m_name us = name(hosts_addr(US, v6), PORT),
                               other = name(hosts_addr(US, v6), PORT + 1),
                               nobody = name(hosts_addr(US, v6), 0);
        const struct ip_addr peer = hosts_addr(PEER, v6);
        open_at(US, any6, PORT, false);
        const int exact = open_at(PEER, peer, OTHER, false),
                  wide = open_at(PEER, any6, OTHER, false);
        assert_int_equal(take_only(PEER, wide, &nobody), -EINVAL);
        assert_int_equal(take_only(PEER, wide, &us), 0);
        send_from(US, hosts_addr(US, v6), peer, "1", 1);
        hosts_run(h, 1);
        assert_int_equal(seen.packets[0].p.port, wide);  // of its peer, before the better address
        take_only(PEER, wide, &other);
        send_from(US, hosts_addr(US, v6), peer, "2", 1);
        hosts_run(h, 1);
        assert_int_equal(seen.packets[1].p.port, exact);
        close_at(PEER, exact);
        send_from(US, hosts_addr(US, v6), peer, "3", 1);
        hosts_run(h, 1);
        assert_int_equal(seen.n_packets, 2);
        assert_int_equal(seen.n_errors, 1);  // nobody is there for us
        assert_int_equal(seen.errors[0].e.error, ECONNREFUSED);
        take_only(PEER, wide, NULL);
        send_from(US, hosts_addr(US, v6), peer, "4", 1);
        hosts_run(h, 1);
        assert_int_equal(seen.n_packets, 3);
        finish();
    }
}

static void an_error_about_a_datagram_to_another_is_not_for_a_port_with_a_peer(void **state)
{
    begin();
    const struct c10m_name other = name(hosts_addr(PEER, false), OTHER + 1);
    const int port = open_at(US, any6, PORT, false);
    take_only(US, port, &other);
    send_from(US, any6, hosts_addr(PEER, false), "x", 1);
    hosts_run(h, 1);
    assert_int_equal(seen.n_errors, 0);
    assert_int_equal(dropped(US, DROP_icmp_no_owner), 1);
    finish();
}

static void broadcast_addresses_are_known(void **state)
{
    static const struct {
        const char *text;
        bool is;
    } rows[] = {{"255.255.255.255", true}, {"10.0.0.255", true}, {"10.0.0.254", false},
                {"10.0.1.255", false},     {"10.0.0.1", false},  {"224.0.0.1", false},
                {"ff02::1", false},        {"fd00::ff", false},  {"::", false}};
    begin();
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(c10m_is_broadcast(&h->e[US].server.services[0], ip(rows[i].text).b),
                         rows[i].is);
    finish();
}

static void all_of_ipv6_and_all_of_both_may_be_open_beside_each_other(void **state)
{
    begin();
    assert_int_equal(open_at(PEER, any6, OTHER, true), 0);
    assert_int_equal(open_at(PEER, any6, OTHER, true), -EADDRINUSE);
    assert_int_equal(open_at(PEER, any6, OTHER, false), 1);
    assert_int_equal(open_at(PEER, any6, OTHER, false), -EADDRINUSE);
    send_from(US, any6, hosts_addr(PEER, false), "x", 1);
    send_from(US, any6, hosts_addr(PEER, true), "x", 1);
    hosts_run(h, 1);
    assert_int_equal(seen.n_packets, 2);
    assert_int_equal(seen.packets[0].p.port, 1);
    finish();
}

static void v6only_leaves_ipv4_alone_and_0000_leaves_ipv6(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin();
        assert_true(open_at(PEER, v6 ? ip("0.0.0.0") : any6, OTHER, true) >= 0);
        send_from(US, hosts_addr(US, v6), hosts_addr(PEER, v6), "x", 1);
        hosts_run(h, 1);
        assert_int_equal(seen.n_packets, 0);
        assert_int_equal(dropped(PEER, DROP_udp_no_port), 1);
        finish();
    }
}

static void without_a_port_the_answer_is_port_unreachable_and_it_is_told_who_sent(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin();
        const int mine = open_at(US, hosts_addr(US, v6), PORT, false);
        assert_int_equal(
            send_from(US, hosts_addr(US, v6), hosts_addr(PEER, v6), "who is there?", 13), 0);
        hosts_run(h, 1);
        assert_int_equal(seen.n_packets, 0);
        assert_int_equal(seen.n_errors, 1);
        const struct got *g = &seen.errors[0];
        assert_int_equal(g->end, US);
        assert_int_equal(g->e.error, ECONNREFUSED);
        assert_true(g->e.hard);
        assert_int_equal(g->p.port, mine);
        expect_name(&g->p.from, hosts_addr(US, v6), PORT);
        expect_name(&g->p.to, hosts_addr(PEER, v6), OTHER);
        assert_int_equal(g->p.len, 13);
        assert_memory_equal(g->data, "who is there?", 13);
        assert_int_equal(dropped(PEER, DROP_udp_no_port), 1);
        assert_int_equal(h->e[PEER].w->stats->c.rx_udp6_no_port, v6);
        finish();
    }
}

static void a_port_that_is_closed_answers_no_more_and_can_be_opened_again(void **state)
{
    begin();
    const int first = open_at(PEER, hosts_addr(PEER, false), OTHER, false);
    assert_int_equal(open_at(PEER, hosts_addr(PEER, false), OTHER, false), -EADDRINUSE);
    assert_int_equal(h->e[PEER].w->stats->c.udp_ports_now, 1);
    close_at(PEER, first);
    assert_int_equal(h->e[PEER].w->stats->c.udp_ports_now, 0);
    send_from(US, hosts_addr(US, false), hosts_addr(PEER, false), "x", 1);
    hosts_run(h, 1);
    assert_int_equal(seen.n_packets, 0);
    assert_int_equal(dropped(PEER, DROP_udp_no_port), 1);
    assert_true(open_at(PEER, hosts_addr(PEER, false), OTHER, false) >= 0);
    send_from(US, hosts_addr(US, false), hosts_addr(PEER, false), "x", 1);
    hosts_run(h, 1);
    assert_int_equal(seen.n_packets, 1);
    finish();
}

static void close_the_port(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p)
{
    c10m_udp_close(w, p->port);
}

static void a_port_closed_in_its_callback_gets_nothing_more_of_the_burst(void **state)
{
    begin();
    open_at(PEER, any6, OTHER, false);
    seen.on_packet = close_the_port;
    send_from(US, hosts_addr(US, false), hosts_addr(PEER, false), "x", 1);
    send_from(US, hosts_addr(US, false), hosts_addr(PEER, false), "y", 1);
    assert_int_equal(h->e[PEER].wires[0].n_queue, 2);
    hosts_run(h, 1);
    assert_int_equal(seen.n_packets, 1);
    assert_int_equal(dropped(PEER, DROP_udp_no_port), 1);
    finish();
}

static void what_the_application_refuses_is_counted_as_a_full_receive_buffer(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin();
        open_at(PEER, any6, OTHER, false);
        seen.full = true;
        send_from(US, hosts_addr(US, v6), hosts_addr(PEER, v6), "x", 1);
        hosts_run(h, 1);
        assert_int_equal(dropped(PEER, DROP_udp_refused), 1);
        assert_int_equal(h->e[PEER].w->stats->c.udp_refused6, v6);
        assert_int_equal(seen.n_errors, 0);  // and nobody is told
        finish();
    }
}

// ---- opening

static void configure(struct server_params *p, unsigned end)
{
    struct net_config *n = &p->ports[0].net;
    n->n_udp = 2;
    n->udp[0] = (struct net_udp_port){7, UINT16_MAX, 1};
    n->udp[1] = (struct net_udp_port){9, 0, 1};
}

static void who_cannot_be_opened_is_told_why(void **state)
{
    static const struct c10m_app *const apps[2][3] = {{&sockets, &plain}, {&plain}};
    begin_with(apps, configure);
    assert_int_equal(open_at(US, any6, 0, false), -EINVAL);
    assert_int_equal(open_at(US, ip("10.0.0.77"), 5, false), -EADDRNOTAVAIL);
    assert_int_equal(open_at(US, ip("fd00::77"), 5, false), -EADDRNOTAVAIL);
    assert_int_equal(open_at(US, any6, 7, false), -EADDRINUSE);
    assert_int_equal(open_at(US, hosts_addr(US, false), 7, false), -EADDRINUSE);
    assert_int_equal(open_at(US, hosts_addr(US, false), 9, false), -EADDRINUSE);
    assert_true(open_at(US, hosts_addr(US, true), 9, false) >= 0);  // configured on the other one
    assert_true(open_at(US, any6, 9, false) >= 0);
    assert_true(open_at(US, ip("0.0.0.0"), 9, false) >= 0);
    assert_true(open_at(US, ip("10.0.0.255"), 9, false) >= 0);
    assert_true(open_at(US, ip("255.255.255.255"), 9, false) >= 0);
    assert_true(open_at(US, ip("224.0.0.1"), 9, false) >= 0);
    assert_true(open_at(US, ip("ff02::1"), 9, false) >= 0);
    assert_int_equal(open_at(PEER, any6, 5, false), -EINVAL);  // an application without `packet`
    finish();
}

static void job_open_all(struct c10m_core *w, struct c10m_service *s)
{
    struct c10m_name n = name(any6, 1);
    for (unsigned i = 0; i < C10M_UDP_PORTS_MAX; i++, n.port++)
        assert_true(c10m_udp_open(w, s, &n, false) >= 0);
    assert_int_equal(c10m_udp_open(w, s, &n, false), -ENOBUFS);
    c10m_udp_close(w, 77);
    assert_int_equal(c10m_udp_open(w, s, &n, false), 77);
    assert_int_equal(c10m_udp_open(w, s, &n, false), -EADDRINUSE);
    for (int i = 0; i < C10M_UDP_PORTS_MAX; i++)
        c10m_udp_close(w, i);
    for (unsigned i = 0; i < C10M_UDP_PORTS_MAX; i++, n.port++)
        assert_true(c10m_udp_open(w, s, &n, false) >= 0);
}

static void so_many_ports_are_open_at_a_time_and_no_more(void **state)
{
    begin();
    on(US, job_open_all);
    assert_int_equal(h->e[US].w->stats->c.udp6_ports_now, C10M_UDP_PORTS_MAX);
    finish();
}

static void a_configured_port_goes_on_as_before_beside_open_ones(void **state)
{
    static const struct c10m_app *const apps[2][3] = {{&sockets}, {&sockets, &plain}};
    begin_with(apps, configure);
    open_at(US, any6, PORT, false);
    open_at(PEER, any6, 8, false);
    out = (struct c10m_packet){.from = name(hosts_addr(US, false), PORT),
                               .to = name(hosts_addr(PEER, false), 7),
                               .data = (const uint8_t *)"x",
                               .len = 1};
    on(US, job_send);
    hosts_run(h, 1);
    assert_int_equal(seen.n_packets, 1);
    assert_int_equal(seen.packets[0].end, US);
    assert_memory_equal(seen.packets[0].data, "configured", 10);
    finish();
}

static void a_server_whose_applications_take_no_datagrams_reserves_nothing(void **state)
{
    static const struct c10m_app *const apps[2][3] = {{&plain}, {&sockets}};
    begin_with(apps, NULL);
    assert_null(h->e[US].w->udp);
    assert_int_equal(server_udp_footprint(&h->e[US].server.params), 0);
    assert_non_null(h->e[PEER].w->udp);
    finish();
}

// ---- sending

static void a_source_that_is_left_open_is_chosen_for_the_destination(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin();
        open_at(PEER, any6, OTHER, false);
        assert_int_equal(send_from(US, any6, hosts_addr(PEER, v6), "x", 1), 0);
        hosts_run(h, 1);
        assert_int_equal(seen.n_packets, 1);
        expect_name(&seen.packets[0].p.from, hosts_addr(US, v6), PORT);
        assert_int_equal(seen.packets[0].p.ttl, 64);
        assert_int_equal(seen.packets[0].p.tos, 0);
        assert_int_equal(source_for(US, hosts_addr(PEER, v6)), 0);
        expect_name(&at, hosts_addr(US, v6), 77);
        assert_int_equal(source_for(US, hosts_addr(US, v6)), -ENETUNREACH);
        finish();
    }
}

static void what_cannot_be_sent_is_refused_with_its_reason(void **state)
{
    begin();
    const struct ip_addr us = hosts_addr(US, false), us6 = hosts_addr(US, true),
                         peer = hosts_addr(PEER, false), peer6 = hosts_addr(PEER, true);
    assert_int_equal(send_from(US, us, ip("192.0.2.1"), "x", 1), -ENETUNREACH);  // no gateway
    assert_int_equal(send_from(US, us6, ip("2001:db8::1"), "x", 1), -ENETUNREACH);
    assert_int_equal(send_from(US, any6, ip("192.0.2.1"), "x", 1), -ENETUNREACH);
    assert_int_equal(send_from(US, us, us, "x", 1), -ENETUNREACH);  // ourselves
    assert_int_equal(send_from(US, us6, us6, "x", 1), -ENETUNREACH);
    assert_int_equal(send_from(US, us, ip("127.0.0.1"), "x", 1), -ENETUNREACH);
    assert_int_equal(send_from(US, us, ip("0.0.0.0"), "x", 1), -ENETUNREACH);
    assert_int_equal(send_from(US, any6, any6, "x", 1), -ENETUNREACH);
    assert_int_equal(send_from(US, us6, ip("::1"), "x", 1), -ENETUNREACH);
    assert_int_equal(send_from(US, us, peer6, "x", 1), -ENETUNREACH);  // of the other family
    assert_int_equal(send_from(US, us6, peer, "x", 1), -ENETUNREACH);
    assert_int_equal(send_from(US, ip("0.0.0.0"), peer6, "x", 1), -ENETUNREACH);
    assert_int_equal(send_from(US, ip("10.0.0.77"), peer, "x", 1), -EADDRNOTAVAIL);
    assert_int_equal(send_from(US, ip("fd00::77"), peer6, "x", 1), -EADDRNOTAVAIL);
    out = (struct c10m_packet){.from = name(us, 0), .to = name(peer, OTHER)};
    on(US, job_send);
    assert_int_equal(rc, -EINVAL);
    out = (struct c10m_packet){.from = name(us, PORT), .to = name(peer, 0)};
    on(US, job_send);
    assert_int_equal(rc, -EINVAL);
    assert_int_equal(mtu_to(US, ip("192.0.2.1")), 0);
    hosts_run(h, 1);
    assert_int_equal(h->e[US].w->stats->c.tx_udp, 0);
    assert_int_equal(h->e[PEER].w->stats->c.rx_packets, 0);
    finish();
}

static void no_neighbors(struct server_params *p, unsigned end)
{
    p->ports[0].net.n_statics = 0;
}

static void datagrams_wait_for_a_neighbor_that_is_not_known_and_arrive_in_order(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin_with(both, no_neighbors);
        open_at(PEER, any6, OTHER, false);
        assert_int_equal(send_from(US, hosts_addr(US, v6), hosts_addr(PEER, v6), "1", 1), 0);
        assert_int_equal(send_from(US, hosts_addr(US, v6), hosts_addr(PEER, v6), "2", 1), 0);
        hosts_run(h, 10);
        assert_int_equal(seen.n_packets, 2);
        assert_int_equal(seen.packets[0].data[0], '1');
        assert_int_equal(seen.packets[1].data[0], '2');
        assert_int_equal(send_from(US, hosts_addr(US, v6), hosts_addr(PEER, v6), "3", 1), 0);
        hosts_run(h, 1);
        assert_int_equal(seen.n_packets, 3);
        finish();
    }
}

static void a_turn_takes_so_many_and_the_next_one_takes_more(void **state)
{
    begin();
    open_at(PEER, any6, OTHER, false);
    send_from(US, any6, hosts_addr(PEER, false), "x", 1);
    repeat = 999;
    on(US, job_send);
    assert_int_equal(rc, -ENOBUFS);
    const uint64_t unsent = h->e[US].w->stats->c.udp_unsent;
    assert_in_range(unsent, 500, 999);
    assert_int_equal(h->e[US].w->stats->c.tx_udp, 1001 - unsent);
    repeat = 0;
    on(US, job_send);
    assert_int_equal(rc, 0);
    hosts_run(h, 5);
    assert_int_equal(seen.n_packets, 1002 - unsent);
    assert_int_equal(dropped(US, DROP_reply_room), 0);
    finish();
}

static void without_a_packet_nothing_is_sent(void **state)
{
    begin();
    struct pkt *taken[2048];
    unsigned n = 0;
    while (pkt_alloc_bulk(h->e[US].server.pools[0], &taken[n], 1))
        n++;
    assert_int_equal(send_from(US, any6, hosts_addr(PEER, false), "x", 1), -ENOBUFS);
    assert_int_equal(send_from(US, any6, hosts_addr(PEER, true), "x", 1), -ENOBUFS);
    assert_int_equal(h->e[US].w->stats->c.udp_unsent, 2);
    assert_int_equal(h->e[US].w->stats->c.udp_unsent6, 1);
    pkt_free_bulk(taken, n);
    assert_int_equal(send_from(US, any6, hosts_addr(PEER, false), "x", 1), 0);
    finish();
}

static void echo(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p)
{
    if (p->to.port != OTHER)
        return;
    const struct c10m_packet answer = {
        .from = p->to, .to = p->from, .data = p->data, .len = p->len};
    assert_int_equal(c10m_udp_send(w, s, &answer), 0);
}

static void an_answer_may_be_sent_from_the_callback_out_of_the_bytes_received(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin();
        seen.on_packet = echo;
        open_at(US, any6, PORT, false);
        open_at(PEER, any6, OTHER, false);
        send_from(US, any6, hosts_addr(PEER, v6), "there and back", 14);
        hosts_run(h, 2);
        assert_int_equal(seen.n_packets, 2);
        assert_int_equal(seen.packets[1].end, US);
        assert_memory_equal(seen.packets[1].data, "there and back", 14);
        finish();
    }
}

// ---- what is on the wire

static const uint8_t *sent_frame(uint32_t *len)
{
    struct hosts_end *peer = &h->e[PEER];
    assert_true(peer->wires[0].n_queue > 0);
    const struct pkt *p = peer->wires[0].queue[peer->wires[0].n_queue - 1];
    *len = pkt_len(p);
    return pkt_data(p);
}

static void a_checksum_that_comes_out_as_0_is_sent_as_ffff(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin();
        open_at(PEER, any6, OTHER, false);
        uint8_t data[2] = {0, 0};
        uint32_t len;
        send_from(US, any6, hosts_addr(PEER, v6), data, 2);
        const unsigned off = v6 ? TCP6_OFF : TCP4_OFF;
        // What is missing to ffff is the sum that was sent: with it as payload nothing is missing.
        memcpy(data, sent_frame(&len) + off + 6, 2);
        send_from(US, any6, hosts_addr(PEER, v6), data, 2);
        assert_int_equal(load_be16(sent_frame(&len) + off + 6), 0xffff);
        hosts_run(h, 1);
        assert_int_equal(seen.n_packets, 2);  // and is right
        finish();
    }
}

static void a_datagram_that_may_be_cut_has_an_identification_of_its_own(void **state)
{
    begin();
    uint32_t len;
    uint16_t id[2];
    for (unsigned i = 0; i < 2; i++) {
        out = (struct c10m_packet){.from = name(any6, PORT),
                                   .to = name(hosts_addr(PEER, false), OTHER)};
        on(US, job_send);
        const uint8_t *f = sent_frame(&len);
        assert_int_equal(load_be16(f + ETH_BYTES + 6), 0);  // neither DF nor a fragment
        id[i] = load_be16(f + ETH_BYTES + 4);
    }
    assert_in_range((uint16_t)(id[1] - id[0]), 1, 8);  // RFC 7739
    send_from(US, any6, hosts_addr(PEER, false), "x", 1);
    assert_int_equal(load_be32(sent_frame(&len) + ETH_BYTES + 4), 0x4000);  // id 0, DF
    hosts_run(h, 1);
    finish();
}

static void the_port_fills_the_checksum_in_where_it_can(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin();
        struct hosts_end *us = &h->e[US];
        struct err err;
        struct net_config nc = us->server.params.ports[0].net;
        nc.caps = PORT_TX_L4_CKSUM;
        struct net_tx tx = {(struct pkt *[1]){NULL}, 0, 1};
        void *mem = aligned_alloc(CACHE_LINE, net_footprint(&nc));
        struct net *net = net_init(mem, &nc, us->server.pools[0], us->w->stats, &err);
        assert_non_null(net);
        const struct net_datagram d = {.from = hosts_addr(US, v6),
                                       .to = hosts_addr(PEER, v6),
                                       .from_port = 1,
                                       .to_port = 2,
                                       .data = (const uint8_t *)"x",
                                       .len = 1};
        assert_int_equal(net_send(net, clock_at_us(1), &d, &tx), 0);
        const struct pkt *p = tx.pkts[0];
        assert_int_equal(p->m.ol_flags,
                         RTE_MBUF_F_TX_UDP_CKSUM | (v6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4));
        assert_int_equal(p->m.l3_len, v6 ? 40 : 20);
        const uint64_t pseudo =
            v6 ? cksum_pseudo6(&d.from, &d.to, IP_PROTO_UDP, 9)
               : cksum_pseudo4(load_raw32(d.from.b + 12), load_raw32(d.to.b + 12), IP_PROTO_UDP, 9);
        assert_int_equal(load_raw16(pkt_data(p) + (v6 ? TCP6_OFF : TCP4_OFF) + 6),
                         cksum_fold(pseudo));
        assert_int_equal(net_send(net, clock_at_us(1), &d, &tx), -ENOBUFS);  // no room
        pkt_free(tx.pkts[0]);
        free(mem);
        finish();
    }
}

// ---- groups

static void a_broadcast_reaches_who_listens_on_any_address_once_and_is_not_answered(void **state)
{
    static const char *const to[] = {"10.0.0.255", "255.255.255.255", "224.0.0.1", "ff02::1",
                                     "ff02::1:ff00:2"};
    static const uint8_t macs[][6] = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
                                      {0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
                                      {1, 0, 0x5e, 0, 0, 1},
                                      {0x33, 0x33, 0, 0, 0, 1},
                                      {0x33, 0x33, 0xff, 0, 0, 2}};
    for (unsigned i = 0; i < ARRAY_LEN(to); i++) {
        const struct ip_addr group = ip(to[i]);
        const bool v6 = !ip_is_v4(&group);
        uint32_t len;
        begin();
        open_at(US, any6, PORT, false);
        assert_int_equal(send_from(US, any6, group, "all", 3), 0);
        assert_memory_equal(sent_frame(&len), macs[i], 6);
        hosts_run(h, 1);
        assert_int_equal(seen.n_packets + seen.n_errors, 0);  // nobody listens: not a word
        assert_int_equal(dropped(PEER, v6 ? DROP_ip6_group : DROP_ip_not_for_us), 1);
        open_at(PEER, any6, OTHER, false);
        open_at(PEER, hosts_addr(PEER, v6), OTHER, false);  // of an address: not for it
        send_from(US, any6, group, "all", 3);
        hosts_run(h, 1);
        assert_int_equal(seen.n_packets, 1);
        assert_int_equal(seen.packets[0].end, PEER);
        assert_int_equal(seen.packets[0].p.port, 0);
        expect_name(&seen.packets[0].p.to, group, OTHER);
        expect_name(&seen.packets[0].p.from, hosts_addr(US, v6), PORT);
        assert_int_equal(seen.packets[0].p.ttl, i < 2 ? 64 : 1);
        const int own = open_at(PEER, group, OTHER, false);
        send_from(US, any6, group, "all", 3);
        hosts_run(h, 1);
        assert_int_equal(seen.n_packets, 2);
        assert_int_equal(seen.packets[1].p.port, own);
        finish();
    }
}

static void a_group_that_nobody_joined_is_not_heard(void **state)
{
    begin();
    open_at(PEER, any6, OTHER, false);
    open_at(PEER, ip("239.1.2.3"), OTHER, false);
    send_from(US, any6, ip("239.1.2.3"), "x", 1);
    send_from(US, any6, ip("ff02::42"), "x", 1);
    hosts_run(h, 1);
    assert_int_equal(seen.n_packets, 0);
    assert_int_equal(dropped(PEER, DROP_ip_not_for_us), 1);
    assert_int_equal(dropped(PEER, DROP_ip6_group), 1);
    finish();
}

static void job_join(struct c10m_core *w, struct c10m_service *s)
{
    (void)s;
    rc = c10m_group_join(w, 1, at.addr);
}

static void job_leave(struct c10m_core *w, struct c10m_service *s)
{
    (void)s;
    rc = c10m_group_leave(w, 1, at.addr);
}

static void a_group_is_heard_from_the_join_until_it_was_left_as_often(void **state)
{
    static const char *const groups[] = {"239.1.2.3", "ff15::42"};
    for (unsigned i = 0; i < ARRAY_LEN(groups); i++) {
        const struct ip_addr group = ip(groups[i]);
        begin();
        open_at(PEER, any6, OTHER, false);
        for (unsigned step = 0; step < 5; step++) {  // join, join, leave, leave, leave
            at = name(group, 0);
            on(PEER, step < 2 ? job_join : job_leave);
            assert_int_equal(rc, step < 4 ? 0 : -EADDRNOTAVAIL);
            send_from(US, any6, group, "x", 1);
            hosts_run(h, 1);
            assert_int_equal(seen.n_packets, step < 3 ? step + 1 : 3);
        }
        finish();
    }
}

static void job_echo(struct c10m_core *w, struct c10m_service *s)
{
    rc = c10m_echo_open(w, s, &at, 0);
}

static void an_echo_reply_comes_to_who_waits_for_its_identifier(void **state)
{
    static const uint8_t data[] = "abcdefg";
    for (unsigned v6 = 0; v6 < 2; v6++) {
        uint8_t request[ICMP_BYTES + sizeof(data)] = {
            v6 ? ICMP6_ECHO : ICMP_ECHO, 0, 1, 2, 3, 4, 0, 9};
        memcpy(request + ICMP_BYTES, data, sizeof(data));
        begin();
        at = name(v6 ? any6 : ip_from_v4(0), PORT);
        on(US, job_echo);
        const int own = rc;
        assert_true(own >= 0);
        assert_true(open_at(US, any6, PORT, false) >= 0);  // of UDP: it is another
        out = (struct c10m_packet){.from = at,
                                   .to = name(hosts_addr(PEER, v6), 0),
                                   .data = request,
                                   .len = sizeof(request),
                                   .icmp = true};
        on(US, job_send);
        assert_int_equal(rc, 0);
        hosts_run(h, 5);
        assert_int_equal(seen.n_packets, 1);
        const struct c10m_packet *p = &seen.packets[0].p;
        assert_true(p->icmp);
        assert_int_equal(p->port, own);
        expect_name(&p->from, hosts_addr(PEER, v6), 0);
        expect_name(&p->to, hosts_addr(US, v6), PORT);
        assert_int_equal(p->len, sizeof(request));
        out.from.port = OTHER;  // nobody waits for the answer
        on(US, job_send);
        hosts_run(h, 5);
        assert_int_equal(seen.n_packets, 1);
        assert_int_equal(dropped(US, v6 ? DROP_icmp6_type : DROP_icmp_type), 1);
        out.len = ICMP_BYTES - 1;
        on(US, job_send);
        assert_int_equal(rc, -EINVAL);
        finish();
    }
}

// ---- errors

// error_about: the ICMP error of type and code that a router sends about the last frame to PEER,
// which never gets there; `value` lies in the message's second word.
static void error_about(bool v6, uint8_t type, uint8_t code, uint32_t value, uint32_t quote)
{
    uint32_t len;
    const uint8_t *sent = sent_frame(&len);
    struct hosts_end *us = &h->e[US];
    struct pkt *p;
    assert_true(pkt_alloc_bulk(us->server.pools[0], &p, 1));
    uint8_t *f = pkt_data(p);
    const uint64_t to = wire_mac_word(&us->wires[0].port.mac);
    const struct ip_addr ours = hosts_addr(US, v6), router = hosts_addr(PEER, v6);
    const uint32_t n = MIN(len - ETH_BYTES, quote);
    if (v6) {
        struct wire_from6 from;
        wire_from6_init(&from, &h->e[PEER].wires[0].port.mac, &router);
        len = wire_build_error6(f, &from, to, &ours, type, code, value, sent + ETH_BYTES, n);
    } else {
        struct wire_from from;
        wire_from_init(&from, &h->e[PEER].wires[0].port.mac, ip_to_v4(&router));
        len = wire_build_unreachable(f, &from, to, load_raw32(ours.b + 12), code, sent + ETH_BYTES,
                                     n);
        f[TCP4_OFF] = type;
        store_be32(f + TCP4_OFF + 4, value);
        store_be16(f + TCP4_OFF + 2, 0);
        store_raw16(f + TCP4_OFF + 2,
                    (uint16_t)~cksum_fold(cksum_add(0, f + TCP4_OFF, len - TCP4_OFF)));
    }
    pkt_set_len(p, len);
    us->wires[0].queue[us->wires[0].n_queue++] = p;
    struct hosts_end *peer = &h->e[PEER];
    pkt_free(peer->wires[0].queue[--peer->wires[0].n_queue]);
}

static void each_icmp_error_is_told_as_linux_has_it(void **state)
{
    static const struct {
        bool v6;
        uint8_t type, code;
        int error;
        bool hard;
    } rows[] = {
        {false, 3, 0, ENETUNREACH, false},  {false, 3, 1, EHOSTUNREACH, false},
        {false, 3, 2, ENOPROTOOPT, true},   {false, 3, 3, ECONNREFUSED, true},
        {false, 3, 5, EOPNOTSUPP, false},   {false, 3, 6, ENETUNREACH, true},
        {false, 3, 7, EHOSTDOWN, true},     {false, 3, 8, ENONET, true},
        {false, 3, 9, ENETUNREACH, true},   {false, 3, 10, EHOSTUNREACH, true},
        {false, 3, 11, ENETUNREACH, false}, {false, 3, 12, EHOSTUNREACH, false},
        {false, 3, 13, EHOSTUNREACH, true}, {false, 3, 14, EHOSTUNREACH, true},
        {false, 3, 15, EHOSTUNREACH, true}, {false, 11, 0, EHOSTUNREACH, false},
        {false, 11, 1, 0, false},           {false, 12, 0, EPROTO, true},
        {false, 3, 16, 0, false},           {false, 4, 0, 0, false},
        {true, 1, 0, ENETUNREACH, false},   {true, 1, 1, EACCES, true},
        {true, 1, 2, EHOSTUNREACH, false},  {true, 1, 3, EHOSTUNREACH, false},
        {true, 1, 4, ECONNREFUSED, true},   {true, 1, 5, EACCES, true},
        {true, 1, 6, EACCES, true},         {true, 1, 7, EPROTO, true},
        {true, 3, 0, EHOSTUNREACH, false},  {true, 4, 1, EPROTO, true},
    };
    begin();
    for (unsigned v6 = 0; v6 < 2; v6++)
        open_at(US, hosts_addr(US, v6), PORT, false);
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        const bool v6 = rows[i].v6;
        seen.n_errors = 0;
        send_from(US, any6, hosts_addr(PEER, v6), "question", 8);
        error_about(v6, rows[i].type, rows[i].code, 0, v6 ? 48 : 28);
        hosts_run(h, 1);
        assert_int_equal(seen.n_errors, rows[i].error != 0);
        if (rows[i].error == 0)
            continue;
        const struct got *g = &seen.errors[0];
        assert_int_equal(g->e.error, rows[i].error);
        assert_int_equal(g->e.hard, rows[i].hard);
        assert_int_equal(g->e.type, rows[i].type);
        assert_int_equal(g->e.code, rows[i].code);
        expect_name(&g->p.from, hosts_addr(US, v6), PORT);
        expect_name(&g->p.to, hosts_addr(PEER, v6), OTHER);
        assert_int_equal(g->p.len, 0);  // eight bytes behind the header: none of the payload
    }
    finish();
}

static void a_path_that_a_router_says_is_narrow_is_believed_for_a_while(void **state)
{
    static const uint8_t bytes[1400];
    static const struct {
        bool v6;
        uint32_t said;
        int believed;
    } rows[] = {{false, 1000, 1000}, {false, 100, 552},  {false, 0, 552},   {false, 9000, 1500},
                {true, 1300, 1300},  {true, 1280, 1280}, {true, 9000, 1500}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        const bool v6 = rows[i].v6;
        const struct ip_addr peer = hosts_addr(PEER, v6);
        const size_t head = v6 ? 48 : 28, most = (size_t)rows[i].believed - head;
        begin();
        open_at(US, hosts_addr(US, v6), PORT, false);
        assert_int_equal(send_from(US, any6, peer, bytes, sizeof(bytes)), 0);
        error_about(v6, v6 ? ICMP6_TOO_BIG : ICMP_UNREACHABLE, v6 ? 0 : ICMP_CODE_FRAG_NEEDED,
                    rows[i].said, 548);
        hosts_run(h, 1);
        assert_int_equal(seen.n_errors, 1);
        assert_int_equal(seen.errors[0].e.error, EMSGSIZE);
        assert_int_equal(seen.errors[0].e.mtu, rows[i].believed);
        assert_int_equal(seen.errors[0].p.len, 548 - head);
        assert_int_equal(mtu_to(US, peer), rows[i].believed);
        assert_int_equal(mtu_to(US, ip(v6 ? "fd00::9" : "10.0.0.9")), 1500);  // another path
        assert_int_equal(send_from(US, any6, peer, bytes, MIN(most, sizeof(bytes))), 0);
        if (most < sizeof(bytes))
            assert_int_equal(send_from(US, any6, peer, bytes, most + 1), -EMSGSIZE);
        h->now_us += UDP_PATH_MS * UINT64_C(1000);
        assert_int_equal(mtu_to(US, peer), 1500);
        hosts_run(h, 1);
        finish();
    }
}

static void an_error_below_what_ipv6_has_to_carry_is_not_believed(void **state)
{
    static const uint8_t bytes[1400];
    begin();
    open_at(US, any6, PORT, false);
    send_from(US, any6, hosts_addr(PEER, true), bytes, sizeof(bytes));
    error_about(true, ICMP6_TOO_BIG, 0, 1279, 548);
    hosts_run(h, 1);
    assert_int_equal(seen.n_errors, 0);
    assert_int_equal(dropped(US, DROP_icmp6_mtu), 1);
    assert_int_equal(mtu_to(US, hosts_addr(PEER, true)), 1500);
    finish();
}

static void an_error_about_a_port_that_is_not_open_changes_nothing(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        begin();
        open_at(US, any6, PORT + 1, false);
        send_from(US, any6, hosts_addr(PEER, v6), "x", 1);
        error_about(v6, v6 ? ICMP6_TOO_BIG : ICMP_UNREACHABLE, v6 ? 0 : ICMP_CODE_FRAG_NEEDED, 1300,
                    548);
        hosts_run(h, 1);
        assert_int_equal(seen.n_errors, 0);
        assert_int_equal(dropped(US, DROP_icmp_no_owner), 1);
        assert_int_equal(mtu_to(US, hosts_addr(PEER, v6)), 1500);
        finish();
    }
}

static void paths_are_bounded_and_the_oldest_of_a_set_goes(void **state)
{
    struct udp_table *t = malloc(sizeof(*t));
    assert_non_null(t);
    udp_table_init(t, (struct siphash_key){1, 2});
    unsigned known = 0;
    struct core_counters c = {.udp_paths_lowered = 0};
    for (uint32_t i = 0; i < 4 * UDP_PATHS; i++) {
        const struct ip_addr to = ip_from_v4(0x0b000000 + i);
        udp_path_lower(t, &to, 1000, 1000 + i, &c);
        assert_int_equal(udp_path_mtu(t, &to, 1500, 1000 + i), 1000);
        udp_path_lower(t, &to, 900, 1000 + i, &c);
        udp_path_lower(t, &to, 1000, 1000 + i, &c);  // lowers nothing
        assert_int_equal(udp_path_mtu(t, &to, 1500, 1000 + i), 900);
    }
    for (uint32_t i = 0; i < 4 * UDP_PATHS; i++) {
        const struct ip_addr to = ip_from_v4(0x0b000000 + i);
        known += udp_path_mtu(t, &to, 1500, 2000) != 1500;
    }
    assert_int_equal(known, UDP_PATHS);
    assert_int_equal(c.udp_paths_lowered, 2 * 4 * UDP_PATHS);
    assert_int_equal(c.udp_paths_evicted, 3 * UDP_PATHS);
    const struct ip_addr again = ip_from_v4(0x0b000000);  // all have ended: nobody is evicted
    udp_path_lower(t, &again, 1000, 2000 + 2 * UDP_PATH_MS, &c);
    assert_int_equal(c.udp_paths_evicted, 3 * UDP_PATHS);
    udp_paths_forget(t);
    const struct ip_addr last = ip_from_v4(0x0b000000 + 4 * UDP_PATHS - 1);
    assert_int_equal(udp_path_mtu(t, &last, 1500, 2000), 1500);
    free(t);
}

// The table alone: who a datagram is for, among all that may be open on one port.
static void the_device_counts_after_the_address_and_before_the_family(void **state)
{
    struct udp_table *t = malloc(sizeof(*t));
    const struct ip_addr v4 = ip("10.0.0.1"), all4 = ip_from_v4(0), peer = ip("10.0.0.9");
    assert_non_null(t);
    udp_table_init(t, (struct siphash_key){1, 2});
    const struct udp_open asks[] = {{.at = any6, .port = 53, .device = 2},
                                    {.at = all4, .port = 53},
                                    {.at = any6, .port = 53},
                                    {.at = v4, .port = 53, .device = 1}};
    assert_int_equal(udp_table_open(t, &asks[0]), 0);
    assert_int_equal(udp_table_open(t, &asks[0]), -EADDRINUSE);
    assert_int_equal(udp_table_find(t, &v4, 53, &peer, 9, 1), UDP_NONE);
    assert_int_equal(udp_table_find(t, &v4, 53, &peer, 9, 2), 0);
    assert_int_equal(udp_table_open(t, &asks[1]), 1);
    assert_int_equal(udp_table_open(t, &asks[2]), 2);
    assert_int_equal(udp_table_find(t, &v4, 53, &peer, 9, 1), 1);
    assert_int_equal(udp_table_find(t, &v4, 53, &peer, 9, 2), 0);
    assert_int_equal(udp_table_open(t, &asks[3]), 3);
    assert_int_equal(udp_table_find(t, &v4, 53, &peer, 9, 1), 3);
    assert_int_equal(udp_table_find(t, &v4, 53, &peer, 9, 2), 0);
    free(t);
}

static void every_kind_of_entry_takes_its_own_datagrams_and_no_others(void **state)
{
    struct udp_table *t = malloc(sizeof(*t));
    assert_non_null(t);
    udp_table_init(t, (struct siphash_key){1, 2});
    const struct ip_addr v4 = ip_from_v4(0x0a000001), other4 = ip_from_v4(0x0a000002);
    const struct ip_addr all4 = ip_from_v4(0);
    struct ip_addr v6, zeros;  // the second ends in zeros, as all of IPv4 does
    assert_true(ip_parse("2001:db8::1", &v6));
    assert_true(ip_parse("2001:db8::", &zeros));
    const int at_zeros = udp_table_open(t, &(struct udp_open){.at = zeros, .port = 53});
    assert_true(at_zeros >= 0);
    assert_int_equal(udp_table_find(t, &v4, 53, &other4, 9, 1), UDP_NONE);
    assert_int_equal(udp_table_find(t, &v6, 53, &zeros, 9, 1), UDP_NONE);
    assert_int_equal(udp_table_find(t, &zeros, 53, &v6, 9, 1), at_zeros);
    const int of_all4 = udp_table_open(t, &(struct udp_open){.at = all4, .port = 53});
    assert_int_equal(udp_table_find(t, &v4, 53, &other4, 9, 1), of_all4);
    assert_int_equal(udp_table_find(t, &v6, 53, &zeros, 9, 1), UDP_NONE);
    const int at_v4 = udp_table_open(t, &(struct udp_open){.at = v4, .port = 53});
    assert_int_equal(udp_table_find(t, &v4, 53, &other4, 9, 1), at_v4);
    udp_table_filter(t, (uint16_t)at_v4, &other4, 9);
    assert_int_equal(udp_table_find(t, &v4, 53, &other4, 9, 1), at_v4);
    assert_int_equal(udp_table_find(t, &v4, 53, &other4, 10, 1), of_all4);
    assert_int_equal(udp_table_find(t, &v4, 53, &v6, 9, 1), of_all4);
    assert_true(udp_table_shows(t, &v4, 53));
    assert_false(udp_table_shows(t, &v4, 54));
    assert_false(udp_table_shows(t, &other4, 53));
    udp_table_close(t, (uint16_t)at_v4);
    assert_false(udp_table_shows(t, &v4, 53));
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_datagram_reaches_the_port_that_was_opened_with_all_that_its_headers_say),
        cmocka_unit_test(an_empty_datagram_is_one),
        cmocka_unit_test(every_kind_of_entry_takes_its_own_datagrams_and_no_others),
        cmocka_unit_test(every_length_up_to_the_mtu_arrives_whole_and_one_more_is_refused),
        cmocka_unit_test(the_address_itself_comes_before_all_of_its_family_and_those_before_both),
        cmocka_unit_test(a_port_with_a_peer_takes_its_datagrams_before_others_and_no_others),
        cmocka_unit_test(an_error_about_a_datagram_to_another_is_not_for_a_port_with_a_peer),
        cmocka_unit_test(broadcast_addresses_are_known),
        cmocka_unit_test(all_of_ipv6_and_all_of_both_may_be_open_beside_each_other),
        cmocka_unit_test(v6only_leaves_ipv4_alone_and_0000_leaves_ipv6),
        cmocka_unit_test(without_a_port_the_answer_is_port_unreachable_and_it_is_told_who_sent),
        cmocka_unit_test(a_port_that_is_closed_answers_no_more_and_can_be_opened_again),
        cmocka_unit_test(a_port_closed_in_its_callback_gets_nothing_more_of_the_burst),
        cmocka_unit_test(what_the_application_refuses_is_counted_as_a_full_receive_buffer),
        cmocka_unit_test(who_cannot_be_opened_is_told_why),
        cmocka_unit_test(so_many_ports_are_open_at_a_time_and_no_more),
        cmocka_unit_test(a_configured_port_goes_on_as_before_beside_open_ones),
        cmocka_unit_test(a_server_whose_applications_take_no_datagrams_reserves_nothing),
        cmocka_unit_test(a_source_that_is_left_open_is_chosen_for_the_destination),
        cmocka_unit_test(what_cannot_be_sent_is_refused_with_its_reason),
        cmocka_unit_test(datagrams_wait_for_a_neighbor_that_is_not_known_and_arrive_in_order),
        cmocka_unit_test(a_turn_takes_so_many_and_the_next_one_takes_more),
        cmocka_unit_test(without_a_packet_nothing_is_sent),
        cmocka_unit_test(an_answer_may_be_sent_from_the_callback_out_of_the_bytes_received),
        cmocka_unit_test(a_checksum_that_comes_out_as_0_is_sent_as_ffff),
        cmocka_unit_test(a_datagram_that_may_be_cut_has_an_identification_of_its_own),
        cmocka_unit_test(the_port_fills_the_checksum_in_where_it_can),
        cmocka_unit_test(a_broadcast_reaches_who_listens_on_any_address_once_and_is_not_answered),
        cmocka_unit_test(a_group_that_nobody_joined_is_not_heard),
        cmocka_unit_test(an_echo_reply_comes_to_who_waits_for_its_identifier),
        cmocka_unit_test(the_device_counts_after_the_address_and_before_the_family),
        cmocka_unit_test(a_group_is_heard_from_the_join_until_it_was_left_as_often),
        cmocka_unit_test(each_icmp_error_is_told_as_linux_has_it),
        cmocka_unit_test(a_path_that_a_router_says_is_narrow_is_believed_for_a_while),
        cmocka_unit_test(an_error_below_what_ipv6_has_to_carry_is_not_believed),
        cmocka_unit_test(an_error_about_a_port_that_is_not_open_changes_nothing),
        cmocka_unit_test(paths_are_bounded_and_the_oldest_of_a_set_goes),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
