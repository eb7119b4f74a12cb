// SPDX-License-Identifier: BSD-3-Clause
// load_internal.h: the internals of the client: load.c (phases), load_conn.c (segments of a
// connection), load_wire.c (frames of both families), load_wait.c (retransmission timeouts),
// load_next_hop.c (address resolution of the next hop), load_full.c (full connections).
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
    LOAD_WSCALE = 7,     // window scale of bulk transfers; requests and answers use none
    LOAD_OUT_MAX = 256,  // packets built and not yet accepted by the port
};

// load_try: one segment that needs an answer. The entry is valid while connection `conn` waits and
// its last try was at sent_ms.
struct load_try {
    uint32_t conn;
    uint32_t sent_ms;
};

// load_level: a ring of tries in the order of their times. head and tail wrap at 2^32.
struct load_level {
    struct load_try *tries;
    uint32_t head, tail, slots;
};

// load_life: connection `conn` was answered at since_ms. The entry is valid while this is its
// sent_ms.
struct load_life {
    uint32_t conn, since_ms;
};

// load_begun: connection `conn` was due at since_ns. The entry is valid while this is its sent_ns.
struct load_begun {
    uint64_t since_ns;
    uint32_t conn;
};

// load_full: the state of full connections (load_full.c).
struct load_full {
    struct load_begun *begun;  // with give_up_ms: a ring of connections begun, in this order
    uint32_t begun_slots, begun_first, begun_n;
    uint64_t from_ns;            // time when the first one was due
    uint64_t slots;              // connections that were due: opened or given up
    uint64_t last;               // with stop_asking: their final number
    uint64_t asks, asks_in_row;  // requests on held connections: all, and in this pass over them
    uint64_t floods;             // SYNs of the flood
    uint32_t next;               // the address and port to be tried next
    uint64_t rng;
    struct load_life *lives;  // with life_ms: a ring of answered connections, in this order
    uint32_t lives_first, lives_n;
};

struct load {
    struct load_params p;
    struct load_counters c;
    struct load_conn *conns;
    struct load_udp *udp;    // NULL: TCP
    struct load_http *http;  // NULL: echo
    uint64_t *from_ns;       // for each connection: due time of its request; NULL: no open loop
    struct load_schedule schedule;
    struct load_histogram corrected;
    struct load_streams *streams;  // NULL: no bulk transfer
    bool v6;
    uint32_t first_low;     // last 32 bits of the first client address, host order
    struct wire_from from;  // source of packets; the address is set for each packet
    struct wire_from6 from6;
    uint64_t hop_mac_word;  // 0: unknown
    uint64_t ask_hop_us;    // time of the next request for it
    struct wire_common common;
    enum load_phase phase;
    bool stop_asking;
    uint64_t stopped_ns;  // when it was set
    uint32_t cursor;      // connections started in this phase or round
    uint32_t round;
    uint32_t in_flight;
    uint32_t held;  // connections [0, held) stay open, the others are full ones (load_full.c)
    struct load_full full;
    struct load_histogram full_time;
    struct load_level levels[LOAD_LEVELS];
    uint32_t srtt_us, rttvar_us;  // RFC 6298; srtt_us 0: no measurement yet
    uint32_t rto_ms;
    bool turned;       // there was an earlier turn
    bool busy;         // it received or sent packets
    uint64_t real_ns;  // time of the last turn, from the caller
    uint64_t now_ns;   // real_ns without the client's stalls
    uint64_t now_us;
    uint64_t answered_us;  // time of the last answer on a held connection
    uint32_t now_ms;
    uint32_t n_out;
    struct pkt *out[LOAD_OUT_MAX];
    struct load_histogram latency;
    uint8_t payload[LOAD_PAYLOAD_MAX + 8];
};

// load_mss: the MSS option of the client, by the MTU of its port. load_wnd: the window field of its
// segments, except SYNs.
static inline uint16_t load_mss(const struct load *l)
{
    const uint32_t mtu = l->p.port->mtu != 0 ? l->p.port->mtu : (uint32_t)PORT_MTU_DEFAULT;
    return (uint16_t)(mtu - TCP_BYTES - (l->v6 ? IP6_BYTES : IP4_BYTES));
}

static inline uint16_t load_wnd(const struct load *l)
{
    return l->streams != NULL ? (uint16_t)MIN(l->p.stream_window >> LOAD_WSCALE, 65535u) : 65535;
}

// load_waits: whether a connection in this state waits for a segment of the server. load_is_over:
// whether it is closed, or not opened yet. load_fin_out: whether the client's FIN was sent and is
// not acknowledged.
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

// load_snd_end: the next sequence number after all that was sent, without a request.
static inline uint32_t load_snd_end(const struct load_conn *c)
{
    return c->snd_nxt + load_fin_out(c->state);
}

// load_is_full: whether connection i is a full connection, not a held one.
static inline bool load_is_full(const struct load *l, uint32_t i)
{
    return i >= l->held;
}

// load_asks_more: the number of further connections that may start to wait for an answer.
static inline uint32_t load_asks_more(const struct load *l)
{
    const bool learning = unlikely(l->http != NULL) && !l->http->learned && l->phase != LOAD_OPEN;
    const bool unlimited = l->p.give_up_ms != 0 && l->phase != LOAD_OPEN;
    const uint32_t window = learning ? 1 : unlimited ? (uint32_t)LOAD_WINDOW_MAX : l->p.window;
    return window - MIN(l->in_flight, window);
}

// load_packet: appends an empty packet to the send queue. Returns NULL if the queue is full or no
// packet is free, and counts that.
struct pkt *load_packet(struct load *l);

// load_ask_hop: requests the MAC address of the next hop, every LOAD_HOP_US.
void load_ask_hop(struct load *l);

// load_arp_input: processes an ARP frame of len bytes. load_nd_input: processes an ICMPv6 packet
// with a valid IPv6 header.
void load_arp_input(struct load *l, const uint8_t *frame, uint32_t len);
void load_nd_input(struct load *l, const uint8_t *frame, const struct wire_ip6 *ip);

// load_frame_input: checks a frame and parses its segment into *s. Returns the index of its
// connection. UINT32_MAX: it belongs to none; it was counted, or was an ARP or Neighbor Discovery
// packet, which was processed.
uint32_t load_frame_input(struct load *l, const struct pkt *p, struct seg_in *s);

// load_build: builds the frame of s, whose ports are set, to the server. host: offset of the source
// address from the first client address.
void load_build(struct load *l, struct pkt *p, uint32_t host, const struct seg_out *s);

// load_has_host: whether `low`, the last 32 bits of an address in host order, are those of a
// client.
static inline bool load_has_host(const struct load *l, uint32_t low)
{
    return low - l->first_low <= load_host(l->p.connections - 1);
}

// load_flush: passes the send queue to the port. Packets that the port does not accept stay queued.
void load_flush(struct load *l);

// load_start: sets connection i to OPENING, ASKED or FIN_WAIT and sends the first try. since_ns:
// start of the measured time.
void load_start(struct load *l, uint32_t i, enum load_state state, uint64_t since_ns);

// load_ask: sends the segment that the state of connection i requires. False: it waits without
// sending one.
bool load_ask(struct load *l, uint32_t i);

// load_start_scheduled: sends the requests that are due at p.rate. load_choose: the index of the
// connection at position `at` of the load's order.
void load_start_scheduled(struct load *l);
uint32_t load_choose(const struct load *l, uint32_t at);

// load_fail: sets connection i to FAILED and counts that.
void load_fail(struct load *l, uint32_t i);

// load_segment_input: processes one valid segment of connection i. data: its s->data_len bytes.
void load_segment_input(struct load *l, uint32_t i, const struct seg_in *s, const uint8_t *data);

// load_full_init: allocates the ring of life_ms; 0, or -1 without memory. load_full_lives:
// connection i was answered and stays open for life_ms; false: life_ms is 0. load_full_turn: opens
// full connections that are due, sends requests on held ones, and sends the flood. load_full_stop:
// lets no more connections become due. load_full_ended: whether all have ended.
int load_full_init(struct load *l);
bool load_full_lives(struct load *l, uint32_t i);
void load_full_turn(struct load *l);
void load_full_stop(struct load *l);
bool load_full_ended(const struct load *l);

// load_give_up_init: allocates the ring of connections begun; 0, or -1 without memory.
// load_give_up_room: whether one more may begin. load_give_up_note: connection i, due at since_ns,
// has begun. load_give_up_late: gives up full connections that were not answered in time.
int load_give_up_init(struct load *l);
bool load_give_up_room(const struct load *l);
void load_give_up_note(struct load *l, uint32_t i, uint64_t since_ns);
void load_give_up_late(struct load *l);

// load_give_up_rest: give_up_ms after the last request, gives up those that are not answered yet.
void load_give_up_rest(struct load *l);

// load_in_time: counts an answer to what was due at since_ns, if it is in time.
void load_in_time(struct load *l, uint64_t since_ns);

// load_abandon: gives connection i up, which is OPENING or ASKED: a server that has it gets RST.
void load_abandon(struct load *l, uint32_t i);

// load_is_flood: whether `low`, the last 32 bits of an address in host order, are those of a source
// of the flood.
bool load_is_flood(const struct load *l, uint32_t low);

// load_flood_syn: sends a SYN from the first client address plus `host`, and from that port.
void load_flood_syn(struct load *l, uint32_t host, uint16_t port, uint32_t seq);

// load_wait_init: allocates the rings; 0, or -1 without memory. load_wait_free: frees them, also
// after a failed init.
int load_wait_init(struct load *l);
void load_wait_free(struct load *l);

// load_wait_room: the number of free entries for first tries.
uint32_t load_wait_room(const struct load *l);

// load_wait_add: adds the last try of connection i to the ring of its level.
void load_wait_add(struct load *l, uint32_t i);

// load_wait_answered: updates the RTO: connection c was answered `us` microseconds after its first
// try.
void load_wait_answered(struct load *l, const struct load_conn *c, uint32_t us);

// load_wait_expire: retransmits segments whose timeout has expired. A connection fails after
// LOAD_TRIES_MAX tries.
void load_wait_expire(struct load *l);
