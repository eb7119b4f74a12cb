// SPDX-License-Identifier: BSD-3-Clause
// hold.h: what a request needs beyond the connection's 64 bytes: content that it is answered with,
// several ranges, an answer that is made for it, its line of the log while content that nobody
// wants is read. Held from the head's end to the answer's, in a
// pool per worker that is made at init and never grows.
//
// And what clients may have queued unread: units of a sum per worker. Nobody can use up either for
// the others alone:
//
//   a source (an IPv4 address, 64 bits of an IPv6 one) has at most an HTTP_SOURCE_SHARE-th of the
//     holds, and of the units, of which it may always have one head's;
//   what waits behind answers in work has at most an HTTP_BEHIND_SHARE-th of the units: the rest is
//     for heads that are being read.
//
// Sources fall on HTTP_SOURCES places by a keyed hash, and those of one place count as one. Four
// at their limit hold all, so that a bystander has the place of such a one once in 1,000 times.
//
// Threads: a pool belongs to its worker; init and free on the control thread.
#pragma once
#include "app/http/access_log.h"
#include "app/http/body.h"
#include "app/http/range.h"

enum {
    // Of what clients have queued: the stack keeps it in such buffers.
    HTTP_UNIT_BYTES = C10M_UNREAD_BYTES,
    HTTP_HOLDS_MAX = 65535,
    HTTP_SOURCE_SHARE = 4,
    HTTP_BEHIND_SHARE = 2,
    HTTP_SOURCES = 4096,            // places of 8 bytes, per worker
    HTTP_HELD_BYTES_MAX = 1 << 30,  // of all buffers of a worker: they are taken at start
};

// http_use: what units are for.
enum http_use { HTTP_OF_HEAD, HTTP_BEHIND_ANSWER };

struct http_hold {
    struct http_body body;
    uint32_t source;    // whose it is
    uint32_t filled;    // of bytes[]
    uint16_t n_ranges;  // 0: none
    uint16_t logged;    // log is filled in
    struct http_range ranges[HTTP_RANGES_MAX];
    uint8_t *bytes;               // room for the pool's buffer_bytes
    struct http_log_record *log;  // of the request, to be completed by its answer; NULL: no log
};

struct http_pool;  // of one worker

struct http_pools {
    struct http_pool *pools;
    unsigned n;
    uint64_t key[2];  // of http_source()
};

struct http_pool_sizes {
    unsigned holds;       // 1..HTTP_HOLDS_MAX
    size_t buffer_bytes;  // room in each
    bool logs;            // each has a log record
    uint32_t units;       // of what is queued
    uint32_t head_units;  // of one head, at most `units`
};

// http_pools_init: `workers` pools of these sizes; the key is drawn. False: no memory, or no random
// numbers. http_pools_free gives all back, also of zeros.
bool http_pools_init(struct http_pools *p, unsigned workers, const struct http_pool_sizes *z);
void http_pools_free(struct http_pools *p);

// http_source: the place of this address's source, below HTTP_SOURCES.
uint32_t http_source(const struct http_pools *p, const uint8_t addr[16]);

// http_hold_take: a hold of this worker's, empty, as a number above 0; 0: all are in use, or the
// source has its share. http_hold_take_spare: the same for who can do without: 0 when more than
// half are in use. http_hold_give: and back. http_hold_at: what the number stands for.
uint16_t http_hold_take(struct http_pools *p, unsigned worker, uint32_t source);
uint16_t http_hold_take_spare(struct http_pools *p, unsigned worker, uint32_t source);
void http_hold_give(struct http_pools *p, unsigned worker, uint16_t hold);
struct http_hold *http_hold_at(const struct http_pools *p, unsigned worker, uint16_t hold);

// http_units_take: n units of this worker's; false: so many are not left, to that use or to the
// source, and none was taken. http_units_give: and back, of the same source and use.
bool http_units_take(struct http_pools *p, unsigned worker, uint32_t source, enum http_use use,
                     uint32_t n);
void http_units_give(struct http_pools *p, unsigned worker, uint32_t source, enum http_use use,
                     uint32_t n);

// http_units_shared, http_holds_shared: whether n more units, or one more hold, would be more than
// the share of a source.
bool http_units_shared(const struct http_pools *p, unsigned worker, uint32_t source, uint32_t n);
bool http_holds_shared(const struct http_pools *p, unsigned worker, uint32_t source);
