// SPDX-License-Identifier: BSD-3-Clause
// test_prefixes.c: the claims of flow/prefixes.h.
#include "check.h"
#include "flow/prefixes.h"
#include "seed.h"

static struct prefixes *make(void)
{
    return prefixes_init(aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(struct prefixes), CACHE_LINE)),
                         (struct siphash_key){1, 2});
}

static struct ip_addr at(const char *text)
{
    struct ip_addr a;
    assert_true(ip_parse(text, &a));
    return a;
}

static void enter(struct prefixes *p, const char *who)
{
    const struct ip_addr a = at(who);
    prefixes_enter(p, &a);
}

static uint32_t count(const struct prefixes *p, const char *who)
{
    const struct ip_addr a = at(who);
    return prefixes_count(p, &a);
}

static void addresses_of_a_24_or_a_48_are_one_prefix_and_others_are_not(void **state)
{
    struct prefixes *p = make();
    enter(p, "10.1.2.3");
    enter(p, "10.1.2.255");
    enter(p, "2001:db8:1::1");
    enter(p, "2001:db8:1:ffff:ffff:ffff:ffff:ffff");
    enter(p, "2001:db8:1:2::3");
    assert_int_equal(count(p, "10.1.2.0"), 2);
    assert_int_equal(count(p, "10.1.3.3"), 0);
    assert_int_equal(count(p, "10.2.2.3"), 0);
    assert_int_equal(count(p, "2001:db8:1::"), 3);
    assert_int_equal(count(p, "2001:db8:2::1"), 0);
    assert_int_equal(count(p, "2001:db9:1::1"), 0);
    free(p);
}

// exact: the true counts, of prefix number i of 10.0.0.0/8.
enum { PREFIXES = 500, CHURN = 200000 };

static struct ip_addr of_number(uint32_t prefix, uint32_t host)
{
    return ip_from_v4(0x0a000000 + prefix * 256 + host);
}

static void a_count_is_never_too_small_and_rarely_too_large(void **state)
{
    static uint32_t exact[PREFIXES];
    struct rng r = test_rng(__func__);
    struct prefixes *p = make();
    unsigned wrong = 0;
    for (unsigned i = 0; i < CHURN; i++) {
        const uint32_t n = rng_below(&r, PREFIXES);
        const struct ip_addr a = of_number(n, rng_below(&r, 256));
        if (exact[n] != 0 && rng_below(&r, 2) == 0) {
            prefixes_leave(p, &a);
            exact[n]--;
        } else {
            prefixes_enter(p, &a);
            exact[n]++;
        }
    }
    for (uint32_t n = 0; n < PREFIXES; n++) {
        const struct ip_addr a = of_number(n, 7);
        assert_true(prefixes_count(p, &a) >= exact[n]);
        wrong += prefixes_count(p, &a) != exact[n];
    }
    // Both counters are shared by chance: (500 / 4,096)^2 of 500, which are 7.
    assert_in_range(wrong, 0, 50);
    free(p);
}

static void all_that_entered_leave_nothing_behind(void **state)
{
    struct prefixes *p = make();
    for (unsigned round = 0; round < 2; round++)
        for (uint32_t n = 0; n < PREFIXES; n++) {
            const struct ip_addr a = of_number(n, round);
            if (round == 0)
                prefixes_enter(p, &a);
            else
                prefixes_leave(p, &a);
        }
    for (unsigned row = 0; row < 2; row++)
        for (unsigned i = 0; i < PREFIX_CELLS; i++)
            assert_int_equal(p->cell[row][i], 0);
    free(p);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(addresses_of_a_24_or_a_48_are_one_prefix_and_others_are_not),
        T(a_count_is_never_too_small_and_rarely_too_large),
        T(all_that_entered_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
