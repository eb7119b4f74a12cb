// SPDX-License-Identifier: BSD-3-Clause
// agent_worker.h: the part of the agent that runs on a worker: connections, listeners and
// datagrams. The worker owns these structures. agent_worker_new() allocates all of their memory.
#pragma once
#include "app/agent/agent_msg.h"

enum {
    AGENT_LISTENERS_MAX = C10M_LISTENING_MAX,
    AGENT_DATAGRAMS = 512,  // buffers for datagrams that the thread has not returned yet
    AGENT_LARGE = 16,       // buffers for datagrams longer than AGENT_DATAGRAM_BYTES
    FORGET_ROUNDS = 4,      // calls of c10m_forget() in one CMD_FORGET
};

struct agent_listener {
    bool used;
    int id;                        // of c10m_listen()
    void *socket;                  // tcp_port of the thread
    struct agent_options options;  // initial options of its connections
};

// X(name, help): counters of the application, counted on the workers.
#define AGENT_COUNTERS(X)                                                                          \
    X(ends_full, "connections reset or not opened because 2 * sockets_max connections of the "     \
                 "worker were in use")                                                             \
    X(datagrams_full, "datagrams and ICMP errors dropped because no buffer was free")              \
    X(datagrams_long, "datagrams dropped because they were longer than a buffer")                  \
    X(datagrams_over, "datagrams dropped because the queue of their socket had reached SO_RCVBUF") \
    X(groups_full, "groups not joined because the port had reached its maximum number of groups")  \
    X(datagrams_nobody, "datagrams dropped because their socket had just been closed")

enum agent_worker_count {
#define AGENT_COUNTER_ENUM(name, help) COUNT_##name,
    AGENT_COUNTERS(AGENT_COUNTER_ENUM)
#undef AGENT_COUNTER_ENUM
        WORKER_COUNTS_N,
};

struct agent_worker {
    struct c10m_service *s;
    struct c10m_core *w;  // the worker of the current callback
    unsigned id, n_conns;
    struct agent_options defaults;  // options of a connection before setsockopt()
    struct agent_conn *conns, *free_conns;
    struct datagram *free_datagrams, *free_large;
    struct datagram *datagrams;
    uint8_t *datagram_bytes;  // buffers of all datagrams
    struct agent_listener listeners[AGENT_LISTENERS_MAX];
    bool udp_open[C10M_UDP_PORTS_MAX];
    struct agent_msg *first, *last;  // answers that did not fit into the ring
    int counters[WORKER_COUNTS_N];   // numbers returned by c10m_counter()
    // Written by the worker, read by the thread. Not 0: answers wait for room in the ring.
    uint32_t refused;
};

// agent_worker_new: allocates the agent of one worker for at most n_conns connections. Returns NULL
// if there is no memory. Control thread.
struct agent_worker *agent_worker_new(struct c10m_service *s, unsigned id, unsigned n_conns,
                                      const struct agent_options *defaults,
                                      const int counters[WORKER_COUNTS_N]);
void agent_worker_free(struct agent_worker *g);

// agent_message: the application's `message`.
void agent_message(struct c10m_core *w, struct c10m_service *s, void *msg);

// worker_of, worker_of_conn: the agent of the worker that runs the callback. They also set its `w`.
struct agent_worker *worker_of(struct c10m_core *w, struct c10m_service *s);
struct agent_worker *worker_of_conn(struct c10m_conn *c);

// answer: returns the message to the thread; if the ring is full, queues it until the ring has
// room.
void answer(struct agent_worker *g, struct agent_msg *m);

// The commands. Each command answers its message, at once or later, unless its comment in
// agent_msg.h says otherwise.
void cmd_open(struct agent_worker *g, struct agent_msg *m);
void cmd_read(struct agent_worker *g, struct agent_msg *m);
void cmd_write(struct agent_worker *g, struct agent_msg *m);
void cmd_shutdown(struct agent_worker *g, struct agent_msg *m);
void cmd_close(struct agent_worker *g, struct agent_msg *m);
void cmd_watch(struct agent_worker *g, struct agent_msg *m);
void cmd_error(struct agent_worker *g, struct agent_msg *m);
void cmd_options(struct agent_worker *g, struct agent_msg *m);
void cmd_info(struct agent_worker *g, struct agent_msg *m);
void cmd_queued(struct agent_worker *g, struct agent_msg *m);
void cmd_accepted(struct agent_worker *g, struct agent_msg *m);
void cmd_listen(struct agent_worker *g, struct agent_msg *m);
void cmd_relisten(struct agent_worker *g, struct agent_msg *m);
void cmd_unlisten(struct agent_worker *g, struct agent_msg *m);
void cmd_udp_open(struct agent_worker *g, struct agent_msg *m);
void cmd_udp_close(struct agent_worker *g, struct agent_msg *m);
void cmd_udp_send(struct agent_worker *g, struct agent_msg *m);
void cmd_udp_peer(struct agent_worker *g, struct agent_msg *m);
void datagram_back(struct agent_worker *g, struct datagram *d);
void cmd_udp_mtu(struct agent_worker *g, struct agent_msg *m);
void cmd_datagram_back(struct agent_worker *g, struct agent_msg *m);
void cmd_join(struct agent_worker *g, struct agent_msg *m);
void cmd_leave(struct agent_worker *g, struct agent_msg *m);
void cmd_forget(struct agent_worker *g, struct agent_msg *m);

// The application's callbacks on connections.
void agent_open(struct c10m_conn *c);
void agent_readable(struct c10m_conn *c);
void agent_writable(struct c10m_conn *c);
void agent_drained(struct c10m_conn *c);
void agent_close(struct c10m_conn *c, enum c10m_close why);

// The application's callbacks on datagrams.
bool agent_packet(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p);
void agent_packet_error(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p,
                        const struct c10m_packet_error *error);

// agent_conn_new: allocates an agent_conn from the pool and initializes it. Returns NULL if none is
// free, and counts that. agent_conn_free: returns it to the pool. agent_conn_stack: the connection
// of the stack; NULL: it has ended.
struct agent_conn *agent_conn_new(struct agent_worker *g);
void agent_conn_free(struct agent_worker *g, struct agent_conn *ac);
struct c10m_conn *agent_conn_stack(struct agent_worker *g, struct agent_conn *ac);

// agent_conn_dequeue: removes ac from the accept queue of its listener, if it is in one.
void agent_conn_dequeue(struct agent_worker *g, struct agent_conn *ac);

// agent_conn_event: reports edges (poll() bits): answers the waiting CMD_WATCH, or stores them for
// the next one.
void agent_conn_event(struct agent_worker *g, struct agent_conn *ac, uint32_t edges);

// agent_conn_answer: answers a message on a connection with ret and the connection's poll() bits
// and state.
void agent_conn_answer(struct agent_worker *g, struct agent_msg *m, int64_t ret);

// agent_conn_mask: the poll() bits of the connection (Linux's tcp_poll()). If there is no room to
// send, it also requests the callback `writable`.
uint32_t agent_conn_mask(struct agent_worker *g, struct agent_conn *ac);

// agent_conn_apply: sets the options in `to` that differ from ac->options. Returns 0, or the first
// -errno.
int agent_conn_apply(struct agent_conn *ac, struct c10m_conn *c, const struct agent_options *to);

// count: increments a counter of the application.
void count(struct agent_worker *g, enum agent_worker_count which);

// listener_of: the listener with this id of c10m_listen(). NULL: it was closed. listeners_end:
// closes all listeners.
struct agent_listener *listener_of(struct agent_worker *g, int id);
void listeners_end(struct agent_worker *g);

void udp_end(struct agent_worker *g);
