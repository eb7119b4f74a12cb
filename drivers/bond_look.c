// SPDX-License-Identifier: BSD-3-Clause
#include <inttypes.h>
#include <string.h>

#include "drivers/bond_internal.h"

enum { NS_A_MS = 1000000 };

static uint32_t bit(unsigned m)
{
    return 1u << m;
}

static uint32_t active_bits(const struct bond *b)
{
    return shared_u32_load(&b->use) & BOND_ALL;
}

static void take_link(struct bond_member *at)
{
    const struct port_view *v = at->port->ops->view;
    at->link = (struct port_link){.reason = PORT_LINK_UNKNOWN};
    if (v != NULL && v->link != NULL)
        v->link(at->port, &at->link);
    at->up = at->link.up || at->link.reason == PORT_LINK_UNKNOWN;
}

// use: a bond that goes on by other members than before has moved, if it had and has any.
static void use(struct bond *b, uint32_t send, uint32_t receive)
{
    const uint32_t before = active_bits(b);
    b->moves += b->looked && before != 0 && send != 0 && (before & send) == 0;
    shared_u32_store(&b->use, send | receive << PORT_MEMBERS_MAX);
}

static void set_usable(struct bond_member *at, bool usable)
{
    at->changes += at->usable != usable;
    at->usable = usable;
}

// ---- active-backup

// chosen: the primary member, or else the one that is active, or else the first that has a link.
static unsigned chosen(const struct bond *b)
{
    if (b->primary >= 0 && b->members[b->primary].up)
        return (unsigned)b->primary;
    if (b->members[b->active].up)
        return b->active;
    for (unsigned m = 0; m < b->n; m++)
        if (b->members[m].up)
            return m;
    return b->active;
}

static void decide_backup(struct bond *b)
{
    for (unsigned m = 0; m < b->n; m++)
        set_usable(&b->members[m], b->members[m].up);
    b->active = chosen(b);
    use(b, bit(b->active), bit(b->active));
}

// ---- LACP

static void take_slow_frame(struct bond *b, unsigned m, struct slow_frame *f, uint64_t now_ms)
{
    if (lacp_is_marker(f->bytes, f->len, &b->port.mac))
        slow_frames_put(&b->members[m].out, f->bytes, f->len);
    else
        lacp_receive(&b->lacp, m, f->bytes, f->len, now_ms);
}

// take_slow_frames: a partner may send without end: of each queue no more than the ring holds.
static void take_slow_frames(struct bond *b, unsigned m, uint64_t now_ms)
{
    struct slow_frame f;
    for (unsigned q = 0; q < b->port.queues; q++)
        for (unsigned i = 0; i < SLOW_FRAMES && slow_frames_get(&b->lanes[q].in[m], &f); i++)
            take_slow_frame(b, m, &f, now_ms);
}

static void send_pdu(struct bond *b, unsigned m, uint64_t now_ms)
{
    uint8_t frame[LACP_FRAME_BYTES];
    if (lacp_to_send(&b->lacp, m, now_ms, &b->port.mac, frame))
        slow_frames_put(&b->members[m].out, frame, sizeof(frame));
}

static void decide_lacp(struct bond *b, uint64_t now_ms)
{
    for (unsigned m = 0; m < b->n; m++) {
        const struct bond_member *at = &b->members[m];
        lacp_link(&b->lacp, m, at->up, at->link.speed_mbps, now_ms);
        take_slow_frames(b, m, now_ms);
    }
    lacp_run(&b->lacp, now_ms);
    const uint32_t send = lacp_distributing(&b->lacp);
    use(b, send, lacp_collecting(&b->lacp));
    for (unsigned m = 0; m < b->n; m++) {
        set_usable(&b->members[m], (send & bit(m)) != 0);
        send_pdu(b, m, now_ms);
    }
}

// ---- the bond as a whole

void bond_start(struct bond *b)
{
    for (unsigned m = 0; m < b->n; m++)
        take_link(&b->members[m]);
    if (!b->is_lacp)
        decide_backup(b);
    for (unsigned m = 0; m < b->n; m++)
        b->members[m].changes = 0;
}

static void look(struct port *p, uint64_t now_ns)
{
    struct bond *b = bond_of(p);
    for (unsigned m = 0; m < b->n; m++)
        take_link(&b->members[m]);
    if (b->is_lacp)
        decide_lacp(b, now_ns / NS_A_MS);
    else
        decide_backup(b);
    b->looked = true;
}

// reason: of a bond without a usable member. A device that is gone is opened again: the link of the
// bond is down, and not gone.
static uint8_t reason(const struct bond *b)
{
    unsigned up = 0, set_down = 0;
    for (unsigned m = 0; m < b->n; m++) {
        up += b->members[m].up;
        set_down += b->members[m].link.reason == PORT_LINK_SET_DOWN;
    }
    if (up != 0)
        return PORT_LINK_NO_PARTNER;
    return set_down == b->n ? PORT_LINK_SET_DOWN : PORT_LINK_NO_CARRIER;
}

void bond_link(struct port *p, struct port_link *out)
{
    const struct bond *b = bond_of(p);
    *out = (struct port_link){.moves = b->moves, .full_duplex = true};
    for (unsigned m = 0; m < b->n; m++) {
        const struct bond_member *at = &b->members[m];
        if (!at->usable || (active_bits(b) & bit(m)) == 0)
            continue;
        out->up = true;
        out->speed_mbps += at->link.speed_mbps;
        out->full_duplex &= at->link.full_duplex;
    }
    if (!out->up)
        *out = (struct port_link){.moves = b->moves, .reason = reason(b)};
}

// ---- what is shown

static const struct bond_word {
    const char *state, *why;
} words[] = {
    {"down", "link down"},
    {"active", ""},
    {"backup", ""},
    {"alone", ""},
    {"no_partner", "no LACP partner"},
    {"expired", "no LACPDU from the partner any more"},
    {"other_partner", "another partner than the members that are used"},
    {"not_in_sync", "the partner has not agreed"},
};

enum word { DOWN, ACTIVE, BACKUP, ALONE, NO_PARTNER, EXPIRED, OTHER_PARTNER, NOT_IN_SYNC };

static enum word lacp_word(const struct bond *b, unsigned m)
{
    const struct lacp_member *at = &b->lacp.members[m];
    if (at->selected && b->lacp.alone)
        return ALONE;
    if ((at->actor.state & LACP_DEFAULTED) != 0)
        return NO_PARTNER;
    if (at->rx == LACP_RX_EXPIRED)
        return EXPIRED;
    return at->mux == LACP_MUX_PASSING ? ACTIVE : at->selected ? NOT_IN_SYNC : OTHER_PARTNER;
}

static enum word word_of(const struct bond *b, unsigned m)
{
    if (!b->members[m].up)
        return DOWN;
    if (b->is_lacp)
        return lacp_word(b, m);
    return m == b->active ? ACTIVE : BACKUP;
}

static bool member(struct port *p, unsigned m, struct port_member *out)
{
    const struct bond *b = bond_of(p);
    if (m >= b->n)
        return false;
    const struct bond_member *at = &b->members[m];
    const struct bond_word *w = &words[word_of(b, m)];
    *out = (struct port_member){.port = at->port,
                                .link = at->link,
                                .up = at->up,
                                .usable = at->usable,
                                .active = at->usable && (active_bits(b) & bit(m)) != 0,
                                .state = w->state,
                                .why = w->why,
                                .changes = at->changes};
    return true;
}

static void describe_party(const char *who, const struct lacp_party *p, struct text *out)
{
    static const char *const bits[] = {"activity",   "short",        "aggregation", "sync",
                                       "collecting", "distributing", "defaulted",   "expired"};
    const uint8_t *s = p->system.b;
    text_printf(out, "%s_system %02x:%02x:%02x:%02x:%02x:%02x\n%s_system_priority %u\n", who, s[0],
                s[1], s[2], s[3], s[4], s[5], who, p->system_priority);
    text_printf(out, "%s_key %u\n%s_port %u\n%s_port_priority %u\n%s_state ", who, p->key, who,
                p->port, who, p->port_priority, who);
    const char *between = "";
    for (unsigned i = 0; i < ARRAY_LEN(bits); i++)
        if ((p->state >> i & 1) != 0) {
            text_printf(out, "%s%s", between, bits[i]);
            between = ",";
        }
    text_printf(out, "%s\n", p->state == 0 ? "none" : "");
}

static void describe_lacp(const struct bond *b, unsigned m, uint64_t slow_lost, struct text *out)
{
    static const char *const rx[] = {"disabled", "expired", "defaulted", "current"};
    static const char *const mux[] = {"detached", "attached", "passing"};
    const struct lacp_member *at = &b->lacp.members[m];
    text_printf(out, "receive_machine %s\nmux_machine %s\n", rx[at->rx], mux[at->mux]);
    describe_party("actor", &at->actor, out);
    describe_party("partner", &at->partner, out);
    text_printf(out,
                "lacpdus_received %" PRIu64 "\nlacpdus_sent %" PRIu64 "\nslow_frames_bad %" PRIu64
                "\nslow_frames_lost %" PRIu64 "\n",
                at->received, at->sent, at->bad, slow_lost);
}

static void describe(struct port *p, unsigned m, struct text *out)
{
    const struct bond *b = bond_of(p);
    uint64_t idle = 0, slow_lost = 0;
    struct port_member is;
    if (!member(p, m, &is))
        return;
    for (unsigned q = 0; q < p->queues; q++) {
        idle += peek_u64(&b->lanes[q].counts[m].idle_packets);
        slow_lost += peek_u64(&b->lanes[q].counts[m].slow_lost);
    }
    text_printf(out,
                "state %s\nusable %u\nactive %u\nchanges %" PRIu64 "\nidle_packets %" PRIu64 "\n",
                is.state, is.usable, is.active, is.changes, idle);
    if (b->is_lacp)
        describe_lacp(b, m, slow_lost, out);
}

const struct port_group bond_group = {.look = look, .member = member, .describe = describe};
