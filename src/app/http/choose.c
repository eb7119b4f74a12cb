// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/choose.h"

#include "app/http/authority.h"
#include "app/http/fields.h"

static void choose_status(struct http_choice *choice, const struct http_whose *whose,
                          unsigned status)
{
    choice->kind = HTTP_WHOLE;
    choice->reply = http_site_fixed(whose->host, status);
    choice->bad = status == 400;
}

// Sets choice->reply to the reply for a target, or HTTP_REPLY_NONE. False: the target is malformed.
static bool look_up(const struct http_whose *whose, struct http_text target,
                    struct http_choice *choice)
{
    choice->reply = http_site_find(whose->site, whose->host, target.s, target.n);
    if (choice->reply != HTTP_REPLY_NONE)
        return true;
    const int key_bytes = http_path(target.s, target.n, choice->key);
    if (key_bytes < 0)
        return false;
    choice->reply = http_site_find(whose->site, whose->host, choice->key, (size_t)key_bytes);
    if (choice->reply != HTTP_REPLY_NONE)
        return true;
    const struct http_prefix *moved = http_site_moved(whose->host, choice->key, (size_t)key_bytes);
    if (moved == NULL)
        return true;
    choice->reply = moved->reply;
    if (moved->rest)
        choice->rest = (struct http_text){(const uint8_t *)choice->key + moved->bytes,
                                          (size_t)key_bytes - moved->bytes};
    return true;
}

// The query is appended to Location, unless Location has a query itself.
static void choose_redirect(const struct http_service *s, const struct http_whose *whose,
                            struct http_choice *choice, struct http_text target)
{
    const bool exactly = whose->site->replies[choice->reply].special == HTTP_MOVED_EXACTLY;
    const uint8_t *query = exactly ? NULL : memchr(target.s, '?', target.n);
    if (query != NULL)
        choice->query = (struct http_text){query, (size_t)(target.s + target.n - query)};
    const size_t n = choice->rest.n + choice->query.n;
    if (n > s->params.header_bytes_max)  // only because encoding the path has made it longer
        choose_status(choice, whose, 414);
    else if (n != 0)
        choice->kind = HTTP_ANSWER_REDIRECT;
}

// The status for CONNECT: its target must be in authority form (RFC 9112 section 3.2.3).
static unsigned connect_status(struct http_text target)
{
    struct http_text host, port;
    return http_authority(target, &host, &port) && host.n != 0 && port.n != 0 ? 405 : 400;
}

// The response of a special resource depends on the method.
static void choose_special(struct http_choice *choice, const struct http_whose *whose,
                           const struct http_request *r, enum http_special special)
{
    bool post = special == HTTP_CONTENT;
    unsigned status = r->method == HTTP_OPTIONS ? 204 : 405;
    if (post && r->method == HTTP_POST)
        choice->kind = HTTP_ANSWER_CONTENT;
    else if (!post && r->method <= HTTP_HEAD)
        choice->kind = HTTP_ANSWER_FIELDS;
    else
        choice->reply =
            post ? http_site_fixed_post(whose->host, status) : http_site_fixed(whose->host, status);
}

// The value of Range. False: the request has none, or more than one.
static bool one_range(struct http_text fields, struct http_text *range)
{
    struct http_text name, value;
    unsigned n = 0;
    while (http_field_next(&fields, &name, &value)) {
        if (http_text_is(name, "range")) {
            *range = value;
            n++;
        }
    }
    return n == 1;
}

static void choose_ranges(struct http_choice *choice, const struct http_reply *reply,
                          struct http_text range)
{
    unsigned n;
    switch (http_ranges(range, reply->body_bytes, choice->ranges, &n)) {
    case HTTP_RANGE_WHOLE:
        break;
    case HTTP_RANGE_PARTS:
        choice->kind = n == 1 ? HTTP_PART : HTTP_PARTS;
        choice->n_ranges = (uint16_t)n;
        break;
    case HTTP_RANGE_UNSATISFIED:
        choice->kind = HTTP_NO_SUCH_PART;
        break;
    }
}

// GET or HEAD of a file: selects the content coding, evaluates the conditions, then the ranges.
static void choose_file(const struct http_whose *whose, struct http_choice *choice,
                        const struct http_request *r, const uint8_t *head, uint64_t now_s)
{
    struct http_text fields = http_fields_of(r, head), range;
    const struct http_reply *reply = &whose->site->replies[choice->reply];
    const unsigned offered = (reply->gzip != 0 ? HTTP_GZIP : 0) | (reply->br != 0 ? HTTP_BR : 0);
    if ((r->flags & HTTP_ENCODING) && offered != 0) {
        const enum http_packed packed = http_prefers(fields, offered);
        if (packed != HTTP_AS_IS)
            choice->reply = packed == HTTP_BR ? reply->br : reply->gzip;
        reply = &whose->site->replies[choice->reply];
    }
    const struct http_representation of = {
        {(const uint8_t *)reply->head + reply->etag_off, reply->etag_bytes}, reply->modified_s};
    if (r->flags & HTTP_CONDITION) {
        enum http_condition verdict = http_conditions(fields, &of, now_s);
        if (verdict == HTTP_FAILED)
            choose_status(choice, whose, 412);
        if (verdict == HTTP_UNCHANGED)
            choice->kind = HTTP_NOT_CHANGED;
        if (verdict != HTTP_CONDITIONS_HOLD)
            return;
    }
    // RFC 9110 section 14.2 allows to ignore Range. It is ignored if the request has content, which
    // is read first.
    if ((r->flags & (HTTP_RANGE | HTTP_BODY)) == HTTP_RANGE && r->method == HTTP_GET &&
        one_range(fields, &range) && http_range_holds(fields, &of, now_s))
        choose_ranges(choice, reply, range);
}

// The response for a path that has a reply.
static void choose_reply(const struct http_service *s, const struct http_whose *whose,
                         const struct http_request *r, const uint8_t *head, uint64_t now_s,
                         struct http_choice *choice)
{
    const struct http_text target = {head + r->target_off, r->target_bytes};
    const enum http_special special = whose->site->replies[choice->reply].special;
    const bool moved = special >= HTTP_MOVED;
    if (special > HTTP_FILE && !moved)
        choose_special(choice, whose, r, special);
    else if (r->method > HTTP_HEAD && !moved)
        choose_status(choice, whose, r->method == HTTP_OPTIONS ? 204 : 405);
    else if (moved || special == HTTP_REDIRECT)
        choose_redirect(s, whose, choice, target);
    else if (special == HTTP_FILE)
        choose_file(whose, choice, r, head, now_s);
}

void http_choose(const struct http_service *s, const struct http_whose *whose,
                 const struct http_request *r, const uint8_t *head, uint64_t now_s,
                 struct http_choice *choice)
{
    const struct http_text target = {head + r->target_off, r->target_bytes};
    choice->kind = HTTP_WHOLE;
    choice->n_ranges = 0;
    choice->bad = false;
    choice->rest = choice->query = (struct http_text){NULL, 0};
    if (r->method == HTTP_CONNECT)
        choose_status(choice, whose, connect_status(target));
    else if (r->method == HTTP_OPTIONS && target.n == 1 && target.s[0] == '*')
        choose_status(choice, whose, 204);
    else if (!look_up(whose, target, choice))
        choose_status(choice, whose, 400);
    else if (!whose->host->served)  // RFC 9110 section 7.4
        choose_status(choice, whose, 421);
    else if (choice->reply != HTTP_REPLY_NONE)
        choose_reply(s, whose, r, head, now_s, choice);
    else if (r->method > HTTP_HEAD)
        choose_status(choice, whose, r->method == HTTP_OPTIONS ? 204 : 405);
    else
        choose_status(choice, whose, 404);
}

unsigned http_content_status(const struct http_service *s, const struct http_request *r,
                             const uint8_t *head, const struct http_choice *choice)
{
    struct http_text fields = http_fields_of(r, head);
    if ((r->flags & (HTTP_EXPECT | HTTP_MINOR_0)) == HTTP_EXPECT && !http_expects_continue(fields))
        return 417;
    if (choice->kind == HTTP_ANSWER_CONTENT && !(r->flags & (HTTP_LENGTH | HTTP_CODING)))
        return 411;
    if ((r->flags & (HTTP_LENGTH | HTTP_BODY)) == (HTTP_LENGTH | HTTP_BODY) &&
        http_content_length(fields) > s->params.body_bytes_max)
        return 413;
    return 0;
}
