// SPDX-License-Identifier: BSD-3-Clause
// tcp_ooo.h: the queue of out-of-order data.
//
//   table  [ run 0 | run 1 | run 2 ... ]    one buffer; in order of sequence numbers; there is
//               |       |      |            a hole between any two runs
//   pages  [ 2 KiB ][ 2 KiB ]..[ 2 KiB ]    a chain; a page holds the bytes of one aligned range
//                                           of 2 KiB, of several runs if they share it
//
// Each byte has one place. The queue thus takes no more buffers than the window has pages, whatever
// the size and order of segments. The place of a segment is found by a binary search of the table
// and written without access to other pages. At most OOO_RUNS_MAX runs keep that cheap; a segment
// that would make another run is dropped.
//
// Buffers are counted by connection, by source (an IPv4 address, an IPv6 /64) and in all. Over the
// limit of a source, one of its connections frees what is furthest from its rcv_nxt (RFC 2018 8
// permits that, it was not acknowledged). Over the total limit, or if buffers are scarce, a
// connection of the source with the most buffers does. A source therefore never loses data to one
// that holds more. Within a source the connection with the oldest data gives way; if that is the
// connection of the segment itself, the segment is dropped. The order is kept in a list through the
// extension records; a connection that frees a page because its data became in order is the
// youngest again.
#pragma once
#include "tcp/tcp_internal.h"

// ooo_run: the sequence numbers [start, end); page `last` has the last one.
struct ooo_run {
    uint32_t start, end;
    uint32_t last;
};

enum {
    OOO_RUNS_MAX = BUF_BYTES / sizeof(struct ooo_run),  // 170: entries of one buffer
    // Divisors of the worker's buffers: limits of all connections, of a source, and of a connection
    // (equal to the largest default window). A connection has OOO_CONN_MORE more for its table and
    // for the page in which the window begins.
    OOO_ALL_SHARE = 2,
    OOO_SOURCE_SHARE = 4,
    OOO_CONN_SHARE = 8,
    OOO_CONN_MORE = 2,
    // How often a segment makes a connection free at least one page. One of 9,000 bytes needs
    // seven.
    OOO_PRUNES_MAX = 16,
};

static inline struct ooo_run *ooo_runs(const struct buf_pool *p, const struct ext *e)
{
    return (struct ooo_run *)(void *)buf_room(p, e->ooo_table);
}

// ooo_page: the first sequence number of the page of seq.
static inline uint32_t ooo_page(uint32_t seq)
{
    return seq & ~(uint32_t)(BUF_BYTES - 1);
}

// tcp_ooo_insert: stores the new ones of the len bytes from seq on. False: nothing was stored;
// *drop says why. *dup: the first range of them that was present already.
bool tcp_ooo_insert(struct tcp *t, struct block *b, uint32_t seq, const uint8_t *data, uint32_t len,
                    enum drop_reason *drop, struct seq_range *dup);

// tcp_ooo_again: the first range between rcv_nxt and `end` that was received out of order before;
// empty: none. For a block with an extension record.
struct seq_range tcp_ooo_again(const struct tcp *t, const struct block *b, uint32_t end);

// tcp_ooo_merge: removes data that is now in order from the queue and advances rcv_nxt. Returns the
// head of its chain, or BUF_NONE. For a block with an extension record.
uint32_t tcp_ooo_merge(struct tcp *t, struct block *b);

// tcp_ooo_drop: frees all out-of-order data of e.
void tcp_ooo_drop(struct tcp *t, struct ext *e);

// ---- for tcp_ooo.c

// ooo_room: whether e, the record of block b, may use `need` more buffers; other connections may
// have to free theirs. ooo_charge: counts `bufs` more buffers of e, or fewer if negative.
// ooo_begin: e gets a table, counted. ooo_adopt: counts the queue of e, the record of block b,
// which an earlier process left (tcp_adopt.h). ooo_end: e holds nothing; its pages were freed.
// ooo_refresh: e becomes the youngest of its source. ooo_heaviest: the source with the most
// buffers.
bool ooo_room(struct tcp *t, const struct block *b, struct ext *e, uint32_t need);
void ooo_charge(struct tcp *t, struct ext *e, int32_t bufs);
void ooo_begin(struct tcp *t, const struct block *b, struct ext *e);
void ooo_adopt(struct tcp *t, const struct block *b, struct ext *e);
void ooo_end(struct tcp *t, struct ext *e);
void ooo_refresh(struct tcp *t, struct ext *e);

static inline uint32_t ooo_heaviest(const struct tcp *t)
{
    return t->ooo_most[1];
}

// ooo_free_pages: frees the pages from `ix` on that end before `seq` (without has_end: all).
// Returns the first page that stays; BUF_NONE: none.
uint32_t ooo_free_pages(struct tcp *t, struct ext *e, uint32_t ix, bool has_end, uint32_t seq);
