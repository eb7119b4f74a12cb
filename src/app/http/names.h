// SPDX-License-Identifier: BSD-3-Clause
// names.h: finds the host of a request (RFC 9110 section 7.2) in a hash table of normalized names,
// which is filled at init and read-only afterwards.
//
// A normalized name is in lower case, without port and without a trailing dot; an IPv6 address is
// in brackets and in the form of inet_ntop(). *.example.org is stored as .example.org and matches
// all names with this suffix; if several match, the longest one is used.
#pragma once
#include "app/http/str.h"

enum {
    HTTP_NAMES_MAX = 512,  // names of all hosts of a service
    HTTP_NAME_MAX = 253,   // bytes of one; longer ones match no host
    HTTP_NAME_SLOTS = 2 * HTTP_NAMES_MAX,
};

struct http_name {
    char text[HTTP_NAME_MAX + 1];
    uint8_t bytes;
    uint8_t host;
};

struct http_names {
    struct http_name *at;  // HTTP_NAMES_MAX entries, n in use; NULL: none was added
    unsigned n;
    unsigned dots_max;                // most dots in a name that begins with a dot
    uint16_t slots[HTTP_NAME_SLOTS];  // 1 + index in `at`; 0: free
};

// http_name_form: writes the normalized name of an authority (authority.h) to to[0..HTTP_NAME_MAX]
// and returns its length; 0: the authority is malformed or too long.
size_t http_name_form(struct http_text authority, char *to);

// http_names_add: adds a name, or *.NAME, of a host (0..255). Returns NULL, or the reason of the
// failure. Control thread.
const char *http_names_add(struct http_names *names, struct http_text name, unsigned host);
void http_names_free(struct http_names *names);

// http_names_find: the host of an authority; 0, the default host, if no name matches. Any thread.
// At most 1 + dots_max look-ups.
unsigned http_names_find(const struct http_names *names, struct http_text authority);
