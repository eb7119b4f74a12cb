// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/names.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>

#include "app/http/authority.h"
#include "app/http/path.h"

// Writes an IPv6 address in the form of RFC 5952, in brackets. Returns its length; 0: malformed.
static size_t literal_form(struct http_text host, char *to)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr a;
    if (host.n - 2 >= sizeof(text))
        return 0;
    memcpy(text, host.s + 1, host.n - 2);
    text[host.n - 2] = '\0';
    if (inet_pton(AF_INET6, text, &a) != 1 ||
        inet_ntop(AF_INET6, &a, to + 1, INET6_ADDRSTRLEN) == NULL)
        return 0;
    const size_t n = strlen(to + 1);
    to[0] = '[';
    to[n + 1] = ']';
    return n + 2;
}

size_t http_name_form(struct http_text authority, char *to)
{
    struct http_text host, port;
    if (!http_authority(authority, &host, &port))
        return 0;
    host.n -= host.n != 0 && host.s[host.n - 1] == '.';
    if (host.n > HTTP_NAME_MAX)
        return 0;
    if (host.n > 2 && host.s[0] == '[')
        return literal_form(host, to);
    for (size_t i = 0; i < host.n; i++) {
        const uint8_t b = host.s[i];
        to[i] = (char)(b >= 'A' && b <= 'Z' ? b | 0x20 : b);
    }
    return host.n;
}

// The slot of a name, or the free slot for it.
static const uint16_t *slot_of(const struct http_names *names, const char *text, size_t n)
{
    unsigned at = (unsigned)http_path_hash(text, n);
    for (;; at++) {
        const uint16_t *slot = &names->slots[at % HTTP_NAME_SLOTS];
        if (*slot == 0)
            return slot;
        const struct http_name *name = &names->at[*slot - 1];
        if (name->bytes == n && memcmp(name->text, text, n) == 0)
            return slot;
    }
}

const char *http_names_add(struct http_names *names, struct http_text name, unsigned host)
{
    const bool all = name.n > 2 && name.s[0] == '*' && name.s[1] == '.';
    struct http_name made = {.host = (uint8_t)host};
    unsigned dots = 0;
    if (names->at == NULL)
        names->at = calloc(HTTP_NAMES_MAX, sizeof(*names->at));
    if (names->at == NULL)
        return "no memory";
    if (names->n == HTTP_NAMES_MAX)
        return "more than 512 names";
    made.bytes = (uint8_t)http_name_form((struct http_text){name.s + all, name.n - all}, made.text);
    if (made.bytes == 0)
        return "expected a host's name";
    for (unsigned i = 0; i < made.bytes; i++)
        dots += made.text[i] == '.';
    uint16_t *slot = (uint16_t *)(uintptr_t)slot_of(names, made.text, made.bytes);
    if (*slot != 0)
        return "given twice";
    if (all && dots > names->dots_max)
        names->dots_max = dots;
    names->at[names->n++] = made;
    *slot = (uint16_t)names->n;
    return NULL;
}
static_assert(HTTP_NAMES_MAX == 512, "message above");

void http_names_free(struct http_names *names)
{
    free(names->at);
    *names = (struct http_names){0};
}

unsigned http_names_find(const struct http_names *names, struct http_text authority)
{
    char text[HTTP_NAME_MAX + 1];
    const size_t n = http_name_form(authority, text);
    const uint16_t *slot = slot_of(names, text, n);
    unsigned host = *slot != 0 && n != 0 ? names->at[*slot - 1].host : 0, dots = 0;
    for (size_t i = n; *slot == 0 && i-- > 1 && dots < names->dots_max;) {
        if (text[i] != '.')
            continue;
        dots++;
        const uint16_t *all = slot_of(names, text + i, n - i);
        if (*all != 0)
            host = names->at[*all - 1].host;
    }
    return host;
}
