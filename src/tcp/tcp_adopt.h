// SPDX-License-Identifier: BSD-3-Clause
// tcp_adopt.h: continues the connections that an earlier process left in memory.
//
// Blocks, extension records, flight logs, buffers, half-open records and TIME-WAIT records hold no
// pointers except buf.at. Everything that finds or wakes them is built anew: flow table, wheel,
// free lists, sources, prefixes, holders of out-of-order data, gauges, the dirty list.
//
//   pass 1   each block and record: is it whole, and does it alone hold what it names
//            (tcp_adopt_judge.h)? If so, it enters the flow table; else it is freed and counted
//   pass 2   free lists, of what nobody holds
//   pass 3   the deadlines of each block enter the wheel
//
// A connection that was in hand, or that its application refuses (sock/sock_adopt.h), becomes one
// that sends a RST in the first turns and has nothing else (block_is_refused()): no buffer, and so
// no image. Any other refused one sends nothing: the peer's next segment finds no owner, and is
// answered with a RST. Control thread, or a thread for each worker, before the worker runs.
#pragma once
#include "tcp/tcp_worker.h"

// Why a connection is refused: X(NAME, its name in texts, help).
#define TCP_REFUSALS(X)                                                                            \
    X(STATE, "state", "its state or service does not exist")                                       \
    X(IN_HAND, "in_hand", "the process ended while it worked on this connection")                  \
    X(SERVICE, "service", "the application of its service does not go on in another process")      \
    X(KEY, "key",                                                                                  \
      "its local address does not exist, or another connection has its addresses and ports")       \
    X(NUMBERS, "numbers", "sequence numbers that contradict each other")                           \
    X(SEND_QUEUE, "send_queue",                                                                    \
      "the queue of data to send is broken, or others hold a part of it")                          \
    X(RECEIVE_QUEUE, "receive_queue",                                                              \
      "the queue of received data is broken, or others hold a part of it")                         \
    X(EXTENSION, "extension", "the extension record is broken, or of another connection")          \
    X(OUT_OF_ORDER, "out_of_order",                                                                \
      "the out-of-order data is broken, or others hold a part of it")                              \
    X(FLIGHT, "flight", "the flight log is broken, or of another connection")                      \
    X(TIMER, "timer", "a deadline further away than any timeout")                                  \
    X(ROOM, "room", "no room in the flow table, or within a limit of its service")                 \
    X(APP_STATE, "app_state",                                                                      \
      "its application does not understand its state, or cannot continue it")

#define TCP_REFUSAL_ENUM(name, text, help) TCP_REFUSED_##name,
enum tcp_refusal { TCP_ADOPTED, TCP_REFUSALS(TCP_REFUSAL_ENUM) TCP_REFUSAL_COUNT };
#undef TCP_REFUSAL_ENUM

// tcp_refusal_name: "send_queue"... tcp_refusal_help: its help.
const char *tcp_refusal_name(enum tcp_refusal r);
const char *tcp_refusal_help(enum tcp_refusal r);

struct tcp_adopt_params {
    uint32_t n_locals;  // local addresses: flow_key.local_ix is below
    uint32_t services;  // whose connections go on, one bit each
    // Whether the len bytes at `at` lie in an image of the service that this process has, too.
    // NULL: there are no images.
    bool (*is_image)(void *arg, uint8_t service, const uint8_t *at, uint32_t len);
    void *arg;
};

// tcp_adopted: the number of connections and records of each kind.
struct tcp_adopted {
    uint32_t connections, half_open, time_wait;
    uint32_t half_open_refused, time_wait_refused;
    uint32_t refused[TCP_REFUSAL_COUNT];  // by reason; [TCP_ADOPTED] is 0
};

// tcp_adopt_drop: refuses the connection of block b before tcp_adopt(): the process had it in hand
// when it ended (worker/hand.h). Of it nothing is believed but its addresses and ports, and for the
// RST the last numbers. Whether there was one that was not refused before.
bool tcp_adopt_drop(struct block *b);

// tcp_adopt_refuse: the same after tcp_adopt(), for connection ix of t: its application does not go
// on with it, and is told of nothing more. If the peer takes it for closed already, the block is
// free, but for a record in TIME-WAIT. If this process ends at any moment of it, the next one
// refuses the connection, or has it as it was.
void tcp_adopt_refuse(struct tcp *t, uint32_t ix);

// tcp_adopt_footprint: bytes of scratch memory for t, zeroed by the caller, aligned to 8.
size_t tcp_adopt_footprint(const struct tcp *t);

// tcp_adopt: t is set up as for a start, over memory that keeps what the earlier process wrote:
// keys, services, pools, and an empty flow table and wheel, but its time goes on. Fills *out. It
// may be repeated on the same memory after another such set-up: it changes no connection except by
// refusing it.
void tcp_adopt(struct tcp *t, const struct tcp_adopt_params *p, void *scratch,
               struct tcp_adopted *out);
