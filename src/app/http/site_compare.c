// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/site_compare.h"

#include <stdio.h>
#include <string.h>

static const char *key_of(const struct http_reply *r)
{
    return r->head + r->head_bytes;
}

// The file in a slot of the host, or NULL. Listings, and the second names of indexes, end with a
// slash.
static const struct http_reply *file_in(const struct http_site *site, const struct http_host *host,
                                        uint32_t slot)
{
    const uint32_t ix = host->slots[slot].reply;
    const struct http_reply *r = ix == HTTP_REPLY_NONE ? NULL : &site->replies[ix];
    if (r == NULL || r->special != HTTP_FILE || key_of(r)[r->key_bytes - 1] == '/')
        return NULL;
    return r;
}

// The file of the host with the key of r, or NULL.
static const struct http_reply *same_path(const struct http_site *site,
                                          const struct http_host *host, const struct http_reply *r)
{
    const uint32_t ix = http_site_find(site, host, key_of(r), r->key_bytes);
    if (ix == HTTP_REPLY_NONE || site->replies[ix].special != HTTP_FILE)
        return NULL;
    return &site->replies[ix];
}

// The heads have the entity tag, which is made from the content, and the time.
static bool is_same(const struct http_reply *a, const struct http_reply *b)
{
    return a->body_bytes == b->body_bytes && a->head_bytes == b->head_bytes &&
           memcmp(a->head, b->head, a->head_bytes) == 0;
}

void http_site_compare(const struct http_site *from, struct http_site *to)
{
    struct http_changes *changes = &to->changes;
    *changes = (struct http_changes){0};
    for (unsigned h = 0; h < to->n_hosts && h < from->n_hosts; h++) {
        const struct http_host *old = &from->hosts[h], *new = &to->hosts[h];
        for (uint32_t i = 0; i <= new->mask; i++) {
            const struct http_reply *r = file_in(to, new, i), *before;
            if (r == NULL)
                continue;
            before = same_path(from, old, r);
            changes->added += before == NULL;
            changes->changed += before != NULL && !is_same(before, r);
        }
        for (uint32_t i = 0; i <= old->mask; i++) {
            const struct http_reply *r = file_in(from, old, i);
            changes->removed += r != NULL && same_path(to, new, r) == NULL;
        }
    }
}

// "1,204,000"
static const char *grouped(char out[16], uint32_t n)
{
    if (n >= 1000000)
        snprintf(out, 16, "%u,%03u,%03u", n / 1000000, n / 1000 % 1000, n % 1000);
    else if (n >= 1000)
        snprintf(out, 16, "%u,%03u", n / 1000, n % 1000);
    else
        snprintf(out, 16, "%u", n);
    return out;
}

void http_site_say(const struct http_site *site, char *text, size_t bytes)
{
    const struct http_changes *changes = &site->changes;
    char files[16], added[16], changed[16], removed[16];
    const bool small = site->bytes < 1 << 20;
    const uint64_t unit = small ? 1 << 10 : 1 << 20;
    snprintf(text, bytes, "%s files (%s new, %s changed, %s removed), %llu %s, in %.2f s",
             grouped(files, site->files), grouped(added, changes->added),
             grouped(changed, changes->changed), grouped(removed, changes->removed),
             (unsigned long long)((site->bytes + unit / 2) / unit), small ? "KiB" : "MiB",
             (double)site->loading_us / 1e6);
}
