// SPDX-License-Identifier: BSD-3-Clause
#include "bench/go_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/go_unit.h"

enum { WORD_MAX = 64, NAME_MAX_BYTES = 192, UNITS_MAX = 64, DEPTH_MAX = 5 };

// The members that name the case, of the objects in an array.
static const struct {
    const char *array, *key;
} names[] = {
    {"rows", "connections"}, {"rows", "workers"},      {"rows", "pages"},   {"rows", "on_one_core"},
    {"pages", "page_bytes"}, {"pages", "transparent"}, {"memcpy", "bytes"}, {"curve", "bytes"},
    {"trials", "rate"},      {"trials", "cycles"},     {"largest", "rate"},
};

// Members that say nothing about speed, or follow from the others.
static const char *const left_out[] = {"cpu",     "other_cpu",    "tsc_hz",     "budget",
                                       "nodes",   "memory_bytes", "page_bytes", "tlb_pages",
                                       "packets", "pieces"};

// line: one line in the making.
struct line {
    const char *array;  // NULL: the top-level object
    char name[NAME_MAX_BYTES];
    struct text values;
    bool below;  // it has arrays
};

struct walk {
    const char *at;
    const char *bench;
    unsigned cpus, n_units;
    char units[UNITS_MAX][GO_UNIT_MAX];  // of which more is better
    struct text lines;
    bool bad;
};

static void value(struct walk *w, struct line *line, const char *parent, const char *key,
                  unsigned depth);

// ---- JSON as the benchmarks print it: strings without escapes

static char peek(struct walk *w)
{
    while (isspace((unsigned char)*w->at))
        w->at++;
    return *w->at;
}

static bool skip(struct walk *w, char c)
{
    if (peek(w) != c)
        return false;
    w->at++;
    return true;
}

static void expect(struct walk *w, char c)
{
    w->bad |= !skip(w, c);
}

// Up to one of `ends`.
static void word(struct walk *w, const char *ends, char out[WORD_MAX])
{
    const size_t n = strcspn(w->at, ends);
    w->bad |= n >= WORD_MAX || w->at[n] == '\0';
    if (w->bad)
        return;
    memcpy(out, w->at, n);
    out[n] = '\0';
    w->at += n;
}

static void quoted(struct walk *w, char out[WORD_MAX])
{
    expect(w, '"');
    word(w, "\"\\", out);
    expect(w, '"');
}

static void skip_value(struct walk *w)
{
    unsigned depth = 0;
    do {
        w->at += strcspn(w->at, depth == 0 ? "{}[],\"" : "{}[]\"");
        if (*w->at == '"')
            w->at += strcspn(w->at + 1, "\"") + 1;
        depth += *w->at == '{' || *w->at == '[';
        if (*w->at == '\0' || (depth == 0 && *w->at != '"'))
            break;
        depth -= *w->at == '}' || *w->at == ']';
        w->at++;
    } while (depth != 0);
}

// ---- lines

static bool names_case(const char *array, const char *key)
{
    for (size_t i = 0; array != NULL && i < ARRAY_LEN(names); i++)
        if (strcmp(names[i].array, array) == 0 && strcmp(names[i].key, key) == 0)
            return true;
    return false;
}

static bool is_left_out(const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(left_out); i++)
        if (strcmp(left_out[i], key) == 0)
            return true;
    return false;
}

static void add_name(struct walk *w, struct line *line, const char *key, const char *text)
{
    const size_t n = strlen(line->name);
    const int m = snprintf(line->name + n, sizeof(line->name) - n, "/%s%s%s", key,
                           text == NULL ? "" : "=", text == NULL ? "" : text);
    w->bad |= m < 0 || (size_t)m >= sizeof(line->name) - n;
}

static void note_unit(struct walk *w, const char *unit)
{
    for (unsigned i = 0; i < w->n_units; i++)
        if (strcmp(w->units[i], unit) == 0)
            return;
    w->bad |= w->n_units == UNITS_MAX;
    if (!w->bad)
        memcpy(w->units[w->n_units++], unit, GO_UNIT_MAX);
}

static void add_value(struct walk *w, struct line *line, const char *parent, const char *key,
                      const char *number)
{
    char unit[GO_UNIT_MAX] = "";
    double factor = 1;
    w->bad |= !go_unit(parent, key, unit, &factor);
    if (go_unit_more_is_better(unit))
        note_unit(w, unit);
    if (factor == 1)
        text_printf(&line->values, "\t%s %s", number, unit);
    else
        text_printf(&line->values, "\t%.0f %s", strtod(number, NULL) * factor, unit);
}

static void begin_line(struct walk *w, struct line *line, const char *array)
{
    *line = (struct line){.array = array};
    text_init(&line->values, GO_TEXT_BYTES_MAX);
    snprintf(line->name, sizeof(line->name), "%c%s", toupper((unsigned char)w->bench[0]),
             w->bench + 1);
    if (array != NULL && strcmp(array, "rows") != 0)
        add_name(w, line, array, NULL);
}

static void end_line(struct walk *w, struct line *line)
{
    if (line->values.len != 0 && !line->below)
        text_printf(&w->lines, "Benchmark%s-%u\t1%s\n", line->name, w->cpus,
                    text_str(&line->values));
    w->bad |= line->values.error != 0;
    text_free(&line->values);
}

// ---- from one to the other

static void scalar(struct walk *w, struct line *line, const char *parent, const char *key)
{
    char text[WORD_MAX] = "", *end = text;
    const bool string = peek(w) == '"';
    if (string)
        quoted(w, text);
    else
        word(w, ",}] \n", text);
    const bool number = !string && (strtod(text, &end), end != text && *end == '\0');
    if (names_case(line->array, key))
        add_name(w, line, key, text);
    else if (number && parent != NULL && strcmp(parent, "ns") == 0)
        text_printf(&w->lines, "Benchmark%s/%s-%u\t1\t%s ns/op\n", line->name, key, w->cpus, text);
    else if (number)
        add_value(w, line, parent, key, text);
}

static void object(struct walk *w, struct line *line, const char *parent, unsigned depth)
{
    expect(w, '{');
    if (skip(w, '}'))
        return;
    do {
        char key[WORD_MAX] = "";
        quoted(w, key);
        expect(w, ':');
        if (!w->bad)
            value(w, line, parent, key, depth + 1);
    } while (!w->bad && skip(w, ','));
    expect(w, '}');
}

static void array(struct walk *w, const char *key, unsigned depth)
{
    expect(w, '[');
    if (skip(w, ']'))
        return;
    do {
        struct line line;
        begin_line(w, &line, key);
        object(w, &line, NULL, depth + 1);
        end_line(w, &line);
    } while (!w->bad && skip(w, ','));
    expect(w, ']');
}

static void value(struct walk *w, struct line *line, const char *parent, const char *key,
                  unsigned depth)
{
    w->bad |= depth > DEPTH_MAX;
    if (w->bad)
        return;
    if (is_left_out(key) && !names_case(line->array, key)) {
        skip_value(w);
    } else if (peek(w) == '[') {
        line->below = true;
        array(w, key, depth);
    } else if (peek(w) == '{') {
        object(w, line, key, depth);
    } else {
        scalar(w, line, parent, key);
    }
}

int go_text(const char *json, const char *name, unsigned cpus, struct text *out)
{
    static struct walk w;
    struct line top;
    w = (struct walk){.at = json, .bench = name, .cpus = cpus};
    text_init(&w.lines, GO_TEXT_BYTES_MAX);
    begin_line(&w, &top, NULL);
    object(&w, &top, NULL, 0);
    end_line(&w, &top);
    w.bad |= peek(&w) != '\0' || w.lines.error != 0;
    for (unsigned i = 0; !w.bad && i < w.n_units; i++)
        text_printf(out, "Unit %s better=higher\n", w.units[i]);
    if (!w.bad)
        text_put(out, text_str(&w.lines), w.lines.len);
    text_free(&w.lines);
    return w.bad || out->error != 0 ? -1 : 0;
}

void go_text_head(struct text *out)
{
    char line[256];
    text_printf(out, "goos: linux\ngoarch: amd64\npkg: c10m\n");
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
            text_printf(out, "cpu:%s", strchr(line, ':') + 1);
            break;
        }
    if (f != NULL)
        fclose(f);
}
