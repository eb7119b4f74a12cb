// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/choose.h"
#include "app/http/conn.h"

// A response is sent in pieces. A piece is text that is written again at each attempt, followed by
// bytes that are copied from memory, or sent from an image by reference.
struct piece {
    char text[HTTP_REPLY_BYTES_MAX];
    size_t text_bytes;
    const uint8_t *bytes;            // NULL: none
    const struct c10m_image *image;  // NULL: none
    uint64_t off, len;               // range in bytes (off 0), or in the image
    bool last;
};

static enum http_connection what_to_say(const struct http_conn *st)
{
    if (st->flags & HTTP_LAST)
        return HTTP_SAY_CLOSE;
    return st->flags & HTTP_KEEP_1_0 ? HTTP_SAY_KEEP_ALIVE : HTTP_SAY_NOTHING;
}

static struct http_hold *hold_of(struct c10m_conn *c, const struct http_conn *st,
                                 const struct http_service *s)
{
    return http_hold_at(&s->pools, c10m_worker(c), st->hold);
}

static bool send_piece(struct c10m_conn *c, struct http_conn *st, const struct piece *p)
{
    if (st->sent < p->text_bytes)
        st->sent += (uint32_t)c10m_send(c, p->text + st->sent, p->text_bytes - st->sent);
    if (__builtin_expect(st->sent < p->text_bytes, 0))
        return false;
    if (p->image != NULL)
        return c10m_send_ref(c, p->image, p->off, p->len);
    if (p->bytes == NULL)
        return true;
    uint64_t done = st->sent - p->text_bytes;
    st->sent += (uint32_t)c10m_send(c, p->bytes + done, p->len - done);
    return st->sent == p->text_bytes + p->len;
}

// Adds a range of a reply's body; a small one is copied to the text.
static void add_range(struct piece *p, const struct http_reply *r, struct http_range range)
{
    if (range.bytes <= HTTP_INLINE_BYTES_MAX) {
        memcpy(p->text + p->text_bytes, r->body + range.first, range.bytes);
        p->text_bytes += range.bytes;
        return;
    }
    p->image = r->image;
    p->off = range.first;
    p->len = range.bytes;
}

// Piece 0 is the head, pieces 1 to n are the ranges, each after its part head, piece n + 1 is the
// closing delimiter.
static void parts_piece(struct c10m_conn *c, struct http_conn *st, const struct http_service *s,
                        struct piece *p)
{
    const struct http_reply *r = http_reply_of(st, s);
    const struct http_hold *h = hold_of(c, st, s);
    if (st->piece == 0) {
        p->text_bytes = http_write_parts(r, h->ranges, h->n_ranges, s->boundary, st->date_s,
                                         what_to_say(st), p->text);
        return;
    }
    p->last = st->piece > h->n_ranges;
    const struct http_range *range = p->last ? NULL : &h->ranges[st->piece - 1];
    p->text_bytes = http_write_part_head(r, range, s->boundary, p->text);
    if (range != NULL)
        add_range(p, r, *range);
}

static void held_piece(struct c10m_conn *c, const struct http_conn *st,
                       const struct http_service *s, struct piece *p)
{
    const struct http_hold *h = hold_of(c, st, s);
    const char *type = st->kind == HTTP_ANSWER_CONTENT ? "application/octet-stream"
                                                       : "text/plain; charset=iso-8859-1";
    p->text_bytes = http_write_made(type, h->filled, st->date_s, what_to_say(st), p->text);
    if (!(st->flags & HTTP_HEAD_ONLY)) {
        p->bytes = h->bytes;
        p->len = h->filled;
    }
}

// Piece 0: up to the end of Location, and what the request adds to it; 1: the rest.
static void redirect_piece(struct c10m_conn *c, const struct http_conn *st,
                           const struct http_service *s, struct piece *p)
{
    const struct http_reply *r = http_reply_of(st, s);
    const struct http_hold *h = hold_of(c, st, s);
    p->last = st->piece > 0;
    if (p->last) {
        p->text_bytes = http_write_behind_location(r, st->date_s, what_to_say(st),
                                                   st->flags & HTTP_HEAD_ONLY, p->text);
        return;
    }
    p->text_bytes = http_write_location(r, p->text);
    p->bytes = h->bytes;
    p->len = h->filled;
}

static void make_piece(struct c10m_conn *c, struct http_conn *st, const struct http_service *s,
                       struct piece *p)
{
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
    const struct http_reply *r = http_reply_of(st, s);
    p->text_bytes = 0;
    p->bytes = NULL;
    p->image = NULL;
    p->last = true;
    if (st->flags & HTTP_INTERIM) {
        p->text_bytes = sizeof(interim) - 1;
        memcpy(p->text, interim, p->text_bytes);
        return;
    }
    switch ((enum http_kind)st->kind) {
    case HTTP_WHOLE:
        break;  // http_send does it
    case HTTP_PART:
        p->text_bytes = http_write_part(r, st->range, st->date_s, what_to_say(st), p->text);
        add_range(p, r, st->range);
        break;
    case HTTP_PARTS:
        p->last = false;
        parts_piece(c, st, s, p);
        break;
    case HTTP_NOT_CHANGED:
        p->text_bytes = http_write_unchanged(r, st->date_s, what_to_say(st), p->text);
        break;
    case HTTP_NO_SUCH_PART:
        p->text_bytes = http_write_unsatisfied(r, st->date_s, what_to_say(st), p->text);
        break;
    case HTTP_ANSWER_CONTENT:
    case HTTP_ANSWER_FIELDS:
        held_piece(c, st, s, p);
        break;
    case HTTP_ANSWER_REDIRECT:
        redirect_piece(c, st, s, p);
        break;
    }
}

static bool send_whole(struct c10m_conn *c, struct http_conn *st, const struct http_reply *r)
{
    char text[HTTP_REPLY_BYTES_MAX];
    bool head_only = st->flags & HTTP_HEAD_ONLY;
    size_t len = http_reply_write(r, st->date_s, what_to_say(st), head_only, text);
    st->sent += (uint32_t)c10m_send(c, text + st->sent, len - st->sent);
    if (__builtin_expect(st->sent < len, 0))
        return false;
    return head_only || http_reply_is_inline(r) || c10m_send_ref(c, r->image, 0, r->body_bytes);
}

bool http_send(struct c10m_conn *c, struct http_conn *st, const struct http_service *s,
               const struct http_reply *r)
{
    if (__builtin_expect(st->kind == HTTP_WHOLE && !(st->flags & HTTP_INTERIM), 1))
        return send_whole(c, st, r);
    for (;; st->piece++, st->sent = 0) {
        struct piece p;
        make_piece(c, st, s, &p);
        if (!send_piece(c, st, &p))
            return false;
        if (p.last)
            return true;
    }
}

unsigned http_answer_status(const struct http_conn *st, const struct http_service *s)
{
    static const uint16_t of_kind[] = {
        [HTTP_PART] = 206,         [HTTP_PARTS] = 206,          [HTTP_NOT_CHANGED] = 304,
        [HTTP_NO_SUCH_PART] = 416, [HTTP_ANSWER_CONTENT] = 200, [HTTP_ANSWER_FIELDS] = 200};
    return st->kind == HTTP_WHOLE || st->kind == HTTP_ANSWER_REDIRECT ? http_reply_of(st, s)->status
                                                                      : of_kind[st->kind];
}

uint64_t http_answer_bytes(struct c10m_conn *c, const struct http_conn *st,
                           const struct http_service *s)
{
    const struct http_reply *r = http_reply_of(st, s);
    if (st->flags & HTTP_HEAD_ONLY)
        return 0;
    switch ((enum http_kind)st->kind) {
    case HTTP_WHOLE:
    case HTTP_ANSWER_REDIRECT:
        return r->body_bytes;
    case HTTP_PART:
        return st->range.bytes;
    case HTTP_PARTS: {
        const struct http_hold *h = hold_of(c, st, s);
        return http_parts_bytes(r, h->ranges, h->n_ranges, s->boundary);
    }
    case HTTP_ANSWER_CONTENT:
    case HTTP_ANSWER_FIELDS:
        return hold_of(c, st, s)->filled;
    case HTTP_NOT_CHANGED:
    case HTTP_NO_SUCH_PART:
        break;
    }
    return 0;
}
