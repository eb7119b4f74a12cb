// SPDX-License-Identifier: BSD-3-Clause
// names.h: which host a request is for (RFC 9110 section 7.2): names in one form, in a hash table
// that is made at init and read only afterwards.
//
// The form: lower case, without the port and without a dot at the end; an IPv6 address in brackets
// as inet_ntop writes it. *.example.org is kept as .example.org: it stands for all names that end
// so, the longest of several counts.
#pragma once
#include "app/http/str.h"

enum {
    HTTP_NAMES_MAX = 512,  // names of all hosts of a service
    HTTP_NAME_MAX = 253,   // bytes of one; longer ones are nobody's
    HTTP_NAME_SLOTS = 2 * HTTP_NAMES_MAX,
};

struct http_name {
    char text[HTTP_NAME_MAX + 1];
    uint8_t bytes;
    uint8_t host;
};

struct http_names {
    struct http_name *at;  // HTTP_NAMES_MAX of them, n in use; NULL: none was added
    unsigned n;
    unsigned dots_max;                // of those that begin with one
    uint16_t slots[HTTP_NAME_SLOTS];  // 1 + index; 0: free
};

// http_name_form: writes the form of an authority (authority.h) to to[0..HTTP_NAME_MAX] and returns
// its length; 0: it has none, for its length or its port.
size_t http_name_form(struct http_text authority, char *to);

// http_names_add: a name of a host (0..255), *.NAME as well. NULL, or why not. Control thread.
const char *http_names_add(struct http_names *names, struct http_text name, unsigned host);
void http_names_free(struct http_names *names);

// http_names_find: the host of an authority; 0, the default one, where nobody has it. Any thread.
// At most 1 + dots_max look-ups.
unsigned http_names_find(const struct http_names *names, struct http_text authority);
