// priv.h: the inside of struct net, for the files of this folder.
#pragma once
#include "net/net.h"
#include "wire/build.h"
#include "wire/parse.h"

// arp_entry: 32 bytes. The worker writes; the first three fields are read by any thread under seq.
struct arp_entry {
    uint32_t seq;     // odd while the next two change
    uint32_t v4_raw;  // neighbour's address as it lies in memory
    uint64_t word;  // MAC in the low 48 bits, then 8 bits enum net_arp_state, 8 bits requests made
    uint32_t due_ms;      // when net_tick() acts on it; not with NET_ARP_STATIC
    uint32_t used_ms;     // last packet sent to it; with NET_ARP_PENDING when it was made
    struct pkt *waiting;  // with NET_ARP_PENDING: the first of them (wait_add); NULL: none
};
static_assert(sizeof(struct arp_entry) == 32, "a set of eight is four cache lines");

// rate: a token bucket as the time when the next token is due (GCRA, ITU-T I.371).
struct rate {
    uint64_t next_ns;
    uint64_t interval_ns;  // UINT64_MAX: nothing is allowed
    uint64_t slack_ns;     // burst less one, in intervals
};

enum {
    NET_HINTS = 16,
    ROUTES_ALL = NET_LOCALS_MAX + NET_ROUTES_MAX + 1,
};

// NET_ROUTED: no next hop, but the word that there are routes: the broadcast address.
#define NET_ROUTED UINT32_MAX

struct route {
    uint32_t mask, subnet;  // raw
    uint32_t via_raw;       // 0: the destination itself, which is on the link
};

struct net6;

struct net {
    // Read for every packet, written by net_init() alone.
    uint64_t mac_word_shl16;  // own MAC in the upper 48 bits
    uint32_t n_locals;
    uint16_t local_ix_first;
    uint16_t ip_bytes_max;
    bool tx_l4;                      // the port fills in TCP checksums
    bool tso;                        // and cuts large segments
    uint32_t far_hop_raw;            // of all that is not near; 0: none, NET_ROUTED: ask route_find
    uint32_t local[NET_LOCALS_MAX];  // all raw
    uint32_t bcast[NET_LOCALS_MAX];
    uint32_t near_mask[NET_LOCALS_MAX];  // mask and subnet of local prefixes without a route inside
    uint32_t near_subnet[NET_LOCALS_MAX];
    struct wire_common common[NET_LOCALS_MAX];
    struct wire_from from[NET_LOCALS_MAX];
    uint64_t *drops;
    struct pkt_pool *pool;
    struct siphash_key secret;
    uint32_t mask[NET_LOCALS_MAX];
    uint32_t subnet[NET_LOCALS_MAX];
    uint32_t n_routes;
    struct route routes[ROUTES_ALL];  // the longest prefixes first, the gateway's last
    bool source_top[256];             // may a source address begin with this byte?
    bool source_low[256];             // end in it: no address of ours, no broadcast does
    struct mac_addr mac;
    bool quiet;
    bool loops;
    uint32_t n_udp;
    struct net_udp_port udp[NET_UDP_PORTS_MAX];
    struct udp_table *open;
    uint32_t arp_sets;   // a power of two
    uint32_t arp_slots;  // sets times ways, plus statics at the end
    struct net6 *v6;     // NULL: no IPv6 address
    // Written by the worker.
    uint16_t
        hint[NET_HINTS] CACHE_ALIGNED;  // slot where a next hop was found last, by its last byte
    struct rate arp_rate, icmp_rate, error_rate;
    uint64_t defend_at_us[NET_LOCALS_MAX];  // when each address may be announced again
    uint32_t tick_slot;
    uint32_t tick_ms;         // of the last net_tick()
    uint16_t ip_id;           // of the last packet that may be cut on its way
    uint32_t n_waiting_more;  // packets that wait for a neighbour behind another
    uint32_t n_lost;
    struct icmp_event lost[NET_LOST_MAX];  // for net_lost()
    struct net_counters counters CACHE_ALIGNED;
    struct arp_entry arp[] CACHE_ALIGNED;
};

// net_ip_id: the identification of a packet that may be cut on its way: those to one address follow
// each other from where a secret says (RFC 7739).
static inline uint16_t net_ip_id(struct net *net, uint32_t dst_raw)
{
    return (uint16_t)(siphash_u64x2(&net->secret, dst_raw, UINT32_MAX) + net->ip_id++);
}

static inline bool rate_allow(struct rate *r, uint64_t now_us)
{
    uint64_t now_ns = now_us * 1000;
    uint64_t at = MAX(r->next_ns, now_ns);
    if (at - now_ns > r->slack_ns || r->interval_ns == UINT64_MAX)
        return false;
    r->next_ns = at + r->interval_ns;
    return true;
}

static inline uint8_t arp_state(const struct arp_entry *e)
{
    return (uint8_t)(e->word >> 48);
}

// arp_hot: the entry of next hop hop_raw if the hint knows it and its MAC is usable, else NULL.
static inline struct arp_entry *arp_hot(struct net *net, uint32_t hop_raw)
{
    struct arp_entry *e = &net->arp[net->hint[(hop_raw >> 24) % NET_HINTS]];
    return likely(e->v4_raw == hop_raw && arp_state(e) >= NET_ARP_REACHABLE) ? e : NULL;
}

// arp_usable: the same without the hint, which it sets.
struct arp_entry *arp_usable(struct net *net, uint32_t hop_raw);

// arp_wait: p, built but for its destination MAC, waits for next hop hop_raw, which arp_usable()
// did not find; a request goes to tx when one is due. Takes p over in any case.
void arp_wait(struct net *net, struct clock_now now, uint32_t hop_raw, struct pkt *p,
              struct net_tx *tx);

// net_alloc_some: as many of n packets as the pool gives, in halves.
static inline uint32_t net_alloc_some(struct net *net, struct pkt **pkts, uint32_t n)
{
    while (n != 0 && !pkt_alloc_bulk(net->pool, pkts, n))
        n /= 2;
    return n;
}

// large_way: where a large segment goes.
struct large_way {
    uint64_t word;  // of the next hop's entry
    bool known;     // there is one, with a MAC
    uint32_t hop_raw;
    const struct ip_addr *hop6;  // instead of it, over IPv6; else NULL
};

// output_large: the large segment s, as one packet that the port cuts, or in as many as it needs;
// the last `left` places of tx are not its own. What finds no place or no packet is dropped and
// counted.
void output_large(struct net *net, struct clock_now now, const struct seg_out *s,
                  const struct large_way *way, struct net_tx *tx, uint32_t left);

// net_can_be_cut: is segment s, with ip_head bytes of headers from the IP header on, a large one, a
// single IP packet of payload_head bytes and its data, of parts that fit?
static inline bool net_can_be_cut(const struct net *net, const struct seg_out *s, uint32_t ip_head,
                                  uint32_t payload_head)
{
    const uint32_t data = (uint32_t)s->data_len[0] + s->data_len[1];
    return data > SEG_WHOLE_MAX && payload_head + data <= UINT16_MAX && s->mss != 0 &&
           ip_head + s->mss <= net->ip_bytes_max;
}

// net_parts_of: segments that s is or is cut into.
static inline uint32_t net_parts_of(const struct seg_out *s)
{
    const uint32_t data = (uint32_t)s->data_len[0] + s->data_len[1];
    return data > SEG_WHOLE_MAX && s->mss != 0 ? (data + s->mss - 1) / s->mss : 1;
}

static inline void net_prefetch_headers(const struct pkt *p)
{
    const uint8_t *d = pkt_data(p);
    prefetch0(d);
    if (pkt_len(p) > CACHE_LINE)
        prefetch0(d + CACHE_LINE);
}

// net_sender_mac: of a received frame, as a word.
static inline uint64_t net_sender_mac(const struct pkt *p)
{
    struct mac_addr mac;
    memcpy(mac.b, pkt_data(p) + 6, 6);
    return wire_mac_word(&mac);
}

// outcome: what became of one packet of the slow path.
struct outcome {
    enum drop_reason reason;
    bool replied;  // the packet itself is in tx
};

// lost_note: p waited for a neighbour that never answered: net_lost() will say so of its segment.
void lost_note(struct net *net, const struct pkt *p);

// The packets of one neighbour, from the one that waits longest: at *first, NULL: none.
// wait_add: p waits behind them; where NET_WAIT_MAX do already, or NET_WAIT_MORE_MAX behind others
// in all, the first of them ends for `replaced`. wait_take: the first, which waits no more; NULL.
// wait_leave: all of them leave for this MAC, as far as there is room. wait_end: all end for
// `reason`; lost: and TCP hears of it. wait_drain: all are freed, uncounted.
void wait_add(struct net *net, struct pkt **first, struct pkt *p, enum drop_reason replaced);
struct pkt *wait_take(struct net *net, struct pkt **first);
void wait_leave(struct net *net, struct pkt **first, uint64_t mac_word, struct net_tx *tx);
void wait_end(struct net *net, struct pkt **first, enum drop_reason reason, bool lost);
void wait_drain(struct net *net, struct pkt **first);

// arp_ask: makes a pending entry for hop_raw without a packet and asks.
void arp_ask(struct net *net, struct clock_now now, uint32_t hop_raw, struct net_tx *tx);

// arp_add, arp_del, arp_flush: net_neighbor_add() and so on, of one family.
int arp_add(struct net *net, struct clock_now now, uint32_t v4_raw, const struct mac_addr *mac,
            bool permanent, struct net_tx *tx);
int arp_del(struct net *net, uint32_t v4_raw);
unsigned arp_flush(struct net *net);

// arp_input: a received ARP frame of len bytes in p. DROP_NONE: taken; *replied says whether p
// itself was turned into a reply, to be sent.
enum drop_reason arp_input(struct net *net, struct clock_now now, struct pkt *p, bool *replied,
                           struct net_tx *tx);

// udp_input: the UDP datagram of p, to local address ix, or NET_TO_GROUP. DROP_NONE: it is in rx.
enum drop_reason udp_input(struct net *net, struct clock_now now, const struct pkt *p,
                           const struct wire_ip4 *ip, uint32_t ix, uint32_t pkt_ix,
                           struct net_rx *rx, struct net_tx *tx);

// udp_deliver: datagram m from src to dst, which is address `local` of c's locals or with
// NET_TO_GROUP none, into rx. Else why not.
enum drop_reason udp_deliver(struct net *net, const struct wire_udp *m, const struct ip_addr *src,
                             const struct ip_addr *dst, uint32_t local, uint32_t pkt_ix,
                             struct net_rx *rx);

// udp_error: an ICMP error about the datagram that e says (src, src_port, dst_port, local,
// data_off, data_len, type, code, mtu), which came from `ours`, into rx. Else why not.
enum drop_reason udp_error(struct net *net, const struct udp_in *e, const struct ip_addr *ours,
                           struct net_rx *rx);

// net6_send: net_send() to an IPv6 address. net6_way: net_way().
int net6_send(struct net *net, struct clock_now now, const struct net_datagram *d,
              struct net_tx *tx);
int net6_way(const struct net *net, const struct ip_addr *to, struct ip_addr *from);

// unreachable_send: ICMP destination unreachable of `code` about p's packet, which was sent to
// local address ix and to our MAC, is whole and no ICMP (RFC 1122 3.2.2), within the rate.
void unreachable_send(struct net *net, struct clock_now now, const struct pkt *p,
                      const struct wire_ip4 *ip, uint32_t ix, uint8_t code, struct net_tx *tx);

// net_on_link: the index of the local address whose prefix holds addr_raw, or -1.
static inline int net_on_link(const struct net *net, uint32_t addr_raw)
{
#pragma GCC unroll 1  // one address is the rule
    for (uint32_t k = 0; k < net->n_locals; k++)
        if ((addr_raw & net->mask[k]) == net->subnet[k])
            return (int)k;
    return -1;
}

// route_find: the next hop to dst_raw by the longest prefix, 0: none. route_is_via: whether a
// route, or the gateway's, goes there.
uint32_t route_find(const struct net *net, uint32_t dst_raw);
bool route_is_via(const struct net *net, uint32_t v4_raw);

// route_way: the bits of that prefix, and the next hop; -1: none.
int route_way(const struct net *net, uint32_t dst_raw, uint32_t *hop_raw);

// routes_init: from c, whose locals are in net. routes_check: -1 and *e: what of c cannot be.
void routes_init(struct net *net, const struct net_config *c);
int routes_check(const struct net_config *c, struct err *e);

// mask_of: of a prefix, host order.
static inline uint32_t mask_of(uint8_t prefix_bits)
{
    return prefix_bits == 0 ? 0 : UINT32_MAX << (32 - prefix_bits);
}

// net_local_index: the index of addr_raw among our addresses, or -1.
static inline int net_local_index(const struct net *net, uint32_t addr_raw)
{
    for (uint32_t k = 0; k < net->n_locals; k++)
        if (addr_raw == net->local[k])
            return (int)k;
    return -1;
}

// is_broadcast: the limited broadcast address, or one of ours.
static inline bool is_broadcast(const struct net *net, uint32_t addr_raw)
{
    bool is = addr_raw == UINT32_MAX;
    for (uint32_t k = 0; k < net->n_locals; k++)
        is |= addr_raw == net->bcast[k];
    return is && net->n_locals != 0;
}

// net_source_top_ok: the first byte of a source address: not 0/8, loopback, multicast, 255/8. The
// rest of 240/4 is let through as Linux does.
static inline bool net_source_top_ok(uint32_t src_raw)
{
    uint32_t top = src_raw & 0xff;
    return top - 1 < 254 && top != 127 && (top & 0xf0) != 0xe0;
}
