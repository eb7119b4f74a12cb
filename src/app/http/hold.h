// hold.h: what a request needs beyond the connection's 64 bytes: content that is being read,
// several ranges, an answer that is made for it. Held from the head's end to the answer's, in a
// pool per worker that is made at init and never grows.
//
// Threads: a pool belongs to its worker; init and free on the control thread.
#pragma once
#include "app/http/body.h"
#include "app/http/log.h"
#include "app/http/range.h"

enum {
    HTTP_UNIT_BYTES = 2048,  // of what clients have queued: the stack keeps it in such buffers
    HTTP_HOLDS_MAX = 65535,
    HTTP_HELD_BYTES_MAX = 1 << 30,  // of all buffers of a worker: they are taken at start
};

struct http_hold {
    struct http_body body;
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
};

// http_pools_init: `workers` pools of `holds` each (1..HTTP_HOLDS_MAX), with buffer_bytes of room
// in each, and a log record if `logs`; and of `units` of what is queued. False: no memory.
// http_pools_free gives all back, also of zeros.
bool http_pools_init(struct http_pools *p, unsigned workers, unsigned holds, size_t buffer_bytes,
                     bool logs, uint32_t units);
void http_pools_free(struct http_pools *p);

// http_hold_take: a hold of this worker's, empty, as a number above 0; 0: all are in use.
// http_hold_give: and back. http_hold_at: what the number stands for.
uint16_t http_hold_take(struct http_pools *p, unsigned worker);
void http_hold_give(struct http_pools *p, unsigned worker, uint16_t hold);
struct http_hold *http_hold_at(const struct http_pools *p, unsigned worker, uint16_t hold);

// http_units_take: n units of this worker's; false: so many are not left, and none was taken.
// http_units_give: and back.
bool http_units_take(struct http_pools *p, unsigned worker, uint32_t n);
void http_units_give(struct http_pools *p, unsigned worker, uint32_t n);
