// SPDX-License-Identifier: BSD-3-Clause
// Packets that wait for a neighbor's MAC, linked through their mbuf headers. Each has one segment
// (mbuf).
#include "net/priv.h"

static struct pkt *after(const struct pkt *p)
{
    return (struct pkt *)p->m.next;
}

struct pkt *wait_take(struct net *net, struct pkt **first)
{
    struct pkt *p = *first;
    if (p == NULL)
        return NULL;
    *first = after(p);
    net->n_waiting_more -= *first != NULL;
    p->m.next = NULL;
    return p;
}

void wait_add(struct net *net, struct pkt **first, struct pkt *p, enum drop_reason replaced)
{
    uint32_t n = 0;
    DCHECK(!pkt_is_chain(p));
    for (const struct pkt *q = *first; q != NULL; q = after(q))
        n++;
    if (n == NET_WAIT_MAX || (n != 0 && net->n_waiting_more == NET_WAIT_MORE_MAX)) {
        stat_drop(net->stats, replaced, 1);
        pkt_free(wait_take(net, first));
    }
    net->n_waiting_more += *first != NULL;
    while (*first != NULL)
        first = (struct pkt **)(uintptr_t) & (*first)->m.next;
    *first = p;
}

void wait_end(struct net *net, struct pkt **first, enum drop_reason reason, bool lost)
{
    for (struct pkt *p; (p = wait_take(net, first)) != NULL;) {
        stat_drop(net->stats, reason, 1);
        if (lost)
            lost_note(net, p);
        pkt_free(p);
    }
}

void wait_leave(struct net *net, struct pkt **first, uint64_t mac_word, struct net_tx *tx)
{
    const struct mac_addr mac = wire_mac_from_word(mac_word);
    for (struct pkt *p; (p = wait_take(net, first)) != NULL;) {
        if (tx->n == tx->room) {
            stat_drop(net->stats, DROP_reply_room, 1);
            pkt_free(p);
            continue;
        }
        memcpy(pkt_data(p), mac.b, sizeof(mac.b));
        tx->pkts[tx->n++] = p;
    }
}

void wait_drain(struct net *net, struct pkt **first)
{
    for (struct pkt *p; (p = wait_take(net, first)) != NULL;)
        pkt_free(p);
}
