// SPDX-License-Identifier: BSD-3-Clause
// site.h: a snapshot of the files of a service and of all its other replies, made by
// http_site_load() (site_load.h) and read-only afterwards.
//
//   authority --names--> hosts[]: key --hash--> slots[] (at most half full) --> replies[] --> head,
//                                 redirected prefixes                                         image
//
// A site is complete in itself, so that a new one can replace it while connections still send data
// of the old one: http_sites has room for several. Workers count the connections that use each
// (sites.h).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/http/names.h"
#include "app/http/reply.h"
#include "app/http/request_parse.h"
#include "c10m/reload.h"

enum {
    HTTP_HOSTS_MAX = 65,           // the default host, and one for each `host` line
    HTTP_REPLY_NONE = UINT32_MAX,  // there is no such reply
    HTTP_SKIPPED_MAX = 256,        // skipped entries whose names are stored and shown
    HTTP_WARNINGS_MAX = 16,        // skipped entries that are logged
};

struct http_slot {
    uint32_t hash;   // low half of the hash of the key
    uint32_t reply;  // HTTP_REPLY_NONE: free
};

// http_prefix: a redirect of all paths with this prefix.
struct http_prefix {
    char *path;  // a key that ends with a slash; allocated by malloc()
    uint32_t bytes;
    uint32_t reply;
    bool rest;  // append the rest of the path to Location
};

struct http_host {
    struct http_slot *slots;
    uint32_t mask;   // slots - 1
    uint32_t fixed;  // index of the first reply of http_fixed[]
    bool served;     // the host has a root or redirects
    unsigned n_prefixes;
    struct http_prefix *prefixes;
};

// http_skipped: an entry below a root that is not served.
struct http_skipped {
    char *path;  // percent-encoded as a key, or the end of it that fits; allocated by malloc()
    const char *reason;
};

// http_changes: files that differ from those of the replaced site, by host and path.
struct http_changes {
    uint32_t added, changed, removed;
};

struct http_site {
    struct c10m_images *images;  // of the bodies
    struct http_reply *replies;  // those of http_fixed[] first
    uint32_t replies_n, replies_room;
    unsigned n_hosts;
    struct http_host hosts[HTTP_HOSTS_MAX];  // hosts[0]: the default host
    struct http_names names;
    uint32_t files;    // number of files and listings
    uint64_t bytes;    // their bytes
    uint32_t hidden;   // files that a redirect hides
    uint32_t skipped;  // number of skipped entries; the first HTTP_SKIPPED_MAX are in skips
    struct http_skipped skips[HTTP_SKIPPED_MAX];
    uint32_t version;     // 1: the first one (sites.h)
    uint64_t loaded_s;    // Unix time at which it was complete
    uint64_t loading_us;  // how long that took
    struct http_changes changes;
};

// http_site_free: frees all that the site refers to. Not the control thread of a running server,
// because it may take long.
void http_site_free(struct http_site *site);

// http_site_find: the reply of a host for a key (path.h), or HTTP_REPLY_NONE. Any thread. Reads
// about two cache lines.
uint32_t http_site_find(const struct http_site *site, const struct http_host *host, const void *key,
                        size_t key_bytes);

// http_site_moved: the first redirected prefix of a host with which the key begins; NULL: none. At
// most as many comparisons as the configuration has redirects.
const struct http_prefix *http_site_moved(const struct http_host *host, const char *key,
                                          size_t key_bytes);

// http_site_host: the host of a request, by the authority of its target, or else by Host (RFC 9112
// section 3.2.2).
const struct http_host *http_site_host(const struct http_site *site, const struct http_request *r,
                                       const uint8_t *head);

// http_site_fixed: the host's reply for a status that needs no file: 204 (OPTIONS), 400, 404, 405,
// 408, 411, 412, 413, 414, 417, 421, 431, 501, 503, 505. For other statuses, the reply for 400.
// http_site_fixed_post: the reply for 204 or 405 of a resource that allows POST only.
uint32_t http_site_fixed(const struct http_host *host, unsigned status);
uint32_t http_site_fixed_post(const struct http_host *host, unsigned status);

// http_fixed: these replies in the order of the table. status 0: the end.
struct http_fixed {
    unsigned status;
    const char *reason, *fields;
};
extern const struct http_fixed http_fixed[];
