// SPDX-License-Identifier: BSD-3-Clause
#include "worker/handoff.h"

#include <rte_ring.h>
#include <stdlib.h>
#include <string.h>

#include "base/copy.h"
#include "wire/parse6.h"
#include "wire/proto.h"
#include "wire/raw.h"

enum {
    WORKERS_MAX = 64,    // a bit each
    FLUSH_TRIES = 1000,  // for a port that takes nothing
};

// pair: one way for packets, and the way home for those that were copied.
struct pair {
    struct rte_ring *go, *back;
};

struct batch {
    uint32_t n;
    struct pkt *pkts[BURST_MAX];
};

// lane: what belongs to one worker; nobody else writes it, but for the two rings of each pair.
struct lane {
    unsigned id;
    struct pkt_pool *pool;
    struct core_stats *stats;
    unsigned rx_turn, tx_turn;  // whose packets are taken first
    struct pair tx;             // to the worker that transmits for this one
    uint32_t tx_away;           // packets out there
    uint32_t n_held;            // copied to be sent, and not taken by the port
    struct pkt *held[HANDOFF_TAKE];
    struct pair *in;      // [worker] packets from each
    uint32_t *away;       // [worker] packets out with each
    struct batch *batch;  // [worker] packets of this burst for each
    struct handoff_counts counts;
};

struct handoff {
    struct port port;  // first: port.priv points to this struct
    struct port *inner;
    unsigned workers, queues, entries;
    uint32_t away_max;
    bool spread;  // by the device: each packet should arrive at home
    struct toeplitz hash;
    struct lane *lanes[WORKERS_MAX];
};

uint32_t handoff_slots(uint32_t packets, unsigned workers)
{
    uint32_t slots = HANDOFF_SLOTS_MAX;
    while (slots > HANDOFF_SLOTS_MIN && slots > packets / (4 * workers))
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

// The worker of a connection whose packets to us have these.
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

// An ICMP error quotes what we sent: its source is our side.
static int home_of_error(const struct toeplitz *t, unsigned entries, unsigned workers,
                         const uint8_t *icmp, const uint8_t *end)
{
    const uint8_t *ip = icmp + ICMP_BYTES;
    if (end < ip + IP4_BYTES ||
        (icmp[0] != ICMP_UNREACHABLE && icmp[0] != ICMP_TIME_EXCEEDED && icmp[0] != ICMP_PARAMETER))
        return HANDOFF_HERE;
    const uint8_t *ports = ip + 4 * (ip[0] & 15u);
    if (ip[0] >> 4 != 4 || ports < ip + IP4_BYTES || end < ports + 4 || !has_ports(ip[9]))
        return HANDOFF_HERE;
    return home_of(t, entries, workers, ip + 16, ip + 12, ports + 2, ports);
}

static int home_of6(const struct toeplitz *t, unsigned entries, unsigned workers,
                    const uint8_t *src, const uint8_t *dst, const uint8_t *src_port,
                    const uint8_t *dst_port)
{
    const uint32_t hash = toeplitz_v6(t, src, dst, load_raw16(src_port), load_raw16(dst_port));
    return (int)toeplitz_home(hash, entries, workers);
}

// What speaks of neighbours and groups goes to all, as ARP does. An error quotes what we sent,
// without extension headers.
static int home_of_icmp6(const struct toeplitz *t, unsigned entries, unsigned workers,
                         const uint8_t *icmp, const uint8_t *end)
{
    const uint8_t type = icmp[0], *ip = icmp + ICMP6_BYTES, *ports = ip + IP6_BYTES;
    if ((type >= ND_ROUTER_SOLICIT && type <= ND_REDIRECT) || type == MLD_QUERY)
        return HANDOFF_ALL;
    if (type < ICMP6_UNREACHABLE || type > ICMP6_PARAMETER || end < ports + 4 || ip[0] >> 4 != 6 ||
        !has_ports(ip[6]))
        return HANDOFF_HERE;
    return home_of6(t, entries, workers, ip + 24, ip + 8, ports + 2, ports);
}

static int home_of_ip6(const struct toeplitz *t, unsigned entries, unsigned workers,
                       const uint8_t *frame, uint32_t len)
{
    const uint8_t *src = frame + ETH_BYTES + 8, *dst = frame + ETH_BYTES + 24, *l4;
    static const uint8_t no_ports[4];
    struct wire_ip6 ip;
    const enum drop_reason reason = wire_parse_ip6(frame, len, &ip);
    if (unlikely(reason == DROP_ip6_fragment))
        return home_of6(t, entries, workers, src, dst, no_ports, no_ports + 2);
    if (reason != DROP_NONE || ip.l4_len < 4)
        return HANDOFF_HERE;
    l4 = frame + ip.l4_off;
    if (likely(has_ports(ip.proto)))
        return home_of6(t, entries, workers, src, dst, l4, l4 + 2);
    return ip.proto == IP_PROTO_ICMP6 ? home_of_icmp6(t, entries, workers, l4, l4 + ip.l4_len)
                                      : HANDOFF_HERE;
}

static NOINLINE int home_of_other(const struct toeplitz *t, unsigned entries, unsigned workers,
                                  const uint8_t *frame, uint32_t len)
{
    const uint16_t type = load_be16(frame + 12);
    if (type == ETH_TYPE_IP6)
        return home_of_ip6(t, entries, workers, frame, len);
    return type == ETH_TYPE_ARP ? HANDOFF_ALL : HANDOFF_HERE;
}

// A fragment, whose ports most do not name: by its addresses. It may have a single byte of data.
static NOINLINE int home_of_part(const struct toeplitz *t, unsigned entries, unsigned workers,
                                 const uint8_t *frame, uint32_t len)
{
    static const uint8_t no_ports[4];
    const uint8_t *ip = frame + ETH_BYTES;
    if (len < ETH_BYTES + IP4_BYTES || load_be16(frame + 12) != ETH_TYPE_IP4 ||
        (load_be16(ip + 6) & 0x3fff) == 0)
        return HANDOFF_HERE;
    return home_of(t, entries, workers, ip + 12, ip + 16, no_ports, no_ports + 2);
}

int handoff_home(const struct toeplitz *t, unsigned entries, unsigned workers, const uint8_t *frame,
                 uint32_t len)
{
    if (unlikely(len < ETH_BYTES + IP4_BYTES + 4))
        return home_of_part(t, entries, workers, frame, len);
    if (unlikely(load_be16(frame + 12) != ETH_TYPE_IP4))
        return home_of_other(t, entries, workers, frame, len);
    const uint8_t *ip = frame + ETH_BYTES, *l4 = ip + 4 * (ip[0] & 15u);
    const bool fragment = (load_be16(ip + 6) & 0x3fff) != 0;
    if (unlikely(ip[0] >> 4 != 4 || l4 < ip + IP4_BYTES))
        return HANDOFF_HERE;
    if (unlikely(fragment || frame + len < l4 + 4))
        return home_of_part(t, entries, workers, frame, len);
    if (likely(has_ports(ip[9])))
        return home_of(t, entries, workers, ip + 12, ip + 16, l4, l4 + 2);
    return ip[9] == IP_PROTO_ICMP ? home_of_error(t, entries, workers, l4, frame + len)
                                  : HANDOFF_HERE;
}

// What a copy says of itself: the device's verdicts, and what the device is asked to fill in. All
// else speaks of fields that are not copied.
#define COPIED_FLAGS                                                                               \
    (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_TX_OFFLOAD_MASK)

// `from` belongs to another worker: it is only read.
static void copy_packet(struct pkt *to, const struct pkt *from)
{
    uint8_t *at = pkt_data(to);
    CHECK(pkt_total_len(from) <= PKT_ROOM);
    for (const struct rte_mbuf *m = &from->m; m != NULL; m = m->next) {
        copy_bytes(at, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
        at += m->data_len;
    }
    pkt_set_len(to, pkt_total_len(from));
    to->m.ol_flags = from->m.ol_flags & COPIED_FLAGS;
    if (to->m.ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK)
        to->m.tx_offload = from->m.tx_offload;
}

// take: copies of at most n (<= HANDOFF_TAKE) packets that wait in the pair. Without packets for
// the copies they wait on.
static uint32_t take(const struct pair *from, struct pkt_pool *pool, struct pkt **mine, uint32_t n)
{
    struct pkt *theirs[HANDOFF_TAKE];
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
    // Its room is that of the other ring, which held all that is out.
    CHECK(rte_ring_sp_enqueue_bulk(from->back, (void **)theirs, n, NULL) == n);
    return n;
}

static void collect(struct rte_ring *back, uint32_t *away)
{
    struct pkt *home[BURST_MAX];
    if (*away == 0)
        return;
    const uint32_t n = rte_ring_sc_dequeue_burst(back, (void **)home, BURST_MAX, NULL);
    *away -= n;
    pkt_free_bulk(home, n);
}

// give: of n packets those for which there is room; returns how many.
static uint32_t give(const struct handoff *s, const struct pair *to, uint32_t *away,
                     struct pkt **pkts, uint32_t n)
{
    n = MIN(n, s->away_max - *away);
    if (n != 0)
        CHECK(rte_ring_sp_enqueue_bulk(to->go, (void **)pkts, n, NULL) == n);
    *away += n;
    return n;
}

static void hand_over(struct handoff *s, struct lane *l, unsigned to)
{
    struct batch *b = &l->batch[to];
    const uint32_t given = give(s, &s->lanes[to]->in[l->id], &l->away[to], b->pkts, b->n);
    l->stats->c.handed_out += given;
    l->counts.wrong_core += b->n;
    if (unlikely(given < b->n)) {
        l->counts.lost += b->n - given;
        l->stats->c.rx_packets += b->n - given;
        l->stats->drops[DROP_handoff_full] += b->n - given;
        pkt_free_bulk(b->pkts + given, b->n - given);
    }
    b->n = 0;
}

// Copies for the others leave half of a ring to what belongs there.
static NOINLINE void hand_copies(struct handoff *s, struct lane *l, const struct pkt *p)
{
    for (unsigned to = 0; to < s->workers; to++) {
        struct pkt *copy;
        if (to == l->id)
            continue;
        l->stats->c.handed_copies++;
        l->counts.copies++;
        if (l->away[to] >= s->away_max / 2 || !pkt_alloc_bulk(l->pool, &copy, 1)) {
            l->stats->c.rx_packets++;
            l->stats->drops[DROP_handoff_full]++;
            l->counts.lost++;
            continue;
        }
        copy_packet(copy, p);
        CHECK(give(s, &s->lanes[to]->in[l->id], &l->away[to], &copy, 1) == 1);
    }
}

// receive: from the device's own queue; what is not ours goes on, in order.
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
            l->stats->c.rss_wrong += s->spread;
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

// take_over: what the owners of queues received for this worker. Before it, in a quarter of the
// room, what workers without one put together of fragments.
static uint32_t take_over(struct handoff *s, struct lane *l, struct pkt **pkts, uint32_t n)
{
    uint32_t got = 0;
    for (unsigned from = s->queues; from < s->workers; from++)
        if (from != l->id)
            got +=
                take(&l->in[from], l->pool, pkts + got, MIN(n / 4 - got, (uint32_t)HANDOFF_TAKE));
    l->rx_turn = l->rx_turn + 1 < s->queues ? l->rx_turn + 1 : 0;
    for (unsigned k = 0, from = l->rx_turn; k < s->queues; k++) {
        if (from != l->id)
            got += take(&l->in[from], l->pool, pkts + got, MIN(n - got, (uint32_t)HANDOFF_TAKE));
        from = from + 1 < s->queues ? from + 1 : 0;
    }
    l->stats->c.handed_in += got;
    l->counts.taken_over += got;
    return got;
}

static void send_held(struct handoff *s, struct lane *l)
{
    const uint32_t sent =
        s->inner->ops->tx_burst(s->inner, (uint16_t)l->id, l->held, (uint16_t)l->n_held);
    l->n_held -= sent;
    if (l->n_held != 0)
        memmove(l->held, l->held + sent, l->n_held * sizeof(l->held[0]));
}

// send_for_others: those workers without a queue whose numbers leave this one's. False: nothing is
// left to be sent.
static bool send_for_others(struct handoff *s, struct lane *l)
{
    const unsigned clients = (s->workers - 1 - l->id) / s->queues;
    bool more = l->n_held != 0;
    if (more)
        send_held(s, l);
    l->tx_turn = l->tx_turn + 1 < clients ? l->tx_turn + 1 : 0;
    for (unsigned k = 0, c = l->tx_turn; k < clients && l->n_held == 0; k++) {
        const struct lane *client = s->lanes[l->id + (c + 1) * s->queues];
        l->n_held = take(&client->tx, l->pool, l->held, HANDOFF_TAKE);
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
    if (l->away[to] + n <= s->away_max) {
        CHECK(give(s, &s->lanes[to]->in[l->id], &l->away[to], pkts, n) == n);
        return;
    }
    l->stats->c.rx_packets += n;
    l->stats->drops[DROP_handoff_full] += n;
    l->counts.lost += n;
    pkt_free_bulk(pkts, n);
}

static uint16_t handoff_rx_burst(struct port *p, uint16_t w, struct pkt **pkts, uint16_t n)
{
    struct handoff *s = p->priv;
    struct lane *l = s->lanes[w];
    for (unsigned to = 0; to < s->workers; to++)
        collect(s->lanes[to]->in[w].back, &l->away[to]);
    if (w >= s->queues)
        return (uint16_t)take_over(s, l, pkts, n);
    send_for_others(s, l);
    const uint32_t got = take_over(s, l, pkts, n / 2);
    return (uint16_t)(got + receive(s, l, pkts + got, n - got));
}

static uint16_t handoff_tx_burst(struct port *p, uint16_t w, struct pkt **pkts, uint16_t n)
{
    struct handoff *s = p->priv;
    struct lane *l = s->lanes[w];
    if (w < s->queues)
        return s->inner->ops->tx_burst(s->inner, w, pkts, n);
    collect(l->tx.back, &l->tx_away);
    const uint32_t given = give(s, &l->tx, &l->tx_away, pkts, n);
    l->stats->c.tx_handed += given;
    l->counts.tx_handed += given;
    return (uint16_t)given;
}

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
    .driver = "steer",
    .rx_burst = handoff_rx_burst,
    .tx_burst = handoff_tx_burst,
    .stats = handoff_stats,
    .close = close_port,
};

struct handoff *handoff_open(struct port *inner, uint32_t slots, unsigned workers,
                             const uint8_t *key)
{
    CHECK(workers <= WORKERS_MAX && inner->queues <= workers);
    struct handoff *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->port = *inner;
    s->port.ops = &handoff_ops;
    s->port.queues = (uint16_t)workers;
    if (inner->queues < workers)  // a chain does not go from one worker to another
        s->port.caps &= ~(uint32_t)PORT_TSO;
    s->port.priv = s;
    s->inner = inner;
    s->workers = workers;
    s->queues = inner->queues;
    s->entries = inner->caps & PORT_RSS ? inner->rss_entries : TOEPLITZ_ENTRIES;
    s->spread = (inner->caps & PORT_RSS) != 0 && inner->queues == workers;
    s->away_max = slots - 1;
    toeplitz_init(&s->hash, key);
    return s;
}

static struct rte_ring *ring_in(uint8_t **at, uint32_t slots)
{
    struct rte_ring *r = (struct rte_ring *)*at;
    CHECK(rte_ring_init(r, "steer", slots, RING_F_SP_ENQ | RING_F_SC_DEQ) == 0);
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
                                   .room = s->away_max};
    for (unsigned from = 0; from < s->workers; from++)
        out->waiting += rte_ring_count(l->in[from].go);
    for (unsigned of = 0; of < s->workers; of++)
        if (of >= s->queues && of % s->queues == w)
            out->tx_waiting += rte_ring_count(s->lanes[of]->tx.go);
    out->tx_waiting += peek_u32(&l->n_held);
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
