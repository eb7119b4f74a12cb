// SPDX-License-Identifier: BSD-3-Clause
// Sets the options of a connection that differ from their present values.
#include "app/agent/agent_worker.h"

struct change {
    enum c10m_option option;
    uint32_t from, to;
};

int agent_conn_apply(struct agent_conn *ac, struct c10m_conn *c, const struct agent_options *to)
{
    const struct agent_options *from = &ac->options;
    const struct change changes[] = {
        {C10M_OPT_RCV_LIMIT, from->rcv_limit, to->rcv_limit},
        {C10M_OPT_SND_LIMIT, from->snd_limit, to->snd_limit},
        {C10M_OPT_WINDOW_CLAMP, from->window_clamp, to->window_clamp},
        {C10M_OPT_MAXSEG, from->maxseg, to->maxseg},
        {C10M_OPT_CORK, from->cork, to->cork},
        {C10M_OPT_SYN_RETRIES, from->syn_retries, to->syn_retries},
        {C10M_OPT_KEEPALIVE_INTERVAL_MS, from->keepalive_interval_ms, to->keepalive_interval_ms},
        {C10M_OPT_KEEPALIVE_PROBES, from->keepalive_probes, to->keepalive_probes},
        {C10M_OPT_KEEPALIVE_MS, from->keepalive_ms, to->keepalive_ms},
        {C10M_OPT_USER_TIMEOUT_MS, from->user_timeout_ms, to->user_timeout_ms},
        {C10M_OPT_LINGER2_MS, from->linger2_ms, to->linger2_ms},
        {C10M_OPT_TTL, from->ttl, to->ttl},
        {C10M_OPT_TOS, from->tos, to->tos},
        {C10M_OPT_DF, from->df, to->df},
        {C10M_OPT_CONGESTION, from->congestion, to->congestion},
    };
    int rc = 0;
    for (unsigned i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const int one = changes[i].from == changes[i].to
                            ? 0
                            : c10m_set_option(c, changes[i].option, changes[i].to);
        rc = rc != 0 ? rc : one;
    }
    if (from->nodelay_turn != to->nodelay_turn)
        c10m_set_option(c, C10M_OPT_NODELAY, to->nodelay);
    if (from->quickack_turn != to->quickack_turn)
        c10m_set_option(c, C10M_OPT_QUICKACK, to->quickack);
    ac->options = *to;
    return rc;
}
