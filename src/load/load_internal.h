// SPDX-License-Identifier: BSD-3-Clause
// load_internal.h: the client's inside: load.c (phases), load_conn.c (one connection's segments),
// load_wire.c (frames of both families), load_wait.c (what waits for an answer), load_next_hop.c
// (the next hop), load_full.c (connections that come and go).
#pragma once
#include "load/load.h"
#include "load/load_http.h"
#include "wire/build6.h"
#include "wire/parse6.h"
#include "wire/seg.h"

enum {
    LOAD_WAITS = 1 << LOAD_OPENING | 1 << LOAD_ASKED | 1 << LOAD_ENDING | 1 << LOAD_FIN_WAIT |
                 1 << LOAD_FIN_WAIT2 | 1 << LOAD_CLOSING | 1 << LOAD_LAST_ACK,
    LOAD_OVER = 1 << LOAD_CLOSED | 1 << LOAD_TIME_WAIT | 1 << LOAD_DONE | 1 << LOAD_FAILED,
    LOAD_WSCALE = 7,     // of bulk; requests and answers have none
    LOAD_OUT_MAX = 256,  // packets made and not yet taken by the port
};

// load_try: one segment that wants an answer. It stands for connection conn as long as that waits
// and its last try was at sent_ms.
struct load_try {
    uint32_t conn;
    uint32_t sent_ms;
};

// load_level: tries in the order in which they were made; head and tail run freely.
struct load_level {
    struct load_try *tries;
    uint32_t head, tail, slots;
};

// load_life: connection `conn` was answered at since_ms, which is its sent_ms as long as it lives.
struct load_life {
    uint32_t conn, since_ms;
};

// load_full: what connections that come and go need (load_full.c).
struct load_full {
    uint64_t from_ns;            // when the first was due
    uint64_t slots;              // of those due: begun, or given up
    uint64_t last;               // with stop_asking: how many there are
    uint64_t asks, asks_in_row;  // of held ones: all, and of this pass over them
    uint64_t floods;             // SYNs of nobody
    uint32_t next;               // the tuple that is tried next
    uint64_t rng;
    struct load_life *lives;  // with life_ms: a ring of those that are answered, in that order
    uint32_t lives_first, lives_n;
};

struct load {
    struct load_params p;
    struct load_counters c;
    struct load_conn *conns;
    struct load_udp *udp;    // NULL: connections
    struct load_http *http;  // NULL: echoes
    uint64_t *from_ns;       // of each: its request counts from; NULL: no open loop of requests
    struct load_schedule schedule;
    struct load_histogram corrected;
    struct load_streams *streams;  // NULL: requests and answers
    bool v6;
    uint32_t first_low;     // the last 32 bits of the first client's address, in host order
    struct wire_from from;  // of a client; the address is set for each packet
    struct wire_from6 from6;
    uint64_t hop_mac_word;  // 0: not known yet
    uint64_t ask_hop_us;    // when to ask for it again
    struct wire_common common;
    enum load_phase phase;
    bool stop_asking;
    uint32_t cursor;  // connections of this phase or round that have been started
    uint32_t round;
    uint32_t in_flight;
    uint32_t held;  // connections [0, held) stay open, the others come and go (load_full.c)
    struct load_full full;
    struct load_histogram full_time;
    struct load_level levels[LOAD_LEVELS];
    uint32_t srtt_us, rttvar_us;  // RFC 6298; srtt_us 0: nothing measured yet
    uint32_t rto_ms;
    bool turned;       // there was a turn
    bool busy;         // in which something came or left
    uint64_t real_ns;  // the caller's clock in the last turn
    uint64_t now_ns;   // the same without the client's stalls
    uint64_t now_us;
    uint32_t now_ms;
    uint32_t n_out;
    struct pkt *out[LOAD_OUT_MAX];
    struct load_histogram latency;
    uint8_t payload[LOAD_PAYLOAD_MAX + 8];
};

// load_mss: what the client announces. load_wnd: its window, as it goes out, of all but a SYN.
static inline uint16_t load_mss(const struct load *l)
{
    return l->v6 ? 1440 : 1460;
}

static inline uint16_t load_wnd(const struct load *l)
{
    return l->streams != NULL ? (uint16_t)MIN(l->p.stream_window >> LOAD_WSCALE, 65535u) : 65535;
}

// load_waits: does a connection in this state wait for something? load_is_over: it is none any
// more, or none yet. load_fin_out: our FIN is not acknowledged yet.
static inline bool load_waits(uint8_t state)
{
    return (LOAD_WAITS >> state & 1) != 0;
}

static inline bool load_is_over(uint8_t state)
{
    return (LOAD_OVER >> state & 1) != 0;
}

static inline bool load_fin_out(uint8_t state)
{
    return state == LOAD_FIN_WAIT || state == LOAD_CLOSING || state == LOAD_LAST_ACK;
}

// load_snd_end: behind all that was sent, but for a request.
static inline uint32_t load_snd_end(const struct load_conn *c)
{
    return c->snd_nxt + load_fin_out(c->state);
}

// load_is_full: is connection i one of those that come and go, and not held?
static inline bool load_is_full(const struct load *l, uint32_t i)
{
    return i >= l->held;
}

// load_asks_more: connections that may be asked for something more at a time.
static inline uint32_t load_asks_more(const struct load *l)
{
    const bool learning = unlikely(l->http != NULL) && !l->http->learned && l->phase != LOAD_OPEN;
    const uint32_t window = learning ? 1 : l->p.window;
    return window - MIN(l->in_flight, window);
}

// load_packet: an empty packet that is put behind those to be sent; NULL: no room or none left,
// counted.
struct pkt *load_packet(struct load *l);

// load_ask_hop: asks for the next hop when it is time.
void load_ask_hop(struct load *l);

// load_arp_input: a frame of len bytes with ARP's type. load_nd_input: a checked packet of ICMPv6.
void load_arp_input(struct load *l, const uint8_t *frame, uint32_t len);
void load_nd_input(struct load *l, const uint8_t *frame, const struct wire_ip6 *ip);

// load_frame_input: whose segment a frame is, with all its checks: *s is valid. UINT32_MAX:
// nobody's, counted unless it spoke of neighbours, which is dealt with.
uint32_t load_frame_input(struct load *l, const struct pkt *p, struct seg_in *s);

// load_build: the frame of s, whose ports are set, to the server, from the address that lies `host`
// behind the first client's.
void load_build(struct load *l, struct pkt *p, uint32_t host, const struct seg_out *s);

// load_has_host: the last 32 bits of an address as a number: are they those of a client?
static inline bool load_has_host(const struct load *l, uint32_t low)
{
    return low - l->first_low <= load_host(l->p.connections - 1);
}

// load_flush: gives what was made to the port; what it does not take waits.
void load_flush(struct load *l);

// load_start: connection i goes to OPENING, ASKED or FIN_WAIT, which sends its first try; its time
// counts from since_ns on.
void load_start(struct load *l, uint32_t i, enum load_state state, uint64_t since_ns);

// load_ask: sends the segment that connection i's state calls for. False: it waits without one.
bool load_ask(struct load *l, uint32_t i);

// load_start_scheduled: asks what is due at p.rate, with from_ns. load_choose: the connection at a
// place of the load's order.
void load_start_scheduled(struct load *l);
uint32_t load_choose(const struct load *l, uint32_t at);

// load_fail: gives connection i up.
void load_fail(struct load *l, uint32_t i);

// load_segment_input: one checked segment of connection i; data are its s->data_len bytes.
void load_segment_input(struct load *l, uint32_t i, const struct seg_in *s, const uint8_t *data);

// load_full_turn: begins full connections that are due, asks held ones, floods. load_full_stop:
// none that was not due yet. load_full_ended: all have ended.
// load_full_init: with lives, memory for them; -1: none. load_full_lives: connection i is answered
// and stays for its life; false: no life was asked for.
int load_full_init(struct load *l);
bool load_full_lives(struct load *l, uint32_t i);
void load_full_turn(struct load *l);
void load_full_stop(struct load *l);
bool load_full_ended(const struct load *l);

// load_is_flood: the last 32 bits of an address as a number: are they of a sender of the flood?
bool load_is_flood(const struct load *l, uint32_t low);

// load_flood_syn: a SYN from `host` addresses behind the first client's, from that port.
void load_flood_syn(struct load *l, uint32_t host, uint16_t port, uint32_t seq);

// load_wait_init: 0, or -1 without memory. load_wait_free: also after a failed init.
int load_wait_init(struct load *l);
void load_wait_free(struct load *l);

// load_wait_room: first tries that can be remembered now.
uint32_t load_wait_room(const struct load *l);

// load_wait_add: connection i has just been asked: its last try waits from now on.
void load_wait_add(struct load *l, uint32_t i);

// load_wait_answered: connection c's answer has come, us after the first try.
void load_wait_answered(struct load *l, const struct load_conn *c, uint32_t us);

// load_wait_expire: sends again what has waited for too long, and gives up what was tried
// LOAD_TRIES_MAX times.
void load_wait_expire(struct load *l);
