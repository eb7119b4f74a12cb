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
    CMD_FLUSH,     // has no answer: the worker sends answers again that did not fit into the ring
    CMD_FENCE,     // no operation: all earlier messages of the worker arrive before the answer
    CMD_OPEN,      // active open; ret: as c10m_open()
    CMD_LISTEN,    // begin to listen; ret: id of the listener at this worker
    CMD_RELISTEN,  // change backlog or defer_s
    CMD_UNLISTEN,
    CMD_ACCEPTED,  // accept() has returned the connection
    CMD_READ,
    CMD_WRITE,
    CMD_SHUTDOWN,
    CMD_CLOSE,  // close and free the agent_conn; with close.linger, after the peer has acknowledged
                // all
    CMD_WATCH,  // answered when the connection has edges
    CMD_ERROR,  // returns and clears sk_err in ret
    CMD_OPTIONS,  // set all options
    CMD_INFO,
    CMD_QUEUED,    // SIOCINQ, SIOCOUTQ
    CMD_UDP_OPEN,  // open a UDP port; ret: its id at this worker
    CMD_UDP_CLOSE,
    CMD_UDP_SEND,
    CMD_UDP_PEER,  // receive from udp.peer only; without has_peer, from all senders
    CMD_UDP_MTU,   // ret: path MTU to udp.at, 0: no route; udp.peer is set to the source address
    CMD_JOIN,      // join a multicast group
    CMD_LEAVE,
    CMD_DATAGRAM_BACK,
    CMD_FORGET,    // close all connections, listeners and ports; ret -EAGAIN: not finished
    CMD_ARRIVED,   // from the worker: a listener's connection is established
    CMD_DATAGRAM,  // from the worker: a datagram, or an ICMP error about a datagram that was sent
    COMMANDS_N,
};

// Events on a connection since the last answer to CMD_WATCH, as poll() bits. EDGE_ALL: an event for
// which Linux wakes all waiters.
enum { EDGE_ALL = 0xffff };

// The state of a connection: opening, established or later, ended.
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
    uint16_t maxseg;        // 0: the default of the port
    uint8_t syn_retries;
    uint8_t nodelay, cork, congestion, ttl, tos, df;
    uint8_t quickack;  // 0 or 1; applied each time quickack_turn changes
    uint32_t quickack_turn;
    uint32_t nodelay_turn;  // each change sends the data that TCP_CORK holds
};

typedef void agent_done_fn(struct agent *a, struct agent_msg *m);

struct agent_msg {
    struct agent_msg *next;   // list of the thread or worker that holds the message
    agent_done_fn *done;      // called on the thread when the answer arrives
    void *owner;              // used by the thread: the object for `done`
    struct agent_conn *conn;  // in commands on a connection
    uint8_t command, worker;
    bool out;               // used by the thread: a worker holds the message
    int64_t ret;            // at least 0, or -errno; -EAGAIN: would block
    uint32_t mask;          // poll() bits of the connection after the command
    enum conn_state state;  // state of the connection after the command
    uint32_t edges;         // CMD_WATCH
    // CMD_ARRIVED, CMD_DATAGRAM: time of the event; all workers use the same clock
    uint64_t begun_us;
    union {
        struct {
            struct c10m_opening to;
            struct agent_options options;
            void *socket;  // socket of the thread, stored in agent_conn.socket
        } open;
        struct {
            struct c10m_listening at;
            struct agent_options options;
            void *socket;  // tcp_port of the thread
            int id;        // in CMD_RELISTEN and CMD_UNLISTEN
        } listen;
        struct {
            uint8_t *buf;  // NULL: the bytes are discarded (MSG_TRUNC)
            uint32_t bytes;
            bool peek, more;
            bool record;  // the last byte ends a record (MSG_EOR)
            bool begun;   // the call has already transferred bytes: leave an error to the next call
            bool last;    // in the answer to a read: no data follows
        } io;
        struct {
            int how;  // bit 0: receive direction, bit 1: send direction
        } shutdown;
        struct {
            bool abort;   // send RST in every state
            bool linger;  // answer when the peer has acknowledged all data and the FIN
            const struct agent_msg *waiting;  // not NULL: stop waiting for this earlier CMD_CLOSE
        } close;
        struct agent_options options;
        struct {
            struct c10m_info stack;
            uint64_t bytes_acked, bytes_received;
            uint32_t sent_ms, received_ms, acked_ms;  // ms since the event
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
            int id;  // in CMD_LEAVE; -1: this worker has not joined
        } group;
        struct c10m_packet packet;  // CMD_UDP_SEND
    };
};

// agent_conn: a connection on its worker. It exists from CMD_OPEN, or from agent_open() of a
// passive open, to CMD_CLOSE. The worker owns it. The thread reads `arrived`, `local` and `peer`
// after CMD_ARRIVED; `socket` belongs to the thread.
struct agent_conn {
    struct agent_msg arrived;  // CMD_ARRIVED, sent once after a passive open
    struct agent_conn *next;   // in the list of free agent_conns
    void *socket;
    uint64_t handle;              // 0: the connection has ended
    struct agent_msg *watch;      // CMD_WATCH that waits for an event
    struct agent_msg *lingering;  // CMD_CLOSE that waits for the last ACK
    uint32_t edges;               // events since the last answer to CMD_WATCH
    int error;                    // sk_err
    struct agent_options options;
    struct c10m_name local, peer;
    int listener;           // id of the listener in whose accept queue it waits; -1: none
    uint32_t packet_first;  // path MTU when it was established, bytes
    uint32_t taken_first;   // c10m_send_taken() when it was established
    uint64_t bytes_read;
    uint64_t sent_us, received_us, acked_us;  // times of the last data sent, received, acknowledged
    uint32_t queued_at_end;                   // bytes not acknowledged when it ended
    bool drained;                             // the peer has acknowledged all data and the FIN
    bool used, up;                            // up: established
    bool over;                                // ended; received bytes may still be read
    bool done;                                // FIN received: Linux's SOCK_DONE
    bool shut_in, shut_out;
    bool more;  // the last send had MSG_MORE
};

// datagram: a received datagram. With `error` not 0: an ICMP error about a datagram that was sent
// to `to`; Linux reports it to a connected socket.
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
    bool large;     // the buffer has AGENT_LARGE_BYTES
    uint8_t *data;  // memory of the worker
};
