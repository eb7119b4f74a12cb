// SPDX-License-Identifier: BSD-3-Clause
// SYN cookies: RFC 4987 3.6; Bernstein, Schenk, 1996. The data of a half-open record is encoded in
// the SYN-ACK, and the acknowledgment of the SYN-ACK returns it. The format follows Linux
// (net/ipv4/syncookies.c), but the MAC covers the MSS index: an acknowledgment that is a few
// numbers off is no other valid cookie.
//
//   our ISN    = F(key) + [ period : 8 | MAC(key, the peer's ISN, period, MSS index) : 21 | index :
//   3 ] timestamp  = [ the clock's upper 26 bits | ECN : 1 | SACK : 1 | window scale : 4 ]
//
// F and the period are those of an ordinary ISN (tcp_isn()). A cookie replaces the lower 24 bits of
// the clock, so it increases as other ISNs do. The period is 2^24 ticks of 4 us, which is 67 s. A
// cookie is valid in its own period and in the next one. A guess succeeds with probability 2^-28,
// so a flood of a million ACKs a second succeeds once in four minutes.
#include "tcp/tcp_internal.h"

enum {
    LOW_BITS = 24,  // MAC and MSS index
    INDEX_BITS = 3,
    PERIODS = 2,
    VALID_US = PERIODS * (4 << LOW_BITS),
    WSCALE_NONE = 15,  // the largest shift count is 14 (RFC 7323 2.3)
    TS_SACK = 1 << 4,
    TS_ECN = 1 << 5,
    TS_MASK = 63,
};

#define LOW_MASK   ((1u << LOW_BITS) - 1)
#define INDEX_MASK ((1u << INDEX_BITS) - 1)

// Common MSS values. The cookie encodes the largest one that does not exceed the peer's MSS, so
// that no segment is too long.
static const uint16_t mss_of[2][1 << INDEX_BITS] = {
    {TCP_MSS_MIN, 256, 536, 1024, 1300, 1440, 1460, 8960},   // IPv4
    {TCP_MSS_MIN, 256, 536, 1024, 1220, 1420, 1440, 8940}};  // IPv6

static uint32_t period_of(const struct tcp *t)
{
    return (uint32_t)(t->now.us / (4 << LOW_BITS));
}

// low: the lower bits of the ISN: the MAC, and the index.
static uint32_t low(const struct tcp *t, const struct flow_key *key, uint32_t irs, uint32_t period,
                    uint32_t index)
{
    const struct {
        struct flow_key key;
        uint32_t irs, period_index;
    } in = {*key, irs, period << INDEX_BITS | index};
    static_assert(sizeof(in) == 32, "no padding");
    const uint32_t mac = (uint32_t)siphash_bytes(&t->cookies_key, &in, sizeof(in));
    return (mac & LOW_MASK & ~INDEX_MASK) | index;
}

static const uint16_t *table_of(const struct flow_key *key)
{
    return mss_of[ip_is_v4(&key->remote) ? 0 : 1];
}

static uint32_t mss_index(const struct flow_key *key, uint16_t peer_mss)
{
    const uint16_t *table = table_of(key), mss = peer_mss != 0 ? peer_mss : tcp_default_mss(key);
    uint32_t i = ARRAY_LEN(mss_of[0]) - 1;
    while (i != 0 && table[i] > mss)
        i--;
    return i;
}

// tcp_cookie_make: the options are stored in the timestamp. Without one, only the MSS is kept.
void tcp_cookie_make(struct tcp *t, struct syn_record *r)
{
    const uint32_t period = period_of(t);
    r->iss = tcp_isn_hash(t, &r->key) + (period << LOW_BITS) +
             low(t, &r->key, r->irs, period, mss_index(&r->key, r->mss));
    t->cookies_until_us = t->now.us + VALID_US;
    if (r->opts & SEG_OPT_TS)
        return;
    r->opts = 0;
    r->ecn = false;
}

// tcp_cookie_ts: never ahead of the clock, or later segments would look older (RFC 7323 5.3).
uint32_t tcp_cookie_ts(const struct syn_record *r, uint32_t ts_now)
{
    uint32_t bits = r->opts & SEG_OPT_WSCALE ? r->wscale : WSCALE_NONE;
    bits |= r->opts & SEG_OPT_SACK_PERM ? TS_SACK : 0;
    bits |= r->ecn ? TS_ECN : 0;
    const uint32_t ts = (ts_now & ~(uint32_t)TS_MASK) | bits;
    return time_before(ts_now, ts) ? ts - (TS_MASK + 1) : ts;
}

void tcp_cookies_expect(struct tcp *t)
{
    if (t->cfg.syn_cookies != TCP_COOKIES_OFF)
        t->cookies_until_us = t->now.us + VALID_US;
}

bool tcp_cookies_awaited(const struct tcp *t)
{
    return t->cfg.syn_cookies == TCP_COOKIES_ALWAYS || t->now.us < t->cookies_until_us;
}

// read_options: restores the options of the SYN from the echoed timestamp.
static void read_options(const struct tcp *t, const struct seg_in *s, struct syn_record *r)
{
    const uint32_t bits = s->ts_ecr & TS_MASK;
    if (!t->cfg.timestamps || !(s->opts & SEG_OPT_TS))
        return;
    r->opts = SEG_OPT_TS;
    r->ts_recent = s->ts_val;
    r->ecn = (bits & TS_ECN) != 0 && t->cfg.ecn != TCP_ECN_OFF;
    if ((bits & TS_SACK) && t->cfg.sack)
        r->opts |= SEG_OPT_SACK_PERM;
    if ((bits & WSCALE_NONE) != WSCALE_NONE) {
        r->opts |= SEG_OPT_WSCALE;
        r->wscale = bits & WSCALE_NONE;
    }
}

bool tcp_cookie_read(const struct tcp *t, const struct seg_in *s, struct syn_record *r)
{
    const uint32_t iss = s->ack - 1, irs = s->seq - 1;
    const uint32_t clock = iss - tcp_isn_hash(t, &s->key), now = period_of(t);
    const uint32_t age = (now - (clock >> LOW_BITS)) & 0xff, index = clock & INDEX_MASK;
    if (age >= PERIODS || (clock & LOW_MASK) != low(t, &s->key, irs, now - age, index))
        return false;
    *r = (struct syn_record){
        .key = s->key, .iss = iss, .irs = irs, .mss = table_of(&s->key)[index], .wnd = s->wnd};
    read_options(t, s, r);
    return true;
}
