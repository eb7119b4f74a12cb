// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/request_parse.h"

#include <string.h>

#include "app/http/authority.h"
#include "app/http/chars.h"
#include "app/http/scan.h"
#include "app/http/str.h"

// Whether t is a plain host name without a port, which is the common value of Host. Branch-free.
static bool is_plain(struct http_text t)
{
    unsigned all = HTTP_UNRESERVED;
#pragma GCC unroll 8
    for (size_t i = 0; i < t.n; i++)
        all &= http_chars[t.s[i]];
    return all != 0;
}

static int field_host(struct http_request *r, struct http_text value)
{
    if (r->flags & HTTP_HOST)
        return 400;  // RFC 9112 section 3.2
    r->flags |= HTTP_HOST;
    struct http_text host, port;
    if (!is_plain(value) && !http_authority(value, &host, &port))
        return 400;
    return HTTP_MORE;
}

static int field_connection(struct http_request *r, struct http_text value)
{
    struct http_text option;
    while (http_list_next(&value, &option)) {
        if (http_text_is(option, "close"))
            r->flags |= HTTP_CLOSE;
        else if (http_text_is(option, "keep-alive"))
            r->flags |= HTTP_KEEP_ALIVE;
    }
    return HTTP_MORE;
}

// A second Content-Length is an error, even with the same value: RFC 9112 section 6.3 allows to
// reject both.
static int field_length(struct http_request *r, struct http_text value)
{
    if ((r->flags & HTTP_LENGTH) || value.n == 0)
        return 400;
    r->flags |= HTTP_LENGTH;
    for (size_t i = 0; i < value.n; i++) {
        if (value.s[i] < '0' || value.s[i] > '9')
            return 400;
        if (value.s[i] != '0')
            r->flags |= HTTP_BODY;
    }
    return HTTP_MORE;
}

// Only the last coding may and must be chunked; otherwise the end of the body is unknown (RFC 9112
// sections 6.1 and 6.3). Other codings before it are not implemented: head_end() then returns 501.
// Empty elements are ignored (RFC 9110 section 5.6.1.2).
static int field_coding(struct http_request *r, struct http_text value)
{
    struct http_text element, last = {NULL, 0};
    if (r->flags & HTTP_CODING)
        return 400;
    while (http_list_next(&value, &element)) {
        if (element.n == 0)
            continue;
        if (http_text_is(last, "chunked"))
            return 400;
        if (last.n != 0)
            r->flags |= HTTP_CODING_MORE;
        last = element;
    }
    r->flags |= HTTP_CODING | HTTP_BODY;
    return http_text_is(last, "chunked") ? HTTP_MORE : 400;
}

// Sets the flag if the field has the name `lower`.
static int note(struct http_request *r, struct http_text name, const char *lower, unsigned flag)
{
    if (http_text_is(name, lower))
        r->flags |= (uint16_t)flag;
    return HTTP_MORE;
}

static int field(struct http_request *r, struct http_text name, struct http_text value)
{
    switch (name.n) {  // the length excludes most names at once
    case 4:
        return http_text_is(name, "host") ? field_host(r, value) : HTTP_MORE;
    case 5:
        return note(r, name, "range", HTTP_RANGE);
    case 6:
        return note(r, name, "expect", HTTP_EXPECT);
    case 8:
        return note(r, name, "if-match", HTTP_CONDITION);
    case 10:
        return http_text_is(name, "connection") ? field_connection(r, value) : HTTP_MORE;
    case 13:
        return note(r, name, "if-none-match", HTTP_CONDITION);
    case 14:
        return http_text_is(name, "content-length") ? field_length(r, value) : HTTP_MORE;
    case 15:
        return note(r, name, "accept-encoding", HTTP_ENCODING);
    case 17:
        return http_text_is(name, "transfer-encoding")
                   ? field_coding(r, value)
                   : note(r, name, "if-modified-since", HTTP_CONDITION);
    case 19:
        return note(r, name, "if-unmodified-since", HTTP_CONDITION);
    default:
        return HTTP_MORE;
    }
}

// RFC 9112 section 5: a token directly followed by a colon. This also rejects obs-fold and spaces
// before the colon.
static int field_line(struct http_request *r, struct http_text line)
{
    size_t n = 0;
    while (n < line.n && http_is(line.s[n], HTTP_TCHAR))
        n++;
    if (n == 0 || n == line.n || line.s[n] != ':')
        return 400;
    struct http_text value = {line.s + n + 1, line.n - n - 1};
    return field(r, (struct http_text){line.s, n}, http_text_trim(value));
}

// Parses a method other than GET: sets r->method, and *bytes to its length with the space. Returns
// HTTP_MORE, or the status of the error.
static int method(struct http_request *r, struct http_text line, size_t *bytes)
{
    static const struct {
        const char *name;
        enum http_method method;
    } methods[] = {
        {"HEAD ", HTTP_HEAD},         {"OPTIONS ", HTTP_OPTIONS},    {"POST ", HTTP_POST},
        {"PUT ", HTTP_NOT_ALLOWED},   {"DELETE ", HTTP_NOT_ALLOWED}, {"PATCH ", HTTP_NOT_ALLOWED},
        {"TRACE ", HTTP_NOT_ALLOWED}, {"CONNECT ", HTTP_CONNECT},
    };
    size_t n = 0;
    while (n < line.n && http_is(line.s[n], HTTP_TCHAR))
        n++;
    if (n == 0 || n == line.n || line.s[n] != ' ')
        return 400;
    *bytes = n + 1;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (strlen(methods[i].name) == n + 1 && memcmp(methods[i].name, line.s, n + 1) == 0) {
            r->method = methods[i].method;
            return HTTP_MORE;
        }
    }
    return 501;
}

// The status for a last word other than HTTP/1.x: 505 for another major version, or 400.
static int version_error(const uint8_t *last_9)
{
    bool digits = last_9[6] >= '0' && last_9[6] <= '9' && last_9[8] >= '0' && last_9[8] <= '9';
    return memcmp(last_9, " HTTP/", 6) == 0 && digits && last_9[7] == '.' ? 505 : 400;
}

// RFC 9112 section 3: method SP request-target SP HTTP-version, one space each. The target is
// checked when it is looked up (path.h), which also rejects spaces in it.
static int request_line(struct http_request *r, struct http_text line)
{
    if (line.n < sizeof("M * HTTP/1.1") - 1)
        return 400;
    const uint8_t *last_9 = line.s + line.n - 9;
    if (memcmp(last_9, " HTTP/1.", 8) != 0 || last_9[8] < '0' || last_9[8] > '9')
        return version_error(last_9);
    if (last_9[8] == '0')
        r->flags |= HTTP_MINOR_0;
    size_t off = 4;
    if (memcmp(line.s, "GET ", 4) != 0) {
        int verdict = method(r, line, &off);
        if (verdict != HTTP_MORE)
            return verdict;
    }
    if (off + 9 >= line.n)
        return 400;
    r->target_off = (uint16_t)(r->line + off);
    r->target_bytes = (uint16_t)(line.n - off - 9);
    return HTTP_MORE;
}

// The checks at the empty line, which need the complete head.
static int head_end(const struct http_request *r)
{
    if (!(r->flags & (HTTP_HOST | HTTP_MINOR_0)))
        return 400;
    if ((r->flags & HTTP_CODING) && (r->flags & (HTTP_LENGTH | HTTP_MINOR_0)))
        return 400;  // RFC 9112 section 6.1: smuggling, whatever the coding
    return r->flags & HTTP_CODING_MORE ? 501 : HTTP_DONE;
}

// The status for a request line longer than the limit; `line` is its start. RFC 9112 section 3: 501
// if the method is longer than any known one, 414 if the target is too long.
static int line_too_long(struct http_text line)
{
    struct http_request r;
    size_t n = 0;
    while (n < line.n && http_is(line.s[n], HTTP_TCHAR))
        n++;
    if (n == line.n)
        return 501;
    int verdict = memcmp(line.s, "GET ", 4) == 0 ? HTTP_MORE : method(&r, line, &n);
    return verdict == HTTP_MORE ? 414 : verdict;
}

static int line_end(struct http_request *r, struct http_text line)
{
    if (r->target_bytes != 0)
        return line.n != 0 ? field_line(r, line) : head_end(r);
    if (line.n == 0)  // one empty line before the request is ignored (RFC 9112 section 2.2)
        return r->line == 0 ? HTTP_MORE : 400;
    return request_line(r, line);
}

int http_parse(struct http_request *r, const uint8_t *data, size_t len, size_t head_bytes_max)
{
    const uint8_t *end = data + (len < head_bytes_max ? len : head_bytes_max);
    for (;;) {
        const uint8_t *p = http_scan(data + r->at, end);
        r->at = (uint16_t)(p - data);
        if (p == end || (p + 1 == end && *p == '\r')) {
            if (len < head_bytes_max)
                return HTTP_MORE;
            if (r->target_bytes != 0)
                return 431;
            return line_too_long(
                (struct http_text){data + r->line, (size_t)(end - data) - r->line});
        }
        if (p[0] != '\r' || p[1] != '\n')
            return 400;
        int verdict = line_end(r, (struct http_text){data + r->line, (size_t)(p - data) - r->line});
        r->at = (uint16_t)(r->at + 2);
        if (verdict != HTTP_MORE)
            return verdict;
        r->line = r->at;
    }
}
