// Each capability of a port once with and once without, and what a packet says of itself at each
// border that it crosses.
#include "base/rng.h"
#include "drivers/fault.h"
#include "drivers/ring.h"
#include "unit/pkt_env.h"

enum { POOL = 4095 };

static struct pkt_pool *pool, *far_pool;

static const uint64_t verdicts = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;

static struct port *opened(const struct port_params *p)
{
    struct err e = {""};
    struct port *port = port_open(p, &e);
    if (port == NULL)
        fail_msg("%s", e.text);
    return port;
}

static int all_packets_are_back(void **state)
{
    assert_int_equal(pkt_pool_free_count(pool), POOL);
    assert_int_equal(pkt_pool_free_count(far_pool), POOL);
    return 0;
}

// ---- borders

// net_ring hands the sender's own packet to the receiver, with all that is written in it.
static void what_the_sender_wrote_in_a_packet_is_gone_when_a_device_hands_it_on(void **state)
{
    const struct port_params p = {.name = "n",
                                  .driver = "pci",
                                  .device = "net_ring0",
                                  .queues = 1,
                                  .node = -1,
                                  .pools = {pool}};
    struct port *port = opened(&p);
    assert_int_equal(port->caps & (PORT_RX_IP_CKSUM | PORT_RX_L4_CKSUM), 0);
    struct pkt *sent = pkt_of(pool, 7, 60), *got;
    sent->m.ol_flags = verdicts | RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_TX_IPV4 |
                       RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
    assert_int_equal(port->ops->tx_burst(port, 0, &sent, 1), 1);
    assert_int_equal(port->ops->rx_burst(port, 0, &got, 1), 1);
    assert_ptr_equal(got, sent);  // else this shows nothing
    assert_true(got->m.ol_flags == 0);
    pkt_free(got);
    port_close(port);
}

struct ends {
    struct port *near, *far;
};

static struct ends open_ring(const struct port_params *p)
{
    struct err e = {""};
    const struct port_params far = {
        .name = "far", .driver = "ring", .queues = 1, .node = -1, .pools = {far_pool}};
    struct ends r = {opened(p), NULL};
    struct port *inner = fault_inner(r.near);
    r.far = ring_open_far(inner != NULL ? inner : r.near, &far, &e);
    assert_non_null(r.far);
    struct pkt *none;
    r.near->ops->rx_burst(r.near, 0, &none, 1);  // both post their packets
    r.far->ops->rx_burst(r.far, 0, &none, 1);
    return r;
}

static void close_ring(struct ends r)
{
    port_close(r.far);
    port_close(r.near);
}

static struct port_params ring_params(void)
{
    return (struct port_params){
        .name = "near", .driver = "ring", .queues = 1, .node = -1, .pools = {pool}};
}

// A packet that was received with verdicts and goes out again; what arrives at the far end.
static struct pkt *forward(struct ends r)
{
    struct pkt *p = pkt_of(pool, 7, 60), *got;
    p->m.ol_flags = verdicts | RTE_MBUF_F_RX_RSS_HASH;
    assert_int_equal(r.near->ops->tx_burst(r.near, 0, &p, 1), 1);
    assert_int_equal(r.far->ops->rx_burst(r.far, 0, &got, 1), 1);
    return got;
}

static void what_was_said_of_a_packet_does_not_cross_a_ring(void **state)
{
    const struct port_params p = ring_params();
    const struct ends r = open_ring(&p);
    struct pkt *got = forward(r);
    assert_true(got->m.ol_flags == 0);
    pkt_free(got);
    close_ring(r);
}

static void what_was_said_of_a_packet_does_not_cross_a_fault_port(void **state)
{
    const struct port_params inner = ring_params();
    const struct port_params p = {.name = "fault",
                                  .driver = "fault",
                                  .queues = 1,
                                  .node = -1,
                                  .pools = {pool},
                                  .wraps = &inner,
                                  .duplicate_ppm = FAULT_PPM,
                                  .seed = 1};
    const struct ends r = open_ring(&p);
    struct pkt *twin, *got = forward(r);
    assert_int_equal(r.far->ops->rx_burst(r.far, 0, &twin, 1), 1);
    assert_true(got->m.ol_flags == 0 && twin->m.ol_flags == 0);
    pkt_free(got);
    pkt_free(twin);
    close_ring(r);
}

// A packet's memory serves one port after the other: what the last user left in it is not sent.
static void a_packet_taken_from_the_pool_says_nothing_of_its_last_use(void **state)
{
    struct pkt *p = pkt_of(pool, 0, 60), *again;
    p->m.ol_flags = verdicts;
    pkt_tx_offload(p, 14, 20, 32);
    pkt_free_bulk(&p, 1);
    assert_true(pkt_alloc_bulk(pool, &again, 1));
    assert_ptr_equal(p, again);  // else this shows nothing
    assert_true(again->m.ol_flags == 0);
    pkt_free(again);
}

static void a_received_packet_that_is_turned_round_is_sent_without_its_verdicts(void **state)
{
    struct pkt *p = pkt_of(pool, 0, 60);
    p->m.ol_flags = verdicts | RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_VLAN;
    pkt_turn_round(p);
    assert_true(p->m.ol_flags == 0);
    pkt_free(p);
}

// ---- chains

static void a_ring_has_chains_unless_it_is_told_not_to(void **state)
{
    struct port_params p = ring_params();
    struct port *port = opened(&p);
    assert_int_equal(port->caps, PORT_MULTI_SEG | PORT_NO_SYSCALL);
    port_close(port);
    p.has_offloads = true;
    port = opened(&p);
    assert_int_equal(port->caps, PORT_NO_SYSCALL);
    port_close(port);
}

#define T(name) cmocka_unit_test_teardown(name, all_packets_are_back)

int main(void)
{
    pkt_env_start(0);
    pool = pkt_pool_create("caps", POOL, -1);
    far_pool = pkt_pool_create("caps_far", POOL, -1);
    if (pool == NULL || far_pool == NULL)
        return fprintf(stderr, "no pool\n"), 1;
    const struct CMUnitTest tests[] = {
        T(what_the_sender_wrote_in_a_packet_is_gone_when_a_device_hands_it_on),
        T(what_was_said_of_a_packet_does_not_cross_a_ring),
        T(what_was_said_of_a_packet_does_not_cross_a_fault_port),
        T(a_packet_taken_from_the_pool_says_nothing_of_its_last_use),
        T(a_received_packet_that_is_turned_round_is_sent_without_its_verdicts),
        T(a_ring_has_chains_unless_it_is_told_not_to),
    };
    const int failed = cmocka_run_group_tests_name("caps", tests, NULL, NULL);
    eal_stop();
    return failed;
}
