// SPDX-License-Identifier: BSD-3-Clause
#include "bench/bare.h"

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "bench/map.h"

enum {
    AT_IP = 14,
    AT_TCP = 34,
    AT_DATA = 54,
    WAYS = 10,
    PER_BUCKET = 4,           // connections a bucket at full size: 0.3 % of buckets overflow
    SEARCH_MAX = 64,          // buckets searched before an insertion fails
    KEPT_STRIDE = 2048 + 64,  // an odd number of lines: spread over the sets of the cache
    NONE = 0,                 // value of `kept` without a buffer
};

struct bucket {
    uint16_t tag[WAYS];  // 0: free
    uint32_t index[WAYS];
    uint32_t pad;
} CACHE_ALIGNED;

static_assert(sizeof(struct bucket) == 64, "a bucket is one cache line");

struct block {
    // cache line 0
    uint64_t key;
    uint32_t snd_una, snd_nxt, rcv_nxt;
    uint32_t snd_wnd;
    uint8_t pad0[40];
    // cache line 1
    uint32_t kept;  // number of the buffer with the reply in flight, or NONE
    uint32_t kept_len;
    uint64_t acked_bytes, turn;
    uint8_t pad1[40];
    // cache line 2: not accessed for packets in order
    uint8_t pad2[64];
    // cache line 3: data of the application
    uint64_t requests, bytes;
    uint8_t pad3[48];
} CACHE_ALIGNED;

static_assert(sizeof(struct block) == 256, "four cache lines, as in the server");

struct bare {
    struct port *port;
    struct pkt_pool *pool;
    struct bucket *buckets;
    struct block *blocks;
    uint32_t bucket_count;
    uint32_t free_count;  // entries on the stack of free buffers
    uint32_t *free_stack;
    uint8_t *kept;
    uint64_t turn, dropped;
    uint32_t local_v4;
    uint16_t local_port;
    struct bench_map map;
};

// One packet of a burst during the passes.
struct item {
    const uint8_t *frame;
    const struct bucket *bucket;
    uint64_t key;
    struct block *block;
    uint16_t tag, len;  // len: payload bytes
};

static inline uint64_t key_of(uint32_t remote_v4, uint16_t remote_port, uint16_t local_port)
{
    return (uint64_t)remote_v4 << 32 | (uint32_t)remote_port << 16 | local_port;
}

// Hashes with both halves of the 128-bit product, because the lower half alone clusters keys that
// differ in few fields.
static inline void place_of(const struct bare *b, uint64_t key, uint32_t *bucket, uint16_t *tag)
{
    unsigned __int128 wide =
        (unsigned __int128)(key ^ 0xa0761d6478bd642full) * 0xe7037ed1a0b428dbull;
    uint64_t h = (uint64_t)wide ^ (uint64_t)(wide >> 64);
    *bucket = (uint32_t)((h >> 32) * b->bucket_count >> 32);
    uint16_t t = (uint16_t)h;
    *tag = t == 0 ? 1 : t;
}

// Returns a mask: bit 2 * way is set for each way that has the tag.
#ifdef __AVX2__
static inline uint32_t matches(const struct bucket *bucket, uint16_t tag)
{
    __m256i tags = _mm256_load_si256((const __m256i *)bucket);
    __m256i equal = _mm256_cmpeq_epi16(tags, _mm256_set1_epi16((short)tag));
    return (uint32_t)_mm256_movemask_epi8(equal) & 0x55555;
}
#else  // -Dmarch=x86-64-v2
static inline uint32_t matches(const struct bucket *bucket, uint16_t tag)
{
    const __m128i *half = (const __m128i *)bucket, wanted = _mm_set1_epi16((short)tag);
    uint32_t low = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi16(_mm_load_si128(half), wanted));
    uint32_t high = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi16(_mm_load_si128(half + 1), wanted));
    return (low | high << 16) & 0x55555;
}
#endif

// The slow path: two connections share a tag, or a bucket has overflowed to the next ones.

static __attribute__((noinline)) struct block *find_slow(const struct bare *b,
                                                         const struct item *it)
{
    uint32_t at = (uint32_t)(it->bucket - b->buckets);
    for (uint32_t i = 0; i < SEARCH_MAX; i++) {
        const struct bucket *bucket = &b->buckets[(at + i) % b->bucket_count];
        for (uint32_t m = matches(bucket, it->tag); m != 0; m &= m - 1) {
            struct block *block = &b->blocks[bucket->index[__builtin_ctz(m) / 2]];
            if (block->key == it->key)
                return block;
        }
    }
    return NULL;
}

// Pass 1: parses the header, whose cache line rx_burst has prefetched. Returns false if the packet
// is not TCP for this address.
static inline bool parse(const struct bare *b, struct item *it, const struct pkt *p)
{
    const uint8_t *f = pkt_data(p);
    uint32_t total = load_be16(f + AT_IP + 2);
    if (unlikely(pkt_len(p) < AT_DATA || load_be16(f + 12) != 0x0800 || f[AT_IP] != 0x45 ||
                 f[AT_IP + 9] != 6 || total < 40 || total + AT_IP > pkt_len(p) ||
                 load_be32(f + AT_IP + 16) != b->local_v4))
        return false;
    it->frame = f;
    it->len = (uint16_t)(total - 40);
    it->key = key_of(load_be32(f + AT_IP + 12), load_be16(f + AT_TCP), load_be16(f + AT_TCP + 2));
    uint32_t bucket;
    place_of(b, it->key, &bucket, &it->tag);
    it->bucket = &b->buckets[bucket];
    prefetch0(it->bucket);
    if (it->len > CACHE_LINE - AT_DATA)
        prefetch0(f + CACHE_LINE);
    return true;
}

// Pass 2: the cache line of the table has been prefetched. The first connection with the tag is
// almost always the right one.
static inline void look_up(const struct bare *b, struct item *it)
{
    uint32_t m = matches(it->bucket, it->tag);
    if (unlikely(m == 0)) {
        it->block = find_slow(b, it);
        return;
    }
    it->block = &b->blocks[it->bucket->index[__builtin_ctz(m) / 2]];
    uint8_t *line = (uint8_t *)it->block;
    prefetch0_w(line);
    prefetch0_w(line + 64);
    if (it->len != 0)
        prefetch0_w(line + 192);
}

static inline void copy(uint8_t *restrict to, const uint8_t *restrict from, uint32_t len)
{
    if (unlikely(len < 32)) {
        memcpy(to, from, len);
        return;
    }
    for (uint32_t at = 0; at + 32 < len; at += 32)
        __builtin_memcpy(to + at, from + at, 32);
    __builtin_memcpy(to + len - 32, from + len - 32, 32);
}

// The checksum of RFC 1071 over the 20 bytes, whose checksum field is 0, in memory byte order.
static inline uint16_t ip_sum(const uint8_t *ip)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 20; i += 4) {
        uint32_t word;
        memcpy(&word, ip + i, 4);
        sum += word;
    }
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t) ~(sum + (sum >> 16));
}

// Pass 3 for requests and ACKs: checks the sequence number, processes the acknowledgment, and frees
// the acknowledged buffer.
static inline bool advance(struct bare *b, struct item *it)
{
    struct block *c = it->block;
    if (unlikely(c == NULL || c->key != it->key) && (c = it->block = find_slow(b, it)) == NULL)
        return false;
    uint32_t ack = load_be32(it->frame + AT_TCP + 8);
    if (unlikely(load_be32(it->frame + AT_TCP + 4) != c->rcv_nxt ||
                 ack - c->snd_una > c->snd_nxt - c->snd_una))
        return false;
    c->acked_bytes += ack - c->snd_una;
    c->snd_una = ack;
    c->snd_wnd = load_be16(it->frame + AT_TCP + 14);
    c->turn = b->turn;
    if (c->kept != NONE && ack == c->snd_nxt) {
        b->free_stack[b->free_count++] = c->kept;
        c->kept = NONE;
    }
    return true;
}

// Pass 3 for requests: updates the application's data, builds the reply, and keeps a copy of its
// payload.
static inline void answer(struct bare *b, struct item *it, struct pkt *reply)
{
    struct block *c = it->block;
    const uint8_t *f = it->frame;
    uint8_t *r = pkt_data(reply);
    c->rcv_nxt += it->len;
    c->requests++;
    c->bytes += it->len;
    memcpy(r, f + 6, 6);
    memcpy(r + 6, f, 6);
    store_be16(r + 12, 0x0800);
    store_be32(r + AT_IP, 0x45000000u | (40u + it->len));
    store_be32(r + AT_IP + 4, 0x4000);
    store_be32(r + AT_IP + 8, 0x40060000);
    memcpy(r + AT_IP + 12, f + AT_IP + 16, 4);
    memcpy(r + AT_IP + 16, f + AT_IP + 12, 4);
    uint16_t sum = ip_sum(r + AT_IP);
    memcpy(r + AT_IP + 10, &sum, 2);
    memcpy(r + AT_TCP, f + AT_TCP + 2, 2);
    memcpy(r + AT_TCP + 2, f + AT_TCP, 2);
    store_be32(r + AT_TCP + 4, c->snd_nxt);
    store_be32(r + AT_TCP + 8, c->rcv_nxt);
    store_be32(r + AT_TCP + 12, 0x5018ffff);
    store_be32(r + AT_TCP + 16, 0);
    copy(r + AT_DATA, f + AT_DATA, it->len);
    pkt_set_len(reply, (uint32_t)AT_DATA + it->len);
    c->kept = b->free_stack[--b->free_count];
    c->kept_len = it->len;
    copy(b->kept + (size_t)c->kept * KEPT_STRIDE, f + AT_DATA, it->len);
    c->snd_nxt += it->len;
}

struct turn_loop_work bare_turn(void *ctx)
{
    struct bare *b = ctx;
    struct pkt *rx[BURST_MAX], *tx[BURST_MAX];
    struct item items[BURST_MAX];
    uint32_t n = b->port->ops->rx_burst(b->port, 0, rx, BURST_MAX);
    if (n == 0)
        return (struct turn_loop_work){0, 0};
    b->turn++;
    uint32_t good = 0, requests = 0, replies = 0;
    for (uint32_t i = 0; i < n; i++)
        good += parse(b, &items[good], rx[i]);
    for (uint32_t i = 0; i < good; i++) {
        look_up(b, &items[i]);
        requests += items[i].len != 0;
    }
    if (unlikely(requests > b->free_count || !pkt_alloc_bulk(b->pool, tx, requests)))
        requests = 0;
    for (uint32_t i = 0; i < requests; i++) {
        uint8_t *kept = b->kept + (size_t)b->free_stack[b->free_count - 1 - i] * KEPT_STRIDE;
        prefetch0_w(kept);
        prefetch0_w(kept + CACHE_LINE - 1);
    }
    b->dropped += n - good;
    for (uint32_t i = 0; i < good; i++) {
        if (unlikely(!advance(b, &items[i])))
            b->dropped++;
        else if (items[i].len != 0 && likely(replies < requests && items[i].block->kept == NONE))
            answer(b, &items[i], tx[replies++]);
        else
            b->dropped += items[i].len != 0;
    }
    uint32_t sent = b->port->ops->tx_burst(b->port, 0, tx, (uint16_t)replies);
    if (unlikely(sent < requests)) {
        b->dropped += replies - sent;
        pkt_free_bulk(tx + sent, requests - sent);
    }
    pkt_free_bulk(rx, n);
    return (struct turn_loop_work){n, sent};
}

bool bare_add(struct bare *b, uint32_t index, uint32_t remote_v4, uint16_t remote_port)
{
    struct block *c = &b->blocks[index];
    c->key = key_of(remote_v4, remote_port, b->local_port);
    c->snd_una = c->snd_nxt = c->rcv_nxt = 1;
    uint32_t at;
    uint16_t tag;
    place_of(b, c->key, &at, &tag);
    for (uint32_t i = 0; i < SEARCH_MAX; i++) {
        struct bucket *bucket = &b->buckets[(at + i) % b->bucket_count];
        for (uint32_t way = 0; way < WAYS; way++) {
            if (bucket->tag[way] != 0)
                continue;
            bucket->tag[way] = tag;
            bucket->index[way] = index;
            return true;
        }
    }
    return false;
}

struct bare *bare_new(const struct bare_params *p, struct err *err)
{
    struct bare *b = calloc(1, sizeof(*b));
    CHECK(b != NULL);
    *b = (struct bare){.port = p->port,
                       .pool = p->pool,
                       .local_v4 = p->local_v4,
                       .local_port = p->local_port,
                       .bucket_count = p->connections / PER_BUCKET + 1,
                       .free_count = p->kept};
    size_t blocks = (size_t)p->connections * sizeof(struct block);
    size_t buckets = (size_t)b->bucket_count * sizeof(struct bucket);
    size_t kept = ((size_t)p->kept + 1) * KEPT_STRIDE;
    if (!bench_map(&b->map, blocks + buckets + kept)) {
        err_set(err, "no memory for %zu bytes of blocks, table and buffers",
                blocks + buckets + kept);
        free(b);
        return NULL;
    }
    b->blocks = b->map.at;
    b->buckets = (struct bucket *)((uint8_t *)b->map.at + blocks);
    b->kept = (uint8_t *)b->buckets + buckets;
    b->free_stack = malloc(p->kept * sizeof(b->free_stack[0]));
    CHECK(b->free_stack != NULL);
    for (uint32_t i = 0; i < p->kept; i++)
        b->free_stack[i] = p->kept - i;  // numbers begin at 1; 0 is NONE
    return b;
}

void bare_free(struct bare *b)
{
    if (b == NULL)
        return;
    bench_unmap(&b->map);
    free(b->free_stack);
    free(b);
}

uint64_t bare_dropped(const struct bare *b)
{
    return b->dropped;
}

size_t bare_page_bytes(const struct bare *b)
{
    return b->map.page_bytes;
}

size_t bare_memory_bytes(const struct bare *b)
{
    return b->map.bytes;
}
