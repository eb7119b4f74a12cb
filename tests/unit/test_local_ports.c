// SPDX-License-Identifier: BSD-3-Clause
// test_local_ports.c: with several workers an active open takes a port whose answers arrive at its
// worker.
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "seed.h"
#include "tcp_pair.h"

enum { OUR = 0x0a000001, PEER = 0x0a000009, PEER_PORT = 80, OPENS = 340 };

static struct ip_addr our, peer;             // of the family that is tried
static uint8_t key[TOEPLITZ_KEY_BYTES_MAX];  // as a server may draw it

static struct tcp_homes homes_of(unsigned workers, unsigned self)
{
    struct tcp_homes h = {.workers = workers, .self = self};
    h.local[0] = our;
    h.entries[0] = 128;
    toeplitz_init(&h.hash, key);
    return h;
}

static unsigned arrives_at(const struct tcp_homes *h, const struct flow_key *k)
{
    const uint16_t from = htons(k->remote_port), to = htons(k->local_port);
    const uint32_t hash = ip_is_v4(&peer) ? toeplitz_v4(&h->hash, htonl(PEER), htonl(OUR), from, to)
                                          : toeplitz_v6(&h->hash, peer.b, our.b, from, to);
    return toeplitz_home(hash, 128, h->workers);
}

static struct raw *new_end(void)
{
    const struct pair_sizes sizes = {.blocks = OPENS + 8};
    return raw_new(&sizes);
}

static int open_one(struct raw *r, uint32_t *ix)
{
    return tcp_connect(&r->e.tcp, &peer, PEER_PORT, 0, 0, ix);
}

static void opens_of(unsigned workers)
{
    static bool used[65536];
    memset(used, 0, sizeof(used));
    for (unsigned self = 0; self < workers; self++) {
        struct raw *r = new_end();
        const struct tcp_homes h = homes_of(workers, self);
        r->e.tcp.homes = &h;
        for (unsigned i = 0; i < OPENS; i++) {
            uint32_t ix;
            assert_int_equal(open_one(r, &ix), 0);
            const struct flow_key *k = &r->e.tcp.blocks[ix].key;
            assert_int_equal(arrives_at(&h, k), self);
            assert_false(used[k->local_port]);  // by another worker neither
            used[k->local_port] = true;
        }
        raw_free(r, false);
    }
}

static void ports_of_each_of_two_workers_are_its_own(void **state)
{
    opens_of(2);
}

static void ports_of_each_of_three_workers_are_its_own(void **state)
{
    opens_of(3);
}

static void ports_of_each_of_64_workers_are_its_own(void **state)
{
    opens_of(64);
}

static void one_worker_takes_any_port(void **state)
{
    struct raw *r = new_end();
    uint32_t ix;
    static bool used[65536];
    memset(used, 0, sizeof(used));
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(open_one(r, &ix), 0);
        const uint32_t port = r->e.tcp.blocks[ix].key.local_port;
        assert_in_range(port, 32768, 60999);
        assert_false(used[port]);
        used[port] = true;
    }
    raw_free(r, false);
}

static void a_worker_without_a_port_of_its_own_says_so(void **state)
{
    struct raw *r = new_end();
    const struct tcp_homes h = homes_of(2, 2);  // there are 0 and 1
    uint32_t ix;
    r->e.tcp.homes = &h;
    assert_int_equal(open_one(r, &ix), -EADDRNOTAVAIL);
    raw_free(r, true);
}

#define T(name) cmocka_unit_test(name)

static int over_ip4(void **state)
{
    our = ip_from_v4(OUR);
    peer = ip_from_v4(PEER);
    return 0;
}

static int over_ip6(void **state)
{
    return ip_parse("2001:db8::1", &our) && ip_parse("2001:db8:1:2:3:4:5:6", &peer) ? 0 : -1;
}

static void draw_key(void)
{
    struct rng rng = test_rng("homes");
    do
        for (unsigned i = 0; i < sizeof(key); i++)
            key[i] = (uint8_t)rng_u64(&rng);
    while (!toeplitz_spreads(key));
}

int main(void)
{
    draw_key();
    const struct CMUnitTest tests[] = {
        T(ports_of_each_of_two_workers_are_its_own),
        T(ports_of_each_of_three_workers_are_its_own),
        T(ports_of_each_of_64_workers_are_its_own),
        T(one_worker_takes_any_port),
        T(a_worker_without_a_port_of_its_own_says_so),
    };
    const int failed = cmocka_run_group_tests_name("IPv4", tests, over_ip4, NULL);
    return failed + cmocka_run_group_tests_name("IPv6", tests, over_ip6, NULL);
}
