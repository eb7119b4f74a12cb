// SPDX-License-Identifier: BSD-3-Clause
// conn_filter.h: the words by which an operator selects connections, in ctl/conn/kill and in
// prof/goroutine. Several terms select the connections that match all of them.
//
//     all
//     10.0.0.1:1234 10.0.0.2:80          both ends, in either order
//     local ADDR[:PORT] | local *:PORT
//     remote ADDR[/BITS][:PORT] | remote [ADDR6/BITS]:PORT | remote *:PORT
//     state NAME | service NAME | idle SECONDS
#pragma once
#include "server/server.h"

enum { CONN_FILTER_WORDS_MAX = 24 };

// conn_filter_parse: parses the line, which it changes. Returns 0, -EINVAL, or -ERANGE: a number is
// out of range. worker/order.h says what matches.
int conn_filter_parse(const struct server_params *p, char *line, struct kill_filter *out);

// conn_end: one end of connections.
struct conn_end {
    bool has_addr, has_port;
    struct ip_addr addr;
    unsigned bits;  // prefix length; the maximum of the family: one address
    uint16_t port;
};

// conn_end_parse: parses ADDR, ADDR/BITS, ADDR:PORT, [ADDR6]:PORT, *:PORT and their combinations;
// changes text. Returns 0, -EINVAL, or -ERANGE: a number is out of range.
int conn_end_parse(char *text, struct conn_end *out);
