// SPDX-License-Identifier: BSD-3-Clause
// str.h: ranges of bytes in a head, and the grammar that all fields share.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct http_text {
    const uint8_t *s;
    size_t n;
};

// http_text_is: whether t equals `lower`, ignoring case; `lower` must be in lower case.
static inline bool http_text_is(struct http_text t, const char *lower)
{
    size_t i = 0;
    for (; i < t.n && lower[i] != '\0'; i++) {
        uint8_t b = t.s[i];
        if ((b >= 'A' && b <= 'Z' ? b | 0x20 : b) != (uint8_t)lower[i])
            return false;
    }
    return i == t.n && lower[i] == '\0';
}

static inline bool http_is_blank(uint8_t b)
{
    return b == ' ' || b == '\t';
}

static inline struct http_text http_text_trim(struct http_text t)
{
    while (t.n > 0 && http_is_blank(t.s[0]))
        t.s++, t.n--;
    while (t.n > 0 && http_is_blank(t.s[t.n - 1]))
        t.n--;
    return t;
}

// http_text_cut: removes the part before `mark` (or everything) and the mark from *rest. *part is
// this part without blanks at its ends. False: *rest was empty.
static inline bool http_text_cut(struct http_text *rest, uint8_t mark, struct http_text *part)
{
    if (rest->n == 0)
        return false;
    const uint8_t *at = memchr(rest->s, mark, rest->n);
    size_t n = at == NULL ? rest->n : (size_t)(at - rest->s);
    *part = http_text_trim((struct http_text){rest->s, n});
    n += at != NULL;
    rest->s += n;
    rest->n -= n;
    return true;
}

// http_list_next: the next element of a comma-separated list (RFC 9110 section 5.6.1). False: there
// are no more.
static inline bool http_list_next(struct http_text *list, struct http_text *element)
{
    return http_text_cut(list, ',', element);
}
