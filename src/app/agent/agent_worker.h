// SPDX-License-Identifier: BSD-3-Clause
// agent_worker.h: the agent on a worker: the connections' ends, the listeners, the datagrams. All
// of it is one worker's, placed by agent_worker_init and never grown.
#pragma once
#include "app/agent/agent_msg.h"

enum {
    AGENT_LISTENERS_MAX = C10M_LISTENING_MAX,
    AGENT_DATAGRAMS = 512,  // at the thread, or on their way to it
    AGENT_LARGE = 16,       // the same, those longer than AGENT_DATAGRAM_BYTES
    FORGET_ROUNDS = 4,      // of work in one VERB_FORGET
};

struct agent_listener {
    bool used;
    int id;                        // of c10m_listen
    void *socket;                  // the thread's
    struct agent_options options;  // those that its connections begin with
};

// X(name, help): counters of the application, counted on the workers.
#define AGENT_COUNTERS(X)                                                                          \
    X(ends_full, "connections reset or not opened since sockets_max of the worker were in use")    \
    X(datagrams_full, "datagrams, and errors about some, that found no buffer")                    \
    X(datagrams_long, "datagrams dropped since they were longer than a buffer")                    \
    X(datagrams_over, "datagrams dropped since their socket had as many as SO_RCVBUF allows")      \
    X(groups_full, "groups not joined since their port is in as many as it can be")                \
    X(datagrams_nobody, "datagrams dropped that came when their socket had just gone")

enum agent_worker_count {
#define AGENT_COUNTER_ENUM(name, help) COUNT_##name,
    AGENT_COUNTERS(AGENT_COUNTER_ENUM)
#undef AGENT_COUNTER_ENUM
        WORKER_COUNTS_N,
};

struct agent_worker {
    struct c10m_service *s;
    struct c10m_core *w;  // of the present callback
    unsigned id, n_ends;
    struct agent_options defaults;  // of a connection whose options nobody set
    struct end *ends, *free_ends;
    struct datagram *free_datagrams, *free_large;
    struct datagram *datagrams;
    uint8_t *datagram_bytes;  // of all of them
    struct agent_listener listeners[AGENT_LISTENERS_MAX];
    bool udp_open[C10M_UDP_PORTS_MAX];
    struct agent_msg *first, *last;  // answers that the full ring refused
    int counters[WORKER_COUNTS_N];   // numbers of c10m_counter
    // Written by the worker, read by the thread: whether `first` waits for the ring.
    uint32_t refused;
};

// agent_worker_new: all of one worker's, with n_ends connections at most; NULL: no memory. Control
// thread.
struct agent_worker *agent_worker_new(struct c10m_service *s, unsigned id, unsigned n_ends,
                                      const struct agent_options *defaults,
                                      const int counters[WORKER_COUNTS_N]);
void agent_worker_free(struct agent_worker *g);

// agent_message: the application's `message`.
void agent_message(struct c10m_core *w, struct c10m_service *s, void *msg);

// worker_of: the worker's part, from a callback; worker_of_conn: and its core.
struct agent_worker *worker_of(struct c10m_core *w, struct c10m_service *s);
struct agent_worker *worker_of_conn(struct c10m_conn *c);

// answer: gives the message back to the thread, or keeps it until the ring has room.
void answer(struct agent_worker *g, struct agent_msg *m);

// The verbs, each of which answers its message, now or later.
void verb_open(struct agent_worker *g, struct agent_msg *m);
void verb_read(struct agent_worker *g, struct agent_msg *m);
void verb_write(struct agent_worker *g, struct agent_msg *m);
void verb_shutdown(struct agent_worker *g, struct agent_msg *m);
void verb_close(struct agent_worker *g, struct agent_msg *m);
void verb_watch(struct agent_worker *g, struct agent_msg *m);
void verb_error(struct agent_worker *g, struct agent_msg *m);
void verb_options(struct agent_worker *g, struct agent_msg *m);
void verb_info(struct agent_worker *g, struct agent_msg *m);
void verb_queued(struct agent_worker *g, struct agent_msg *m);
void verb_accepted(struct agent_worker *g, struct agent_msg *m);
void verb_listen(struct agent_worker *g, struct agent_msg *m);
void verb_relisten(struct agent_worker *g, struct agent_msg *m);
void verb_unlisten(struct agent_worker *g, struct agent_msg *m);
void verb_udp_open(struct agent_worker *g, struct agent_msg *m);
void verb_udp_close(struct agent_worker *g, struct agent_msg *m);
void verb_udp_send(struct agent_worker *g, struct agent_msg *m);
void verb_udp_peer(struct agent_worker *g, struct agent_msg *m);
void datagram_back(struct agent_worker *g, struct datagram *d);
void verb_udp_mtu(struct agent_worker *g, struct agent_msg *m);
void verb_datagram_back(struct agent_worker *g, struct agent_msg *m);
void verb_join(struct agent_worker *g, struct agent_msg *m);
void verb_leave(struct agent_worker *g, struct agent_msg *m);
void verb_forget(struct agent_worker *g, struct agent_msg *m);

// The application's callbacks on connections.
void agent_open(struct c10m_conn *c);
void agent_readable(struct c10m_conn *c);
void agent_writable(struct c10m_conn *c);
void agent_drained(struct c10m_conn *c);
void agent_close(struct c10m_conn *c, enum c10m_close why);

// ... and on datagrams.
bool agent_packet(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p);
void agent_packet_error(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p,
                        const struct c10m_packet_error *error);

// end_new: a free one, all zero but its pool's fields; NULL: none left, counted. end_free: back
// into the pool. end_conn: the connection that it has; NULL: none.
struct end *end_new(struct agent_worker *g);
void end_free(struct agent_worker *g, struct end *e);
struct c10m_conn *end_conn(struct agent_worker *g, struct end *e);

// end_leave_queue: a listener's, if it waits in one to be accepted.
void end_leave_queue(struct agent_worker *g, struct end *e);

// end_event: something happened: answers the watch, or keeps the edges (poll's bits) for it.
void end_event(struct agent_worker *g, struct end *e, uint32_t edges);

// end_answer: answers a message about a connection, with poll's bits as they are now.
void end_answer(struct agent_worker *g, struct agent_msg *m, int64_t ret);

// end_mask: what poll says of it (Linux's tcp_poll). Asks for `writable` where there is no room.
uint32_t end_mask(struct agent_worker *g, struct end *e);

// end_apply: brings the connection's options from e->options to `to`; 0, or the first -errno.
int end_apply(struct end *e, struct c10m_conn *c, const struct agent_options *to);

// count: one of the application's counters.
void count(struct agent_worker *g, enum agent_worker_count which);

// listener_of: by the id of c10m_listen; NULL: unlistened meanwhile. listeners_end: all of them.
struct agent_listener *listener_of(struct agent_worker *g, int id);
void listeners_end(struct agent_worker *g);

void udp_end(struct agent_worker *g);
