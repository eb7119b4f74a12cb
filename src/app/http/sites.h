// SPDX-License-Identifier: BSD-3-Clause
// sites.h: the site that is served (site.h), and room for the one before it while connections still
// send what that one holds.
//
//   control thread: makes a site in the place that nobody holds, then stores `now`
//   worker:         a connection holds one place from `open` to `close`; it moves to `now` before a
//                   request that finds nothing of the old one queued
//
// What a site refers to (images, heads) may go when no worker counts a connection that holds it: an
// idle one lets go with its next request, or when its idle time ends it.
#pragma once
#include <stdatomic.h>

#include "app/http/site.h"

enum { HTTP_PLACES = 2 };

// http_site_holders: connections of one worker that hold each place. Written by the worker, read by
// the control thread.
struct http_site_holders {
    _Alignas(64) _Atomic uint32_t n[HTTP_PLACES];
};

struct http_sites {
    struct http_site *at[HTTP_PLACES];
    struct http_site_holders *holders;  // of each worker
    unsigned workers;
    uint32_t version;      // how many sites there were so far
    _Atomic unsigned now;  // which place; released by the control thread when all of it is there
};

// http_sites_init: with no site yet. False: no memory. http_sites_free: both sites, also of zeros.
bool http_sites_init(struct http_sites *s, unsigned workers);
void http_sites_free(struct http_sites *s);

// http_sites_show: makes `site` the one that is served. Nobody may hold its place (http_sites_held
// of http_sites_spare). Control thread.
void http_sites_show(struct http_sites *s, struct http_site *site);

// http_sites_spare: the place that is not served. http_sites_held: how many connections hold a
// place, as far as the workers have told. Control thread.
unsigned http_sites_spare(const struct http_sites *s);
uint64_t http_sites_held(const struct http_sites *s, unsigned place);

static inline unsigned http_sites_now(const struct http_sites *s)
{
    return atomic_load_explicit(&s->now, memory_order_acquire);  // with http_sites_show's release
}

// http_sites_hold, http_sites_let_go: one connection more, or less, of this worker holds the place.
// Released: what it read of the site comes before.
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
