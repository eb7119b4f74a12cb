// SPDX-License-Identifier: BSD-3-Clause
// feed.h: the measuring client. It sends batches of valid TCP frames for N connections to a server:
// half are requests with payload, half are pure ACKs of the replies to the previous batch.
//
//   batch k:    ACK of reply 1, request 1', ACK of reply 2, request 2', ...
//   server:                     reply 1'                   reply 2'
//
// The next request on a connection follows only after its reply was acknowledged. All replies are
// checked: connection, sequence and acknowledgment numbers, IPv4 checksum, and payload.
#pragma once
#include "base/addr.h"
#include "bench/turn_loop.h"
#include "pkt/port.h"

enum {
    FEED_BATCH_MAX = 8192,
    FEED_PAYLOAD_MIN = 8,  // bytes of the mark that identifies a request
    FEED_PAYLOAD_MAX = 1460,
    FEED_PORTS = 60000,  // ports used per client address, from FEED_PORT_FIRST
    FEED_PORT_FIRST = 1024,
    FEED_TIMEOUT_S = 10,  // the server has lost packets if it is silent for this time
};

enum feed_order { FEED_RANDOM, FEED_IN_TURN };

struct feed_params {
    struct port *port;  // the client's end
    uint16_t queue;     // queue of the port
    struct pkt_pool *pool;
    struct turn_loop *server;
    struct mac_addr server_mac;
    uint32_t server_v4,
        client_v4;  // host byte order; the address of connection i is client_v4 + i / FEED_PORTS
    uint16_t server_port;
    uint32_t connections;
    uint32_t batch;    // packets; even, at most `connections` and FEED_BATCH_MAX
    uint32_t payload;  // bytes of each request
    enum feed_order order;
    uint64_t seed;
    bool check_tcp_sum;  // check TCP checksums, because the server computes them
};

// feed_conn: address and port of a connection, from the view of the server.
struct feed_conn {
    uint32_t remote_v4;
    uint16_t remote_port;
};

struct feed_conn feed_conn_at(const struct feed_params *p, uint32_t i);

enum {
    FEED_ISS = 0
};  // first sequence number on both sides when a connection is set up without SYN

struct feed;

// feed_new: creates the client state (12 bytes per connection, in 4 KiB pages) with all
// connections established with sequence number FEED_ISS + 1 in both directions. The objects in
// *params must outlive it. Returns NULL with the reason in *err on failure.
struct feed *feed_new(const struct feed_params *params, struct err *err);
void feed_free(struct feed *f);

// feed_batch: sends one batch in lockstep. Sets *did to the packets, cycles and turns of the server
// for the batch. Returns 0, or -1 with the reason in *err, such as a wrong reply.
int feed_batch(struct feed *f, struct turn_loop_sums *did, struct err *err);

// feed_begin, feed_end: the two parts of feed_batch(): send the batch; wait for the server and
// check the replies.
int feed_begin(struct feed *f, struct err *err);
int feed_end(struct feed *f, struct turn_loop_sums *did, struct err *err);

// feed_settle: acknowledges the last replies, so that the server has no data in flight when it
// stands still. Returns 0, or -1 with the reason in *err.
int feed_settle(struct feed *f, struct err *err);
