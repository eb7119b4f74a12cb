// load.h: a compact TCP client for very many connections: 32 bytes each, found by arithmetic from
// the address and port of an incoming segment, no table, no list.
//
//   connection i  =  client address first_v4 + i / LOAD_PORTS, port LOAD_PORT_FIRST + i %
//   LOAD_PORTS
//
//   CLOSED --SYN--> OPENING --SYN-ACK / ACK--> IDLE --request--> ASKED --answer / pure ACK--> IDLE
//                                               |                                (next round)
//                                               +--FIN--> CLOSING --FIN / ACK--> DONE
//   RST, or LOAD_TRIES_MAX tries without answer: FAILED
//
// One thread drives it with load_turn(). Every answer is compared byte for byte. What is lost is
// sent again: at most `window` connections wait for something at a time, in a ring in the order in
// which they were asked.
#pragma once
#include "base/clock.h"
#include "base/err.h"
#include "pkt/port.h"

enum {
    LOAD_PORTS = 60000,  // used of each client address
    LOAD_PORT_FIRST = 1024,
    LOAD_PAYLOAD_MIN = 8,
    LOAD_PAYLOAD_MAX = 1400,
    LOAD_WINDOW_MAX = 16384,
    LOAD_WAIT_MAX =
        1 << 20,  // tries remembered: a lost one holds back those behind it for a timeout
    LOAD_TIMEOUT_MS = 1000,  // then a SYN, request or FIN is sent again
    LOAD_TRIES_MAX = 8,
    LOAD_BUCKETS = 64 * 16,  // of the latency histogram: 16 a power of two
};

enum load_state {
    LOAD_CLOSED,
    LOAD_OPENING,
    LOAD_IDLE,
    LOAD_ASKED,
    LOAD_CLOSING,
    LOAD_DONE,
    LOAD_FAILED
};

struct load_conn {
    uint32_t snd_nxt;  // behind what the peer has acknowledged: where a request begins
    uint32_t rcv_nxt;
    uint32_t ts_recent;
    uint32_t sent_ms;  // of the last try; names its entry in the ring of those that wait
    uint32_t sent_us;  // of the first try
    uint32_t round;
    uint16_t got;  // bytes of the answer so far
    uint8_t state;
    uint8_t tries;
    uint32_t pad;
};

static_assert(sizeof(struct load_conn) == 32, "ten million are 320 MB, two a line");

enum load_order { LOAD_RANDOM, LOAD_IN_TURN };

struct load_params {
    struct port *port;  // queue 0
    struct pkt_pool *pool;
    struct mac_addr server_mac;
    uint32_t server_v4, first_v4;  // host order
    uint16_t server_port;
    uint32_t connections;
    uint32_t window;   // connections that wait for an answer at a time
    uint32_t payload;  // bytes of a request
    uint32_t rounds;   // requests of each connection; 0: until load_stop_asking()
    enum load_order order;
    uint64_t seed;
    bool timestamps;
    bool close;  // close every connection in the end
};

// load_counters: what the server did (answers), what was lost, and what the client could not do.
struct load_counters {
    uint64_t opened, answered, closed;
    uint64_t wrong;       // answers with other bytes than were sent, or out of place
    uint64_t failed;      // connections reset or given up
    uint64_t repeated;    // SYNs, requests and FINs sent again
    uint64_t duplicates;  // segments that brought nothing new
    uint64_t strangers;   // packets for no connection of ours
    uint64_t rx_packets, tx_packets;
    uint64_t client_pool_empty, client_tx_full;  // never charged to the server
};

struct load;

// load_new: ordinary memory, 32 bytes a connection. NULL: *err. load_free: NULL is nothing.
struct load *load_new(const struct load_params *p, struct err *err);
void load_free(struct load *l);

enum load_phase { LOAD_OPEN, LOAD_ASK, LOAD_CLOSE, LOAD_END };

// load_turn: takes what has come, sends what may be sent; goes through the phases by itself.
// Returns the present one.
enum load_phase load_turn(struct load *l, uint64_t now_us);

// load_stop_asking: no request after those under way.
void load_stop_asking(struct load *l);

const struct load_counters *load_counters(const struct load *l);

// load_percentile_us: latency of an answer below which `part` (0..1) of the answers lie; 6 %
// resolution.
double load_percentile_us(const struct load *l, double part);

// load_permute: a number of [0, n) for each i of [0, n), each once: a Feistel network on the next
// power of four, walked until it falls below n (Black, Rogaway, "Ciphers with arbitrary finite
// domains", 2002).
uint32_t load_permute(uint32_t i, uint32_t n, uint64_t key);
