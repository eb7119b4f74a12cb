// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/http/date.h"

#define SERVER "Server: c10m\r\n"
#define DATE   "Date: "

static bool set_head(struct http_reply *r, const char *head, size_t n, const char *key)
{
    char *copy = malloc(n + r->key_bytes);
    if (copy == NULL)
        return false;
    memcpy(copy, head, n);
    if (r->key_bytes != 0)
        memcpy(copy + n, key, r->key_bytes);
    r->head = copy;
    r->head_bytes = (uint32_t)n;
    return true;
}

bool http_reply_make(struct http_reply *r, unsigned status, const char *reason,
                     const struct http_fields *fields, const char *key, size_t key_bytes)
{
    char head[HTTP_REPLY_HEAD_BYTES_MAX], length[48] = "";
    int off[4] = {0};
    if (status != 204)  // RFC 9110 section 8.6
        snprintf(length, sizeof(length), "Content-Length: %u\r\n", r->body_bytes);
    int n = snprintf(head, sizeof(head), "HTTP/1.1 %u %s\r\n" SERVER "%s%n%s%n%s%n%s%n" DATE,
                     status, reason, length, &off[0], fields->type, &off[1], fields->extras,
                     &off[2], fields->validators, &off[3]);
    if (n < 0 || (size_t)n >= sizeof(head))
        return false;
    r->fields_off = (uint16_t)off[0];
    r->extras_off = (uint16_t)off[1];
    r->validators_off = (uint16_t)off[2];
    r->key_bytes = (uint16_t)key_bytes;
    r->status = (uint16_t)status;
    const char *etag = strstr(head + off[2], "ETag: \"");
    if (etag != NULL) {
        r->etag_off = (uint16_t)(etag - head + 6);
        r->etag_bytes = (uint8_t)strcspn(etag + 6, "\r");
    }
    return set_head(r, head, (size_t)n, key);
}

bool http_reply_add_field(struct http_reply *r, const char *line)
{
    char head[HTTP_REPLY_HEAD_BYTES_MAX];
    const char *old = r->head;
    int n = snprintf(head, sizeof(head), "%.*s%s" DATE, (int)(r->head_bytes - (sizeof(DATE) - 1)),
                     old, line);
    if (n < 0 || (size_t)n >= sizeof(head) || !set_head(r, head, (size_t)n, old + r->head_bytes))
        return false;
    free((void *)(uintptr_t)old);
    return true;
}

static char *put(char *to, const void *bytes, size_t len)
{
    memcpy(to, bytes, len);
    return to + len;
}

// Writes the text after "Date: ": the date, Connection and the empty line.
static inline char *put_tail(char *to, uint64_t unix_s, enum http_connection say)
{
    static const char keep_alive[] = "\r\nConnection: keep-alive\r\n\r\n";
    static const char closes[] = "\r\nConnection: close\r\n\r\n";
    char *p = put(to, http_date(unix_s), HTTP_DATE_BYTES);
    if (say == HTTP_SAY_NOTHING)
        return put(p, "\r\n\r\n", 4);
    if (say == HTTP_SAY_CLOSE)
        return put(p, closes, sizeof(closes) - 1);
    return put(p, keep_alive, sizeof(keep_alive) - 1);
}

// put_tail() for a reply with Expires: the head ends with "Date: ", which Expires replaces and
// which is written again after it.
static __attribute__((noinline)) char *put_expiring_tail(char *to, uint32_t expires_s,
                                                         uint64_t unix_s, enum http_connection say)
{
    static const char expires[] = "Expires: ", date[] = "\r\n" DATE;
    to = put(to - (sizeof(DATE) - 1), expires, sizeof(expires) - 1);
    http_date_format(unix_s + expires_s, to);
    to = put(to + HTTP_DATE_BYTES, date, sizeof(date) - 1);
    return put_tail(to, unix_s, say);
}

static inline char *put_reply_tail(const struct http_reply *r, char *to, uint64_t unix_s,
                                   enum http_connection say)
{
    if (__builtin_expect(r->expires_s != 0, 0))
        return put_expiring_tail(to, r->expires_s, unix_s, say);
    return put_tail(to, unix_s, say);
}

size_t http_reply_write(const struct http_reply *r, uint64_t unix_s, enum http_connection say,
                        bool head_only, char *to)
{
    char *p = put_reply_tail(r, put(to, r->head, r->head_bytes), unix_s, say);
    if (!head_only && r->body_bytes != 0 && http_reply_is_inline(r))
        p = put(p, r->body, r->body_bytes);
    return (size_t)(p - to);
}

// Appends the reply's fields from `off` on and the tail to the text in to[0..n).
static size_t with_fields(const struct http_reply *r, size_t off, uint64_t unix_s,
                          enum http_connection say, char *to, int n)
{
    return (
        size_t)(put_reply_tail(r, put(to + n, r->head + off, r->head_bytes - off), unix_s, say) -
                to);
}

size_t http_write_part(const struct http_reply *r, struct http_range range, uint64_t unix_s,
                       enum http_connection say, char *to)
{
    int n = sprintf(to,
                    "HTTP/1.1 206 Partial Content\r\n" SERVER
                    "Content-Length: %u\r\nContent-Range: bytes %u-%u/%u\r\n",
                    range.bytes, range.first, range.first + range.bytes - 1, r->body_bytes);
    return with_fields(r, r->fields_off, unix_s, say, to, n);
}

size_t http_write_unchanged(const struct http_reply *r, uint64_t unix_s, enum http_connection say,
                            char *to)
{
    static const char start[] = "HTTP/1.1 304 Not Modified\r\n" SERVER;
    memcpy(to, start, sizeof(start) - 1);
    return with_fields(r, r->validators_off, unix_s, say, to, sizeof(start) - 1);
}

size_t http_write_unsatisfied(const struct http_reply *r, uint64_t unix_s, enum http_connection say,
                              char *to)
{
    int n = sprintf(to,
                    "HTTP/1.1 416 Range Not Satisfiable\r\n" SERVER
                    "Content-Length: 0\r\nContent-Range: bytes */%u\r\n" DATE,
                    r->body_bytes);
    return (size_t)(put_tail(to + n, unix_s, say) - to);
}

size_t http_write_location(const struct http_reply *r, char *to)
{
    return (size_t)(put(to, r->head, r->validators_off - strlen("\r\n")) - to);
}

size_t http_write_behind_location(const struct http_reply *r, uint64_t unix_s,
                                  enum http_connection say, bool head_only, char *to)
{
    size_t n = with_fields(r, r->validators_off - strlen("\r\n"), unix_s, say, to, 0);
    return head_only ? n : (size_t)(put(to + n, r->body, r->body_bytes) - to);
}

size_t http_write_made(const char *type, uint64_t bytes, uint64_t unix_s, enum http_connection say,
                       char *to)
{
    int n = sprintf(to,
                    "HTTP/1.1 200 OK\r\n" SERVER
                    "Content-Length: %llu\r\nContent-Type: %s\r\nCache-Control: no-store\r\n" DATE,
                    (unsigned long long)bytes, type);
    return (size_t)(put_tail(to + n, unix_s, say) - to);
}

size_t http_write_part_head(const struct http_reply *r, const struct http_range *range,
                            const char *boundary, char *to)
{
    if (range == NULL)
        return (size_t)sprintf(to, "\r\n--%s--\r\n", boundary);
    return (size_t)sprintf(to, "\r\n--%s\r\n%.*sContent-Range: bytes %u-%u/%u\r\n\r\n", boundary,
                           r->extras_off - r->fields_off, r->head + r->fields_off, range->first,
                           range->first + range->bytes - 1, r->body_bytes);
}

uint64_t http_parts_bytes(const struct http_reply *r, const struct http_range *ranges, unsigned n,
                          const char *boundary)
{
    char text[HTTP_REPLY_HEAD_BYTES_MAX];
    uint64_t bytes = http_write_part_head(r, NULL, boundary, text);
    for (unsigned i = 0; i < n; i++)
        bytes += http_write_part_head(r, &ranges[i], boundary, text) + ranges[i].bytes;
    return bytes;
}

size_t http_write_parts(const struct http_reply *r, const struct http_range *ranges, unsigned n,
                        const char *boundary, uint64_t unix_s, enum http_connection say, char *to)
{
    int len = sprintf(to,
                      "HTTP/1.1 206 Partial Content\r\n" SERVER "Content-Length: %llu\r\n"
                      "Content-Type: multipart/byteranges; boundary=%s\r\n",
                      (unsigned long long)http_parts_bytes(r, ranges, n, boundary), boundary);
    return with_fields(r, r->extras_off, unix_s, say, to, len);
}
