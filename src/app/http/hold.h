// SPDX-License-Identifier: BSD-3-Clause
// hold.h: memory of a request beyond the 64 bytes of the connection: content that is returned in
// the response, several ranges, a response made for this request, or its log record while unneeded
// content is read. A request has a hold from the end of its head to the end of its response. Each
// worker has a pool of fixed size, allocated at init.
//
// Unread bytes in receive queues are counted in units, of which each worker has a limited number.
// One client cannot use all holds or all units:
//
//   a source (an IPv4 address, 64 bits of an IPv6 one) has at most an HTTP_SOURCE_SHARE-th of the
//     holds and of the units, but always the units of one head;
//   bytes after requests being answered have at most an HTTP_BEHIND_SHARE-th of the units: the rest
//     is for heads that are being read.
//
// A keyed hash maps sources to HTTP_SOURCES entries; sources with the same entry count as one. Four
// sources at their limit use all holds, so another source shares an entry with one of them with a
// probability of 1 in 1,000.
//
// Threads: a pool belongs to its worker; init and free on the control thread.
#pragma once
#include "app/http/access_log.h"
#include "app/http/body.h"
#include "app/http/range.h"

enum {
    // The stack keeps unread bytes in buffers of this size.
    HTTP_UNIT_BYTES = C10M_UNREAD_BYTES,
    HTTP_HOLDS_MAX = 65535,
    HTTP_SOURCE_SHARE = 4,
    HTTP_BEHIND_SHARE = 2,
    HTTP_SOURCES = 4096,            // entries of 8 bytes, for each worker
    HTTP_HELD_BYTES_MAX = 1 << 30,  // all buffers of a worker, allocated at start
};

// http_use: the purpose of units.
enum http_use { HTTP_OF_HEAD, HTTP_BEHIND_ANSWER };

struct http_hold {
    struct http_body body;
    uint32_t source;    // http_source() of the client
    uint32_t filled;    // bytes used in bytes[]
    uint16_t n_ranges;  // 0: none
    uint16_t logged;    // log is filled in
    struct http_range ranges[HTTP_RANGES_MAX];
    uint8_t *bytes;               // buffer of the pool's buffer_bytes
    struct http_log_record *log;  // record of the request, completed by its response; NULL: no log
};

struct http_pool;  // of one worker

struct http_pools {
    struct http_pool *pools;
    unsigned n;
    uint64_t key[2];  // for http_source()
};

struct http_pool_sizes {
    unsigned holds;       // 1..HTTP_HOLDS_MAX
    size_t buffer_bytes;  // bytes of each buffer
    bool logs;            // each hold has a log record
    uint32_t units;       // for unread bytes
    uint32_t head_units;  // units of one head, at most `units`
};

// http_pools_init: allocates pools of these sizes for `workers` workers and draws a random key.
// False: no memory, or no random numbers. http_pools_free: frees them; *p may be all zero.
bool http_pools_init(struct http_pools *p, unsigned workers, const struct http_pool_sizes *z);
void http_pools_free(struct http_pools *p);

// http_source: the entry of the source of this address, below HTTP_SOURCES.
uint32_t http_source(const struct http_pools *p, const uint8_t addr[16]);

// http_hold_take: allocates an empty hold of this worker and returns its number, above 0; 0: all
// are in use, or the source has its share. http_hold_take_spare: does the same, but also returns 0
// if more than half are in use. http_hold_give: frees a hold. http_hold_at: the hold with this
// number.
uint16_t http_hold_take(struct http_pools *p, unsigned worker, uint32_t source);
uint16_t http_hold_take_spare(struct http_pools *p, unsigned worker, uint32_t source);
void http_hold_give(struct http_pools *p, unsigned worker, uint16_t hold);
struct http_hold *http_hold_at(const struct http_pools *p, unsigned worker, uint16_t hold);

// http_units_take: allocates n units of this worker. False: fewer than n are left for this use or
// this source; none was allocated. http_units_give: frees n units of the same source and use.
bool http_units_take(struct http_pools *p, unsigned worker, uint32_t source, enum http_use use,
                     uint32_t n);
void http_units_give(struct http_pools *p, unsigned worker, uint32_t source, enum http_use use,
                     uint32_t n);

// http_units_shared, http_holds_shared: whether n more units, or one more hold, would be more than
// the share of a source.
bool http_units_shared(const struct http_pools *p, unsigned worker, uint32_t source, uint32_t n);
bool http_holds_shared(const struct http_pools *p, unsigned worker, uint32_t source);
