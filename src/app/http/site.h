// site.h: the files of a service and all its other responses, loaded at init, read only afterwards.
//
//   key --hash--> slots[] (open addressing, at most half full) --> replies[] --> head, image
//
// Loaded are all regular files below the root. Names that begin with a dot are left out (".git",
// ".htpasswd"), but ".well-known" (RFC 8615). A symbolic link is followed when it stays below the
// root. A directory with an index.html answers under its name with a slash, and redirects there
// without one. Where NAME.gz lies beside NAME and holds the same bytes (its trailer's length and
// CRC-32 agree), clients that accept gzip get it as NAME, with Content-Encoding; it is a file of
// its own as well.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "app/http/reply.h"

enum {
    HTTP_DEPTH_MAX = 32,           // directories within each other
    HTTP_REPLY_NONE = UINT32_MAX,  // no such reply
};

struct http_slot {
    uint32_t hash;   // low half of the key's
    uint32_t reply;  // HTTP_REPLY_NONE: free
};

struct http_site {
    struct http_reply *replies;  // the fixed ones first
    struct http_slot *slots;
    uint32_t mask;  // slots - 1
    uint32_t replies_n, replies_room;
};

struct http_site_limits {
    uint64_t files_max;
    uint64_t bytes_max;         // of all files together
    uint64_t now_s;             // unix time: nothing was modified later than it is served
    const char *content_path;   // where POST is answered with its content; NULL: nowhere
    const char *received_path;  // where the request's field lines are answered; NULL: nowhere
};

// http_site_load: fills *site with the directory `root` and the fixed replies. Returns 0, or -1
// with what is wrong, and where, in err. Either way http_site_free frees what is not the server's.
// Control thread; allocates, reads files.
int http_site_load(struct http_site *site, struct c10m_service *s, const char *root,
                   const struct http_site_limits *limits, char *err, size_t err_bytes);
void http_site_free(struct http_site *site);

// http_site_find: the reply for a key (path.h), or HTTP_REPLY_NONE. Any thread; about two lines of
// memory.
uint32_t http_site_find(const struct http_site *site, const void *key, size_t key_bytes);

// http_site_fixed: the reply for a status that needs no file: 204 (OPTIONS), 400, 404, 405, 408,
// 411, 412, 413, 414, 417, 431, 501, 503, 505. For others: 400's. http_site_fixed_post: 204 or 405
// of a resource that takes POST only.
uint32_t http_site_fixed(unsigned status);
uint32_t http_site_fixed_post(unsigned status);
