// SPDX-License-Identifier: BSD-3-Clause
// agent_msg.h: the messages between the agent's thread and its workers.
//
//     thread: owns sockets, descriptors, blocked calls       worker: owns its agent_conn structures
//       message lent with post() ------------------------>     executed at once, never blocks
//       agent_done_fn of the message <--------------------     ret: done, would block, or an error
//
// The thread owns a message and lends it, and the memory that it points to, to the worker from
// post() until the answer. Two messages begin at the worker: a connection that a listener accepted
// (agent_conn.arrived) and a datagram (datagram.msg). The thread returns those with CMD_CLOSE and
// CMD_DATAGRAM_BACK. Only CMD_WATCH stays at the worker for long: until an event on the connection.
#pragma once
#include "c10m/socket.h"
#include "c10m/thread.h"

struct agent;
struct agent_msg;
struct agent_conn;

enum agent_command {
    CMD_NUDGE,     // has no answer: the worker retries answers that a full ring refused
    CMD_FENCE,     // has no effect: all earlier messages of the worker arrive before the answer
    CMD_OPEN,      // active open
    CMD_LISTEN,    // begin to listen; ret: id of the listener at this worker
    CMD_RELISTEN,  // change backlog or defer_s
    CMD_UNLISTEN,
    CMD_ACCEPTED,  // an accept() took the connection
    CMD_READ,
    CMD_WRITE,
    CMD_SHUTDOWN,
    CMD_CLOSE,    // close and free the agent_conn; with close.linger, after all is acknowledged
    CMD_WATCH,    // answered when the connection has edges
    CMD_ERROR,    // ret: sk_err, cleared
    CMD_OPTIONS,  // set all options
    CMD_INFO,
    CMD_QUEUED,    // SIOCINQ, SIOCOUTQ
    CMD_UDP_OPEN,  // open a UDP port; ret: its id at this worker
    CMD_UDP_CLOSE,
    CMD_UDP_SEND,
    CMD_UDP_PEER,  // receive from udp.peer only; without has_peer from all
    CMD_UDP_MTU,   // ret: path MTU to udp.at, 0: no route; udp.peer: the source address
    CMD_JOIN,      // a group
    CMD_LEAVE,
    CMD_DATAGRAM_BACK,
    CMD_FORGET,    // close all connections, listeners and ports; ret -EAGAIN: not finished
    CMD_ARRIVED,   // from the worker: a listener's connection is established
    CMD_DATAGRAM,  // from the worker: a datagram, or an ICMP error about one of ours
    COMMANDS_N,
};

// Events on a connection since the last answer to CMD_WATCH, in poll's bits. All bits are set where
// Linux wakes all waiters.
enum { EDGE_ALL = 0xffff };

// The state of a connection for the thread: opening, established or later, or ended.
enum conn_state { CONN_OPENING, CONN_UP, CONN_OVER };

// agent_options: the socket options of a connection, in the units of the stack.
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
    uint8_t quickack;  // 0 or 1; applied once for each change of quickack_turn
    uint32_t quickack_turn;
    uint32_t nodelay_turn;  // each change pushes data that a cork holds
};

typedef void agent_done_fn(struct agent *a, struct agent_msg *m);

struct agent_msg {
    struct agent_msg *next;   // list of the side that holds the message
    agent_done_fn *done;      // runs on the thread when the answer arrives
    void *owner;              // for the thread: the object that `done` works on
    struct agent_conn *conn;  // of commands on a connection
    uint8_t command, worker;
    bool out;               // for the thread: a worker holds the message
    int64_t ret;            // at least 0, or -errno; -EAGAIN: would block
    uint32_t mask;          // poll's bits of the connection after the command
    enum conn_state state;  // likewise
    uint32_t edges;         // CMD_WATCH
    uint64_t begun_us;      // CMD_ARRIVED, CMD_DATAGRAM: when; of all workers' one clock
    union {
        struct {
            struct c10m_opening to;
            struct agent_options options;
            void *socket;  // the thread's, agent_conn.socket from now on
        } open;
        struct {
            struct c10m_listening at;
            struct agent_options options;
            void *socket;  // the thread's, of the listener
            int id;        // of CMD_RELISTEN and CMD_UNLISTEN
        } listen;
        struct {
            uint8_t *buf;  // NULL: bytes are thrown away
            uint32_t bytes;
            bool peek, more;
            bool record;  // the last byte ends a record (MSG_EOR)
            bool begun;   // the call has transferred bytes: an error is left for the next call
            bool last;    // read: no data and no event follow
        } io;
        struct {
            int how;  // bit 0: receiving, bit 1: sending
        } shutdown;
        struct {
            bool abort;                       // RST, whatever the state
            bool linger;                      // answered when all is acknowledged
            const struct agent_msg *waiting;  // not NULL: end the lingering of that message
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
            int id;  // of CMD_LEAVE: -1: this worker is not in it
        } group;
        struct c10m_packet packet;  // CMD_UDP_SEND
    };
};

// agent_conn: a connection as its worker sees it, from CMD_OPEN, or from the accepting worker's
// agent_open(), to CMD_CLOSE. The worker owns it. The thread reads `arrived`, `local` and `peer`
// from CMD_ARRIVED on; `socket` belongs to the thread.
struct agent_conn {
    struct agent_msg arrived;  // sent once, by accepted connections
    struct agent_conn *next;   // free ones
    void *socket;
    uint64_t handle;              // 0: the connection has ended
    struct agent_msg *watch;      // kept
    struct agent_msg *lingering;  // CMD_CLOSE kept
    uint32_t edges;               // events since the last answer to CMD_WATCH
    int error;                    // sk_err
    struct agent_options options;
    struct c10m_name local, peer;
    int listener;           // listener at this worker in whose queue it waits; -1: none
    uint32_t packet_first;  // bytes of a full packet when it was established
    uint32_t taken_first;   // c10m_send_taken when it was established
    uint64_t bytes_read;
    uint64_t sent_us, received_us, acked_us;  // when data was last sent, received, acknowledged
    uint32_t queued_at_end;                   // bytes that the peer had not acknowledged
    bool drained;                             // the peer has acknowledged all, FIN included
    bool used, up;                            // up: established
    bool over;                                // it ended; received bytes may still be read
    bool done;                                // the peer's FIN came: SOCK_DONE
    bool shut_in, shut_out;
    bool more;  // the last send said MSG_MORE
};

// datagram: a received datagram; with error, an ICMP error about a datagram that we sent to `to`,
// which Linux reports to a connected socket.
enum { AGENT_DATAGRAM_BYTES = 2048, AGENT_LARGE_BYTES = 65536 };

struct datagram {
    struct agent_msg msg;
    struct datagram *next;
    struct c10m_name from, to;
    int error;
    uint32_t bytes;
    unsigned device;  // device on which it arrived
    bool icmp;
    uint8_t ttl, tos;
    bool large;     // has AGENT_LARGE_BYTES
    uint8_t *data;  // memory of the worker
};
