// SPDX-License-Identifier: BSD-3-Clause
// adoption_convert.h: connections that a program with other structures left, converted to those of
// this one before they are copied (adoption_move.h). Control thread, or a thread for each worker.
//
// A program whose structures change gets a converter for the one before, or the connections do not
// outlive the upgrade; `c10m plan --adopt` tells which.
#pragma once
#include "tcp/tcp_move.h"

// adoption_record: what a converter knows of one structure. It gets records that a dead process has
// written, which may be damaged: it checks what it follows, and the judge (tcp_adopt_judge.h) sees
// what it wrote. to == NULL: the structure is the same.
struct adoption_record {
    size_t bytes;                             // of the earlier one
    void (*to)(void *now, const void *then);  // `now` is zero
};

// adoption_converter: from an earlier program. Send and receive buffers and flight logs must be the
// same.
struct adoption_converter {
    const char *types;  // the layout's lines in front of "worker " (adoption_layout())
    struct adoption_record block, ext, syn, time_wait, time_wait6;
};

// adoption_converters: all of this program, and a last NULL. A program may define its own.
extern const struct adoption_converter *const adoption_converters[];

// adoption_converter_of: the one for these types; NULL: there is none.
const struct adoption_converter *adoption_converter_of(const char *types, size_t bytes);

// converted: memory for the records of one worker.
struct converted {
    void *of[5];
    unsigned n;
    bool failed;
};

// adoption_convert: replaces the records of *left by converted ones. -1: no memory.
int adoption_convert(const struct adoption_converter *c, struct tcp_left *left,
                     struct converted *mem);
void converted_free(struct converted *mem);
