// SPDX-License-Identifier: BSD-3-Clause
// chars.h: a table of the character classes of RFC 9110 section 5.6.2, RFC 3986 and the URL
// standard (url.spec.whatwg.org).
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum http_class {
    HTTP_TCHAR = 1 << 0,       // in tokens: methods, field names
    HTTP_UNRESERVED = 1 << 1,  // RFC 3986 section 2.3
    HTTP_PCHAR = 1 << 2,       // allowed without encoding in a path segment
    HTTP_HOST_CHAR = 1 << 3,   // in Host and in an authority without user information
    // Bytes that clients send without encoding. Browsers: all that are not in the path (query)
    // percent-encode set of the URL standard, and '^', which is in that set since 2024 only.
    // Browsers replace a backslash in a path by a slash. Other clients: bytes above 0x7f, which
    // nginx accepts too.
    HTTP_PATH_CHAR = 1 << 4,
    HTTP_QUERY_CHAR = 1 << 5,  // also '"', '<' and '>', which nginx accepts; not '#'
};

extern const uint8_t http_chars[256];

static inline bool http_is(uint8_t b, unsigned classes)
{
    return (http_chars[b] & classes) != 0;
}

// http_hex: the value of a hexadecimal digit, or -1.
static inline int http_hex(uint8_t b)
{
    if (b >= '0' && b <= '9')
        return b - '0';
    b |= 0x20;
    return b >= 'a' && b <= 'f' ? b - 'a' + 10 : -1;
}
