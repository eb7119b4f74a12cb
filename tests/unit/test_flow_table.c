// SPDX-License-Identifier: BSD-3-Clause
// test_flow_table.c: the claims of flow/flow_table.h, against a naive list of (hash, index).
#include <string.h>

#include "check.h"
#include "flow/flow_table.h"
#include "seed.h"

static const struct siphash_key SECRET = {0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL};

// make: a table whose memory is fenced by an untouched line on each side.
static struct flow_table make(uint32_t capacity)
{
    struct flow_table t;
    size_t bytes = flow_footprint(capacity);
    uint8_t *mem = aligned_alloc(CACHE_LINE, bytes + 2 * CACHE_LINE);
    memset(mem, 0x5a, bytes + 2 * CACHE_LINE);
    flow_init(&t, mem + CACHE_LINE, capacity, SECRET);
    return t;
}

static void drop(struct flow_table *t)
{
    uint8_t *mem = (uint8_t *)t->buckets;
    size_t bytes = flow_footprint(t->capacity);
    for (unsigned i = 0; i < CACHE_LINE; i++) {
        assert_int_equal(mem[-1 - (int)i], 0x5a);
        assert_int_equal(mem[bytes + i], 0x5a);
    }
    free(mem - CACHE_LINE);
}

// has: index is among the candidates of hash, as often as `times`.
static bool has(const struct flow_table *t, uint64_t hash, uint32_t index, unsigned times)
{
    unsigned at = 0;
    for (uint32_t c; (c = flow_next(t, hash, &at)) != FLOW_NONE;)
        times -= c == index;
    return times == 0;
}

static uint32_t find_one(const struct flow_table *t, uint64_t hash)
{
    uint32_t cand;
    flow_find_burst(t, &hash, 1, &cand);
    return cand;
}

// check_sums: the counts that the table keeps are those that its buckets hold.
static void check_sums(const struct flow_table *t)
{
    uint32_t used = 0, second = 0, overflow = 0;
    for (uint32_t b = 0; b < t->n_buckets; b++) {
        for (unsigned i = 0; i < FLOW_SLOTS; i++) {
            used += t->buckets[b].tag[i] != 0;
            if (t->buckets[b].second >> i & 1)
                assert_int_not_equal(t->buckets[b].tag[i], 0);
        }
        second += (uint32_t)__builtin_popcount(t->buckets[b].second);
        overflow += t->buckets[b].overflow;
    }
    assert_int_equal(used, t->count);
    assert_int_equal(second, t->in_second);
    assert_int_equal(overflow, t->in_second);
}

static void burst_hash_is_the_scalar_hash(void **state)
{
    struct rng r = test_rng(__func__);
    struct flow_table t = make(1000);
    struct {
        struct flow_key key;
        uint64_t other[5];
    } rec[BURST_MAX];
    uint64_t hash[BURST_MAX + 1];
    for (unsigned n = 0; n <= BURST_MAX; n++) {
        for (unsigned i = 0; i < n; i++)
            for (unsigned b = 0; b < sizeof(rec[i]); b++)
                ((uint8_t *)&rec[i])[b] = (uint8_t)rng_u64(&r);
        hash[n] = 42;
        flow_hash_burst(&t, &rec[0].key, sizeof(rec[0]), n, hash);
        for (unsigned i = 0; i < n; i++)
            assert_true(hash[i] == flow_hash(&t, &rec[i].key));
        assert_true(hash[n] == 42);
    }
    drop(&t);
}

static void hash_depends_on_the_secret_and_every_field(void **state)
{
    struct flow_table t = make(10), u = make(10);
    u.key = flow_hash_key_from((struct siphash_key){SECRET.k0, SECRET.k1 ^ 1});
    struct flow_key k = {.remote_port = 1};
    uint64_t h = flow_hash(&t, &k);
    assert_true(h != flow_hash(&u, &k));
    for (unsigned b = 0; b < sizeof(k); b++) {
        ((uint8_t *)&k)[b] ^= 1;
        assert_true(h != flow_hash(&t, &k));
        ((uint8_t *)&k)[b] ^= 1;
    }
    drop(&t);
    drop(&u);
}

static void kinds_pass_through_an_index(void **state)
{
    uint32_t top = (1u << 30) - 1;
    assert_int_equal(flow_index_kind(flow_index(FLOW_TIME_WAIT, top)), FLOW_TIME_WAIT);
    assert_int_equal(flow_index_ix(flow_index(FLOW_SYN, top)), top);
    assert_int_equal(flow_index(FLOW_BLOCK, 7), 7);
    assert_int_not_equal(flow_index(FLOW_TIME_WAIT, top), FLOW_NONE);
}

static void empty_table_finds_nothing(void **state)
{
    struct flow_table t = make(1);
    for (uint64_t h = 0; h < 1000; h++) {
        assert_int_equal(find_one(&t, h * 0x9e3779b97f4a7c15ULL), FLOW_NONE);
        assert_false(flow_remove(&t, h, 0));
        assert_false(flow_replace(&t, h, 0, 1));
    }
    drop(&t);
}

static void tag_zero_is_an_entry_like_any_other(void **state)
{
    struct flow_table t = make(100);
    uint64_t hash = 0x1234567800000000ULL;
    assert_true(flow_insert(&t, hash, 5));
    assert_int_equal(find_one(&t, hash), 5);
    assert_true(flow_remove(&t, hash, 5));
    assert_int_equal(find_one(&t, hash), FLOW_NONE);
    assert_int_equal(t.count, 0);
    drop(&t);
}

static void equal_hashes_fill_both_buckets_and_are_told_apart_by_index(void **state)
{
    struct flow_table t = make(1000);
    uint64_t hash = 0x40000000deadbeefULL;
    uint32_t n = 0;
    while (n < 100 && flow_insert(&t, hash, n))
        n++;
    assert_int_equal(n, 2 * FLOW_SLOTS);
    assert_int_equal(t.insert_failed, 1);
    assert_int_equal(t.in_second, FLOW_SLOTS);
    check_sums(&t);
    for (uint32_t i = 0; i < n; i++)
        assert_true(has(&t, hash, i, 1));
    assert_true(flow_replace(&t, hash, 13, flow_index(FLOW_TIME_WAIT, 13)));
    assert_true(has(&t, hash, 13, 0));
    assert_true(has(&t, hash, flow_index(FLOW_TIME_WAIT, 13), 1));
    assert_true(flow_replace(&t, hash, flow_index(FLOW_TIME_WAIT, 13), 13));
    for (uint32_t i = 0; i < n; i++) {
        assert_true(flow_remove(&t, hash, i));
        assert_false(flow_remove(&t, hash, i));
    }
    assert_int_equal(find_one(&t, hash), FLOW_NONE);
    check_sums(&t);
    drop(&t);
}

static void same_bucket_with_different_tags_is_moved_apart(void **state)
{
    // All first buckets are the same: ten stay, the others spread over their second ones.
    struct flow_table t = make(10000);
    enum { N = 3000 };
    for (uint32_t i = 0; i < N; i++)
        assert_true(flow_insert(&t, 0x8000000000000000ULL | (i + 1), i));
    check_sums(&t);
    for (uint32_t i = 0; i < N; i++)
        assert_true(has(&t, 0x8000000000000000ULL | (i + 1), i, 1));
    for (uint32_t i = 0; i < N; i++)
        assert_true(flow_remove(&t, 0x8000000000000000ULL | (i + 1), i));
    check_sums(&t);
    assert_int_equal(t.in_second, 0);
    drop(&t);
}

static void capacity_fits_and_so_do_95_percent(void **state)
{
    struct rng r = test_rng(__func__);
    struct flow_table t = make(100000);
    uint32_t full = t.n_buckets * FLOW_SLOTS, n = full / 100 * 95;
    uint64_t *hash = malloc(n * sizeof(*hash));
    for (uint32_t i = 0; i < n; i++) {
        hash[i] = rng_u64(&r);
        assert_true(flow_insert(&t, hash[i], i));
        if (i + 1 == t.capacity)
            print_message("at capacity: %.2f %% in second bucket, %llu displaced\n",
                          100.0 * t.in_second / t.count, (unsigned long long)t.displaced);
    }
    print_message("at 95 %%: %.2f %% in second bucket, %llu displaced\n",
                  100.0 * t.in_second / t.count, (unsigned long long)t.displaced);
    assert_true(t.displaced > 0);
    check_sums(&t);
    uint32_t first_right = 0;
    for (uint32_t i = 0; i < n; i++) {
        first_right += find_one(&t, hash[i]) == i;
        assert_true(has(&t, hash[i], i, 1));
    }
    assert_true(first_right > n - n / 1000);
    while (flow_insert(&t, rng_u64(&r), 1))
        assert_true(t.count <= full);
    assert_int_equal(t.insert_failed, 1);
    check_sums(&t);
    for (uint32_t i = 0; i < n; i++)
        assert_true(has(&t, hash[i], i, 1));
    free(hash);
    drop(&t);
}

static void burst_of_hits_and_misses_equals_single_look_ups(void **state)
{
    struct rng r = test_rng(__func__);
    struct flow_table t = make(5000);
    uint64_t hash[BURST_MAX], known[5000];
    uint32_t cand[BURST_MAX + 1];
    for (uint32_t i = 0; i < 5000; i++) {
        known[i] = rng_u64(&r);
        assert_true(flow_insert(&t, known[i], i));
    }
    for (unsigned round = 0; round < 2000; round++) {
        unsigned n = rng_below(&r, BURST_MAX + 1);
        for (unsigned i = 0; i < n; i++)
            hash[i] = rng_below(&r, 2) ? known[rng_below(&r, 5000)] : rng_u64(&r);
        cand[n] = 42;
        flow_find_burst(&t, hash, n, cand);
        for (unsigned i = 0; i < n; i++) {
            unsigned at = 0;
            assert_int_equal(cand[i], flow_next(&t, hash[i], &at));
        }
        assert_int_equal(cand[n], 42);
    }
    drop(&t);
}

// The model: entries in any order. Hashes come from few buckets and few tags, so that they collide.
enum { MODEL_MAX = 3000 };

struct model {
    uint64_t hash[MODEL_MAX];
    uint32_t index[MODEL_MAX];
    uint32_t n;
};

static void check_model(const struct flow_table *t, const struct model *m)
{
    assert_int_equal(t->count, m->n);
    check_sums(t);
    for (uint32_t i = 0; i < m->n; i++)
        assert_true(has(t, m->hash[i], m->index[i], 1));
}

static void random_churn_equals_the_model(struct rng *r, uint32_t capacity, uint32_t tags)
{
    static struct model m;
    struct flow_table t = make(capacity);
    m.n = 0;
    uint32_t failed = 0;
    for (uint32_t step = 0; step < 60000; step++) {
        uint32_t op = rng_below(r, 100);
        uint32_t grow = step % 20000 < 10000 ? 60 : 35;
        if (op < grow && m.n < MODEL_MAX) {
            uint64_t hash = (rng_u64(r) & ~0xffffULL) | rng_below(r, tags);
            bool ok = flow_insert(&t, hash, step);
            failed += !ok;
            if (ok) {
                m.hash[m.n] = hash;
                m.index[m.n++] = step;
            }
        } else if (op < 90 && m.n != 0) {
            uint32_t i = rng_below(r, m.n);
            assert_true(flow_remove(&t, m.hash[i], m.index[i]));
            m.n--;
            m.hash[i] = m.hash[m.n];
            m.index[i] = m.index[m.n];
        } else if (m.n != 0) {
            uint32_t i = rng_below(r, m.n), to = flow_index(FLOW_SYN, step);
            assert_true(flow_replace(&t, m.hash[i], m.index[i], to));
            assert_false(flow_replace(&t, m.hash[i], m.index[i], to));
            m.index[i] = to;
        }
        if (step % 997 == 0)
            check_model(&t, &m);
    }
    check_model(&t, &m);
    assert_int_equal(t.insert_failed, failed);
    while (m.n != 0) {
        m.n--;
        assert_true(flow_remove(&t, m.hash[m.n], m.index[m.n]));
    }
    check_model(&t, &m);
    drop(&t);
}

static void random_churn_keeps_every_entry(void **state)
{
    struct rng r = test_rng(__func__);
    random_churn_equals_the_model(&r, 2500, 65536);
    random_churn_equals_the_model(&r, 300, 65536);  // overfull: inserts fail
    random_churn_equals_the_model(&r, 2500, 3);     // tags collide
    random_churn_equals_the_model(&r, 1, 65536);    // one bucket: both are the same
    random_churn_equals_the_model(&r, 20, 4);
}

static void footprint_is_under_8_bytes_an_entry(void **state)
{
    assert_int_equal(flow_footprint(1), 64);
    assert_int_equal(flow_footprint(17), 128);
    assert_int_equal(flow_footprint(10000000), 64ULL * 1176471);
    assert_true(flow_footprint(FLOW_CAPACITY_MAX) < 8ULL * FLOW_CAPACITY_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(burst_hash_is_the_scalar_hash),
        cmocka_unit_test(hash_depends_on_the_secret_and_every_field),
        cmocka_unit_test(kinds_pass_through_an_index),
        cmocka_unit_test(empty_table_finds_nothing),
        cmocka_unit_test(tag_zero_is_an_entry_like_any_other),
        cmocka_unit_test(equal_hashes_fill_both_buckets_and_are_told_apart_by_index),
        cmocka_unit_test(same_bucket_with_different_tags_is_moved_apart),
        cmocka_unit_test(capacity_fits_and_so_do_95_percent),
        cmocka_unit_test(burst_of_hits_and_misses_equals_single_look_ups),
        cmocka_unit_test(random_churn_keeps_every_entry),
        cmocka_unit_test(footprint_is_under_8_bytes_an_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
