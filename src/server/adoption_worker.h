// SPDX-License-Identifier: BSD-3-Clause
// adoption_worker.h: the fields of struct worker that the next process reads (worker/hand.h, the
// clock, the addresses). The layout has a line with the place of each, so that they are found by a
// program whose struct worker is another one. Control thread.
#pragma once
#include "base/text.h"
#include "worker/worker.h"

// worker_places: where the fields lie in the struct worker of an earlier process.
enum { WORKER_FIELDS = 11 };
struct worker_places {
    uint64_t bytes;  // of that struct
    uint64_t at[WORKER_FIELDS];
    uint32_t known;  // a bit for each field with a place
    bool values;     // they are those of this program
};

// adoption_worker_lines: appends "worker BYTES", "worker.FIELD OFFSET BYTES" for each field, and
// "worker.values ..." with the numbers and sizes that give the fields their meaning.
void adoption_worker_lines(struct text *out);

// adoption_worker_line: whether the line is one of those.
bool adoption_worker_line(const char *line);

// adoption_worker_read: notes what the line says. -1: it is damaged, comes twice, or the field has
// another length, or other values, than in this program.
int adoption_worker_read(struct worker_places *p, const char *line);

// adoption_worker_complete: whether every field has a place within the struct, which fits into
// `bytes`.
bool adoption_worker_complete(const struct worker_places *p, uint64_t bytes);

// adoption_worker_copy: sets the fields of *to from the struct of the earlier process.
void adoption_worker_copy(struct worker *to, const uint8_t *from, const struct worker_places *p);
