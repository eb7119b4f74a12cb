// SPDX-License-Identifier: BSD-3-Clause
// tcp_block.h: opening, closing and freeing of connections.
#pragma once
#include "tcp/tcp_worker.h"

// tcp_connect: opens a connection from local_ix to remote, from a port whose replies arrive at this
// worker. *ix: a block in SYN-SENT. Returns 0 or -EADDRNOTAVAIL (no such port), -ENOBUFS (no block
// or table entry).
int tcp_connect(struct tcp *t, const struct ip_addr *remote, uint16_t remote_port,
                uint16_t local_ix, uint8_t service, uint32_t *ix);

// tcp_open: the same for `key`, from key->local_port unless that is 0. -EADDRNOTAVAIL also if the
// replies arrive at another worker, or if the four values are in use: by a connection, or by a
// TIME-WAIT record without timestamps. A TIME-WAIT record with timestamps is replaced if the caller
// names its port (as on Linux, where net.ipv4.tcp_tw_reuse concerns ports that the stack chooses).
int tcp_open(struct tcp *t, const struct flow_key *key, uint8_t service, uint32_t *ix);

// tcp_home: the index, below h->workers, of the worker that receives the packets of `key`. h NULL:
// there is one worker.
unsigned tcp_home(const struct tcp_homes *h, const struct flow_key *key);

// tcp_home_at: the same for a connection whose local address is `local`. h is not NULL.
unsigned tcp_home_at(const struct tcp_homes *h, const struct flow_key *key,
                     const struct ip_addr *local);

// tcp_block_new: allocates a block for `key` and enters it in the table in place of `old`
// (FLOW_NONE: as a new entry). BLOCK_NONE: no room.
uint32_t tcp_block_new(struct tcp *t, const struct flow_key *key, uint8_t service, uint32_t old);

// tcp_next_round: of a new life of block ix, whose generation has just been increased. It skips 0,
// which is what tcp_view_block() finds while a new life is being written.
static inline void tcp_next_round(struct tcp *t, struct block *b, uint32_t ix)
{
    if (likely(b->generation != 0))
        return;
    b->generation = 1;
    t->rounds[ix]++;
}

// tcp_life: a number of 48 bits that identifies the current life of block ix.
static inline uint64_t tcp_life(const struct tcp *t, uint32_t ix)
{
    return (uint64_t)t->rounds[ix] << 16 | t->blocks[ix].generation;
}

// tcp_close: sends FIN after the queued data. tcp_abort: sends RST and sets CLOSED; the caller
// frees the block.
void tcp_close(struct tcp *t, uint32_t ix);
void tcp_abort(struct tcp *t, uint32_t ix);

// tcp_orphan: the application has closed the connection and gets no more events. unread: it left
// data unread. Then, or if more data arrives later, the connection ends with RST (RFC 2525 2.17),
// else with FIN after the queued data. In FIN-WAIT-2 it ends silently after cfg.fin_wait2_ms. As
// Linux's tcp_close().
void tcp_orphan(struct tcp *t, uint32_t ix, bool unread);

// tcp_block_give_back: returns all buffers and records of the block to their pools. It still names
// the buffers, which the caller corrects.
void tcp_block_give_back(struct tcp *t, struct block *b);

// tcp_free: removes the block from the table and frees it with everything that it holds. It is
// reused from the next turn on.
void tcp_free(struct tcp *t, uint32_t ix);
