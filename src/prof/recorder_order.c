// SPDX-License-Identifier: BSD-3-Clause
#include "prof/recorder_order.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "prof/recorder.h"

static int refuse(int rc, struct err *err, const char *what, const char *word)
{
    err_set(err, "expected %s, got \"%s\"", what, word);
    return rc;
}

// number: digits and a unit.
static int number(const char *word, const char *unit, unsigned *out)
{
    char *end;
    if (!isdigit((unsigned char)word[0]))
        return -EINVAL;
    const unsigned long v = strtoul(word, &end, 10);
    if (strcmp(end, unit) != 0)
        return -EINVAL;
    *out = (unsigned)MIN(v, (unsigned long)UINT32_MAX);
    return 0;
}

// microseconds: `500us`, `2ms` or `1s`.
static int microseconds(const char *word, unsigned *out)
{
    static const struct {
        const char *unit;
        unsigned us;
    } units[] = {{"us", 1}, {"ms", 1000}, {"s", 1000000}};
    for (unsigned i = 0; i < ARRAY_LEN(units); i++)
        if (number(word, units[i].unit, out) == 0) {
            *out = (unsigned)MIN((uint64_t)*out * units[i].us, (uint64_t)UINT32_MAX);
            return 0;
        }
    return -EINVAL;
}

static enum drop_reason reason_of(const char *name)
{
    for (unsigned i = DROP_NONE + 1; i < DROP_COUNT; i++)
        if (strcmp(stat_drop_names[i].name, name) == 0)
            return (enum drop_reason)i;
    return DROP_NONE;
}

static int condition(const char *what, const char *value, struct recorder_when *out,
                     struct err *err)
{
    if (strcmp(what, "drop") == 0) {
        out->reason = reason_of(value);
        return out->reason != DROP_NONE
                   ? 0
                   : refuse(-EINVAL, err, "a reason as in cores/N/drops", value);
    }
    if (strcmp(what, "stall") != 0)
        return refuse(-EINVAL, err, "off, stall or drop", what);
    if (microseconds(value, &out->stall_us) != 0)
        return refuse(-EINVAL, err, "a time as 500us or 2ms", value);
    if (out->stall_us < RECORDER_US_MIN || out->stall_us > RECORDER_US_MAX)
        return refuse(-ERANGE, err, "a time from 100us to 60s", value);
    return 0;
}

static int seconds(const char *word, struct recorder_when *out, struct err *err)
{
    if (number(word, "s", &out->seconds) != 0)
        return refuse(-EINVAL, err, "how much to keep, as 2s", word);
    if (out->seconds == 0 || out->seconds > RECORDER_SECONDS_MAX)
        return refuse(-ERANGE, err, "a time from 1s to 60s", word);
    return 0;
}

int recorder_when_parse(char *line, struct recorder_when *out, struct err *err)
{
    char *words[RECORDER_WORDS_MAX];
    const int n = words_split(line, words, RECORDER_WORDS_MAX);
    *out = (struct recorder_when){.reason = DROP_NONE};
    if (n == 1 && strcmp(words[0], "off") == 0)
        return 0;
    if (n < 3 || n % 2 == 0)
        return refuse(-EINVAL, err, "off, or a condition and a time as: stall 500us 2s",
                      n > 0 ? words[0] : "");
    for (int i = 0; i + 1 < n; i += 2) {
        const int rc = condition(words[i], words[i + 1], out, err);
        if (rc != 0)
            return rc;
    }
    return seconds(words[n - 1], out, err);
}
