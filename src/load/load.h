// SPDX-License-Identifier: BSD-3-Clause
// load.h: a compact TCP client for very many connections: 32 bytes each, found by arithmetic from
// the address and port of an incoming segment, no table, no list.
//
//   connection i  =  client address first + i / LOAD_PORTS (the last 32 bits of it),
//                    port LOAD_PORT_FIRST + i % LOAD_PORTS
//
//   CLOSED --SYN--> OPENING --SYN-ACK / ACK--> IDLE --request--> ASKED --answer / pure ACK--> IDLE
//                                                |                               (next round)
//             FIN_WAIT <--FIN---------------------+
//                | FIN and ACK / ACK: TIME_WAIT;  ACK: FIN_WAIT2 --FIN / ACK--> TIME_WAIT
//                | FIN / ACK: CLOSING --ACK--> TIME_WAIT
//   RST, FIN or data that nobody asked for, LOAD_TRIES_MAX tries without answer: FAILED
//
// Of these, the last `tuples` do not stay: each is opened, asked once and closed, and after that
// its address and port are used again. It sends its request with the handshake's end, and closes
// at once, or waits for the server to:
//
//   ... ASKED --answer / FIN--> FIN_WAIT --...--> TIME_WAIT, which is ours: time_wait_ms
//   ... ASKED --answer--> ENDING --FIN / FIN--> LAST_ACK --ACK--> DONE: the server has TIME-WAIT,
//                                and takes a younger SYN in it (RFC 6191, RFC 1122 4.2.2.13)
//
// Nothing is opened before the MAC of the next hop is known, by ARP or neighbour discovery.
// Requests for the client's own addresses are answered; nothing else of either is kept.
//
// One thread drives it with load_turn(). Every answer is compared byte for byte. What is lost is
// sent again: at most `window` connections wait for something at a time; each try has an entry in a
// ring for its level (the number of tries before it), and within a level all wait equally long, so
// that the oldest is always in front:
//
//   timeout of level n = min(RTO * 2^n, LOAD_RTO_MAX_MS),  RTO by RFC 6298 from all connections
//
// The client's clock stands still while the client does: a turn that comes more than
// LOAD_STALL_US after the one before is counted as a stall, and no timeout comes of it.
#pragma once
#include "base/clock.h"
#include "base/err.h"
#include "load/load_histogram.h"
#include "load/load_schedule.h"
#include "pkt/port.h"

enum {
    LOAD_PORTS = 60000,  // used of each client address
    LOAD_PORT_FIRST = 1024,
    LOAD_CONNECTIONS_MAX = 200000000,  // 3,334 addresses
    LOAD_PAYLOAD_MIN = 8,
    LOAD_PAYLOAD_MAX = 1400,
    LOAD_WINDOW_MAX = 16384,
    LOAD_LEVELS = 5,
    LOAD_WAIT_FIRST = 1 << 20,  // first tries remembered: a lost one holds those behind it
    LOAD_WAIT_AGAIN = 1 << 17,  // the same for each later level
    LOAD_RTO_INITIAL_MS = 1000,
    LOAD_RTO_MIN_MS = 200,  // as Linux
    LOAD_RTO_MAX_MS = 4000,
    LOAD_TRIES_MAX = 12,   // at the shortest RTO 29 s
    LOAD_AGAIN_MAX = 256,  // sent again in a turn
    LOAD_STALL_US = 20000,
    LOAD_HOP_US = 200000,  // between two questions for the next hop
    LOAD_RATE_MAX = 10000000,
    LOAD_LATE_US = 1000000,      // what is due for longer and not begun never will be, counted
    LOAD_FLOOD_HOSTS = 1 << 16,  // addresses of the flood, behind the clients'
};

#define LOAD_NS_MASK ((UINT64_C(1) << 48) - 1)  // of load_conn.sent_ns

static_assert(LOAD_PORT_FIRST + LOAD_PORTS <= 65536, "a port has 16 bits");

enum load_state {
    LOAD_CLOSED,
    LOAD_OPENING,
    LOAD_IDLE,
    LOAD_ASKED,
    LOAD_ENDING,  // answered; the server is to close
    LOAD_FIN_WAIT,
    LOAD_FIN_WAIT2,
    LOAD_CLOSING,
    LOAD_LAST_ACK,
    LOAD_TIME_WAIT,  // from sent_ms on
    LOAD_DONE,
    LOAD_FAILED
};

struct load_conn {
    uint32_t snd_nxt;  // behind what the peer has acknowledged: where a request begins
    uint32_t rcv_nxt;
    uint32_t ts_recent;
    uint32_t sent_ms;       // of the last try; names its entry in the ring of those that wait
    uint64_t sent_ns : 48;  // of the first try; wraps after three days
    uint64_t got : 16;      // bytes of the answer so far
    uint32_t round;
    uint8_t state;
    uint8_t tries;
    bool wrong;  // the answer so far has bytes that were not expected
    uint8_t spare;
};

static_assert(sizeof(struct load_conn) == 32, "ten million are 320 MB, two a line");

enum load_order { LOAD_RANDOM, LOAD_IN_TURN };

// Which way the bulk goes in place of requests and answers (load_stream.h).
enum load_direction { LOAD_NO_STREAM, LOAD_DOWN, LOAD_UP };

// Who ends a full connection.
enum load_closer { LOAD_BY_CLIENT, LOAD_BY_SERVER };

struct load_params {
    struct port *port;  // queue 0
    struct pkt_pool *pool;
    struct mac_addr hop_mac;       // where everything goes first; all zero: asked for
    struct ip_addr hop, link;      // the next hop's address, and ours on the link: to ask for it
    struct ip_addr server, first;  // all of one family
    uint16_t server_port;
    uint32_t connections;
    uint32_t window;        // connections that wait for an answer at a time
    uint32_t payload;       // bytes of a request
    const char *http_path;  // asked for in place of echoes (load_http.h); NULL: echoes
    uint32_t rounds;        // requests of each connection; 0: until load_stop_asking()
    uint32_t tuples;        // of the connections, the last ones: those that come and go; 0: none
    // Full connections begun a second; without any: requests or datagrams. 0: as many as `window`
    // lets.
    uint32_t rate;
    uint32_t asks;          // requests a second to the others meanwhile
    uint32_t flood;         // SYNs a second from addresses of nobody meanwhile
    uint32_t time_wait_ms;  // ours
    uint32_t life_ms;       // between the answer and our FIN, with LOAD_BY_CLIENT; 0: none
    enum load_closer closer;
    enum load_order order;
    uint64_t seed;
    enum load_direction stream;
    bool udp;                // datagrams, and no connections (load_udp.h)
    uint32_t stream_window;  // bytes that the client offers a connection, with `stream`
    bool timestamps;
    bool close;   // close every connection in the end
    bool shared;  // others may speak on this link: strangers are no fault
};

// load_counters: what the server did (answers), what was lost, and what the client could not do.
struct load_counters {
    uint64_t opened, answered, closed;
    uint64_t asked;   // requests, each once however often it was sent
    uint64_t wrong;   // answers with other bytes than were sent, out of place, or unasked for
    uint64_t failed;  // connections reset, given up, or ended by the server too early
    uint64_t retransmitted;  // SYNs, requests and FINs sent again
    uint64_t duplicates;     // segments that could not be used: seen before, or out of order
    uint64_t damaged;        // frames with a wrong checksum or a length that lies
    uint64_t strangers;      // packets for no connection of ours
    uint64_t rx_packets, tx_packets;
    // Of bulk: bytes that came in order, or that the server acknowledged; segments with data that
    // came or left; of those that came, behind a hole; segments of ours that only acknowledge.
    uint64_t stream_bytes, stream_segs, stream_early, stream_acks;
    uint64_t datagrams_lost, late_answers;  // given up; of those, that came back after all
    uint64_t probes;                        // of the server's keepalive, answered
    // Of full connections: begun, open, and ended as they should; SYNs of the flood, answers to it.
    uint64_t full_begun, full_opened, full_done;
    uint64_t lives_most;  // open at a time, answered, with life_ms
    uint64_t flood_syns, flood_answers;
    // What the client could not do; never charged to the server.
    uint64_t client_busy_ns;     // in turns that received or sent
    uint64_t client_late;        // full connections that were due and not begun
    uint64_t client_no_tuple;    // turns in which each address and port was in use or in TIME-WAIT
    uint64_t client_pool_empty;  // segments not made
    uint64_t client_tx_full;     // times that the wire did not take everything at once
    uint64_t client_tx_lost;     // segments given up because of that
    uint64_t client_stalls, client_stalled_us;
};

struct load;

// load_new: ordinary memory, 32 bytes a connection. NULL: *err. load_free: NULL is nothing.
struct load *load_new(const struct load_params *p, struct err *err);
void load_free(struct load *l);

// load_ready: is the next hop known? Until then load_turn() only asks for it.
bool load_ready(const struct load *l);

enum load_phase { LOAD_OPEN, LOAD_FULL, LOAD_ASK, LOAD_CLOSE, LOAD_END };

// load_turn: takes what has come, sends what may be sent; goes through the phases by itself.
// now_ns: any clock that does not go back; what is sent or comes in a turn counts with its time.
// Returns the present phase.
enum load_phase load_turn(struct load *l, uint64_t now_ns);

// load_stop_asking: no request after those under way; in LOAD_FULL no connection that is not due
// yet: those that stayed open are all asked once more.
void load_stop_asking(struct load *l);

const struct load_counters *load_counters(const struct load *l);

// load_lost: requests without an answer, those included that a failed connection never sent.
uint64_t load_lost(const struct load *l);

// load_all_right: each connection was opened, every answer came and was right, and so did the end
// if the connections were to be closed.
bool load_all_right(const struct load *l);

// load_latency: of all answers, each from the first try of its request on.
const struct load_histogram *load_latency(const struct load *l);

// load_answer_bytes: of each answer; 0: of HTTP, not known yet.
uint32_t load_answer_bytes(const struct load *l);

// load_corrected: the same of an open loop of requests or datagrams, each from when it was due;
// NULL: it is none. load_schedule_of: what was due.
const struct load_histogram *load_corrected(const struct load *l);
const struct load_schedule *load_schedule_of(const struct load *l);

// load_full_time: of each full connection, from when it was due (`rate` 0: begun) to its end.
const struct load_histogram *load_full_time(const struct load *l);

// load_permute: a number of [0, n) for each i of [0, n), each once: a Feistel network on the next
// power of four, walked until it falls below n (Black, Rogaway, "Ciphers with arbitrary finite
// domains", 2002).
uint32_t load_permute(uint32_t i, uint32_t n, uint64_t key);

// load_host, load_port: connection i's address, counted from the first, and its port.
static inline uint32_t load_host(uint32_t i)
{
    return i / LOAD_PORTS;
}

static inline uint16_t load_port(uint32_t i)
{
    return (uint16_t)(LOAD_PORT_FIRST + i % LOAD_PORTS);
}

// load_index: the connection of this address and port among n; UINT32_MAX: none has them.
static inline uint32_t load_index(uint32_t host, uint16_t port, uint32_t n)
{
    const uint32_t at = (uint32_t)port - LOAD_PORT_FIRST;
    const uint64_t i = (uint64_t)host * LOAD_PORTS + at;
    return at < LOAD_PORTS && i < n ? (uint32_t)i : UINT32_MAX;
}
