// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/sites.h"

#include <stdlib.h>
#include <string.h>

bool http_sites_init(struct http_sites *s, unsigned workers)
{
    *s = (struct http_sites){.workers = workers};
    s->holders = aligned_alloc(64, workers * sizeof(*s->holders));
    if (s->holders == NULL)
        return false;
    memset(s->holders, 0, workers * sizeof(*s->holders));
    return true;
}

void http_sites_free(struct http_sites *s)
{
    for (unsigned i = 0; i < HTTP_PLACES; i++) {
        if (s->at[i] != NULL)
            http_site_free(s->at[i]);
        free(s->at[i]);
        s->at[i] = NULL;
    }
    free(s->holders);
    s->holders = NULL;
}

unsigned http_sites_spare(const struct http_sites *s)
{
    unsigned place = 0;
    while (place < HTTP_PLACES && s->at[place] != NULL)
        place++;
    return place;
}

void http_sites_show(struct http_sites *s, struct http_site *site)
{
    const unsigned place = http_sites_spare(s);
    site->version = ++s->version;
    s->at[place] = site;
    // pairs with the acquire in http_sites_both()
    atomic_store_explicit(&s->now, place << HTTP_PLACE_BIT | place << HTTP_BEFORE_BIT,
                          memory_order_release);
}

unsigned http_sites_add_left(struct http_sites *s, struct c10m_service *service)
{
    const unsigned place = http_sites_spare(s);
    struct http_site *site = place == HTTP_PLACES ? NULL : calloc(1, sizeof(*site));
    if (site == NULL)
        return HTTP_PLACES;
    site->images = c10m_images_left(service);
    if (site->images == NULL) {
        free(site);
        return HTTP_PLACES;
    }
    site->bytes = c10m_images_bytes(site->images);
    s->at[place] = site;
    return place;
}

// is_earlier: whether the place has a site that is no longer served.
static bool is_earlier(const struct http_sites *s, unsigned place)
{
    return s->at[place] != NULL && place != http_sites_now(s);
}

struct http_site *http_sites_unused(struct http_sites *s)
{
    for (unsigned i = 0; i < HTTP_PLACES; i++) {
        struct http_site *site = s->at[i];
        if (!is_earlier(s, i) || http_sites_held(s, i) != 0)
            continue;
        s->at[i] = NULL;
        atomic_store_explicit(&s->expelled,
                              atomic_load_explicit(&s->expelled, memory_order_relaxed) & ~(1u << i),
                              memory_order_relaxed);
        return site;
    }
    return NULL;
}

uint64_t http_sites_held(const struct http_sites *s, unsigned place)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < s->workers; i++)
        n += atomic_load_explicit(&s->holders[i].n[place], memory_order_acquire);
    return n;
}

unsigned http_sites_expel(struct http_sites *s, bool all)
{
    unsigned oldest = HTTP_PLACES, marks = 0, n = 0;
    for (unsigned i = 0; i < HTTP_PLACES; i++) {
        if (!is_earlier(s, i))
            continue;
        if (oldest == HTTP_PLACES || s->at[i]->version < s->at[oldest]->version)
            oldest = i;
        marks |= 1u << i;
        n++;
    }
    if (!all && n > 1) {
        marks = 1u << oldest;
        n = 1;
    }
    atomic_store_explicit(&s->expelled, marks, memory_order_relaxed);
    return n;
}
