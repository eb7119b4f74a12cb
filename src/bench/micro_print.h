// SPDX-License-Identifier: BSD-3-Clause
// micro_print.h: results of `c10m bench micro`: a table, JSON, or Go's benchmark text
// (https://go.dev/design/14313-benchmark-format), which benchstat compares.
#pragma once
#include "bench/micro.h"

enum { MICRO_COUNT_MAX = 32, MICRO_RESULTS_MAX = 128, MICRO_LABEL_BYTES = 48 };

enum micro_format { MICRO_TABLE, MICRO_GO, MICRO_JSON };

// micro_row: the result of one repetition: the number of operations and values per operation.
struct micro_row {
    uint64_t ops;
    double ns, bytes, allocations;
};

struct micro_result {
    const struct micro *m;
    uint32_t size;
    bool counted;  // bytes and allocations are valid
    double tsc_hz;
    unsigned n;
    struct micro_row rows[MICRO_COUNT_MAX];
};

// micro_print: the printed results, to compute ratios. Need not be initialized.
struct micro_print {
    enum micro_format format;
    unsigned n;
    struct {
        const char *name;
        uint32_t size;
        double ns;
    } done[MICRO_RESULTS_MAX];
};

// micro_label: sets out to a label such as "FlowFind/10M" or "Checksum/64B".
void micro_label(char out[MICRO_LABEL_BYTES], const struct micro *m, uint32_t size);

// micro_go_line: sets out to one line of Go's benchmark format, without newline.
void micro_go_line(char *out, size_t room, const struct micro_result *r,
                   const struct micro_row *row);

// These print to stdout.
void micro_print_begin(struct micro_print *p, enum micro_format format);
void micro_print_result(struct micro_print *p, const struct micro_result *r);
void micro_print_end(struct micro_print *p);
