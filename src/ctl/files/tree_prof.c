// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/files/tree_prof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c10m/tree.h"

// prof_file: prof/NAME.
struct prof_file {
    struct ctl_prof_files *of;
    const struct prof_kind *kind;
};

struct ctl_prof_files {
    struct prof *prof;
    char query[PROF_QUERY_BYTES_MAX];
    unsigned n;
    struct prof_file files[];
};

// ---- prof/NAME

// reading: the cursor of one reader. run NULL: not begun.
struct reading {
    struct prof_run *run;
    size_t at;
};

static int start(struct reading *r, const struct prof_file *f)
{
    struct err err = {.text = ""};
    struct prof_query q;
    struct prof_words words;
    if (prof_query_parse(f->kind, f->of->query, &q, &words, &err) != 0)
        return tree_refuse(EINVAL, "%s", err.text);
    const struct prof_order order = {.kind = f->kind, .query = q, .client = "tree", .root = true};
    const int rc = prof_start(f->of->prof, &order, prof_clock_ms(), &r->run, &err);
    // EAGAIN would mean that there is no data yet: the tree asks again then.
    return rc == 0 ? 0 : tree_refuse(rc == -EAGAIN ? EBUSY : -rc, "%s", err.text);
}

static int put_piece(struct tree_out *out, struct reading *r)
{
    const struct text *result = prof_result(r->run);
    const size_t n = MIN(tree_room(out), result->len - r->at);
    tree_put(out, text_str(result) + r->at, n);
    r->at += n;
    return r->at < result->len;
}

static int file_next(struct tree_out *out, void *cursor, void *data)
{
    struct reading *r = cursor;
    const int rc = r->run == NULL ? start(r, data) : 0;
    if (rc != 0)
        return rc;
    switch (prof_phase(r->run)) {
    case PROF_READY:
        return put_piece(out, r);
    case PROF_FAILED:
        return tree_refuse(EIO, "%s", prof_error(r->run));
    default:
        return TREE_LATER;
    }
}

static void file_done(void *cursor, void *data)
{
    struct reading *r = cursor;
    if (r->run != NULL)
        prof_end(r->run);
}

// ---- prof/query, prof/runs, control/prof

static int query_read(struct tree_out *out, void *data)
{
    return tree_printf(out, "%s\n", ((const struct ctl_prof_files *)data)->query);
}

static int query_write(const char *buf, size_t n, void *data)
{
    static const struct prof_kind any = {.name = "any"};
    struct ctl_prof_files *f = data;
    char text[PROF_QUERY_BYTES_MAX];
    struct prof_query q;
    struct prof_words words;
    struct err err;
    n -= buf[n - 1] == '\n';
    if (n >= sizeof(text))
        return tree_refuse(EINVAL, "expected at most %zu bytes", sizeof(text) - 1);
    snprintf(text, sizeof(text), "%.*s", (int)n, buf);
    if (strlen(text) != n || strchr(text, '\n') != NULL)
        return tree_refuse(EINVAL, "expected one line, as seconds=5&debug=1");
    if (prof_query_parse(&any, text, &q, &words, &err) != 0)
        return tree_refuse(EINVAL, "%s", err.text);
    memcpy(f->query, text, n + 1);
    return 0;
}

static int runs_read(struct tree_out *out, void *data)
{
    prof_render_runs(((const struct ctl_prof_files *)data)->prof, prof_clock_ms(), tree_text(out));
    return 0;
}

static int counts_read(struct tree_out *out, void *data)
{
    prof_render(((const struct ctl_prof_files *)data)->prof, tree_text(out));
    return 0;
}

// ---- all

static bool add_files(struct ctl_prof_files *f, struct tree_node *root)
{
    static const struct tree_ops query = {.read = query_read, .write = query_write};
    static const struct tree_ops kind = {
        .next = file_next, .done = file_done, .cursor_bytes = sizeof(struct reading)};
    bool ok = tree_file(root, "prof/query", 0600, &query, f) != NULL &&
              tree_file_ro(root, "prof/runs", runs_read, f) != NULL &&
              tree_file_ro(root, "control/prof", counts_read, f) != NULL;
    for (unsigned i = 0; i < f->n && ok; i++) {
        char path[64];
        f->files[i] = (struct prof_file){f, prof_kind_at(f->prof, i)};
        snprintf(path, sizeof(path), "prof/%s", f->files[i].kind->name);
        ok = tree_file(root, path, 0400, &kind, &f->files[i]) != NULL;
    }
    return ok;
}

struct ctl_prof_files *ctl_prof_files_new(struct tree *t, struct prof *prof, struct err *err)
{
    unsigned n = 0;
    while (prof_kind_at(prof, n) != NULL)
        n++;
    struct ctl_prof_files *f = calloc(1, sizeof(*f) + n * sizeof(f->files[0]));
    if (f == NULL) {
        err_set(err, "no memory for prof/");
        return NULL;
    }
    f->prof = prof;
    f->n = n;
    if (add_files(f, tree_root(t)))
        return f;
    err_set(err, "control tree: %s", tree_error(tree_root(t)));
    free(f);  // the caller destroys the tree, whose entries do not touch it then
    return NULL;
}

void ctl_prof_files_free(struct ctl_prof_files *f)
{
    free(f);
}
