// SPDX-License-Identifier: BSD-3-Clause
// sites.h: the site that is served (site.h), and the previous one while connections still send its
// data.
//
//   control thread: makes a site in the place that no connection uses, then stores `now`
//   worker:         a connection uses one place from `open` to `close`; it changes to `now` before
//                   a request if no data of the old site is queued
//
// The data of a site (images, heads) may be freed when no worker counts a connection that uses it.
// An idle connection stops using the old site at its next request, or at the end of its idle time.
#pragma once
#include <stdatomic.h>

#include "app/http/site.h"

enum { HTTP_PLACES = 2 };

// http_site_holders: the number of connections of one worker that use each place. Written by the
// worker, read by the control thread.
struct http_site_holders {
    _Alignas(64) _Atomic uint32_t n[HTTP_PLACES];
};

struct http_sites {
    struct http_site *at[HTTP_PLACES];
    struct http_site_holders *holders;  // one for each worker
    unsigned workers;
    uint32_t version;      // number of sites made so far
    _Atomic unsigned now;  // the served place; stored with release after the site is complete
};

// http_sites_init: without a site. False: no memory. http_sites_free: frees both sites; *s may be
// all zero.
bool http_sites_init(struct http_sites *s, unsigned workers);
void http_sites_free(struct http_sites *s);

// http_sites_show: makes `site` the served one. No connection may use its place:
// http_sites_held(http_sites_spare()) is 0. Control thread.
void http_sites_show(struct http_sites *s, struct http_site *site);

// http_sites_spare: the place that is not served. http_sites_held: the number of connections that
// use a place. Control thread.
unsigned http_sites_spare(const struct http_sites *s);
uint64_t http_sites_held(const struct http_sites *s, unsigned place);

static inline unsigned http_sites_now(const struct http_sites *s)
{
    // pairs with the release in http_sites_show()
    return atomic_load_explicit(&s->now, memory_order_acquire);
}

// http_sites_hold, http_sites_let_go: increment and decrement the connections of this worker that
// use the place. The decrement is a release: the worker's reads of the site happen before it.
static inline void http_sites_hold(struct http_sites *s, unsigned worker, unsigned place)
{
    _Atomic uint32_t *n = &s->holders[worker].n[place];
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static inline void http_sites_let_go(struct http_sites *s, unsigned worker, unsigned place)
{
    _Atomic uint32_t *n = &s->holders[worker].n[place];
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) - 1,
                          memory_order_release);
}
