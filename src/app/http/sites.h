// SPDX-License-Identifier: BSD-3-Clause
// sites.h: the site that is served (site.h), and earlier ones while connections still send their
// data.
//
//   helper thread:  makes a new site
//   control thread: puts it in a place without a site, then stores `now`; takes a site out of its
//                   place when no connection uses it
//   worker:         a connection uses one place from `open` to `close`, and changes to `now` before
//                   a request. If data of its former place is still queued, it uses that one too
//
// The data of a site (images, heads) may be freed when no worker counts a connection that uses it,
// and each worker has ended the turn in which the last one stopped (c10m/reload.h). Only a
// connection that sends keeps an earlier site: on others `shown` changes the site.
//
// Of a process before, whose connections go on in this one ([control] adopt), only the images stay:
// a site without replies has them, in a place of its own, as an earlier one.
//
// A client can keep a site for long, by reading slowly. When all places are taken, or memory lacks,
// the connections that send from earlier sites are therefore reset (http_sites_expel()).
#pragma once
#include <stdatomic.h>

#include "app/http/site.h"

enum {
    HTTP_PLACES = 8,  // sites in memory; more would let slow readers hold more memory
    // A pair of places is in bits 10 to 15 of http_conn.flags: of new requests, and before of it.
    HTTP_PLACE_BIT = 10,
    HTTP_BEFORE_BIT = 13,
    HTTP_PLACE_MASK = HTTP_PLACES - 1,
    HTTP_BOTH_MASK = HTTP_PLACE_MASK << HTTP_PLACE_BIT | HTTP_PLACE_MASK << HTTP_BEFORE_BIT,
};

// http_site_holders: the number of connections of one worker that use each place. Written by the
// worker, read by the control thread.
struct http_site_holders {
    _Alignas(64) _Atomic uint32_t n[HTTP_PLACES];
};

struct http_sites {
    struct http_site *at[HTTP_PLACES];  // NULL: free. Control thread
    struct http_site_holders *holders;  // one for each worker
    unsigned workers;
    uint32_t version;  // number of sites shown so far
    // The served place twice, as in http_conn.flags; stored with release after the site is
    // complete.
    _Atomic unsigned now;
    _Atomic unsigned expelled;  // a bit for each place whose connections are to be reset
};

// http_sites_init: without a site. False: no memory. http_sites_free: frees all sites; *s may be
// all zero.
bool http_sites_init(struct http_sites *s, unsigned workers);
void http_sites_free(struct http_sites *s);

// http_sites_spare: a place without a site; HTTP_PLACES: there is none. http_sites_show: makes
// `site` the served one; there must be a spare place. http_sites_unused: takes an earlier site that
// no connection uses out of its place, and returns it; NULL: there is none. Only correct when no
// worker can still see an earlier `now`. Control thread.
unsigned http_sites_spare(const struct http_sites *s);
void http_sites_show(struct http_sites *s, struct http_site *site);
struct http_site *http_sites_unused(struct http_sites *s);

// http_sites_add_left: puts the images that a process before has left, if there are any, into a
// place as an earlier site. Returns the place; HTTP_PLACES: there are none, or no memory, and they
// stay until the service ends. Once, after http_sites_show(), before the workers run.
unsigned http_sites_add_left(struct http_sites *s, struct c10m_service *service);

// http_sites_held: the number of connections that use a place. Control thread.
uint64_t http_sites_held(const struct http_sites *s, unsigned place);

// http_sites_expel: marks the oldest of the earlier sites, or all of them: their connections are to
// be reset. Returns how many sites it has marked. While no thread shows a site or takes one out.
unsigned http_sites_expel(struct http_sites *s, bool all);

// http_sites_now: the served place. http_sites_both: the same twice, to compare with the flags of a
// connection. http_sites_expels: whether connections that use the place are to be reset.
static inline unsigned http_sites_both(const struct http_sites *s)
{
    // pairs with the release in http_sites_show()
    return atomic_load_explicit(&s->now, memory_order_acquire);
}

static inline unsigned http_sites_now(const struct http_sites *s)
{
    return http_sites_both(s) >> HTTP_PLACE_BIT & HTTP_PLACE_MASK;
}

static inline bool http_sites_expels(const struct http_sites *s, unsigned place)
{
    // The order for `shown` was given after the mark.
    return atomic_load_explicit(&s->expelled, memory_order_relaxed) >> place & 1;
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
