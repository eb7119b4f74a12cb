// SPDX-License-Identifier: BSD-3-Clause
// Datagrams in parts against a naive model, and each of the bounds of net/reasm.h.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "net/reasm.h"
#include "unit/seed.h"
#include "wire/cksum.h"
#include "wire/proto.h"

enum { N = 64, HEAD4 = ETH_BYTES + IP4_BYTES, HEAD6 = ETH_BYTES + IP6_BYTES + 8 };

static void *mem;
static struct core_counters counters;
static struct reasm *r;
static uint32_t now_ms;

static int setup(void **state)
{
    mem = aligned_alloc(CACHE_LINE, reasm_footprint(N));
    memset(mem, 0xee, reasm_footprint(N));  // init must not rely on zeroed memory
    memset(&counters, 0, sizeof(counters));
    r = reasm_init(mem, N, (struct siphash_key){1, 2}, &counters);
    now_ms = UINT32_MAX - 5000;  // the clock wraps
    return 0;
}

static int teardown(void **state)
{
    free(mem);
    return 0;
}

// ends: all ends but success and those that are still there.
static uint64_t ends(void)
{
    return counters.reassembly_timeouts + counters.reassembly_evicted + counters.reassembly_share +
           counters.reassembly_broken + counters.reassembly_room;
}

// datagram: what is cut, and the naive model of what arrived of it.
struct datagram {
    bool v6;
    uint32_t src, id, len;
    uint8_t data[REASM_IP_MAX];
    uint8_t head[HEAD6];
    uint8_t came[REASM_IP_MAX];
    // The model: parts that came.
    uint32_t n;
    struct {
        uint32_t at, len;
        bool more;
    } part[REASM_PARTS_MAX + 1];
    bool broken, whole;
};

static struct ip_addr address(bool v6, uint32_t n)
{
    struct ip_addr a = {{0x20, 1, 0xd, 0xb8, (uint8_t)(n >> 24), (uint8_t)(n >> 16),
                         (uint8_t)(n >> 8), (uint8_t)n, [15] = 9}};
    return v6 ? a : ip_from_v4(n);
}

static void make(struct datagram *d, bool v6, uint32_t src, uint32_t id, uint32_t len)
{
    d->v6 = v6;
    d->src = src;
    d->id = id;
    d->len = len;
    d->n = 0;
    d->broken = d->whole = false;
    for (uint32_t i = 0; i < len; i++)
        d->data[i] = (uint8_t)(i * 7 + (i >> 8) + id);
    memset(d->head, 0x11, sizeof(d->head));
    d->head[ETH_BYTES] = v6 ? 0x60 : 0x45;
    if (v6) {
        d->head[ETH_BYTES + 6] = IP_PROTO_FRAGMENT;
        d->head[ETH_BYTES + IP6_BYTES] = IP_PROTO_UDP;
        d->head[ETH_BYTES + 1] = 0;
    } else {
        d->head[ETH_BYTES + 1] = 0;
        store_be16(d->head + ETH_BYTES + 6, 0x2000);
    }
}

static struct reasm_part part_of(const struct datagram *d, uint32_t at, uint32_t len)
{
    return (struct reasm_part){.src = address(d->v6, d->src),
                               .dst = address(d->v6, 1),
                               .id = d->id,
                               .proto = d->v6 ? 0 : IP_PROTO_UDP,
                               .more = at + len != d->len,
                               .at = at,
                               .len = len,
                               .data = d->data + at,
                               .head = d->head,
                               .head_len = d->v6 ? HEAD6 : HEAD4,
                               .part_at = d->v6 ? HEAD6 - 8 : 0,
                               .named_at = ETH_BYTES + 6};
}

static enum drop_reason add(const struct reasm_part *p, struct reasm_whole *w)
{
    return reasm_add(r, now_ms, p, w);
}

static enum drop_reason give(const struct datagram *d, uint32_t at, uint32_t len)
{
    struct reasm_whole w;
    const struct reasm_part p = part_of(d, at, len);
    const enum drop_reason reason = add(&p, &w);
    assert_int_equal(w.bytes, 0);
    return reason;
}

static void expect_whole(const struct datagram *d, const struct reasm_whole *w)
{
    static uint8_t frame[REASM_FRAME_MAX];
    const uint32_t head = d->v6 ? HEAD6 - 8 : HEAD4;
    const uint8_t *ip = frame + ETH_BYTES;
    assert_int_equal(w->bytes, head + d->len);
    reasm_take(r, w, frame);
    assert_memory_equal(frame + head, d->data, d->len);
    assert_memory_equal(frame, d->head, ETH_BYTES);
    if (d->v6) {
        assert_int_equal(load_be16(ip + 4), d->len);
        assert_int_equal(ip[6], IP_PROTO_UDP);
        return;
    }
    assert_int_equal(load_be16(ip + 2), IP4_BYTES + d->len);
    assert_int_equal(load_be16(ip + 6), 0);
    assert_int_equal(cksum_fold(cksum_add(0, ip, IP4_BYTES)), 0xffff);
}

// ---- the model

static bool overlap(uint32_t a, uint32_t a_len, uint32_t b, uint32_t b_len)
{
    return a < b + b_len && b < a + a_len;
}

// What is to come of the part, by a look at every one before it; the part is then among them.
static enum drop_reason model(struct datagram *d, const struct reasm_part *p)
{
    uint32_t end = 0, total = 0, got = p->len;
    bool hits = false;
    if (p->len == 0 || (p->more && p->len % 8 != 0) || p->at + p->len > REASM_IP_MAX)
        return DROP_fragment_length;
    if (d->broken)
        return DROP_fragment_broken;
    for (uint32_t i = 0; i < d->n; i++) {
        if (d->part[i].at == p->at && d->part[i].len == p->len && d->part[i].more == p->more &&
            memcmp(d->came + p->at, p->data, p->len) == 0)
            return DROP_fragment_duplicate;
        hits |= overlap(d->part[i].at, d->part[i].len, p->at, p->len);
        end = d->part[i].at + d->part[i].len > end ? d->part[i].at + d->part[i].len : end;
        total = d->part[i].more ? total : d->part[i].at + d->part[i].len;
        got += d->part[i].len;
    }
    // Bytes of the last unit of 8 that its part does not have are nobody's.
    d->broken = hits || (!p->more && (end > p->at + p->len || total != 0)) ||
                (p->more && total != 0 && p->at + p->len > total);
    if (d->broken)
        return DROP_fragment_overlap;
    if (d->n == REASM_PARTS_MAX) {
        d->broken = true;
        return DROP_fragment_parts;
    }
    memcpy(d->came + p->at, p->data, p->len);
    d->part[d->n].at = p->at;
    d->part[d->n].len = p->len;
    d->part[d->n++].more = p->more;
    total = p->more ? total : p->at + p->len;
    d->whole = total != 0 && got == total;
    return DROP_NONE;
}

// A part that the sender did not make: cut elsewhere, with other bytes, or with another end.
static void spoil(struct rng *rng, struct reasm_part *p, const struct datagram *d, uint8_t *bytes)
{
    switch (rng_below(rng, 4)) {
    case 0:
        p->at = rng_below(rng, d->len / 8 + 2) * 8;
        p->len = 1 + rng_below(rng, 3000);
        p->len = p->more ? ALIGN_UP(p->len, 8) : p->len;
        p->data = bytes;
        break;
    case 1:
        p->more = !p->more;
        break;
    case 2:
        memcpy(bytes, p->data, p->len);
        bytes[rng_below(rng, p->len)] ^= 0x55;
        p->data = bytes;
        break;
    default:
        p->len = rng_below(rng, p->len + 1);
        break;
    }
}

static void one_datagram(struct rng *rng, struct datagram *d, unsigned spoiled_percent)
{
    static uint8_t bytes[REASM_IP_MAX];
    static uint32_t at[REASM_IP_MAX / 8 + 1], len[REASM_IP_MAX / 8 + 1];
    const bool v6 = rng_below(rng, 2) != 0;
    const uint32_t most = v6 ? REASM_IP_MAX : REASM_IP_MAX - IP4_BYTES;
    const uint32_t whole = 2 + rng_below(rng, rng_below(rng, 4) == 0 ? most - 1 : 9000);
    const uint32_t step = 8 * (1 + rng_below(rng, 250)), least = (whole / 120 + 8) & ~7u;
    uint32_t n = 0;
    make(d, v6, 2 + rng_below(rng, 1000), (uint32_t)rng_u64(rng), whole);
    for (uint32_t i = 0; i < whole; i += len[n++]) {
        at[n] = i;
        len[n] = MIN(MAX(8 * (1 + rng_below(rng, step / 8)), least), whole - i);
    }
    for (uint32_t i = n; i-- > 1;) {  // any order
        const uint32_t k = rng_below(rng, i + 1), a = at[i], l = len[i];
        at[i] = at[k], len[i] = len[k];
        at[k] = a, len[k] = l;
    }
    for (uint32_t i = 0; i < n && !d->whole; i++) {
        struct reasm_whole w;
        struct reasm_part p = part_of(d, at[i], len[i]);
        if (i != 0 && rng_below(rng, 10) == 0) {
            const uint32_t k = rng_below(rng, i);
            p = part_of(d, at[k], len[k]);  // again
            i--;
        }
        if (rng_below(rng, 100) < spoiled_percent)
            spoil(rng, &p, d, bytes);
        const uint32_t before = d->n;
        const enum drop_reason want = model(d, &p), got = add(&p, &w);
        if (want != got)
            fail_msg("part %u+%u%s of %u bytes, %u before it: reason %u, not %u", p.at, p.len,
                     p.more ? "+" : "", whole, before, got, want);
        assert_int_equal(w.bytes != 0, got == DROP_NONE && d->whole);
        if (w.bytes != 0 && spoiled_percent == 0)
            expect_whole(d, &w);
        else if (w.bytes != 0)
            reasm_take(r, &w, bytes);
    }
}

static void parts_in_any_order_make_the_datagram_or_end_it_as_the_model_says(void **state)
{
    struct rng rng = test_rng(__func__);
    struct datagram *d = malloc(sizeof(*d));
    for (unsigned i = 0; i < 1500; i++)
        one_datagram(&rng, d, i % 2 == 0 ? 0 : 8);
    assert_true(counters.reassembled - counters.reassembled6 > 100);
    assert_true(counters.reassembled6 > 100 && counters.reassembly_broken > 100);
    assert_true(counters.reassembly_now <= N);
    free(d);
}

// ---- overlaps

static void each_kind_of_overlap_ends_the_datagram_with_all_that_is_to_come(void **state)
{
    static const struct {
        uint32_t at, len;
        bool more;
    } bad[] = {
        {0, 808, true},      // over the end of the first
        {792, 808, true},    // over its end, from within
        {0, 400, true},      // a part of it, from its beginning
        {400, 400, true},    // to its end
        {200, 400, true},    // inside
        {1592, 808, true},   // over the beginning of the second
        {0, 4000, true},     // over all
        {800, 816, true},    // the gap and more
        {2400, 100, false},  // an end before what is there
        {3000, 100, false},  // a second end
        {3200, 8, true},     // beyond the end
        {3096, 8, true},     // over the end
    };
    static struct datagram d;
    for (unsigned i = 0; i < 2 * ARRAY_LEN(bad); i++) {
        make(&d, i % 2 != 0, 5, 100 + i, 3104);
        assert_int_equal(give(&d, 0, 800), DROP_NONE);
        assert_int_equal(give(&d, 1600, 800), DROP_NONE);
        assert_int_equal(give(&d, 2800, 304), DROP_NONE);
        struct reasm_part p = part_of(&d, bad[i / 2].at, 8);
        struct reasm_whole w;
        p.len = bad[i / 2].len;
        p.more = bad[i / 2].more;
        assert_int_equal(add(&p, &w), DROP_fragment_overlap);
        assert_int_equal(give(&d, 800, 800), DROP_fragment_broken);
        assert_int_equal(give(&d, 2400, 400), DROP_fragment_broken);
        assert_int_equal(give(&d, 0, 800), DROP_fragment_broken);
        assert_int_equal(counters.reassembly_broken, i + 1);
        assert_int_equal(counters.reassembly_fails6, (i + 1) / 2);
    }
}

static void the_very_same_part_again_is_dropped_alone(void **state)
{
    static struct datagram d;
    struct reasm_whole w;
    make(&d, false, 5, 1, 3000);
    assert_int_equal(give(&d, 1600, 1400), DROP_NONE);
    assert_int_equal(give(&d, 1600, 1400), DROP_fragment_duplicate);
    assert_int_equal(give(&d, 0, 800), DROP_NONE);
    assert_int_equal(give(&d, 0, 800), DROP_fragment_duplicate);
    const struct reasm_part p = part_of(&d, 800, 800);
    assert_int_equal(add(&p, &w), DROP_NONE);
    expect_whole(&d, &w);
    assert_int_equal(ends(), 0);
    d.data[5] ^= 1;  // with another byte it is not the same
    assert_int_equal(give(&d, 0, 800), DROP_NONE);
    d.data[700] ^= 1;
    assert_int_equal(give(&d, 0, 800), DROP_fragment_overlap);
}

static void parts_of_other_datagrams_are_no_overlap(void **state)
{
    static struct datagram d;
    struct reasm_whole w;
    make(&d, false, 5, 1, 1600);
    struct reasm_part p = part_of(&d, 0, 800);
    for (unsigned i = 0; i < 6; i++) {  // each field of the key for itself
        p = part_of(&d, 0, 800);
        p.id += i == 1;
        p.proto += i == 2;
        p.port += i == 3;
        p.dst.b[15] ^= i == 4;
        p.src.b[15] ^= i == 5;
        assert_int_equal(add(&p, &w), DROP_NONE);
        assert_int_equal(counters.reassembly_now, i + 1);
    }
}

// ---- bounds

static void a_datagram_has_so_many_parts_and_not_one_more(void **state)
{
    static struct datagram d;
    make(&d, false, 5, 1, 8 * (REASM_PARTS_MAX + 2));
    for (unsigned i = 0; i < REASM_PARTS_MAX; i++)
        assert_int_equal(give(&d, 8 * i, 8), DROP_NONE);
    assert_int_equal(give(&d, 8 * REASM_PARTS_MAX, 8), DROP_fragment_parts);
    assert_int_equal(give(&d, 8 * REASM_PARTS_MAX + 8, 8), DROP_fragment_broken);
    assert_int_equal(counters.reassembly_broken, 1);
}

static void lengths_that_cannot_be_are_refused(void **state)
{
    static struct datagram d;
    struct reasm_whole w;
    make(&d, false, 5, 1, 65000);
    assert_int_equal(give(&d, 0, 0), DROP_fragment_length);
    assert_int_equal(give(&d, 0, 9), DROP_fragment_length);
    struct reasm_part p = part_of(&d, 65528, 8);
    assert_int_equal(add(&p, &w), DROP_fragment_length);
    assert_int_equal(counters.reassembly_now, 0);
    // What fits without its header only.
    make(&d, false, 5, 2, REASM_IP_MAX - IP4_BYTES + 1);
    for (uint32_t at = 0, n; at < d.len; at += n) {
        n = MIN(1480u, d.len - at);
        p = part_of(&d, at, n);
        assert_int_equal(add(&p, &w), at + n < d.len ? DROP_NONE : DROP_fragment_length);
    }
    assert_int_equal(w.bytes, 0);
}

static void ecn_of_the_parts_becomes_that_of_the_whole_or_ends_it(void **state)
{
    static uint8_t frame[REASM_FRAME_MAX];
    static struct datagram d;
    for (unsigned first = 0; first < 4; first++)
        for (unsigned second = 0; second < 4; second++) {
            struct reasm_whole w;
            make(&d, (first + second) % 2 != 0, 5, first * 4 + second, 1600);
            struct reasm_part p = part_of(&d, 0, 800);
            d.head[ETH_BYTES + 1] = (uint8_t)(d.v6 ? first << 4 : first);
            p.ecn = (uint8_t)first;
            assert_int_equal(add(&p, &w), DROP_NONE);
            p = part_of(&d, 800, 800);
            p.ecn = (uint8_t)second;
            const bool bad = (first == 0) != (second == 0);  // RFC 3168 5.3
            assert_int_equal(add(&p, &w), bad ? DROP_fragment_ecn : DROP_NONE);
            if (bad)
                continue;
            reasm_take(r, &w, frame);
            const unsigned tos = frame[ETH_BYTES + 1];
            assert_int_equal(d.v6 ? tos >> 4 : tos, second == 3 ? 3 : first);
        }
}

static void after_its_time_a_datagram_ends_and_its_first_part_is_quoted(void **state)
{
    static struct datagram d;
    static uint8_t quote[1500];
    struct reasm_part of;
    uint32_t n;
    for (unsigned i = 0; i < 3; i++) {  // 0: the first part, 1: a later one, 2: broken
        make(&d, false, 5, i, 3000);
        assert_int_equal(give(&d, i == 1 ? 800 : 0, 800), DROP_NONE);
        if (i == 2)
            give(&d, 0, 808);
        now_ms += 1000;
    }
    now_ms += REASM_TIMEOUT_MS - 3000 - 1;
    assert_false(reasm_expire(r, now_ms, 0, &of, quote, 548, &n));
    now_ms += 1;
    assert_false(reasm_expire(r, now_ms, 1, &of, quote, 548, &n));  // of another port
    assert_true(reasm_expire(r, now_ms, 0, &of, quote, 548, &n));
    assert_int_equal(n, 548);
    assert_memory_equal(quote, d.head + ETH_BYTES, IP4_BYTES);
    make(&d, false, 5, 0, 3000);
    assert_memory_equal(quote + IP4_BYTES, d.data, n - IP4_BYTES);
    assert_false(reasm_expire(r, now_ms, 0, &of, quote, 548, &n));
    now_ms += 2000;
    assert_true(reasm_expire(r, now_ms, 0, &of, quote, 548, &n));
    assert_int_equal(n, 0);
    assert_true(reasm_expire(r, now_ms, 0, &of, quote, 548, &n));
    assert_int_equal(n, 0);
    assert_false(reasm_expire(r, now_ms, 0, &of, quote, 548, &n));
    assert_int_equal(counters.reassembly_timeouts, 2);
    assert_int_equal(counters.reassembly_broken, 1);
    assert_int_equal(counters.reassembly_now, 0);
}

static void under_pressure_the_oldest_goes(void **state)
{
    static struct datagram d;
    for (uint32_t i = 0; i < 3 * N; i++) {
        make(&d, false, 100 + i, i, 3000);  // each from an address of its own
        assert_int_equal(give(&d, 0, 800), DROP_NONE);
        assert_int_equal(counters.reassembly_now, MIN(i + 1, (uint32_t)N));
    }
    // Some sources fall to one place by the hash: what goes by their share is none of the oldest.
    assert_int_equal(counters.reassembly_evicted + counters.reassembly_share, 2 * N);
    make(&d, false, 100 + 3 * N - 1, 3 * N - 1, 3000);  // the newest is there
    assert_int_equal(give(&d, 0, 800), DROP_fragment_duplicate);
    make(&d, false, 100, 0, 3000);  // the oldest is not
    assert_int_equal(give(&d, 0, 800), DROP_NONE);
}

// A stranger with one address, or one /64, sends whatever he likes: what others have here stays.
static void one_source_takes_none_of_the_others_room(void **state)
{
    static struct datagram d, other[8];
    struct rng rng = test_rng(__func__);
    for (unsigned v6 = 0; v6 < 2; v6++) {
        for (unsigned i = 0; i < ARRAY_LEN(other); i++) {
            make(&other[i], i % 2 != 0, 1000 + 50 * i + v6, 1, 9000);
            assert_int_equal(give(&other[i], 0, 4800), DROP_NONE);
        }
        for (uint32_t i = 0; i < 20000; i++) {
            make(&d, v6 != 0, 7, (uint32_t)rng_u64(&rng) % 200, 60000);
            struct reasm_part p =
                part_of(&d, rng_below(&rng, 30) * 2000, 8 + rng_below(&rng, 200) * 8);
            struct reasm_whole w;
            if (v6)
                p.src.b[8 + rng_below(&rng, 8)] = (uint8_t)rng_u64(&rng);  // of the same /64
            p.more = true;
            add(&p, &w);
        }
        assert_int_equal(counters.reassembly_evicted, 0);
        assert_in_range(counters.reassembly_now, ARRAY_LEN(other), ARRAY_LEN(other) + 2 * N / 8);
        for (unsigned i = 0; i < ARRAY_LEN(other); i++) {
            struct reasm_whole w;
            const struct reasm_part p = part_of(&other[i], 4800, 4200);
            assert_int_equal(add(&p, &w), DROP_NONE);
            expect_whole(&other[i], &w);
        }
    }
}

// Large datagrams take more chunks than there are: they go, the one in hand never does.
static void memory_is_bounded_and_the_longest_datagram_always_fits(void **state)
{
    static struct datagram d;
    struct reasm_whole w = {0};
    for (uint32_t i = 0; i < 2 * N; i++) {
        make(&d, true, 100 + i, i, 60000);
        for (uint32_t at = 0; at < 40000; at += 2000)
            assert_int_equal(give(&d, at, 2000), DROP_NONE);
    }
    assert_true(counters.reassembly_evicted > 0);
    make(&d, true, 50, 1, REASM_IP_MAX);
    for (uint32_t at = 0, n; at < d.len; at += n) {
        n = MIN(1232u, d.len - at);
        const struct reasm_part p = part_of(&d, at, n);
        assert_int_equal(add(&p, &w), DROP_NONE);
    }
    expect_whole(&d, &w);
}

static void room_for_whole_frames_comes_back_when_all_are_freed(void **state)
{
    void *shared[16];
    unsigned n = 0;
    while (n < 16 && reasm_room(r, REASM_FRAME_MAX, &shared[n]) != NULL)
        n++;
    assert_int_equal(n, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_null(reasm_room(r, REASM_FRAME_MAX, &shared[n]));
        reasm_room_back(r);
    }
    assert_non_null(reasm_room(r, REASM_FRAME_MAX, &shared[0]));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(parts_in_any_order_make_the_datagram_or_end_it_as_the_model_says),
        T(each_kind_of_overlap_ends_the_datagram_with_all_that_is_to_come),
        T(the_very_same_part_again_is_dropped_alone),
        T(parts_of_other_datagrams_are_no_overlap),
        T(a_datagram_has_so_many_parts_and_not_one_more),
        T(lengths_that_cannot_be_are_refused),
        T(ecn_of_the_parts_becomes_that_of_the_whole_or_ends_it),
        T(after_its_time_a_datagram_ends_and_its_first_part_is_quoted),
        T(under_pressure_the_oldest_goes),
        T(one_source_takes_none_of_the_others_room),
        T(memory_is_bounded_and_the_longest_datagram_always_fits),
        T(room_for_whole_frames_comes_back_when_all_are_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
