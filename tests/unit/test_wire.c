// SPDX-License-Identifier: BSD-3-Clause
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>  // wants the four before it
// clang-format on

#include <stdio.h>

#include "base/rng.h"
#include "frames.h"
#include "wire/build.h"
#include "wire/parse.h"

static const struct mac_addr mac_a = {{2, 0, 0, 0, 0, 1}}, mac_b = {{2, 0, 0, 0, 0, 2}};
enum {
    V4_A = 0x0a000001,
    V4_B = 0x0a000002,
    SEG_IN_BYTES = offsetof(struct seg_in, sack_count) + 1,  // without the padding behind
};

// ---- checksum

static __attribute__((noinline)) uint64_t sum_of(const uint8_t *p, size_t n)
{
    return cksum_add(0, p, n);
}

static uint16_t slow_sum(const uint8_t *p, size_t n)  // RFC 1071 4.1, big-endian words
{
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return __builtin_bswap16((uint16_t)sum);  // in memory order
}

static void fill(uint8_t *p, size_t n, uint64_t seed)
{
    struct rng r = {seed};
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)rng_u64(&r);
}

static void sum_is_that_of_rfc_1071_for_every_length_and_alignment(void **state)
{
    for (size_t align = 0; align < 9; align++) {
        for (size_t n = 0; n < 400; n++) {
            uint8_t *mem = malloc(align + n + 1);
            fill(mem, align + n, n * 16 + align);
            uint16_t want = slow_sum(mem + align, n);
            mem = realloc(mem, align + n + (align + n == 0));
            assert_int_equal(cksum_fold(sum_of(mem + align, n)), want);
            free(mem);
        }
    }
    enum { BIG = 60000 };
    uint8_t *ones = malloc(BIG);
    memset(ones, 0xff, BIG);
    assert_int_equal(cksum_fold(sum_of(ones, BIG)), 0xffff);
    fill(ones, BIG, 7);
    assert_int_equal(cksum_fold(sum_of(ones, BIG)), slow_sum(ones, BIG));
    free(ones);
}

static void copy_sums_the_same_and_writes_nothing_else(void **state)
{
    uint8_t from[1600], to[1600 + 2];
    fill(from, sizeof(from), 3);
    for (size_t n = 0; n <= sizeof(from); n++) {
        memset(to, 0xa5, sizeof(to));
        uint64_t sum = cksum_copy(0, to + 1, from, n);
        assert_int_equal(cksum_fold(sum), slow_sum(from, n));
        assert_memory_equal(to + 1, from, n);
        assert_int_equal(to[0], 0xa5);
        assert_int_equal(to[n + 1], 0xa5);
    }
}

static void fold_keeps_every_carry(void **state)
{
    assert_int_equal(cksum_fold(0), 0);
    assert_int_equal(cksum_fold(UINT64_MAX), 0xffff);
    assert_int_equal(cksum_fold(0x1ffff), 1);  // ffff + 1 = 10000 -> 1
    assert_int_equal(cksum_fold(0xffffffff00000001), 1);
    assert_int_equal(cksum_fold(0xfffefffefffeffff), 0xfffc);
    struct rng r = {5};
    for (int i = 0; i < 100000; i++) {
        uint64_t x = rng_u64(&r);
        assert_int_equal(cksum_fold(x) % 0xffff, x % 0xffff);
    }
}

static void a_sum_is_right_if_it_folds_to_all_ones(void **state)
{
    struct rng r = {6};
    for (int i = 0; i < 100000; i++) {
        const uint64_t x = rng_u64(&r) >> rng_below(&r, 64) | 1, right = x / 0xffff * 0xffff;
        assert_int_equal(cksum_is_right(x), cksum_fold(x) == 0xffff);
        if (right == 0)
            continue;
        assert_true(cksum_is_right(right));
        assert_int_equal(cksum_fold(right), 0xffff);
        assert_false(cksum_is_right(right + 1 + rng_below(&r, 0xfffe)));
    }
    assert_true(cksum_is_right(UINT64_MAX));
    assert_false(cksum_is_right(UINT64_MAX - 1));
}

static void update_equals_a_new_sum(void **state)
{
    struct rng r = {11};
    for (int i = 0; i < 100000; i++) {
        uint16_t w[4] = {(uint16_t)rng_u64(&r), (uint16_t)rng_u64(&r), (uint16_t)rng_u64(&r), 0};
        if (i % 10 == 0)
            w[1] = i % 20 ? 0xffff : 0;
        w[3] = (uint16_t)~cksum_fold((uint64_t)w[0] + w[1] + w[2]);
        uint16_t is = i % 7 ? (uint16_t)rng_u64(&r) : 0;
        w[3] = cksum_update(w[3], w[1], is);
        w[1] = is;
        assert_int_equal(cksum_fold((uint64_t)w[0] + w[1] + w[2] + w[3]), 0xffff);
    }
}

// ---- parse

static enum drop_reason parse_all(const uint8_t *f, uint32_t len, bool verify, struct seg_in *seg)
{
    struct wire_ip4 ip;
    enum drop_reason r = wire_parse_ip4(f, len, verify, &ip);
    return r != DROP_NONE ? r : wire_parse_tcp(f, &ip, verify, seg);
}

// Not inlined: gcc would warn of reads that only a frame with other bytes could lead to.
static __attribute__((noinline)) bool fast_parse(const uint8_t *f, uint32_t len,
                                                 const struct mac_addr *mac, struct seg_in *seg)
{
    struct wire_common c;
    uint32_t v4_raw;
    if (len < TCP4_DATA_OFF)
        return false;
    memcpy(&v4_raw, f + 30, sizeof(v4_raw));
    wire_common_init(&c, mac, &v4_raw);
    return wire_is_common(f, &c) && wire_parse_tcp4_fast(f, len, 0, 0, seg);
}

static __attribute__((noinline)) bool tcp_verify(const uint8_t *f, uint32_t tcp_len)
{
    return wire_tcp4_verify(f, tcp_len);
}

static void syn_with_every_option_is_read(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_SYN, &len);
    struct seg_in s;
    assert_int_equal(parse_all(f, len, true, &s), DROP_NONE);
    assert_int_equal(ip_to_v4(&s.key.remote), V4_B);
    struct ip_addr mapped = ip_from_v4(V4_B);
    assert_memory_equal(&s.key.remote, &mapped, 16);
    assert_int_equal(s.key.remote_port, 40000);
    assert_int_equal(s.key.local_port, 80);
    assert_int_equal(s.key.zero, 0);
    assert_int_equal(s.seq, 0x11223344);
    assert_int_equal(s.ack, 0);
    assert_int_equal(s.flags, SEG_SYN);
    assert_int_equal(s.wnd, 64240);
    assert_int_equal(s.opts, SEG_OPT_MSS | SEG_OPT_WSCALE | SEG_OPT_TS | SEG_OPT_SACK_PERM);
    assert_int_equal(s.mss, 1460);
    assert_int_equal(s.wscale, 7);
    assert_int_equal(s.ts_val, 0x01020304);
    assert_int_equal(s.ts_ecr, 0);
    assert_int_equal(s.ecn, 2);
    assert_int_equal(s.data_off, 74);
    assert_int_equal(s.data_len, 0);
    assert_int_equal(s.tcp_off, 34);
    free(f);
}

static void sack_blocks_are_found(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_SACK, &len);
    struct seg_in s;
    assert_int_equal(parse_all(f, len, true, &s), DROP_NONE);
    assert_int_equal(s.opts, SEG_OPT_SACK);
    assert_int_equal(s.sack_count, 2);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(load_be32(f + s.tcp_off + s.sack_off + 4 * i), i + 1);
    free(f);
}

static void ip_options_are_skipped(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_IP_OPTIONS, &len);
    struct seg_in s;
    assert_int_equal(parse_all(f, len, true, &s), DROP_NONE);
    assert_int_equal(s.tcp_off, 38);
    assert_int_equal(s.data_len, 3);
    assert_memory_equal(f + s.data_off, "xyz", 3);
    assert_false(fast_parse(f, len, &mac_a, &s));
    free(f);
}

static const char *const tcp_frames[] = {FRAME_SYN, FRAME_GET, FRAME_ACK, FRAME_SACK,
                                         FRAME_IP_OPTIONS};

static void fast_parser_agrees_with_the_slow_one(void **state)
{
    const char *fast[] = {FRAME_GET, FRAME_ACK};
    for (unsigned i = 0; i < 2; i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(fast[i], &len);
        struct seg_in a, b;
        memset(&a, 0x55, sizeof(a));
        memset(&b, 0xaa, sizeof(b));
        assert_true(fast_parse(f, len, &mac_a, &a));
        assert_int_equal(parse_all(f, len, true, &b), DROP_NONE);
        assert_memory_equal(&a, &b, SEG_IN_BYTES);
        assert_true(wire_ip4_verify(f + 14));
        assert_true(tcp_verify(f, len - 34));
        f[20] ^= 1;
        assert_false(wire_ip4_verify(f + 14));
        f[40] ^= 1;
        assert_false(tcp_verify(f, len - 34));
        assert_false(fast_parse(f, len, &mac_b, &a));
        free(f);
    }
}

static void frame_cut_at_any_byte_is_refused_by_both_parsers(void **state)
{
    for (unsigned i = 0; i < ARRAY_LEN(tcp_frames); i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(tcp_frames[i], &len);
        for (uint32_t n = 0; n < len; n++) {
            uint8_t *cut = frame_copy(f, n);
            struct seg_in s;
            assert_int_not_equal(parse_all(cut, n, false, &s), DROP_NONE);
            assert_false(fast_parse(cut, n, &mac_a, &s));
            free(cut);
        }
        free(f);
    }
}

static void padding_behind_the_packet_is_no_payload(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_ACK, &len), padded[60] = {0};
    memcpy(padded, f, len);
    struct seg_in s;
    assert_int_equal(parse_all(padded, 60, true, &s), DROP_NONE);
    assert_int_equal(s.data_len, 0);
    assert_true(fast_parse(padded, 60, &mac_a, &s));
    assert_int_equal(s.data_len, 0);
    free(f);
}

// Whatever the lengths say: what is accepted lies within the frame, and both parsers agree.
static void check_lie(const uint8_t *f, uint32_t len)
{
    struct seg_in a, b;
    bool fast = fast_parse(f, len, &mac_a, &a);
    enum drop_reason r = parse_all(f, len, false, &b);
    if (r == DROP_NONE)
        assert_true((uint32_t)b.data_off + b.data_len <= len);
    if (fast) {
        assert_int_equal(r, DROP_NONE);
        assert_memory_equal(&a, &b, SEG_IN_BYTES);
    }
}

static void lie_in_any_length_field_stays_inside_the_frame(void **state)
{
    for (unsigned i = 0; i < ARRAY_LEN(tcp_frames); i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(tcp_frames[i], &len);
        for (unsigned v = 0; v < 256; v++) {  // version and header length
            uint8_t was = f[14];
            f[14] = (uint8_t)v;
            check_lie(f, len);
            f[14] = was;
        }
        for (unsigned v = 0; v < 65536; v++) {  // total length
            uint16_t was = load_be16(f + 16);
            store_be16(f + 16, (uint16_t)v);
            check_lie(f, len);
            store_be16(f + 16, was);
        }
        for (unsigned v = 0; v < 256; v++) {  // TCP's data offset, at its place without options
            uint8_t was = f[46];
            f[46] = (uint8_t)v;
            check_lie(f, len);
            f[46] = was;
        }
        for (uint32_t at = 34; at < len; at++) {  // any byte of the segment, option lengths too
            for (unsigned v = 0; v < 256; v++) {
                uint8_t was = f[at];
                f[at] = (uint8_t)v;
                check_lie(f, len);
                f[at] = was;
            }
        }
        free(f);
    }
}

static void each_fault_has_its_reason(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_GET, &len), *g = malloc(len);
    struct seg_in s;
    const struct {
        uint32_t at;
        uint8_t value;
        bool verify;
        enum drop_reason want;
    } faults[] = {
        {14, 0x65, false, DROP_ip_version},        {14, 0x44, false, DROP_ip_header_length},
        {17, 19, false, DROP_ip_total_length},     {16, 1, false, DROP_ip_total_length},
        {22, 1, true, DROP_ip_checksum},           {20, 0x20, false, DROP_ip_fragment},
        {21, 1, false, DROP_ip_fragment},          {17, 39, false, DROP_tcp_short},
        {46, 0x40, false, DROP_tcp_header_length}, {46, 0xf0, false, DROP_tcp_header_length},
        {65, 0, true, DROP_tcp_checksum},          {57, 0, false, DROP_tcp_options},
        {57, 1, false, DROP_tcp_options},          {57, 11, false, DROP_tcp_options},
    };
    for (unsigned i = 0; i < ARRAY_LEN(faults); i++) {
        memcpy(g, f, len);
        g[faults[i].at] = faults[i].value;
        enum drop_reason r = parse_all(g, len, faults[i].verify, &s);
        if (r != faults[i].want)
            fail_msg("fault %u: reason %d, expected %d", i, r, faults[i].want);
    }
    memcpy(g, f, len);
    store_be16(g + 34, 0);
    assert_int_equal(parse_all(g, len, false, &s), DROP_tcp_port_zero);
    assert_false(fast_parse(g, len, &mac_a, &s));
    free(f);
    free(g);
}

static enum drop_reason options(uint8_t flags, const void *bytes, uint32_t n, struct seg_in *s)
{
    uint8_t *exact = frame_copy(bytes, n);
    memset(s, 0x77, sizeof(*s));
    s->flags = flags;
    enum drop_reason r = wire_parse_tcp_options(exact, n, s);
    free(exact);
    return r;
}

static void option_lengths_that_lie_are_refused(void **state)
{
    struct seg_in s;
    assert_int_equal(options(SEG_SYN, "\x02", 1, &s), DROP_tcp_options);
    assert_int_equal(options(SEG_SYN, "\x02\x00", 2, &s), DROP_tcp_options);
    assert_int_equal(options(SEG_SYN, "\x02\x01\x05\xb4", 4, &s), DROP_tcp_options);
    assert_int_equal(options(SEG_SYN, "\x02\x05\x05\xb4", 4, &s), DROP_tcp_options);
    assert_int_equal(options(SEG_SYN, "\xfd\x00\x00\x00", 4, &s), DROP_tcp_options);
    assert_int_equal(options(SEG_SYN, "\x01\x01\x01\x03", 4, &s), DROP_tcp_options);
    assert_int_equal(options(SEG_ACK, "\x08\xff", 2, &s), DROP_tcp_options);
}

static void unknown_and_ill_fitting_options_are_skipped_as_linux_does(void **state)
{
    struct seg_in s;
    assert_int_equal(options(SEG_SYN, "\xfd\x04\xaa\xbb\x02\x04\x05\xb4", 8, &s), DROP_NONE);
    assert_int_equal(s.opts, SEG_OPT_MSS);
    assert_int_equal(options(SEG_SYN, "\x02\x03\x05\x01\x02\x04\x05\xb4", 8, &s), DROP_NONE);
    assert_int_equal(s.mss, 1460);
    assert_int_equal(options(SEG_ACK, "\x02\x04\x05\xb4\x03\x03\x07\x04\x02\x01", 10, &s),
                     DROP_NONE);
    assert_int_equal(s.opts, 0);  // of a SYN only
    assert_int_equal(options(SEG_SYN, "\x02\x04\x00\x00", 4, &s), DROP_NONE);
    assert_int_equal(s.opts, 0);  // MSS 0
    assert_int_equal(options(SEG_SYN, "\x00\x02\x04\x05", 4, &s), DROP_NONE);
    assert_int_equal(s.opts, 0);  // behind the end
    assert_int_equal(options(SEG_ACK, "\x05\x0b\0\0\0\0\0\0\0\0\0\1", 12, &s), DROP_NONE);
    assert_int_equal(s.opts, 0);  // SACK of no whole blocks
    assert_int_equal(options(SEG_ACK, "", 0, &s), DROP_NONE);
    assert_int_equal(s.opts | s.mss | s.wscale | s.sack_count | s.sack_off, 0);
}

static void window_scale_is_capped_at_14(void **state)
{
    struct seg_in s;
    assert_int_equal(options(SEG_SYN, "\x03\x03\x0f\x01", 4, &s), DROP_NONE);
    assert_int_equal(s.wscale, 14);
    assert_int_equal(options(SEG_SYN, "\x03\x03\xff\x01", 4, &s), DROP_NONE);
    assert_int_equal(s.wscale, 14);
}

static void forty_bytes_hold_at_most_four_sack_blocks(void **state)
{
    uint8_t o[40] = {TCP_OPT_NOP, TCP_OPT_NOP, TCP_OPT_SACK, 34};
    struct seg_in s;
    assert_int_equal(options(SEG_ACK, o, 40, &s), DROP_NONE);
    assert_int_equal(s.sack_count, 4);
    assert_int_equal(s.sack_off, 24);
}

static void random_options_always_end(void **state)
{
    struct rng r = {17};
    for (int i = 0; i < 200000; i++) {
        uint8_t o[40];
        uint32_t n = rng_below(&r, 41);
        for (uint32_t k = 0; k < n; k++)
            o[k] = (uint8_t)rng_below(&r, i % 2 ? 12 : 256);
        struct seg_in s;
        enum drop_reason reason = options(i % 3 ? SEG_ACK : SEG_SYN, o, n, &s);
        assert_true(reason == DROP_NONE || reason == DROP_tcp_options);
        if (reason == DROP_NONE && s.opts & SEG_OPT_SACK)
            assert_true(s.sack_off - TCP_BYTES + s.sack_count * 8u <= n && s.sack_count <= 4);
    }
}

static void arp_is_read_and_every_other_kind_refused(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_ARP_REQUEST, &len);
    struct wire_arp a;
    assert_int_equal(wire_parse_arp(f, len, &a), DROP_NONE);
    assert_int_equal(a.op, ARP_OP_REQUEST);
    assert_int_equal(raw32(a.sender_raw), V4_B);
    assert_int_equal(raw32(a.target_raw), V4_A);
    assert_memory_equal(a.sender_mac.b, mac_b.b, 6);
    for (uint32_t n = 0; n < len; n++) {
        uint8_t *cut = frame_copy(f, n);
        assert_int_equal(wire_parse_arp(cut, n, &a), DROP_arp_malformed);
        free(cut);
    }
    for (uint32_t at = 14; at < 22; at++) {  // kinds, lengths, operation
        f[at] ^= 0x10;
        assert_int_equal(wire_parse_arp(f, len, &a), DROP_arp_malformed);
        f[at] ^= 0x10;
    }
    free(f);
}

static void icmp_error_names_the_segment_that_it_is_about(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_FRAG_NEEDED, &len);
    struct wire_ip4 ip;
    struct wire_icmp m;
    assert_int_equal(wire_parse_ip4(f, len, true, &ip), DROP_NONE);
    assert_int_equal(wire_parse_icmp(f, &ip, &m), DROP_NONE);
    assert_int_equal(m.type, ICMP_UNREACHABLE);
    assert_int_equal(m.code, ICMP_CODE_FRAG_NEEDED);
    assert_int_equal(m.mtu, 1400);
    assert_true(m.has_tcp);
    assert_int_equal(raw32(m.src_raw), V4_A);
    assert_int_equal(raw32(m.dst_raw), 0xc0000209);
    assert_int_equal(m.src_port, 80);
    assert_int_equal(m.dst_port, 40001);
    assert_int_equal(m.seq, 0xdeadbeef);
    free(f);
}

static void icmp_of_any_length_and_any_quoted_length_stays_inside(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_FRAG_NEEDED, &len);
    struct wire_icmp m;
    for (uint32_t n = 34; n <= len; n++) {
        for (unsigned v = 0; v < 256; v++) {
            uint8_t *cut = frame_copy(f, n);
            if (n > 42)
                cut[42] = (uint8_t)v;  // version and header length of the quoted packet
            if (n >= 38) {
                store_raw16(cut + 36, 0);
                store_raw16(cut + 36, (uint16_t)~cksum_fold(sum_of(cut + 34, n - 34)));
            }
            struct wire_ip4 ip = {.l4_off = 34, .l4_len = (uint16_t)(n - 34), .proto = 1};
            enum drop_reason r = wire_parse_icmp(cut, &ip, &m);
            bool whole = n >= 42 + (v & 15) * 4 + 8 && v >> 4 == 4 && (v & 15) >= 5;
            assert_int_equal(r, whole ? DROP_NONE : DROP_icmp_malformed);
            free(cut);
        }
    }
    f[50] ^= 1;
    struct wire_ip4 ip = {.l4_off = 34, .l4_len = (uint16_t)(len - 34), .proto = 1};
    assert_int_equal(wire_parse_icmp(f, &ip, &m), DROP_icmp_checksum);
    free(f);
}

// ---- build

static struct seg_out out_seg(uint8_t flags, uint8_t opts, uint32_t seq, uint16_t wnd)
{
    struct seg_out s = {.seq = seq,
                        .ack = 0x11223345,
                        .ts_val = 1000,
                        .ts_ecr = 0x01020304,
                        .wnd = wnd,
                        .mss = 1460,
                        .flags = flags,
                        .opts = opts,
                        .wscale = 7};
    s.key = (struct flow_key){.remote = ip_from_v4(V4_B), .remote_port = 40000, .local_port = 80};
    return s;
}

static __attribute__((noinline)) uint32_t build(uint8_t *frame, const struct seg_out *s,
                                                bool offload)
{
    struct wire_from from;
    wire_from_init(&from, &mac_a, V4_A);
    return wire_build_tcp4(frame, &from, wire_mac_word(&mac_b) | (uint64_t)0xabcd << 48, s,
                           wire_tcp_head_bytes(s), wire_options_of(s), offload);
}

static void expect_frame(const struct seg_out *s, const char *hex)
{
    uint32_t len;
    uint8_t *want = frame_bytes(hex, &len), *frame = malloc(len);
    assert_int_equal(build(frame, s, false), len);
    assert_memory_equal(frame, want, len);
    free(frame);
    free(want);
}

static void syn_ack_is_linux_s_byte_for_byte(void **state)
{
    uint8_t all = SEG_OPT_MSS | SEG_OPT_SACK_PERM | SEG_OPT_WSCALE;
    struct seg_out s = out_seg(SEG_SYN | SEG_ACK, all, 0x55667788, 65160);
    expect_frame(&s, FRAME_SYNACK);
    s.opts |= SEG_OPT_TS;
    expect_frame(&s, FRAME_SYNACK_TS);
}

static void sack_blocks_are_linux_s_byte_for_byte_and_read_back(void **state)
{
    static const struct seq_range blocks[SEG_SACK_MAX] = {
        {1, 0x01020304}, {0xfffffff0, 16}, {3, 4}, {5, 0x80000000}};
    static const uint8_t want[] = {1,    1,    5,    34,   0, 0, 0, 1,  1,    2, 3, 4,
                                   0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 16, 0,    0, 0, 3,
                                   0,    0,    0,    4,    0, 0, 0, 5,  0x80, 0, 0, 0};
    for (unsigned ts = 0; ts < 2; ts++) {
        for (uint8_t n = 1; n <= SEG_SACK_MAX - ts; n++) {
            struct seg_out s =
                out_seg(SEG_ACK, ts ? SEG_OPT_SACK | SEG_OPT_TS : SEG_OPT_SACK, 9, 10);
            s.sack = blocks;
            s.n_sack = n;
            uint8_t frame[128];
            const uint32_t len = build(frame, &s, false), off = TCP4_DATA_OFF + ts * TCP_TS_BYTES;
            assert_int_equal(len, off + 4 + 8 * n);
            assert_int_equal(frame[off + 3], 2 + 8 * n);
            assert_memory_equal(frame + off, want, 3);
            assert_memory_equal(frame + off + 4, want + 4, 8 * n);
            struct seg_in in;
            struct seq_range got[SEG_SACK_MAX];
            assert_int_equal(parse_all(frame, len, true, &in), DROP_NONE);
            assert_int_equal(in.opts, s.opts);
            assert_int_equal(in.sack_count, n);
            wire_read_sack(frame, &in, got);
            assert_memory_equal(got, blocks, n * sizeof(got[0]));
        }
    }
}

static void data_split_anywhere_makes_the_same_frame(void **state)
{
    static const uint8_t text[] = "hello, world!";
    struct seg_out s = out_seg(SEG_PSH | SEG_ACK, SEG_OPT_TS, 0x55667789, 509);
    for (uint16_t cut = 0; cut <= 13; cut++) {
        uint8_t *first = frame_copy(text, cut), *second = frame_copy(text + cut, 13u - cut);
        s.data[0] = first;
        s.data[1] = second;
        s.data_len[0] = cut;
        s.data_len[1] = (uint16_t)(13 - cut);
        expect_frame(&s, FRAME_DATA);
        free(first);
        free(second);
    }
}

static void every_choice_of_options_reads_back_as_written(void **state)
{
    for (unsigned opts = 0; opts < 16; opts++) {
        for (unsigned syn = 0; syn < 2; syn++) {
            uint8_t frame[128], flags = syn ? SEG_SYN : SEG_ACK;
            struct seg_out s = out_seg(flags, (uint8_t)opts, 9, 10);
            uint32_t len = build(frame, &s, false), head = wire_tcp_head_bytes(&s);
            struct seg_in in;
            assert_int_equal(len, TCP4_OFF + head);
            assert_int_equal(parse_all(frame, len, true, &in), DROP_NONE);
            assert_int_equal(in.opts, syn ? opts : opts & SEG_OPT_TS);
            assert_int_equal(in.mss, in.opts & SEG_OPT_MSS ? 1460 : 0);
            assert_int_equal(in.wscale, in.opts & SEG_OPT_WSCALE ? 7 : 0);
            assert_int_equal(in.ts_val, in.opts & SEG_OPT_TS ? 1000 : 0);
            assert_int_equal(in.flags, flags);
        }
    }
}

static void offloaded_checksum_field_holds_the_pseudo_header(void **state)
{
    static const uint8_t text[] = "hello, world!";
    struct seg_out s = out_seg(SEG_PSH | SEG_ACK, SEG_OPT_TS, 0x55667789, 509);
    s.data[0] = text;
    s.data_len[0] = 5;
    s.data[1] = text + 5;
    s.data_len[1] = 8;
    uint8_t frame[128];
    uint32_t len = build(frame, &s, true), want_len;
    uint8_t *want = frame_bytes(FRAME_DATA, &want_len);
    assert_int_equal(len, want_len);
    // What the port does: the ones' complement sum of the segment, field included.
    store_raw16(frame + 50, (uint16_t)~cksum_fold(sum_of(frame + 34, len - 34)));
    assert_memory_equal(frame, want, len);
    free(want);
}

static void random_segments_verify(void **state)
{
    struct rng r = {23};
    uint8_t data[1500], frame[2048];
    fill(data, sizeof(data), 29);
    for (int i = 0; i < 20000; i++) {
        struct seg_out s =
            out_seg(SEG_ACK, i % 2 ? SEG_OPT_TS : 0, (uint32_t)rng_u64(&r), (uint16_t)rng_u64(&r));
        s.key.remote = ip_from_v4((uint32_t)rng_u64(&r));
        s.tos = (uint8_t)rng_u64(&r);
        s.data[0] = data + rng_below(&r, 50);
        s.data[1] = data + rng_below(&r, 50);
        s.data_len[0] = (uint16_t)rng_below(&r, 700);
        s.data_len[1] = (uint16_t)rng_below(&r, 700);
        uint32_t len = build(frame, &s, false);
        struct seg_in in;
        assert_int_equal(parse_all(frame, len, true, &in), DROP_NONE);
        assert_int_equal(in.data_len, s.data_len[0] + s.data_len[1]);
        assert_memory_equal(frame + in.data_off, s.data[0], s.data_len[0]);
        assert_memory_equal(frame + in.data_off + s.data_len[0], s.data[1], s.data_len[1]);
        assert_int_equal(in.wnd, s.wnd);
        assert_int_equal(in.ecn, s.tos & 3);
    }
}

static void echo_reply_is_the_request_turned_round(void **state)
{
    uint32_t len, want_len;
    uint8_t *f = frame_bytes(FRAME_PING, &len), *want = frame_bytes(FRAME_PONG, &want_len);
    struct wire_from from;
    wire_from_init(&from, &mac_a, V4_A);
    uint8_t *with_options = malloc(len + 4);
    memcpy(with_options, f, 34);
    memset(with_options + 34, 1, 4);
    memcpy(with_options + 38, f + 34, len - 34);
    assert_int_equal(wire_build_echo_reply(f, &from, raw32(V4_B), 0x10, 34, len - 34), want_len);
    assert_memory_equal(f, want, want_len);
    assert_int_equal(wire_build_echo_reply(with_options, &from, raw32(V4_B), 0x10, 38, len - 34),
                     want_len);
    assert_memory_equal(with_options, want, want_len);
    free(with_options);
    free(f);
    free(want);
}

static void arp_reply_is_built(void **state)
{
    uint32_t len;
    uint8_t *want = frame_bytes(FRAME_ARP_REPLY, &len), *f = malloc(len);
    wire_build_arp(f, ARP_OP_REPLY, &mac_b, &mac_a, raw32(V4_A), &mac_b, raw32(V4_B));
    assert_memory_equal(f, want, len);
    free(f);
    free(want);
}

// An urgent pointer of all ones carries out of the 32 bits that it shares with the checksum.
static void the_common_check_agrees_with_the_general_one_at_any_urgent_pointer(void **state)
{
    uint8_t f[TCP4_DATA_OFF] = {[12] = 8, [14] = 0x45, [17] = 40, [23] = IP_PROTO_TCP, [46] = 0x50};
    struct wire_ip4 ip;
    struct seg_in s;
    f[35] = f[37] = 1;
    store_raw16(f + 24, (uint16_t)~cksum_fold(cksum_add(0, f + 14, IP4_BYTES)));
    f[52] = f[53] = 0xff;
    for (uint32_t seq = 0; seq <= UINT16_MAX; seq++) {
        store_raw16(f + 38, (uint16_t)seq);
        store_raw16(f + 50, 0xfffe);
        assert_int_equal(wire_parse_ip4(f, sizeof(f), true, &ip), DROP_NONE);
        const bool right = wire_parse_tcp(f, &ip, true, &s) == DROP_NONE;
        assert_int_equal(wire_tcp4_verify(f, TCP_BYTES), right);
        assert_int_equal(wire_ip4_tcp4_right(f, TCP_BYTES), right);
    }
}

// RFC 1122 4.2.3.9: protocol and port unreachable are hard; RFC 1812 5.2.7.1's as Linux has them.
static void each_icmp_error_has_the_kind_that_linux_gives_it(void **state)
{
    static const char kinds[] = "sshhtshhhhhsshhh";  // by the code of destination unreachable
    for (unsigned type = 0; type < 256; type++)
        for (unsigned code = 0; code < 256; code++) {
            const char want = type == 3 && code < 16 ? kinds[code] : 's';
            const enum icmp_kind is = wire_icmp4_kind((uint8_t)type, (uint8_t)code);
            assert_int_equal("sht"[is], want);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_icmp_error_has_the_kind_that_linux_gives_it),
        cmocka_unit_test(sum_is_that_of_rfc_1071_for_every_length_and_alignment),
        cmocka_unit_test(copy_sums_the_same_and_writes_nothing_else),
        cmocka_unit_test(fold_keeps_every_carry),
        cmocka_unit_test(a_sum_is_right_if_it_folds_to_all_ones),
        cmocka_unit_test(update_equals_a_new_sum),
        cmocka_unit_test(syn_with_every_option_is_read),
        cmocka_unit_test(sack_blocks_are_found),
        cmocka_unit_test(sack_blocks_are_linux_s_byte_for_byte_and_read_back),
        cmocka_unit_test(ip_options_are_skipped),
        cmocka_unit_test(fast_parser_agrees_with_the_slow_one),
        cmocka_unit_test(frame_cut_at_any_byte_is_refused_by_both_parsers),
        cmocka_unit_test(padding_behind_the_packet_is_no_payload),
        cmocka_unit_test(lie_in_any_length_field_stays_inside_the_frame),
        cmocka_unit_test(each_fault_has_its_reason),
        cmocka_unit_test(option_lengths_that_lie_are_refused),
        cmocka_unit_test(unknown_and_ill_fitting_options_are_skipped_as_linux_does),
        cmocka_unit_test(window_scale_is_capped_at_14),
        cmocka_unit_test(forty_bytes_hold_at_most_four_sack_blocks),
        cmocka_unit_test(random_options_always_end),
        cmocka_unit_test(arp_is_read_and_every_other_kind_refused),
        cmocka_unit_test(icmp_error_names_the_segment_that_it_is_about),
        cmocka_unit_test(icmp_of_any_length_and_any_quoted_length_stays_inside),
        cmocka_unit_test(syn_ack_is_linux_s_byte_for_byte),
        cmocka_unit_test(data_split_anywhere_makes_the_same_frame),
        cmocka_unit_test(every_choice_of_options_reads_back_as_written),
        cmocka_unit_test(offloaded_checksum_field_holds_the_pseudo_header),
        cmocka_unit_test(random_segments_verify),
        cmocka_unit_test(echo_reply_is_the_request_turned_round),
        cmocka_unit_test(arp_reply_is_built),
        cmocka_unit_test(the_common_check_agrees_with_the_general_one_at_any_urgent_pointer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
