// SPDX-License-Identifier: BSD-3-Clause
// Ports of VLANs on one end of a wire, whose other end sends and receives frames with tags.
#include "base/bytes.h"
#include "base/rng.h"
#include "drivers/ring.h"
#include "drivers/vlan.h"
#include "unit/pkt_env.h"

enum { POOL = 4096, SLOTS = 64, FRAME = 100, TYPE = 0x0800, UNTAGGED = -1 };

static struct pkt_pool *pool_a, *pool_b;

struct rig {
    struct port *parent, *trunk, *v100, *v200, *far;
};

static struct port *vlan_on(struct port *trunk, const char *name, uint16_t vlan, struct err *e)
{
    const struct port_params p = {
        .name = name, .driver = "vlan", .queues = 1, .node = -1, .parent = trunk, .vlan = vlan};
    return port_open(&p, e);
}

static struct rig open_rig(void)
{
    struct err e = {.text = ""};
    const struct port_params near = {.name = "p",
                                     .driver = "ring",
                                     .queues = 1,
                                     .rx_ring = SLOTS,
                                     .tx_ring = SLOTS,
                                     .node = -1,
                                     .pools = {pool_a}};
    const struct port_params far = {
        .name = "far", .driver = "ring", .queues = 1, .pools = {pool_b}};
    struct rig r = {.parent = port_open(&near, &e)};
    assert_non_null(r.parent);
    r.far = ring_open_far(r.parent, &far, &e);
    assert_non_null(r.far);
    r.trunk = vlan_trunk_open(r.parent);
    assert_non_null(r.trunk);
    r.v100 = vlan_on(r.trunk, "v100", 100, &e);
    r.v200 = vlan_on(r.trunk, "v200", 4094, &e);
    assert_non_null(r.v100);
    assert_non_null(r.v200);
    // Both ends offer their buffers.
    struct pkt *none;
    assert_int_equal(r.far->ops->rx_burst(r.far, 0, &none, 1), 0);
    assert_int_equal(r.trunk->ops->rx_burst(r.trunk, 0, &none, 1), 0);
    return r;
}

// No packet is lost or freed twice.
static void close_rig(struct rig *r)
{
    port_close(r->v200);
    port_close(r->v100);
    vlan_trunk_close(r->trunk);
    port_close(r->parent);
    port_close(r->far);
    assert_int_equal(pkt_pool_free_count(pool_a), POOL - 1);
    assert_int_equal(pkt_pool_free_count(pool_b), POOL - 1);
}

// frame: 12 bytes of addresses, n tags of 4 bytes, the type, a number.
static struct pkt *frame(struct pkt_pool *pool, const uint32_t *tags, unsigned n, uint32_t number)
{
    struct pkt *p = pkt_of(pool, 0x5a, FRAME + n * PKT_TAG_BYTES);
    assert_non_null(p);
    uint8_t *d = pkt_data(p) + PKT_TAG_TYPE_AT;
    for (unsigned i = 0; i < n; i++, d += PKT_TAG_BYTES)
        store_be32(d, tags[i]);
    store_be16(d, TYPE);
    store_be32(d + 2, number);
    return p;
}

static uint32_t tag_of(int vid)
{
    return (uint32_t)PKT_TAG_TYPE << 16 | (uint32_t)vid;
}

static void send_far(struct rig *r, struct pkt *p)
{
    assert_int_equal(r->far->ops->tx_burst(r->far, 0, &p, 1), 1);
}

static void send_vlan(struct rig *r, int vid, uint32_t number)
{
    const uint32_t tag = tag_of(vid);
    send_far(r, frame(pool_b, &tag, vid != UNTAGGED, number));
}

static bool is_plain(const struct pkt *p, uint32_t number)
{
    const uint8_t *d = pkt_data(p);
    bool same = pkt_len(p) == FRAME && pkt_total_len(p) == FRAME && load_be16(d + 12) == TYPE &&
                load_be32(d + 14) == number;
    for (unsigned i = 0; i < 12; i++)
        same = same && d[i] == 0x5a;
    return same && d[18] == 0x5a && d[FRAME - 1] == 0x5a;
}

// receives: the port receives exactly these frames, each without a tag.
static void receives(struct port *port, const uint32_t *numbers, unsigned n)
{
    struct pkt *in[BURST_MAX];
    const uint16_t got = port->ops->rx_burst(port, 0, in, BURST_MAX);
    assert_int_equal(got, n);
    for (unsigned i = 0; i < n; i++)
        assert_true(is_plain(in[i], numbers[i]));
    pkt_free_bulk(in, got);
}

static void frames_arrive_at_the_port_of_their_vlan_in_order(void **state)
{
    struct rig r = open_rig();
    static const int vids[] = {100, UNTAGGED, 4094, 100, 100, UNTAGGED, 4094};
    for (unsigned i = 0; i < ARRAY_LEN(vids); i++)
        send_vlan(&r, vids[i], i);
    receives(r.v100, (const uint32_t[]){0, 3, 4}, 3);
    receives(r.v200, (const uint32_t[]){2, 6}, 2);
    receives(r.trunk, (const uint32_t[]){1, 5}, 2);
    receives(r.v100, NULL, 0);
    close_rig(&r);
}

static void a_priority_tag_is_no_vlan(void **state)
{
    struct rig r = open_rig();
    const uint32_t priority = tag_of(7 << 13), of_vlan = tag_of(5 << 13 | 1 << 12 | 100);
    send_far(&r, frame(pool_b, &priority, 1, 1));
    send_far(&r, frame(pool_b, &of_vlan, 1, 2));
    receives(r.trunk, (const uint32_t[]){1}, 1);
    receives(r.v100, (const uint32_t[]){2}, 1);
    close_rig(&r);
}

// What src/net drops and counts.
static void frames_of_no_vlan_of_two_and_cut_ones_stay_as_they_are(void **state)
{
    const uint32_t outer = UINT32_C(0x88a8) << 16 | 100;
    const struct {
        uint32_t tags[2];
        unsigned n;
    } rows[] = {
        {{tag_of(101)}, 1},        {{tag_of(4095)}, 1},           {{tag_of(100), tag_of(100)}, 2},
        {{tag_of(100), outer}, 2}, {{tag_of(0), tag_of(100)}, 2}, {{outer}, 1},
        {{outer, tag_of(100)}, 2}};
    struct rig r = open_rig();
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct pkt *in[BURST_MAX];
        send_far(&r, frame(pool_b, rows[i].tags, rows[i].n, i));
        receives(r.v100, NULL, 0);
        assert_int_equal(r.trunk->ops->rx_burst(r.trunk, 0, in, BURST_MAX), 1);
        assert_int_equal(pkt_len(in[0]), FRAME + rows[i].n * PKT_TAG_BYTES);
        assert_int_equal(load_be32(pkt_data(in[0]) + 12), rows[i].tags[0]);
        pkt_free(in[0]);
    }
    for (uint32_t len = 1; len < PKT_TAG_FRAME_BYTES; len++) {
        struct pkt *in[BURST_MAX], *p = frame(pool_b, &rows[2].tags[0], 1, 0);
        pkt_set_len(p, len);
        send_far(&r, p);
        receives(r.v100, NULL, 0);
        assert_int_equal(r.trunk->ops->rx_burst(r.trunk, 0, in, BURST_MAX), 1);
        assert_int_equal(pkt_len(in[0]), len);
        pkt_free(in[0]);
    }
    close_rig(&r);
}

static void sent_frames_have_the_tag_and_refused_ones_stay_without(void **state)
{
    struct rig r = open_rig();
    struct pkt *out[2 * SLOTS], *in[BURST_MAX];
    for (unsigned i = 0; i < ARRAY_LEN(out); i++)
        out[i] = frame(pool_a, NULL, 0, i);
    const uint16_t sent = r.v100->ops->tx_burst(r.v100, 0, out, ARRAY_LEN(out));
    assert_in_range(sent, 1, ARRAY_LEN(out) - 1);  // the wire is shorter
    for (unsigned i = sent; i < ARRAY_LEN(out); i++)
        assert_true(is_plain(out[i], i));
    pkt_free_bulk(&out[sent], (unsigned)ARRAY_LEN(out) - sent);
    const uint16_t got = r.far->ops->rx_burst(r.far, 0, in, BURST_MAX);
    assert_in_range(got, 1, sent);
    for (unsigned i = 0; i < got; i++) {
        assert_int_equal(load_be32(pkt_data(in[i]) + 12), tag_of(100));
        pkt_untag(in[i]);
        assert_true(is_plain(in[i], i));
    }
    pkt_free_bulk(in, got);
    while (r.far->ops->rx_burst(r.far, 0, in, 1) == 1)
        pkt_free(in[0]);
    receives(r.trunk, NULL, 0);  // takes back what the wire has delivered
    close_rig(&r);
}

static void each_port_counts_its_own_frames(void **state)
{
    struct rig r = open_rig();
    struct port_stats s;
    struct pkt *p = frame(pool_a, NULL, 0, 0), *in;
    for (unsigned i = 0; i < 3; i++)
        send_vlan(&r, 100, i);
    receives(r.v100, (const uint32_t[]){0, 1, 2}, 3);
    assert_int_equal(r.v100->ops->tx_burst(r.v100, 0, &p, 1), 1);
    assert_int_equal(r.far->ops->rx_burst(r.far, 0, &in, 1), 1);
    pkt_free(in);
    r.v100->ops->stats(r.v100, &s);
    assert_int_equal(s.rx_packets, 3);
    assert_int_equal(s.rx_bytes, 3 * FRAME);
    assert_int_equal(s.tx_packets, 1);
    assert_int_equal(s.tx_bytes, FRAME);
    r.v200->ops->stats(r.v200, &s);
    assert_int_equal(s.rx_packets + s.tx_packets, 0);
    r.parent->ops->stats(r.parent, &s);  // all that is on its link
    assert_int_equal(s.rx_packets, 3);
    receives(r.trunk, NULL, 0);
    close_rig(&r);
}

// receives_by_fives: the frames 0 to n - 1, in order.
static void receives_by_fives(struct port *port, unsigned n)
{
    struct pkt *in[5];
    unsigned got = 0;
    for (uint16_t k; (k = port->ops->rx_burst(port, 0, in, 5)) != 0; pkt_free_bulk(in, k))
        for (uint16_t i = 0; i < k; i++)
            assert_true(is_plain(in[i], got++));
    assert_int_equal(got, n);
}

// A VLAN that nobody polls holds up one burst, and no memory beyond it.
static void at_most_a_burst_waits(void **state)
{
    struct rig r = open_rig();
    for (unsigned i = 0; i < SLOTS - 1; i++)
        send_vlan(&r, 4094, i);
    receives(r.v100, NULL, 0);
    for (unsigned i = 0; i < 8; i++) {
        send_vlan(&r, 100, i);
        receives(r.v100, NULL, 0);
    }
    receives_by_fives(r.v200, SLOTS - 1);
    receives_by_fives(r.v100, 8);
    close_rig(&r);
}

static int seven(struct port *p, uint16_t q, int *out, unsigned max)
{
    out[0] = 7;
    return 1;
}

// While frames for another VLAN wait here, no descriptor tells of them.
static void a_worker_may_not_sleep_over_frames_of_another_vlan(void **state)
{
    static const struct port_wait wait = {.fds = seven};
    struct rig r = open_rig();
    const struct port_ops *had = r.parent->ops;
    struct port_ops ops = *had;
    int fd = 0;
    assert_int_equal(port_wait_fds(r.v100, 0, &fd, 1), PORT_WAIT_NOT);  // as the ring
    ops.wait = &wait;
    r.parent->ops = &ops;
    assert_int_equal(port_wait_fds(r.v100, 0, &fd, 1), 1);
    assert_int_equal(fd, 7);
    send_vlan(&r, 4094, 1);
    receives(r.v100, NULL, 0);
    assert_int_equal(port_wait_fds(r.v100, 0, &fd, 1), PORT_WAIT_NOT);
    assert_int_equal(port_wait_fds(r.trunk, 0, &fd, 1), PORT_WAIT_NOT);
    receives(r.v200, (const uint32_t[]){1}, 1);
    assert_int_equal(port_wait_fds(r.v100, 0, &fd, 1), 1);
    r.parent->ops = had;
    close_rig(&r);
}

static void frames_that_wait_at_the_end_are_freed(void **state)
{
    struct rig r = open_rig();
    for (unsigned i = 0; i < 10; i++)
        send_vlan(&r, i % 2 == 0 ? 100 : UNTAGGED, i);
    receives(r.v200, NULL, 0);
    close_rig(&r);
}

// The device computes checksums and splits by these lengths.
static void offloads_know_the_length_of_the_tag(void **state)
{
    struct pkt *p = frame(pool_a, NULL, 0, 1);
    pkt_tx_tso(p, true, 14, 20, 20, 1400);
    pkt_tag(p, 100);
    assert_int_equal(p->m.l2_len, 18);
    assert_int_equal(p->m.l3_len, 20);
    assert_int_equal(p->m.tso_segsz, 1400);
    pkt_untag(p);
    assert_int_equal(p->m.l2_len, 14);
    assert_true(is_plain(p, 1));
    pkt_free(p);
}

static void a_vlan_out_of_range_or_taken_is_refused(void **state)
{
    static const uint16_t bad[] = {0, 4095, 4096, 65535};
    struct rig r = open_rig();
    struct err e = {.text = ""};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        assert_null(vlan_on(r.trunk, "x", bad[i], &e));
        assert_non_null(strstr(e.text, "1 to 4094 was expected"));
    }
    assert_null(vlan_on(r.trunk, "x", 100, &e));
    assert_non_null(strstr(e.text, "port v100 has VLAN 100 already"));
    close_rig(&r);
}

static unsigned checks;

static void counted_check(struct port *p, struct port_rss_check *out)
{
    checks++;
    *out = (struct port_rss_check){.readable = true, .mended = true};
}

// Without untagged traffic nobody else would have the device looked at.
static void a_vlan_has_the_rss_of_its_device_checked(void **state)
{
    static const struct port_view view = {.rss_check = counted_check};
    struct rig r = open_rig();
    const struct port_ops *ops = r.parent->ops;
    struct port_ops with_view = *ops;
    struct port_rss_check c;
    with_view.view = &view;
    r.parent->ops = &with_view;
    r.v100->ops->view->rss_check(r.v100, &c);
    assert_int_equal(checks, 1);
    assert_true(c.readable && c.mended);
    with_view.view = NULL;
    r.v100->ops->view->rss_check(r.v100, &c);
    assert_false(c.readable || c.mended);
    assert_int_equal(r.v100->ops->view->rss_table(r.v100, NULL, 0), 0);
    r.parent->ops = ops;
    close_rig(&r);
}

static void the_mtu_is_at_most_the_parents(void **state)
{
    static const uint16_t rows[][2] = {{0, 1500}, {1400, 1400}, {1501, 1500}};
    struct rig r = open_rig();
    struct err e = {.text = ""};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        const struct port_params p = {.name = "x",
                                      .driver = "vlan",
                                      .queues = 1,
                                      .parent = r.trunk,
                                      .vlan = (uint16_t)(i + 1),
                                      .mtu = rows[i][0]};
        struct port *v = port_open(&p, &e);
        assert_non_null(v);
        assert_int_equal(v->mtu, rows[i][1]);
        port_close(v);
    }
    close_rig(&r);
}

// Else packets of a VLAN that arrive elsewhere would count as errors of the device.
static void a_vlan_has_rss_only_if_the_device_hashes_behind_the_tag(void **state)
{
    struct rig r = open_rig();
    struct err e = {.text = ""};
    r.parent->caps |= PORT_RSS;
    struct port *v = vlan_on(r.trunk, "x", 1, &e);
    assert_int_equal(v->caps & PORT_RSS, 0);
    port_close(v);
    r.parent->caps |= PORT_RSS_TAGGED;
    v = vlan_on(r.trunk, "x", 2, &e);
    assert_int_equal(v->caps & PORT_RSS, PORT_RSS);
    port_close(v);
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_arrive_at_the_port_of_their_vlan_in_order),
        cmocka_unit_test(a_priority_tag_is_no_vlan),
        cmocka_unit_test(frames_of_no_vlan_of_two_and_cut_ones_stay_as_they_are),
        cmocka_unit_test(sent_frames_have_the_tag_and_refused_ones_stay_without),
        cmocka_unit_test(each_port_counts_its_own_frames),
        cmocka_unit_test(at_most_a_burst_waits),
        cmocka_unit_test(a_worker_may_not_sleep_over_frames_of_another_vlan),
        cmocka_unit_test(frames_that_wait_at_the_end_are_freed),
        cmocka_unit_test(offloads_know_the_length_of_the_tag),
        cmocka_unit_test(a_vlan_out_of_range_or_taken_is_refused),
        cmocka_unit_test(a_vlan_has_the_rss_of_its_device_checked),
        cmocka_unit_test(the_mtu_is_at_most_the_parents),
        cmocka_unit_test(a_vlan_has_rss_only_if_the_device_hashes_behind_the_tag),
    };
    pkt_env_start(0);
    pool_a = pkt_pool_create("a", POOL - 1, -1);
    pool_b = pkt_pool_create("b", POOL - 1, -1);
    if (pool_a == NULL || pool_b == NULL)
        return fprintf(stderr, "no pools\n"), 1;
    const int failed = cmocka_run_group_tests_name("vlan", tests, NULL, NULL);
    eal_stop();
    return failed;
}
