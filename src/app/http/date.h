// date.h: dates as HTTP writes them (IMF-fixdate, RFC 9110 section 5.6.7).
#pragma once
#include <stdint.h>

enum { HTTP_DATE_BYTES = 29 };  // "Sun, 06 Nov 1994 08:49:37 GMT"

// http_date: the text of `unix_s` (seconds since 1970, before year 10000), HTTP_DATE_BYTES long and
// not terminated. The text is this thread's and valid until its next call; it is made once a
// second.
const char *http_date(uint64_t unix_s);
