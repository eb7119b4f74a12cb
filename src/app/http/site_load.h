// SPDX-License-Identifier: BSD-3-Clause
// site_load.h: makes a site from the directories in the configuration.
//
// All regular files below the root of a host are loaded. Names that begin with a dot (".git",
// ".htpasswd") are left out, except ".well-known" (RFC 8615). A symbolic link is followed if its
// target is below the root. Other entries are skipped with a warning: pipes, sockets, devices,
// links whose target is missing or outside, and files that cannot be read, change while they are
// read, are nested too deep, have a too long name or too many bytes. A directory with an index.html
// is served under its name with a slash; a request without the slash is redirected there. A
// directory without an index.html is served as a listing if `listing` is on. If NAME.gz or NAME.br
// is in the directory of NAME and has the same content (packed.h), clients that accept the coding
// get it for NAME, with Content-Encoding; it is also served under its own name. A redirect of the
// configuration has priority over the files that it covers.
#pragma once
#include "app/http/mime.h"
#include "app/http/rules.h"
#include "app/http/site.h"

enum {
    HTTP_DEPTH_MAX = 32,  // nesting of directories
};

struct http_site_params {
    uint64_t files_max;
    uint64_t bytes_max;        // sum of all files
    uint64_t now_s;            // Unix time; later modification times are replaced by it
    const char *root;          // root of the default host; NULL: none
    const char *hosts;         // `host` lines; NULL: none
    const char *content_path;  // path where POST is answered with its content; NULL: none
    // path where GET is answered with the field lines of the request; NULL: none
    const char *received_path;
    bool listing;
    const struct http_types *types;
    const struct http_rules *rules;  // NULL: none
    // The site that this one replaces; NULL: none, the server starts. A replaced site does not lose
    // files because of an error: what cannot be read, unless it was skipped before for the same
    // reason, makes the load fail.
    const struct http_site *before;
};

// http_site_load: fills *site. Returns 0; -1 with the error and its place in err; or
// HTTP_LOAD_NO_MEMORY: the same, because of the machine's memory. In all cases call
// http_site_free(). Control thread, or a helper thread (c10m/reload.h). Allocates memory and reads
// files. A file that changes while it is read is read again, HTTP_READS_MAX times in all.
enum { HTTP_LOAD_NO_MEMORY = -2, HTTP_READS_MAX = 3 };
int http_site_load(struct http_site *site, struct c10m_service *s,
                   const struct http_site_params *params, char *err, size_t err_bytes);
