// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGES_SHOWN = 3, SHOWN_BYTES = 1 << 20 };

// seen: a row, what was found, and what the fix would change.
struct seen {
    const struct doctor_row *row;
    struct doctor_finding finding;
    struct doctor_changes changes;
};

static void see(const struct doctor *d, const struct doctor_row *row, struct seen *s)
{
    s->row = row;
    doctor_look(d, row, &s->finding);
    doctor_changes_init(&s->changes);
    s->changes.row = row->name;
    if (row->plan != NULL && s->finding.state >= DOCTOR_WARN)
        row->plan(d, &s->changes);
}

static void forget(struct seen *s)
{
    doctor_finding_free(&s->finding);
    doctor_changes_free(&s->changes);
}

// ---- text

static void put_wrapped(FILE *to, const char *before, const char *text)
{
    enum { WIDTH = 100 };
    size_t at = strlen(before);
    fputs(before, to);
    while (*text != '\0') {
        const size_t word = strcspn(text, " ");
        if (at + word > WIDTH) {
            fprintf(to, "\n%*s", (int)strlen(before), "");
            at = strlen(before);
        }
        fprintf(to, "%.*s", (int)word, text);
        at += word + 1;
        text += word;
        text += *text == ' ';
        if (*text != '\0' && at + strcspn(text, " ") <= WIDTH)
            fputc(' ', to);
    }
    fputc('\n', to);
}

static void put_lines(FILE *to, const char *before, const char *lines)
{
    while (*lines != '\0') {
        const size_t len = strcspn(lines, "\n");
        char *line = strndup(lines, len);
        if (line != NULL)
            put_wrapped(to, before, line);
        free(line);
        lines += len + (lines[len] == '\n');
    }
}

// put_change: the lines of a file that changes stand below its path.
static void put_change(FILE *to, const char *text)
{
    static const char before[] = "         fix      ";
    fputs(before, to);
    for (; *text != '\0'; text++) {
        fputc(*text, to);
        if (*text == '\n')
            fprintf(to, "%*s", (int)sizeof(before) - 1, "");
    }
    fputc('\n', to);
}

static void put_changes(FILE *to, const struct seen *s, unsigned most)
{
    for (unsigned i = 0; i < s->changes.n && i < most; i++) {
        struct text text;
        text_init(&text, SHOWN_BYTES);
        doctor_change_print(&s->changes.at[i], s->changes.at[i].was, s->changes.at[i].want, &text);
        put_change(to, text_str(&text));
        text_free(&text);
    }
    if (s->changes.n > most)
        fprintf(to, "         fix      and %u more (c10m doctor fix %s --dry-run)\n",
                s->changes.n - most, s->row->name);
}

static void put_row(FILE *to, const struct seen *s)
{
    char head[64];
    snprintf(head, sizeof(head), "%-7s  %-15s ", doctor_state_name(s->finding.state), s->row->name);
    put_wrapped(to, head, text_str(&s->finding.value));
    if (s->finding.state < DOCTOR_WARN)
        return;
    put_wrapped(to, "         why      ", s->row->why);
    put_changes(to, s, CHANGES_SHOWN);
    put_lines(to, "         by hand  ", text_str(&s->finding.by_hand));
}

// ---- JSON

// text_json: what is not UTF-8 is shown with "?" in place of each of its bytes above 127.
static json_t *text_json(const char *text)
{
    json_t *value = json_string(text);
    char *copy = value == NULL ? strdup(text) : NULL;
    for (char *c = copy; c != NULL && *c != '\0'; c++)
        *c = (unsigned char)*c > 0x7f ? '?' : *c;
    if (copy != NULL)
        value = json_string(copy);
    free(copy);
    return value;
}

static json_t *value_json(const char *value)
{
    return value == NULL ? json_null() : text_json(value);
}

static json_t *change_json(const struct doctor_change *c, const char *from, const char *to)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "row", c->row, "kind", doctor_kind_name(c->kind),
                     "path", c->path, "from", value_json(from), "to", value_json(to));
}

static json_t *lines_json(const char *lines)
{
    json_t *list = json_array();
    while (*lines != '\0') {
        const size_t len = strcspn(lines, "\n");
        char *line = strndup(lines, len);
        json_array_append_new(list, line == NULL ? json_null() : text_json(line));
        free(line);
        lines += len + (lines[len] == '\n');
    }
    return list;
}

static json_t *row_json(const struct seen *s)
{
    json_t *changes = json_array();
    for (unsigned i = 0; i < s->changes.n; i++) {
        const struct doctor_change *c = &s->changes.at[i];
        json_array_append_new(changes, change_json(c, c->was, c->want));
    }
    return json_pack("{s:s, s:s, s:o, s:s, s:s, s:b, s:o, s:o}", "row", s->row->name, "state",
                     doctor_state_name(s->finding.state), "value",
                     text_json(text_str(&s->finding.value)), "help", s->row->help, "why",
                     s->row->why, "stops", (int)s->row->stops, "fix", changes, "by_hand",
                     lines_json(text_str(&s->finding.by_hand)));
}

static void put_json(FILE *to, json_t *value, size_t flags)
{
    json_dumpf(value, to, flags);
    fputc('\n', to);
    json_decref(value);
}

// ---- commands

static void put_summary(FILE *to, const unsigned n[DOCTOR_STATES])
{
    fprintf(to, "%u ok, %u warnings, %u failed, %u unknown, %u not applicable\n", n[DOCTOR_OK],
            n[DOCTOR_WARN], n[DOCTOR_FAIL], n[DOCTOR_UNKNOWN], n[DOCTOR_NONE]);
    if (n[DOCTOR_WARN] + n[DOCTOR_FAIL] != 0)
        fputs("c10m doctor explain ROW says more; fix [ROW...] makes the changes, undo takes them "
              "back\n",
              to);
}

unsigned doctor_check(const struct doctor *d, const struct doctor_rows_asked *asked, bool json,
                      FILE *to)
{
    unsigned n[DOCTOR_STATES] = {0};
    json_t *list = json ? json_array() : NULL;
    for (unsigned i = 0; i < (asked->n == 0 ? doctor_n_rows : asked->n); i++) {
        struct seen s;
        see(d, asked->n == 0 ? &doctor_rows[i] : asked->rows[i], &s);
        n[s.finding.state]++;
        if (json)
            json_array_append_new(list, row_json(&s));
        else
            put_row(to, &s);
        forget(&s);
    }
    if (json)
        put_json(to,
                 json_pack("{s:o, s:i, s:i, s:i, s:i, s:i}", "rows", list, "ok", (int)n[DOCTOR_OK],
                           "warn", (int)n[DOCTOR_WARN], "fail", (int)n[DOCTOR_FAIL], "unknown",
                           (int)n[DOCTOR_UNKNOWN], "not_applicable", (int)n[DOCTOR_NONE]),
                 JSON_INDENT(1));
    else
        put_summary(to, n);
    return n[DOCTOR_FAIL];
}

void doctor_explain(const struct doctor *d, const struct doctor_row *row, bool json, FILE *to)
{
    struct seen s;
    see(d, row, &s);
    if (json) {
        put_json(to, row_json(&s), JSON_INDENT(1));
        forget(&s);
        return;
    }
    fprintf(to, "%s: %s\n", row->name, row->help);
    put_wrapped(to, "why      ", row->why);
    fprintf(to, "state    %s%s\n", doctor_state_name(s.finding.state),
            row->stops ? " (a failure stops c10m serve)" : "");
    put_wrapped(to, "value    ", text_str(&s.finding.value));
    if (row->plan == NULL)
        fputs("fix      none: this row is mended by hand\n", to);
    else if (s.changes.n == 0)
        fputs("fix      nothing to change\n", to);
    put_changes(to, &s, UINT32_MAX);
    put_lines(to, "by hand  ", text_str(&s.finding.by_hand));
    forget(&s);
}

void doctor_tell_text(void *arg, enum doctor_event event, const struct doctor_change *c,
                      const char *from, const char *to, const char *why)
{
    FILE *out = arg;
    struct text text;
    if (event == DOCTOR_MADE)
        return;
    if (event == DOCTOR_PAST) {
        fprintf(out, "%s: %s: dropped from the record: a reboot has undone this change\n", c->row,
                c->path);
    } else if (event == DOCTOR_BEGINS) {
        text_init(&text, SHOWN_BYTES);
        doctor_change_print(c, from, to, &text);
        fprintf(out, "%s: %s\n", c->row, text_str(&text));
        text_free(&text);
    } else {
        fprintf(out, "    %s: %s\n", event == DOCTOR_REFUSED ? "left as it is" : "failed", why);
    }
    fflush(out);
}

void doctor_tell_json(void *arg, enum doctor_event event, const struct doctor_change *c,
                      const char *from, const char *to, const char *why)
{
    static const char *const names[DOCTOR_EVENTS] = {"begins", "made", "refused", "failed", "past"};
    FILE *out = arg;
    json_t *line = change_json(c, from, to);
    json_object_set_new(line, "event", json_string(names[event]));
    if (why[0] != '\0')
        json_object_set_new(line, "why", text_json(why));
    put_json(out, line, JSON_COMPACT);
    fflush(out);
}
