// SPDX-License-Identifier: BSD-3-Clause
// agent_msg.h: what the agent's thread and its workers tell each other.
//
//     thread: owns sockets, descriptors, blocked calls       worker: owns connections (struct end)
//       message lent with post() ------------------------>     executed at once, never blocks
//       agent_done_fn of the message <--------------------     ret: done, would block, or an error
//
// A message belongs to the thread and is lent to the worker from post() to the answer; so is the
// memory that it points to. Two exceptions begin at the worker: a connection that a listener
// accepted (end.arrived) and a datagram (datagram.msg); the thread gives those back by
// VERB_CLOSE and VERB_DATAGRAM_BACK. VERB_WATCH is the one message that a worker keeps: until
// something happens to the connection.
#pragma once
#include "c10m/socket.h"
#include "c10m/thread.h"

struct agent;
struct agent_msg;
struct end;

enum agent_verb {
    VERB_NUDGE,     // not answered: the worker tries again to send what a full ring refused
    VERB_FENCE,     // nothing: what the worker had to say before it comes before the answer
    VERB_OPEN,      // active open
    VERB_LISTEN,    // this worker listens; ret: its id
    VERB_RELISTEN,  // backlog or defer_s anew
    VERB_UNLISTEN,
    VERB_ACCEPTED,  // a call took the connection
    VERB_READ,
    VERB_WRITE,
    VERB_SHUTDOWN,
    VERB_CLOSE,    // the end of struct end; with linger_ms kept until all is acknowledged
    VERB_WATCH,    // kept until the connection's edges are not 0
    VERB_ERROR,    // ret: sk_err, cleared
    VERB_OPTIONS,  // all options anew
    VERB_INFO,
    VERB_QUEUED,    // SIOCINQ, SIOCOUTQ
    VERB_UDP_OPEN,  // ret: its id
    VERB_UDP_CLOSE,
    VERB_UDP_SEND,
    VERB_UDP_PEER,  // only what udp.peer sends comes to the port; without one all
    VERB_UDP_MTU,  // ret: bytes of a packet to udp.at that arrive whole, 0: no way there; udp.peer:
                   // the address that it leaves from
    VERB_JOIN,     // a group
    VERB_LEAVE,
    VERB_DATAGRAM_BACK,
    VERB_FORGET,    // all connections, listeners, ports end; ret -EAGAIN: more to do
    VERB_ARRIVED,   // from the worker: a listener's connection is established
    VERB_DATAGRAM,  // from the worker: a datagram, or an ICMP error about one of ours
    VERB_COUNT,
};

// What happened at a connection since the last answer of VERB_WATCH; poll's own bits, and all of
// them where Linux wakes everybody.
enum { EDGE_ALL = 0xffff };

// Where a connection stands, for the thread: still opening, established (or later), or ended.
enum end_state { END_OPENING, END_UP, END_OVER };

// agent_options: what a connection's socket options come to, in the units of the stack.
struct agent_options {
    uint32_t rcv_limit, snd_limit;
    uint32_t lowat;          // SO_RCVLOWAT, at least 1
    uint32_t notsent_lowat;  // 0: off
    uint32_t keepalive_ms;   // 0: off
    uint32_t keepalive_interval_ms, keepalive_probes;
    uint32_t user_timeout_ms;  // 0: off
    uint32_t linger2_ms;
    uint32_t window_clamp;  // 0: none
    uint16_t maxseg;        // 0: the port's
    uint8_t syn_retries;
    uint8_t nodelay, cork, congestion, ttl, tos, df;
    uint8_t quickack;  // 0 or 1; told once for each change of quickack_turn
    uint32_t quickack_turn;
    uint32_t nodelay_turn;  // likewise: each pulls what a cork holds
};

typedef void agent_done_fn(struct agent *a, struct agent_msg *m);

struct agent_msg {
    struct agent_msg *next;  // in a list of whoever holds it
    agent_done_fn *done;     // on the thread, when it has come back
    void *owner;             // the thread's: what `done` belongs to
    struct end *end;         // of the verbs about a connection
    uint8_t verb, worker;
    bool out;              // the thread's: it is lent
    int64_t ret;           // at least 0, or -errno; -EAGAIN: would block
    uint32_t mask;         // poll's of the connection, after the verb
    enum end_state state;  // likewise
    uint32_t edges;        // VERB_WATCH
    uint64_t begun_us;     // VERB_ARRIVED, VERB_DATAGRAM: when; of all workers' one clock
    union {
        struct {
            struct c10m_opening to;
            struct agent_options options;
            void *socket;  // the thread's, end.socket from now on
        } open;
        struct {
            struct c10m_listening at;
            struct agent_options options;
            void *socket;  // the thread's, of the listener
            int id;        // of VERB_RELISTEN and VERB_UNLISTEN
        } listen;
        struct {
            uint8_t *buf;  // NULL: bytes are thrown away
            uint32_t bytes;
            bool peek, more;
            bool record;  // the last byte ends one (MSG_EOR)
            bool begun;   // bytes went already: an error stays for the next call
            bool last;    // of a read: nothing follows what it got
        } io;
        struct {
            int how;  // bit 0: receiving, bit 1: sending
        } shutdown;
        struct {
            bool abort;                       // RST, whatever the state
            bool linger;                      // answered when all is acknowledged
            const struct agent_msg *waiting;  // not NULL: that one need not wait any longer
        } close;
        struct agent_options options;
        struct {
            struct c10m_info stack;
            uint64_t bytes_acked, bytes_received;
            uint32_t sent_ms, received_ms, acked_ms;  // ago
        } info;
        struct {
            uint32_t in, out, unsent;
        } queued;
        struct {
            struct c10m_name at, peer;
            bool v6only, has_peer, icmp;
            unsigned device;
            int id;
        } udp;
        struct {
            uint8_t addr[16];
            unsigned device;
            int id;  // of VERB_LEAVE: -1: this worker is not in it
        } group;
        struct c10m_packet packet;  // VERB_UDP_SEND
    };
};

// end: a connection as its worker sees it, from the open, or `open` of an accepted one, to
// VERB_CLOSE. The worker's alone, but for `arrived`, `local` and `peer`, which the thread reads
// from VERB_ARRIVED on, and `socket`, which is the thread's.
struct end {
    struct agent_msg arrived;  // of accepted ones: told once
    struct end *next;          // free ones
    void *socket;
    uint64_t handle;              // 0: there is no connection any more
    struct agent_msg *watch;      // kept
    struct agent_msg *lingering;  // VERB_CLOSE kept
    uint32_t edges;               // since the last watch was answered
    int error;                    // sk_err
    struct agent_options options;
    struct c10m_name local, peer;
    int listener;           // in whose queue it is, at this worker; -1: in none (any more)
    uint32_t packet_first;  // bytes of a full packet when it was established
    uint32_t taken_first;   // c10m_send_taken when it was established
    uint64_t bytes_read;
    uint64_t sent_us, received_us, acked_us;  // when data left, came, was acknowledged last
    uint32_t queued_at_end;                   // bytes that the peer had not acknowledged
    bool drained;                             // the peer has acknowledged all, FIN included
    bool used, up;                            // up: established
    bool over;                                // it ended, with bytes that may still be read
    bool done;                                // the peer's FIN came: SOCK_DONE
    bool shut_in, shut_out;
    bool more;  // the last send said MSG_MORE
};

// datagram: as it came, or, with error, what ICMP said about one of ours (to: the peer) that
// Linux tells a connected socket.
enum { AGENT_DATAGRAM_BYTES = 2048, AGENT_LARGE_BYTES = 65536 };

struct datagram {
    struct agent_msg msg;
    struct datagram *next;
    struct c10m_name from, to;
    int error;
    uint32_t bytes;
    unsigned device;  // by which it came
    bool icmp;
    uint8_t ttl, tos;
    bool large;     // has AGENT_LARGE_BYTES
    uint8_t *data;  // of the worker's
};
