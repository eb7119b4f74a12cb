// SPDX-License-Identifier: BSD-3-Clause
// A host's connections to itself: the port `lo`, through real turns of workers.
#include <errno.h>
#include <string.h>

#include "app/apps.h"
#include "c10m/socket.h"
#include "hosts.h"
#include "pkt_env.h"
#include "server/loopback_port.h"
#include "worker/loopback.h"

enum { SERVER, PEER, PORT = 8000 };

static struct {
    unsigned opened, came, closed, refused, datagrams, errors;
    size_t bytes;
    enum c10m_close why;
    int rc, id, error;
    struct c10m_name from, to, local, heard_from, heard_to, peer;
    uint64_t handle;
    size_t want;
    void (*run)(struct c10m_core *w, struct c10m_service *s);
} t;

static void on_message(struct c10m_core *w, struct c10m_service *s, void *msg)
{
    (void)msg;
    t.run(w, s);
}

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + (i >> 8));
}

static void pump(struct c10m_conn *c)
{
    size_t *sent = c10m_state(c);
    uint8_t bytes[1000];
    while (*sent < t.want) {
        const size_t n = t.want - *sent < sizeof(bytes) ? t.want - *sent : sizeof(bytes);
        for (size_t i = 0; i < n; i++)
            bytes[i] = byte_at(*sent + i);
        const size_t took = c10m_send(c, bytes, n);
        *sent += took;
        if (took < n)
            return;
    }
    c10m_shutdown(c);
}

static void on_open(struct c10m_conn *c)
{
    t.opened++;
    if (c10m_listener(c) >= 0) {
        t.came++;
        c10m_accepted(c10m_core_of(c), c10m_listener(c));
        c10m_peer(c, t.peer.addr, &t.peer.port);
        return;
    }
    t.handle = c10m_handle(c);
    pump(c);
}

static size_t on_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    (void)c;
    for (size_t i = 0; i < len; i++)
        assert_int_equal(data[i], byte_at(t.bytes + i));
    t.bytes += len;
    return len;
}

static void on_close(struct c10m_conn *c, enum c10m_close why)
{
    (void)c;
    t.closed++;
    t.refused += why == C10M_REFUSED;
    t.why = why;
}

static void no_thread(struct c10m_service *s)
{
    (void)s;
}

static bool on_packet(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p)
{
    (void)w;
    (void)s;
    t.datagrams++;
    t.heard_from = p->from;
    t.heard_to = p->to;
    return true;
}

static void on_packet_error(struct c10m_core *w, struct c10m_service *s,
                            const struct c10m_packet *p, const struct c10m_packet_error *e)
{
    (void)w;
    (void)s;
    (void)p;
    t.errors++;
    t.error = e->error;
}

static const struct c10m_app self = {.name = "self",
                                     .open = on_open,
                                     .data = on_data,
                                     .writable = pump,
                                     .close = on_close,
                                     .thread = no_thread,
                                     .message = on_message,
                                     .packet = on_packet,
                                     .packet_error = on_packet_error};

static void add_loop(struct server_params *p, unsigned end)
{
    (void)end;
    server_loopback_add(p);  // one without a thread gets none
}

static struct hosts *begin(void)
{
    static const struct c10m_app *const run[2][3] = {{&self}, {&app_echo}};
    memset(&t, 0, sizeof(t));
    t.want = 5;
    struct hosts *h = hosts_new(run, add_loop);
    assert_int_equal(h->e[SERVER].w->n_ports, 2);
    assert_int_equal(h->e[PEER].w->n_ports, 1);
    return h;
}

static struct c10m_name name(struct ip_addr a, uint16_t port)
{
    struct c10m_name n = {.port = port};
    memcpy(n.addr, a.b, sizeof(n.addr));
    return n;
}

static struct ip_addr none(void)
{
    return (struct ip_addr){{0}};
}

static void run(struct hosts *h, void (*what)(struct c10m_core *w, struct c10m_service *s))
{
    t.run = what;
    assert_true(c10m_post(&h->e[SERVER].server.services[0], 0, (void *)1));
    hosts_turn(h, SERVER);
}

static void open_it(struct c10m_core *w, struct c10m_service *s)
{
    const struct c10m_opening o = {.from = t.from, .to = t.to};
    struct c10m_conn *c;
    t.rc = c10m_open(w, s, &o, &c);
    if (t.rc == 0)
        c10m_local(c, &t.local);
}

static int opening(struct hosts *h, struct c10m_name from, struct c10m_name to)
{
    t.from = from;
    t.to = to;
    run(h, open_it);
    return t.rc;
}

static void listen_it(struct c10m_core *w, struct c10m_service *s)
{
    const struct c10m_listening l = {.at = t.to, .backlog = 4};
    t.id = c10m_listen(w, s, &l);
}

static void listening(struct hosts *h, struct c10m_name at)
{
    t.to = at;
    run(h, listen_it);
    assert_true(t.id >= 0);
}

static void connections_to_ourselves_open_and_carry_bytes(void **state)
{
    struct hosts *h = begin();
    const struct ip_addr to[] = {hosts_addr(SERVER, false), hosts_addr(SERVER, true),
                                 server_loopback(false), server_loopback(true)};
    listening(h, name(none(), PORT));
    for (unsigned i = 0; i < ARRAY_LEN(to); i++) {
        t.opened = t.came = 0;
        t.bytes = 0;
        assert_int_equal(opening(h, name(none(), 0), name(to[i], PORT)), 0);
        assert_memory_equal(t.local.addr, to[i].b, 16);
        hosts_run(h, 5);
        assert_int_equal(t.opened, 2);
        assert_int_equal(t.came, 1);
        assert_int_equal(t.bytes, 5);
        assert_memory_equal(&t.peer, &t.local, sizeof(t.peer));
    }
    assert_int_equal(t.closed, 2 * ARRAY_LEN(to));
    assert_int_equal(t.why, C10M_CLOSED);
    assert_int_equal(h->e[SERVER].w->tcp.stats->c.connections_now, 0);
    assert_int_equal(h->e[PEER].w->stats->c.rx_packets, 0);  // nothing on the wire
    hosts_free(h);
}

static void any_address_of_a_family_means_loopback(void **state)
{
    struct hosts *h = begin();
    t.want = 0;
    listening(h, name(none(), PORT));
    assert_int_equal(opening(h, name(none(), 0), name(none(), PORT)), 0);
    assert_memory_equal(t.local.addr, server_loopback(true).b, 16);
    assert_int_equal(opening(h, name(none(), 0), name(ip_from_v4(0), PORT)), 0);
    assert_memory_equal(t.local.addr, server_loopback(false).b, 16);
    hosts_run(h, 5);
    assert_int_equal(t.came, 2);
    hosts_free(h);
}

static void a_listener_at_one_address_is_found_from_here_as_from_the_wire(void **state)
{
    struct hosts *h = begin();
    const struct ip_addr ours = hosts_addr(SERVER, false);
    t.want = 0;
    listening(h, name(ours, PORT));
    assert_int_equal(opening(h, name(server_loopback(false), 0), name(ours, PORT)), 0);
    assert_int_equal(opening(h, name(none(), 0), name(server_loopback(false), PORT)), 0);
    hosts_run(h, 5);
    assert_int_equal(t.came, 1);
    assert_int_equal(t.closed, 3);
    assert_int_equal(t.refused, 1);  // nobody listens at 127.0.0.1
    hosts_connect(h, PEER, PORT);
    hosts_run(h, 5);
    assert_int_equal(t.came, 2);
    hosts_free(h);
}

static void a_port_that_nobody_listens_on_refuses(void **state)
{
    struct hosts *h = begin();
    assert_int_equal(opening(h, name(none(), 0), name(hosts_addr(SERVER, true), PORT)), 0);
    hosts_run(h, 5);
    assert_int_equal(t.closed, 1);
    assert_int_equal(t.why, C10M_REFUSED);
    hosts_free(h);
}

static void loopback_addresses_have_no_way_to_others(void **state)
{
    struct hosts *h = begin();
    for (int v6 = 0; v6 < 2; v6++) {
        assert_int_equal(
            opening(h, name(server_loopback(v6), 0), name(hosts_addr(PEER, v6), HOSTS_PORT)),
            -ENETUNREACH);
        assert_int_equal(opening(h, name(none(), 0), name(hosts_addr(PEER, v6), HOSTS_PORT)), 0);
        assert_memory_equal(t.local.addr, hosts_addr(SERVER, v6).b, 16);
    }
    assert_int_equal(opening(h, name(none(), 0), name(ip_from_v4(0x7f000002), PORT)), -ENETUNREACH);
    assert_int_equal(opening(h, name(ip_from_v4(0x7f000002), 0), name(none(), PORT)), -ENETUNREACH);
    hosts_free(h);
}

// RFC 9293 3.10.4, figure 7 with one end.
static void a_connection_to_its_own_port_is_open_at_once_with_itself(void **state)
{
    struct hosts *h = begin();
    const struct c10m_name me = name(server_loopback(false), 5555);
    assert_int_equal(opening(h, me, me), 0);
    hosts_run(h, 5);
    assert_int_equal(t.opened, 1);
    assert_int_equal(t.came, 0);
    assert_int_equal(t.bytes, 5);
    hosts_free(h);
}

static void much_goes_through_without_loss(void **state)
{
    struct hosts *h = begin();
    t.want = 3000000;
    listening(h, name(none(), PORT));
    assert_int_equal(opening(h, name(none(), 0), name(hosts_addr(SERVER, false), PORT)), 0);
    hosts_run(h, 3000);
    assert_int_equal(t.bytes, t.want);
    assert_int_equal(t.closed, 2);
    assert_int_equal(h->e[SERVER].w->tcp.stats->c.tx_retransmits_segs, 0);
    hosts_free(h);
}

static void udp_open(struct c10m_core *w, struct c10m_service *s)
{
    assert_true(c10m_udp_open(w, s, &t.to, false) >= 0);
}

static void udp_send(struct c10m_core *w, struct c10m_service *s)
{
    const struct c10m_packet p = {
        .from = t.from, .to = t.to, .data = (const uint8_t *)"hello", .len = 5};
    t.rc = c10m_udp_send(w, s, &p);
}

static void datagrams_to_ourselves_arrive_or_come_back_as_an_error(void **state)
{
    struct hosts *h = begin();
    const struct ip_addr to[] = {hosts_addr(SERVER, false), hosts_addr(SERVER, true),
                                 server_loopback(false), server_loopback(true)};
    t.to = name(none(), PORT);
    run(h, udp_open);
    for (unsigned i = 0; i < ARRAY_LEN(to); i++) {
        t.from = name(none(), PORT);
        t.to = name(to[i], PORT);
        run(h, udp_send);
        assert_int_equal(t.rc, 0);
        hosts_run(h, 1);
        assert_int_equal(t.datagrams, i + 1);
        assert_memory_equal(&t.heard_from, &t.to, sizeof(t.to));
        assert_memory_equal(&t.heard_to, &t.to, sizeof(t.to));
    }
    t.to.port = PORT + 1;
    run(h, udp_send);
    hosts_run(h, 1);
    assert_int_equal(t.errors, 1);
    assert_int_equal(t.error, ECONNREFUSED);
    // And who is bound to one address of ours reaches another.
    t.from = name(hosts_addr(SERVER, false), PORT);
    t.to = name(server_loopback(false), PORT);
    run(h, udp_send);
    assert_int_equal(t.rc, 0);
    hosts_run(h, 1);
    assert_memory_equal(&t.heard_from, &t.from, sizeof(t.from));
    assert_int_equal(h->e[PEER].w->stats->c.rx_packets, 0);
    // To everybody is to the wire.
    t.to = name(ip_from_v4(UINT32_MAX), PORT);
    t.from = name(none(), PORT);
    run(h, udp_send);
    hosts_run(h, 1);
    assert_int_equal(h->e[PEER].w->stats->c.rx_packets, 1);
    hosts_free(h);
}

// What pretends to be ours, or to be for loopback, and comes by the wire.
static void frame(struct hosts *h, struct ip_addr from, struct ip_addr to)
{
    struct tcp *tcp = &h->e[PEER].w->tcp;
    uint32_t ix;
    tcp->now = clock_at_us(h->now_us);
    const struct ip_addr ours = hosts_addr(SERVER, false);
    assert_int_equal(tcp_connect(tcp, &ours, PORT, 0, 0, &ix), 0);
    hosts_turn(h, PEER);
    struct hosts_end *e = &h->e[SERVER];
    uint8_t *ip = pkt_data(e->wires[0].queue[e->wires[0].n_queue - 1]) + 14;
    memcpy(ip + 12, from.b + 12, 4);
    memcpy(ip + 16, to.b + 12, 4);
    e->wires[0].queue[e->wires[0].n_queue - 1]->m.ol_flags =
        RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
}

static void the_wire_cannot_speak_for_us_nor_to_loopback(void **state)
{
    struct hosts *h = begin();
    const uint64_t *drops = h->e[SERVER].w->stats->drops;
    listening(h, name(none(), PORT));
    frame(h, hosts_addr(SERVER, false), hosts_addr(SERVER, false));
    frame(h, server_loopback(false), hosts_addr(SERVER, false));
    frame(h, hosts_addr(PEER, false), server_loopback(false));
    hosts_run(h, 1);
    assert_int_equal(drops[DROP_ip_source], 2);
    assert_int_equal(drops[DROP_ip_not_for_us], 1);
    assert_int_equal(h->e[SERVER].w->tcp.stats->c.syn_received, 0);
    hosts_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_to_ourselves_open_and_carry_bytes),
        cmocka_unit_test(any_address_of_a_family_means_loopback),
        cmocka_unit_test(a_listener_at_one_address_is_found_from_here_as_from_the_wire),
        cmocka_unit_test(a_port_that_nobody_listens_on_refuses),
        cmocka_unit_test(loopback_addresses_have_no_way_to_others),
        cmocka_unit_test(a_connection_to_its_own_port_is_open_at_once_with_itself),
        cmocka_unit_test(much_goes_through_without_loss),
        cmocka_unit_test(datagrams_to_ourselves_arrive_or_come_back_as_an_error),
        cmocka_unit_test(the_wire_cannot_speak_for_us_nor_to_loopback),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
