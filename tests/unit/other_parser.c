// SPDX-License-Identifier: BSD-3-Clause
#include "unit/other_parser.h"

#include <http_parser.h>
#include <stdio.h>
#include <string.h>

static int on_url(http_parser *p, const char *at, size_t n)
{
    struct reading *a = p->data;
    memcpy(a->target + a->target_bytes, at, n);
    a->target_bytes += n;
    return 0;
}

static int on_body(http_parser *p, const char *at, size_t n)
{
    struct reading *a = p->data;
    memcpy(a->content + a->content_bytes, at, n);
    a->content_bytes += n;
    return 0;
}

static int on_complete(http_parser *p)
{
    struct reading *a = p->data;
    a->verdict = COMPLETE;
    a->keeps = http_should_keep_alive(p);
    http_parser_pause(p, 1);
    return 0;
}

void read_theirs(struct message m, struct reading *a)
{
    static const http_parser_settings settings = {
        .on_url = on_url, .on_body = on_body, .on_message_complete = on_complete};
    http_parser p;
    http_parser_init(&p, HTTP_REQUEST);
    p.data = a;
    a->verdict = INCOMPLETE;
    a->content_bytes = 0;
    a->target_bytes = 0;
    a->end = http_parser_execute(&p, &settings, (const char *)m.s, m.n);
    if (a->verdict == COMPLETE)
        snprintf(a->method, sizeof(a->method), "%s", http_method_str((enum http_method)p.method));
    else if (HTTP_PARSER_ERRNO(&p) != HPE_OK)
        a->verdict = REFUSED;
}

struct responses {
    int *statuses;
    int n, max;
    bool within;
};

static int on_begin(http_parser *p)
{
    struct responses *r = p->data;
    r->within = true;
    return 0;
}

static int on_response(http_parser *p)
{
    struct responses *r = p->data;
    r->within = false;
    if (r->n == r->max)
        return 1;
    r->statuses[r->n++] = (int)p->status_code;
    return 0;
}

int read_responses(const uint8_t *bytes, size_t n, int *statuses, int max)
{
    static const http_parser_settings settings = {.on_message_begin = on_begin,
                                                  .on_message_complete = on_response};
    struct responses r = {.statuses = statuses, .max = max};
    http_parser p;
    http_parser_init(&p, HTTP_RESPONSE);
    p.data = &r;
    size_t used = http_parser_execute(&p, &settings, (const char *)bytes, n);
    return used == n && HTTP_PARSER_ERRNO(&p) == HPE_OK && !r.within ? r.n : -1;
}
