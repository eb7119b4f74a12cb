// SPDX-License-Identifier: BSD-3-Clause
// listing.h: the HTML page of a directory without an index.html.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_entry {
    char *name;  // malloc'd
    uint64_t bytes, modified_s;
    bool directory;
};

// http_entries: the served entries of a directory, in any order.
struct http_entries {
    struct http_entry *at;
    unsigned n, room;
};

// http_entries_add: adds an entry with a copy of the name. False: no memory. http_entries_free:
// frees all entries; *e may be all zero.
bool http_entries_add(struct http_entries *e, const char *name, bool directory, uint64_t bytes,
                      uint64_t modified_s);
void http_entries_free(struct http_entries *e);

// http_listing: an HTML page of the entries, sorted. path: the URL path of the directory, which
// ends with a slash; a page for "/" has no link to a parent. Names are escaped for HTML and
// percent-encoded in links. Returns *len bytes allocated by malloc(); NULL: no memory.
char *http_listing(const char *path, struct http_entries *e, size_t *len);
