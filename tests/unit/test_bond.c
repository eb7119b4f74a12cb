// SPDX-License-Identifier: BSD-3-Clause
// A bond over wires whose other ends send and receive. Time is the test's.
#include "base/bytes.h"
#include "base/rng.h"
#include "drivers/bond.h"
#include "drivers/lacp.h"
#include "drivers/ring.h"
#include "unit/pkt_env.h"
#include "unit/seed.h"

enum { POOL = 4096, SLOTS = 256, FRAME = 100, WIRES = 3, TYPE = 0x0800, LOOK_MS = 100 };

static struct pkt_pool *pool_a, *pool_b;

// rig: `peer` is the LACP of the other ends.
struct rig {
    struct port *bond, *members[WIRES], *far[WIRES];
    unsigned n;
    uint64_t ms;
    struct lacp peer;
    uint64_t pdus;  // that the peer got
};

static const struct mac_addr mac = {{2, 0xb0, 0, 0, 0, 1}}, peer_mac = {{2, 0xff, 0, 0, 0, 1}};
static const char *const names[WIRES] = {"p0", "p1", "p2"};

static struct port *open_far(struct port *near, unsigned m)
{
    struct err e = {.text = ""};
    struct pkt *none;
    const struct port_params far = {
        .name = names[m], .driver = "ring", .queues = 1, .pools = {pool_b}};
    struct port *p = ring_open_far(near, &far, &e);
    assert_non_null(p);
    assert_int_equal(p->ops->rx_burst(p, 0, &none, 1), 0);  // offers its buffers
    return p;
}

static void look(struct rig *r)
{
    r->ms += LOOK_MS;
    r->bond->ops->group->look(r->bond, r->ms * 1000000);
}

static struct rig open_rig(unsigned n, const struct port_params *wanted)
{
    struct err e = {.text = ""};
    struct port_params members[WIRES], p = *wanted;
    struct rig r = {.n = n, .ms = 50000};
    struct pkt *none;
    for (unsigned m = 0; m < n; m++)
        members[m] = (struct port_params){
            .name = names[m], .driver = "ring", .rx_ring = SLOTS, .tx_ring = SLOTS, .node = -1};
    p.name = "bond0";
    p.driver = "bond";
    p.queues = 1;
    p.pools[0] = pool_a;
    p.members = members;
    p.n_members = n;
    r.bond = port_open(&p, &e);
    if (r.bond == NULL)
        fail_msg("%s", e.text);
    for (unsigned m = 0; m < n; m++) {
        struct port_member is;
        assert_true(r.bond->ops->group->member(r.bond, m, &is));
        r.members[m] = is.port;
        r.far[m] = open_far(is.port, m);
    }
    for (unsigned m = 0; m < n; m++)  // so that each member offers its buffers
        assert_int_equal(r.bond->ops->rx_burst(r.bond, 0, &none, 1), 0);
    lacp_init(&r.peer, n, &peer_mac, true);
    look(&r);
    return r;
}

static struct rig backup_rig(unsigned n, int primary)
{
    const struct port_params p = {.has_mac = true, .mac = mac, .primary = primary};
    return open_rig(n, &p);
}

static void close_far(struct rig *r, unsigned m)
{
    port_close(r->far[m]);
    r->far[m] = NULL;
}

// No packet is lost or freed twice.
static void close_rig(struct rig *r)
{
    port_close(r->bond);
    for (unsigned m = 0; m < r->n; m++)
        port_close(r->far[m]);
    assert_int_equal(pkt_pool_free_count(pool_a), POOL - 1);
    assert_int_equal(pkt_pool_free_count(pool_b), POOL - 1);
}

// flow_frame: of IPv4 UDP, from a port that is the number of the flow.
static struct pkt *flow_frame(struct pkt_pool *pool, uint16_t flow, uint32_t number)
{
    struct pkt *p = pkt_of(pool, 0, FRAME);
    assert_non_null(p);
    uint8_t *d = pkt_data(p);
    store_be16(d + 12, TYPE);
    d[14] = 0x45;
    d[23] = 17;
    store_be16(d + 34, flow);
    store_be32(d + 60, number);
    return p;
}

static uint32_t number_of(const struct pkt *p)
{
    return load_be32(pkt_data(p) + 60);
}

static void send_far(struct rig *r, unsigned m, uint32_t number)
{
    struct pkt *p = flow_frame(pool_b, 1, number);
    assert_int_equal(r->far[m]->ops->tx_burst(r->far[m], 0, &p, 1), 1);
}

// receive_all: what the bond receives in a few bursts; *first: the number of the first.
static unsigned receive_all(struct rig *r, uint32_t *first)
{
    struct pkt *in[BURST_MAX];
    unsigned got = 0;
    for (unsigned k = 0; k < 2 * WIRES; k++) {
        const uint16_t n = r->bond->ops->rx_burst(r->bond, 0, in, BURST_MAX);
        if (got == 0 && n != 0 && first != NULL)
            *first = number_of(in[0]);
        got += n;
        pkt_free_bulk(in, n);
    }
    return got;
}

static unsigned arrived(struct rig *r, unsigned m)
{
    struct pkt *in[BURST_MAX];
    const uint16_t n = r->far[m]->ops->rx_burst(r->far[m], 0, in, BURST_MAX);
    pkt_free_bulk(in, n);
    return n;
}

static unsigned send(struct rig *r, unsigned n)
{
    struct pkt *out[BURST_MAX];
    for (unsigned i = 0; i < n; i++)
        out[i] = flow_frame(pool_a, (uint16_t)i, i);
    const uint16_t took = r->bond->ops->tx_burst(r->bond, 0, out, (uint16_t)n);
    pkt_free_bulk(out + took, n - took);
    return took;
}

static struct port_link link_of(struct rig *r)
{
    struct port_link l;
    r->bond->ops->view->link(r->bond, &l);
    return l;
}

static struct port_member member_of(struct rig *r, unsigned m)
{
    struct port_member is;
    assert_true(r->bond->ops->group->member(r->bond, m, &is));
    return is;
}

static struct port_stats stats_of(struct rig *r)
{
    struct port_stats s;
    r->bond->ops->stats(r->bond, &s);
    return s;
}

// ---- active-backup

static void one_member_sends_and_receives(void **state)
{
    struct rig r = backup_rig(2, -1);
    uint32_t first = 0;
    assert_true(link_of(&r).up);
    assert_int_equal(send(&r, 5), 5);
    assert_int_equal(arrived(&r, 0), 5);
    assert_int_equal(arrived(&r, 1), 0);
    send_far(&r, 0, 7);
    send_far(&r, 1, 8);  // as a switch floods it
    assert_int_equal(receive_all(&r, &first), 1);
    assert_int_equal(first, 7);
    const struct port_stats s = stats_of(&r);
    assert_int_equal(s.rx_packets - s.rx_taken_away, 1);
    assert_int_equal(s.rx_taken_away, 1);
    assert_int_equal(s.tx_packets, 5);
    assert_string_equal(member_of(&r, 0).state, "active");
    assert_string_equal(member_of(&r, 1).state, "backup");
    close_rig(&r);
}

static void another_member_takes_over_when_the_link_is_lost(void **state)
{
    struct rig r = backup_rig(3, -1);
    const uint32_t moves = link_of(&r).moves;
    close_far(&r, 0);
    look(&r);
    assert_true(link_of(&r).up);
    assert_int_equal(link_of(&r).moves, moves + 1);
    assert_string_equal(member_of(&r, 0).state, "down");
    assert_int_equal(send(&r, 3), 3);
    assert_int_equal(arrived(&r, 1), 3);
    send_far(&r, 1, 9);
    assert_int_equal(receive_all(&r, NULL), 1);
    // It stays when the first is back.
    r.far[0] = open_far(r.members[0], 0);
    look(&r);
    assert_int_equal(link_of(&r).moves, moves + 1);
    assert_string_equal(member_of(&r, 0).state, "backup");
    assert_int_equal(member_of(&r, 0).changes, 3);  // it came, went and came
    close_rig(&r);
}

static void the_primary_member_is_taken_again(void **state)
{
    struct rig r = backup_rig(2, 1);
    assert_string_equal(member_of(&r, 1).state, "active");
    close_far(&r, 1);
    look(&r);
    assert_string_equal(member_of(&r, 0).state, "active");
    r.far[1] = open_far(r.members[1], 1);
    look(&r);
    assert_string_equal(member_of(&r, 1).state, "active");
    assert_int_equal(link_of(&r).moves, 2);
    close_rig(&r);
}

static void without_any_link_the_link_of_the_bond_is_down(void **state)
{
    struct rig r = backup_rig(2, -1);
    close_far(&r, 0);
    close_far(&r, 1);
    look(&r);
    assert_false(link_of(&r).up);
    assert_int_equal(link_of(&r).reason, PORT_LINK_NO_CARRIER);
    assert_false(member_of(&r, 0).active);
    const uint32_t moves = link_of(&r).moves;
    r.far[1] = open_far(r.members[1], 1);
    look(&r);
    assert_true(link_of(&r).up);
    assert_int_equal(link_of(&r).moves, moves + 1);
    assert_int_equal(send(&r, 1), 1);
    assert_int_equal(arrived(&r, 1), 1);
    close_rig(&r);
}

static void a_busy_member_does_not_keep_another_waiting(void **state)
{
    struct rig r = backup_rig(2, -1);
    struct pkt *in[4];
    unsigned idle = 0;
    for (unsigned i = 0; i < 40; i++)
        send_far(&r, 0, i);
    send_far(&r, 1, 100);
    for (unsigned k = 0; k < 4; k++) {
        const uint16_t n = r.bond->ops->rx_burst(r.bond, 0, in, 4);
        pkt_free_bulk(in, n);
        idle += stats_of(&r).rx_taken_away != 0;
    }
    assert_true(idle != 0);
    receive_all(&r, NULL);
    close_rig(&r);
}

// ---- LACP

// peer_turn: the other ends answer. Data frames stay out of it.
static void peer_turn(struct rig *r)
{
    uint8_t frame[LACP_FRAME_BYTES];
    struct pkt *in[BURST_MAX];
    for (unsigned m = 0; m < r->n; m++) {
        lacp_link(&r->peer, m, r->far[m] != NULL, 0, r->ms);
        const uint16_t n =
            r->far[m] == NULL ? 0 : r->far[m]->ops->rx_burst(r->far[m], 0, in, BURST_MAX);
        for (uint16_t i = 0; i < n; i++) {
            lacp_receive(&r->peer, m, pkt_data(in[i]), pkt_len(in[i]), r->ms);
            r->pdus++;
        }
        pkt_free_bulk(in, n);
    }
    lacp_run(&r->peer, r->ms);
    for (unsigned m = 0; m < r->n; m++)
        if (r->far[m] != NULL && lacp_to_send(&r->peer, m, r->ms, &peer_mac, frame)) {
            struct pkt *p = pkt_of(pool_b, 0, LACP_FRAME_BYTES);
            memcpy(pkt_data(p), frame, sizeof(frame));
            assert_int_equal(r->far[m]->ops->tx_burst(r->far[m], 0, &p, 1), 1);
        }
}

static void run(struct rig *r, uint64_t ms)
{
    for (uint64_t end = r->ms + ms; r->ms < end;) {
        look(r);
        assert_int_equal(receive_all(r, NULL), 0);  // no LACPDU comes to the stack
        peer_turn(r);
        assert_int_equal(receive_all(r, NULL), 0);
    }
}

static struct rig lacp_rig(unsigned n)
{
    const struct port_params p = {
        .has_mac = true, .mac = mac, .lacp = true, .lacp_fast = true, .bond_hash = BOND_HASH_L34};
    return open_rig(n, &p);
}

static void members_join_when_the_partner_agrees(void **state)
{
    struct rig r = lacp_rig(2);
    assert_false(link_of(&r).up);
    assert_int_equal(link_of(&r).reason, PORT_LINK_NO_PARTNER);
    assert_int_equal(send(&r, 3), 3);  // nobody is there: dropped and counted
    assert_int_equal(stats_of(&r).tx_no_device, 3);
    assert_int_equal(stats_of(&r).tx_errors, 3);
    run(&r, 1000);
    assert_true(link_of(&r).up);
    assert_int_equal(lacp_distributing(&r.peer), 3);
    for (unsigned m = 0; m < 2; m++) {
        send_far(&r, m, m);
        assert_string_equal(member_of(&r, m).state, "active");
    }
    assert_int_equal(receive_all(&r, NULL), 2);
    assert_int_equal(stats_of(&r).tx_added, r.pdus);
    close_rig(&r);
}

static void a_flow_is_sent_by_one_member_and_flows_by_all(void **state)
{
    struct rig r = lacp_rig(3);
    run(&r, 1000);
    unsigned by[WIRES] = {0};
    assert_int_equal(send(&r, BURST_MAX), BURST_MAX);
    for (unsigned m = 0; m < 3; m++) {
        struct pkt *in[BURST_MAX];
        by[m] = r.far[m]->ops->rx_burst(r.far[m], 0, in, BURST_MAX);
        for (unsigned i = 1; i < by[m]; i++)  // in the order in which they were sent
            assert_true(number_of(in[i]) > number_of(in[i - 1]));
        pkt_free_bulk(in, by[m]);
        assert_in_range(by[m], BURST_MAX / 6, BURST_MAX / 2);
    }
    assert_int_equal(by[0] + by[1] + by[2], BURST_MAX);
    for (unsigned round = 0; round < 3; round++) {  // the same flows go the same ways
        assert_int_equal(send(&r, BURST_MAX), BURST_MAX);
        for (unsigned m = 0; m < 3; m++)
            assert_int_equal(arrived(&r, m), by[m]);
    }
    close_rig(&r);
}

// flows_at: marks the flows whose frames have arrived at the other end of member m, and returns how
// many frames that were.
static unsigned flows_at(struct rig *r, unsigned m, bool flows[BURST_MAX])
{
    struct pkt *in[BURST_MAX];
    const uint16_t n = r->far[m]->ops->rx_burst(r->far[m], 0, in, BURST_MAX);
    for (uint16_t i = 0; i < n; i++)
        flows[number_of(in[i])] = true;
    pkt_free_bulk(in, n);
    return n;
}

// Member 0 is full. A worker sends the last packets of its array again: those that are its own.
static void what_a_full_member_refuses_stays_at_the_end(void **state)
{
    struct rig r = lacp_rig(2);
    bool other[BURST_MAX] = {false};
    struct pkt *out[BURST_MAX];
    unsigned refused = 0, others = 0;
    run(&r, 1000);
    for (unsigned round = 0; round < 20 && refused == 0; round++) {
        for (unsigned i = 0; i < BURST_MAX; i++)
            out[i] = flow_frame(pool_a, (uint16_t)i, i);
        refused = BURST_MAX - r.bond->ops->tx_burst(r.bond, 0, out, BURST_MAX);
        others = flows_at(&r, 1, other);
    }
    assert_in_range(others, 1, BURST_MAX - 1);
    assert_in_range(refused, 1, BURST_MAX - others);
    for (unsigned i = BURST_MAX - refused; i < BURST_MAX; i++) {
        assert_false(other[number_of(out[i])]);
        if (i > BURST_MAX - refused)
            assert_true(number_of(out[i]) > number_of(out[i - 1]));
    }
    pkt_free_bulk(out + BURST_MAX - refused, refused);
    while (arrived(&r, 0) != 0)
        ;
    close_rig(&r);
}

static void a_silent_partner_loses_the_member_and_a_lost_link_at_once(void **state)
{
    struct rig r = lacp_rig(3);
    run(&r, 1000);
    close_far(&r, 2);
    look(&r);
    assert_string_equal(member_of(&r, 2).state, "down");
    assert_false(member_of(&r, 2).usable);
    assert_int_equal(send(&r, 40), 40);
    assert_int_equal(arrived(&r, 0) + arrived(&r, 1), 40);
    // Of member 1 no LACPDU is carried any more, in either direction, and its link stays.
    struct port *kept = r.far[1];
    r.far[1] = NULL;
    run(&r, 3500);
    assert_string_equal(member_of(&r, 1).state, "expired");
    assert_true(link_of(&r).up);
    r.far[1] = kept;
    while (arrived(&r, 1) != 0)
        ;
    assert_int_equal(send(&r, 40), 40);
    assert_int_equal(arrived(&r, 1), 0);
    assert_int_equal(arrived(&r, 0), 40);
    send_far(&r, 1, 5);  // the partner, which hears this end, may still send
    assert_int_equal(receive_all(&r, NULL), 1);
    close_rig(&r);
}

// A partner that sends without end: its frames are lost, and nothing else.
static void a_flood_of_lacpdus_is_lost_and_counted(void **state)
{
    struct rig r = lacp_rig(2);
    run(&r, 1000);
    struct text t;
    for (unsigned i = 0; i < 100; i++) {
        struct pkt *p = pkt_of(pool_b, 0xa5, LACP_FRAME_BYTES - i);
        store_be16(pkt_data(p) + 12, 0x8809);
        assert_int_equal(r.far[0]->ops->tx_burst(r.far[0], 0, &p, 1), 1);
    }
    assert_int_equal(receive_all(&r, NULL), 0);
    look(&r);
    text_init(&t, 1 << 12);
    r.bond->ops->group->describe(r.bond, 0, &t);
    assert_non_null(strstr(text_str(&t), "slow_frames_lost 96\n"));
    assert_non_null(strstr(text_str(&t), "slow_frames_bad 4\n"));
    text_free(&t);
    assert_true(member_of(&r, 0).usable);
    close_rig(&r);
}

static void the_partner_hears_of_the_end(void **state)
{
    struct rig r = lacp_rig(2);
    run(&r, 1000);
    port_close(r.bond);
    r.bond = NULL;
    for (unsigned m = 0; m < 2; m++) {
        struct pkt *in[BURST_MAX];
        const uint16_t n = r.far[m]->ops->rx_burst(r.far[m], 0, in, BURST_MAX);
        assert_true(n >= 1);
        assert_int_equal(pkt_data(in[n - 1])[32] & (LACP_AGGREGATION | LACP_SYNC), 0);
        pkt_free_bulk(in, n);
    }
    close_rig(&r);
}

// ---- the hash

static uint32_t hash(const uint8_t *frame, enum bond_hash by)
{
    return bond_hash_of(frame, FRAME, by);
}

static void the_hash_takes_what_its_name_says(void **state)
{
    static const struct {
        unsigned at;
        bool counts[3];  // for l2, l23, l34
    } rows[] = {{0, {true, true, true}},          {6, {true, true, true}},
                {26, {false, true, true}},        {30, {false, true, true}},
                {34, {false, false, true}},       {36, {false, false, true}},
                {14 + 10, {false, false, false}}, {50, {false, false, false}}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        for (unsigned by = 0; by < 3; by++) {
            struct pkt *p = flow_frame(pool_a, 77, 1);
            const uint32_t before = hash(pkt_data(p), by);
            pkt_data(p)[rows[i].at] ^= 0x40;
            assert_int_equal(hash(pkt_data(p), by) != before, rows[i].counts[by]);
            pkt_free(p);
        }
}

static void fragments_of_a_datagram_go_one_way(void **state)
{
    uint8_t first[FRAME] = {0}, next[FRAME] = {0};
    store_be16(first + 12, TYPE);
    first[14] = 0x45;
    first[23] = 17;
    memcpy(next, first, sizeof(first));
    store_be16(first + 20, 0x2000);
    store_be16(first + 34, 53);
    store_be16(next + 20, 185);
    store_be16(next + 34, 0x4711);
    assert_int_equal(hash(first, BOND_HASH_L34), hash(next, BOND_HASH_L34));
}

static void a_tag_does_not_hide_the_flow(void **state)
{
    struct pkt *a = flow_frame(pool_a, 1, 0), *b = flow_frame(pool_a, 2, 0);
    const uint32_t plain = hash(pkt_data(a), BOND_HASH_L34);
    pkt_tag(a, 100);
    pkt_tag(b, 100);
    assert_int_equal(hash(pkt_data(a), BOND_HASH_L34), plain);
    assert_int_not_equal(hash(pkt_data(b), BOND_HASH_L34), plain);
    pkt_free(a);
    pkt_free(b);
}

// Whatever the bytes say, nothing behind them is read.
static void the_hash_reads_no_further_than_the_frame(void **state)
{
    struct rng r = test_rng("bond");
    for (unsigned i = 0; i < 20000; i++) {
        const uint32_t len = rng_below(&r, 80);
        uint8_t *frame = malloc(len + 1);
        for (uint32_t k = 0; k < len; k++)
            frame[k] = (uint8_t)rng_u64(&r);
        if (len >= 24) {
            store_be16(frame + 12, i % 3 == 0 ? 0x0800 : i % 3 == 1 ? 0x86dd : 0x8100);
            frame[i % 2 == 0 ? 23 : 20] = 17;
        }
        uint8_t *exact = realloc(frame, len + (len == 0));
        for (unsigned by = 0; by < 3; by++)
            bond_hash_of(exact, len, by);
        free(exact);
    }
}

// ---- opening

static void members_have_the_address_of_the_bond(void **state)
{
    struct rig r = backup_rig(2, -1);
    for (unsigned m = 0; m < 2; m++)
        assert_memory_equal(&r.members[m]->mac, &mac, sizeof(mac));
    assert_memory_equal(&r.bond->mac, &mac, sizeof(mac));
    assert_string_equal(r.bond->name, "bond0");
    close_rig(&r);
    const struct port_params none = {.primary = -1};
    r = open_rig(2, &none);
    assert_memory_equal(&r.members[1]->mac, &r.members[0]->mac, sizeof(mac));
    close_rig(&r);
}

static void a_member_that_cannot_be_opened_is_told_by_its_name(void **state)
{
    const struct port_params members[] = {
        {.name = "p0", .driver = "ring", .node = -1},
        {.name = "p1", .driver = "ring", .rx_ring = 7, .node = -1}};
    struct port_params p = {.name = "bond0",
                            .driver = "bond",
                            .queues = 1,
                            .pools = {pool_a},
                            .members = members,
                            .n_members = 2,
                            .primary = -1};
    struct err e = {.text = ""};
    assert_null(port_open(&p, &e));
    assert_non_null(strstr(e.text, "port p1: "));
    assert_int_equal(strncmp(e.key, "port.p1.", 8), 0);
    assert_int_equal(pkt_pool_free_count(pool_a), POOL - 1);
}

static void wrong_members_are_refused(void **state)
{
    const struct port_params bad[] = {{.name = "x", .driver = "fault"},
                                      {.name = "x", .driver = "pcap"},
                                      {.name = "x", .driver = "bond"}};
    struct port_params p = {.name = "bond0", .driver = "bond", .queues = 1, .pools = {pool_a}};
    struct err e = {.text = ""};
    assert_null(port_open(&p, &e));
    assert_non_null(strstr(e.text, "members"));
    p.n_members = 1;
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        struct err why = {.text = ""};
        p.members = &bad[i];
        assert_null(port_open(&p, &why));
        assert_non_null(strstr(why.text, bad[i].driver));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_member_sends_and_receives),
        cmocka_unit_test(another_member_takes_over_when_the_link_is_lost),
        cmocka_unit_test(the_primary_member_is_taken_again),
        cmocka_unit_test(without_any_link_the_link_of_the_bond_is_down),
        cmocka_unit_test(a_busy_member_does_not_keep_another_waiting),
        cmocka_unit_test(members_join_when_the_partner_agrees),
        cmocka_unit_test(a_flow_is_sent_by_one_member_and_flows_by_all),
        cmocka_unit_test(what_a_full_member_refuses_stays_at_the_end),
        cmocka_unit_test(a_silent_partner_loses_the_member_and_a_lost_link_at_once),
        cmocka_unit_test(a_flood_of_lacpdus_is_lost_and_counted),
        cmocka_unit_test(the_partner_hears_of_the_end),
        cmocka_unit_test(the_hash_takes_what_its_name_says),
        cmocka_unit_test(fragments_of_a_datagram_go_one_way),
        cmocka_unit_test(a_tag_does_not_hide_the_flow),
        cmocka_unit_test(the_hash_reads_no_further_than_the_frame),
        cmocka_unit_test(members_have_the_address_of_the_bond),
        cmocka_unit_test(a_member_that_cannot_be_opened_is_told_by_its_name),
        cmocka_unit_test(wrong_members_are_refused),
    };
    pkt_env_start(0);
    pool_a = pkt_pool_create("a", POOL - 1, -1);
    pool_b = pkt_pool_create("b", POOL - 1, -1);
    if (pool_a == NULL || pool_b == NULL)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pkt_pool_destroy(pool_a);
    pkt_pool_destroy(pool_b);
    eal_stop();
    return failed;
}
