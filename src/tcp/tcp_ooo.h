// SPDX-License-Identifier: BSD-3-Clause
// tcp_ooo.h: data that came out of order, until what is missing before it has come.
//
//   table  [ run 0 | run 1 | run 2 ... ]          one buffer; by sequence number; none touches the
//               |       |      |                  next, so that between two runs there is a hole
//   pages  [ 2 KiB ][ 2 KiB ]..[ 2 KiB ]          a chain; each holds the numbers of one aligned
//                                                 2 KiB, those of several runs where they share one
//
// A byte has one place, so that what is kept takes no more buffers than the window has pages,
// however small the segments are and in whatever order they come. A segment is found its place by a
// search of the table in halves, and written without a look at any other page: at most
// OOO_RUNS_MAX runs make both cheap. One that would make another run is dropped.
//
// The buffers are charged to the connection, to its source (an IPv4 address, 64 bits of IPv6) and
// to all that hold data. Over the limit of a source one of its own holders gives up what lies
// furthest from its rcv_nxt (RFC 2018 8 permits it: it was not acknowledged); over the limit of
// all, or where buffers are scarce, one of the source that holds most. So nobody who holds less
// than another gives up anything for him. Of a source the oldest holder gives way, and only where
// that is the connection itself the segment is dropped. Who holds since when is known by a list
// through the extension records; whoever gave back a page by taking something in order is the
// youngest again.
#pragma once
#include "tcp/tcp_internal.h"

// ooo_run: the numbers [start, end), the last of which lies in page `last`.
struct ooo_run {
    uint32_t start, end;
    uint32_t last;
};

enum {
    OOO_RUNS_MAX = BUF_BYTES / sizeof(struct ooo_run),  // 170: what one buffer describes
    // Of the worker's buffers: all holders, one source, one connection (whose largest window is as
    // much by default), which has its table and the page that the window begins in beside that.
    OOO_ALL_SHARE = 2,
    OOO_SOURCE_SHARE = 4,
    OOO_CONN_SHARE = 8,
    OOO_CONN_MORE = 2,
    // Times that a segment makes a holder give up at least a page. One of 9,000 bytes needs seven.
    OOO_PRUNES_MAX = 16,
};

static inline struct ooo_run *ooo_runs(const struct buf_pool *p, const struct ext *e)
{
    return (struct ooo_run *)(void *)buf_room(p, e->ooo_table);
}

// ooo_page: the first number of the page that seq lies in.
static inline uint32_t ooo_page(uint32_t seq)
{
    return seq & ~(uint32_t)(BUF_BYTES - 1);
}

// tcp_ooo_insert: keeps what of the len bytes from seq on is new; false: nothing kept (*drop says
// why). *dup: what of them was there already, the first such run.
bool tcp_ooo_insert(struct tcp *t, struct block *b, uint32_t seq, const uint8_t *data, uint32_t len,
                    enum drop_reason *drop, struct seq_range *dup);

// tcp_ooo_again: of what is in order up to `end`, beyond rcv_nxt: the first run that had come out
// of order already; empty: none. Of a block with an extension record.
struct seq_range tcp_ooo_again(const struct tcp *t, const struct block *b, uint32_t end);

// tcp_ooo_merge: takes what has come in order out of the queue, moves rcv_nxt past it; the head of
// the chain or BUF_NONE. Of a block with an extension record.
uint32_t tcp_ooo_merge(struct tcp *t, struct block *b);

// tcp_ooo_drop: e holds nothing any more.
void tcp_ooo_drop(struct tcp *t, struct ext *e);

// ---- for tcp_ooo.c

// ooo_room: whether e, the record of block b, may take `need` buffers more; others may have to give
// up theirs. ooo_charge: it took them, or with a negative number gave some back. ooo_begin: e,
// which holds nothing, has a table from now on, charged. ooo_end: it holds nothing again; the pages
// are gone. ooo_refresh: it is the youngest of its source. ooo_heaviest: the source that holds
// most.
bool ooo_room(struct tcp *t, const struct block *b, struct ext *e, uint32_t need);
void ooo_charge(struct tcp *t, struct ext *e, int32_t bufs);
void ooo_begin(struct tcp *t, const struct block *b, struct ext *e);
void ooo_end(struct tcp *t, struct ext *e);
void ooo_refresh(struct tcp *t, struct ext *e);

static inline uint32_t ooo_heaviest(const struct tcp *t)
{
    return t->ooo_most[1];
}

// ooo_free_pages: gives back the pages from `ix` on that lie before `seq` (with has_end, else all);
// returns the first that stays, BUF_NONE: none.
uint32_t ooo_free_pages(struct tcp *t, struct ext *e, uint32_t ix, bool has_end, uint32_t seq);
