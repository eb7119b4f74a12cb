// SPDX-License-Identifier: BSD-3-Clause
// range.h: the Range field (RFC 9110 section 14). Pure.
#pragma once
#include "app/http/str.h"

enum { HTTP_RANGES_MAX = 16 };  // of one request; more are answered by the whole

struct http_range {
    uint32_t first, bytes;  // files have at most 2^30
};

enum http_range_verdict {
    HTTP_RANGE_WHOLE,       // the field is to be ignored
    HTTP_RANGE_PARTS,       // ranges[0..*n), n at least 1, each of 1 byte or more, in its order
    HTTP_RANGE_UNSATISFIED  // none lies in the file: 416
};

// http_ranges: what the field's value asks of a file of `size` bytes, at most 2^30. Ignored are:
// another unit, a malformed set, more than HTTP_RANGES_MAX ranges, ranges that together are longer
// than the file, more than two that overlap, and any range of an empty file by its end.
enum http_range_verdict http_ranges(struct http_text value, uint32_t size,
                                    struct http_range ranges[HTTP_RANGES_MAX], unsigned *n);
