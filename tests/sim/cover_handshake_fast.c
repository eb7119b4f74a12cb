// SPDX-License-Identifier: BSD-3-Clause
// tcp_handshake_fast.c, with a count of the kinds of segments that open a connection by the fast
// path.
#define tcp_handshake_fast stack_handshake_fast
#include "tcp/tcp_handshake_fast.c"
#undef tcp_handshake_fast
#include "cover.h"

bool tcp_handshake_fast(struct tcp *t, uint32_t syn_ix, const struct seg_in *s, uint64_t hash,
                        struct tcp_verdict *v);
bool tcp_handshake_fast(struct tcp *t, uint32_t syn_ix, const struct seg_in *s, uint64_t hash,
                        struct tcp_verdict *v)
{
    const struct syn_record *r = &t->syns[syn_ix];
    const struct cover_view view = {r->irs + 1, r->irs + 1 + 65535, r->iss, r->iss + 1};
    if (!stack_handshake_fast(t, syn_ix, s, hash, v))
        return false;
    sim_cover.kind[COVER_SYN_RECORD][cover_kind(&view, s)]++;
    return true;
}
