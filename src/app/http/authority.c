// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/authority.h"

#include "app/http/chars.h"

// The length of an address in brackets, brackets included; 0: malformed.
static size_t literal_bytes(struct http_text t)
{
    for (size_t i = 1; i < t.n; i++) {
        if (t.s[i] == ']')
            return i > 1 ? i + 1 : 0;
        if (!http_is(t.s[i], HTTP_HOST_CHAR) || t.s[i] == '[' || t.s[i] == '%')
            return 0;
    }
    return 0;
}

// The length of a name up to a colon or the end; SIZE_MAX: an invalid byte.
static size_t name_bytes(struct http_text t)
{
    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] == ':')
            return i;
        if (!http_is(t.s[i], HTTP_HOST_CHAR) || t.s[i] == '[' || t.s[i] == ']')
            return SIZE_MAX;
        if (t.s[i] == '%' && (t.n - i < 3 || http_hex(t.s[i + 1]) < 0 || http_hex(t.s[i + 2]) < 0))
            return SIZE_MAX;
    }
    return t.n;
}

bool http_authority(struct http_text t, struct http_text *host, struct http_text *port)
{
    bool literal = t.n != 0 && t.s[0] == '[';
    size_t n = literal ? literal_bytes(t) : name_bytes(t);
    if (n > t.n || (literal && n == 0) || (n < t.n && t.s[n] != ':'))
        return false;
    *host = (struct http_text){t.s, n};
    n += n < t.n;
    *port = (struct http_text){t.s + n, t.n - n};
    for (size_t i = 0; i < port->n; i++)
        if (port->s[i] < '0' || port->s[i] > '9')
            return false;
    return true;
}
