// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_change.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void doctor_changes_init(struct doctor_changes *c)
{
    *c = (struct doctor_changes){.row = ""};
    c->at = calloc(DOCTOR_CHANGES_MAX, sizeof(*c->at));
    c->error = c->at == NULL;
}

void doctor_change_free(struct doctor_change *c)
{
    free(c->was);
    free(c->want);
    c->was = c->want = NULL;
}

void doctor_changes_free(struct doctor_changes *c)
{
    for (unsigned i = 0; i < c->n; i++)
        doctor_change_free(&c->at[i]);
    free(c->at);
    *c = (struct doctor_changes){.row = ""};
}

bool doctor_value_same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

struct doctor_change *doctor_changes_add(struct doctor_changes *c, const struct doctor_host *h,
                                         enum doctor_change_kind kind, const char *path,
                                         const char *want)
{
    if (c->error || c->n == DOCTOR_CHANGES_MAX) {
        c->error = true;
        return NULL;
    }
    struct doctor_change new = {.kind = kind};
    snprintf(new.row, sizeof(new.row), "%s", c->row);
    snprintf(new.path, sizeof(new.path), "%s", path);
    new.was = doctor_value_read(h, kind, path);
    new.want = want == NULL ? NULL : strdup(want);
    c->error = want != NULL && new.want == NULL;
    if (c->error || doctor_value_same(new.was, new.want)) {
        doctor_change_free(&new);
        return NULL;
    }
    c->at[c->n] = new;
    return &c->at[c->n++];
}

void doctor_changes_add_dir(struct doctor_changes *c, const struct doctor_host *h, const char *path)
{
    char at[DOCTOR_PATH_BYTES];
    snprintf(at, sizeof(at), "%s", path);
    for (char *slash = strchr(at + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL)
            *slash = '\0';
        if (!doctor_exists(h, at))
            doctor_changes_add(c, h, DOCTOR_DIR, at, "");
        if (slash == NULL)
            return;
        *slash = '/';
    }
}

static const char *const kind_names[DOCTOR_KINDS] = {"line",      "choice", "mask",  "file",
                                                     "directory", "module", "driver"};

const char *doctor_kind_name(enum doctor_change_kind kind)
{
    return kind_names[kind];
}

enum doctor_change_kind doctor_kind_find(const char *name)
{
    unsigned kind = 0;
    while (kind < DOCTOR_KINDS && strcmp(kind_names[kind], name) != 0)
        kind++;
    return kind;
}

bool doctor_kind_on_disk(enum doctor_change_kind kind)
{
    return kind == DOCTOR_FILE || kind == DOCTOR_DIR;
}

// lines_only_in: the lines of `text` that `other` does not have, each after `before`.
static void lines_only_in(const char *text, const char *other, const char *before, struct text *out)
{
    while (text != NULL && *text != '\0') {
        const size_t len = strcspn(text, "\n");
        bool found = false;
        for (const char *at = other; !found && at != NULL && *at != '\0';) {
            const size_t n = strcspn(at, "\n");
            found = n == len && memcmp(at, text, len) == 0;
            at += n + (at[n] == '\n');
        }
        if (!found)
            text_printf(out, "\n    %s %.*s", before, (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static void print_file(const char *path, const char *from, const char *to, struct text *out)
{
    text_printf(out, to == NULL ? "remove %s" : from == NULL ? "create %s" : "change %s", path);
    lines_only_in(from, to, "-", out);
    lines_only_in(to, from, "+", out);
}

static const char *shown(const char *value)
{
    return value == NULL ? "nothing" : value[0] == '\0' ? "\"\"" : value;
}

void doctor_change_print(const struct doctor_change *c, const char *from, const char *to,
                         struct text *out)
{
    if (c->kind == DOCTOR_FILE)
        print_file(c->path, from, to, out);
    else if (c->kind == DOCTOR_DIR)
        text_printf(out, to == NULL ? "remove directory %s" : "create directory %s", c->path);
    else if (c->kind == DOCTOR_MODULE)
        text_printf(out, to == NULL ? "modprobe -r %s" : "modprobe %s", c->path);
    else if (c->kind == DOCTOR_DRIVER)
        text_printf(out, "%s: driver and override: %s -> %s", c->path, shown(from), shown(to));
    else
        text_printf(out, "%s: %s -> %s", c->path, shown(from), shown(to));
    if (c->restart[0] != '\0')
        text_printf(out, "\n    and restart %s", c->restart);
}
