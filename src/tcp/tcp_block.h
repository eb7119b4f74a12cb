// SPDX-License-Identifier: BSD-3-Clause
// tcp_block.h: the life of a connection: opened, closed, freed; who has which block.
#pragma once
#include "tcp/tcp_worker.h"

// tcp_connect: active open from local_ix to remote, of a port whose answers arrive at this worker:
// a block in SYN-SENT, or a negative errno (EADDRNOTAVAIL: no such port found, ENOBUFS: no block or
// table entry).
int tcp_connect(struct tcp *t, const struct ip_addr *remote, uint16_t remote_port,
                uint16_t local_ix, uint8_t service, uint32_t *ix);

// tcp_open: the same for `key`, from key->local_port unless that is 0: -EADDRNOTAVAIL then too
// where the answers arrive at another worker, or where the four are taken, by a connection or by
// what TIME-WAIT keeps of one without timestamps; one with them gives way to who names its port
// (as Linux, whose net.ipv4.tcp_tw_reuse is about ports that the stack chooses).
int tcp_open(struct tcp *t, const struct flow_key *key, uint8_t service, uint32_t *ix);

// tcp_home: of h->workers, the one at which the packets of `key` arrive. h NULL: the only one.
unsigned tcp_home(const struct tcp_homes *h, const struct flow_key *key);

// tcp_block_new: a block for `key`, in the table under `hash` in place of `old` (FLOW_NONE: a new
// entry). BLOCK_NONE without room.
uint32_t tcp_block_new(struct tcp *t, const struct flow_key *key, uint8_t service, uint32_t old);

// tcp_life: which of its lives block ix has, in 48 bits.
static inline uint64_t tcp_life(const struct tcp *t, uint32_t ix)
{
    return (uint64_t)t->rounds[ix] << 16 | t->blocks[ix].generation;
}

// tcp_close: the application's orderly close: FIN after what is queued. tcp_abort: RST, and the
// block goes to CLOSED; the caller frees it.
void tcp_close(struct tcp *t, uint32_t ix);
void tcp_abort(struct tcp *t, uint32_t ix);

// tcp_orphan: the application is done with the connection, and hears of it no more; unread says
// that bytes are left that it never took: then, and if more come later, it ends in RST (RFC 2525
// 2.17), else in FIN after what is queued. In FIN-WAIT-2 it ends without a word after
// cfg.fin_wait2_ms. Linux's tcp_close().
void tcp_orphan(struct tcp *t, uint32_t ix, bool unread);

// tcp_free: takes the block out of the table and gives it back with all it holds. It is reused from
// the next turn on.
void tcp_free(struct tcp *t, uint32_t ix);
