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
    return s->version == 0 ? 0 : !http_sites_now(s);
}

void http_sites_show(struct http_sites *s, struct http_site *site)
{
    const unsigned place = http_sites_spare(s);
    if (s->at[place] != NULL)
        http_site_free(s->at[place]);
    free(s->at[place]);
    s->at[place] = site;
    s->version++;
    // pairs with the acquire in http_sites_now()
    atomic_store_explicit(&s->now, place, memory_order_release);
}

uint64_t http_sites_held(const struct http_sites *s, unsigned place)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < s->workers; i++)
        n += atomic_load_explicit(&s->holders[i].n[place], memory_order_acquire);
    return n;
}
