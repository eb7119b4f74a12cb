// SPDX-License-Identifier: BSD-3-Clause
// words.h: lines that somebody typed, as words and numbers.
#pragma once
#include "base/base.h"

// words_split: splits the line at blanks, in place. Returns the number of words; -1: more than max.
int words_split(char *line, char **words, int max);

// words_number: parses text as a number in [lo, hi]. Returns 0, -EINVAL (not a number) or -ERANGE.
int words_number(const char *text, uint64_t lo, uint64_t hi, uint64_t *out);
