// SPDX-License-Identifier: BSD-3-Clause
// spelling.h: finds the word that a misspelled word may stand for.
#pragma once
#include "base/base.h"

// spelling_distance: the number of edits (insert, delete, change, swap of neighbors) between two
// words. 32 if a word has more than 31 characters. Source: the optimal string alignment
// distance.
unsigned spelling_distance(const char *a, const char *b);

// spelling_is_near: whether `word` is a likely misspelling of `known` at this distance: at most one
// edit for up to five characters, two for more.
bool spelling_is_near(const char *word, unsigned distance);
