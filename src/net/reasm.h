// SPDX-License-Identifier: BSD-3-Clause
// reasm.h: datagrams that come in parts (RFC 791 3.2, RFC 8200 4.5). One struct reasm belongs to
// one worker, for all its ports; nothing is allocated after reasm_init().
//
//   parts --> reasm_add --> chunks of 2 KiB, by offset --> the last missing one: a whole frame
//                 |                                        in the parts' place
//                 +-- why the part ends here
//
// What a stranger may fill is bounded in each direction:
//   number    REASM_LIMITS: so many datagrams and chunks in all; one that is new takes the place of
//             the oldest
//   source    an IPv4 address, an IPv6 /64, has an eighth of the datagrams and a quarter of the
//             chunks; beyond that its own oldest goes. Sources are told apart by a keyed hash.
//   time      REASM_TIMEOUT_MS from the first part that came (RFC 8200 4.5; RFC 1122 3.3.2 has 60
//             to 120 s, Linux 30 s for IPv4)
//   work      a part costs the same however many came before it: two bits for each 8 bytes say what
//             is there; no list is searched. Datagrams are found by a keyed hash.
//
// A part that overlaps another, or contradicts it, ends its datagram with all that is still to come
// of it (RFC 5722 3; for IPv4 as well, as Linux does since CVE-2018-5391); one that comes twice
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
    REASM_PARTS_MAX = 128,  // of a datagram: 64 KiB in packets of 576 bytes are 119
    REASM_CHUNK_BYTES = 2048,
    REASM_CHUNKS_PER_DATAGRAM = 4,  // on average
    REASM_SHARE_DATAGRAMS = 8,      // of all, the part that a source may have
    REASM_SHARE_CHUNKS = 4,
    REASM_IP_MAX = 65535,
    REASM_FRAME_MAX = 14 + 40 + REASM_IP_MAX,              // Ethernet and IPv6
    REASM_HEAD_MAX = 14 + 40 + 256,                        // with extension headers
    REASM_WHOLE_BYTES = 4 * (REASM_FRAME_MAX + 1) + 4096,  // of whole frames in a turn
    REASM_EXPIRE_MAX = 8,                                  // datagrams given up in a tick
};

// reasm_part: one fragment.
struct reasm_part {
    struct ip_addr src, dst;
    uint32_t id;
    uint8_t proto;  // IPv4's; 0 with IPv6
    uint8_t ecn;    // two bits
    uint8_t port;   // the net that it came to
    bool more;      // it is not the last
    uint32_t at;    // where it begins in the datagram; a multiple of 8
    uint32_t len;
    const uint8_t *data;
    // The frame up to the data. head_len: at most REASM_HEAD_MAX. part_at: IPv6: where the fragment
    // header lies in it, with named_at before it, the place that names it.
    const uint8_t *head;
    uint16_t head_len, part_at, named_at;
};

struct reasm;

// reasm_footprint: bytes, aligned to CACHE_LINE, for n datagrams, REASM_DATAGRAMS_MIN..MAX.
// reasm_init: places a reasm in mem. counters: of its worker; every datagram of which a part was
// kept is counted there as reassembled, or in one of reassembly_timeouts, _evicted, _share, _broken
// and _room, or is in reassembly_now.
size_t reasm_footprint(uint32_t n);
struct reasm *reasm_init(void *mem, uint32_t n, struct siphash_key secret,
                         struct core_counters *counters);

// reasm_whole: a datagram that is complete. reasm_take: writes its frame, `bytes` of it, to `to`,
// and forgets it. Before the next call of reasm_add().
struct reasm_whole {
    uint32_t bytes;  // 0: there is none
    uint32_t ix;
};

void reasm_take(struct reasm *r, const struct reasm_whole *w, uint8_t *to);
void reasm_give_up(struct reasm *r, const struct reasm_whole *w);  // counted in reassembly_room

// reasm_add: one more part. DROP_NONE: kept, and *whole says whether it was the last missing one.
// Else why it ends here.
enum drop_reason reasm_add(struct reasm *r, uint32_t now_ms, const struct reasm_part *p,
                           struct reasm_whole *whole);

// reasm_expire: the oldest datagram, if its time is over and it came to `port`, is forgotten.
// False: there is none. *quote: as much of the packet that its first part was as fits in max bytes,
// in buf, from the IP header on; 0: no first part came, or the datagram was broken.
bool reasm_expire(struct reasm *r, uint32_t now_ms, uint8_t port, struct reasm_part *of,
                  uint8_t *buf, uint32_t max, uint32_t *quote);

// reasm_room: a place for a frame of n bytes until the packet that holds it is freed; NULL: there
// is none in this turn. reasm_room_back: it was. `shared`: bytes of the caller's before the frame.
enum { REASM_SHARED_BYTES = 64 };
uint8_t *reasm_room(struct reasm *r, uint32_t n, void **shared);
void reasm_room_back(struct reasm *r);

// reasm_scratch: REASM_FRAME_MAX bytes for whoever builds a frame to cut, until he returns.
uint8_t *reasm_scratch(struct reasm *r);

// reasm_hand_id: identifies a datagram that goes to another worker in parts.
uint32_t reasm_hand_id(struct reasm *r);
