// SPDX-License-Identifier: BSD-3-Clause
// connections.h: the tables of connections as streams of text: net/tcp, net/tcp6, net/tcp_info, and
// the small net/udp. Control thread; the workers go on meanwhile and are not asked (tcp/tcp_view.h
// says how a line is taken and what may be inconsistent).
//
//   listeners --> worker 0: half-open, connections, TIME-WAIT --> worker 1: ... --> end
//
// A call looks at CONN_LOOKS_MAX places at most (conn_walk.h), free ones included, and so takes a
// millisecond or less, however many there are; it may end without a line.
#pragma once
#include "server/conn_walk.h"

enum conns_table { CONNS_TCP4, CONNS_TCP6, CONNS_INFO };

// conns_cursor: where a reader is; all zero: at the beginning.
struct conns_cursor {
    uint32_t step;   // head, listeners, those opened at run time, then the workers
    uint32_t place;  // of listeners
    struct conn_place conn;
    uint32_t line;  // of net/tcp: Linux's `sl`
};

// conns_next: appends the lines that follow to out, as many as find room. False: that was the last
// one.
bool conns_next(const struct server *s, enum conns_table table, struct conns_cursor *at,
                struct text *out);

// udp_render: net/udp, or net/udp6: a line for each UDP port that is served, those that are open
// behind those of the configuration; one that several workers opened once.
void udp_render(const struct server *s, bool v6, struct text *out);
