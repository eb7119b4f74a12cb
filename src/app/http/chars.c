#include "app/http/chars.h"

enum {
    T = HTTP_TCHAR,
    H = HTTP_HOST_CHAR,
    SUB = HTTP_PCHAR | HTTP_HOST_CHAR,               // sub-delims that are no tchar
    ALL = HTTP_TCHAR | HTTP_PCHAR | HTTP_HOST_CHAR,  // sub-delims that are
    U = ALL | HTTP_UNRESERVED,
};

const uint8_t http_chars[256] = {
    ['0' ... '9'] = U, ['A' ... 'Z'] = U, ['a' ... 'z'] = U, ['-'] = U,   ['.'] = U,
    ['_'] = U,         ['~'] = U,         ['!'] = ALL,       ['$'] = ALL, ['&'] = ALL,
    ['\''] = ALL,      ['*'] = ALL,       ['+'] = ALL,       ['('] = SUB, [')'] = SUB,
    [','] = SUB,       [';'] = SUB,       ['='] = SUB,       [':'] = SUB, ['@'] = HTTP_PCHAR,
    ['['] = H,         [']'] = H,         ['%'] = T | H,     ['#'] = T,   ['^'] = T,
    ['`'] = T,         ['|'] = T,
};
