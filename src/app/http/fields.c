// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/fields.h"

#include "app/http/date.h"

struct http_text http_fields_of(const struct http_request *r, const uint8_t *head)
{
    enum { VERSION_BYTES = sizeof(" HTTP/1.1\r\n") - 1 };
    size_t off = (size_t)r->target_off + r->target_bytes + VERSION_BYTES;
    return (struct http_text){head + off, r->at - off};
}

bool http_field_next(struct http_text *fields, struct http_text *name, struct http_text *value)
{
    if (fields->n <= 2)  // the empty line at the end of the head
        return false;
    const uint8_t *end = memchr(fields->s, '\r', fields->n);
    size_t n = (size_t)(end - fields->s);
    const uint8_t *colon = memchr(fields->s, ':', n);
    *name = (struct http_text){fields->s, (size_t)(colon - fields->s)};
    *value = http_text_trim((struct http_text){colon + 1, n - name->n - 1});
    fields->s += n + 2;
    fields->n -= n + 2;
    return true;
}

bool http_field_find(struct http_text fields, const char *lower, struct http_text *value)
{
    struct http_text name;
    while (http_field_next(&fields, &name, value))
        if (http_text_is(name, lower))
            return true;
    return false;
}

uint64_t http_content_length(struct http_text fields)
{
    struct http_text value = {NULL, 0};
    uint64_t length = 0;
    http_field_find(fields, "content-length", &value);
    for (size_t i = 0; i < value.n; i++) {
        if (length > (UINT64_MAX - 9) / 10)
            return UINT64_MAX;
        length = length * 10 + (uint64_t)(value.s[i] - '0');
    }
    return length;
}

bool http_expects_continue(struct http_text fields)
{
    struct http_text name, value, member;
    bool asked = false;
    while (http_field_next(&fields, &name, &value)) {
        if (!http_text_is(name, "expect"))
            continue;
        while (http_list_next(&value, &member)) {
            if (!http_text_is(member, "100-continue"))
                return false;
            asked = true;
        }
    }
    return asked;
}

// Converts a weight such as "q=0.5" to thousandths; -1: malformed.
static int quality(struct http_text t)
{
    static const int places[] = {0, 0, 100, 10, 1};
    if (t.n < 3 || t.n > 7 || (t.s[0] | 0x20) != 'q' || t.s[1] != '=' || (t.s[2] & 0xfe) != '0' ||
        (t.n > 3 && t.s[3] != '.'))
        return -1;
    int q = (t.s[2] - '0') * 1000;
    for (size_t i = 4; i < t.n; i++) {
        if (t.s[i] < '0' || t.s[i] > '9')
            return -1;
        q += (t.s[i] - '0') * places[i - 2];
    }
    return q > 1000 ? -1 : q;
}

enum http_packed http_prefers(struct http_text fields, unsigned offered)
{
    struct http_text name, value, member, coding, weight;
    int gzip = -1, br = -1, identity = -1, any = -1;  // -1: not in the field
    while (http_field_next(&fields, &name, &value)) {
        if (!http_text_is(name, "accept-encoding"))
            continue;
        while (http_list_next(&value, &member)) {
            if (!http_text_cut(&member, ';', &coding))
                continue;
            int q = http_text_cut(&member, ';', &weight) ? quality(weight) : 1000;
            if (q < 0)
                continue;
            if (http_text_is(coding, "gzip") || http_text_is(coding, "x-gzip"))
                gzip = q;
            else if (http_text_is(coding, "br"))
                br = q;
            else if (http_text_is(coding, "identity"))
                identity = q;
            else if (http_text_is(coding, "*"))
                any = q;
        }
    }
    gzip = !(offered & HTTP_GZIP) ? 0 : gzip < 0 ? any : gzip;
    br = !(offered & HTTP_BR) ? 0 : br < 0 ? any : br;
    if (br > 0 && br >= gzip && br >= identity)
        return HTTP_BR;
    return gzip > 0 && gzip >= identity ? HTTP_GZIP : HTTP_AS_IS;
}

// Whether a list of entity tags contains etag, or is "*". The weak comparison accepts tags with W/.
// Tags may contain commas, so the list is parsed from quote to quote.
static bool lists_tag(struct http_text list, struct http_text etag, bool weak)
{
    if (http_text_is(list, "*"))
        return true;
    while (list.n != 0) {
        bool is_weak = list.n > 2 && list.s[0] == 'W' && list.s[1] == '/';
        size_t skip = is_weak ? 2 : 0;
        if (list.s[skip] != '"') {
            if (is_weak || (list.s[0] != ',' && !http_is_blank(list.s[0])))
                return false;  // malformed: ignore the rest
            list.s++, list.n--;
            continue;
        }
        const uint8_t *tag = list.s + skip;
        const uint8_t *end = memchr(tag + 1, '"', list.n - skip - 1);
        if (end == NULL)
            return false;
        size_t n = (size_t)(end - tag) + 1;
        if ((weak || !is_weak) && n == etag.n && memcmp(tag, etag.s, n) == 0)
            return true;
        list.s += skip + n;
        list.n -= skip + n;
    }
    return false;
}

struct conditions {
    bool match, match_given, none_match, none_match_given;
    struct http_text modified, unmodified;  // n 0: not in the request
    // number of fields; the date is ignored if there are two
    unsigned modified_n, unmodified_n;
};

static void read_conditions(struct http_text fields, struct http_text etag, struct conditions *c)
{
    struct http_text name, value;
    *c = (struct conditions){0};
    while (http_field_next(&fields, &name, &value)) {
        if (http_text_is(name, "if-match")) {
            c->match_given = true;
            c->match |= lists_tag(value, etag, false);
        } else if (http_text_is(name, "if-none-match")) {
            c->none_match_given = true;
            c->none_match |= lists_tag(value, etag, true);
        } else if (http_text_is(name, "if-modified-since")) {
            c->modified = value;
            c->modified_n++;
        } else if (http_text_is(name, "if-unmodified-since")) {
            c->unmodified = value;
            c->unmodified_n++;
        }
    }
}

enum http_condition http_conditions(struct http_text fields, const struct http_representation *of,
                                    uint64_t now_s)
{
    struct conditions c;
    uint64_t date_s;
    read_conditions(fields, of->etag, &c);
    if (c.match_given) {
        if (!c.match)
            return HTTP_FAILED;
    } else if (c.unmodified_n == 1 &&
               http_date_parse(c.unmodified.s, c.unmodified.n, now_s, &date_s) &&
               of->modified_s > date_s) {
        return HTTP_FAILED;
    }
    if (c.none_match_given)
        return c.none_match ? HTTP_UNCHANGED : HTTP_CONDITIONS_HOLD;
    if (c.modified_n == 1 && http_date_parse(c.modified.s, c.modified.n, now_s, &date_s) &&
        of->modified_s <= date_s)
        return HTTP_UNCHANGED;
    return HTTP_CONDITIONS_HOLD;
}

bool http_range_holds(struct http_text fields, const struct http_representation *of, uint64_t now_s)
{
    struct http_text value;
    uint64_t date_s;
    if (!http_field_find(fields, "if-range", &value))
        return true;
    if (value.n != 0 && value.s[0] == '"')
        return value.n == of->etag.n && memcmp(value.s, of->etag.s, value.n) == 0;
    return http_date_parse(value.s, value.n, now_s, &date_s) && date_s == of->modified_s &&
           of->modified_s + 1 < now_s;
}
