// SPDX-License-Identifier: BSD-3-Clause
// conn_tally.h: what the connections of a worker hold of its pools, by service and state. Found by
// a walk over them (server/conn_walk.h) while the worker goes on, so that each count may be off by
// what changes meanwhile.
#pragma once
#include "server/conn_walk.h"

// X(name, pool, what): pool: as mem/pools names it. what: one of them, for a reader.
#define CONN_TALLY_TABLE(X)                                                                        \
    X(BLOCK, "blocks", "connection block")                                                         \
    X(SYN, "syn_records", "half-open record")                                                      \
    X(TIME_WAIT, "time_wait", "TIME-WAIT record")                                                  \
    X(TIME_WAIT6, "time_wait6", "TIME-WAIT record over IPv6")                                      \
    X(EXT, "extensions", "extension record")                                                       \
    X(FLIGHT, "flight_logs", "flight log")                                                         \
    X(FLIGHT_LARGE, "flight_logs_large", "large flight log")                                       \
    X(SEND, "buffers", "send queue")                                                               \
    X(RECEIVE, "buffers", "receive queue")                                                         \
    X(OUT_OF_ORDER, "buffers", "out-of-order data")                                                \
    X(REFERENCE, "references", "image in the send queue")

enum tally {
#define CONN_TALLY_ENUM(name, pool, what) TALLY_##name,
    CONN_TALLY_TABLE(CONN_TALLY_ENUM)
#undef CONN_TALLY_ENUM
        TALLIES
};

struct tally_name {
    const char *pool, *what;
};
extern const struct tally_name tally_names[TALLIES];

enum {
    TALLY_NO_SERVICE = TCP_SERVICES_MAX,  // a TIME-WAIT record does not tell its service
    TALLY_QUEUE_MAX = 4096,  // buffers of a queue that are counted, 8 MiB: it may change meanwhile
};

// conn_tally: of one worker.
struct conn_tally {
    uint64_t n[TALLY_NO_SERVICE + 1][TCP_STATE_COUNT][TALLIES];
};

// conn_tally_take: adds to the zeroed of_workers[server_workers(s)], until *over. Not for the
// control thread: ten million connections take about a second.
void conn_tally_take(const struct server *s, const struct shared_bool *over,
                     struct conn_tally *of_workers);
