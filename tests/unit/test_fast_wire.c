// SPDX-License-Identifier: BSD-3-Clause
// The parsers and builders of the common frame against the general ones: random frames, right ones
// and ones with some bytes changed, every field and byte compared.
#include <string.h>

#include "check.h"
#include "seed.h"
#include "wire/build.h"
#include "wire/parse.h"

enum {
    CASES = 200000,
    V4_US = 0x0a000001,
    V4_PEER = 0x0a000002,
    FRAME_MAX = 256,
    SEG_IN_BYTES = offsetof(struct seg_in, sack_count) + 1,  // without the padding behind
};

static const struct mac_addr mac_us = {{2, 0, 0, 0, 0, 1}}, mac_peer = {{2, 0, 0, 0, 0, 2}};

static bool one_in(struct rng *r, uint32_t n)
{
    return rng_below(r, n) == 0;
}

// make_out: a segment to send, its data in `data`.
static void make_out(struct rng *r, struct seg_out *s, const uint8_t *data)
{
    *s = (struct seg_out){.key = {ip_from_v4(V4_US), 0, 0, 0, 0}};
    s->key.remote_port = (uint16_t)(one_in(r, 16) ? rng_below(r, 2) : rng_u64(r));
    s->key.local_port = (uint16_t)(one_in(r, 16) ? rng_below(r, 2) : rng_u64(r));
    s->seq = (uint32_t)rng_u64(r);
    s->ack = one_in(r, 4) ? 0 : (uint32_t)rng_u64(r);
    s->wnd = (uint16_t)rng_u64(r);
    s->flags = one_in(r, 4) ? (uint8_t)rng_u64(r) : SEG_ACK;
    s->opts = (uint8_t)(one_in(r, 4) ? rng_u64(r) & 15 : one_in(r, 2) ? SEG_OPT_TS : 0);
    if (one_in(r, 8)) {  // a usual SYN
        s->flags = one_in(r, 4) ? SEG_SYN | SEG_ACK : SEG_SYN;
        s->opts =
            SEG_OPT_MSS | SEG_OPT_TS | SEG_OPT_WSCALE | (one_in(r, 2) ? SEG_OPT_SACK_PERM : 0);
    }
    s->ts_val = one_in(r, 4) ? UINT32_MAX : (uint32_t)rng_u64(r);
    s->ts_ecr = one_in(r, 4) ? 0 : (uint32_t)rng_u64(r);
    s->mss = (uint16_t)rng_u64(r);
    s->wscale = (uint8_t)rng_below(r, 15);
    s->tos = one_in(r, 4) ? (uint8_t)rng_u64(r) : 0;
    s->data_len[0] = (uint16_t)(one_in(r, 3) ? 0 : rng_below(r, 80));
    s->data_len[1] = (uint16_t)(one_in(r, 4) ? rng_below(r, 40) : 0);
    s->data[0] = data + rng_below(r, 16);
    s->data[1] = data + 100 + rng_below(r, 16);
}

// Not inlined, and as its only caller would: gcc would warn of reads that other bytes lead to.
static __attribute__((noinline)) bool common(const uint8_t *f, uint32_t len,
                                             const struct wire_common *c, struct seg_in *out)
{
    return len >= TCP4_DATA_OFF && wire_is_common(f, c) && wire_parse_tcp4_fast(f, len, 0, 0, out);
}

static __attribute__((noinline)) bool both_right(const uint8_t *f, uint32_t tcp_len)
{
    return wire_ip4_tcp4_right(f, tcp_len);
}

static __attribute__((noinline)) bool each_right(const uint8_t *f, uint32_t tcp_len)
{
    return wire_ip4_verify(f + ETH_BYTES) && wire_tcp4_verify(f, tcp_len);
}

static enum drop_reason general(const uint8_t *f, uint32_t len, bool verify, struct seg_in *out)
{
    struct wire_ip4 ip;
    const enum drop_reason r = wire_parse_ip4(f, len, verify, &ip);
    if (r != DROP_NONE)
        return r;
    assert_int_equal(ip.proto, IP_PROTO_TCP);
    assert_int_equal(ip.dst_raw, raw32(V4_US));
    return wire_parse_tcp(f, &ip, verify, out);
}

static void a_frame_taken_as_common_reads_as_the_general_parser_reads_it(void **state)
{
    struct rng rng = test_rng(__func__);
    struct wire_from from;
    struct wire_common to_us, to_any;
    const uint32_t v4_raw = raw32(V4_US);
    uint8_t data[256];
    uint32_t taken = 0, sums_right = 0;
    wire_from_init(&from, &mac_peer, V4_PEER);
    wire_common_init(&to_us, &mac_us, &v4_raw);
    wire_common_init(&to_any, &mac_us, NULL);
    for (uint32_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)rng_u64(&rng);
    for (uint32_t i = 0; i < CASES; i++) {
        struct seg_out o;
        make_out(&rng, &o, data);
        uint8_t *buf = malloc(FRAME_MAX);
        uint32_t len = wire_build_tcp4(buf, &from, wire_mac_word(&mac_us), &o,
                                       wire_tcp_head_bytes(&o), wire_options_of(&o), false);
        len += one_in(&rng, 4) ? rng_below(&rng, 7) : 0;  // padding
        if (one_in(&rng, 16))
            len = rng_below(&rng, len);
        for (uint32_t k = rng_below(&rng, 3); k != 0 && len != 0; k--) {
            uint8_t *at = &buf[rng_below(&rng, MIN(len, 70u))];
            *at = (uint8_t)(one_in(&rng, 2) ? rng_u64(&rng) : *at + 1 - rng_below(&rng, 3));
        }
        uint8_t *f = malloc(len + 1);  // exactly as long, so that a sanitizer sees what is beyond
        memcpy(f, buf, len);
        struct seg_in a, b;
        memset(&a, 0x55, sizeof(a));
        memset(&b, 0xaa, sizeof(b));
        if (common(f, len, &to_us, &a)) {
            taken++;
            assert_true(wire_is_common(f, &to_any));
            assert_int_equal(general(f, len, false, &b), DROP_NONE);
            assert_memory_equal(&a, &b, SEG_IN_BYTES);
            const uint32_t tcp_len = (uint32_t)a.data_off + a.data_len - TCP4_OFF;
            const bool right = each_right(f, tcp_len);
            assert_int_equal(right, general(f, len, true, &b) == DROP_NONE);
            assert_int_equal(both_right(f, tcp_len), right);
            sums_right += right;
        }
        free(f);
        free(buf);
    }
    assert_true(taken > CASES / 10);
    assert_true(sums_right > CASES / 20);
}

static void a_frame_built_for_its_options_is_the_generally_built_one(void **state)
{
    struct rng rng = test_rng(__func__);
    struct wire_from from;
    uint8_t data[256], a[FRAME_MAX], b[FRAME_MAX];
    wire_from_init(&from, &mac_peer, V4_PEER);
    for (uint32_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)rng_u64(&rng);
    for (uint32_t i = 0; i < CASES; i++) {
        struct seg_out o;
        make_out(&rng, &o, data);
        const bool offload = one_in(&rng, 2);
        const uint32_t head = wire_tcp_head_bytes(&o);
        memset(a, 0x5a, sizeof(a));
        memset(b, 0x5a, sizeof(b));
        const uint32_t len = wire_build_tcp4(a, &from, wire_mac_word(&mac_us), &o, head,
                                             wire_options_of(&o), offload);
        assert_int_equal(
            len, wire_build_tcp4(b, &from, wire_mac_word(&mac_us), &o, head, WIRE_ANY, offload));
        assert_memory_equal(a, b, sizeof(a));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_taken_as_common_reads_as_the_general_parser_reads_it),
        cmocka_unit_test(a_frame_built_for_its_options_is_the_generally_built_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
