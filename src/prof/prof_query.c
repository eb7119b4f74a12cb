// SPDX-License-Identifier: BSD-3-Clause
#include "prof/prof_query.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEBUG_MAX = 2, NUMBER_BYTES = 33 };

static int hex(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10;
}

// decoded: the character at *at, which is moved behind it; -1: a malformed escape, or a control
// character.
static int decoded(const char **at)
{
    const char *p = *at;
    int c = *p == '+' ? ' ' : (unsigned char)*p;
    *at = p + 1;
    if (c == '%') {
        if (!isxdigit((unsigned char)p[1]) || !isxdigit((unsigned char)p[2]))
            return -1;
        c = hex(p[1]) << 4 | hex(p[2]);
        *at = p + 3;
    }
    return c < ' ' || c == 0x7f ? -1 : c;
}

// value_of: sets out[0..room) to the value of the first parameter `name`. Returns 1; 0: it is not
// given, or empty; -1 with *err.
static int value_of(const char *text, const char *name, char *out, size_t room, struct err *err)
{
    const size_t n = strlen(name);
    size_t len = 0;
    while (strncmp(text, name, n) != 0 || text[n] != '=') {
        text += strcspn(text, "&");
        if (*text++ == '\0')
            return 0;
    }
    for (text += n + 1; *text != '\0' && *text != '&';) {
        const int c = decoded(&text);
        if (c < 0)
            return err_set(err, "%s: expected text with percent escapes, no control character",
                           name);
        if (len + 1 == room)
            return err_set(err, "%s: expected at most %zu bytes", name, room - 1);
        out[len++] = (char)c;
    }
    out[len] = '\0';
    return len != 0;
}

static int number_of(const char *text, const char *name, unsigned most, unsigned *out,
                     struct err *err)
{
    char value[NUMBER_BYTES], *end;
    *out = 0;
    const int rc = value_of(text, name, value, sizeof(value), err);
    if (rc <= 0)
        return rc;
    const unsigned long v = strtoul(value, &end, 10);
    if (!isdigit((unsigned char)value[0]) || *end != '\0' || v > most)
        return err_set(err, "%s: expected a number from 0 to %u, got \"%s\"", name, most, value);
    *out = (unsigned)v;
    return 0;
}

static bool is_format(const char *name)
{
    static const char *const names[] = {"go", "perfetto", "chrome"};
    for (unsigned i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static int format_of(const char *text, struct prof_query *q, struct prof_words *w, struct err *err)
{
    const int rc = value_of(text, "format", w->format, sizeof(w->format), err);
    if (rc == 1 && !is_format(w->format))
        return err_set(err, "format: expected go, perfetto or chrome, got \"%s\"", w->format);
    q->format = rc == 1 ? w->format : NULL;
    return MIN(rc, 0);
}

static int filter_of(const char *text, struct prof_query *q, struct prof_words *w, struct err *err)
{
    const int rc = value_of(text, "filter", w->filter, sizeof(w->filter), err);
    q->filter = rc == 1 ? w->filter : NULL;
    return MIN(rc, 0);
}

int prof_query_parse(const struct prof_kind *kind, const char *text, struct prof_query *q,
                     struct prof_words *words, struct err *err)
{
    *q = (struct prof_query){0};
    if (number_of(text, "seconds", PROF_SECONDS_MAX, &q->seconds, err) != 0 ||
        number_of(text, "debug", DEBUG_MAX, &q->debug, err) != 0 ||
        format_of(text, q, words, err) != 0 || filter_of(text, q, words, err) != 0)
        return -1;
    if (kind->timed && q->seconds == 0)
        q->seconds = kind->seconds_default != 0 ? kind->seconds_default : PROF_SECONDS_DEFAULT;
    return 0;
}
