// SPDX-License-Identifier: BSD-3-Clause
// test_sources.c: the claims of flow/sources.h.
#include <string.h>

#include "check.h"
#include "flow/sources.h"
#include "seed.h"

// make: a table whose memory ends at a line that must stay untouched.
static struct sources *make(uint32_t connections)
{
    const size_t bytes = sources_footprint(connections);
    assert_int_equal(bytes % CACHE_LINE, 0);
    uint8_t *mem = aligned_alloc(CACHE_LINE, bytes + CACHE_LINE);
    memset(mem, 0xa5, bytes + CACHE_LINE);
    return sources_init(mem, connections, (struct siphash_key){1, 2});
}

static void drop(struct sources *s, uint32_t connections)
{
    const uint8_t *end = (const uint8_t *)s + sources_footprint(connections);
    for (unsigned i = 0; i < CACHE_LINE; i++)
        assert_int_equal(end[i], 0xa5);
    free(s);
}

static void connections_of_one_address_and_service_add_up_in_one_place(void **state)
{
    struct sources *s = make(10);
    const uint32_t a = sources_enter(s, 0x0a000001, 3);
    assert_int_not_equal(a, SOURCE_NONE);
    assert_int_equal(sources_enter(s, 0x0a000001, 3), a);
    assert_int_not_equal(sources_enter(s, 0x0a000001, 4), a);
    assert_int_not_equal(sources_enter(s, 0x0a000002, 3), a);
    assert_int_equal(sources_count(s, 0x0a000001, 3), 2);
    assert_int_equal(sources_count(s, 0x0a000001, 4), 1);
    assert_int_equal(sources_count(s, 0x0a000002, 3), 1);
    assert_int_equal(sources_count(s, 0x0a000002, 4), 0);
    assert_int_equal(sources_now(s), 3);
    sources_leave(s, a);
    assert_int_equal(sources_count(s, 0x0a000001, 3), 1);
    sources_leave(s, a);
    assert_int_equal(sources_count(s, 0x0a000001, 3), 0);
    assert_int_equal(sources_now(s), 2);
    drop(s, 10);
}

static uint64_t of(const char *text)
{
    struct ip_addr a;
    assert_true(ip_parse(text, &a));
    return source_of(&a);
}

static void an_ip6_source_is_its_upper_64_bits(void **state)
{
    assert_true(of("2001:db8:1:2::1") == of("2001:db8:1:2:ffff:ffff:ffff:ffff"));
    assert_true(of("2001:db8:1:2::1") != of("2001:db8:1:3::1"));
    assert_true(of("2001:db8:1:2::1") != of("2001:db9:1:2::1"));
    assert_true(of("10.0.0.1") != of("10.0.0.2"));
    assert_true(of("10.0.0.1") == of("::ffff:10.0.0.1"));
    struct sources *s = make(4);
    sources_enter(s, of("2001:db8:1:2::1"), 31);
    sources_enter(s, of("2001:db8:1:2::2"), 31);
    sources_enter(s, of("2001:db8:1:3::2"), 31);
    sources_enter(s, of("10.0.0.1"), 31);
    assert_int_equal(sources_count(s, of("2001:db8:1:2::"), 31), 2);
    assert_int_equal(sources_count(s, of("2001:db8:1:2::"), 30), 0);
    assert_int_equal(sources_now(s), 3);
    drop(s, 4);
}

static void a_table_of_any_size_holds_a_connection_of_as_many_addresses(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 64, 65, 1000};
    for (unsigned k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        const uint32_t n = sizes[k];
        struct sources *s = make(n);
        uint32_t places[1000];
        for (int round = 0; round < 3; round++) {
            for (uint32_t i = 0; i < n; i++)
                places[i] = sources_enter(s, i, (uint8_t)round);
            assert_int_equal(sources_now(s), n);
            for (uint32_t i = 0; i < n; i++)
                assert_int_equal(sources_count(s, i, (uint8_t)round), 1);
            for (uint32_t i = 0; i < n; i++)
                sources_leave(s, places[i]);
            assert_int_equal(sources_now(s), 0);
        }
        drop(s, n);
    }
}

static void counts_stay_right_in_random_coming_and_going(void **state)
{
    enum { N = 500, ADDRESSES = 40, SERVICES = 3 };
    struct rng rng = test_rng("sources");
    struct sources *s = make(N);
    struct {
        uint32_t v4, place;
        uint8_t service;
    } open[N];
    uint32_t n = 0, counts[ADDRESSES][SERVICES] = {{0}};
    for (int step = 0; step < 100000; step++) {
        if (n < N && rng_below(&rng, 2) == 0) {
            const uint32_t v4 = (uint32_t)rng_below(&rng, ADDRESSES);
            const uint8_t service = (uint8_t)rng_below(&rng, SERVICES);
            open[n].v4 = v4;
            open[n].service = service;
            open[n++].place = sources_enter(s, v4, service);
            counts[v4][service]++;
        } else if (n != 0) {
            const uint32_t i = (uint32_t)rng_below(&rng, n);
            counts[open[i].v4][open[i].service]--;
            sources_leave(s, open[i].place);
            open[i] = open[--n];
        }
        const uint32_t v4 = (uint32_t)rng_below(&rng, ADDRESSES);
        for (uint8_t k = 0; k < SERVICES; k++)
            assert_int_equal(sources_count(s, v4, k), counts[v4][k]);
    }
    while (n != 0)
        sources_leave(s, open[--n].place);
    assert_int_equal(sources_now(s), 0);
    drop(s, N);
}

static void a_connection_takes_at_most_24_bytes(void **state)
{
    for (uint32_t n = 1000; n <= 10000000; n *= 10)
        assert_in_range(sources_footprint(n), 16 * (size_t)n, 24 * (size_t)n + 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_of_one_address_and_service_add_up_in_one_place),
        cmocka_unit_test(an_ip6_source_is_its_upper_64_bits),
        cmocka_unit_test(a_table_of_any_size_holds_a_connection_of_as_many_addresses),
        cmocka_unit_test(counts_stay_right_in_random_coming_and_going),
        cmocka_unit_test(a_connection_takes_at_most_24_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
