// chars.h: the character classes of RFC 9110 section 5.6.2 and RFC 3986, one table.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum http_class {
    HTTP_TCHAR = 1 << 0,       // of a token: methods, field names
    HTTP_UNRESERVED = 1 << 1,  // RFC 3986 section 2.3
    HTTP_PCHAR = 1 << 2,       // may stand for itself in a path segment
    HTTP_HOST_CHAR = 1 << 3,   // in Host and authority, without user information
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
