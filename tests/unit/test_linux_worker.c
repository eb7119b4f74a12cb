// SPDX-License-Identifier: BSD-3-Clause
// A port that is shared with Linux, through real turns of workers: Linux is played by the test,
// which holds the other ends of the rings.
#include <string.h>

#include "hosts.h"
#include "pkt_env.h"
#include "wire/proto.h"
#include "wire/raw.h"
#include "worker/linux_box.h"

enum { US, PEER, NOBODYS = 4444 };

static struct hosts *h;
static struct linux_flows *flows;
static void *box_mem;
static unsigned opened;

static void on_open(struct c10m_conn *c)
{
    opened++;
}

static size_t on_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return len;
}

static const struct c10m_app taker = {.name = "taker", .open = on_open, .data = on_data};

static void share(struct server_params *p, unsigned end)
{
    p->ports[0].net.to_linux = end == US;
}

static void *zeroed(size_t bytes)
{
    void *mem = aligned_alloc(CACHE_LINE, ALIGN_UP(bytes, CACHE_LINE));
    assert_non_null(mem);
    memset(mem, 0, bytes);
    return mem;
}

static int setup(void **state)
{
    const struct c10m_app *const apps[2][3] = {{&taker}, {&taker}};
    h = hosts_new(apps, share);
    struct worker *w = h->e[US].w;
    flows = zeroed(sizeof(*flows));
    box_mem = zeroed(linux_box_footprint());
    w->linux_boxes[0] =
        linux_box_init(box_mem, 20000, &w->ports[0].port->mac, (struct siphash_key){1, 2}, flows);
    w->linux_pool = h->e[US].server.pools[0];
    w->tcp.linux_lanes = 1;
    opened = 0;
    hosts_run(h, 5);  // neighbors, what is announced
    return 0;
}

static int teardown(void **state)
{
    struct core_stats now;
    stat_snapshot(&now, h->e[US].w->stats);
    assert_int_equal(stat_balance(&now), 0);
    hosts_free(h);
    free(box_mem);
    free(flows);
    return 0;
}

static struct linux_box *box(void)
{
    return h->e[US].w->linux_boxes[0];
}

// linux_gets: the next TCP segment that Linux gets, other frames are passed over. Its length; 0:
// there is none.
static uint32_t linux_gets(uint8_t frame[2048])
{
    for (uint32_t len; (len = frame_ring_next(box()->to)) != 0;) {
        assert_true(len <= 2048);
        frame_ring_take(box()->to, frame);
        if (load_be16(frame + ETH_TYPE_AT) == ETH_TYPE_IP4 &&
            frame[ETH_BYTES + IP4_PROTO_AT] == IP_PROTO_TCP)
            return len;
    }
    return 0;
}

static void a_syn_that_nobody_owns_is_linuxs_and_gets_no_reset(void **state)
{
    uint8_t frame[2048];
    linux_gets(frame);
    const uint64_t before = h->e[US].w->stats->c.to_linux;
    hosts_connect(h, PEER, NOBODYS);
    hosts_run(h, 5);
    assert_true(linux_gets(frame) != 0);
    assert_int_equal(load_be16(frame + TCP4_OFF + TCP_DST_PORT_AT), NOBODYS);
    assert_int_equal(linux_gets(frame), 0);
    assert_int_equal(h->e[US].w->stats->c.to_linux, before + 1);
    assert_int_equal(h->e[US].w->stats->c.rst_sent, 0);
    assert_int_equal(box()->counts.given[NET_LINUX_TCP], 1);
}

static void a_port_of_a_service_is_the_workers(void **state)
{
    uint8_t frame[2048];
    hosts_connect(h, PEER, HOSTS_PORT);
    hosts_run(h, 5);
    assert_int_equal(opened, 2);  // on both ends
    assert_int_equal(linux_gets(frame), 0);
}

// A drained service refuses by itself: its port does not become Linux's.
static void a_service_that_drains_refuses_by_itself(void **state)
{
    uint8_t frame[2048];
    h->e[US].w->tcp.services[0].state = TCP_SERVICE_DRAINING;
    hosts_connect(h, PEER, HOSTS_PORT);
    hosts_run(h, 5);
    assert_int_equal(linux_gets(frame), 0);
    assert_int_equal(h->e[US].w->stats->c.rst_sent, 1);
}

// reset_of: the RST with which Linux answers the SYN.
static void reset_of(const uint8_t *syn, uint8_t rst[TCP4_DATA_OFF])
{
    memcpy(rst, syn + 6, 6);
    memcpy(rst + 6, syn, 6);
    store_be16(rst + ETH_TYPE_AT, ETH_TYPE_IP4);
    uint8_t *ip = rst + ETH_BYTES, *tcp = rst + TCP4_OFF;
    memset(ip, 0, IP4_BYTES + TCP_BYTES);
    ip[0] = 0x45;
    store_be16(ip + IP4_TOTAL_AT, IP4_BYTES + TCP_BYTES);
    ip[IP4_TTL_AT] = 64;
    ip[IP4_PROTO_AT] = IP_PROTO_TCP;
    memcpy(ip + IP4_SRC_AT, syn + ETH_BYTES + IP4_DST_AT, 4);
    memcpy(ip + IP4_DST_AT, syn + ETH_BYTES + IP4_SRC_AT, 4);
    memcpy(tcp, syn + TCP4_OFF + 2, 2);
    memcpy(tcp + 2, syn + TCP4_OFF, 2);
    store_be32(tcp + 8, load_be32(syn + TCP4_OFF + 4) + 1);
    tcp[12] = 5 << 4;
    tcp[13] = 0x14;  // RST, ACK
    uint32_t sum = 0, pseudo = IP_PROTO_TCP + TCP_BYTES;
    for (unsigned i = 0; i < IP4_BYTES; i += 2)
        sum += load_be16(ip + i);
    for (unsigned i = IP4_SRC_AT; i < IP4_BYTES + TCP_BYTES; i += 2)
        pseudo += load_be16(ip + i);
    store_be16(ip + IP4_CKSUM_AT, (uint16_t) ~((sum & 0xffff) + (sum >> 16)));
    pseudo = (pseudo & 0xffff) + (pseudo >> 16);
    store_be16(tcp + 16, (uint16_t) ~((pseudo & 0xffff) + (pseudo >> 16)));
}

static void what_linux_answers_reaches_the_peer(void **state)
{
    uint8_t frame[2048], rst[TCP4_DATA_OFF];
    const uint64_t failed = h->e[PEER].w->stats->c.conns_failed;
    hosts_connect(h, PEER, NOBODYS);
    hosts_run(h, 5);
    assert_true(linux_gets(frame) != 0);
    reset_of(frame, rst);
    assert_true(frame_ring_put(box()->from, rst, sizeof(rst)));
    hosts_run(h, 20);  // WORKER_HOUSE_TURNS turns
    assert_int_equal(h->e[US].w->stats->c.from_linux, 1);
    assert_int_equal(h->e[PEER].w->stats->c.conns_failed, failed + 1);
}

int main(void)
{
    pkt_env_start(0);
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_syn_that_nobody_owns_is_linuxs_and_gets_no_reset),
        T(a_port_of_a_service_is_the_workers),
        T(a_service_that_drains_refuses_by_itself),
        T(what_linux_answers_reaches_the_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
