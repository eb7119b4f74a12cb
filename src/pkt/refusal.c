// SPDX-License-Identifier: BSD-3-Clause
#include "pkt/refusal.h"

// offer: whether the port took this packet alone. Its length is read before the port owns it.
static bool offer(struct port *p, uint16_t q, struct pkt **pkt, struct refusal_result *out)
{
    const uint32_t bytes = pkt_total_len(*pkt);
    if (p->ops->tx_burst(p, q, pkt, 1) != 1)
        return false;
    *pkt = NULL;
    out->sent++;
    out->bytes += bytes;
    return true;
}

// offer_others: begins behind those that were offered in vain in earlier looks.
static void offer_others(struct refusal *r, struct port *p, uint16_t q, struct pkt **pkts,
                         uint32_t n, struct refusal_result *out)
{
    const uint32_t others = n - 1, offers = MIN(others, (uint32_t)REFUSAL_OFFERS);
    for (uint32_t k = 0; k < offers; k++)
        offer(p, q, &pkts[1 + (r->at + k) % others], out);
    r->at = out->sent == 0 && others != 0 ? (r->at + offers) % others : 0;
}

static uint32_t without_empty(struct pkt **pkts, uint32_t n)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < n; i++)
        if (pkts[i] != NULL)
            pkts[left++] = pkts[i];
    return left;
}

uint32_t refusal_look(struct refusal *r, struct port *p, uint16_t q, struct pkt **pkts, uint32_t n,
                      struct refusal_result *out)
{
    *out = (struct refusal_result){0};
    offer_others(r, p, q, pkts, n, out);
    if (out->sent == 0)
        return n;
    if (++r->passed == REFUSAL_LOOKS) {
        out->refused = pkts[0];
        pkts[0] = NULL;
        r->passed = 0;
    }
    return without_empty(pkts, n);
}
