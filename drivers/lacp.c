// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/lacp.h"

#include <string.h>

#include "base/bytes.h"

enum {
    TYPE_AT = 12,
    SUBTYPE_AT = 14,
    VERSION_AT = 15,
    TLV_AT = 16,
    ACTOR_AT = 16,
    PARTNER_AT = 36,
    COLLECTOR_AT = 56,
    TYPE_SLOW = 0x8809,
    SUBTYPE_LACP = 1,
    SUBTYPE_MARKER = 2,
    TLV_ACTOR = 1,
    TLV_PARTNER = 2,
    TLV_COLLECTOR = 3,
    TLV_MARKER = 1,
    TLV_MARKER_ANSWER = 2,
    PARTY_BYTES = 20,
    COLLECTOR_BYTES = 16,
    PRIORITY = 0x8000,  // of system and ports: the default of the standard
    SPEED_MBPS_A_KEY = 100,
};

static const uint8_t slow_group[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x02};

static bool same_mac(const struct mac_addr *a, const struct mac_addr *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static uint16_t key_of(uint32_t speed_mbps)
{
    return (uint16_t)MIN(1 + speed_mbps / SPEED_MBPS_A_KEY, (uint32_t)UINT16_MAX);
}

void lacp_init(struct lacp *l, unsigned n, const struct mac_addr *system, bool fast)
{
    CHECK(n <= PORT_MEMBERS_MAX);
    *l = (struct lacp){.n = n, .leader = -1};
    for (unsigned m = 0; m < n; m++)
        l->members[m].actor = (struct lacp_party){
            .system_priority = PRIORITY,
            .system = *system,
            .key = key_of(0),
            .port_priority = PRIORITY,
            .port = (uint16_t)(m + 1),  // switches refuse 0
            .state = (uint8_t)(LACP_ACTIVITY | LACP_AGGREGATION | LACP_DEFAULTED |
                               (fast ? LACP_SHORT : 0)),
        };
}

static void set(struct lacp_party *p, unsigned bits, bool on)
{
    p->state = (uint8_t)(on ? p->state | bits : p->state & ~bits);
}

static bool has(const struct lacp_party *p, unsigned bits)
{
    return (p->state & bits) == bits;
}

// ---- receive machine

// enter_expired: the partner is asked to answer soon, and if it does not, is given up.
static void enter_expired(struct lacp_member *at, uint64_t now_ms)
{
    at->rx = LACP_RX_EXPIRED;
    set(&at->partner, LACP_SYNC, false);
    set(&at->partner, LACP_SHORT, true);
    set(&at->actor, LACP_EXPIRED, true);
    at->rx_ends_ms = now_ms + LACP_TIMEOUTS * LACP_FAST_MS;
    at->periodic_ms = MIN(at->periodic_ms, now_ms + LACP_FAST_MS);
    at->ntt = true;
}

// record_default: there is no partner.
static void record_default(struct lacp_member *at)
{
    at->partner = (struct lacp_party){0};
    set(&at->actor, LACP_DEFAULTED, true);
    set(&at->actor, LACP_EXPIRED, false);
}

void lacp_link(struct lacp *l, unsigned m, bool up, uint32_t speed_mbps, uint64_t now_ms)
{
    struct lacp_member *at = &l->members[m];
    if (!up && at->rx != LACP_RX_DISABLED) {
        at->rx = LACP_RX_DISABLED;
        record_default(at);
    }
    if (up && at->actor.key != key_of(speed_mbps)) {
        at->actor.key = key_of(speed_mbps);
        at->ntt = true;
    }
    if (up && at->rx == LACP_RX_DISABLED) {
        at->periodic_ms = now_ms;
        enter_expired(at, now_ms);
    }
}

static void read_party(const uint8_t *tlv, struct lacp_party *out)
{
    out->system_priority = load_be16(tlv + 2);
    memcpy(out->system.b, tlv + 4, sizeof(out->system.b));
    out->key = load_be16(tlv + 10);
    out->port_priority = load_be16(tlv + 12);
    out->port = load_be16(tlv + 14);
    out->state = tlv[16];
}

static bool same_party(const struct lacp_party *a, const struct lacp_party *b)
{
    return a->system_priority == b->system_priority && same_mac(&a->system, &b->system) &&
           a->key == b->key && a->port_priority == b->port_priority && a->port == b->port &&
           ((a->state ^ b->state) & LACP_AGGREGATION) == 0;
}

// record_pdu: what the partner says of itself, and whether it is in sync with us (6.4.9
// recordPDU).
static void record_pdu(struct lacp_member *at, const struct lacp_party *theirs,
                       const struct lacp_party *ours)
{
    const bool active = ((theirs->state | ours->state) & LACP_ACTIVITY) != 0;
    const bool agreed = same_party(ours, &at->actor) || !has(theirs, LACP_AGGREGATION);
    at->partner = *theirs;
    set(&at->partner, LACP_SYNC, active && agreed && has(theirs, LACP_SYNC));
    set(&at->actor, LACP_DEFAULTED | LACP_EXPIRED, false);
}

static bool is_lacpdu(const uint8_t *frame, uint32_t len)
{
    return len >= LACP_FRAME_BYTES && frame[SUBTYPE_AT] == SUBTYPE_LACP &&
           frame[ACTOR_AT] == TLV_ACTOR && frame[ACTOR_AT + 1] == PARTY_BYTES &&
           frame[PARTNER_AT] == TLV_PARTNER && frame[PARTNER_AT + 1] == PARTY_BYTES;
}

// period_ms: between the LACPDUs that the partner wants (6.4.13).
static uint64_t period_ms(const struct lacp_party *partner)
{
    return has(partner, LACP_SHORT) ? LACP_FAST_MS : LACP_SLOW_MS;
}

void lacp_receive(struct lacp *l, unsigned m, const uint8_t *frame, uint32_t len, uint64_t now_ms)
{
    enum { TOLD = LACP_ACTIVITY | LACP_SHORT | LACP_SYNC };
    struct lacp_member *at = &l->members[m];
    struct lacp_party theirs, ours;
    if (!is_lacpdu(frame, len)) {
        at->bad++;
        return;
    }
    at->received++;
    if (at->rx == LACP_RX_DISABLED)
        return;
    read_party(frame + ACTOR_AT, &theirs);
    read_party(frame + PARTNER_AT, &ours);
    at->ntt |= !same_party(&ours, &at->actor) || ((ours.state ^ at->actor.state) & TOLD) != 0;
    record_pdu(at, &theirs, &ours);
    at->rx = LACP_RX_CURRENT;
    at->rx_ends_ms =
        now_ms +
        LACP_TIMEOUTS * (uint64_t)(has(&at->actor, LACP_SHORT) ? LACP_FAST_MS : LACP_SLOW_MS);
    at->periodic_ms = MIN(at->periodic_ms, now_ms + period_ms(&at->partner));
}

static void run_receive(struct lacp_member *at, uint64_t now_ms)
{
    if (at->rx == LACP_RX_CURRENT && now_ms >= at->rx_ends_ms) {
        enter_expired(at, now_ms);
    } else if (at->rx == LACP_RX_EXPIRED && now_ms >= at->rx_ends_ms) {
        at->rx = LACP_RX_DEFAULTED;
        record_default(at);
    }
}

// ---- selection

// may_group: whether the member can be used together with others. A partner that is this system
// itself is a loop of cables.
static bool may_group(const struct lacp_member *at)
{
    return at->rx != LACP_RX_DISABLED && !has(&at->actor, LACP_DEFAULTED) &&
           has(&at->partner, LACP_AGGREGATION) && !same_mac(&at->partner.system, &at->actor.system);
}

static bool same_group(const struct lacp_member *a, const struct lacp_member *b)
{
    return a->actor.key == b->actor.key && a->partner.key == b->partner.key &&
           a->partner.system_priority == b->partner.system_priority &&
           same_mac(&a->partner.system, &b->partner.system);
}

// heard: how many members hear the partner of member m now.
static unsigned heard(const struct lacp *l, unsigned m)
{
    unsigned n = 0;
    for (unsigned i = 0; i < l->n && may_group(&l->members[m]); i++)
        n += may_group(&l->members[i]) && l->members[i].rx == LACP_RX_CURRENT &&
             same_group(&l->members[i], &l->members[m]);
    return n;
}

// may_be_alone: nobody answers, or somebody who does not aggregate.
static bool may_be_alone(const struct lacp_member *at)
{
    return at->rx == LACP_RX_DEFAULTED ||
           (at->rx == LACP_RX_CURRENT && !has(&at->partner, LACP_AGGREGATION));
}

static int best_group(const struct lacp *l)
{
    int best = -1;
    unsigned most = 0;
    for (unsigned m = 0; m < l->n; m++)
        if (heard(l, m) > most) {
            most = heard(l, m);
            best = (int)m;
        }
    return best;
}

static int first_alone(const struct lacp *l)
{
    for (unsigned m = 0; m < l->n; m++)
        if (may_be_alone(&l->members[m]))
            return (int)m;
    return -1;
}

// member_of_group: a member of the group that was used, which may have lost its leader.
static int member_of_group(const struct lacp *l)
{
    for (unsigned m = 0; m < l->n && !l->alone; m++)
        if (l->members[m].selected && may_group(&l->members[m]))
            return (int)m;
    return -1;
}

static void choose(struct lacp *l)
{
    const int stays = member_of_group(l), group = best_group(l);
    if (stays >= 0 && (heard(l, (unsigned)stays) != 0 || group < 0)) {
        l->leader = stays;
    } else if (group >= 0) {
        l->leader = group;
        l->alone = false;
    } else if (!l->alone || l->leader < 0 || !may_be_alone(&l->members[l->leader])) {
        l->leader = first_alone(l);
        l->alone = l->leader >= 0;
    }
}

static bool is_selected(const struct lacp *l, unsigned m)
{
    if (l->leader < 0 || l->alone)
        return l->leader == (int)m;
    return may_group(&l->members[m]) && same_group(&l->members[m], &l->members[l->leader]);
}

// ---- mux machine

static void enter_mux(struct lacp_member *at, enum lacp_mux mux)
{
    at->mux = mux;
    set(&at->actor, LACP_SYNC, mux != LACP_MUX_DETACHED);
    set(&at->actor, LACP_COLLECTING | LACP_DISTRIBUTING, mux == LACP_MUX_PASSING);
    at->ntt = true;
}

static void run_mux(struct lacp_member *at)
{
    if (!at->selected) {
        if (at->mux != LACP_MUX_DETACHED)
            enter_mux(at, LACP_MUX_DETACHED);
        return;
    }
    if (at->mux == LACP_MUX_DETACHED)
        enter_mux(at, LACP_MUX_ATTACHED);
    const bool in_sync = at->rx == LACP_RX_CURRENT && has(&at->partner, LACP_SYNC);
    if (in_sync && at->mux == LACP_MUX_ATTACHED)
        enter_mux(at, LACP_MUX_PASSING);
    else if (!in_sync && at->mux == LACP_MUX_PASSING)
        enter_mux(at, LACP_MUX_ATTACHED);
}

void lacp_run(struct lacp *l, uint64_t now_ms)
{
    for (unsigned m = 0; m < l->n; m++)
        run_receive(&l->members[m], now_ms);
    choose(l);
    for (unsigned m = 0; m < l->n; m++) {
        l->members[m].selected = is_selected(l, m);
        run_mux(&l->members[m]);
    }
}

// ---- transmit machine

static void write_party(uint8_t *tlv, uint8_t type, const struct lacp_party *p)
{
    tlv[0] = type;
    tlv[1] = PARTY_BYTES;
    store_be16(tlv + 2, p->system_priority);
    memcpy(tlv + 4, p->system.b, sizeof(p->system.b));
    store_be16(tlv + 10, p->key);
    store_be16(tlv + 12, p->port_priority);
    store_be16(tlv + 14, p->port);
    tlv[16] = p->state;
}

static void write_pdu(const struct lacp_member *at, const struct mac_addr *mac, uint8_t *frame)
{
    memset(frame, 0, LACP_FRAME_BYTES);
    memcpy(frame, slow_group, sizeof(slow_group));
    memcpy(frame + sizeof(slow_group), mac->b, sizeof(mac->b));
    store_be16(frame + TYPE_AT, TYPE_SLOW);
    frame[SUBTYPE_AT] = SUBTYPE_LACP;
    frame[VERSION_AT] = 1;
    write_party(frame + ACTOR_AT, TLV_ACTOR, &at->actor);
    write_party(frame + PARTNER_AT, TLV_PARTNER, &at->partner);
    frame[COLLECTOR_AT] = TLV_COLLECTOR;
    frame[COLLECTOR_AT + 1] = COLLECTOR_BYTES;
}

// may_send: whether there is one of LACP_SENDS_MAX left.
static bool may_send(struct lacp_member *at, uint64_t now_ms)
{
    if (now_ms >= at->window_ms + LACP_FAST_MS) {
        at->window_ms = now_ms;
        at->window_sent = 0;
    }
    return at->window_sent < LACP_SENDS_MAX;
}

bool lacp_to_send(struct lacp *l, unsigned m, uint64_t now_ms, const struct mac_addr *mac,
                  uint8_t frame[LACP_FRAME_BYTES])
{
    struct lacp_member *at = &l->members[m];
    if (at->rx == LACP_RX_DISABLED || (!at->ntt && now_ms < at->periodic_ms) ||
        !may_send(at, now_ms))
        return false;
    write_pdu(at, mac, frame);
    at->ntt = false;
    at->periodic_ms = now_ms + period_ms(&at->partner);
    at->window_sent++;
    at->sent++;
    return true;
}

void lacp_farewell(struct lacp *l, unsigned m, const struct mac_addr *mac,
                   uint8_t frame[LACP_FRAME_BYTES])
{
    struct lacp_member gone = l->members[m];
    set(&gone.actor, LACP_AGGREGATION | LACP_SYNC | LACP_COLLECTING | LACP_DISTRIBUTING, false);
    write_pdu(&gone, mac, frame);
}

bool lacp_is_marker(uint8_t *frame, uint32_t len, const struct mac_addr *mac)
{
    if (len < LACP_FRAME_BYTES || frame[SUBTYPE_AT] != SUBTYPE_MARKER ||
        frame[TLV_AT] != TLV_MARKER)
        return false;
    memcpy(frame, slow_group, sizeof(slow_group));
    memcpy(frame + sizeof(slow_group), mac->b, sizeof(mac->b));
    frame[TLV_AT] = TLV_MARKER_ANSWER;
    return true;
}

uint32_t lacp_collecting(const struct lacp *l)
{
    uint32_t bits = 0;
    for (unsigned m = 0; m < l->n; m++)
        bits |= (uint32_t)(l->members[m].mux != LACP_MUX_DETACHED) << m;
    return bits;
}

uint32_t lacp_distributing(const struct lacp *l)
{
    uint32_t bits = 0;
    for (unsigned m = 0; m < l->n; m++)
        bits |= (uint32_t)(l->members[m].mux == LACP_MUX_PASSING) << m;
    return l->alone ? 1u << l->leader : bits;
}
