// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/memif_rings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/copy.h"

enum { SLOTS_A_BURST = 4 * BURST_MAX, AHEAD = 4 };

static const char bad_index[] = "an index of a ring ran ahead";
static const char bad_place[] = "a descriptor points out of its region";
static const char too_many_parts[] = "a frame of too many buffers";
static const char too_small[] = "its buffers are too small";

// ---- words that the peer can write

static uint16_t seen(const uint16_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void publish(uint16_t *word, uint16_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline struct memif_desc *desc_at(const struct memif_end *e, uint16_t at)
{
    return &e->ring->desc[at & (e->slots - 1)];
}

// The compiler must not read a field again after it was checked.
static inline struct memif_desc desc_read(const struct memif_end *e, uint16_t at)
{
    const struct memif_desc *d = desc_at(e, at);
    return (struct memif_desc){.flags = __atomic_load_n(&d->flags, __ATOMIC_RELAXED),
                               .region = __atomic_load_n(&d->region, __ATOMIC_RELAXED),
                               .length = __atomic_load_n(&d->length, __ATOMIC_RELAXED),
                               .offset = __atomic_load_n(&d->offset, __ATOMIC_RELAXED)};
}

// Counters have one writer and are read by the control thread at any time.
static inline void count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static NOINLINE uint16_t break_off(struct memif_rings *r, const char *rule)
{
    shared_ptr_store_release(&r->broken, rule);
    return 0;
}

// ---- memory

static bool is_memory(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

static uint64_t ring_bytes(uint32_t slots)
{
    return sizeof(struct memif_ring) + slots * sizeof(struct memif_desc);
}

// Two rings, a buffer for each slot, and the rest of each region's last page.
uint64_t memif_rings_bytes_max(unsigned log2_slots)
{
    return 2 * (ring_bytes(1u << log2_slots) + ((uint64_t)MEMIF_BUFFER_BYTES << log2_slots)) +
           MEMIF_REGIONS_MAX * MEMIF_PAGE_BYTES;
}

static uint64_t pages_bytes(uint64_t bytes)
{
    return ALIGN_UP(bytes, (uint64_t)MEMIF_PAGE_BYTES);
}

// fix: after it the file can neither grow nor take another seal. Whether it has these seals counts,
// not who set them.
static bool fix(int fd)
{
    enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || !is_memory(fd))
        return false;
    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL);
    seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & SEALS) == SEALS;
}

// wrong_size: of what it has more than its message says, blocks could make up for lost pages.
static const char *wrong_size(int fd, uint64_t bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || bytes == 0 || (uint64_t)st.st_size < bytes)
        return "a region is shorter than its message says";
    return pages_bytes((uint64_t)st.st_size) != pages_bytes(bytes)
               ? "a region is longer than its message says"
               : NULL;
}

static const char *map(struct memif_rings *r, int fd, uint64_t bytes)
{
    struct memif_region *to = &r->regions[r->n_regions];
    const int ours = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (ours < 0)
        return "there is no descriptor for a region";
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ours, 0);
    if (at == MAP_FAILED) {
        close(ours);
        return "a region cannot be mapped for reading and writing";
    }
    *to = (struct memif_region){.addr = at, .bytes = bytes, .fd = ours};
    r->n_regions++;
    return NULL;
}

const char *memif_rings_map(struct memif_rings *r, int fd, uint64_t bytes, uint64_t bytes_max)
{
    uint64_t sum = bytes;
    for (unsigned i = 0; i < r->n_regions; i++)
        sum += r->regions[i].bytes;
    if (r->n_regions == MEMIF_REGIONS_MAX)
        return "too many regions";
    if (bytes > bytes_max || sum > bytes_max)
        return "the regions are too large for rings of rx_ring slots";
    if (!fix(fd))
        return "a region must be a memfd of 4 KiB pages, sealed with F_SEAL_SHRINK";
    const char *wrong = wrong_size(fd, bytes);
    return wrong != NULL ? wrong : map(r, fd, bytes);
}

const char *memif_rings_place(struct memif_rings *r, struct memif_end *end, unsigned region,
                              uint32_t offset, unsigned log2_slots)
{
    if (end->ring != NULL)
        return "one ring in each direction";
    if (log2_slots > MEMIF_LOG2_SLOTS_MAX)
        return "a ring is too large";
    if (region >= r->n_regions || offset % sizeof(struct memif_desc) != 0 ||
        offset + ring_bytes(1u << log2_slots) > r->regions[region].bytes)
        return "a ring does not lie in its region";
    end->ring = (struct memif_ring *)(r->regions[region].addr + offset);
    end->slots = 1u << log2_slots;
    return NULL;
}

// desc_reset: the descriptor of a buffer of ours, as its receiver expects it.
static void desc_reset(const struct memif_end *e, uint16_t at, uint32_t length, uint16_t flags)
{
    const uint32_t slot = at & (e->slots - 1);
    *desc_at(e, at) = (struct memif_desc){
        .flags = flags, .length = length, .offset = e->buffers_offset + slot * PKT_ROOM};
}

static void own_ring(struct memif_rings *r, struct memif_end *end, unsigned nth,
                     unsigned log2_slots)
{
    const uint32_t slots = 1u << log2_slots;
    memif_rings_place(r, end, 0, (uint32_t)(nth * ring_bytes(slots)), log2_slots);
    end->buffers_offset = (uint32_t)(2 * ring_bytes(slots)) + nth * slots * PKT_ROOM;
    end->buffers = r->regions[0].addr + end->buffers_offset;
    end->ring->cookie = MEMIF_COOKIE;
    for (uint32_t i = 0; i < slots; i++)
        desc_reset(end, (uint16_t)i, PKT_ROOM, 0);
}

int memif_rings_make(struct memif_rings *r, unsigned log2_slots)
{
    const uint64_t bytes = 2 * (ring_bytes(1u << log2_slots) + ((uint64_t)PKT_ROOM << log2_slots));
    const int fd = memfd_create("memif", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
        memif_rings_map(r, fd, bytes, memif_rings_bytes_max(log2_slots)) != NULL) {
        close(fd);
        return -1;
    }
    r->begun = true;
    own_ring(r, &r->tx, 0, log2_slots);
    own_ring(r, &r->rx, 1, log2_slots);
    return fd;
}

// populate: so that the worker meets no page that is not there. Before Linux 5.14 it meets some.
// Not when it is mapped: memory of peers whose link never comes up must not count as ours. Locked
// pages are not swapped out, whatever limit the peer sets for its own memory.
static const char *populate(struct memif_rings *r)
{
    bool whole = true;
    for (unsigned i = 0; i < r->n_regions; i++) {
        const struct memif_region *g = &r->regions[i];
        const bool done = madvise(g->addr, g->bytes, MADV_POPULATE_WRITE) == 0;
        if (!done && errno != EINVAL)
            return "there is no memory for its regions";
        whole = whole && done;
        mlock(g->addr, g->bytes);
    }
    r->whole = whole;
    return NULL;
}

// The blocks of a file are its pages, those that were swapped out included.
static bool has_all_pages(const struct memif_region *g)
{
    struct stat st;
    return fstat(g->fd, &st) != 0 || (uint64_t)st.st_blocks * 512 >= pages_bytes(g->bytes);
}

bool memif_rings_lost_pages(const struct memif_rings *r)
{
    for (unsigned i = 0; r->whole && i < r->n_regions; i++)
        if (!has_all_pages(&r->regions[i]))
            return true;
    return false;
}

// A client's peers (DPDK's net_memif) set the indices to 0 before they say CONNECTED: it posts its
// buffers after that. A server begins where the client's memory says that it was.
const char *memif_rings_begin(struct memif_rings *r)
{
    if (r->rx.ring == NULL || r->tx.ring == NULL)
        return "a ring in each direction is needed";
    r->begun = true;
    if (r->rx.ring->cookie != MEMIF_COOKIE || r->tx.ring->cookie != MEMIF_COOKIE)
        return "a ring has no cookie";
    if (r->client) {
        publish(&r->tx.ring->head, 0);
        publish(&r->tx.ring->tail, 0);
        publish(&r->rx.ring->tail, 0);
        publish(&r->rx.ring->head, (uint16_t)r->rx.slots);
    }
    r->rx.at = r->client ? 0 : seen(&r->rx.ring->tail);
    r->tx.at = r->client ? 0 : seen(&r->tx.ring->tail);
    publish(&r->rx.ring->flags, MEMIF_RING_POLLED);
    return populate(r);
}

bool memif_rings_wants_waking(const struct memif_rings *r)
{
    return (seen(&r->tx.ring->flags) & MEMIF_RING_POLLED) == 0;
}

static uint16_t rx_end(const struct memif_rings *r)
{
    return seen(r->client ? &r->rx.ring->tail : &r->rx.ring->head);
}

unsigned memif_rings_waiting(const struct memif_rings *r)
{
    const uint16_t n = (uint16_t)(rx_end(r) - __atomic_load_n(&r->rx.at, __ATOMIC_RELAXED));
    return MIN(n, r->rx.slots);
}

void memif_rings_unmap(struct memif_rings *r)
{
    for (unsigned i = 0; i < r->n_regions; i++) {
        const struct memif_region *g = &r->regions[i];
        munlock(g->addr, g->bytes);
        if (r->begun)
            madvise(g->addr, g->bytes, MADV_REMOVE);
        munmap(g->addr, g->bytes);
        close(g->fd);
    }
    memset(r, 0, sizeof(*r));
}

// ---- bursts

// buffer_of: where `length` bytes that descriptor d of slot `at` names lie. NULL: outside.
static inline uint8_t *buffer_of(const struct memif_rings *r, const struct memif_end *e,
                                 uint16_t at, const struct memif_desc *d)
{
    if (r->client)
        return unlikely(d->length > PKT_ROOM) ? NULL
                                              : e->buffers + (at & (e->slots - 1)) * PKT_ROOM;
    if (unlikely(d->region >= r->n_regions) ||
        unlikely((uint64_t)d->offset + d->length > r->regions[d->region].bytes))
        return NULL;
    return r->regions[d->region].addr + d->offset;
}

// take_frame: copies the frame that begins at *at into p; `end` is behind the last filled slot. A
// frame that does not fit in one packet, or has no end, becomes an empty p. False: the peer broke
// a rule.
static inline bool take_frame(struct memif_rings *r, struct pkt *p, uint16_t *at, uint16_t end)
{
    const uint32_t room = pkt_room(p);
    uint32_t len = 0;
    bool fits = true, more = true;
    for (unsigned parts = 0; more && *at != end; parts++) {
        const struct memif_desc d = desc_read(&r->rx, *at);
        const uint8_t *from = buffer_of(r, &r->rx, *at, &d);
        if (unlikely(from == NULL || parts == MEMIF_PARTS_MAX)) {
            break_off(r, from == NULL ? bad_place : too_many_parts);
            return false;
        }
        fits = fits && d.length <= room - len;
        if (likely(fits)) {
            copy_bytes(pkt_data(p) + len, from, d.length);
            len += d.length;
        }
        more = (d.flags & MEMIF_DESC_NEXT) != 0;
        (*at)++;
    }
    pkt_set_len(p, likely(fits && !more) ? len : 0);
    return true;
}

// give_back: slots from `from` to r->rx.at are the peer's again.
static inline void give_back(struct memif_rings *r, uint16_t from)
{
    struct memif_end *e = &r->rx;
    if (!r->client) {
        publish(&e->ring->tail, e->at);
        return;
    }
    for (; from != e->at; from++)
        desc_reset(e, from, PKT_ROOM, 0);
    publish(&e->ring->head, (uint16_t)(e->at + e->slots));
}

static inline void prefetch_frame(const struct memif_rings *r, uint16_t at, uint16_t end)
{
    if ((uint16_t)(end - at) > r->rx.slots)
        return;
    const struct memif_desc d = desc_read(&r->rx, at);
    const uint8_t *from = buffer_of(r, &r->rx, at, &d);
    if (likely(from != NULL))
        prefetch0(from);
}

uint16_t memif_rings_rx(struct memif_rings *r, struct memif_counts *c, struct pkt_pool *pool,
                        struct pkt **pkts, uint16_t n)
{
    const uint16_t begin = r->rx.at, end = rx_end(r), waiting = (uint16_t)(end - begin);
    if (waiting == 0 || unlikely(shared_ptr_load(&r->broken) != NULL))
        return 0;
    if (unlikely(waiting > r->rx.slots))
        return break_off(r, bad_index);
    const uint16_t want = MIN(n, waiting);
    if (unlikely(!pkt_alloc_bulk(pool, pkts, want))) {
        count(&c->rx_nombuf, 1);
        return 0;
    }
    uint16_t got = 0, errors = 0, at = begin;
    uint64_t bytes = 0;
    bool good = true;
    while (good && got < want && at != end && (uint16_t)(at - begin) < SLOTS_A_BURST) {
        if ((uint16_t)(end - at) > AHEAD)
            prefetch_frame(r, (uint16_t)(at + AHEAD), end);
        good = take_frame(r, pkts[got], &at, end);
        const uint32_t len = pkt_len(pkts[got]);
        bytes += good ? len : 0;
        if (likely(good && len != 0))
            got++;
        else
            errors++;
    }
    if (got < want)
        pkt_free_bulk(pkts + got, want - got);
    __atomic_store_n(&r->rx.at, at, __ATOMIC_RELAXED);
    give_back(r, begin);
    count(&c->rx_packets, got);
    count(&c->rx_bytes, bytes);
    if (unlikely(errors != 0))
        count(&c->rx_errors, errors);
    return got;
}

// sending: one burst's way through the ring.
struct sending {
    uint16_t at, free;  // the next slot, and how many there are
    uint16_t region;
    uint16_t parts;  // buffers of the frame that are full
    uint8_t *to;     // the next byte of the buffer of slot `at`; NULL: not begun
    uint32_t room, len, offset;
};

// open_slot: the buffer of slot s->at. False: there is none, or the peer broke a rule.
static inline bool open_slot(struct memif_rings *r, struct sending *s)
{
    if (s->free == 0)
        return false;
    struct memif_desc d = {.length = PKT_ROOM};
    if (!r->client)
        d = desc_read(&r->tx, s->at);
    s->to = buffer_of(r, &r->tx, s->at, &d);
    if (unlikely(s->to == NULL || d.length == 0)) {
        break_off(r, bad_place);
        return false;
    }
    s->room = d.length;
    s->region = d.region;
    s->offset = d.offset;
    s->len = 0;
    return true;
}

static inline void close_slot(struct memif_rings *r, struct sending *s, uint16_t flags)
{
    if (r->client)
        desc_reset(&r->tx, s->at, s->len, flags);
    else
        *desc_at(&r->tx, s->at) = (struct memif_desc){
            .flags = flags, .region = s->region, .length = s->len, .offset = s->offset};
    s->at++;
    s->free--;
}

static inline bool put_bytes(struct memif_rings *r, struct sending *s, const uint8_t *from,
                             uint32_t n)
{
    while (unlikely(n > s->room)) {
        copy_bytes(s->to, from, s->room);
        from += s->room;
        n -= s->room;
        s->len += s->room;
        close_slot(r, s, MEMIF_DESC_NEXT);
        if (++s->parts == MEMIF_PARTS_MAX) {
            break_off(r, too_small);
            return false;
        }
        if (!open_slot(r, s))
            return false;
    }
    copy_bytes(s->to, from, n);
    s->to += n;
    s->room -= n;
    s->len += n;
    return true;
}

// put_frame: false: the ring has no room for it, or the peer broke a rule; s is as before.
static inline bool put_frame(struct memif_rings *r, struct sending *s, const struct pkt *p)
{
    const struct sending before = *s;
    bool all = open_slot(r, s);
    s->parts = 0;
    for (const struct rte_mbuf *m = &p->m; all && m != NULL; m = m->next)
        all = put_bytes(r, s, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
    if (likely(all))
        close_slot(r, s, 0);
    else
        *s = before;
    return all;
}

// tx_free: slots that can be sent by; more than there are: the peer lies.
static uint16_t tx_free(const struct memif_rings *r)
{
    const struct memif_end *e = &r->tx;
    if (r->client)
        return (uint16_t)(e->slots - (uint16_t)(e->at - seen(&e->ring->tail)));
    return (uint16_t)(seen(&e->ring->head) - e->at);
}

uint16_t memif_rings_tx(struct memif_rings *r, struct memif_counts *c, struct pkt **pkts,
                        uint16_t n)
{
    struct sending s = {.at = r->tx.at, .free = tx_free(r)};
    uint64_t bytes = 0;
    uint16_t sent = 0;
    if (unlikely(shared_ptr_load(&r->broken) != NULL))
        return 0;
    if (unlikely(s.free > r->tx.slots))
        return break_off(r, bad_index);
    for (; sent < n && put_frame(r, &s, pkts[sent]); sent++)
        bytes += pkt_total_len(pkts[sent]);
    if (sent == 0)
        return 0;
    r->tx.at = s.at;
    publish(r->client ? &r->tx.ring->head : &r->tx.ring->tail, s.at);
    // Pairs with link_wake(): a thread that sees the count sees the frames in the ring.
    __atomic_store_n(&c->tx_packets, c->tx_packets + sent, __ATOMIC_RELEASE);
    pkt_free_bulk(pkts, sent);
    count(&c->tx_bytes, bytes);
    return sent;
}
