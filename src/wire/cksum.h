// SPDX-License-Identifier: BSD-3-Clause
// cksum.h: the Internet checksum (RFC 1071). Sums are of 16-bit words in memory order; the byte
// order does not matter (RFC 1071 2 (B)), and a folded sum is stored as it is.
#pragma once
#include "base/addr.h"
#include "wire/raw.h"

// cksum_plus: the ones' complement sum of two 64-bit partial sums, with end-around carry.
static inline uint64_t cksum_plus(uint64_t sum, uint64_t addend)
{
    sum += addend;
    return sum + (sum < addend);
}

// cksum_fold: folds a partial sum to 16 bits, not complemented. Adding the value rotated by half
// its width puts the sum with its carry into the upper half.
static inline uint16_t cksum_fold(uint64_t sum)
{
    sum += sum << 32 | sum >> 32;
    uint32_t half = (uint32_t)(sum >> 32);
    half += half << 16 | half >> 16;
    return (uint16_t)(half >> 16);
}

// cksum_is_right: whether a partial sum folds to ffff, that is, whether it is a multiple of ffff.
// The words include the checksum and are not all 0. The product with the inverse of ffff modulo
// 2^64 is the quotient if the sum is a multiple, else a larger number (Granlund, Montgomery,
// "Division by invariant integers using multiplication", 1994, 9).
static inline bool cksum_is_right(uint64_t sum)
{
    const uint64_t most = UINT64_MAX / 0xffff, inverse = -most;
    return sum * inverse <= most;
}

// cksum_odd: the partial sum of bytes that begin at an odd offset of the data (RFC 1071 2 (B)).
static inline uint64_t cksum_odd(uint64_t sum)
{
    return __builtin_bswap16(cksum_fold(sum));
}

// cksum_plus32: sum plus the 32 bytes at p, in one chain of add-with-carry instructions. Compilers
// do not generate that from cksum_plus().
static inline uint64_t cksum_plus32(uint64_t sum, const uint8_t *p)
{
#ifdef __x86_64__
    __asm__("addq (%1), %0\n\tadcq 8(%1), %0\n\tadcq 16(%1), %0\n\tadcq 24(%1), %0\n\tadcq $0, %0"
            : "+&r"(sum)
            : "r"(p), "m"(*(const uint8_t(*)[32])p)
            : "cc");
    return sum;
#else
    for (int i = 0; i < 32; i += 8)
        sum = cksum_plus(sum, load_raw64(p + i));
    return sum;
#endif
}

// cksum_plus3: the sum of all four, in the same way.
static inline uint64_t cksum_plus3(uint64_t sum, uint64_t a, uint64_t b, uint64_t c)
{
#ifdef __x86_64__
    __asm__("addq %1, %0\n\tadcq %2, %0\n\tadcq %3, %0\n\tadcq $0, %0"
            : "+&r"(sum)
            : "rm"(a), "rm"(b), "rm"(c)
            : "cc");
    return sum;
#else
    return cksum_plus(cksum_plus(cksum_plus(sum, a), b), c);
#endif
}

// cksum_blocks: the sum of n bytes, a multiple of 64; cksum_copy_blocks copies them too.
uint64_t cksum_blocks(const uint8_t *p, size_t n);
uint64_t cksum_copy_blocks(uint8_t *to, const uint8_t *from, size_t n);

enum { CKSUM_BLOCKS_MIN = 256 };  // from here on four parallel lanes are faster

// cksum_short: the words of fewer than 8 bytes at p.
static inline uint64_t cksum_short(const uint8_t *p, size_t n)
{
    uint64_t sum = 0;
    if (n & 4) {
        sum = load_raw32(p);
        p += 4;
    }
    if (n & 2) {
        sum += load_raw16(p);
        p += 2;
    }
    return n & 1 ? sum + *p : sum;
}

// cksum_add: sum plus the words of n bytes at p. An odd last byte counts as if a 0 followed it.
static ALWAYS_INLINE uint64_t cksum_add(uint64_t sum, const uint8_t *p, size_t n)
{
    const bool usual = n - 32 < CKSUM_BLOCKS_MIN - 32;
    if (!usual && n < 8)
        return cksum_plus(sum, cksum_short(p, n));
    if (!usual && n >= CKSUM_BLOCKS_MIN) {
        size_t blocks = n & ~(size_t)63;
        sum = cksum_plus(sum, cksum_blocks(p, blocks));
        p += blocks;
        n -= blocks;
    }
    for (; n >= 32; p += 32, n -= 32)
        sum = cksum_plus32(sum, p);
    for (; n >= 8; p += 8, n -= 8)
        sum = cksum_plus(sum, load_raw64(p));
    // The rest is the upper part of the eight bytes that end at the end of the data.
    return n == 0 ? sum : cksum_plus(sum, load_raw64(p + n - 8) >> (64 - 8 * n));
}

// cksum_copy: copies n bytes and returns sum plus their words, as cksum_add(). The ranges do not
// overlap.
static inline uint64_t cksum_copy(uint64_t sum, uint8_t *restrict to, const uint8_t *restrict from,
                                  size_t n)
{
    const bool usual = n - 32 < CKSUM_BLOCKS_MIN - 32;
    if (!usual && n < 8) {
        if (n == 0)  // from may be NULL
            return sum;
        memcpy(to, from, n);
        return cksum_plus(sum, cksum_short(from, n));
    }
    if (!usual && n >= CKSUM_BLOCKS_MIN) {
        size_t blocks = n & ~(size_t)63;
        sum = cksum_plus(sum, cksum_copy_blocks(to, from, blocks));
        to += blocks;
        from += blocks;
        n -= blocks;
    }
    for (; n >= 32; to += 32, from += 32, n -= 32) {
        memcpy(to, from, 32);
        sum = cksum_plus32(sum, from);
    }
    for (; n >= 8; to += 8, from += 8, n -= 8) {
        uint64_t w = load_raw64(from);
        store_raw64(to, w);
        sum = cksum_plus(sum, w);
    }
    if (n == 0)
        return sum;
    uint64_t w = load_raw64(from + n - 8);
    store_raw64(to + n - 8, w);
    return cksum_plus(sum, w >> (64 - 8 * n));
}

// cksum_update: the new value of checksum field `cksum` after one word of the data changed from
// `was` to `is`; all in memory order (RFC 1624 3, eqn. 3).
static inline uint16_t cksum_update(uint16_t cksum, uint16_t was, uint16_t is)
{
    return (uint16_t)~cksum_fold((uint64_t)(uint16_t)~cksum + (uint16_t)~was + is);
}

// cksum_pseudo4: the sum of the IPv4 pseudo header (RFC 9293 3.1): addresses in memory order,
// protocol, bytes of the upper layer.
static inline uint64_t cksum_pseudo4(uint32_t src_raw, uint32_t dst_raw, uint8_t proto,
                                     uint16_t l4_bytes)
{
    return (uint64_t)src_raw + dst_raw + ((uint32_t)proto << 8) +
           (__builtin_bswap32(l4_bytes) >> 16);
}

// cksum_pseudo6: the IPv6 pseudo header (RFC 8200 8.1).
static inline uint64_t cksum_pseudo6(const struct ip_addr *src, const struct ip_addr *dst,
                                     uint8_t proto, uint16_t l4_bytes)
{
    const uint64_t sum = cksum_plus3(load_raw64(src->b), load_raw64(src->b + 8), load_raw64(dst->b),
                                     load_raw64(dst->b + 8));
    return cksum_plus(sum, ((uint32_t)proto << 8) + (__builtin_bswap32(l4_bytes) >> 16));
}
