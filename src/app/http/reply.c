#include "app/http/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/http/date.h"

bool http_reply_make(struct http_reply *r, unsigned status, const char *reason, const char *fields,
                     const char *key, size_t key_bytes)
{
    char head[HTTP_REPLY_HEAD_BYTES_MAX], length[48] = "";
    if (status != 204)  // RFC 9110 section 8.6
        snprintf(length, sizeof(length), "Content-Length: %llu\r\n",
                 (unsigned long long)r->body_bytes);
    int n = snprintf(head, sizeof(head), "HTTP/1.1 %u %s\r\nServer: c10m\r\n%s%sDate: ", status,
                     reason, length, fields);
    if (n < 0 || (size_t)n >= sizeof(head))
        return false;
    char *copy = malloc((size_t)n + key_bytes);
    if (copy == NULL)
        return false;
    memcpy(copy, head, (size_t)n);
    if (key_bytes != 0)
        memcpy(copy + n, key, key_bytes);
    r->head = copy;
    r->head_bytes = (uint32_t)n;
    r->key_bytes = (uint32_t)key_bytes;
    r->status = (uint16_t)status;
    return true;
}

static char *put(char *to, const void *bytes, size_t len)
{
    memcpy(to, bytes, len);
    return to + len;
}

size_t http_reply_write(const struct http_reply *r, uint64_t unix_s, enum http_connection say,
                        bool head_only, char *to)
{
    static const char keep_alive[] = "\r\nConnection: keep-alive\r\n\r\n";
    static const char closes[] = "\r\nConnection: close\r\n\r\n";
    char *p = put(to, r->head, r->head_bytes);
    p = put(p, http_date(unix_s), HTTP_DATE_BYTES);
    if (say == HTTP_SAY_NOTHING)
        p = put(p, "\r\n\r\n", 4);
    else if (say == HTTP_SAY_CLOSE)
        p = put(p, closes, sizeof(closes) - 1);
    else
        p = put(p, keep_alive, sizeof(keep_alive) - 1);
    if (!head_only && r->body_bytes != 0 && http_reply_is_inline(r))
        p = put(p, r->body, r->body_bytes);
    return (size_t)(p - to);
}
