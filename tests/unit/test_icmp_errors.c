// SPDX-License-Identifier: BSD-3-Clause
// Which packets are answered by an ICMP error, and which must not be (RFC 1122 3.2.2, RFC 4443 2.4
// e): every combination of what the packet is, what stands before it, whom it was sent to and from.
// The oracle below knows the rules by the RFCs' words and nothing of the parsers.
#include "frames.h"
#include "net/net.h"
#include "pkt_env.h"
#include "wire/parse6.h"

enum { POOL_PKTS = 2047, TX_ROOM = 64, CHAIN_MAX = 3, FRAME_MAX = 256 };

static const struct mac_addr ours = {{2, 0, 0, 0, 0, 1}}, theirs = {{2, 0, 0, 0, 0, 2}},
                             group6 = {{0x33, 0x33, 0, 0, 0, 1}},
                             all = {{255, 255, 255, 255, 255, 255}};
static struct pkt_pool *pool;
static struct core_stats stats;
static struct net *net;
static struct pkt *tx_pkts[TX_ROOM];
static struct net_tx tx;
static struct net_rx rx;
static struct clock_now now;

static struct ip_addr ip(const char *text)
{
    struct ip_addr a;
    if (!ip_parse(text, &a))
        fail_msg("%s is no address", text);
    return a;
}

static int setup(void **state)
{
    struct net_config c;
    struct err e = {.text = ""};
    net_config_default(&c);
    c.mac = ours;
    c.n_locals = 2;
    c.locals[0] = (struct net_local){ip("10.0.0.1"), 24};
    c.locals[1] = (struct net_local){ip("2001:db8::1"), 64};
    c.gateway = 0x0a0000fe;
    c.gateway6 = ip("2001:db8::fe");
    net = net_init(aligned_alloc(CACHE_LINE, net_footprint(&c)), &c, pool, &stats, &e);
    if (net == NULL)
        fail_msg("%s", e.text);
    tx = (struct net_tx){tx_pkts, 0, TX_ROOM};
    now = clock_at_us(1000000);
    return 0;
}

static void tx_clear(void)
{
    for (uint32_t i = 0; i < tx.n; i++)
        pkt_free(tx.pkts[i]);
    tx.n = 0;
}

static int teardown(void **state)
{
    tx_clear();
    net_drain(net);
    free(net);
    return 0;
}

// give: long after the one before, so that no rate stands in the way.
static void give(const uint8_t *frame, uint32_t len)
{
    struct pkt *p = pkt_of(pool, 0, len);
    memcpy(pkt_data(p), frame, len);
    p->m.ol_flags = 0;
    tx_clear();
    now = clock_at_us(now.us + 2000000);
    net_input(net, now, &p, 1, &rx, &tx);
    if (p != NULL)
        pkt_free(p);
}

// answer: what came back: nothing (0, 0, 0), an error or an echo reply, of which only the type
// counts.
struct answer {
    uint8_t type, code;
    uint32_t value;
};

// ---- IPv6

enum element {
    HOPS_FINE,
    HOPS_DISCARD,
    HOPS_TELL,
    HOPS_TELL_ONE,
    OPTIONS_FINE,
    OPTIONS_DISCARD,
    OPTIONS_TELL,
    OPTIONS_TELL_ONE,
    OPTIONS_LONG,  // one that ends past its header
    ROUTING_DONE,
    ROUTING_LEFT,
    ATOMIC,
    LATER_PART,  // a fragment that is not the first one
    AUTHENTICATION,
    ELEMENTS
};

static const uint8_t kinds6[] = {
    [HOPS_FINE] = 0,     [HOPS_DISCARD] = 0,     [HOPS_TELL] = 0,     [HOPS_TELL_ONE] = 0,
    [OPTIONS_FINE] = 60, [OPTIONS_DISCARD] = 60, [OPTIONS_TELL] = 60, [OPTIONS_TELL_ONE] = 60,
    [OPTIONS_LONG] = 60, [ROUTING_DONE] = 43,    [ROUTING_LEFT] = 43, [ATOMIC] = 44,
    [LATER_PART] = 44,   [AUTHENTICATION] = 51};

// Eight bytes each but the first one, the next header.
static const uint8_t bodies6[][7] = {[HOPS_FINE] = {0, 1, 4},
                                     [HOPS_DISCARD] = {0, 0x41, 4},
                                     [HOPS_TELL] = {0, 0x81, 4},
                                     [HOPS_TELL_ONE] = {0, 0xc1, 4},
                                     [OPTIONS_FINE] = {0, 1, 4},
                                     [OPTIONS_DISCARD] = {0, 0x41, 4},
                                     [OPTIONS_TELL] = {0, 0x81, 4},
                                     [OPTIONS_TELL_ONE] = {0, 0xc1, 4},
                                     [OPTIONS_LONG] = {0, 1, 9},
                                     [ROUTING_DONE] = {0, 0, 0},
                                     [ROUTING_LEFT] = {0, 0, 1},
                                     [ATOMIC] = {0, 0, 0, 1, 2, 3, 4},
                                     [LATER_PART] = {0, 1, 0, 1, 2, 3, 4},
                                     [AUTHENTICATION] = {0}};

struct kind6 {
    const char *name;
    uint8_t proto, type;
};

static const struct kind6 packets6[] = {
    {"unreachable", 58, 1},
    {"too big", 58, 2},
    {"time exceeded", 58, 3},
    {"parameter", 58, 4},
    {"private error", 58, 100},
    {"last error", 58, 127},
    {"redirect", 58, 137},
    {"echo", 58, 128},
    {"echo reply", 58, 129},
    {"unknown query", 58, 200},
    {"UDP", 17, 0},
    {"SCTP", 132, 0},
    {"nothing", 59, 0},
};

struct to6 {
    const char *addr;
    bool in_group_frame, is_ours, is_group;
};

static const struct to6 to6[] = {
    {"2001:db8::1", false, true, false},   {"fe80::ff:fe00:1", false, true, false},
    {"2001:db8::1", true, false, false},   {"ff02::1", true, true, true},
    {"ff02::1:ff00:1", true, true, true},  {"ff02::77", true, false, true},
    {"2001:db8::77", false, false, false}, {"ff02::1", false, true, true},
};

struct from6 {
    const char *addr;
    bool is_one;
};

static const struct from6 from6[] = {{"2001:db8::2", true},   {"fe80::2", true},
                                     {"2001:db8:9::9", true}, {"::", false},
                                     {"ff02::1", false},      {"2001:db8::1", false}};

static uint32_t put_upper(uint8_t *at, const struct kind6 *k, const struct ip_addr *src,
                          const struct ip_addr *dst)
{
    enum { BYTES = 56 };
    memset(at, 0, BYTES);
    if (k->proto == 17) {
        store_be16(at, 5000);
        store_be16(at + 2, 9999);
        store_be16(at + 4, BYTES);
    } else if (k->proto == 58) {
        at[0] = k->type;
        store_be32(at + 4, 1280);
        at[8] = 0x60;
    } else {
        return 8;
    }
    const uint64_t pseudo = cksum_pseudo6(src, dst, k->proto, BYTES);
    store_raw16(at + (k->proto == 17 ? 6 : 2), (uint16_t)~cksum_fold(cksum_add(pseudo, at, BYTES)));
    return BYTES;
}

static uint32_t make6(uint8_t *f, const uint8_t *chain, uint32_t n, const struct kind6 *k,
                      const struct to6 *to, const struct from6 *from)
{
    const struct ip_addr src = ip(from->addr), dst = ip(to->addr);
    uint8_t *ip6 = f + ETH_BYTES, *next = ip6 + 6, *at = ip6 + IP6_BYTES;
    memcpy(f, to->in_group_frame ? group6.b : ours.b, 6);
    memcpy(f + 6, theirs.b, 6);
    store_be16(f + 12, ETH_TYPE_IP6);
    memset(ip6, 0, IP6_BYTES);
    ip6[0] = 0x60;
    ip6[7] = 64;
    memcpy(ip6 + 8, src.b, 16);
    memcpy(ip6 + 24, dst.b, 16);
    for (uint32_t i = 0; i < n; i++, at += 8) {
        *next = kinds6[chain[i]];
        next = at;
        memcpy(at + 1, bodies6[chain[i]], 7);
    }
    *next = k->proto;
    at += put_upper(at, k, &src, &dst);
    store_be16(ip6 + 4, (uint16_t)(at - ip6 - IP6_BYTES));
    return (uint32_t)(at - f);
}

static bool is_error6(const struct kind6 *k)
{
    return k->proto == 58 && (k->type < 128 || k->type == 137);
}

// May what stands behind element `i` be an ICMPv6 error, as far as one can read? In a later part of
// a datagram the headers behind the fragment header cannot be read.
static bool may_hide_error(const uint8_t *chain, uint32_t n, uint32_t i, const struct kind6 *k)
{
    for (; i < n; i++)
        if (chain[i] == LATER_PART)
            return i + 1 < n || k->proto == 58;
    return is_error6(k);
}

// What is wrong with element i of a chain (RFC 8200 4): {0}: nothing; code 255: it ends in silence.
// *to_group: a group's packet is answered as well.
static struct answer fault_of(const uint8_t *chain, uint32_t i, bool *to_group)
{
    enum { SILENT = 255 };
    const uint32_t at = IP6_BYTES + 8 * i, named_at = i == 0 ? 6 : at - 8;
    const uint8_t e = chain[i];
    *to_group = false;
    if ((kinds6[e] == 0 && i != 0) || e == AUTHENTICATION)
        return (struct answer){4, 1, named_at};
    switch (e) {
    case HOPS_DISCARD:
    case OPTIONS_DISCARD:
    case LATER_PART:
        return (struct answer){4, SILENT, 0};
    case HOPS_TELL:
    case OPTIONS_TELL:
        *to_group = true;
        return (struct answer){4, 2, at + 2};
    case HOPS_TELL_ONE:
    case OPTIONS_TELL_ONE:
        return (struct answer){4, 2, at + 2};
    case OPTIONS_LONG:
        return (struct answer){4, 0, at + 3};
    case ROUTING_LEFT:
        return (struct answer){4, 0, at + 2};
    default:
        return (struct answer){0};
    }
}

static struct answer expected6(const uint8_t *chain, uint32_t n, const struct kind6 *k,
                               const struct to6 *to, const struct from6 *from)
{
    static const struct answer none;
    bool to_group;
    if (!to->is_ours || !from->is_one)
        return none;
    for (uint32_t i = 0; i < n; i++) {
        const struct answer a = fault_of(chain, i, &to_group);
        if (a.type == 0)
            continue;
        const bool told = a.code != 255 && !may_hide_error(chain, n, i, k) &&
                          (to_group || (!to->is_group && !to->in_group_frame));
        return told ? a : none;
    }
    if (to->is_group || to->in_group_frame)
        return none;
    if (k->proto == 132)
        return (struct answer){4, 1, n == 0 ? 6 : IP6_BYTES + 8 * (n - 1)};
    if (k->type == 128)
        return (struct answer){129, 0, 0};
    // UDP to the address that the port made itself is not looked at.
    return k->proto == 17 && to != &to6[1] ? (struct answer){1, 4, 0} : none;
}

// What came back, from a unicast address of ours to the sender alone.
static struct answer got6(const struct from6 *from)
{
    if (tx.n == 0)
        return (struct answer){0};
    const struct ip_addr asker = ip(from->addr);
    const uint8_t *f = pkt_data(tx.pkts[0]), *m = f + ETH_BYTES + IP6_BYTES;
    assert_int_equal(tx.n, 1);
    assert_int_equal(f[ETH_BYTES + 6], 58);
    assert_int_not_equal(f[ETH_BYTES + 8], 0xff);
    assert_memory_equal(f + ETH_BYTES + 24, asker.b, 16);
    assert_memory_equal(f, theirs.b, 6);
    return (struct answer){m[0], m[1], m[0] < 128 ? load_be32(m + 4) : 0};
}

static uint64_t n_answers, n_packets;

static void try6(const uint8_t *chain, uint32_t n, const struct kind6 *k, const struct to6 *to,
                 const struct from6 *from)
{
    uint8_t f[FRAME_MAX];
    give(f, make6(f, chain, n, k, to, from));
    const struct answer want = expected6(chain, n, k, to, from), got = got6(from);
    n_packets++;
    n_answers += tx.n;
    if (want.type == got.type && want.code == got.code && want.value == got.value)
        return;
    for (uint32_t i = 0; i < n; i++)
        print_message("element %u\n", chain[i]);
    fail_msg("%s to %s%s from %s: answered by %u/%u (%u), not %u/%u (%u)", k->name, to->addr,
             to->in_group_frame ? " in a group's frame" : "", from->addr, got.type, got.code,
             got.value, want.type, want.code, want.value);
}

static void try_chain6(const uint8_t *chain, uint32_t n)
{
    for (unsigned k = 0; k < ARRAY_LEN(packets6); k++)
        for (unsigned t = 0; t < ARRAY_LEN(to6); t++)
            for (unsigned s = 0; s < ARRAY_LEN(from6); s++)
                try6(chain, n, &packets6[k], &to6[t], &from6[s]);
}

static void every_ip6_packet_is_answered_by_an_error_only_where_it_may_be(void **state)
{
    uint8_t chain[CHAIN_MAX];
    n_packets = n_answers = 0;
    for (uint32_t n = 0, all_of_n = 1; n <= CHAIN_MAX; n++, all_of_n *= ELEMENTS)
        for (uint32_t number = 0; number < all_of_n; number++) {
            for (uint32_t i = 0, rest = number; i < n; i++, rest /= ELEMENTS)
                chain[i] = (uint8_t)(rest % ELEMENTS);
            try_chain6(chain, n);
        }
    print_message("%lu packets, %lu answers\n", n_packets, n_answers);
    assert_true(n_answers != 0);
}

// What ends inside a header cannot be told from an error.
static void nothing_is_said_of_a_packet_that_ends_before_its_upper_layer(void **state)
{
    static const uint8_t chain[] = {OPTIONS_TELL, OPTIONS_FINE};
    uint8_t f[FRAME_MAX];
    const uint32_t whole = make6(f, chain, 2, &packets6[0], &to6[0], &from6[0]);
    for (uint32_t cut = 0; cut < whole - ETH_BYTES - IP6_BYTES - 8; cut++) {
        make6(f, chain, 2, &packets6[7], &to6[0], &from6[0]);
        store_be16(f + ETH_BYTES + 4, (uint16_t)(8 + cut));
        give(f, ETH_BYTES + IP6_BYTES + 8 + cut);
        assert_int_equal(tx.n, cut > 8);  // from the type of the echo request on
    }
}

// ---- IPv4

struct kind4 {
    const char *name;
    uint8_t proto, type;
};

static const struct kind4 packets4[] = {
    {"unreachable", 1, 3},   {"time exceeded", 1, 11}, {"parameter", 1, 12}, {"redirect", 1, 5},
    {"quench", 1, 4},        {"echo", 1, 8},           {"echo reply", 1, 0}, {"timestamp", 1, 13},
    {"unknown ICMP", 1, 99}, {"UDP", 17, 0},           {"IGMP", 2, 0},       {"unknown", 253, 0},
};

static const struct {
    const char *addr;
    bool is_ours;
} to4[] = {{"10.0.0.1", true},   {"10.0.0.255", false}, {"255.255.255.255", false},
           {"224.0.0.1", false}, {"224.9.9.9", false},  {"10.0.0.7", false}};

static const struct {
    const char *addr;
    bool is_one;
} from4[] = {{"10.0.0.2", true},   {"192.0.2.9", true},        {"10.0.0.1", false},
             {"0.0.0.0", false},   {"127.0.0.1", false},       {"10.0.0.255", false},
             {"224.0.0.1", false}, {"255.255.255.255", false}, {"240.0.0.1", false}};

static const uint16_t parts4[] = {0x0000, 0x4000, 0x2000, 0x2001, 0x0001};  // DF; MF; offset
static const uint8_t options4[][4] = {
    {0}, {1, 1, 1, 1}, {148, 4, 0, 0}, {7, 3, 4, 0}, {99, 4, 0, 0}};

static uint32_t make4(uint8_t *f, const struct kind4 *k, const uint8_t *dst_mac, const char *dst,
                      const char *src, uint16_t part, unsigned options)
{
    enum { BYTES = 40 };
    const struct ip_addr s = ip(src), d = ip(dst);
    const uint32_t head = IP4_BYTES + (options != 0 ? 4 : 0);
    uint8_t *p = f + ETH_BYTES, *at = p + head;
    memset(f, 0, ETH_BYTES + head + BYTES);
    memcpy(f, dst_mac, 6);
    memcpy(f + 6, theirs.b, 6);
    store_be16(f + 12, ETH_TYPE_IP4);
    p[0] = (uint8_t)(0x40 | head / 4);
    store_be16(p + 2, (uint16_t)(head + BYTES));
    store_be16(p + 6, part);
    p[8] = 64;
    p[9] = k->proto;
    memcpy(p + 12, s.b + 12, 4);
    memcpy(p + 16, d.b + 12, 4);
    memcpy(p + IP4_BYTES, options4[options], head - IP4_BYTES);
    store_raw16(p + 10, (uint16_t)~cksum_fold(cksum_add(0, p, head)));
    if (k->proto == 17) {
        store_be16(at, 5000);
        store_be16(at + 2, 9999);
        store_be16(at + 4, BYTES);
    } else if (k->proto == 1) {
        at[0] = k->type;
        at[8] = 0x45;
        store_raw16(at + 2, (uint16_t)~cksum_fold(cksum_add(0, at, BYTES)));
    }
    return ETH_BYTES + head + BYTES;
}

// The type and code of the ICMP message that came back; type 255: none.
static uint16_t got4(const char *asker)
{
    if (tx.n == 0)
        return 0xff00;
    const struct ip_addr a = ip(asker);
    const uint8_t *f = pkt_data(tx.pkts[0]);
    assert_int_equal(tx.n, 1);
    assert_int_equal(f[ETH_BYTES + 9], 1);
    assert_memory_equal(f + ETH_BYTES + 16, a.b + 12, 4);
    return load_be16(f + TCP4_OFF);
}

static uint16_t expected4(const struct kind4 *k, bool to_ours, bool from_one, bool class_e,
                          bool whole)
{
    if (!to_ours || !from_one || !whole)
        return 0xff00;
    if (k->proto == 1)
        return k->type == 8 ? 0x0000 : 0xff00;
    if (class_e)
        return 0xff00;
    return k->proto == 17 ? 0x0303 : 0x0302;
}

static void every_ip4_packet_is_answered_by_an_error_only_where_it_may_be(void **state)
{
    uint8_t f[FRAME_MAX];
    unsigned answers = 0;
    for (unsigned k = 0; k < ARRAY_LEN(packets4); k++)
        for (unsigned t = 0; t < ARRAY_LEN(to4) * 2; t++)
            for (unsigned s = 0; s < ARRAY_LEN(from4); s++)
                for (unsigned o = 0; o < ARRAY_LEN(options4) * ARRAY_LEN(parts4); o++) {
                    const bool many = t >= ARRAY_LEN(to4), class_e = from4[s].addr[1] == '4';
                    const unsigned to = t % ARRAY_LEN(to4);
                    const uint16_t part = parts4[o % ARRAY_LEN(parts4)];
                    give(f, make4(f, &packets4[k], many ? all.b : ours.b, to4[to].addr,
                                  from4[s].addr, part, o / ARRAY_LEN(parts4)));
                    answers += tx.n;
                    const uint16_t want =
                        expected4(&packets4[k], to4[to].is_ours && !many,
                                  from4[s].is_one || class_e, class_e, (part & 0x3fff) == 0);
                    const uint16_t got = got4(from4[s].addr);
                    if (got != want)
                        fail_msg("%s to %s%s from %s, fragment word %x, options %u: %x, not %x",
                                 packets4[k].name, to4[to].addr,
                                 many ? " in a broadcast frame" : "", from4[s].addr, part,
                                 options4[o / ARRAY_LEN(parts4)][0], got, want);
                }
    assert_true(answers != 0);
}

int main(void)
{
    pkt_env_start(0);
    pool = pkt_pool_create("icmp_errors", POOL_PKTS, -1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            every_ip6_packet_is_answered_by_an_error_only_where_it_may_be, setup, teardown),
        cmocka_unit_test_setup_teardown(
            nothing_is_said_of_a_packet_that_ends_before_its_upper_layer, setup, teardown),
        cmocka_unit_test_setup_teardown(
            every_ip4_packet_is_answered_by_an_error_only_where_it_may_be, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
