// SPDX-License-Identifier: BSD-3-Clause
// feed.h: the measuring client: batches of valid TCP frames for N connections to one server, half
// of them requests with payload, half pure ACKs of the replies to the batch before.
//
//   batch k:    ACK of reply 1, request 1', ACK of reply 2, request 2', ...
//   server:                     reply 1'                   reply 2'
//
// A connection is asked again only after its reply was acknowledged. Every reply is checked: the
// right connection, sequence and acknowledgement numbers, IPv4 checksum, and the same payload.
#pragma once
#include "base/addr.h"
#include "bench/turn_loop.h"
#include "pkt/port.h"

enum {
    FEED_BATCH_MAX = 8192,
    FEED_PAYLOAD_MIN = 8,  // a mark that tells requests apart
    FEED_PAYLOAD_MAX = 1460,
    FEED_PORTS = 60000,  // client ports used of each client address, from FEED_PORT_FIRST on
    FEED_PORT_FIRST = 1024,
    FEED_TIMEOUT_S = 10,  // a server that is silent for so long has lost packets
};

enum feed_order { FEED_RANDOM, FEED_IN_TURN };

struct feed_params {
    struct port *port;  // the client's end
    uint16_t queue;     // of it
    struct pkt_pool *pool;
    struct turn_loop *server;
    struct mac_addr server_mac;
    uint32_t server_v4,
        client_v4;  // host order; connection i comes from client_v4 + i / FEED_PORTS
    uint16_t server_port;
    uint32_t connections;
    uint32_t batch;    // packets, even, at most connections and FEED_BATCH_MAX
    uint32_t payload;  // bytes of each request
    enum feed_order order;
    uint64_t seed;
    bool check_tcp_sum;  // the server fills in TCP checksums: check them
};

// feed_conn: the address of connection i, as the server sees it.
struct feed_conn {
    uint32_t remote_v4;
    uint16_t remote_port;
};

struct feed_conn feed_conn_at(const struct feed_params *p, uint32_t i);

enum {
    FEED_ISS = 0
};  // first sequence number on both sides when a connection is set up without SYN

struct feed;

// feed_new: client state (12 bytes a connection, ordinary memory) with every connection established
// at sequence number FEED_ISS + 1 both ways. params->port and the others outlive it.
struct feed *feed_new(const struct feed_params *params, struct err *err);
void feed_free(struct feed *f);

// feed_batch: one batch in lockstep. 0, or -1 with what was wrong with a reply. `did` gets the
// packets, cycles and turns of the server for this batch.
int feed_batch(struct feed *f, struct turn_loop_sums *did, struct err *err);

// feed_begin, feed_end: its halves: publishes it; waits for the server and checks the replies.
int feed_begin(struct feed *f, struct err *err);
int feed_end(struct feed *f, struct turn_loop_sums *did, struct err *err);

// feed_settle: acknowledges the last replies, so that the server has nothing in flight when it
// stands still. 0, or -1 and *err.
int feed_settle(struct feed *f, struct err *err);
