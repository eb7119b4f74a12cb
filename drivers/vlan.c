// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/vlan.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

enum { MEMBERS_MAX = PORTS_MAX };

// counts: of one queue of a member. Written by its worker, read by any thread.
struct counts {
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
} CACHE_ALIGNED;

// member: the port of a VLAN; member 0: frames that are for none.
struct member {
    struct port port;
    struct trunk *trunk;
    unsigned ix;
    struct counts *counts;  // [queue]; NULL: member 0, whose frames the parent counts
};

// waiting: frames of one queue that other members are to take, in the order of their arrival.
struct waiting {
    uint32_t n;
    uint8_t of[BURST_MAX];
    struct pkt *pkts[BURST_MAX];
} CACHE_ALIGNED;

struct trunk {
    struct member own;  // member 0
    struct port *parent;
    unsigned n;
    struct member *members[MEMBERS_MAX];
    struct waiting *waiting;               // [queue]
    uint8_t by_vid[PKT_TAG_VID_MASK + 1];  // member; 0: none
};

// take_tag: the member that a received frame is for. Its tag is removed, unless it is dropped
// later.
static inline unsigned take_tag(const struct trunk *t, struct pkt *p)
{
    const uint8_t *tag = pkt_data(p) + PKT_TAG_TYPE_AT;
    if (pkt_len(p) < PKT_TAG_FRAME_BYTES || load_be16(tag) != PKT_TAG_TYPE)
        return 0;
    const uint16_t vid = load_be16(tag + 2) & PKT_TAG_VID_MASK;
    const uint16_t inner = load_be16(tag + PKT_TAG_BYTES);
    if ((vid != 0 && t->by_vid[vid] == 0) || inner == PKT_TAG_TYPE || inner == PKT_TAG_TYPE_OUTER)
        return 0;
    pkt_untag(p);
    return t->by_vid[vid];
}

static void count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static void count_rx(const struct member *m, uint16_t q, struct pkt *const *pkts, uint32_t n)
{
    uint64_t bytes = 0;
    if (m->counts == NULL || n == 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        bytes += pkt_total_len(pkts[i]);
    count(&m->counts[q].rx_packets, n);
    count(&m->counts[q].rx_bytes, bytes);
}

// take_waiting: takes up to n frames of member m, and closes the gaps.
static uint16_t take_waiting(struct waiting *w, unsigned m, struct pkt **pkts, uint16_t n)
{
    uint16_t got = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->of[i] == m && got < n) {
            pkts[got++] = w->pkts[i];
            continue;
        }
        w->pkts[kept] = w->pkts[i];
        w->of[kept++] = w->of[i];
    }
    w->n = kept;
    return got;
}

// share_out: keeps the frames of member m in pkts and returns their number. The others wait.
static uint16_t share_out(const struct trunk *t, struct waiting *w, unsigned m, struct pkt **pkts,
                          uint16_t n)
{
    uint16_t kept = 0;
    for (uint16_t i = 0; i < n; i++)
        prefetch0(pkt_data(pkts[i]));
    for (uint16_t i = 0; i < n; i++) {
        const unsigned to = take_tag(t, pkts[i]);
        if (to == m) {
            pkts[kept++] = pkts[i];
            continue;
        }
        w->pkts[w->n] = pkts[i];
        w->of[w->n++] = (uint8_t)to;
    }
    return kept;
}

static uint16_t rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    const struct member *m = p->priv;
    const struct trunk *t = m->trunk;
    struct waiting *w = &t->waiting[q];
    uint16_t got;
    if (w->n != 0) {
        got = take_waiting(w, m->ix, pkts, n);
    } else {
        got = t->parent->ops->rx_burst(t->parent, q, pkts, MIN(n, (uint16_t)BURST_MAX));
        got = share_out(t, w, m->ix, pkts, got);
    }
    count_rx(m, q, pkts, got);
    return got;
}

static uint16_t trunk_tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct port *parent = ((const struct member *)p->priv)->trunk->parent;
    return parent->ops->tx_burst(parent, q, pkts, n);
}

// vlan_tx_burst: frames that the parent did not accept stay the caller's, as they were.
static uint16_t vlan_tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    const struct member *m = p->priv;
    struct port *parent = m->trunk->parent;
    uint64_t bytes = 0;
    for (uint16_t i = 0; i < n; i++) {
        bytes += pkt_total_len(pkts[i]);
        pkt_tag(pkts[i], p->vlan);
    }
    const uint16_t sent = parent->ops->tx_burst(parent, q, pkts, n);
    for (uint16_t i = sent; i < n; i++) {
        pkt_untag(pkts[i]);
        bytes -= pkt_total_len(pkts[i]);
    }
    count(&m->counts[q].tx_packets, sent);
    count(&m->counts[q].tx_bytes, bytes);
    return sent;
}

// wait_fds: frames that the parent brought for others of its members wait for their turn.
static int wait_fds(struct port *p, uint16_t q, int *out, unsigned max)
{
    const struct trunk *t = ((const struct member *)p->priv)->trunk;
    return t->waiting[q].n != 0 ? PORT_WAIT_NOT : port_wait_fds(t->parent, q, out, max);
}

static bool wait_line(struct port *p, uint16_t q, struct rte_power_monitor_cond *out)
{
    const struct trunk *t = ((const struct member *)p->priv)->trunk;
    return t->waiting[q].n == 0 && port_wait_line(t->parent, q, out);
}

static const struct port_wait wait = {.fds = wait_fds, .line = wait_line};

static void trunk_stats(struct port *p, struct port_stats *out)
{
    struct port *parent = ((const struct member *)p->priv)->trunk->parent;
    parent->ops->stats(parent, out);
}

static void vlan_stats(struct port *p, struct port_stats *out)
{
    const struct member *m = p->priv;
    *out = (struct port_stats){0};
    for (unsigned q = 0; q < p->queues; q++) {
        out->rx_packets += __atomic_load_n(&m->counts[q].rx_packets, __ATOMIC_RELAXED);
        out->rx_bytes += __atomic_load_n(&m->counts[q].rx_bytes, __ATOMIC_RELAXED);
        out->tx_packets += __atomic_load_n(&m->counts[q].tx_packets, __ATOMIC_RELAXED);
        out->tx_bytes += __atomic_load_n(&m->counts[q].tx_bytes, __ATOMIC_RELAXED);
    }
}

// vlan_link: the link of the parent. A parent that is gone is opened again by itself, and this port
// then works again; so the link is down, and not gone.
static void vlan_link(struct port *p, struct port_link *out)
{
    struct port *parent = ((const struct member *)p->priv)->trunk->parent;
    *out = (struct port_link){.reason = PORT_LINK_UNKNOWN};
    if (parent->ops->view != NULL && parent->ops->view->link != NULL)
        parent->ops->view->link(parent, out);
    if (out->reason == PORT_LINK_GONE || out->reason == PORT_LINK_REPLACED)
        out->reason = PORT_LINK_NO_CARRIER;
}

// device_view: the view of the device of the parent, which may be inside it; *device: its port.
static const struct port_view *device_view(const struct port *p, struct port **device)
{
    static const struct port_view none;
    *device = ((const struct member *)p->priv)->trunk->parent;
    while ((*device)->ops->view != NULL && (*device)->ops->view->inner != NULL)
        *device = (*device)->ops->view->inner(*device);
    return (*device)->ops->view != NULL ? (*device)->ops->view : &none;
}

// vlan_rss_table, vlan_rss_check: packets of a VLAN alone may show that the device forgot its key.
static unsigned vlan_rss_table(struct port *p, uint16_t *queues, unsigned max)
{
    struct port *device;
    const struct port_view *v = device_view(p, &device);
    return v->rss_table != NULL ? v->rss_table(device, queues, max) : 0;
}

static void vlan_rss_check(struct port *p, struct port_rss_check *out)
{
    struct port *device;
    const struct port_view *v = device_view(p, &device);
    *out = (struct port_rss_check){0};
    if (v->rss_check != NULL)
        v->rss_check(device, out);
}

static void vlan_describe(struct port *p, struct text *out)
{
    const struct member *m = p->priv;
    text_printf(out, "parent %s\nvlan %u\n", m->trunk->parent->name, p->vlan);
}

static void trunk_close(struct port *p)
{
    vlan_trunk_close(p);
}

// vlan_close: its frames that wait are freed with the trunk, which is closed later.
static void vlan_close(struct port *p)
{
    struct member *m = p->priv;
    m->trunk->members[m->ix] = NULL;
    m->trunk->by_vid[p->vlan] = 0;
    free(m->counts);
    free(m);
}

static const struct port_ops trunk_ops = {
    .driver = "trunk",
    .rx_burst = rx_burst,
    .tx_burst = trunk_tx_burst,
    .stats = trunk_stats,
    .close = trunk_close,
    .wait = &wait,
};

static const struct port_view vlan_view = {.link = vlan_link,
                                           .rss_table = vlan_rss_table,
                                           .rss_check = vlan_rss_check,
                                           .describe = vlan_describe};

static const struct port_ops vlan_ops = {
    .driver = "vlan",
    .rx_burst = rx_burst,
    .tx_burst = vlan_tx_burst,
    .stats = vlan_stats,
    .close = vlan_close,
    .view = &vlan_view,
    .wait = &wait,
};

static void *zeroed(size_t each, unsigned n)
{
    void *mem = aligned_alloc(CACHE_LINE, each * n);
    return mem == NULL ? NULL : memset(mem, 0, each * n);
}

struct port *vlan_trunk_open(struct port *parent)
{
    struct trunk *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return NULL;
    t->waiting = zeroed(sizeof(*t->waiting), parent->queues);
    if (t->waiting == NULL) {
        free(t);
        return NULL;
    }
    t->parent = parent;
    t->own = (struct member){.port = *parent, .trunk = t};
    t->own.port.ops = &trunk_ops;
    t->own.port.priv = &t->own;
    t->members[t->n++] = &t->own;
    return &t->own.port;
}

void vlan_trunk_close(struct port *trunk)
{
    if (trunk == NULL)
        return;
    struct trunk *t = ((struct member *)trunk->priv)->trunk;
    for (unsigned q = 0; q < trunk->queues; q++)
        for (uint32_t i = 0; i < t->waiting[q].n; i++)
            pkt_free(t->waiting[q].pkts[i]);
    free(t->waiting);
    free(t);
}

int vlan_check(const struct port_params *p, struct err *err)
{
    if (p->vlan >= VLAN_ID_MIN && p->vlan <= VLAN_ID_MAX)
        return 0;
    return err_set(err, "port %s: vlan = %u: %d to %d was expected", p->name, p->vlan, VLAN_ID_MIN,
                   VLAN_ID_MAX);
}

static int fits(const struct trunk *t, const struct port_params *p, struct err *err)
{
    if (t->by_vid[p->vlan] != 0)
        return err_set(err, "port %s: port %s has VLAN %u already", p->name,
                       t->members[t->by_vid[p->vlan]]->port.name, p->vlan);
    if (t->n == MEMBERS_MAX)
        return err_set(err, "port %s: port %s has %d VLANs already", p->name, t->parent->name,
                       MEMBERS_MAX - 1);
    return 0;
}

struct port *vlan_open(const struct port_params *p, struct err *err)
{
    if (vlan_check(p, err) != 0)
        return NULL;
    CHECK(p->parent != NULL && p->parent->ops == &trunk_ops);
    struct trunk *t = ((struct member *)p->parent->priv)->trunk;
    if (fits(t, p, err) != 0)
        return NULL;
    struct member *m = calloc(1, sizeof(*m));
    struct counts *counts = zeroed(sizeof(*counts), t->parent->queues);
    CHECK(m != NULL && counts != NULL);
    *m = (struct member){.port = *t->parent, .trunk = t, .ix = t->n, .counts = counts};
    strcpy(m->port.name, p->name);
    m->port.ops = &vlan_ops;
    m->port.priv = m;
    m->port.vlan = p->vlan;
    m->port.mtu = p->mtu != 0 ? MIN(p->mtu, t->parent->mtu) : t->parent->mtu;
    if ((m->port.caps & PORT_RSS_TAGGED) == 0)
        m->port.caps &= ~(uint32_t)PORT_RSS;
    t->members[t->n] = m;
    t->by_vid[p->vlan] = (uint8_t)t->n++;
    return &m->port;
}
