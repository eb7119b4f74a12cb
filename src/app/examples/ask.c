// SPDX-License-Identifier: BSD-3-Clause
#include "ask.h"

#include <c10m/socket.h>
#include <c10m/trace.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

// Sets ask->path and ask->query from the target between the method and the version.
static bool split_target(const char *at, const char *end, struct ask *ask)
{
    const char *space = memchr(at, ' ', (size_t)(end - at));
    if (space == NULL || at == space || *at != '/' || end - space != 9)
        return false;
    const char *mark = memchr(at, '?', (size_t)(space - at));
    ask->path = at;
    ask->path_len = (size_t)((mark != NULL ? mark : space) - at);
    ask->query = mark != NULL ? mark + 1 : space;
    ask->query_len = (size_t)(space - ask->query);
    ask->keep = memcmp(space + 1, "HTTP/1.1", 8) == 0;
    return ask->keep || memcmp(space + 1, "HTTP/1.0", 8) == 0;
}

static bool line_is(const char *line, size_t len, const char *start)
{
    const size_t n = strlen(start);
    return len >= n && strncasecmp(line, start, n) == 0;
}

// Takes note of one field. Returns false for a request with a body: nothing here expects one.
static bool take_field(const char *line, size_t len, struct ask *ask)
{
    if (line_is(line, len, "connection: close"))
        ask->keep = false;
    return !line_is(line, len, "content-length:") && !line_is(line, len, "transfer-encoding:");
}

static bool take_fields(const char *at, const char *end, struct ask *ask)
{
    while (at < end) {
        const char *stop = memmem(at, (size_t)(end - at), "\r\n", 2);
        if (stop == NULL)
            return false;
        if (!take_field(at, (size_t)(stop - at), ask))
            return false;
        at = stop + 2;
    }
    return true;
}

enum ask_parsed ask_parse(const uint8_t *data, size_t len, struct ask *ask)
{
    const char *at = (const char *)data;
    const size_t look = len < ASK_HEAD_BYTES_MAX ? len : ASK_HEAD_BYTES_MAX;
    const char *end = memmem(at, look, "\r\n\r\n", 4);
    if (memcmp(at, "GET ", look < 4 ? look : 4) != 0)
        return ASK_NOT_GET;
    if (end == NULL)
        return look == ASK_HEAD_BYTES_MAX ? ASK_TOO_LONG : ASK_INCOMPLETE;
    const char *line_end = memmem(at, look, "\r\n", 2);
    struct ask a = {.bytes = (size_t)(end - at) + 4};
    if (!split_target(at + 4, line_end, &a) || !take_fields(line_end + 2, end + 2, &a))
        return ASK_BAD;
    *ask = a;
    return ASK_COMPLETE;
}

// The text after "key=" in the query, up to '&', or NULL.
static const char *find_value(const struct ask *ask, const char *key, size_t *len)
{
    const size_t n = strlen(key);
    const char *at = ask->query, *end = at + ask->query_len;
    while (at < end) {
        const char *stop = memchr(at, '&', (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        if ((size_t)(stop - at) > n && memcmp(at, key, n) == 0 && at[n] == '=') {
            *len = (size_t)(stop - at) - n - 1;
            return at + n + 1;
        }
        at = stop + 1;
    }
    return NULL;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The next decoded byte at *at, moved behind it; -1: '%' without two hex digits.
static int decode(const char **at, const char *end)
{
    const char c = *(*at)++;
    if (c != '%')
        return c == '+' ? ' ' : (unsigned char)c;
    if (end - *at < 2 || hex((*at)[0]) < 0 || hex((*at)[1]) < 0)
        return -1;
    const int byte = hex((*at)[0]) << 4 | hex((*at)[1]);
    *at += 2;
    return byte;
}

int ask_text(const struct ask *ask, const char *key, char out[ASK_VALUE_BYTES_MAX + 1])
{
    size_t len;
    const char *at = find_value(ask, key, &len);
    if (at == NULL)
        return -1;
    int n = 0;
    for (const char *end = at + len; at < end;) {
        const int byte = decode(&at, end);
        if (byte < 0x20 || byte > 0x7e || n == ASK_VALUE_BYTES_MAX)
            return -2;
        out[n++] = (char)byte;
    }
    out[n] = '\0';
    return n;
}

bool ask_number(const struct ask *ask, const char *key, unsigned min, unsigned max, unsigned *value)
{
    char text[ASK_VALUE_BYTES_MAX + 1];
    const int n = ask_text(ask, key, text);
    if (n == -1)
        return true;
    if (n < 1 || n > 9)  // nine digits fit into unsigned
        return false;
    unsigned v = 0;
    for (int i = 0; i < n; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
        v = v * 10 + (unsigned)(text[i] - '0');
    }
    *value = v;
    return v >= min && v <= max;
}

bool ask_is(const struct ask *ask, const char *path)
{
    return ask->path_len == strlen(path) && memcmp(ask->path, path, ask->path_len) == 0;
}

static void trace_begin(struct c10m_conn *c)
{
    struct ask_conn *me = c10m_state(c);
    if (!me->begun)  // a request that waited for room has begun before
        c10m_request_begin(c);
    me->begun = true;
}

static void trace_end(struct c10m_conn *c)
{
    struct ask_conn *me = c10m_state(c);
    c10m_request_end(c);
    me->begun = false;
}

static void shut(struct c10m_conn *c)
{
    struct ask_conn *me = c10m_state(c);
    me->last = true;
    c10m_shutdown(c);
}

bool ask_room(struct c10m_conn *c, size_t len)
{
    if (c10m_send_room(c) >= len + ASK_FIXED_BYTES_MAX)
        return true;
    if (c10m_send_queued(c) == 0)
        c10m_abort(c);
    else
        c10m_want_writable(c);
    return false;
}

static void put_head(struct c10m_conn *c, bool keep, const char *status, const char *type,
                     size_t len)
{
    char head[ASK_FIXED_BYTES_MAX];
    const int n = snprintf(head, sizeof(head),
                           "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
                           status, type, len, keep ? "" : "Connection: close\r\n");
    c10m_send(c, head, (size_t)n);
}

void ask_head(struct c10m_conn *c, bool keep, const char *type, size_t len)
{
    put_head(c, keep, "200 OK", type, len);
}

void ask_answer(struct c10m_conn *c, bool keep, const char *status, const char *type,
                const void *body, size_t len)
{
    put_head(c, keep, status, type, len);
    c10m_send(c, body, len);
    if (!keep)
        shut(c);
}

void ask_refuse(struct c10m_conn *c, const char *status, const char *why)
{
    char line[128];
    const int n = snprintf(line, sizeof(line), "%s\n", why);
    ask_answer(c, false, status, "text/plain", line, (size_t)n);
}

static size_t refuse_parsed(struct c10m_conn *c, enum ask_parsed why, size_t len)
{
    if (!ask_room(c, 128))
        return 0;
    if (why == ASK_NOT_GET)
        ask_refuse(c, "405 Method Not Allowed", "only GET is served");
    else if (why == ASK_TOO_LONG)
        ask_refuse(c, "431 Request Header Fields Too Large", "at most 4096 bytes");
    else
        ask_refuse(c, "400 Bad Request", "this is no GET request without a body");
    return len;
}

// Handles one request. Returns how many bytes were consumed; 0: it waits.
static size_t serve_one(struct c10m_conn *c, const uint8_t *data, size_t len,
                        enum ask_handled (*handle)(struct c10m_conn *c, const struct ask *ask))
{
    struct ask_conn *me = c10m_state(c);
    struct ask ask;
    const enum ask_parsed parsed = ask_parse(data, len, &ask);
    if (parsed == ASK_INCOMPLETE)
        return 0;
    if (parsed != ASK_COMPLETE)
        return refuse_parsed(c, parsed, len);
    ask.keep &= !c10m_draining(c);
    trace_begin(c);
    const enum ask_handled handled = handle(c, &ask);
    if (handled == ASK_WAIT)
        return 0;
    if (handled == ASK_DONE)
        trace_end(c);
    me->heard = true;
    me->busy = handled == ASK_BUSY;
    return ask.bytes;
}

size_t ask_serve(struct c10m_conn *c, const uint8_t *data, size_t len,
                 enum ask_handled (*handle)(struct c10m_conn *c, const struct ask *ask))
{
    const struct ask_conn *me = c10m_state(c);
    size_t done = 0, n = 1;
    while (done < len && n != 0 && !me->busy && !me->last) {
        n = serve_one(c, data + done, len - done, handle);
        done += n;
    }
    if (me->busy)
        c10m_pause(c);
    return me->last ? len : done;
}

void ask_finish(struct c10m_conn *c, bool keep)
{
    struct ask_conn *me = c10m_state(c);
    me->busy = false;
    trace_end(c);
    if (!keep || me->ended || c10m_draining(c))
        shut(c);
    c10m_resume(c);
}

static void arm(struct c10m_conn *c)
{
    struct ask_conn *me = c10m_state(c);
    me->taken = c10m_send_taken(c);
    me->heard = false;
    c10m_set_timer(c, ASK_IDLE_MS);
}

void ask_open(struct c10m_conn *c)
{
    arm(c);
}

void ask_end(struct c10m_conn *c)
{
    struct ask_conn *me = c10m_state(c);
    me->ended = true;
    if (!me->busy)
        shut(c);
}

void ask_drain(struct c10m_conn *c)
{
    const struct ask_conn *me = c10m_state(c);
    if (!me->busy)
        shut(c);
}

void ask_idle(struct c10m_conn *c)
{
    const struct ask_conn *me = c10m_state(c);
    if (me->heard || me->taken != c10m_send_taken(c))
        arm(c);
    else
        c10m_abort(c);
}
