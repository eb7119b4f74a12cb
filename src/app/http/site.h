// SPDX-License-Identifier: BSD-3-Clause
// site.h: the files of a service and all its other responses, as they are at one time: made by
// http_site_load (site_load.h), read only afterwards.
//
//   authority --names--> hosts[]: key --hash--> slots[] (at most half full) --> replies[] --> head,
//                                 prefixes that have moved                                    image
//
// A site is a whole of its own, so that another one can take its place while connections still send
// what this one holds: http_sites has room for two. A worker counts the connections that hold each
// (sites.h).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/http/names.h"
#include "app/http/reply.h"
#include "app/http/request_parse.h"

enum {
    HTTP_HOSTS_MAX = 65,           // the default one, and one for each `host` line
    HTTP_REPLY_NONE = UINT32_MAX,  // no such reply
    HTTP_SKIPPED_MAX = 256,        // entries whose names are kept and shown
    HTTP_WARNINGS_MAX = 16,        // entries that have a line in the log
};

struct http_slot {
    uint32_t hash;   // low half of the key's
    uint32_t reply;  // HTTP_REPLY_NONE: free
};

// http_prefix: all paths that begin so have moved.
struct http_prefix {
    char *path;  // a key that ends in a slash; malloc'd
    uint32_t bytes;
    uint32_t reply;
    bool rest;  // what stands behind goes behind the Location
};

struct http_host {
    struct http_slot *slots;
    uint32_t mask;   // slots - 1
    uint32_t fixed;  // which reply is the first of those for a status
    bool served;     // it has a root, or redirects
    unsigned n_prefixes;
    struct http_prefix *prefixes;
};

// http_skipped: an entry below a root that is not served.
struct http_skipped {
    char *path;  // percent-encoded as a key, or what fits of its end; malloc'd
    const char *reason;
};

struct http_site {
    struct http_reply *replies;  // those for a status first
    uint32_t replies_n, replies_room;
    unsigned n_hosts;
    struct http_host hosts[HTTP_HOSTS_MAX];  // 0: for all that no name is for
    struct http_names names;
    bool suffixes;     // redirects add something of the request to their Location
    uint32_t files;    // and listings, each once
    uint64_t bytes;    // of them
    uint32_t hidden;   // files that a redirect covers
    uint32_t skipped;  // entries; the first HTTP_SKIPPED_MAX of them:
    struct http_skipped skips[HTTP_SKIPPED_MAX];
};

void http_site_free(struct http_site *site);

// http_site_find: the reply of a host for a key (path.h), or HTTP_REPLY_NONE. Any thread; about two
// lines of memory.
uint32_t http_site_find(const struct http_site *site, const struct http_host *host, const void *key,
                        size_t key_bytes);

// http_site_moved: the first prefix of a host that the key begins with; NULL: none. At most as many
// comparisons as the configuration has redirects.
const struct http_prefix *http_site_moved(const struct http_host *host, const char *key,
                                          size_t key_bytes);

// http_site_host: whose a request is: of the authority of its target, or else of Host (RFC 9112
// section 3.2.2).
const struct http_host *http_site_host(const struct http_site *site, const struct http_request *r,
                                       const uint8_t *head);

// http_site_fixed: the host's reply for a status that needs no file: 204 (OPTIONS), 400, 404, 405,
// 408, 411, 412, 413, 414, 417, 421, 431, 501, 503, 505. For others: 400's. http_site_fixed_post:
// 204 or 405 of a resource that takes POST only.
uint32_t http_site_fixed(const struct http_host *host, unsigned status);
uint32_t http_site_fixed_post(const struct http_host *host, unsigned status);

// http_fixed: those replies, in their order. status 0: the end.
struct http_fixed {
    unsigned status;
    const char *reason, *fields;
};
extern const struct http_fixed http_fixed[];
