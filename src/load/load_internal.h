// load_internal.h: the client's inside: load.c (phases), load_conn.c (one connection's segments),
// load_wire.c (frames of both families), load_wait.c (what waits for an answer), load_hop.c (the
// next hop).
#pragma once
#include "load/load.h"
#include "wire/build6.h"
#include "wire/parse6.h"
#include "wire/seg.h"

enum {
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

struct load {
    struct load_params p;
    struct load_counters c;
    struct load_conn *conns;
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
    struct load_level levels[LOAD_LEVELS];
    uint32_t srtt_us, rttvar_us;  // RFC 6298; srtt_us 0: nothing measured yet
    uint32_t rto_ms;
    bool turned;       // there was a turn
    uint64_t real_ns;  // the caller's clock in the last turn
    uint64_t now_ns;   // the same without the client's stalls
    uint64_t now_us;
    uint32_t now_ms;
    uint32_t n_out;
    struct pkt *out[LOAD_OUT_MAX];
    struct load_hdr latency;
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

static inline bool load_waits(const struct load_conn *c)
{
    return c->state == LOAD_OPENING || c->state == LOAD_ASKED || c->state == LOAD_CLOSING;
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

// load_build: the frame of s, whose ports are set, from connection i's address to the server.
void load_build(struct load *l, struct pkt *p, uint32_t i, struct seg_out *s);

// load_has_host: the last 32 bits of an address as a number: are they those of a client?
static inline bool load_has_host(const struct load *l, uint32_t low)
{
    return low - l->first_low <= load_host(l->p.connections - 1);
}

// load_flush: gives what was made to the port; what it does not take waits.
void load_flush(struct load *l);

// load_start: connection i goes to OPENING, ASKED or CLOSING, which sends its first try.
void load_start(struct load *l, uint32_t i, enum load_state state);

// load_ask: sends the segment that connection i's state calls for.
void load_ask(struct load *l, uint32_t i);

// load_fail: gives connection i up.
void load_fail(struct load *l, uint32_t i);

// load_segment_input: one checked segment of connection i; data are its s->data_len bytes.
void load_segment_input(struct load *l, uint32_t i, const struct seg_in *s, const uint8_t *data);

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
