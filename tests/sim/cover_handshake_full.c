// SPDX-License-Identifier: BSD-3-Clause
// tcp_handshake_full.c as it is, with the kinds of segments counted for listeners and records.
#define tcp_handshake_full stack_handshake_full
#define tcp_listen_input   stack_listen_input
#include "tcp/tcp_handshake_full.c"
#undef tcp_handshake_full
#undef tcp_listen_input
#include "cover.h"

void tcp_handshake_full(struct tcp *t, uint32_t syn_ix, const struct seg_in *s, const uint8_t *data,
                        struct tcp_verdict *v);
void tcp_handshake_full(struct tcp *t, uint32_t syn_ix, const struct seg_in *s, const uint8_t *data,
                        struct tcp_verdict *v)
{
    const struct syn_record *r = &t->syns[syn_ix];
    const struct cover_view view = {r->irs + 1, r->irs + 1 + 65535, r->iss, r->iss + 1};
    sim_cover.kind[COVER_SYN_RECORD][cover_kind(&view, s)]++;
    stack_handshake_full(t, syn_ix, s, data, v);
}

void tcp_listen_input(struct tcp *t, int listener, const struct seg_in *s, uint64_t hash,
                      struct tcp_verdict *v);
void tcp_listen_input(struct tcp *t, int listener, const struct seg_in *s, uint64_t hash,
                      struct tcp_verdict *v)
{
    sim_cover.kind[COVER_LISTEN][KIND_SYN]++;
    stack_listen_input(t, listener, s, hash, v);
}
