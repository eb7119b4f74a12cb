// SPDX-License-Identifier: BSD-3-Clause
// control_http_request.c: converts requests of libmicrohttpd to those of web_serve.h, and the
// answers back.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "c10m/tree.h"
#include "ctl/http/control_http_conn.h"
#include "ctl/http/web_pprof.h"

static enum web_method method_of(const char *name)
{
    static const char *const names[] = {
        [WEB_GET] = "GET", [WEB_HEAD] = "HEAD", [WEB_PUT] = "PUT", [WEB_POST] = "POST"};
    for (unsigned i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], name) == 0)
            return (enum web_method)i;
    return WEB_OTHER;
}

// header: the headers of a request that are used.
struct header {
    const char *name, *value;
    unsigned times;
};

static enum MHD_Result header_seen(void *cls, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    for (struct header *h = cls; h->name != NULL; h++)
        if (strcasecmp(h->name, name) == 0) {
            h->value = value == NULL ? "" : value;
            h->times++;
        }
    return MHD_YES;
}

// argument_seen: appends one parameter of the query, as it was sent.
static enum MHD_Result argument_seen(void *cls, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    struct text *query = cls;
    text_printf(query, "%s%s", query->len == 0 ? "" : "&", name);
    if (value != NULL)
        text_printf(query, "=%s", value);
    return MHD_YES;
}

static uint64_t announced(const char *length)
{
    return length == NULL ? 0 : strtoull(length, NULL, 10);
}

static struct web_request request_of(struct http_request *r, const char *path, const char *method,
                                     const char *version)
{
    enum { HOST, AUTHORIZATION, CONFIRMED, ACCEPT, LENGTH, SITE };
    struct header h[] = {{.name = "Host"},   {.name = "Authorization"},  {.name = "X-C10M"},
                         {.name = "Accept"}, {.name = "Content-Length"}, {.name = "Sec-Fetch-Site"},
                         {NULL, NULL, 0}};
    MHD_get_connection_values(r->mhd, MHD_HEADER_KIND, header_seen, h);
    return (struct web_request){.method = method_of(method),
                                .path = path,
                                .query = "",
                                .host = h[HOST].value,
                                .authorization = h[AUTHORIZATION].value,
                                .accept = h[ACCEPT].value,
                                .confirmed = h[CONFIRMED].value,
                                .site = h[SITE].value,
                                .old = strcmp(version, MHD_HTTP_VERSION_1_1) != 0,
                                .repeated = h[HOST].times > 1 || h[AUTHORIZATION].times > 1 ||
                                            h[CONFIRMED].times > 1 || h[LENGTH].times > 1,
                                .body_bytes = announced(h[LENGTH].value)};
}

// add_asker: what only the routes of profiles need to know.
static void add_asker(struct http_request *r, struct web_request *w)
{
    MHD_get_connection_values(r->mhd, MHD_GET_ARGUMENT_KIND, argument_seen, &r->query);
    w->query = text_str(&r->query);
    w->root = http_peer(r, r->client);
    w->client = r->client;
}

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

// next_piece: reads the next piece of the stream. Returns 0: there is a piece, or the end
// (piece_bytes 0); -EAGAIN: no data yet, *idle: the stream is idle; or another -errno.
static int next_piece(struct http_request *r, bool *idle)
{
    const uint64_t begin_us = now_us();
    const ssize_t n = tree_read(r->answer.handle, r->off, SIZE_MAX / 2, &r->piece);
    r->piece_bytes = n > 0 ? (size_t)n : 0;
    r->off += r->piece_bytes;
    *idle = now_us() - begin_us < HTTP_WORK_US;
    return n < 0 ? (int)n : 0;
}

// read_stream: the callback for the body of a stream. It fills the room; after the pieces allowed
// in this run, it continues in a later run.
static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t room)
{
    struct http_request *r = cls;
    bool idle;
    if (r->gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (r->piece_bytes == 0) {
        if (r->http->streams_left == 0) {
            http_wait(r, HTTP_SOON);
            return 0;
        }
        r->http->streams_left--;
        const int rc = next_piece(r, &idle);
        if (rc == -EAGAIN) {
            http_wait(r, idle ? HTTP_LATER : HTTP_SOON);
            return 0;
        }
        if (rc != 0 || r->piece_bytes == 0)
            return rc != 0 ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
    }
    const size_t n = MIN(room, r->piece_bytes);
    memcpy(buf, r->piece, n);
    r->piece += n;
    r->piece_bytes -= n;
    return (ssize_t)n;
}

static struct MHD_Response *response_of(struct http_request *r)
{
    struct web_answer *a = &r->answer;
    // Of a HEAD libmicrohttpd does not ask for pieces, but sends the last chunk, which ends
    // nothing: add_headers() tells the client not to use the connection again.
    if ((a->from_handle && a->stream) || a->empty)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, TREE_CHUNK_BYTES_MAX,
                                                 read_stream, r, NULL);
    const char *data = a->bytes != NULL ? a->bytes : text_str(&a->text);
    size_t n = a->bytes != NULL ? a->n_bytes : a->text.len;
    if (a->from_handle) {
        const ssize_t got = tree_read(a->handle, 0, SIZE_MAX / 2, &data);
        n = got > 0 ? (size_t)got : 0;
    }
    // The data belongs to the answer, which lives as long as the request.
    return MHD_create_response_from_buffer(n, (void *)(uintptr_t)data, MHD_RESPMEM_PERSISTENT);
}

static void add_retry(struct MHD_Response *m, unsigned seconds)
{
    char text[16];
    snprintf(text, sizeof(text), "%u", seconds);
    MHD_add_response_header(m, "Retry-After", text);
}

// add_pprof_headers: go tool pprof prints an error that has its header. It sends HTTP Basic
// unasked; browsers, which would keep the token and send it for pages of other sites too, are not
// asked.
static void add_pprof_headers(struct MHD_Response *m, const struct web_answer *a)
{
    char disposition[128];
    if (a->status >= 400)
        MHD_add_response_header(m, "X-Go-Pprof", "1");
    if (a->retry_s != 0)
        add_retry(m, a->retry_s);
    if (a->location != NULL)
        MHD_add_response_header(m, "Location", a->location);
    if (a->attached == NULL)
        return;
    snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"", a->attached);
    MHD_add_response_header(m, "Content-Disposition", disposition);
}

static void add_headers(struct MHD_Response *m, const struct web_answer *a)
{
    MHD_add_response_header(m, "Cache-Control", "no-store");
    MHD_add_response_header(m, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(m, "Content-Security-Policy",
                            "default-src 'none'; script-src 'self'; style-src 'self'; "
                            "img-src 'self' data:; connect-src 'self'; "
                            "frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
    if (a->status != 204)
        MHD_add_response_header(m, "Content-Type", a->type);
    if (a->empty)
        MHD_add_response_header(m, "Connection", "close");
    if (a->allow != NULL)
        MHD_add_response_header(m, "Allow", a->allow);
    if (a->challenge)
        MHD_add_response_header(m, "WWW-Authenticate", "Bearer realm=\"c10m\"");
}

// delivery_due_ms: a profile holds memory and one of few places until its client has taken it.
static uint64_t delivery_due_ms(const struct web_answer *a)
{
    const uint64_t ms = (HTTP_PROFILE_S + a->n_bytes / HTTP_PROFILE_BYTES_A_SECOND) * 1000;
    return a->run == NULL ? UINT64_MAX : http_now_ms() + ms;
}

static enum MHD_Result answer(struct http_request *r)
{
    struct MHD_Response *m = response_of(r);
    if (m == NULL)
        return MHD_NO;
    add_headers(m, &r->answer);
    if (r->pprof)
        add_pprof_headers(m, &r->answer);
    r->conn->due_ms = delivery_due_ms(&r->answer);
    const enum MHD_Result rc = MHD_queue_response(r->mhd, r->answer.status, m);
    MHD_destroy_response(m);
    return rc;
}

static struct http_request *request_new(struct ctl_http *h, struct MHD_Connection *mhd)
{
    struct http_request *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    r->http = h;
    r->mhd = mhd;
    r->conn = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    text_init(&r->body, TREE_WRITE_BYTES_MAX + 1);
    text_init(&r->query, HTTP_QUERY_BYTES_MAX);
    return r;
}

// append_body: stores the body up to one byte over the limit of a write. Sets *n to 0: all bytes
// were processed.
static enum MHD_Result append_body(struct http_request *r, const char *data, size_t *n)
{
    const size_t room = TREE_WRITE_BYTES_MAX + 1 - r->body.len;
    text_put(&r->body, data, MIN(room, *n));
    r->body_bytes += *n;
    *n = 0;
    return r->body_bytes <= HTTP_DISCARD_BYTES ? MHD_YES : MHD_NO;
}

// answer_or_wait: the answer, or if its run goes on, suspends the connection: libmicrohttpd calls
// http_handle() again when it resumes.
static enum MHD_Result answer_or_wait(struct http_request *r)
{
    if (r->gone)
        return MHD_NO;
    if (web_pprof_waits(&r->answer)) {
        r->conn->due_ms = UINT64_MAX;
        http_wait(r, HTTP_LATER);
        return MHD_YES;
    }
    web_pprof_ready(&r->http->web, &r->answer);
    return answer(r);
}

enum MHD_Result http_handle(void *cls, struct MHD_Connection *mhd, const char *path,
                            const char *method, const char *version, const char *data, size_t *n,
                            void **request)
{
    struct http_request *r = *request;
    if (r != NULL && *n > 0)
        return append_body(r, data, n);
    const bool first = r == NULL;
    if (first)
        *request = r = request_new(cls, mhd);
    if (r == NULL || r->conn == NULL)
        return MHD_NO;
    if (r->answer.run != NULL)
        return answer_or_wait(r);
    struct web_request w = request_of(r, path, method, version);
    r->pprof = web_is_pprof(path);
    if (first)
        return web_early(&r->http->web, &w, &r->answer) ? MHD_YES : answer(r);
    w.body = text_str(&r->body);
    w.body_bytes = r->body.len;
    if (r->pprof)
        add_asker(r, &w);
    if (r->query.error != 0)
        web_fail(&r->http->web, &r->answer, 414, "expected a query of at most %d bytes",
                 HTTP_QUERY_BYTES_MAX);
    else
        web_serve(&r->http->web, &w, &r->answer);
    return answer_or_wait(r);
}

void http_completed(void *cls, struct MHD_Connection *mhd, void **request,
                    enum MHD_RequestTerminationCode how)
{
    struct ctl_http *h = cls;
    struct http_request *r = *request;
    h->limits.timeouts += how == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED;
    h->limits.broken_off +=
        how == MHD_REQUEST_TERMINATED_WITH_ERROR || how == MHD_REQUEST_TERMINATED_CLIENT_ABORT;
    if (r == NULL)
        return;
    if (r->waits == HTTP_SOON)
        TAILQ_REMOVE(&h->soon, r, link);
    else if (r->waits == HTTP_LATER)
        TAILQ_REMOVE(&h->later, r, link);
    if (r->conn != NULL)
        r->conn->due_ms = http_now_ms() + HTTP_TIMEOUT_S * 1000;
    web_answer_free(&r->answer);
    text_free(&r->body);
    text_free(&r->query);
    free(r);
    *request = NULL;
}
