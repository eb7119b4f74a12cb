// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/site.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app/http/fields.h"
#include "app/http/path.h"

#define ALLOW      "Allow: GET, HEAD, OPTIONS\r\n"
#define ALLOW_POST "Allow: POST, OPTIONS\r\n"

const struct http_fixed http_fixed[] = {
    {400, "Bad Request", ""},
    {204, "No Content", ALLOW},
    {204, "No Content", ALLOW_POST},
    {404, "Not Found", ""},
    {405, "Method Not Allowed", ALLOW},
    {405, "Method Not Allowed", ALLOW_POST},
    {408, "Request Timeout", ""},
    {411, "Length Required", ""},
    {412, "Precondition Failed", ""},
    {413, "Content Too Large", ""},
    {414, "URI Too Long", ""},
    {417, "Expectation Failed", ""},
    {421, "Misdirected Request", ""},
    {431, "Request Header Fields Too Large", ""},
    {501, "Not Implemented", ""},
    {503, "Service Unavailable", "Retry-After: 1\r\n"},
    {505, "HTTP Version Not Supported", ""},
    {0, NULL, NULL},
};

void http_site_free(struct http_site *site)
{
    for (uint32_t i = 0; i < site->replies_n; i++)
        free((void *)(uintptr_t)site->replies[i].head);
    for (uint32_t i = 0; i < site->skipped && i < HTTP_SKIPPED_MAX; i++)
        free(site->skips[i].path);
    for (unsigned i = 0; i < site->n_hosts; i++) {
        for (unsigned k = 0; k < site->hosts[i].n_prefixes; k++)
            free(site->hosts[i].prefixes[k].path);
        free(site->hosts[i].prefixes);
        free(site->hosts[i].slots);
    }
    http_names_free(&site->names);
    free(site->replies);
    c10m_images_free(site->images);
    *site = (struct http_site){0};
}

uint32_t http_site_find(const struct http_site *site, const struct http_host *host, const void *key,
                        size_t key_bytes)
{
    uint32_t hash = (uint32_t)http_path_hash(key, key_bytes);
    for (uint32_t at = hash;; at++) {
        struct http_slot slot = host->slots[at & host->mask];
        if (slot.reply == HTTP_REPLY_NONE)
            return HTTP_REPLY_NONE;
        const struct http_reply *r = &site->replies[slot.reply];
        if (slot.hash == hash && r->key_bytes == key_bytes &&
            memcmp(r->head + r->head_bytes, key, key_bytes) == 0)
            return slot.reply;
    }
}

const struct http_prefix *http_site_moved(const struct http_host *host, const char *key,
                                          size_t key_bytes)
{
    for (unsigned i = 0; i < host->n_prefixes; i++) {
        const struct http_prefix *p = &host->prefixes[i];
        if (key_bytes >= p->bytes && memcmp(key, p->path, p->bytes) == 0)
            return p;
    }
    return NULL;
}

const struct http_host *http_site_host(const struct http_site *site, const struct http_request *r,
                                       const uint8_t *head)
{
    enum { SCHEME_BYTES = sizeof("http://") - 1 };
    const uint8_t *target = head + r->target_off;
    struct http_text authority = {NULL, 0};
    if (r->target_bytes > SCHEME_BYTES &&
        strncasecmp((const char *)target, "http://", SCHEME_BYTES) == 0) {
        authority.s = target + SCHEME_BYTES;
        while (authority.n < (size_t)r->target_bytes - SCHEME_BYTES &&
               authority.s[authority.n] != '/' && authority.s[authority.n] != '?')
            authority.n++;
    } else if (r->flags & HTTP_HOST) {
        http_field_find(http_fields_of(r, head), "host", &authority);
    }
    return &site->hosts[authority.n == 0 ? 0 : http_names_find(&site->names, authority)];
}

uint32_t http_site_fixed(const struct http_host *host, unsigned status)
{
    for (uint32_t i = 0; http_fixed[i].status != 0; i++)
        if (http_fixed[i].status == status)
            return host->fixed + i;
    return host->fixed;
}

uint32_t http_site_fixed_post(const struct http_host *host, unsigned status)
{
    return http_site_fixed(host, status) + 1;  // its entry follows the one for GET
}
