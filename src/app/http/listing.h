// SPDX-License-Identifier: BSD-3-Clause
// listing.h: the page of a directory without an index.html.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_entry {
    char *name;  // malloc'd
    uint64_t bytes, modified_s;
    bool directory;
};

// http_entries: those of a directory that are served, in any order.
struct http_entries {
    struct http_entry *at;
    unsigned n, room;
};

// http_entries_add: a copy of the name. False: no memory. http_entries_free: also of zeros.
bool http_entries_add(struct http_entries *e, const char *name, bool directory, uint64_t bytes,
                      uint64_t modified_s);
void http_entries_free(struct http_entries *e);

// http_listing: an HTML page of the entries, sorted, of the directory that the client knows as
// `path`, which ends in a slash ("/": no way up). Every name is escaped as HTML, and encoded as a
// URL where it is one. malloc'd, *len bytes; NULL: no memory.
char *http_listing(const char *path, struct http_entries *e, size_t *len);
