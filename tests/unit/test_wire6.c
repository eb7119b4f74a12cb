// SPDX-License-Identifier: BSD-3-Clause
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>  // wants the four before it
// clang-format on

#include "base/rng.h"
#include "frames.h"
#include "frames6.h"
#include "wire/build6.h"
#include "wire/parse6.h"

static const struct mac_addr mac_a = {{2, 0, 0, 0, 0, 1}}, mac_b = {{2, 0, 0, 0, 0, 2}};
static struct ip_addr A, B;

enum { SEG_IN_BYTES = offsetof(struct seg_in, sack_count) + 1 };  // without the padding behind

static int addresses(void **state)
{
    return ip_parse("2001:db8::1", &A) && ip_parse("2001:db8::2", &B) ? 0 : -1;
}

static enum drop_reason parse(const char *hex, struct wire_ip6 *ip)
{
    uint32_t len;
    uint8_t *f = frame_bytes(hex, &len);
    const enum drop_reason reason = wire_parse_ip6(f, len, ip);
    free(f);
    return reason;
}

// ---- the header and its extensions

static void header_fields_are_what_another_implementation_wrote(void **state)
{
    struct wire_ip6 ip;
    assert_int_equal(parse(FRAME6_GET, &ip), DROP_NONE);
    assert_true(ip_equal(&ip.src, &B));
    assert_true(ip_equal(&ip.dst, &A));
    assert_int_equal(ip.l4_off, 54);
    assert_int_equal(ip.l4_len, 51);
    assert_int_equal(ip.proto, 6);
    assert_int_equal(ip.tos, 2);
    assert_int_equal(ip.hops, 63);
}

static void extension_headers_are_walked_to_what_they_carry(void **state)
{
    struct wire_ip6 ip;
    assert_int_equal(parse(FRAME6_EXT, &ip), DROP_NONE);
    assert_int_equal(ip.l4_off, 54 + 16 + 8 + 8);
    assert_int_equal(ip.l4_len, 23);
    assert_int_equal(ip.proto, 6);
    assert_int_equal(parse(FRAME6_ATOMIC, &ip), DROP_NONE);
    assert_int_equal(ip.l4_off, 62);
    assert_int_equal(ip.l4_len, 23);
    assert_int_equal(parse(FRAME6_FRAGMENT, &ip), DROP_ip6_fragment);
    assert_int_equal(ip.problem_code, WIRE_NO_PROBLEM);
    assert_int_equal(parse(FRAME6_RH0, &ip), DROP_ip6_routing);
    assert_int_equal(ip.problem_code, 0);
    assert_int_equal(ip.problem_at, 42);
    assert_int_equal(parse(FRAME6_SCTP, &ip), DROP_ip6_next_header);
    assert_int_equal(ip.problem_code, 1);
    assert_int_equal(ip.problem_at, 6);
}

// A packet with n bytes behind the IPv6 header, whose first next header is `kind`.
static enum drop_reason with(uint8_t kind, const uint8_t *behind, uint32_t n, struct wire_ip6 *ip)
{
    uint8_t *f = malloc(ETH_BYTES + IP6_BYTES + n);
    struct wire_from6 from;
    wire_from6_init(&from, &mac_b, &B);
    wire_put_eth_ip6(f, &from, wire_mac_word(&mac_a), &A, kind, 0, 64, (uint16_t)n);
    memcpy(f + TCP6_OFF, behind, n);
    const enum drop_reason reason = wire_parse_ip6(f, TCP6_OFF + n, ip);
    free(f);
    return reason;
}

static void extension_headers_have_a_limit_of_number_and_bytes(void **state)
{
    uint8_t chain[8 * 40] = {0};
    struct wire_ip6 ip;
    for (unsigned n = 1; n <= 10; n++) {  // destination options of padding, then UDP
        for (unsigned i = 0; i < n; i++)
            memcpy(chain + 8 * i, (uint8_t[]){i + 1 < n ? 60 : 17, 0, 1, 4, 0, 0, 0, 0}, 8);
        const enum drop_reason want = n <= IP6_EXT_MAX ? DROP_NONE : DROP_ip6_ext_limit;
        assert_int_equal(with(60, chain, 8 * n + 8, &ip), want);
        if (want == DROP_NONE)
            assert_int_equal(ip.l4_off, 54 + 8 * n);
    }
    for (unsigned words = 1; words <= 34; words++) {  // one of 8 * words bytes
        const uint32_t n = words * 8;
        memset(chain, 0, sizeof(chain));
        chain[0] = 17;
        chain[1] = (uint8_t)(words - 1);
        chain[2] = 1;
        chain[3] = (uint8_t)MIN(n - 4, 255u);
        if (n - 4 > 255) {
            chain[2 + 257] = 1;
            chain[3 + 257] = (uint8_t)(n - 4 - 257);
        }
        assert_int_equal(with(60, chain, n + 8, &ip),
                         n <= IP6_EXT_BYTES_MAX ? DROP_NONE : DROP_ip6_ext_limit);
    }
}

static void options_are_walked_with_a_bound_and_none_lies(void **state)
{
    struct wire_ip6 ip;
    // More than the bound of options of one byte each.
    uint8_t pads[24] = {17, 2};
    assert_int_equal(with(60, pads, 24, &ip), DROP_ip6_ext_limit);
    pads[1] = 1;  // 14 of them
    assert_int_equal(with(60, pads, 24, &ip), DROP_NONE);
    uint8_t over[16] = {17, 0, 1, 5};  // past the header, although not past the packet
    assert_int_equal(with(60, over, 16, &ip), DROP_ip6_ext_header);
    assert_int_equal(ip.problem_at, 43);
    uint8_t last[16] = {17, 0, 1, 3, 0, 0, 0, 9};  // no byte left for its length
    assert_int_equal(with(60, last, 16, &ip), DROP_ip6_ext_header);
    // The two upper bits say what an unknown option does (RFC 8200 4.2).
    static const uint8_t kinds[4] = {0x1e, 0x5e, 0x9e, 0xde};
    for (unsigned i = 0; i < 4; i++) {
        uint8_t option[16] = {17, 0, kinds[i], 4};
        assert_int_equal(with(i % 2 ? 60 : 0, option, 16, &ip),
                         i == 0 ? DROP_NONE : DROP_ip6_option);
        assert_int_equal(ip.problem_code, i < 2 ? WIRE_NO_PROBLEM : 2);
        if (i >= 2)
            assert_int_equal(ip.problem_at, 42);
    }
}

static void a_header_that_ends_past_its_packet_is_refused_at_every_length(void **state)
{
    static const char *const frames[] = {FRAME6_EXT, FRAME6_ATOMIC, FRAME6_GET, FRAME6_RH0};
    for (unsigned i = 0; i < ARRAY_LEN(frames); i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(frames[i], &len);
        for (uint32_t n = 0; n < len; n++) {  // the frame ends; then the packet does
            struct wire_ip6 ip;
            uint8_t *cut = frame_copy(f, n);
            assert_int_equal(wire_parse_ip6(cut, n, &ip),
                             n < 54 ? DROP_ip6_short : DROP_ip6_payload_length);
            if (n >= 54) {
                store_be16(cut + 18, (uint16_t)(n - 54));
                const enum drop_reason reason = wire_parse_ip6(cut, n, &ip);
                assert_true(reason == DROP_NONE || reason == DROP_ip6_ext_header ||
                            reason == DROP_ip6_routing);
                if (reason == DROP_NONE)
                    assert_int_equal(ip.l4_off + ip.l4_len, n);
            }
            free(cut);
        }
        free(f);
    }
}

static void hop_by_hop_options_stand_first_or_are_unknown(void **state)
{
    const uint8_t late[24] = {0, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4};
    struct wire_ip6 ip;
    assert_int_equal(with(60, late, 24, &ip), DROP_ip6_next_header);
    assert_int_equal(ip.problem_code, 1);
    assert_int_equal(ip.problem_at, 40);
    assert_int_equal(with(59, late, 24, &ip), DROP_ip6_no_next);
    assert_int_equal(with(59, late, 0, &ip), DROP_ip6_no_next);
    assert_int_equal(ip.problem_code, WIRE_NO_PROBLEM);
}

static void another_version_is_no_ipv6(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME6_GET, &len);
    for (unsigned v = 0; v < 16; v++) {
        struct wire_ip6 ip;
        f[14] = (uint8_t)(v << 4);
        assert_int_equal(wire_parse_ip6(f, len, &ip), v == 6 ? DROP_NONE : DROP_ip6_version);
    }
    free(f);
}

static void a_fragment_of_any_kind_is_told_but_the_atomic_one(void **state)
{
    struct wire_ip6 ip;
    for (uint32_t word = 0; word < 65536; word++) {
        uint8_t f[16] = {17, 0, (uint8_t)(word >> 8), (uint8_t)word};
        const bool atomic = word >> 3 == 0 && (word & 1) == 0;  // bits 1 and 2 are reserved
        const bool beyond = word >> 3 == 0x1fff;                // 8 bytes more than there can be
        assert_int_equal(with(44, f, 16, &ip), atomic   ? DROP_NONE
                                               : beyond ? DROP_fragment_length
                                                        : DROP_ip6_fragment);
        if (atomic || beyond)
            continue;
        assert_int_equal(ip.part_at, word & 0xfff8);
        assert_int_equal(ip.more, word & 1);
        assert_int_equal(ip.l4_len, 8);
    }
}

// ---- TCP, UDP

static enum drop_reason parse_tcp(const uint8_t *f, uint32_t len, struct seg_in *s)
{
    struct wire_ip6 ip;
    memset(s, 0, sizeof(*s));
    const enum drop_reason reason = wire_parse_ip6(f, len, &ip);
    return reason != DROP_NONE ? reason : wire_parse_tcp6(f, &ip, true, s);
}

static void segment_fields_are_what_another_implementation_wrote(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME6_SYN, &len);
    struct seg_in s;
    assert_int_equal(parse_tcp(f, len, &s), DROP_NONE);
    const struct flow_key want = {B, 0, 0, 40000, 80};
    assert_true(flow_key_equal(&s.key, &want));
    assert_int_equal(s.seq, 0x11223344);
    assert_int_equal(s.flags, SEG_SYN);
    assert_int_equal(s.opts, SEG_OPT_MSS | SEG_OPT_SACK_PERM | SEG_OPT_TS | SEG_OPT_WSCALE);
    assert_int_equal(s.mss, 1440);
    assert_int_equal(s.wscale, 7);
    assert_int_equal(s.ts_val, 0x01020304);
    assert_int_equal(s.ecn, 2);
    assert_int_equal(s.tcp_off, 54);
    assert_int_equal(s.data_off, 94);
    assert_int_equal(s.data_len, 0);
    free(f);
    f = frame_bytes(FRAME6_EXT, &len);
    assert_int_equal(parse_tcp(f, len, &s), DROP_NONE);
    assert_int_equal(s.data_len, 3);
    assert_memory_equal(f + s.data_off, "xyz", 3);
    free(f);
}

// Each bit of the addresses, the TCP header and the payload is under the checksum.
static void any_bit_that_flips_fails_the_tcp_checksum(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME6_GET, &len);
    for (uint32_t bit = 22 * 8; bit < len * 8; bit++) {
        struct seg_in s;
        if (bit / 8 == 54 + 12 && bit % 8 >= 4)
            continue;  // the data offset: another reason
        f[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(parse_tcp(f, len, &s), DROP_tcp_checksum);
        assert_false(wire_tcp6_right(f, len - 54));
        f[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(wire_tcp6_right(f, len - 54));
    free(f);
}

// fast: what the fast parser says of the frame, for address A.
static bool fast(const uint8_t *f, uint32_t len, struct seg_in *s)
{
    struct wire_common6 c;
    wire_common6_init(&c, &mac_a, &A);
    memset(s, 0, sizeof(*s));
    return len >= TCP6_DATA_OFF && wire_is_common6(f, &c) &&
           wire_parse_tcp6_fast(f, len, 0, 0, s) &&
           wire_tcp6_right(f, (uint32_t)s->data_off + s->data_len - TCP6_OFF);
}

static void the_fast_parser_takes_the_common_segment_and_says_the_same(void **state)
{
    static const struct {
        const char *hex;
        bool taken;
    } rows[] = {{FRAME6_GET, true},   {FRAME6_ACK, true},     {FRAME6_SYN, true},
                {FRAME6_SACK, false}, {FRAME6_EXT, false},    {FRAME6_UDP, false},
                {FRAME6_PING, false}, {FRAME6_ATOMIC, false}, {FRAME6_DATA, false}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(rows[i].hex, &len);
        struct seg_in a, b;
        assert_int_equal(fast(f, len, &a), rows[i].taken);
        if (rows[i].taken) {
            assert_int_equal(parse_tcp(f, len, &b), DROP_NONE);
            assert_memory_equal(&a, &b, SEG_IN_BYTES);
        }
        free(f);
    }
}

static void the_fast_parser_takes_what_the_headers_and_the_frame_hold(void **state)
{
    static const char *const frames[] = {FRAME6_GET, FRAME6_ACK};
    for (unsigned i = 0; i < 2; i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(frames[i], &len);
        const uint32_t head = i == 0 ? 32 : 20;
        for (uint32_t payload = 0; payload <= 65535; payload++) {
            struct seg_in s;
            store_be16(f + 18, (uint16_t)payload);
            const bool fits = payload >= head && payload <= len - 54;
            assert_int_equal(wire_parse_tcp6_fast(f, len, 0, 0, &s), fits ? payload : 0);
            if (fits)
                assert_int_equal(s.data_len, payload - head);
        }
        free(f);
    }
}

static void where_the_fast_parser_takes_a_mutation_the_slow_one_agrees(void **state)
{
    struct rng r = {11};
    unsigned taken = 0;
    for (unsigned i = 0; i < 100000; i++) {
        uint32_t len;
        static const char *const frames[] = {FRAME6_GET, FRAME6_ACK, FRAME6_SYN};
        uint8_t *f = frame_bytes(frames[i % 3], &len);
        const unsigned flips = 1 + (unsigned)(rng_u64(&r) % 3);
        for (unsigned k = 0; k < flips; k++) {
            const uint64_t at = rng_u64(&r);
            f[at % len] ^= (uint8_t)(1 << (at >> 32) % 8);
        }
        if (rng_u64(&r) % 2 != 0) {  // the checksum right again
            store_be16(f + 54 + 16, 0);
            struct ip_addr src, dst;
            memcpy(src.b, f + 22, 16);
            memcpy(dst.b, f + 38, 16);
            const uint16_t n = MIN(load_be16(f + 18), (uint16_t)(len - 54));
            store_raw16(f + 54 + 16, (uint16_t)~cksum_fold(
                                         cksum_add(cksum_pseudo6(&src, &dst, 6, n), f + 54, n)));
        }
        struct seg_in a, b;
        if (fast(f, len, &a)) {
            taken++;
            assert_int_equal(parse_tcp(f, len, &b), DROP_NONE);
            assert_memory_equal(&a, &b, SEG_IN_BYTES);
        }
        free(f);
    }
    assert_in_range(taken, 2000, 100000);
}

static void a_frame_for_another_mac_or_address_is_not_common(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME6_GET, &len);
    struct wire_common6 c;
    wire_common6_init(&c, &mac_a, &A);
    for (uint32_t bit = 0; bit < 54 * 8; bit++) {
        const uint32_t at = bit / 8;
        const bool matters =
            at < 6 || (at >= 12 && at < 14) || (at == 14 && bit % 8 >= 4) || at == 20 || at >= 38;
        f[at] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(wire_is_common6(f, &c), !matters);
        f[at] ^= (uint8_t)(1 << bit % 8);
    }
    free(f);
}

static enum drop_reason parse_udp(const uint8_t *f, uint32_t len, struct wire_udp *m)
{
    struct wire_ip6 ip;
    const enum drop_reason reason = wire_parse_ip6(f, len, &ip);
    return reason != DROP_NONE ? reason : wire_parse_udp6(f, &ip, true, m);
}

static void a_datagram_needs_its_checksum(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME6_UDP, &len);
    struct wire_udp m;
    assert_int_equal(parse_udp(f, len, &m), DROP_NONE);
    assert_int_equal(m.src_port, 5000);
    assert_int_equal(m.dst_port, 7);
    assert_int_equal(m.data_len, 5);
    assert_memory_equal(f + m.data_off, "hello", 5);
    f[len - 1] ^= 1;
    assert_int_equal(parse_udp(f, len, &m), DROP_udp_checksum);
    store_be16(f + 60, 0);
    assert_int_equal(parse_udp(f, len, &m), DROP_udp6_no_checksum);
    for (uint16_t n = 0; n < 20; n++) {
        store_be16(f + 58, n);
        assert_int_equal(parse_udp(f, len, &m) == DROP_udp_length, n < 8 || n > 13);
    }
    store_be16(f + 18, 7);
    assert_int_equal(parse_udp(f, len, &m), DROP_udp_length);
    free(f);
}

// ---- ICMPv6

static enum drop_reason parse_icmp(const uint8_t *f, uint32_t len, struct wire_icmp6 *m)
{
    struct wire_ip6 ip;
    const enum drop_reason reason = wire_parse_ip6(f, len, &ip);
    return reason != DROP_NONE ? reason : wire_parse_icmp6(f, &ip, m);
}

static void errors_name_the_segment_that_they_quote(void **state)
{
    static const struct {
        const char *hex;
        uint8_t type, code;
        uint32_t mtu;
    } rows[] = {{FRAME6_TOO_BIG, 2, 0, 1400},
                {FRAME6_UNREACHABLE, 1, 4, 0},
                {FRAME6_TIME, 3, 0, 0},
                {FRAME6_PARAMETER, 4, 1, 6}};
    struct ip_addr far;
    assert_true(ip_parse("2001:db8:9::9", &far));
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(rows[i].hex, &len);
        struct wire_icmp6 m;
        assert_int_equal(parse_icmp(f, len, &m), DROP_NONE);
        assert_int_equal(m.type, rows[i].type);
        assert_int_equal(m.code, rows[i].code);
        assert_int_equal(m.mtu, rows[i].mtu);
        assert_true(m.has_tcp);
        assert_true(ip_equal(&m.src, &A));
        assert_true(ip_equal(&m.dst, &far));
        assert_int_equal(m.src_port, 80);
        assert_int_equal(m.dst_port, 40001);
        assert_int_equal(m.seq, 0xdeadbeef);
        for (uint32_t bit = 54 * 8; bit < len * 8; bit++) {
            f[bit / 8] ^= (uint8_t)(1 << bit % 8);
            assert_int_equal(parse_icmp(f, len, &m), DROP_icmp6_checksum);
            f[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        free(f);
    }
}

static void put_sum(uint8_t *f, uint32_t off, uint32_t n)
{
    struct ip_addr src, dst;
    memcpy(src.b, f + 22, 16);
    memcpy(dst.b, f + 38, 16);
    store_be16(f + off + 2, 0);
    store_raw16(f + off + 2, (uint16_t)~cksum_fold(cksum_add(
                                 cksum_pseudo6(&src, &dst, 58, (uint16_t)n), f + off, n)));
}

static void an_error_that_quotes_too_little_is_malformed_at_every_length(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME6_UNREACHABLE, &len);
    struct wire_icmp6 m;
    for (uint32_t n = 0; n <= len - 54; n++) {
        uint8_t *cut = frame_copy(f, 54 + n);
        store_be16(cut + 18, (uint16_t)n);
        if (n >= 4)
            put_sum(cut, 54, n);
        assert_int_equal(parse_icmp(cut, 54 + n, &m),
                         n < 8 + 40 + 8 ? DROP_icmp6_malformed : DROP_NONE);
        free(cut);
    }
    f[62] = 0x45;  // it quotes no IPv6
    put_sum(f, 54, len - 54);
    assert_int_equal(parse_icmp(f, len, &m), DROP_icmp6_malformed);
    f[62] = 0x60;
    f[62 + 6] = 17;  // no TCP
    put_sum(f, 54, len - 54);
    assert_int_equal(parse_icmp(f, len, &m), DROP_NONE);
    assert_false(m.has_tcp);
    free(f);
}

static void each_icmp6_error_has_its_kind(void **state)
{
    for (unsigned type = 0; type < 256; type++)
        for (unsigned code = 0; code < 256; code++) {
            char want = 's';
            if (type == 2)
                want = 't';
            else if (type == 4 || (type == 1 && (code == 1 || code == 4 || code == 5 || code == 6)))
                want = 'h';
            assert_int_equal("sht"[wire_icmp6_kind((uint8_t)type, (uint8_t)code)], want);
        }
}

// ---- neighbor discovery

static enum drop_reason parse_nd(const uint8_t *f, uint32_t len, struct wire_nd *m)
{
    struct wire_ip6 ip;
    struct wire_icmp6 icmp;
    enum drop_reason reason = wire_parse_ip6(f, len, &ip);
    if (reason == DROP_NONE)
        reason = wire_parse_icmp6(f, &ip, &icmp);
    return reason != DROP_NONE ? reason : wire_parse_nd(f, &ip, m);
}

static void solicitations_and_advertisements_are_read(void **state)
{
    uint32_t len;
    struct wire_nd m;
    uint8_t *f = frame_bytes(FRAME6_SOLICIT, &len);
    assert_int_equal(parse_nd(f, len, &m), DROP_NONE);
    assert_int_equal(m.type, 135);
    assert_true(ip_equal(&m.target, &A));
    assert_true(m.has_lla);
    assert_memory_equal(m.lla.b, mac_b.b, 6);
    free(f);
    f = frame_bytes(FRAME6_TOLD, &len);
    assert_int_equal(parse_nd(f, len, &m), DROP_NONE);
    assert_int_equal(m.type, 136);
    assert_int_equal(m.flags, ND_SOLICITED | ND_OVERRIDE);
    assert_true(ip_equal(&m.target, &B));
    assert_memory_equal(m.lla.b, mac_b.b, 6);
    free(f);
    f = frame_bytes(FRAME6_PROBE, &len);
    assert_int_equal(parse_nd(f, len, &m), DROP_NONE);
    assert_false(m.has_lla);
    free(f);
}

// changed: what a frame is after one byte was set and the checksum put right.
static enum drop_reason changed(const char *hex, uint32_t at, uint8_t to)
{
    uint32_t len;
    struct wire_nd m;
    uint8_t *f = frame_bytes(hex, &len);
    f[at] = to;
    put_sum(f, 54, len - 54);
    const enum drop_reason reason = parse_nd(f, len, &m);
    free(f);
    return reason;
}

static void what_rfc_4861_7_1_refuses_is_refused(void **state)
{
    for (unsigned hops = 0; hops < 255; hops++)
        assert_int_equal(changed(FRAME6_SOLICIT, 21, (uint8_t)hops), DROP_nd_hops);
    assert_int_equal(changed(FRAME6_SOLICIT, 55, 1), DROP_nd_malformed);     // code
    assert_int_equal(changed(FRAME6_SOLICIT, 62, 0xff), DROP_nd_malformed);  // target: a group
    assert_int_equal(changed(FRAME6_SOLICIT, 79, 0), DROP_nd_malformed);     // option of length 0
    assert_int_equal(changed(FRAME6_SOLICIT, 79, 2), DROP_nd_malformed);     // past the message
    assert_int_equal(changed(FRAME6_SOLICIT, 78, 14), DROP_NONE);            // a nonce is skipped
    assert_int_equal(changed(FRAME6_PROBE, 53, 2), DROP_nd_malformed);  // not to the target's group
    assert_int_equal(changed(FRAME6_PROBE_ANSWER, 58, 0x60),
                     DROP_nd_malformed);                         // group, solicited
    assert_int_equal(changed(FRAME6_ADVERT, 78, 1), DROP_NONE);  // no target option: none
    uint32_t len;
    struct wire_nd m;
    uint8_t *f = frame_bytes(FRAME6_SOLICIT, &len);
    memset(f + 22, 0, 16);  // without a source, with its option
    put_sum(f, 54, len - 54);
    assert_int_equal(parse_nd(f, len, &m), DROP_nd_malformed);
    for (uint32_t n = 8; n < len - 54; n++) {
        uint8_t *cut = frame_copy(f, 54 + n);
        memcpy(cut + 22, B.b, 16);
        store_be16(cut + 18, (uint16_t)n);
        put_sum(cut, 54, n);
        assert_int_equal(parse_nd(cut, 54 + n, &m), n == 24 ? DROP_NONE : DROP_nd_malformed);
        free(cut);
    }
    free(f);
}

static void options_of_discovery_have_a_bound_and_the_first_address_counts(void **state)
{
    for (unsigned n = 1; n <= 20; n++) {
        uint8_t f[ND_FRAME_BYTES + 8 * 20];
        uint32_t len;
        uint8_t *bare = frame_bytes(FRAME6_SOLICIT_BARE, &len);
        struct wire_nd m;
        memcpy(f, bare, len);
        free(bare);
        for (unsigned i = 0; i < n; i++)
            memcpy(f + len + 8 * i, (uint8_t[]){1, 1, 2, 0, 0, 0, 0, (uint8_t)(i + 1)}, 8);
        len += 8 * n;
        store_be16(f + 18, (uint16_t)(len - 54));
        put_sum(f, 54, len - 54);
        assert_int_equal(parse_nd(f, len, &m), n <= ND_OPTIONS_MAX ? DROP_NONE : DROP_nd_malformed);
        if (n <= ND_OPTIONS_MAX)
            assert_int_equal(m.lla.b[5], 1);
    }
}

static void a_general_query_of_a_router_is_one(void **state)
{
    static const struct {
        uint32_t at;
        uint8_t to;
        bool is;
    } rows[] = {
        {18, 0, true}, {21, 2, false}, {21, 255, false}, {22, 0x20, false}, {70, 0xff, false}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(FRAME6_MLD_QUERY, &len);
        struct wire_ip6 ip;
        f[rows[i].at] = rows[i].to;
        assert_int_equal(wire_parse_ip6(f, len, &ip), DROP_NONE);
        assert_int_equal(wire_is_mld_query(f, &ip), rows[i].is);
        free(f);
    }
}

// ---- what leaves

static struct wire_from6 from_of(const struct ip_addr *a)
{
    struct wire_from6 from;
    wire_from6_init(&from, &mac_a, a);
    return from;
}

static void expect_frame(const uint8_t *f, uint32_t len, const char *hex)
{
    uint32_t want_len;
    uint8_t *want = frame_bytes(hex, &want_len);
    assert_int_equal(len, want_len);
    assert_memory_equal(f, want, len);
    free(want);
}

static struct seg_out answer(void)
{
    struct seg_out s = {.seq = 0x55667788,
                        .ack = 0x11223345,
                        .wnd = 65160,
                        .mss = 1440,
                        .wscale = 7,
                        .flags = SEG_SYN | SEG_ACK};
    s.opts = SEG_OPT_MSS | SEG_OPT_SACK_PERM | SEG_OPT_WSCALE;
    s.key = (struct flow_key){B, 0, 0, 40000, 80};
    return s;
}

static void segments_are_byte_for_byte_another_implementations(void **state)
{
    static uint8_t f[2048];
    const struct wire_from6 from = from_of(&A);
    const uint64_t to = wire_mac_word(&mac_b);
    struct seg_out s = answer();
    uint32_t len = wire_build_tcp6(f, &from, to, &s, wire_tcp_head_bytes(&s), WIRE_ANY, false);
    expect_frame(f, len, FRAME6_SYNACK);
    s.opts |= SEG_OPT_TS;
    s.ts_val = 1000;
    s.ts_ecr = 0x01020304;
    len = wire_build_tcp6(f, &from, to, &s, wire_tcp_head_bytes(&s), WIRE_ANY, false);
    expect_frame(f, len, FRAME6_SYNACK_TS);
    s.seq++;
    s.wnd = 509;
    s.flags = SEG_PSH | SEG_ACK;
    s.opts = SEG_OPT_TS;
    s.tos = 2;
    for (uint16_t cut = 0; cut < 13; cut++) {  // in two ranges
        s.data[0] = (const uint8_t *)"hello, world!";
        s.data[1] = s.data[0] + (cut != 0 ? cut : 13);
        s.data_len[0] = cut != 0 ? cut : 13;
        s.data_len[1] = (uint16_t)(13 - s.data_len[0]);
        len = wire_build_tcp6(f, &from, to, &s, 32, WIRE_TS, false);
        expect_frame(f, len, FRAME6_DATA);
    }
}

// The port goes on from the pseudo header's sum.
static void an_offloaded_checksum_is_the_pseudo_headers(void **state)
{
    static uint8_t f[2048];
    const struct wire_from6 from = from_of(&A);
    struct seg_out s = answer();
    s.flags = SEG_ACK;
    s.opts = 0;
    s.data[0] = (const uint8_t *)"hello, world!";
    s.data_len[0] = 13;
    const uint32_t len = wire_build_tcp6(f, &from, wire_mac_word(&mac_b), &s, 20, WIRE_PLAIN, true);
    assert_int_equal(len, 54 + 33);
    assert_false(wire_tcp6_right(f, 33));
    store_raw16(f + 70, (uint16_t)~cksum_fold(cksum_add(0, f + 54, 33)));
    assert_true(wire_tcp6_right(f, 33));
}

static void the_headers_of_a_large_segment_are_what_the_port_wants(void **state)
{
    static uint8_t f[128];
    static const uint8_t data[30000];
    const struct wire_from6 from = from_of(&A);
    struct seg_out s = answer();
    s.flags = SEG_ACK;
    s.opts = 0;
    s.data[0] = s.data[1] = data;
    s.data_len[0] = 30000;
    s.data_len[1] = 5000;
    wire_build_tso6(f, &from, wire_mac_word(&mac_b), &s, 20);
    assert_int_equal(load_be16(f + 18), 35020);
    uint64_t sum = 0;  // addresses and protocol, no length
    sum = cksum_add(sum, f + 22, 32);
    sum = cksum_plus(sum, __builtin_bswap16(6));
    assert_int_equal(load_raw16(f + 70), cksum_fold(sum));
}

static void every_class_of_traffic_and_length_comes_back(void **state)
{
    struct rng r = {3};
    static uint8_t f[2100], data[1400];
    for (unsigned i = 0; i < 3000; i++) {
        struct wire_from6 from;
        struct seg_out s = {.flags = SEG_ACK, .tos = (uint8_t)i};
        struct seg_in in;
        struct ip_addr src;
        for (unsigned k = 0; k < 16; k++) {
            src.b[k] = (uint8_t)rng_u64(&r);
            s.key.remote.b[k] = (uint8_t)rng_u64(&r);
        }
        src.b[0] = s.key.remote.b[0] = 0x20;
        for (unsigned k = 0; k < sizeof(data); k++)
            data[k] = (uint8_t)(rng_u64(&r) & (i % 3 == 0 ? 0xff : 0));
        wire_from6_init(&from, &mac_a, &src);
        s.key.remote_port = (uint16_t)(rng_u64(&r) | 1);
        s.key.local_port = 80;
        s.seq = (uint32_t)rng_u64(&r);
        s.ack = (uint32_t)rng_u64(&r);
        s.wnd = (uint16_t)rng_u64(&r);
        s.opts = i & 1 ? SEG_OPT_TS : 0;
        s.data[0] = data;
        s.data_len[0] = (uint16_t)(rng_u64(&r) % 1400);
        const uint32_t head = wire_tcp_head_bytes(&s);
        const uint32_t len =
            wire_build_tcp6(f, &from, 1, &s, head, i & 1 ? WIRE_TS : WIRE_PLAIN, false);
        struct wire_ip6 ip;
        assert_int_equal(wire_parse_ip6(f, len, &ip), DROP_NONE);
        assert_int_equal(ip.tos, (uint8_t)i);
        assert_true(ip_equal(&ip.dst, &s.key.remote));
        assert_int_equal(wire_parse_tcp6(f, &ip, true, &in), DROP_NONE);
        assert_int_equal(in.ecn, i & 3);
        assert_int_equal(in.seq, s.seq);
        assert_int_equal(in.ack, s.ack);
        assert_int_equal(in.wnd, s.wnd);
        assert_int_equal(in.data_len, s.data_len[0]);
        assert_true(ip_equal(&in.key.remote, &src));
        assert_int_equal(in.key.local_port, s.key.remote_port);
        assert_true(wire_tcp6_right(f, len - 54));
    }
}

static void messages_are_byte_for_byte_another_implementations(void **state)
{
    static uint8_t f[2048];
    const struct wire_from6 from = from_of(&A);
    const uint64_t to = wire_mac_word(&mac_b);
    struct wire_ip6 ip;
    uint32_t len, n;
    uint8_t *in = frame_bytes(FRAME6_PING, &len);
    memcpy(f, in, len);
    assert_int_equal(wire_parse_ip6(f, len, &ip), DROP_NONE);
    expect_frame(f, wire_build_echo_reply6(f, &from, &ip), FRAME6_PONG);
    free(in);
    memcpy(f + UDP6_DATA_OFF, "world!", 6);
    expect_frame(f, wire_build_udp6(f, &from, to, &B, 7, 5000, 6), FRAME6_UDP_ANSWER);
    in = frame_bytes(FRAME6_UDP, &len);
    n = wire_build_error6(f, &from, to, &B, 1, 4, 0, in + 14, len - 14);
    expect_frame(f, n, FRAME6_UDP_NO_PORT);
    free(in);
    in = frame_bytes(FRAME6_SCTP, &len);
    n = wire_build_error6(f, &from, to, &B, 4, 1, 6, in + 14, len - 14);
    expect_frame(f, n, FRAME6_SCTP_ANSWER);
    free(in);
}

static void discovery_is_byte_for_byte_another_implementations(void **state)
{
    static uint8_t f[2048];
    struct ip_addr own, addrs[4];
    assert_true(ip_parse("fe80::ff:fe00:1", &own));
    const struct wire_from6 from = from_of(&A), link = from_of(&own);
    const struct ip_addr all = ip6_all_nodes();
    const struct mac_addr all_mac = ip6_group_mac(&all);
    wire_build_advert(f, &from, &mac_a, &B, &mac_b, ND_SOLICITED | ND_OVERRIDE);
    expect_frame(f, ND_FRAME_BYTES, FRAME6_ADVERT);
    wire_build_advert(f, &from, &mac_a, &all, &all_mac, ND_OVERRIDE);
    expect_frame(f, ND_FRAME_BYTES, FRAME6_PROBE_ANSWER);
    expect_frame(f, wire_build_solicit(f, &link, &mac_a, &B, NULL, false), FRAME6_ASK);
    expect_frame(f, wire_build_solicit(f, &link, &mac_a, &B, &mac_b, false), FRAME6_ASK_UNICAST);
    expect_frame(f, wire_build_solicit(f, &from, &mac_a, &A, NULL, true), FRAME6_OWN_PROBE);
    addrs[0] = A;
    addrs[1] = own;  // the same group
    assert_true(ip_parse("2001:db8:5::99", &addrs[2]));
    addrs[3] = A;
    struct wire_mld say = {.addrs = addrs, .n_addrs = 4, .kind = MLD_TO_EXCLUDE};
    expect_frame(f, wire_build_mld_report(f, &link, &say), FRAME6_MLD_REPORT);
    say.kind = MLD_IS_EXCLUDE;
    expect_frame(f, wire_build_mld_report(f, &link, &say), FRAME6_MLD_ANSWER);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(header_fields_are_what_another_implementation_wrote),
        T(extension_headers_are_walked_to_what_they_carry),
        T(extension_headers_have_a_limit_of_number_and_bytes),
        T(options_are_walked_with_a_bound_and_none_lies),
        T(a_header_that_ends_past_its_packet_is_refused_at_every_length),
        T(hop_by_hop_options_stand_first_or_are_unknown),
        T(another_version_is_no_ipv6),
        T(a_fragment_of_any_kind_is_told_but_the_atomic_one),
        T(segment_fields_are_what_another_implementation_wrote),
        T(any_bit_that_flips_fails_the_tcp_checksum),
        T(the_fast_parser_takes_the_common_segment_and_says_the_same),
        T(the_fast_parser_takes_what_the_headers_and_the_frame_hold),
        T(where_the_fast_parser_takes_a_mutation_the_slow_one_agrees),
        T(a_frame_for_another_mac_or_address_is_not_common),
        T(a_datagram_needs_its_checksum),
        T(errors_name_the_segment_that_they_quote),
        T(an_error_that_quotes_too_little_is_malformed_at_every_length),
        T(each_icmp6_error_has_its_kind),
        T(solicitations_and_advertisements_are_read),
        T(what_rfc_4861_7_1_refuses_is_refused),
        T(options_of_discovery_have_a_bound_and_the_first_address_counts),
        T(a_general_query_of_a_router_is_one),
        T(segments_are_byte_for_byte_another_implementations),
        T(an_offloaded_checksum_is_the_pseudo_headers),
        T(the_headers_of_a_large_segment_are_what_the_port_wants),
        T(every_class_of_traffic_and_length_comes_back),
        T(messages_are_byte_for_byte_another_implementations),
        T(discovery_is_byte_for_byte_another_implementations),
    };
    return cmocka_run_group_tests(tests, addresses, NULL);
}
