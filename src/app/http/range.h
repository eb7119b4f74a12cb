// SPDX-License-Identifier: BSD-3-Clause
// range.h: parses the Range field (RFC 9110 section 14). No side effects.
#pragma once
#include "app/http/str.h"

enum { HTTP_RANGES_MAX = 16 };  // in one request; with more, the whole file is sent

struct http_range {
    uint32_t first, bytes;  // files have at most 2^30
};

enum http_range_verdict {
    HTTP_RANGE_WHOLE,  // ignore the field
    // ranges[0..*n), *n at least 1, each of at least 1 byte, in the order of the field
    HTTP_RANGE_PARTS,
    HTTP_RANGE_UNSATISFIED  // no range is inside the file: 416
};

// http_ranges: parses the value of the field for a file of `size` bytes, at most 2^30. The field is
// ignored if the unit is not bytes, the set is malformed, there are more than HTTP_RANGES_MAX
// ranges, their sum is longer than the file, more than two overlap, or a suffix range is applied to
// an empty file.
enum http_range_verdict http_ranges(struct http_text value, uint32_t size,
                                    struct http_range ranges[HTTP_RANGES_MAX], unsigned *n);
