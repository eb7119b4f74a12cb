// SPDX-License-Identifier: BSD-3-Clause
// spelling.h: what a misspelt word was meant to be.
#pragma once
#include "base/base.h"

// spelling_distance: edits (insert, delete, change, swap of neighbours) between two words; words of
// more than 31 characters are far from everything (32). Source: the optimal string alignment
// distance.
unsigned spelling_distance(const char *a, const char *b);

// spelling_is_near: whether `word` is a likely misspelling of `known` at this distance: at most one
// edit for up to five characters, two for more.
bool spelling_is_near(const char *word, unsigned distance);
