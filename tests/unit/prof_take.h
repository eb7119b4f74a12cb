// SPDX-License-Identifier: BSD-3-Clause
// prof_take.h: runs a kind of profile and adds up what its text says.
#pragma once
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prof/prof_kind.h"

enum { PROF_TAKE_BYTES = 4 << 20 };

// prof_taken: the text of a run of `debug`; the caller frees it. prof_begun, prof_ended: its parts;
// prof_written: the end of one that was stopped.
static inline void *prof_begun(const struct prof_kind *k, const struct prof_shown *s,
                               const struct prof_query *q)
{
    struct err err = {.text = ""};
    void *state = NULL;
    CHECK(k->begin(s, q, &state, &err) == 0);
    return state;
}

static inline char *prof_written(const struct prof_kind *k, void *state)
{
    struct err err = {.text = ""};
    struct text out;
    text_init(&out, PROF_TAKE_BYTES);
    CHECK(k->write(state, &out, &err) == 0);
    k->release(state);
    char *text = strdup(text_str(&out));
    text_free(&out);
    return text;
}

static inline char *prof_ended(const struct prof_kind *k, void *state)
{
    struct err err = {.text = ""};
    int rc;
    do
        rc = k->stop(state, &err);
    while (rc == PROF_LATER);
    CHECK(rc == 0);
    return prof_written(k, state);
}

static inline char *prof_taken(const struct prof_kind *k, const struct prof_shown *s,
                               unsigned debug, const char *filter)
{
    const struct prof_query q = {.debug = debug, .filter = filter};
    return prof_ended(k, prof_begun(k, s, &q));
}

// prof_sum: value number i of all samples that have a frame of each of the names; NULL: no name.
static inline int64_t prof_sum(const char *text, unsigned i, const char *name, const char *other)
{
    char first[128], second[128];
    int64_t sum = 0;
    snprintf(first, sizeof(first), "#\t0x0\t%s\n", name == NULL ? "" : name);
    snprintf(second, sizeof(second), "#\t0x0\t%s\n", other == NULL ? "" : other);
    const char *at = strchr(text, '\n');
    while (at != NULL && at[1] != '\0' && at[1] != '#') {
        const char *sample = at + 1, *end = strstr(sample, "\n\n");
        CHECK(end != NULL);
        char *copy = strndup(sample, (size_t)(end + 1 - sample)), *value = copy;
        int64_t v = strtoll(value, &value, 10);
        for (unsigned k = 0; k < i; k++)
            v = strtoll(value, &value, 10);
        if ((name == NULL || strstr(copy, first) != NULL) &&
            (other == NULL || strstr(copy, second) != NULL))
            sum += v;
        free(copy);
        at = end + 1;
    }
    return sum;
}
