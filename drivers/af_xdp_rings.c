// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/af_xdp_rings.h"

#include <linux/if_xdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { RINGS = 4 };

// ring: the kernel writes one of producer and consumer.
struct ring {
    const uint32_t *producer, *consumer;
    const uint8_t *entries;  // each begins with the address of a packet
    uint32_t size;           // entries, a power of two
    uint32_t entry_bytes;
};

struct af_xdp_rings {
    struct pkt_pool *pool;
    int fd;
    ino_t inode;               // of the socket
    dev_t device;              // where that number is unique
    struct ring rings[RINGS];  // in the order of layout_of()
    unsigned n;
    struct pkt *pkts[];  // collected, n of them
};

// ---- where the rings are

// layout: of one ring: where it is mapped from, and where its parts are.
struct layout {
    uint64_t offset;
    struct xdp_ring_offset parts;
    uint32_t entry_bytes;
    uint32_t size;  // 0: as large as the mapping allows
};

// layout_of: the kernel moves packets from the fill to the receive ring, and from the transmit to
// the completion ring. The rings are read in this order: a packet that moves meanwhile is then
// found in one ring or in both.
static bool layout_of(int fd, uint32_t ring, struct layout out[RINGS])
{
    struct xdp_mmap_offsets off;
    socklen_t bytes = sizeof(off);
    if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &bytes) != 0 || bytes != sizeof(off))
        return false;
    const uint32_t desc = sizeof(struct xdp_desc), address = sizeof(uint64_t);
    out[0] = (struct layout){XDP_UMEM_PGOFF_FILL_RING, off.fr, address, 0};
    out[1] = (struct layout){XDP_PGOFF_RX_RING, off.rx, desc, ring};
    out[2] = (struct layout){XDP_PGOFF_TX_RING, off.tx, desc, ring};
    out[3] = (struct layout){XDP_UMEM_PGOFF_COMPLETION_RING, off.cr, address, 0};
    return true;
}

// place: of a ring whose mapping has these bytes. The driver's fill and completion rings have
// thousands of entries, so the end of the last page cannot hold as many again.
static bool place(const uint8_t *map, uint64_t bytes, const struct layout *l, struct ring *out)
{
    if (bytes < l->parts.desc + l->entry_bytes)
        return false;
    const uint64_t room = (bytes - l->parts.desc) / l->entry_bytes;
    uint32_t size = l->size;
    if (size == 0)
        size = 1u << (63 - __builtin_clzll(room));
    *out = (struct ring){.producer = (const uint32_t *)(map + l->parts.producer),
                         .consumer = (const uint32_t *)(map + l->parts.consumer),
                         .entries = map + l->parts.desc,
                         .size = size,
                         .entry_bytes = l->entry_bytes};
    return size <= room && (size & (size - 1)) == 0;
}

static bool find_rings(struct af_xdp_rings *r, const struct layout layouts[RINGS])
{
    unsigned long start, end, offset, inode;
    unsigned disk, part;
    char line[512];
    unsigned found = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu", &start, &end, &offset, &disk, &part,
                   &inode) != 6 ||
            inode != r->inode || makedev(disk, part) != r->device)
            continue;
        for (unsigned i = 0; i < RINGS; i++)
            if (layouts[i].offset == offset &&
                place((const uint8_t *)start, end - start, &layouts[i], &r->rings[i]))
                found |= 1u << i;
    }
    if (f != NULL)
        fclose(f);
    return found == (1u << RINGS) - 1;
}

// is_zero_copy: the NIC's own ring then has packets as well. When the interface goes, Linux gives
// them to a list of its own (xp_free()), from which nobody can take them back.
static bool is_zero_copy(int fd)
{
    struct xdp_options o = {0};
    socklen_t bytes = sizeof(o);
    return getsockopt(fd, SOL_XDP, XDP_OPTIONS, &o, &bytes) != 0 ||
           (o.flags & XDP_OPTIONS_ZEROCOPY) != 0;
}

struct af_xdp_rings *af_xdp_rings_find(const struct kernel_side *k, struct pkt_pool *pool,
                                       uint32_t ring)
{
    struct stat s;
    struct layout layouts[RINGS];
    const int fd = kernel_side_socket(k);
    if (fd < 0 || fstat(fd, &s) != 0 || is_zero_copy(fd) || !layout_of(fd, ring, layouts))
        return NULL;
    struct af_xdp_rings found = {.pool = pool, .fd = fd, .inode = s.st_ino, .device = s.st_dev};
    if (!find_rings(&found, layouts))
        return NULL;
    size_t entries = 0;
    for (unsigned i = 0; i < RINGS; i++)
        entries += found.rings[i].size;
    struct af_xdp_rings *r = malloc(sizeof(*r) + entries * sizeof(r->pkts[0]));
    CHECK(r != NULL);
    *r = found;
    return r;
}

// ---- the packets in them

// end_of: where the pool's memory ends. It may have several chunks, one behind the other.
static uintptr_t end_of(const struct rte_mempool *mp)
{
    uintptr_t end = 0;
    const struct rte_mempool_memhdr *chunk = STAILQ_FIRST(&mp->mem_list);
    for (; chunk != NULL; chunk = STAILQ_NEXT(chunk, next))
        end = MAX(end, (uintptr_t)chunk->addr + chunk->len);
    return end;
}

// packet_at: of an address in a ring, which counts from the page in which the pool's memory begins;
// its upper bits are the offset of the data. NULL: it is no packet of the pool.
static struct pkt *packet_at(const struct pkt_pool *pool, uint64_t address)
{
    const struct rte_mempool *mp = &pool->mp;
    const uintptr_t page_mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    const uintptr_t begin = (uintptr_t)STAILQ_FIRST(&mp->mem_list)->addr;
    const uintptr_t element = (begin & ~page_mask) + (address & XSK_UNALIGNED_BUF_ADDR_MASK);
    if (element < begin || element + mp->header_size + mp->elt_size > end_of(mp))
        return NULL;
    struct pkt *p = (struct pkt *)(element + mp->header_size);
    return p->m.pool == mp ? p : NULL;
}

static void collect(struct af_xdp_rings *r, const struct ring *ring)
{
    const uint32_t from = __atomic_load_n(ring->consumer, __ATOMIC_ACQUIRE);
    const uint32_t to = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
    if (to - from > ring->size)
        return;
    for (uint32_t i = from; i != to; i++) {
        const size_t entry = (size_t)(i & (ring->size - 1)) * ring->entry_bytes;
        uint64_t address;
        memcpy(&address, ring->entries + entry, sizeof(address));
        struct pkt *p = packet_at(r->pool, address);
        if (p != NULL)
            r->pkts[r->n++] = p;
    }
}

static int by_address(const void *a, const void *b)
{
    const struct pkt *const *x = a, *const *y = b;
    return (*x > *y) - (*x < *y);
}

void af_xdp_rings_collect(struct af_xdp_rings *r)
{
    if (r == NULL)
        return;
    for (unsigned i = 0; i < RINGS; i++)
        collect(r, &r->rings[i]);
    qsort(r->pkts, r->n, sizeof(r->pkts[0]), by_address);
}

// close_socket: unless the driver has done it.
static void close_socket(const struct af_xdp_rings *r)
{
    struct stat s;
    if (fstat(r->fd, &s) == 0 && S_ISSOCK(s.st_mode) && s.st_ino == r->inode)
        close(r->fd);
}

void af_xdp_rings_free(struct af_xdp_rings *r)
{
    if (r == NULL)
        return;
    close_socket(r);
    for (unsigned i = 0; i < r->n; i++)
        if (i == 0 || r->pkts[i] != r->pkts[i - 1])  // in two rings: it moved meanwhile
            pkt_free(r->pkts[i]);
    free(r);
}
