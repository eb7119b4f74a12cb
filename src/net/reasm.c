// SPDX-License-Identifier: BSD-3-Clause
#include "net/reasm.h"

#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "wire/cksum.h"
#include "wire/proto.h"

enum {
    UNIT = 8,
    UNITS_MAX = (REASM_IP_MAX + 1) / UNIT,
    WORDS = UNITS_MAX / 64,
    CHUNKS_MAX = (REASM_IP_MAX + REASM_CHUNK_BYTES) / REASM_CHUNK_BYTES,
    GIVE_WAY_MAX = 16,  // at most so many datagrams are removed to get one chunk
    ECN_NOT = 1 << 0,
    ECN_CE = 1 << 3,  // bit 1 << c for ECN code point c
};

#define NONE UINT16_MAX

static_assert(REASM_FRAME_MAX == ETH_BYTES + IP6_BYTES + REASM_IP_MAX &&
                  REASM_HEAD_MAX == ETH_BYTES + IP6_BYTES + IP6_EXT_BYTES_MAX,
              "the longest frame, and the longest headers that are walked");
static_assert(REASM_DATAGRAMS_MAX * REASM_CHUNKS_PER_DATAGRAM < NONE, "chunks have 16-bit numbers");

struct key {
    struct ip_addr src, dst;
    uint32_t id;
    uint8_t proto, port;
    uint16_t zero;
};

enum state { FREE, OPEN, BROKEN };

// source: the datagrams of all sources with the same hash value.
struct source {
    uint16_t datagrams, chunks;
    uint16_t oldest, newest;
};

struct datagram {
    struct key key;
    uint32_t born_ms;
    uint32_t total;  // bytes of its data; 0 until the last fragment has arrived
    uint32_t end;    // highest byte received so far
    uint32_t got;
    uint32_t first_len;  // length of the first fragment; 0 until it has arrived
    uint16_t parts, n_chunks;
    uint8_t state;
    uint8_t ecns;  // ECN code points of all fragments
    uint16_t head_len, part_at, named_at;
    uint16_t same_hash;         // the next datagram with the same hash value
    uint16_t older, newer;      // list of all datagrams; free ones are linked by newer
    uint16_t s_older, s_newer;  // list of the datagrams of its source
    uint32_t hash, source;      // indices in the two hash tables
    uint16_t chunk[CHUNKS_MAX];
    uint8_t head[REASM_HEAD_MAX];
    uint64_t have[WORDS];    // one bit for each 8 bytes that have arrived
    uint64_t starts[WORDS];  // the bit of the first 8 bytes of each fragment
};

struct reasm {
    uint32_t n, hash_mask, source_mask;
    uint32_t share_datagrams, share_chunks;
    struct siphash_key secret;
    uint16_t oldest, newest, free, n_free_chunks;
    uint32_t hand_id;
    uint32_t room_used, room_out;  // whole frames: bytes in use, packets that refer to them
    struct core_counters *c;       // the worker's counters
    struct datagram *datagrams;
    uint16_t *hash;  // the first datagram of each hash value
    struct source *sources;
    uint16_t *free_chunks;
    uint8_t *chunks, *wholes, *scratch;
};

static uint32_t table_size(uint32_t n)
{
    uint32_t size = 1;
    while (size < 2 * n)
        size *= 2;
    return size;
}

// lay_out: sets the pointers to the parts of a reasm. Returns the size. With r NULL, only the size.
static size_t lay_out(struct reasm *r, uint8_t *mem, uint32_t n)
{
    const uint32_t places = table_size(n), chunks = n * REASM_CHUNKS_PER_DATAGRAM;
    size_t at = 0;
    const size_t sizes[] = {sizeof(struct reasm),      n * sizeof(struct datagram),
                            places * sizeof(uint16_t), places * sizeof(struct source),
                            chunks * sizeof(uint16_t), (size_t)chunks * REASM_CHUNK_BYTES,
                            REASM_WHOLE_BYTES,         REASM_FRAME_MAX};
    uint8_t *place[ARRAY_LEN(sizes)];
    for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
        place[i] = r == NULL ? NULL : mem + at;
        at += ALIGN_UP(sizes[i], CACHE_LINE);
    }
    if (r == NULL)
        return at;
    r->datagrams = (struct datagram *)place[1];
    r->hash = (uint16_t *)place[2];
    r->sources = (struct source *)place[3];
    r->free_chunks = (uint16_t *)place[4];
    r->chunks = place[5];
    r->wholes = place[6];
    r->scratch = place[7];
    return at;
}

size_t reasm_footprint(uint32_t n)
{
    return lay_out(NULL, NULL, n);
}

struct reasm *reasm_init(void *mem, uint32_t n, struct siphash_key secret,
                         struct core_counters *counters)
{
    struct reasm *r = mem;
    CHECK((uintptr_t)mem % CACHE_LINE == 0 && n >= REASM_DATAGRAMS_MIN && n <= REASM_DATAGRAMS_MAX);
    *r = (struct reasm){.n = n, .secret = secret, .oldest = NONE, .newest = NONE, .c = counters};
    lay_out(r, mem, n);
    r->hash_mask = r->source_mask = table_size(n) - 1;
    r->share_datagrams = n / REASM_SHARE_DATAGRAMS;
    r->share_chunks = MAX(n * REASM_CHUNKS_PER_DATAGRAM / REASM_SHARE_CHUNKS, (uint32_t)CHUNKS_MAX);
    for (uint32_t i = 0; i < table_size(n); i++) {
        r->hash[i] = NONE;
        r->sources[i] = (struct source){0, 0, NONE, NONE};
    }
    for (uint32_t i = 0; i < n; i++) {
        r->datagrams[i].state = FREE;
        r->datagrams[i].newer = (uint16_t)(i + 1 < n ? i + 1 : NONE);
    }
    for (uint32_t i = 0; i < n * REASM_CHUNKS_PER_DATAGRAM; i++)
        r->free_chunks[i] = (uint16_t)i;
    r->n_free_chunks = (uint16_t)(n * REASM_CHUNKS_PER_DATAGRAM);
    return r;
}

static inline bool is_v6(const struct datagram *d)
{
    return !ip_is_v4(&d->key.src);
}

// count_fail: counts that the reassembly of d failed. counter: the counter of the reason.
static void count_fail(struct reasm *r, const struct datagram *d, uint64_t *counter)
{
    ++*counter;
    r->c->reassembly_fails6 += is_v6(d);
}

static struct key key_of(const struct reasm_part *p)
{
    return (struct key){p->src, p->dst, p->id, p->proto, p->port, 0};
}

// source_place: the index of a source. All addresses of an IPv6 /64 prefix are one source.
static uint32_t source_place(const struct reasm *r, const struct ip_addr *src)
{
    const struct ip_addr one = ip_is_v4(src) ? *src : ip_first(src, 64);
    return (uint32_t)siphash_u64x3(&r->secret, load_raw64(one.b), load_raw64(one.b + 8), 1) &
           r->source_mask;
}

static uint32_t hash_of(const struct reasm *r, const struct key *k)
{
    return (uint32_t)siphash_bytes(&r->secret, k, sizeof(*k)) & r->hash_mask;
}

static inline uint8_t *chunk_at(const struct reasm *r, const struct datagram *d, uint32_t at)
{
    return r->chunks + (size_t)d->chunk[at / REASM_CHUNK_BYTES] * REASM_CHUNK_BYTES +
           at % REASM_CHUNK_BYTES;
}

// ---- the lists that contain a datagram

static void link_in(struct reasm *r, uint16_t ix)
{
    struct datagram *d = &r->datagrams[ix];
    struct source *s = &r->sources[d->source];
    d->same_hash = r->hash[d->hash];
    r->hash[d->hash] = ix;
    d->older = r->newest;
    d->newer = NONE;
    *(r->newest != NONE ? &r->datagrams[r->newest].newer : &r->oldest) = ix;
    r->newest = ix;
    d->s_older = s->newest;
    d->s_newer = NONE;
    *(s->newest != NONE ? &r->datagrams[s->newest].s_newer : &s->oldest) = ix;
    s->newest = ix;
    s->datagrams++;
    r->c->reassembly_now++;
}

static void link_out(struct reasm *r, uint16_t ix)
{
    struct datagram *d = &r->datagrams[ix];
    struct source *s = &r->sources[d->source];
    uint16_t *at = &r->hash[d->hash];
    while (*at != ix)  // the list is short, because the hash is keyed
        at = &r->datagrams[*at].same_hash;
    *at = d->same_hash;
    *(d->older != NONE ? &r->datagrams[d->older].newer : &r->oldest) = d->newer;
    *(d->newer != NONE ? &r->datagrams[d->newer].older : &r->newest) = d->older;
    *(d->s_older != NONE ? &r->datagrams[d->s_older].s_newer : &s->oldest) = d->s_newer;
    *(d->s_newer != NONE ? &r->datagrams[d->s_newer].s_older : &s->newest) = d->s_older;
    s->datagrams--;
    r->c->reassembly_now--;
}

static void free_chunks(struct reasm *r, struct datagram *d)
{
    for (unsigned i = 0; i < CHUNKS_MAX && d->n_chunks != 0; i++)
        if (d->chunk[i] != NONE) {
            r->free_chunks[r->n_free_chunks++] = d->chunk[i];
            r->sources[d->source].chunks--;
            d->chunk[i] = NONE;
            d->n_chunks--;
        }
}

static void forget(struct reasm *r, uint16_t ix)
{
    struct datagram *d = &r->datagrams[ix];
    free_chunks(r, d);
    link_out(r, ix);
    d->state = FREE;
    d->newer = r->free;
    r->free = ix;
}

// give_way: removes a datagram to make room for another one. A broken one is already counted.
static void give_way(struct reasm *r, uint16_t ix, uint64_t *counter)
{
    const struct datagram *d = &r->datagrams[ix];
    if (d->state == OPEN)
        count_fail(r, d, counter);
    forget(r, ix);
}

static struct datagram *find(const struct reasm *r, const struct key *k, uint32_t hash)
{
    for (uint16_t ix = r->hash[hash]; ix != NONE; ix = r->datagrams[ix].same_hash)
        if (memcmp(&r->datagrams[ix].key, k, sizeof(*k)) == 0)
            return &r->datagrams[ix];
    return NULL;
}

static struct datagram *begin(struct reasm *r, uint32_t now_ms, const struct key *k, uint32_t hash)
{
    const uint32_t source = source_place(r, &k->src);
    const struct source *s = &r->sources[source];
    if (s->datagrams >= r->share_datagrams)
        give_way(r, s->oldest, &r->c->reassembly_share);
    if (r->free == NONE)
        give_way(r, r->oldest, &r->c->reassembly_evicted);
    const uint16_t ix = r->free;
    struct datagram *d = &r->datagrams[ix];
    r->free = d->newer;
    memset(d, 0, sizeof(*d));
    memset(d->chunk, 0xff, sizeof(d->chunk));
    d->key = *k;
    d->born_ms = now_ms;
    d->hash = hash;
    d->source = source;
    d->state = OPEN;
    link_in(r, ix);
    return d;
}

// ---- chunks

// other_oldest: the oldest datagram except d, of all sources or of one. NONE if there is no other.
static uint16_t other_oldest(const struct reasm *r, const struct datagram *d, uint16_t oldest,
                             bool of_source)
{
    if (oldest == NONE || &r->datagrams[oldest] != d)
        return oldest;
    return of_source ? d->s_newer : d->newer;
}

// make_room: makes room for one more chunk of d by removing older datagrams. Broken datagrams have
// no chunks, so their removal may free none. After GIVE_WAY_MAX removals it gives up, and d ends.
static bool make_room(struct reasm *r, const struct datagram *d)
{
    const struct source *s = &r->sources[d->source];
    for (unsigned i = 0; i < GIVE_WAY_MAX; i++) {
        const bool of_source = s->chunks >= r->share_chunks;
        if (!of_source && r->n_free_chunks != 0)
            return true;
        const uint16_t ix = other_oldest(r, d, of_source ? s->oldest : r->oldest, of_source);
        if (ix == NONE)
            return false;
        give_way(r, ix, of_source ? &r->c->reassembly_share : &r->c->reassembly_evicted);
    }
    return false;
}

static bool allocate_chunks(struct reasm *r, struct datagram *d, uint32_t at, uint32_t end)
{
    for (uint32_t i = at / REASM_CHUNK_BYTES; i <= (end - 1) / REASM_CHUNK_BYTES; i++) {
        if (d->chunk[i] != NONE)
            continue;
        if (!make_room(r, d))
            return false;
        d->chunk[i] = r->free_chunks[--r->n_free_chunks];
        d->n_chunks++;
        r->sources[d->source].chunks++;
    }
    return true;
}

// piece: how many bytes from `at` on are contiguous in memory, at most n.
static inline uint32_t piece(uint32_t at, uint32_t n)
{
    return MIN(n, REASM_CHUNK_BYTES - at % REASM_CHUNK_BYTES);
}

static void put(const struct reasm *r, const struct datagram *d, const struct reasm_part *p)
{
    for (uint32_t done = 0, n; done < p->len; done += n) {
        n = piece(p->at + done, p->len - done);
        memcpy(chunk_at(r, d, p->at + done), p->data + done, n);
    }
}

static void get(const struct reasm *r, const struct datagram *d, uint8_t *to, uint32_t len)
{
    for (uint32_t at = 0, n; at < len; at += n) {
        n = piece(at, len - at);
        memcpy(to + at, chunk_at(r, d, at), n);
    }
}

static bool is_there(const struct reasm *r, const struct datagram *d, const struct reasm_part *p)
{
    for (uint32_t done = 0, n; done < p->len; done += n) {
        n = piece(p->at + done, p->len - done);
        if (memcmp(chunk_at(r, d, p->at + done), p->data + done, n) != 0)
            return false;
    }
    return true;
}

// ---- bit maps of 8-byte units

static inline uint64_t mask_of_word(uint32_t word, uint32_t from, uint32_t to)
{
    const uint32_t lo = MAX(from, word * 64), hi = MIN(to, word * 64 + 64);
    return (hi - lo == 64 ? ~UINT64_C(0) : (UINT64_C(1) << (hi - lo)) - 1) << lo % 64;
}

// count_bits: counts the bits that are set in [from, to). set_bits: sets them all.
static uint32_t count_bits(const uint64_t *bits, uint32_t from, uint32_t to)
{
    uint32_t n = 0;
    for (uint32_t w = from / 64; w * 64 < to; w++)
        n += (uint32_t)__builtin_popcountll(bits[w] & mask_of_word(w, from, to));
    return n;
}

static void set_bits(uint64_t *bits, uint32_t from, uint32_t to)
{
    for (uint32_t w = from / 64; w * 64 < to; w++)
        bits[w] |= mask_of_word(w, from, to);
}

static inline bool bit(const uint64_t *bits, uint32_t i)
{
    return i < UNITS_MAX && (bits[i / 64] >> i % 64 & 1) != 0;
}

// came_before: whether the same fragment arrived before, with the same begin, end and bytes.
static bool came_before(const struct reasm *r, const struct datagram *d, const struct reasm_part *p)
{
    const uint32_t from = p->at / UNIT, to = (p->at + p->len + UNIT - 1) / UNIT;
    const bool ends = p->more ? !bit(d->have, to) || bit(d->starts, to) : d->total != 0;
    return count_bits(d->have, from, to) == to - from && bit(d->starts, from) &&
           count_bits(d->starts, from, to) == 1 && ends &&
           p->more == (d->total != p->at + p->len) && is_there(r, d, p);
}

// ---- received fragments

// contradicts: whether the fragment exceeds the datagram's end, or gives a different end.
static bool contradicts(const struct datagram *d, const struct reasm_part *p)
{
    const uint32_t end = p->at + p->len;
    if (!p->more)
        return d->end > end || (d->total != 0 && d->total != end);
    return d->total != 0 && end > d->total;
}

// mixes: whether fragments with and without ECN are mixed (RFC 3168 5.3). Like Linux, c10m does not
// reassemble such a datagram.
static bool mixes(const struct datagram *d)
{
    return (d->ecns & ECN_NOT) != 0 && d->ecns != ECN_NOT;
}

static enum drop_reason end_broken(struct reasm *r, struct datagram *d, enum drop_reason reason)
{
    count_fail(r, d, &r->c->reassembly_broken);
    free_chunks(r, d);
    d->state = BROKEN;
    return reason;
}

static uint32_t frame_bytes(const struct datagram *d)
{
    return d->head_len - (d->part_at != 0 ? 8u : 0) + d->total;
}

static bool too_long(const struct datagram *d)
{
    const uint32_t ip = frame_bytes(d) - ETH_BYTES;
    return d->part_at != 0 ? ip - IP6_BYTES > REASM_IP_MAX : ip > REASM_IP_MAX;
}

static void keep_head(struct datagram *d, const struct reasm_part *p)
{
    d->first_len = p->len;
    d->head_len = p->head_len;
    d->part_at = p->part_at;
    d->named_at = p->named_at;
    memcpy(d->head, p->head, p->head_len);
}

// fits: whether this fragment of d can be stored: DROP_NONE, or the reason why not.
static enum drop_reason fits(const struct reasm *r, struct datagram *d, const struct reasm_part *p)
{
    const uint32_t from = p->at / UNIT, to = (p->at + p->len + UNIT - 1) / UNIT;
    if (count_bits(d->have, from, to) != 0)
        return came_before(r, d, p) ? DROP_fragment_duplicate : DROP_fragment_overlap;
    if (contradicts(d, p))
        return DROP_fragment_overlap;
    d->ecns |= (uint8_t)(1 << p->ecn);
    if (mixes(d))
        return DROP_fragment_ecn;
    return d->parts == REASM_PARTS_MAX ? DROP_fragment_parts : DROP_NONE;
}

static void keep(struct reasm *r, struct datagram *d, const struct reasm_part *p)
{
    const uint32_t end = p->at + p->len;
    put(r, d, p);
    set_bits(d->have, p->at / UNIT, (end + UNIT - 1) / UNIT);
    set_bits(d->starts, p->at / UNIT, p->at / UNIT + 1);
    d->parts++;
    d->got += p->len;
    d->end = MAX(d->end, end);
    if (!p->more)
        d->total = end;
    if (p->at == 0)
        keep_head(d, p);
}

enum drop_reason reasm_add(struct reasm *r, uint32_t now_ms, const struct reasm_part *p,
                           struct reasm_whole *whole)
{
    const struct key k = key_of(p);
    const uint32_t hash = hash_of(r, &k);
    whole->bytes = 0;
    r->c->rx_fragments++;
    r->c->rx_fragments6 += !ip_is_v4(&p->src);
    if (p->len == 0 || (p->more && p->len % UNIT != 0) || p->at + p->len > REASM_IP_MAX)
        return DROP_fragment_length;
    struct datagram *d = find(r, &k, hash);
    if (d == NULL)
        d = begin(r, now_ms, &k, hash);
    if (d->state == BROKEN)
        return DROP_fragment_broken;
    const enum drop_reason reason = fits(r, d, p);
    if (reason == DROP_fragment_duplicate)
        return reason;
    if (reason != DROP_NONE)
        return end_broken(r, d, reason);
    if (!allocate_chunks(r, d, p->at, p->at + p->len))
        return end_broken(r, d, DROP_fragment_room);
    keep(r, d, p);
    if (d->total != 0 && d->got == d->total) {
        if (too_long(d))
            return end_broken(r, d, DROP_fragment_length);
        *whole = (struct reasm_whole){frame_bytes(d), (uint32_t)(d - r->datagrams)};
    }
    return DROP_NONE;
}

// ---- whole frames

static void join4(uint8_t *frame, uint32_t len, bool ce)
{
    uint8_t *ip = frame + ETH_BYTES;
    store_be16(ip + IP4_TOTAL_AT, (uint16_t)(len - ETH_BYTES));
    store_be16(ip + IP4_FRAGMENT_AT, load_be16(ip + IP4_FRAGMENT_AT) & 0xc000);  // DF, reserved
    ip[IP4_TOS_AT] |= ce ? 3 : 0;
    store_be16(ip + IP4_CKSUM_AT, 0);
    store_raw16(ip + IP4_CKSUM_AT, (uint16_t)~cksum_fold(cksum_add(0, ip, (ip[0] & 15) * 4u)));
}

// join6: removes the fragment header. The header before it gets the next-header value of the
// fragment header (RFC 8200 4.5).
static void join6(const struct datagram *d, uint8_t *frame, uint32_t len, bool ce)
{
    uint8_t *ip = frame + ETH_BYTES;
    frame[d->named_at] = d->head[d->part_at];
    store_be16(ip + IP6_PAYLOAD_AT, (uint16_t)(len - ETH_BYTES - IP6_BYTES));
    ip[1] |= ce ? 0x30 : 0;
}

void reasm_take(struct reasm *r, const struct reasm_whole *w, uint8_t *to)
{
    const struct datagram *d = &r->datagrams[w->ix];
    const bool ce = (d->ecns & ECN_CE) != 0;
    const uint32_t head = w->bytes - d->total;
    memcpy(to, d->head, head);
    get(r, d, to + head, d->total);
    if (d->part_at != 0)
        join6(d, to, w->bytes, ce);
    else
        join4(to, w->bytes, ce);
    r->c->reassembled++;
    r->c->reassembled6 += is_v6(d);
    forget(r, (uint16_t)w->ix);
}

void reasm_give_up(struct reasm *r, const struct reasm_whole *w)
{
    count_fail(r, &r->datagrams[w->ix], &r->c->reassembly_room);
    forget(r, (uint16_t)w->ix);
}

bool reasm_expire(struct reasm *r, uint32_t now_ms, uint8_t port, struct reasm_part *of,
                  uint8_t *buf, uint32_t max, uint32_t *quote)
{
    const uint16_t ix = r->oldest;
    const struct datagram *d = &r->datagrams[ix != NONE ? ix : 0];
    *quote = 0;
    if (ix == NONE || d->key.port != port || time_before(now_ms, d->born_ms + REASM_TIMEOUT_MS))
        return false;
    if (d->state == OPEN) {
        count_fail(r, d, &r->c->reassembly_timeouts);
        r->c->reassembly_timeouts6 += is_v6(d);
        *of = (struct reasm_part){
            .src = d->key.src, .dst = d->key.dst, .proto = d->key.proto, .head = d->head};
        if (d->first_len != 0) {
            const uint32_t head = d->head_len - ETH_BYTES;
            *quote = MIN(head + d->first_len, max);
            memcpy(buf, d->head + ETH_BYTES, head);
            get(r, d, buf + head, *quote - head);
        }
    }
    forget(r, ix);
    return true;
}

// ---- memory for reassembled frames

uint8_t *reasm_room(struct reasm *r, uint32_t n, void **shared)
{
    const uint32_t bytes = (uint32_t)ALIGN_UP(n + REASM_SHARED_BYTES, CACHE_LINE);
    if (r->room_used + bytes > REASM_WHOLE_BYTES)
        return NULL;
    uint8_t *at = r->wholes + r->room_used;
    r->room_used += bytes;
    r->room_out++;
    *shared = at;
    return at + REASM_SHARED_BYTES;
}

void reasm_room_back(struct reasm *r)
{
    if (--r->room_out == 0)
        r->room_used = 0;
}

uint8_t *reasm_scratch(struct reasm *r)
{
    return r->scratch;
}

uint32_t reasm_hand_id(struct reasm *r)
{
    return r->hand_id++;
}
