// SPDX-License-Identifier: BSD-3-Clause
#include "unit/http_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/http/service.h"
#include "unit/check.h"

void from_source(struct c10m_conn *c, unsigned n)
{
    static bool used[HTTP_SOURCES];
    const struct http_service *s = c10m_service_data(c->service);
    memset(used, 0, sizeof(used));
    for (uint32_t v4 = 0x0a000001;; v4++) {
        for (unsigned i = 0; i < 4; i++)
            c->peer_addr[12 + i] = (uint8_t)(v4 >> (24 - 8 * i));
        bool *place = &used[http_source(&s->pools, c->peer_addr)];
        if (!*place && n-- == 0)
            return;
        *place = true;
    }
}

const char *answer_field(const struct answer *a, const char *name)
{
    static char value[256];
    size_t n = strlen(name);
    bool found = false;
    for (const char *line = a->head; line < a->head + a->head_len;) {
        const char *end = memmem(line, (size_t)(a->head + a->head_len - line), "\r\n", 2);
        assert_non_null(end);
        if ((size_t)(end - line) > n && strncasecmp(line, name, n) == 0 && line[n] == ':') {
            assert_false(found);
            assert_int_equal(line[n + 1], ' ');
            snprintf(value, sizeof(value), "%.*s", (int)(end - line - (long)n - 2), line + n + 2);
            found = true;
        }
        line = end + 2;
    }
    return found ? value : NULL;
}

void assert_field(const struct answer *a, const char *name, const char *value)
{
    const char *is = answer_field(a, name);
    if (value == NULL)
        assert_null(is);
    else if (is == NULL)
        fail_msg("no %s in\n%.*s", name, (int)a->head_len, a->head);
    else
        assert_string_equal(is, value);
}

struct answer next_answer(const struct c10m_conn *c, size_t *at, bool to_head)
{
    struct answer a = {0};
    const char *text = (const char *)c->out.at + *at;
    size_t left = c->out.len - *at;
    const char *end = left == 0 ? NULL : memmem(text, left, "\r\n\r\n", 4);
    if (end == NULL)
        fail_msg("no whole response in: %.*s", (int)left, text);
    a.head = text;
    a.head_len = (size_t)(end - text) + 4;
    assert_true(left > 17 && memcmp(text, "HTTP/1.1 ", 9) == 0 && text[12] == ' ');
    a.status = atoi(text + 9);
    if (a.status != 100)
        assert_non_null(answer_field(&a, "Date"));
    const char *length = answer_field(&a, "Content-Length");
    if (a.status == 204 || a.status == 304 || a.status == 100)
        assert_null(length);
    else
        assert_non_null(length);
    a.body = text + a.head_len;
    a.body_len = length == NULL || to_head ? 0 : strtoul(length, NULL, 10);
    assert_true(a.body_len <= left - a.head_len);
    *at += a.head_len + a.body_len;
    return a;
}

struct answer only_answer(const struct c10m_conn *c, bool to_head)
{
    size_t at = 0;
    struct answer a = next_answer(c, &at, to_head);
    assert_int_equal(at, c->out.len);
    return a;
}

void assert_body(const struct answer *a, const void *body, size_t len)
{
    assert_int_equal(a->body_len, len);
    assert_memory_equal(a->body, body, len);
}

struct c10m_conn *hold_talk(struct c10m_service *s, const char *talk, size_t len, size_t first,
                            size_t piece, size_t room)
{
    struct c10m_conn *c = fake_open(s);
    c->send_room = room;
    c->refs_refused = room == SIZE_MAX ? 0 : 3;
    fake_feed(c, talk, first, 0);
    if (room != SIZE_MAX)
        fake_ack(c, 1);
    fake_feed(c, talk + first, len - first, piece);
    fake_drain(c);
    return c;
}
