// spelling.h: what a misspelt word was meant to be.
#pragma once
#include "base/base.h"

// near_distance: edits (insert, delete, change, swap of neighbours) between two words; words of
// more than 31 characters are far from everything (32). Source: the optimal string alignment
// distance.
unsigned near_distance(const char *a, const char *b);

// near_enough: whether `word` is a likely misspelling of `known` at this distance: at most one edit
// for up to five characters, two for more.
bool near_enough(const char *word, unsigned distance);
