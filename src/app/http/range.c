// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/range.h"

// Parses digits; larger numbers become UINT32_MAX. False: empty, or not only digits.
static bool number(struct http_text t, uint32_t *value)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] < '0' || t.s[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(t.s[i] - '0');
        n = n > UINT32_MAX ? UINT32_MAX : n;
    }
    *value = (uint32_t)n;
    return t.n != 0;
}

// Parses one range. False: malformed. *r has 0 bytes if the range is outside the file.
static bool range_spec(struct http_text t, uint32_t size, struct http_range *r)
{
    const uint8_t *dash = memchr(t.s, '-', t.n);
    if (dash == NULL)
        return false;
    struct http_text before = {t.s, (size_t)(dash - t.s)};
    struct http_text after = {dash + 1, t.n - before.n - 1};
    uint32_t first, last = UINT32_MAX;
    if (before.n == 0) {
        if (!number(after, &last))
            return false;
        r->bytes = last < size ? last : size;
        r->first = size - r->bytes;
        return true;
    }
    if (!number(before, &first) || (after.n != 0 && !number(after, &last)) || last < first)
        return false;
    r->first = first;
    r->bytes = first >= size ? 0 : (last < size - 1 ? last : size - 1) - first + 1;
    return true;
}

// The set after "bytes=". False: another unit.
static bool byte_set(struct http_text value, struct http_text *set)
{
    enum { UNIT_BYTES = sizeof("bytes=") - 1 };
    if (value.n < UNIT_BYTES || !http_text_is((struct http_text){value.s, UNIT_BYTES}, "bytes="))
        return false;
    *set = (struct http_text){value.s + UNIT_BYTES, value.n - UNIT_BYTES};
    return true;
}

// The number of ranges that overlap an earlier one. At most HTTP_RANGES_MAX squared comparisons.
static unsigned overlaps(const struct http_range *ranges, unsigned n)
{
    unsigned found = 0;
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = 0; k < i; k++) {
            const struct http_range *a = &ranges[i], *b = &ranges[k];
            if (a->first >= b->first + b->bytes || b->first >= a->first + a->bytes)
                continue;
            found++;
            break;
        }
    return found;
}

enum http_range_verdict http_ranges(struct http_text value, uint32_t size,
                                    struct http_range ranges[HTTP_RANGES_MAX], unsigned *n)
{
    struct http_text set, element;
    uint64_t sum = 0;
    unsigned specs = 0;
    *n = 0;
    if (!byte_set(value, &set))
        return HTTP_RANGE_WHOLE;
    while (http_list_next(&set, &element)) {
        struct http_range r;
        if (element.n == 0)
            continue;  // RFC 9110 section 5.6.1.2
        if (!range_spec(element, size, &r) || ++specs > HTTP_RANGES_MAX)
            return HTTP_RANGE_WHOLE;
        sum += r.bytes;
        if (r.bytes != 0)
            ranges[(*n)++] = r;
        else if (element.s[0] == '-' && size == 0)
            return HTTP_RANGE_WHOLE;
    }
    // RFC 9110 section 14.2: more than two overlapping ranges should be ignored.
    if (specs == 0 || sum > size || overlaps(ranges, *n) > 1)
        return HTTP_RANGE_WHOLE;
    return *n == 0 ? HTTP_RANGE_UNSATISFIED : HTTP_RANGE_PARTS;
}
