// SPDX-License-Identifier: BSD-3-Clause
// site_load.h: makes a site of the directories that the configuration names.
//
// Loaded are all regular files below a host's root. Names that begin with a dot are left out
// (".git", ".htpasswd"), but ".well-known" (RFC 8615). A symbolic link is followed when it stays
// below the root. What is no such file, or cannot be read or served, is skipped with a warning: a
// pipe, a socket, a device, a link that leads nowhere or out, what may not be read, lies too deep,
// has too long a name or more bytes than a file may. A directory with an index.html answers under
// its name with a slash, and redirects there without one; without an index.html it is a listing, if
// those are wanted. Where NAME.gz or NAME.br lies beside NAME and holds the same bytes (packed.h),
// clients that accept it get it as NAME, with Content-Encoding; it is a file of its own as well. A
// redirect of the configuration comes before the files that it covers.
#pragma once
#include "app/http/mime.h"
#include "app/http/rules.h"
#include "app/http/site.h"

enum {
    HTTP_DEPTH_MAX = 32,  // directories within each other
};

struct http_site_params {
    uint64_t files_max;
    uint64_t bytes_max;         // of all files together
    uint64_t now_s;             // unix time: nothing was modified later than it is served
    const char *root;           // of the default host; NULL: it has none
    const char *hosts;          // `host` lines; NULL: none
    const char *content_path;   // where POST is answered with its content; NULL: nowhere
    const char *received_path;  // where the request's field lines are answered; NULL: nowhere
    bool listing;
    const struct http_types *types;
    const struct http_rules *rules;  // NULL: none
};

// http_site_load: fills *site. Returns 0, or -1 with what is wrong, and where, in err. Either way
// http_site_free frees what is not the server's. Control thread; allocates, reads files.
int http_site_load(struct http_site *site, struct c10m_service *s,
                   const struct http_site_params *params, char *err, size_t err_bytes);
