// SPDX-License-Identifier: BSD-3-Clause
// reasm.h: reassembly of fragments (RFC 791 3.2, RFC 8200 4.5). One struct reasm belongs to one
// worker, for all its ports. Nothing is allocated after reasm_init().
//
//   fragments --> reasm_add --> chunks of 2 KiB, by offset --> complete: a whole frame
//                     |
//                     +-- DROP_...: why the fragment is dropped
//
// What a remote host can fill is bounded in four ways:
//   number    Datagrams and chunks are limited in all. A new one replaces the oldest.
//   source    An IPv4 address or an IPv6 /64 may have an eighth of the datagrams and a quarter
//             of the chunks. Beyond that its own oldest datagram is dropped. Sources are found by
//             a keyed hash.
//   time      A datagram is dropped REASM_TIMEOUT_MS after its first fragment (RFC 8200 4.5).
//             RFC 1122 3.3.2 recommends 60 to 120 s; Linux has 30 s for IPv4.
//   work      The cost of a fragment does not depend on the number before it: two bits for every
//             8 bytes say what is present, and no list is searched. Datagrams are found by a
//             keyed hash.
//
// A fragment that overlaps or contradicts another ends its datagram, and later fragments of it are
// dropped too (RFC 5722 3; for IPv4 as well, as Linux does since CVE-2018-5391). An exact duplicate
// does not.
#pragma once
#include "base/addr.h"
#include "base/drops.h"
#include "base/siphash.h"
#include "stat/counters.h"

enum {
    REASM_DATAGRAMS_MIN = 32,
    REASM_DATAGRAMS_MAX = 8192,
    REASM_TIMEOUT_MS = 60000,
    REASM_PARTS_MAX = 128,  // fragments of a datagram: 64 KiB in 576 bytes each are 119
    REASM_CHUNK_BYTES = 2048,
    REASM_CHUNKS_PER_DATAGRAM = 4,  // on average
    REASM_SHARE_DATAGRAMS = 8,      // a source may have one in so many
    REASM_SHARE_CHUNKS = 4,
    REASM_IP_MAX = 65535,
    REASM_FRAME_MAX = 14 + 40 + REASM_IP_MAX,              // Ethernet and IPv6
    REASM_HEAD_MAX = 14 + 40 + 256,                        // with extension headers
    REASM_WHOLE_BYTES = 4 * (REASM_FRAME_MAX + 1) + 4096,  // room for whole frames in a turn
    REASM_EXPIRE_MAX = 8,                                  // datagrams that one tick drops
};

// reasm_part: one fragment.
struct reasm_part {
    struct ip_addr src, dst;
    uint32_t id;
    uint8_t proto;  // of IPv4; 0 with IPv6
    uint8_t ecn;    // two bits
    uint8_t port;   // index of the net that received it
    bool more;      // more fragments follow
    uint32_t at;    // offset in the datagram, a multiple of 8
    uint32_t len;
    const uint8_t *data;
    // The frame before the data: head_len bytes, at most REASM_HEAD_MAX. IPv6: part_at is the
    // offset of the fragment header in it, named_at that of the next-header field that names it.
    const uint8_t *head;
    uint16_t head_len, part_at, named_at;
};

struct reasm;

// reasm_footprint: bytes for n datagrams, REASM_DATAGRAMS_MIN..MAX; a multiple of CACHE_LINE.
// reasm_init: places a reasm in mem. counters: of its worker. Every datagram with a kept fragment
// is in reassembly_now, or is counted once: as reassembled, or in reassembly_timeouts, _evicted,
// _share, _broken or _room.
size_t reasm_footprint(uint32_t n);
struct reasm *reasm_init(void *mem, uint32_t n, struct siphash_key secret,
                         struct core_counters *counters);

// reasm_whole: a complete datagram. reasm_take: writes its frame of `bytes` bytes to `to` and
// releases it; before the next reasm_add(). reasm_give_up: drops it.
struct reasm_whole {
    uint32_t bytes;  // 0: none
    uint32_t ix;
};

void reasm_take(struct reasm *r, const struct reasm_whole *w, uint8_t *to);
void reasm_give_up(struct reasm *r, const struct reasm_whole *w);  // counts in reassembly_room

// reasm_add: adds a fragment. DROP_NONE: it was kept, and *whole is the datagram if it was the last
// missing one. Otherwise why it is dropped.
enum drop_reason reasm_add(struct reasm *r, uint32_t now_ms, const struct reasm_part *p,
                           struct reasm_whole *whole);

// reasm_expire: removes the oldest datagram if it timed out and came to net `port`. False: there is
// none. *of describes it. *quote: bytes written to buf for an ICMP error, at most max: its first
// fragment, from the IP header on. 0: the first fragment is missing, or the datagram was broken.
bool reasm_expire(struct reasm *r, uint32_t now_ms, uint8_t port, struct reasm_part *of,
                  uint8_t *buf, uint32_t max, uint32_t *quote);

// reasm_room: memory for a frame of n bytes, until reasm_room_back() when its packet is freed.
// NULL: none left in this turn. *shared: REASM_SHARED_BYTES before the frame for the caller.
enum { REASM_SHARED_BYTES = 64 };
uint8_t *reasm_room(struct reasm *r, uint32_t n, void **shared);
void reasm_room_back(struct reasm *r);

// reasm_scratch: a buffer of REASM_FRAME_MAX bytes, for a frame that is to be fragmented. Valid
// until the caller returns.
uint8_t *reasm_scratch(struct reasm *r);

// reasm_hand_id: the identification of a datagram that is sent to another worker in fragments.
uint32_t reasm_hand_id(struct reasm *r);
