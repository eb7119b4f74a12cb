// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/chars.h"

enum {
    T = HTTP_TCHAR,
    H = HTTP_HOST_CHAR,
    Q = HTTP_QUERY_CHAR,
    RAW = HTTP_PATH_CHAR | HTTP_QUERY_CHAR,  // sent unencoded by clients, not pchar
    P = HTTP_PCHAR | RAW,
    SUB = P | HTTP_HOST_CHAR,  // sub-delims that are not tchar
    ALL = SUB | HTTP_TCHAR,    // sub-delims that are tchar
    U = ALL | HTTP_UNRESERVED,
};

const uint8_t http_chars[256] = {
    ['0' ... '9'] = U, ['A' ... 'Z'] = U, ['a' ... 'z'] = U, ['-'] = U,
    ['.'] = U,         ['_'] = U,         ['~'] = U,         ['!'] = ALL,
    ['$'] = ALL,       ['&'] = ALL,       ['\''] = ALL,      ['*'] = ALL,
    ['+'] = ALL,       ['('] = SUB,       [')'] = SUB,       [','] = SUB,
    [';'] = SUB,       ['='] = SUB,       [':'] = SUB,       ['@'] = P,
    ['['] = H | RAW,   [']'] = H | RAW,   ['%'] = T | H | Q, ['#'] = T,
    ['^'] = T | RAW,   ['`'] = T | Q,     ['|'] = T | RAW,   ['/'] = Q,
    ['?'] = Q,         ['"'] = Q,         ['<'] = Q,         ['>'] = Q,
    ['\\'] = Q,        ['{'] = Q,         ['}'] = Q,         [0x80 ... 0xff] = RAW,
};
