// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/http/web_pprof.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "prof/prof.h"
#include "prof/prof_starts.h"
#include "prof/prof_symbol.h"

static const char routes[] = "/debug/pprof";

bool web_is_pprof(const char *path)
{
    const size_t n = sizeof(routes) - 1;
    return path != NULL && strncmp(path, routes, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool is_route(const char *path, const char *name)
{
    return web_is_pprof(path) && path[sizeof(routes) - 1] == '/' &&
           strcmp(path + sizeof(routes), name) == 0;
}

bool web_pprof_posts(const char *path)
{
    return is_route(path, "symbol");
}

// cmdline: the arguments of this program, separated by bytes 0.
static void cmdline(struct web_answer *a)
{
    char piece[4096];
    ssize_t n;
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = read(fd, piece, sizeof(piece))) > 0)
        text_put(&a->text, piece, (size_t)n);
    if (fd >= 0)
        close(fd);
    if (a->text.len > 0)
        a->text.len--;  // the last byte 0 ends, and separates nothing
}

// ---- runs

enum { RETRY_S = 1 };
static_assert(PROF_STARTS_MS <= RETRY_S * 1000, "the client may begin one then");

static unsigned status_of(int code)
{
    switch (code) {
    case -EINVAL:
        return 400;
    case -EAGAIN:
        return 429;
    case -EBUSY:
        return 503;
    default:
        return 500;
    }
}

static void start(struct web *w, const struct web_request *r, const struct prof_kind *kind,
                  const struct prof_query *q, struct web_answer *a)
{
    struct err err = {.text = ""};
    const struct prof_order order = {
        .kind = kind, .query = *q, .client = r->client, .root = r->root};
    const int rc = prof_start(w->prof, &order, prof_clock_ms(), &a->run, &err);
    if (rc != 0)
        web_fail(w, a, status_of(rc), "%s: %s", kind->name, err.text);
    a->retry_s = rc == -EAGAIN ? RETRY_S : 0;
}

static void profile(struct web *w, const struct web_request *r, const struct prof_kind *kind,
                    struct web_answer *a)
{
    struct err err;
    struct prof_query q;
    struct prof_words words;
    if (prof_query_parse(kind, r->query, &q, &words, &err) != 0) {
        web_fail(w, a, 400, "%s", err.text);
        return;
    }
    a->type = kind->type(&q);
    a->attached = q.debug == 0 ? kind->name : NULL;
    a->empty = r->method == WEB_HEAD;
    if (!a->empty)
        start(w, r, kind, &q, a);
}

static void symbol(struct web *w, const struct web_request *r, struct web_answer *a)
{
    const struct prof_query q = {.filter = r->method == WEB_POST ? r->body : r->query};
    a->empty = r->method == WEB_HEAD;
    if (!a->empty)
        start(w, r, &prof_kind_symbol, &q, a);
}

bool web_pprof_waits(const struct web_answer *a)
{
    return a->run != NULL && prof_phase(a->run) != PROF_READY && prof_phase(a->run) != PROF_FAILED;
}

void web_pprof_ready(struct web *w, struct web_answer *a)
{
    struct err err;
    if (a->run == NULL)
        return;
    if (prof_phase(a->run) == PROF_FAILED) {
        err_set(&err, "%s", prof_error(a->run));
        web_fail(w, a, 500, "%s", err.text);
        return;
    }
    a->type = prof_type(a->run);
    a->bytes = text_str(prof_result(a->run));
    a->n_bytes = prof_result(a->run)->len;
}

void web_pprof_leave(struct web_answer *a)
{
    if (a->run != NULL)
        prof_end(a->run);
    a->run = NULL;
}

// ---- routes

// may_see_code: whether the client may learn where code lies in memory, which the kernel tells of a
// process to nobody but its owner, and may interrupt the workers: root, or with the token.
static bool may_see_code(struct web *w, const struct web_request *r, struct web_answer *a)
{
    if (w->token[0] != '\0' || r->root)
        return true;
    web_fail(w, a, 403,
             "without [control] http_token_file only root on this host may take this profile");
    return false;
}

// is_foreign: a browser asks for a page of another site, which cannot read the answer.
static bool is_foreign(const struct web_request *r)
{
    return r->site != NULL && strcmp(r->site, "same-origin") != 0 && strcmp(r->site, "none") != 0;
}

static void named(struct web *w, const struct web_request *r, const char *name,
                  struct web_answer *a)
{
    const struct prof_kind *kind = prof_kind_named(w->prof, name);
    if (strcmp(name, "cmdline") == 0)
        cmdline(a);
    else if (strcmp(name, "symbol") == 0 && may_see_code(w, r, a))
        symbol(w, r, a);
    else if (kind != NULL && (!kind->timed || may_see_code(w, r, a)))
        profile(w, r, kind, a);
    else if (kind == NULL && strcmp(name, "symbol") != 0)
        web_fail(w, a, 404, "Unknown profile");
}

void web_pprof(struct web *w, const struct web_request *r, struct web_answer *a)
{
    const char *name = r->path + sizeof(routes) - 1;
    if (is_foreign(r))
        web_fail(w, a, 403, "a page of another site may not take profiles");
    else if (name[0] == '\0') {
        a->status = 301;
        a->location = "pprof/";
    } else if (name[1] == '\0') {
        a->type = "text/html; charset=utf-8";
        web_pprof_index(w->prof, &a->text);
    } else
        named(w, r, name + 1, a);
}
