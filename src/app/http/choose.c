#include "app/http/choose.h"

#include "app/http/authority.h"
#include "app/http/fields.h"
#include "app/http/path.h"

static void choose_status(struct http_choice *choice, unsigned status)
{
    choice->reply = http_site_fixed(status);
    choice->bad = status == 400;
}

// The reply for a target, or HTTP_REPLY_NONE; false: malformed.
static bool look_up(const struct http_site *site, struct http_text target, uint32_t *reply)
{
    char key[HTTP_HEAD_BYTES_MAX];
    *reply = http_site_find(site, target.s, target.n);
    if (*reply != HTTP_REPLY_NONE)
        return true;
    int key_bytes = http_path(target.s, target.n, key);
    if (key_bytes < 0)
        return false;
    *reply = http_site_find(site, key, (size_t)key_bytes);
    return true;
}

// CONNECT takes the authority form and no other (RFC 9112 section 3.2.3).
static unsigned connect_status(struct http_text target)
{
    struct http_text host, port;
    return http_authority(target, &host, &port) && host.n != 0 && port.n != 0 ? 405 : 400;
}

// What the method makes of a special resource.
static void choose_special(struct http_choice *choice, const struct http_request *r,
                           enum http_special special)
{
    bool post = special == HTTP_CONTENT;
    unsigned status = r->method == HTTP_OPTIONS ? 204 : 405;
    if (post && r->method == HTTP_POST)
        choice->kind = HTTP_ANSWER_CONTENT;
    else if (!post && r->method <= HTTP_HEAD)
        choice->kind = HTTP_ANSWER_FIELDS;
    else
        choice->reply = post ? http_site_fixed_post(status) : http_site_fixed(status);
}

// The value of Range if there is one such field; two are none.
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

// GET or HEAD of a file: which form of it, whether at all, and which part, in this order.
static void choose_file(const struct http_service *s, struct http_choice *choice,
                        const struct http_request *r, const uint8_t *head, uint64_t now_s)
{
    struct http_text fields = http_fields_of(r, head), range;
    const struct http_reply *reply = &s->site.replies[choice->reply];
    if ((r->flags & HTTP_ENCODING) && reply->gzip != 0 && http_accepts_gzip(fields)) {
        choice->reply = reply->gzip;
        reply = &s->site.replies[reply->gzip];
    }
    const struct http_representation of = {
        {(const uint8_t *)reply->head + reply->etag_off, reply->etag_bytes}, reply->modified_s};
    if (r->flags & HTTP_CONDITION) {
        enum http_condition verdict = http_conditions(fields, &of, now_s);
        if (verdict == HTTP_FAILED)
            choose_status(choice, 412);
        if (verdict == HTTP_UNCHANGED)
            choice->kind = HTTP_NOT_CHANGED;
        if (verdict != HTTP_CONDITIONS_HOLD)
            return;
    }
    if ((r->flags & HTTP_RANGE) && r->method == HTTP_GET && one_range(fields, &range) &&
        http_range_holds(fields, &of, now_s))
        choose_ranges(choice, reply, range);
}

void http_choose(const struct http_service *s, const struct http_request *r, const uint8_t *head,
                 uint64_t now_s, struct http_choice *choice)
{
    struct http_text target = {head + r->target_off, r->target_bytes};
    choice->kind = HTTP_WHOLE;
    choice->n_ranges = 0;
    choice->bad = false;
    if (r->method == HTTP_CONNECT) {
        choose_status(choice, connect_status(target));
    } else if (r->method == HTTP_OPTIONS && target.n == 1 && target.s[0] == '*') {
        choose_status(choice, 204);
    } else if (!look_up(&s->site, target, &choice->reply)) {
        choose_status(choice, 400);
    } else if (choice->reply != HTTP_REPLY_NONE &&
               s->site.replies[choice->reply].special > HTTP_FILE) {
        choose_special(choice, r, s->site.replies[choice->reply].special);
    } else if (r->method > HTTP_HEAD) {
        choose_status(choice, r->method == HTTP_OPTIONS ? 204 : 405);
    } else if (choice->reply == HTTP_REPLY_NONE) {
        choose_status(choice, 404);
    } else if (s->site.replies[choice->reply].special == HTTP_FILE) {
        choose_file(s, choice, r, head, now_s);
    }
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
