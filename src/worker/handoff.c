// SPDX-License-Identifier: BSD-3-Clause
#include "worker/handoff.h"

#include <rte_ring.h>
#include <stdlib.h>
#include <string.h>

#include "base/copy.h"
#include "base/shared.h"
#include "pkt/refusal.h"
#include "stat/trace_points.h"
#include "wire/parse6.h"
#include "wire/proto.h"
#include "wire/raw.h"

enum {
    WORKERS_MAX = 64,    // one bit of a 64-bit word each
    FLUSH_TRIES = 1000,  // attempts to send to a port that accepts no packet
    HELD_TRIES = 1024,   // ... between two looks whether it accepts others (pkt/refusal.h)
};

// pair: `go` takes packets to another worker. `back` returns them after that worker has copied
// them. wake: of the other worker; NULL: it never sleeps.
struct pair {
    struct rte_ring *go, *back;
    const struct wake *wake;
};

struct batch {
    uint32_t n;
    struct pkt *pkts[BURST_MAX];
};

// lane: the data of one worker. Only that worker writes it, except for the two rings of each pair.
struct lane {
    unsigned id;
    struct pkt_pool *pool;
    struct core_stats *stats;
    unsigned rx_turn, tx_turn;  // the worker whose packets are taken first
    struct pair tx;             // to the worker that transmits for this one
    uint32_t tx_away;           // packets in that pair
    uint32_t n_held;            // packets in held[]: copied, but not accepted by the port yet
    struct pkt *held[HANDOFF_COPY_MAX];
    uint32_t held_tries;  // in a row, in which it has accepted none of them
    struct refusal refusal;
    struct pair *in;      // [worker] packets from each other worker
    uint32_t *away;       // [worker] packets that each other worker has
    uint32_t out;         // sum of away[] and tx_away
    struct batch *batch;  // [worker] packets of this burst for each other worker
    struct handoff_counts counts;
};

struct handoff {
    struct port port;  // first member, because port.priv points to this struct
    struct port *inner;
    unsigned workers, queues, entries;
    uint32_t away_max, out_max;  // limits of a worker's packets: in one ring, and in all
    bool may_spread;             // the device can deliver packets of its kinds by RSS
    uint16_t kinds;              // port.rss_kinds of the device
    struct shared_bool spread;   // RSS is verified to do so; written by the control thread
    struct toeplitz hash;
    struct lane *lanes[WORKERS_MAX];
};

uint32_t handoff_out_max(uint32_t packets, unsigned ports)
{
    return MAX(packets / (2 * MAX(ports, 1u)), (uint32_t)HANDOFF_SLOTS_MIN);
}

uint32_t handoff_slots(uint32_t out_max)
{
    uint32_t slots = HANDOFF_SLOTS_MAX;
    while (slots > HANDOFF_SLOTS_MIN && slots > out_max)
        slots /= 2;
    return slots;
}

static size_t ring_bytes(uint32_t slots)
{
    return ALIGN_UP((size_t)rte_ring_get_memsize(slots), CACHE_LINE);
}

size_t handoff_footprint(uint32_t slots, unsigned workers)
{
    const size_t each = sizeof(struct pair) + sizeof(uint32_t) + sizeof(struct batch);
    return ALIGN_UP(sizeof(struct lane), CACHE_LINE) + ALIGN_UP(workers * each, CACHE_LINE) +
           2 * (workers + 1) * ring_bytes(slots);
}

// home_of: the worker of the connection to which received packets with these addresses and ports
// belong.
static inline int home_of(const struct toeplitz *t, unsigned entries, unsigned workers,
                          const uint8_t *src, const uint8_t *dst, const uint8_t *src_port,
                          const uint8_t *dst_port)
{
    const uint32_t hash = toeplitz_v4(t, load_raw32(src), load_raw32(dst), load_raw16(src_port),
                                      load_raw16(dst_port));
    return (int)toeplitz_home(hash, entries, workers);
}

static inline bool has_ports(uint8_t proto)
{
    return proto == IP_PROTO_TCP || proto == IP_PROTO_UDP;
}

// home_of_error: an ICMP error quotes a packet that we sent, so our address is its source.
static int home_of_error(const struct toeplitz *t, unsigned entries, unsigned workers,
                         const uint8_t *icmp, const uint8_t *end)
{
    const uint8_t *ip = icmp + ICMP_BYTES;
    if (end < ip + IP4_BYTES ||
        (icmp[0] != ICMP_UNREACHABLE && icmp[0] != ICMP_TIME_EXCEEDED && icmp[0] != ICMP_PARAMETER))
        return HANDOFF_HERE;
    const uint8_t *ports = ip + 4 * (ip[0] & 15u);
    if (ip[0] >> 4 != 4 || ports < ip + IP4_BYTES || end < ports + 4 ||
        !has_ports(ip[IP4_PROTO_AT]))
        return HANDOFF_HERE;
    return home_of(t, entries, workers, ip + IP4_DST_AT, ip + IP4_SRC_AT, ports + TCP_DST_PORT_AT,
                   ports);
}

static int home_of6(const struct toeplitz *t, unsigned entries, unsigned workers,
                    const uint8_t *src, const uint8_t *dst, const uint8_t *src_port,
                    const uint8_t *dst_port)
{
    const uint32_t hash = toeplitz_v6(t, src, dst, load_raw16(src_port), load_raw16(dst_port));
    return (int)toeplitz_home(hash, entries, workers);
}

// home_of_icmp6: neighbor discovery and MLD queries go to all workers, as ARP does. An error
// quotes a packet that we sent.
static int home_of_icmp6(const struct toeplitz *t, unsigned entries, unsigned workers,
                         const uint8_t *icmp, const uint8_t *end)
{
    const uint8_t type = icmp[0], *ip = icmp + ICMP6_BYTES;
    uint8_t proto = 0;
    if ((type >= ND_ROUTER_SOLICIT && type <= ND_REDIRECT) || type == MLD_QUERY)
        return HANDOFF_ALL;
    if (type < ICMP6_UNREACHABLE || type > ICMP6_PARAMETER || end < ip + IP6_BYTES ||
        ip[0] >> 4 != 6)
        return HANDOFF_HERE;
    const uint8_t *ports = ip + wire_quoted_upper6(ip, (uint32_t)(end - ip), &proto);
    if (end < ports + 4 || !has_ports(proto))
        return HANDOFF_HERE;
    return home_of6(t, entries, workers, ip + IP6_DST_AT, ip + IP6_SRC_AT, ports + TCP_DST_PORT_AT,
                    ports);
}

static int home_of_ip6(const struct toeplitz *t, unsigned entries, unsigned workers,
                       const uint8_t *frame, uint32_t len)
{
    const uint8_t *src = frame + ETH_BYTES + IP6_SRC_AT, *dst = frame + ETH_BYTES + IP6_DST_AT, *l4;
    static const uint8_t no_ports[4];
    struct wire_ip6 ip;
    const enum drop_reason reason = wire_parse_ip6(frame, len, &ip);
    if (unlikely(reason == DROP_ip6_fragment))
        return home_of6(t, entries, workers, src, dst, no_ports, no_ports + TCP_DST_PORT_AT);
    if (reason != DROP_NONE || ip.l4_len < 4)
        return HANDOFF_HERE;
    l4 = frame + ip.l4_off;
    if (likely(has_ports(ip.proto)))
        return home_of6(t, entries, workers, src, dst, l4, l4 + TCP_DST_PORT_AT);
    return ip.proto == IP_PROTO_ICMP6 ? home_of_icmp6(t, entries, workers, l4, l4 + ip.l4_len)
                                      : HANDOFF_HERE;
}

// is_priority_tag: whether the frame is treated as one without its tag (net/input.c).
static bool is_priority_tag(const uint8_t *frame, uint32_t len)
{
    const uint8_t *tag = frame + PKT_TAG_TYPE_AT;
    return len >= PKT_TAG_FRAME_BYTES && load_be16(tag + PKT_TAG_BYTES) != PKT_TAG_TYPE &&
           (load_be16(tag + 2) & PKT_TAG_VID_MASK) == 0;
}

static NOINLINE int home_of_other(const struct toeplitz *t, unsigned entries, unsigned workers,
                                  const uint8_t *frame, uint32_t len)
{
    const uint16_t type = load_be16(frame + ETH_TYPE_AT);
    if (type == ETH_TYPE_IP6)
        return home_of_ip6(t, entries, workers, frame, len);
    if (type == PKT_TAG_TYPE && is_priority_tag(frame, len))
        return handoff_home(t, entries, workers, frame + PKT_TAG_BYTES, len - PKT_TAG_BYTES);
    return type == ETH_TYPE_ARP ? HANDOFF_ALL : HANDOFF_HERE;
}

// home_of_part: only the first fragment has ports, so the addresses decide. A fragment may have
// only one byte of data.
static NOINLINE int home_of_part(const struct toeplitz *t, unsigned entries, unsigned workers,
                                 const uint8_t *frame, uint32_t len)
{
    static const uint8_t no_ports[4];
    const uint8_t *ip = frame + ETH_BYTES;
    if (len < ETH_BYTES + IP4_BYTES || load_be16(frame + ETH_TYPE_AT) != ETH_TYPE_IP4 ||
        (load_be16(ip + IP4_FRAGMENT_AT) & (IP4_MF | IP4_OFFSET_MASK)) == 0)
        return HANDOFF_HERE;
    return home_of(t, entries, workers, ip + IP4_SRC_AT, ip + IP4_DST_AT, no_ports,
                   no_ports + TCP_DST_PORT_AT);
}

int handoff_home(const struct toeplitz *t, unsigned entries, unsigned workers, const uint8_t *frame,
                 uint32_t len)
{
    if (unlikely(len < ETH_BYTES + IP4_BYTES + 4))
        return home_of_part(t, entries, workers, frame, len);
    if (unlikely(load_be16(frame + ETH_TYPE_AT) != ETH_TYPE_IP4))
        return home_of_other(t, entries, workers, frame, len);
    const uint8_t *ip = frame + ETH_BYTES, *l4 = ip + 4 * (ip[0] & 15u);
    const bool fragment = (load_be16(ip + IP4_FRAGMENT_AT) & (IP4_MF | IP4_OFFSET_MASK)) != 0;
    if (unlikely(ip[0] >> 4 != 4 || l4 < ip + IP4_BYTES))
        return HANDOFF_HERE;
    if (unlikely(fragment || frame + len < l4 + 4))
        return home_of_part(t, entries, workers, frame, len);
    if (likely(has_ports(ip[IP4_PROTO_AT])))
        return home_of(t, entries, workers, ip + IP4_SRC_AT, ip + IP4_DST_AT, l4,
                       l4 + TCP_DST_PORT_AT);
    return ip[IP4_PROTO_AT] == IP_PROTO_ICMP ? home_of_error(t, entries, workers, l4, frame + len)
                                             : HANDOFF_HERE;
}

// The flags to copy: the device's checksum results and the requested offloads. The other flags
// refer to fields that are not copied.
#define COPIED_FLAGS                                                                               \
    (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_TX_OFFLOAD_MASK)

// copy_packet: `from` belongs to another worker, so it is only read.
static void copy_packet(struct pkt *to, const struct pkt *from)
{
    CHECK(pkt_total_len(from) <= pkt_room(to));
    pkt_copy(to, from);
    to->m.ol_flags = from->m.ol_flags & COPIED_FLAGS;
    if (to->m.ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK)
        to->m.tx_offload = from->m.tx_offload;
}

// copy_from: copies at most n (<= HANDOFF_COPY_MAX) packets of the pair. Packets for which the pool
// has no packet stay in the ring.
static uint32_t copy_from(const struct pair *from, struct pkt_pool *pool, struct pkt **mine,
                          uint32_t n)
{
    struct pkt *theirs[HANDOFF_COPY_MAX];
    n = MIN(n, rte_ring_count(from->go));
    while (n != 0 && !pkt_alloc_bulk(pool, mine, n))
        n /= 2;
    if (n == 0)
        return 0;
    CHECK(rte_ring_sc_dequeue_bulk(from->go, (void **)theirs, n, NULL) == n);
    for (uint32_t i = 0; i < n; i++)
        prefetch0(theirs[i]);
    for (uint32_t i = 0; i < n; i++)
        prefetch0(pkt_data(theirs[i]));
    for (uint32_t i = 0; i < n; i++)
        copy_packet(mine[i], theirs[i]);
    // This cannot fail: the ring has as many slots as the ring from which the packets came.
    CHECK(rte_ring_sp_enqueue_bulk(from->back, (void **)theirs, n, NULL) == n);
    return n;
}

static void collect(struct lane *l, struct rte_ring *back, uint32_t *away)
{
    struct pkt *home[BURST_MAX];
    if (*away == 0)
        return;
    const uint32_t n = rte_ring_sc_dequeue_burst(back, (void **)home, BURST_MAX, NULL);
    *away -= n;
    l->out -= n;
    pkt_free_bulk(home, n);
}

// room: the largest n with away + n <= HANDOFF_SHARE * (out_max - out - n), within the ring.
static uint32_t room(const struct handoff *s, const struct lane *l, uint32_t away)
{
    const uint64_t share = (uint64_t)HANDOFF_SHARE * (s->out_max - l->out);
    const uint64_t n = share > away ? (share - away) / (HANDOFF_SHARE + 1) : 0;
    return (uint32_t)MIN(n, (uint64_t)(s->away_max - away));
}

// give: enqueues as many of n packets as there is room for. Returns how many.
static uint32_t give(const struct handoff *s, struct lane *l, const struct pair *to, uint32_t *away,
                     struct pkt **pkts, uint32_t n)
{
    n = MIN(n, room(s, l, *away));
    if (n != 0) {
        CHECK(rte_ring_sp_enqueue_bulk(to->go, (void **)pkts, n, NULL) == n);
        if (unlikely(to->wake != NULL))
            wake_worker(to->wake);
    }
    *away += n;
    l->out += n;
    return n;
}

static void hand_over(struct handoff *s, struct lane *l, unsigned to)
{
    struct batch *b = &l->batch[to];
    const uint32_t given = give(s, l, &s->lanes[to]->in[l->id], &l->away[to], b->pkts, b->n);
    l->stats->c.handed_out += given;
    l->counts.wrong_core += b->n;
    if (unlikely(given < b->n)) {
        l->counts.lost += b->n - given;
        l->stats->c.rx_packets += b->n - given;
        stat_drop(l->stats, DROP_handoff_full, b->n - given);
        pkt_free_bulk(b->pkts + given, b->n - given);
    }
    b->n = 0;
}

// hand_copies: copies for other workers use at most half of a ring.
static NOINLINE void hand_copies(struct handoff *s, struct lane *l, const struct pkt *p)
{
    for (unsigned to = 0; to < s->workers; to++) {
        struct pkt *copy;
        if (to == l->id)
            continue;
        l->stats->c.handed_copies++;
        l->counts.copies++;
        if (l->away[to] >= s->away_max / 2 || room(s, l, l->away[to]) <= l->away[to] ||
            !pkt_alloc_bulk(l->pool, &copy, 1)) {
            l->stats->c.rx_packets++;
            stat_drop(l->stats, DROP_handoff_full, 1);
            l->counts.lost++;
            continue;
        }
        copy_packet(copy, p);
        CHECK(give(s, l, &s->lanes[to]->in[l->id], &l->away[to], &copy, 1) == 1);
    }
}

// is_tunnel: UDP ports of tunnels, for which some devices hash the inner headers: VXLAN (RFC 7348)
// and its older port, Geneve (RFC 8926), GTP-U.
static bool is_tunnel(uint16_t port)
{
    return port == 4789 || port == 8472 || port == 6081 || port == 2152;
}

static enum port_rss_kind kind_of_l4(uint8_t proto, const uint8_t *l4, uint32_t len, bool v4)
{
    if (proto == IP_PROTO_TCP && len >= TCP_BYTES)
        return v4 ? PORT_RSS_IP4_TCP : PORT_RSS_IP6_TCP;
    if (proto != IP_PROTO_UDP || len < UDP_BYTES || is_tunnel(load_be16(l4 + TCP_DST_PORT_AT)))
        return PORT_RSS_OTHER;
    return v4 ? PORT_RSS_IP4_UDP : PORT_RSS_IP6_UDP;
}

NOINLINE enum port_rss_kind handoff_kind(const uint8_t *frame, uint32_t len)
{
    const uint8_t *ip = frame + ETH_BYTES;
    if (len >= ETH_BYTES + IP4_BYTES && load_be16(frame + ETH_TYPE_AT) == ETH_TYPE_IP4) {
        if ((load_be16(ip + IP4_FRAGMENT_AT) & (IP4_MF | IP4_OFFSET_MASK)) != 0)
            return PORT_RSS_FRAGMENT;
        if (ip[0] != 0x45)
            return PORT_RSS_OTHER;
        return kind_of_l4(ip[IP4_PROTO_AT], ip + IP4_BYTES, len - ETH_BYTES - IP4_BYTES, true);
    }
    if (len < ETH_BYTES + IP6_BYTES || load_be16(frame + ETH_TYPE_AT) != ETH_TYPE_IP6)
        return PORT_RSS_OTHER;
    struct wire_ip6 parsed;
    if (!has_ports(ip[IP6_NEXT_AT]))
        return wire_parse_ip6(frame, len, &parsed) == DROP_ip6_fragment ? PORT_RSS_FRAGMENT
                                                                        : PORT_RSS_OTHER;
    return kind_of_l4(ip[IP6_NEXT_AT], ip + IP6_BYTES, len - ETH_BYTES - IP6_BYTES, false);
}

// count_wrong: counts a packet that arrived at another worker than its own. It counts as an error
// of the port only if the port hashes this kind as software does. NOINLINE keeps it out of the code
// for packets in the right queue.
static NOINLINE void count_wrong(const struct handoff *s, struct lane *l, const struct pkt *p)
{
    const enum port_rss_kind kind = handoff_kind(pkt_data(p), pkt_len(p));
    l->counts.rss_wrong[kind]++;
    l->stats->c.rss_wrong += shared_bool_load(&s->spread) && (s->kinds >> kind & 1) != 0;
}

// receive: receives from the device's queue. Keeps this worker's packets in order and hands the
// others over.
static uint32_t receive(struct handoff *s, struct lane *l, struct pkt **pkts, uint32_t n)
{
    const uint32_t got = s->inner->ops->rx_burst(s->inner, (uint16_t)l->id, pkts, (uint16_t)n);
    uint64_t others = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < got; i++)
        prefetch0(pkt_data(pkts[i]));
    for (uint32_t i = 0; i < got; i++) {
        struct pkt *p = pkts[i];
        const int home = pkt_is_chain(p) ? HANDOFF_HERE
                                         : handoff_home(&s->hash, s->entries, s->workers,
                                                        pkt_data(p), pkt_len(p));
        if (home >= 0 && home != (int)l->id) {
            l->batch[home].pkts[l->batch[home].n++] = p;
            others |= UINT64_C(1) << home;
            if (s->may_spread)
                count_wrong(s, l, p);
            continue;
        }
        if (unlikely(home == HANDOFF_ALL))
            hand_copies(s, l, p);
        pkts[kept++] = p;
    }
    for (; others != 0; others &= others - 1)
        hand_over(s, l, (unsigned)__builtin_ctzll(others));
    return kept;
}

// receive_handed: receives the packets that the owners of queues handed over. Before them, in up to
// a quarter of the room, it receives packets that workers without a queue reassembled.
static uint32_t receive_handed(struct handoff *s, struct lane *l, struct pkt **pkts, uint32_t n)
{
    uint32_t got = 0;
    for (unsigned from = s->queues; from < s->workers; from++)
        if (from != l->id)
            got += copy_from(&l->in[from], l->pool, pkts + got,
                             MIN(n / 4 - got, (uint32_t)HANDOFF_COPY_MAX));
    l->rx_turn = l->rx_turn + 1 < s->queues ? l->rx_turn + 1 : 0;
    for (unsigned k = 0, from = l->rx_turn; k < s->queues; k++) {
        if (from != l->id)
            got += copy_from(&l->in[from], l->pool, pkts + got,
                             MIN(n - got, (uint32_t)HANDOFF_COPY_MAX));
        from = from + 1 < s->queues ? from + 1 : 0;
    }
    l->stats->c.handed_in += got;
    l->counts.taken_over += got;
    return got;
}

// add_held: there must be others to offer past a packet.
static void add_held(const struct handoff *s, struct lane *l)
{
    for (unsigned w = l->id + s->queues; w < s->workers && l->n_held < HANDOFF_COPY_MAX;
         w += s->queues)
        l->n_held +=
            copy_from(&s->lanes[w]->tx, l->pool, l->held + l->n_held, HANDOFF_COPY_MAX - l->n_held);
}

// get_past: the port has accepted none of held[] for many turns.
static NOINLINE void get_past(struct handoff *s, struct lane *l)
{
    struct refusal_result got;
    if (l->held_tries == HELD_TRIES)
        l->refusal = (struct refusal){0};
    add_held(s, l);
    l->n_held = refusal_look(&l->refusal, s->inner, (uint16_t)l->id, l->held, l->n_held, &got);
    if (got.refused == NULL)
        return;
    pkt_free(got.refused);
    stat_drop(l->stats, DROP_tx_full, 1);
    l->counts.tx_refused++;
}

static void send_held(struct handoff *s, struct lane *l)
{
    const uint32_t sent =
        s->inner->ops->tx_burst(s->inner, (uint16_t)l->id, l->held, (uint16_t)l->n_held);
    l->n_held -= sent;
    l->held_tries = sent != 0 ? 0 : l->held_tries + 1;
    if (l->n_held != 0)
        memmove(l->held, l->held + sent, l->n_held * sizeof(l->held[0]));
    if (unlikely(l->held_tries != 0 && l->held_tries % HELD_TRIES == 0))
        get_past(s, l);
}

// send_for_others: sends the packets of the workers without a queue that use this one. Returns
// whether packets are left.
static bool send_for_others(struct handoff *s, struct lane *l)
{
    const unsigned clients = (s->workers - 1 - l->id) / s->queues;
    bool more = l->n_held != 0;
    if (more)
        send_held(s, l);
    l->tx_turn = l->tx_turn + 1 < clients ? l->tx_turn + 1 : 0;
    for (unsigned k = 0, c = l->tx_turn; k < clients && l->n_held == 0; k++) {
        const struct lane *client = s->lanes[l->id + (c + 1) * s->queues];
        l->n_held = copy_from(&client->tx, l->pool, l->held, HANDOFF_COPY_MAX);
        c = c + 1 < clients ? c + 1 : 0;
        if (l->n_held != 0) {
            send_held(s, l);
            more = true;
        }
    }
    return more;
}

static const struct port_ops handoff_ops;

int handoff_whole(const struct port *p, unsigned w, const uint8_t *frame, uint32_t len)
{
    if (p->ops != &handoff_ops)
        return HANDOFF_HERE;
    const struct handoff *s = p->priv;
    const int home = handoff_home(&s->hash, s->entries, s->workers, frame, len);
    return home == (int)w || home < 0 ? HANDOFF_HERE : home;
}

void handoff_hand(struct port *p, unsigned w, unsigned to, struct pkt **pkts, uint32_t n)
{
    struct handoff *s = p->priv;
    struct lane *l = s->lanes[w];
    l->stats->c.handed_copies += n;
    l->counts.copies += n;
    if (n <= room(s, l, l->away[to])) {
        CHECK(give(s, l, &s->lanes[to]->in[l->id], &l->away[to], pkts, n) == n);
        return;
    }
    l->stats->c.rx_packets += n;
    stat_drop(l->stats, DROP_handoff_full, n);
    l->counts.lost += n;
    pkt_free_bulk(pkts, n);
}

static uint16_t handoff_rx_burst(struct port *p, uint16_t w, struct pkt **pkts, uint16_t n)
{
    struct handoff *s = p->priv;
    struct lane *l = s->lanes[w];
    for (unsigned to = 0; to < s->workers; to++)
        collect(l, s->lanes[to]->in[w].back, &l->away[to]);
    collect(l, l->tx.back, &l->tx_away);  // of a worker that sends nothing more, too
    if (w >= s->queues)
        return (uint16_t)receive_handed(s, l, pkts, n);
    send_for_others(s, l);
    const uint32_t got = receive_handed(s, l, pkts, n / 2);
    return (uint16_t)(got + receive(s, l, pkts + got, n - got));
}

// handoff_rx_waiting: in the device's queue of worker w, if the device spreads the packets: then
// the rings between workers are nearly empty. Else bursts from several queues are mixed, and a
// small one says nothing.
static int handoff_rx_waiting(struct port *p, uint16_t w, uint32_t *slots)
{
    const struct handoff *s = p->priv;
    if (s->queues < s->workers || !shared_bool_load(&s->spread))
        return -1;
    return port_rx_waiting(s->inner, w, slots);
}

static uint16_t handoff_tx_burst(struct port *p, uint16_t w, struct pkt **pkts, uint16_t n)
{
    struct handoff *s = p->priv;
    struct lane *l = s->lanes[w];
    if (w < s->queues)
        return s->inner->ops->tx_burst(s->inner, w, pkts, n);
    collect(l, l->tx.back, &l->tx_away);
    const uint32_t given = give(s, l, &l->tx, &l->tx_away, pkts, n);
    l->stats->c.tx_handed += given;
    l->counts.tx_handed += given;
    return (uint16_t)given;
}

// any_for: whether a worker has packets in the rings to worker w, or w itself has some to send.
static bool any_for(const struct handoff *s, unsigned w)
{
    const struct lane *l = s->lanes[w];
    bool any = l->n_held != 0;
    for (unsigned from = 0; from < s->workers; from++)
        any |= rte_ring_count(l->in[from].go) != 0;
    for (unsigned c = w + s->queues; w < s->queues && c < s->workers; c += s->queues)
        any |= rte_ring_count(s->lanes[c]->tx.go) != 0;
    return any;
}

static int handoff_fds(struct port *p, uint16_t w, int *out, unsigned max)
{
    const struct handoff *s = p->priv;
    if (any_for(s, w))
        return PORT_WAIT_NOT;
    return w < s->queues ? port_wait_fds(s->inner, w, out, max) : 0;
}

// handoff_line: what comes through the rings is not watched.
static bool handoff_line(struct port *p, uint16_t w, struct rte_power_monitor_cond *out)
{
    const struct handoff *s = p->priv;
    return w < s->queues && !any_for(s, w) && port_wait_line(s->inner, w, out);
}

static const struct port_wait handoff_wait = {.fds = handoff_fds, .line = handoff_line};

static void handoff_stats(struct port *p, struct port_stats *out)
{
    struct port *inner = ((struct handoff *)p->priv)->inner;
    inner->ops->stats(inner, out);
}

static void close_port(struct port *p)
{
    handoff_close(p->priv);
}

static const struct port_ops handoff_ops = {
    .driver = "handoff",
    .rx_burst = handoff_rx_burst,
    .rx_waiting = handoff_rx_waiting,
    .tx_burst = handoff_tx_burst,
    .stats = handoff_stats,
    .close = close_port,
    .wait = &handoff_wait,
};

struct handoff *handoff_open(struct port *inner, uint32_t slots, uint32_t out_max, unsigned workers,
                             const uint8_t *key)
{
    CHECK(workers <= WORKERS_MAX && inner->queues <= workers);
    struct handoff *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->port = *inner;
    s->port.ops = &handoff_ops;
    s->port.queues = (uint16_t)workers;
    if (inner->queues < workers)  // the rings between workers do not take chains
        s->port.caps &= ~(uint32_t)PORT_TSO;
    s->port.priv = s;
    s->inner = inner;
    s->workers = workers;
    s->queues = inner->queues;
    s->entries = inner->caps & PORT_RSS ? inner->rss_entries : TOEPLITZ_ENTRIES;
    s->may_spread = (inner->caps & PORT_RSS) != 0 && inner->queues == workers;
    s->kinds = inner->rss_kinds;
    shared_bool_store(&s->spread, s->may_spread);
    s->away_max = slots - 1;
    s->out_max = out_max;
    toeplitz_init(&s->hash, key);
    return s;
}

static struct rte_ring *ring_in(uint8_t **at, uint32_t slots)
{
    struct rte_ring *r = (struct rte_ring *)*at;
    CHECK(rte_ring_init(r, "handoff", slots, RING_F_SP_ENQ | RING_F_SC_DEQ) == 0);
    *at += ring_bytes(slots);
    return r;
}

void handoff_join(struct handoff *s, unsigned w, void *mem, struct pkt_pool *pool,
                  struct core_stats *stats)
{
    const uint32_t slots = s->away_max + 1;
    uint8_t *at = mem;
    CHECK((uintptr_t)mem % CACHE_LINE == 0);
    memset(mem, 0, handoff_footprint(slots, s->workers));
    struct lane *l = mem;
    *l = (struct lane){.id = w, .pool = pool, .stats = stats};
    at += ALIGN_UP(sizeof(*l), CACHE_LINE);
    l->batch = (struct batch *)at;
    l->in = (struct pair *)&l->batch[s->workers];
    l->away = (uint32_t *)&l->in[s->workers];
    at = (uint8_t *)ALIGN_UP((uintptr_t)&l->away[s->workers], CACHE_LINE);
    l->tx.go = ring_in(&at, slots);
    l->tx.back = ring_in(&at, slots);
    for (unsigned from = 0; from < s->workers; from++) {
        l->in[from].go = ring_in(&at, slots);
        l->in[from].back = ring_in(&at, slots);
    }
    CHECK(at <= (uint8_t *)mem + handoff_footprint(slots, s->workers));
    s->lanes[w] = l;
}

void handoff_wake(struct handoff *s, unsigned w, const struct wake *wake)
{
    for (unsigned from = 0; from < s->workers; from++)
        s->lanes[w]->in[from].wake = wake;
    for (unsigned c = w + s->queues; w < s->queues && c < s->workers; c += s->queues)
        s->lanes[c]->tx.wake = wake;
}

struct port *handoff_port(struct handoff *s)
{
    return &s->port;
}

unsigned handoff_queues(const struct handoff *s)
{
    return s->queues;
}

void handoff_read(const struct handoff *s, unsigned w, struct handoff_counts *out)
{
    const struct lane *l = s->lanes[w];
    const struct handoff_counts *c = &l->counts;
    *out = (struct handoff_counts){.wrong_core = stat_load(&c->wrong_core),
                                   .lost = stat_load(&c->lost),
                                   .copies = stat_load(&c->copies),
                                   .taken_over = stat_load(&c->taken_over),
                                   .tx_handed = stat_load(&c->tx_handed),
                                   .tx_refused = stat_load(&c->tx_refused),
                                   .room = s->away_max};
    for (unsigned k = 0; k < PORT_RSS_ALL_KINDS; k++)
        out->rss_wrong[k] = stat_load(&c->rss_wrong[k]);
    for (unsigned from = 0; from < s->workers; from++)
        out->waiting += rte_ring_count(l->in[from].go);
    for (unsigned of = 0; of < s->workers; of++)
        if (of >= s->queues && of % s->queues == w)
            out->tx_waiting += rte_ring_count(s->lanes[of]->tx.go);
    out->tx_waiting += peek_u32(&l->n_held);
}

void handoff_trust(struct handoff *s, bool trust)
{
    shared_bool_store(&s->spread, trust && s->may_spread);
}

bool handoff_trusted(const struct handoff *s)
{
    return shared_bool_load(&s->spread);
}

void handoff_flush(struct handoff *s)
{
    for (unsigned t = 0; t < s->queues; t++)
        for (unsigned tries = 0; tries < FLUSH_TRIES && send_for_others(s, s->lanes[t]); tries++)
            ;
}

static void free_ring(struct rte_ring *r)
{
    struct pkt *p;
    while (rte_ring_sc_dequeue(r, (void **)&p) == 0)
        pkt_free(p);
}

static void free_lane(const struct handoff *s, struct lane *l)
{
    for (uint32_t i = 0; i < l->n_held; i++)
        pkt_free(l->held[i]);
    free_ring(l->tx.go);
    free_ring(l->tx.back);
    for (unsigned from = 0; from < s->workers; from++) {
        free_ring(l->in[from].go);
        free_ring(l->in[from].back);
    }
}

void handoff_close(struct handoff *s)
{
    if (s == NULL)
        return;
    for (unsigned w = 0; w < s->workers; w++)
        if (s->lanes[w] != NULL)
            free_lane(s, s->lanes[w]);
    free(s);
}
