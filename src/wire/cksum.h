// cksum.h: the Internet checksum (RFC 1071). Sums are of 16-bit words in memory order, which the
// sum does not mind (RFC 1071 2 (B)): a folded sum is stored as it is.
#pragma once
#include "wire/raw.h"

// cksum_plus: the ones' complement sum of two partial sums of 64 bits: the carry comes in again.
static inline uint64_t cksum_plus(uint64_t sum, uint64_t addend)
{
    sum += addend;
    return sum + (sum < addend);
}

// cksum_fold: a partial sum as 16 bits, not complemented. Each half turned round and added to the
// other carries into the upper half, which is the answer.
static inline uint16_t cksum_fold(uint64_t sum)
{
    sum += sum << 32 | sum >> 32;
    uint32_t half = (uint32_t)(sum >> 32);
    half += half << 16 | half >> 16;
    return (uint16_t)(half >> 16);
}

// cksum_odd: a partial sum of bytes that begin at an odd offset of the whole (RFC 1071 2 (B)).
static inline uint64_t cksum_odd(uint64_t sum)
{
    return __builtin_bswap16(cksum_fold(sum));
}

// cksum_blocks: the sum of n bytes, a multiple of 64; cksum_copy_blocks copies them too.
uint64_t cksum_blocks(const uint8_t *p, size_t n);
uint64_t cksum_copy_blocks(uint8_t *to, const uint8_t *from, size_t n);

// cksum_add: sum plus the words of n bytes at p; an odd last byte counts as if a zero followed.
static inline uint64_t cksum_add(uint64_t sum, const uint8_t *p, size_t n)
{
    if (n >= 64) {
        size_t blocks = n & ~(size_t)63;
        sum = cksum_plus(sum, cksum_blocks(p, blocks));
        p += blocks;
        n -= blocks;
    }
    if (n & 32) {
        for (int i = 0; i < 32; i += 8)
            sum = cksum_plus(sum, load_raw64(p + i));
        p += 32;
    }
    if (n & 16) {
        sum = cksum_plus(sum, load_raw64(p));
        sum = cksum_plus(sum, load_raw64(p + 8));
        p += 16;
    }
    if (n & 8) {
        sum = cksum_plus(sum, load_raw64(p));
        p += 8;
    }
    if (n & 4) {
        sum = cksum_plus(sum, load_raw32(p));
        p += 4;
    }
    if (n & 2) {
        sum = cksum_plus(sum, load_raw16(p));
        p += 2;
    }
    return n & 1 ? cksum_plus(sum, *p) : sum;
}

// cksum_copy: copies n bytes (ranges apart) and returns sum plus their words, as cksum_add().
static inline uint64_t cksum_copy(uint64_t sum, uint8_t *to, const uint8_t *from, size_t n)
{
    if (n >= 64) {
        size_t blocks = n & ~(size_t)63;
        sum = cksum_plus(sum, cksum_copy_blocks(to, from, blocks));
        to += blocks;
        from += blocks;
        n -= blocks;
    }
    for (; n >= 8; to += 8, from += 8, n -= 8) {
        uint64_t w = load_raw64(from);
        store_raw64(to, w);
        sum = cksum_plus(sum, w);
    }
    if (n & 4) {
        uint32_t w = load_raw32(from);
        store_raw32(to, w);
        sum = cksum_plus(sum, w);
        to += 4;
        from += 4;
    }
    if (n & 2) {
        uint16_t w = load_raw16(from);
        store_raw16(to, w);
        sum = cksum_plus(sum, w);
        to += 2;
        from += 2;
    }
    if (n & 1) {
        *to = *from;
        sum = cksum_plus(sum, *from);
    }
    return sum;
}

// cksum_update: checksum field `cksum` after one word of what it covers went from `was` to `is`,
// all in memory order (RFC 1624 3, eqn. 3).
static inline uint16_t cksum_update(uint16_t cksum, uint16_t was, uint16_t is)
{
    return (uint16_t)~cksum_fold((uint64_t)(uint16_t)~cksum + (uint16_t)~was + is);
}

// cksum_pseudo4: the IPv4 pseudo header (RFC 9293 3.1): addresses as they lie, protocol, bytes of
// the TCP segment.
static inline uint64_t cksum_pseudo4(uint32_t src_raw, uint32_t dst_raw, uint8_t proto,
                                     uint16_t l4_bytes)
{
    return (uint64_t)src_raw + dst_raw + ((uint32_t)proto << 8) + __builtin_bswap16(l4_bytes);
}
