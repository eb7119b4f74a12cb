// SPDX-License-Identifier: BSD-3-Clause
// date.h: dates in the format of HTTP (IMF-fixdate, RFC 9110 section 5.6.7).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_DATE_BYTES = 29 };  // "Sun, 06 Nov 1994 08:49:37 GMT"

// http_date: the text of `unix_s` (seconds since 1970, before year 10000), HTTP_DATE_BYTES long and
// not terminated. It is in a buffer of this thread, valid until the thread's next call, and is
// formatted only when unix_s changes.
const char *http_date(uint64_t unix_s);

// http_date_format: writes the same text to to[0..HTTP_DATE_BYTES).
void http_date_format(uint64_t unix_s, char *to);

// http_date_parse: parses n bytes in any of the three formats (IMF-fixdate, RFC 850, asctime). A
// two-digit year of RFC 850 is at most 50 years after now_s. False: the format is another one, or
// the date is before 1970. The day of the week is not compared with the date.
bool http_date_parse(const void *text, size_t n, uint64_t now_s, uint64_t *unix_s);
