// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/path.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "app/http/authority.h"
#include "app/http/chars.h"

static size_t encode(uint8_t b, char *to)
{
    static const char digits[] = "0123456789ABCDEF";
    if (http_is(b, HTTP_PCHAR)) {
        to[0] = (char)b;
        return 1;
    }
    to[0] = '%';
    to[1] = digits[b >> 4];
    to[2] = digits[b & 15];
    return 3;
}

// Skips "http://authority" of the absolute form. False: malformed.
static bool skip_authority(const uint8_t **p, const uint8_t *end)
{
    enum { SCHEME_BYTES = sizeof("http://") - 1 };
    if (end - *p < SCHEME_BYTES || strncasecmp((const char *)*p, "http://", SCHEME_BYTES) != 0)
        return false;
    const uint8_t *start = *p + SCHEME_BYTES;
    for (*p = start; *p < end && **p != '/' && **p != '?';)
        ++*p;
    struct http_text host, port;
    return http_authority((struct http_text){start, (size_t)(*p - start)}, &host, &port) &&
           host.n != 0;
}

static bool query_is_valid(const uint8_t *p, const uint8_t *end)
{
    for (; p < end; p++)
        if (!http_is(*p, HTTP_QUERY_CHAR))
            return false;
    return true;
}

// Ends the segment that starts at key[from]; removes "." and ".." (RFC 3986 section 5.2.4). Returns
// the new length of the key, which then ends after a slash; -1: ".." leaves the root.
static int end_segment(const char *key, int from, int len)
{
    if (len - from == 1 && key[from] == '.')
        return from;
    if (len - from != 2 || key[from] != '.' || key[from + 1] != '.')
        return len;
    if (from == 1)
        return -1;
    for (from--; key[from - 1] != '/'; from--)
        ;
    return from;
}

// Decodes one byte of a segment. NULL: malformed.
static const uint8_t *segment_byte(const uint8_t *p, const uint8_t *end, uint8_t *b)
{
    *b = *p;
    if (*p != '%')
        return http_is(*p, HTTP_PATH_CHAR) ? p + 1 : NULL;
    if (end - p < 3 || http_hex(p[1]) < 0 || http_hex(p[2]) < 0)
        return NULL;
    *b = (uint8_t)(http_hex(p[1]) << 4 | http_hex(p[2]));
    return *b == 0 ? NULL : p + 3;
}

int http_path(const uint8_t *target, size_t len, char *key)
{
    const uint8_t *p = target, *end = target + len;
    if (len == 0 || (*p != '/' && !skip_authority(&p, end)))
        return -1;
    int n = 1, from = 1;  // from: start of the present segment
    key[0] = '/';
    for (p += p < end && *p == '/'; p < end && *p != '?';) {
        uint8_t b;
        if (*p == '/') {
            int kept = end_segment(key, from, n);
            if (kept < 0)
                return -1;
            // After a removed segment the key already ends with a slash. Empty segments are left
            // out.
            if (kept == n && n != from)
                key[n++] = '/';
            else
                n = kept;
            from = n;
            p++;
            continue;
        }
        p = segment_byte(p, end, &b);
        if (p == NULL)
            return -1;
        n += (int)encode(b, key + n);
    }
    return query_is_valid(p, end) ? end_segment(key, from, n) : -1;
}

int http_path_encode(const char *name, char *key, size_t room)
{
    size_t n = 0;
    for (; *name != '\0'; name++) {
        if (room - n < 3)
            return -1;
        if (*name == '/')
            key[n++] = '/';
        else
            n += encode((uint8_t)*name, key + n);
    }
    return (int)n;
}

uint64_t http_path_hash(const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    uint64_t h = len * 0x9e3779b97f4a7c15, word;
    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&word, p, 8);
        h = (h ^ word) * 0x9fb21c651e98df25;
        h ^= h >> 32;
    }
    word = 0;
    for (size_t i = 0; i < len; i++)
        word = word << 8 | p[i];
    h = (h ^ word) * 0x9fb21c651e98df25;
    return h ^ h >> 32;
}
