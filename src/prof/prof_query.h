// SPDX-License-Identifier: BSD-3-Clause
// prof_query.h: the parameters of a request for a profile, as the query of a URL:
// `seconds=5&debug=1&format=perfetto&filter=...`. Parameters of other names are ignored, and of one
// that is given twice the first counts, both as in Go.
#pragma once
#include "prof/prof_kind.h"

enum { PROF_QUERY_BYTES_MAX = 4096, PROF_FORMAT_BYTES = 16, PROF_FILTER_BYTES = 512 };

// prof_words: the strings that a query points to.
struct prof_words {
    char format[PROF_FORMAT_BYTES], filter[PROF_FILTER_BYTES];
};

// prof_query_parse: sets *q from the text, percent escapes and + decoded. Missing: 0, NULL; seconds
// of a timed kind: its default, also for 0. Returns 0, or -1 with *err, which names the parameter
// and what was expected: a number out of its range, an unknown format, a malformed escape, a
// control character, a value that is too long.
int prof_query_parse(const struct prof_kind *kind, const char *text, struct prof_query *q,
                     struct prof_words *words, struct err *err);
