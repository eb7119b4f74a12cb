// SPDX-License-Identifier: BSD-3-Clause
// fake_socket.h: the stack as the agent sees it, without a stack: the test plays the network. A
// worker does what was posted to it when fake_turn is called; a connection is what its peer, the
// test, makes of it. One at a time.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "c10m/socket.h"
#include "c10m/thread.h"

enum {
    FAKE_CONNS_MAX = 64,
    FAKE_LISTENERS_MAX = 32,
    FAKE_QUEUE_BYTES = 1 << 12,
    FAKE_TIME_WAIT_MS = 500
};

struct c10m_conn {
    _Alignas(64) uint8_t state[C10M_STATE_BYTES];
    bool used, up, peer_fin, shut, closed, aborted, want_write;
    bool no_record;  // none is left for what it does not read
    uint64_t handle;
    unsigned worker;
    int listener, error;
    struct c10m_name local, peer;
    uint8_t in[FAKE_QUEUE_BYTES];  // from the peer, not read
    uint32_t n_in;
    uint32_t out, acked;  // bytes sent in all, and acknowledged
    uint32_t room_max;    // that may be on their way
    uint32_t record;      // bytes sent when a record ended last
};

// fake_start: a server of so many workers; NULL params: none. fake_end: it is gone.
struct c10m_service *fake_start(const struct c10m_app *app, unsigned workers, uint32_t ring);
void fake_end(void);
// fake_turn: each worker takes all that was posted.
void fake_turn(void);

// fake_conn: the i-th connection, NULL: there is none.
struct c10m_conn *fake_conn(unsigned i);
unsigned fake_posted(void);  // messages at the workers that were not answered: none after a turn
unsigned fake_listeners(void);
unsigned fake_waiting(void);  // connections in their queues
unsigned fake_udp_ports(void);

// fake_joined: groups that the workers are in, each once a worker.
unsigned fake_joined(void);
unsigned fake_forgotten(void);  // workers that forgot
uint16_t fake_listening_port(unsigned i);
uint32_t fake_backlog(void);  // of the first listener

// What the network does. fake_arrive: a peer's handshake with whoever listens on the port; NULL:
// nobody. fake_established: of an active open. fake_data: the peer sends n bytes; returns those
// that fit. fake_lost: the connection ends with this errno. fake_ack: all is acknowledged.
struct c10m_conn *fake_arrive(unsigned worker, uint16_t port);
void fake_established(struct c10m_conn *c);
uint32_t fake_data(struct c10m_conn *c, const void *data, uint32_t n);
void fake_fin(struct c10m_conn *c);
void fake_lost_by(struct c10m_conn *c, int error);
void fake_ack(struct c10m_conn *c);
bool fake_datagram(unsigned worker, uint16_t to_port, const void *data, size_t n);
void fake_datagram_error(unsigned worker, uint16_t from_port, int error);
