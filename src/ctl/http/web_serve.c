// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/http/web_serve.h"

#include <errno.h>
#include <string.h>

#include "c10m/tree.h"
#include "ctl/http/web_auth.h"
#include "ctl/http/web_pprof.h"
#include "ctl/http/web_static.h"

const char web_plain[] = "text/plain; charset=utf-8";

static void answer_init(struct web_answer *a, unsigned status, const char *type)
{
    *a = (struct web_answer){.status = status, .type = type};
    text_init(&a->text, WEB_TEXT_BYTES_MAX);
}

void web_answer_free(struct web_answer *a)
{
    if (a->handle != NULL)
        tree_close(a->handle);
    a->handle = NULL;
    web_pprof_leave(a);
    text_free(&a->text);
}

static void error_text(struct web_answer *a, unsigned status, const char *format, va_list ap)
{
    web_answer_free(a);
    answer_init(a, status, web_plain);
    text_vprintf(&a->text, format, ap);
    text_put(&a->text, "\n", 1);
}

void web_error(struct web_answer *a, unsigned status, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    error_text(a, status, format, ap);
    va_end(ap);
}

struct status_of {
    int code;
    unsigned reading, writing;
};

static const struct status_of statuses[] = {
    {EINVAL, 400, 400},  {ERANGE, 400, 400}, {EACCES, 403, 403},       {EPERM, 403, 403},
    {EXDEV, 403, 403},   {ENOENT, 404, 404}, {ENOTDIR, 404, 404},      {ELOOP, 404, 404},
    {EISDIR, 405, 405},  {EBUSY, 409, 409},  {ENAMETOOLONG, 414, 414}, {EFBIG, 503, 413},
    {ENOBUFS, 503, 503}, {ENFILE, 503, 503}, {EMFILE, 503, 503},       {ENOMEM, 503, 503},
};

static void count_status(struct web_counts *c, unsigned status)
{
    c->refused_mode += status == 403;
    c->not_found += status == 404;
    c->too_large += status == 413;
    c->failed += status >= 500;
}

void web_fail(struct web *w, struct web_answer *a, unsigned status, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    error_text(a, status, format, ap);
    va_end(ap);
    count_status(&w->counts, status);
}

void web_errno(struct web *w, struct web_answer *a, int code, bool writing, const char *path)
{
    unsigned status = 500;
    for (unsigned i = 0; i < ARRAY_LEN(statuses); i++)
        if (statuses[i].code == -code)
            status = writing ? statuses[i].writing : statuses[i].reading;
    const char *reason = tree_reason();
    web_error(a, status, "/%s: %s%s%s", path, strerror(-code), reason[0] == '\0' ? "" : ": ",
              reason);
    if (status == 405)
        a->allow = "GET, HEAD";
    count_status(&w->counts, status);
}

static const struct web_static *page_of(const struct web *w, const char *path)
{
    for (unsigned i = 0; path != NULL && i < w->n_statics; i++)
        if (strcmp(w->statics[i].path, path) == 0)
            return &w->statics[i];
    return NULL;
}

static bool refuse_method(struct web_answer *a, const char *allow)
{
    web_error(a, 405, "expected %s", allow);
    a->allow = allow;
    return false;
}

static bool is_proc(const char *path)
{
    return strncmp(path, "/proc", 5) == 0 && (path[5] == '/' || path[5] == '\0');
}

static bool refuse(uint64_t *counter, struct web_answer *a, unsigned status, const char *why)
{
    ++*counter;
    web_error(a, status, "%s", why);
    return false;
}

// who: whether the client may send requests at all.
static bool who(struct web *w, const struct web_request *r, struct web_answer *a)
{
    struct web_counts *c = &w->counts;
    if (r->repeated)
        return refuse(&c->bad_requests, a, 400, "a header that may occur once occurs twice");
    if (r->host == NULL && !r->old)
        return refuse(&c->bad_requests, a, 400, "expected a Host header");
    if (r->host != NULL && !web_host_good(r->host, w->name))
        return refuse(&c->refused_host, a, 421,
                      "expected an address, localhost or the server's name as Host");
    if (w->token[0] == '\0' || web_token_good(r->authorization, w->token))
        return true;
    if (web_is_pprof(r->path) && web_password_good(r->authorization, w->token))
        return true;
    // The page, which asks the user for the token, is served without a token.
    if ((r->method == WEB_GET || r->method == WEB_HEAD) && page_of(w, r->path) != NULL)
        return true;
    refuse(&c->refused_token, a, 401, "expected Authorization: Bearer TOKEN");
    a->challenge = true;
    return false;
}

// allowed: the methods of the path.
static const char *allowed(const struct web_request *r)
{
    return is_proc(r->path)           ? "GET, HEAD, PUT, POST"
           : web_pprof_posts(r->path) ? "GET, HEAD, POST"
                                      : "GET, HEAD";
}

static bool may_use(const struct web_request *r)
{
    static const char *const names[] = {
        [WEB_GET] = "GET", [WEB_HEAD] = "HEAD", [WEB_PUT] = "PUT", [WEB_POST] = "POST"};
    return r->method != WEB_OTHER && strstr(allowed(r), names[r->method]) != NULL;
}

bool web_early(struct web *w, const struct web_request *r, struct web_answer *a)
{
    const bool writes = r->method == WEB_PUT || r->method == WEB_POST;
    answer_init(a, 200, web_plain);
    w->counts.requests++;
    if (!who(w, r, a))
        return false;
    if (r->path == NULL || r->path[0] != '/' || strlen(r->path) >= WEB_PATH_BYTES_MAX)
        return refuse(&w->counts.bad_paths, a, 400, "expected a path that begins with /");
    if (!may_use(r))
        return refuse_method(a, allowed(r));
    if (writes && is_proc(r->path) && (r->confirmed == NULL || strcmp(r->confirmed, "1") != 0))
        return refuse(&w->counts.refused_unconfirmed, a, 403,
                      "a write requires the header X-C10M: 1");
    if (r->body_bytes > TREE_WRITE_BYTES_MAX)
        return refuse(&w->counts.too_large, a, 413, "the body exceeds the limit of one write");
    return true;
}

static void rendered(struct web *w, struct web_answer *a, const char *type,
                     int (*render)(const struct ctl_shown *s, struct text *out))
{
    a->type = type;
    if (render(w->metrics_arg, &a->text) == 0 && a->text.error == 0)
        return;
    w->counts.failed++;
    web_error(a, 503, "the answer is too large: %s", strerror(ENOBUFS));
}

static bool static_page(const struct web *w, const char *path, struct web_answer *a)
{
    const struct web_static *page = page_of(w, path);
    if (page == NULL)
        return false;
    a->type = page->type;
    a->bytes = page->bytes;
    a->n_bytes = page->n;
    return true;
}

void web_serve(struct web *w, const struct web_request *r, struct web_answer *a)
{
    answer_init(a, 200, web_plain);
    if (is_proc(r->path)) {
        web_proc(w, r, r->path + 5, w->token[0] != '\0', a);
        a->empty = a->stream && r->method == WEB_HEAD;
    } else if (strcmp(r->path, "/metrics") == 0 && w->metrics != NULL)
        rendered(w, a, "text/plain; version=0.0.4; charset=utf-8", w->metrics);
    else if (strcmp(r->path, "/history") == 0 && w->history != NULL)
        rendered(w, a, "application/json", w->history);
    else if (w->prof != NULL && web_is_pprof(r->path))
        web_pprof(w, r, a);
    else if (!static_page(w, r->path, a))
        web_fail(w, a, 404, "not found");
}
