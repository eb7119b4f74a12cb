// SPDX-License-Identifier: BSD-3-Clause
// load.h: a TCP client for very many connections. A connection needs 32 bytes. Its index is
// computed from the destination address and port of a received segment, without a table or list.
//
//   connection i  =  client address first + i / LOAD_PORTS (in its last 32 bits),
//                    port LOAD_PORT_FIRST + i % LOAD_PORTS
//
//   CLOSED --SYN--> OPENING --SYN-ACK / ACK--> IDLE --request--> ASKED --answer / pure ACK--> IDLE
//                                                |                               (next round)
//             FIN_WAIT <--FIN---------------------+
//                | FIN and ACK / ACK: TIME_WAIT;  ACK: FIN_WAIT2 --FIN / ACK--> TIME_WAIT
//                | FIN / ACK: CLOSING --ACK--> TIME_WAIT
//   RST, unexpected FIN or data, LOAD_TRIES_MAX tries without answer: FAILED
//
// The last `tuples` connections are full connections: each is opened, sends one request and is
// closed; then its address and port are used again. It sends its request with the last ACK of the
// handshake. After the answer the client closes, or waits until the server closes:
//
//   ... ASKED --answer / FIN--> FIN_WAIT --...--> TIME_WAIT of the client: time_wait_ms
//   ... ASKED --answer--> ENDING --FIN / FIN--> LAST_ACK --ACK--> DONE: the server has TIME-WAIT,
//                                and accepts a newer SYN in it (RFC 6191, RFC 1122 4.2.2.13)
//
// Connections are opened after the MAC address of the next hop is known, by ARP or Neighbor
// Discovery. The client answers requests of both protocols for its own addresses, and stores
// nothing else.
//
// One thread calls load_turn() in a loop. Every answer is compared byte by byte. Lost segments are
// retransmitted. At most `window` connections wait for an answer at the same time. Each try has an
// entry in the ring of its level (the number of earlier tries). All entries of a level have the
// same timeout, so that the oldest one is at the head:
//
//   timeout of level n = min(RTO * 2^n, LOAD_RTO_MAX_MS),  RTO by RFC 6298 from all connections
//
// With `give_up_ms` a full connection that is OPENING or ASKED for so long becomes FAILED; an ASKED
// one is reset (load_give_up.c).
//
// While the client is stalled, its clock is paused: a turn that starts more than LOAD_STALL_US
// after the previous one is counted as a stall. Stalls count neither as latency nor as timeouts.
#pragma once
#include "base/clock.h"
#include "base/err.h"
#include "load/load_histogram.h"
#include "load/load_schedule.h"
#include "pkt/port.h"

enum {
    LOAD_PORTS = 60000,  // ports used of each client address
    LOAD_PORT_FIRST = 1024,
    LOAD_CONNECTIONS_MAX = 200000000,  // 3,334 addresses
    LOAD_PAYLOAD_MIN = 8,
    LOAD_PAYLOAD_MAX = 1400,
    LOAD_WINDOW_MAX = 1 << 18,  // a quarter of LOAD_WAIT_FIRST: a connection has several tries
    LOAD_LEVELS = 5,
    LOAD_WAIT_FIRST = 1 << 20,  // entries of level 0; an expired try blocks those after it
    LOAD_WAIT_AGAIN = 1 << 17,  // entries of each later level
    LOAD_RTO_INITIAL_MS = 1000,
    LOAD_RTO_MIN_MS = 200,  // as Linux
    LOAD_RTO_MAX_MS = 4000,
    LOAD_TRIES_MAX = 20,   // 61 s with the shortest RTO: longer than servers that restart are away
    LOAD_AGAIN_MAX = 256,  // retransmissions in a turn
    LOAD_STALL_US = 20000,
    LOAD_HOP_US = 200000,  // between two requests for the next hop's MAC address
    LOAD_RATE_MAX = 10000000,
    LOAD_GIVE_UP_MS_MAX = 60000,
    LOAD_LATE_US = 1000000,      // a full connection that is late by more is counted and not opened
    LOAD_FLOOD_HOSTS = 1 << 16,  // source addresses of the flood, after the clients'
};

#define LOAD_NS_MASK ((UINT64_C(1) << 48) - 1)  // width of load_conn.sent_ns

static_assert(LOAD_PORT_FIRST + LOAD_PORTS <= 65536, "a port has 16 bits");

enum load_state {
    LOAD_CLOSED,
    LOAD_OPENING,
    LOAD_IDLE,
    LOAD_ASKED,
    LOAD_ENDING,  // answered; waits for the server's FIN
    LOAD_FIN_WAIT,
    LOAD_FIN_WAIT2,
    LOAD_CLOSING,
    LOAD_LAST_ACK,
    LOAD_TIME_WAIT,  // since sent_ms
    LOAD_DONE,
    LOAD_FAILED
};

struct load_conn {
    uint32_t snd_nxt;  // after the acknowledged bytes; first sequence number of a request
    uint32_t rcv_nxt;
    uint32_t ts_recent;
    uint32_t sent_ms;       // time of the last try; identifies its entry in the ring
    uint64_t sent_ns : 48;  // time of the first try; wraps after three days
    uint64_t got : 16;      // bytes of the answer received so far
    uint32_t round;
    uint8_t state;
    uint8_t tries;
    bool wrong;  // the answer differs from the expected bytes
    uint8_t spare;
};

static_assert(sizeof(struct load_conn) == 32, "320 MB for ten million; two in a cache line");

enum load_order { LOAD_RANDOM, LOAD_IN_TURN };

// Direction of the bulk transfer that replaces requests and answers (load_stream.h).
enum load_direction { LOAD_NO_STREAM, LOAD_DOWN, LOAD_UP, LOAD_BOTH };

// The side that closes a full connection first.
enum load_closer { LOAD_BY_CLIENT, LOAD_BY_SERVER };

struct load_params {
    struct port *port;  // queue 0
    struct pkt_pool *pool;
    struct mac_addr hop_mac;       // MAC address of the next hop; all zero: resolve it
    struct ip_addr hop, link;      // address of the next hop, and the client's address on the link
    struct ip_addr server, first;  // of one family
    uint16_t server_port;
    uint32_t connections;
    uint32_t window;        // connections that wait for an answer at the same time
    uint32_t payload;       // bytes of a request
    const char *http_path;  // path of HTTP requests (load_http.h); NULL: echo
    uint32_t rounds;        // requests of each connection; 0: until load_stop_asking()
    uint32_t tuples;        // full connections: the last ones of `connections`; 0: none
    // Full connections opened per second; without full connections, requests or datagrams per
    // second. 0: limited by `window` only.
    uint32_t rate;
    uint32_t asks;          // requests per second on the held connections during this
    uint32_t flood;         // SYNs per second from spoofed addresses during this
    uint32_t time_wait_ms;  // TIME-WAIT of the client
    // time between the answer and the client's FIN, with LOAD_BY_CLIENT; 0: none
    uint32_t life_ms;
    // With `rate`: what is not answered within this time after it was due is given up
    // (load_give_up.c); 0: nothing is.
    uint32_t give_up_ms;
    enum load_closer closer;
    enum load_order order;
    uint64_t seed;
    enum load_direction stream;
    bool reopen;             // with `stream`: a failed connection is opened again
    bool udp;                // datagrams instead of connections (load_udp.h)
    uint32_t stream_window;  // receive window of a connection in bytes, with `stream`
    bool timestamps;
    bool close;   // close every connection at the end
    bool shared;  // other hosts use this link: packets for others are not an error
};

// load_counters: answers of the server, losses, and limits of the client.
struct load_counters {
    uint64_t opened, answered, closed;
    uint64_t asked;   // requests, without retransmissions
    uint64_t wrong;   // answers with unexpected bytes or sequence numbers, or without a request
    uint64_t failed;  // connections reset, given up, or closed by the server too early
    uint64_t retransmitted;  // SYNs, requests and FINs retransmitted
    uint64_t duplicates;     // segments not used: duplicate or out of order
    uint64_t damaged;        // frames with a wrong checksum or length
    uint64_t strangers;      // packets for no connection of the client
    uint64_t rx_packets, tx_packets;
    // Bulk transfer: bytes received in order, or (up) acknowledged by the server; segments with
    // data, received or (up) sent; received segments after a hole; pure ACKs sent.
    uint64_t stream_bytes, stream_segs, stream_early, stream_acks;
    uint64_t datagrams_lost, late_answers;  // given up; of those, answered later
    uint64_t probes;                        // keepalive probes of the server, which were answered
    uint64_t silence_us;                    // longest time between two answers on held connections
    // Full connections: SYN sent, established, closed in order. SYNs of the flood, and answers to
    // them (below).
    uint64_t full_begun, full_opened, full_done;
    uint64_t lives_most;  // with life_ms: most connections open after their answer
    uint64_t flood_syns, flood_answers;
    // With give_up_ms: answers in time; requests and connections given up; answers 503, which count
    // as answered, and neither as in time nor as wrong.
    uint64_t in_time, given_up, refused;
    // Limits of the client, which are not attributed to the server.
    uint64_t client_busy_ns;     // time of turns that received or sent packets
    uint64_t client_late;        // full connections that were due and not opened
    uint64_t client_no_tuple;    // turns in which every address and port was in use or in TIME-WAIT
    uint64_t client_pool_empty;  // segments not sent because no packet was free
    uint64_t client_tx_full;     // times that the port did not accept all packets at once
    uint64_t client_tx_lost;     // segments dropped because of that
    uint64_t client_stalls, client_stalled_us;
};

struct load;

// load_new: allocates a client, 32 bytes for each connection, in 4 KiB pages or transparent
// hugepages. Returns NULL with the reason in *err. load_free: frees it; NULL is allowed.
struct load *load_new(const struct load_params *p, struct err *err);
void load_free(struct load *l);

// load_ready: whether the MAC address of the next hop is known. Until then load_turn() only
// requests it.
bool load_ready(const struct load *l);

enum load_phase { LOAD_OPEN, LOAD_FULL, LOAD_ASK, LOAD_CLOSE, LOAD_END };

// load_turn: receives and sends packets, and enters the next phase when the present one is
// complete. now_ns: time of a clock that does not go back; it is the time of all packets of the
// turn. Returns the present phase.
enum load_phase load_turn(struct load *l, uint64_t now_ns);

// load_stop_asking: stops sending requests; outstanding ones are completed. In LOAD_FULL, no more
// connections become due; after their end, one more request is sent on each held connection.
void load_stop_asking(struct load *l);

const struct load_counters *load_counters(const struct load *l);

// load_lost: requests without an answer, including those that a failed connection could not send.
uint64_t load_lost(const struct load *l);

// load_all_right: whether every connection was opened, every answer arrived and was correct and no
// refusal, nothing was given up, and,
// if `close` is set, every connection was closed.
bool load_all_right(const struct load *l);

// load_latency: latencies of all answers, from the first try of the request.
const struct load_histogram *load_latency(const struct load *l);

// load_answer_bytes: the length of each answer; 0: not known yet (HTTP).
uint32_t load_answer_bytes(const struct load *l);

// load_corrected: latencies in an open loop of requests or datagrams, from the time when each was
// due; NULL: not an open loop. load_schedule_of: the schedule of the open loop.
const struct load_histogram *load_corrected(const struct load *l);
const struct load_schedule *load_schedule_of(const struct load *l);

// load_full_time: durations of full connections, from the time when each was due (`rate` 0: opened)
// to its end.
const struct load_histogram *load_full_time(const struct load *l);

// load_permute: a permutation of [0, n): a Feistel network on the next power of four, repeated
// until the result is below n (cycle walking; Black, Rogaway, "Ciphers with arbitrary finite
// domains", 2002).
uint32_t load_permute(uint32_t i, uint32_t n, uint64_t key);

// load_host, load_port: the address of connection i, as offset from the first one, and its port.
static inline uint32_t load_host(uint32_t i)
{
    return i / LOAD_PORTS;
}

static inline uint16_t load_port(uint32_t i)
{
    return (uint16_t)(LOAD_PORT_FIRST + i % LOAD_PORTS);
}

// load_index: the index of the connection with this address offset and port, among n; UINT32_MAX:
// there is none.
static inline uint32_t load_index(uint32_t host, uint16_t port, uint32_t n)
{
    const uint32_t at = (uint32_t)port - LOAD_PORT_FIRST;
    const uint64_t i = (uint64_t)host * LOAD_PORTS + at;
    return at < LOAD_PORTS && i < n ? (uint32_t)i : UINT32_MAX;
}
