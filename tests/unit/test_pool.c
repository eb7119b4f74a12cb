// SPDX-License-Identifier: BSD-3-Clause
// test_pool.c: the claims of mem/index_pool.h.
#include <string.h>

#include "check.h"
#include "mem/index_pool.h"
#include "seed.h"

// make: a pool whose memory ends at a line that must stay untouched.
static struct index_pool *make(uint32_t count)
{
    uint8_t *mem = aligned_alloc(CACHE_LINE, index_pool_footprint(count) + CACHE_LINE);
    memset(mem, 0xa5, index_pool_footprint(count) + CACHE_LINE);
    return index_pool_init(mem, count);
}

static void drop(struct index_pool *p)
{
    const uint8_t *end = (const uint8_t *)p + index_pool_footprint(p->count);
    for (unsigned i = 0; i < CACHE_LINE; i++)
        assert_int_equal(end[i], 0xa5);
    free(p);
}

static void every_index_comes_once_then_none(void **state)
{
    struct index_pool *p = make(100);
    bool seen[100] = {false};
    for (unsigned i = 0; i < 100; i++) {
        uint32_t ix = index_pool_get(p);
        assert_in_range(ix, 0, 99);
        assert_false(seen[ix]);
        seen[ix] = true;
    }
    assert_int_equal(index_pool_get(p), INDEX_NONE);
    assert_int_equal(index_pool_in_use(p), 100);
    assert_int_equal(p->low_water, 0);
    drop(p);
}

static void lowest_index_comes_first(void **state)
{
    struct index_pool *p = make(3);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(index_pool_get(p), i);
    drop(p);
}

static void last_put_is_first_got(void **state)
{
    struct index_pool *p = make(10);
    for (unsigned i = 0; i < 5; i++)
        index_pool_get(p);
    index_pool_put(p, 1);
    index_pool_put(p, 3);
    assert_int_equal(index_pool_get(p), 3);
    assert_int_equal(index_pool_get(p), 1);
    assert_int_equal(p->low_water, 5);
    drop(p);
}

static void deferred_index_waits_for_the_end_of_the_turn(void **state)
{
    struct index_pool *p = make(2);
    index_pool_get(p);
    index_pool_get(p);
    index_pool_put_deferred(p, 0);
    assert_int_equal(index_pool_in_use(p), 1);
    assert_int_equal(index_pool_get(p), INDEX_NONE);
    index_pool_turn_end(p);
    assert_int_equal(index_pool_get(p), 0);
    assert_int_equal(index_pool_get(p), INDEX_NONE);
    drop(p);
}

static void all_indices_deferred_in_one_turn_come_back(void **state)
{
    struct index_pool *p = make(33);
    bool seen[33] = {false};
    for (unsigned i = 0; i < 33; i++)
        index_pool_get(p);
    for (unsigned i = 0; i < 16; i++)
        index_pool_put(p, i);
    for (unsigned i = 16; i < 33; i++)
        index_pool_put_deferred(p, i);
    index_pool_turn_end(p);
    for (unsigned i = 0; i < 33; i++)
        seen[index_pool_get(p)] = true;
    for (unsigned i = 0; i < 33; i++)
        assert_true(seen[i]);
    drop(p);
}

static void empty_pool_gives_none(void **state)
{
    struct index_pool *p = make(0);
    assert_int_equal(index_pool_get(p), INDEX_NONE);
    index_pool_turn_end(p);
    assert_int_equal(index_pool_get(p), INDEX_NONE);
    drop(p);
}

enum { HELD_FREE, HELD, HELD_DEFERRED, N_RANDOM = 500 };

static void random_use_never_hands_out_an_index_twice(void **state)
{
    struct rng r = test_rng(__func__);
    struct index_pool *p = make(N_RANDOM);
    uint8_t held[N_RANDOM] = {0};
    uint32_t in_use = 0, deferred = 0;
    for (unsigned step = 0; step < 200000; step++) {
        uint32_t op = rng_below(&r, 100), ix = rng_below(&r, N_RANDOM);
        if (op < 50) {
            ix = index_pool_get(p);
            assert_true((ix == INDEX_NONE) == (in_use + deferred == N_RANDOM));
            if (ix != INDEX_NONE) {
                assert_int_equal(held[ix], HELD_FREE);
                held[ix] = HELD;
                in_use++;
            }
        } else if (op < 99 && held[ix] == HELD) {
            bool later = op < 75;
            (later ? index_pool_put_deferred : index_pool_put)(p, ix);
            held[ix] = later ? HELD_DEFERRED : HELD_FREE;
            deferred += later;
            in_use--;
        } else if (op == 99) {
            index_pool_turn_end(p);
            deferred = 0;
            for (unsigned i = 0; i < N_RANDOM; i++)
                held[i] = held[i] == HELD_DEFERRED ? HELD_FREE : held[i];
        }
        assert_int_equal(index_pool_in_use(p), in_use);
    }
    drop(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_comes_once_then_none),
        cmocka_unit_test(lowest_index_comes_first),
        cmocka_unit_test(last_put_is_first_got),
        cmocka_unit_test(deferred_index_waits_for_the_end_of_the_turn),
        cmocka_unit_test(all_indices_deferred_in_one_turn_come_back),
        cmocka_unit_test(empty_pool_gives_none),
        cmocka_unit_test(random_use_never_hands_out_an_index_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
