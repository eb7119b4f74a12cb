// SPDX-License-Identifier: BSD-3-Clause
// other_parser.h: one request as a parser reads it; and Debian's http-parser as such a parser (its
// header and ours name the same things).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MESSAGE_MAX = 2048 };

enum verdict { COMPLETE, INCOMPLETE, REFUSED };

struct message {
    const uint8_t *s;
    size_t n;  // at most MESSAGE_MAX
};

// reading: all but the verdict only of a COMPLETE message.
struct reading {
    enum verdict verdict;
    size_t end;
    char method[16];
    size_t target_bytes, content_bytes;
    uint8_t target[MESSAGE_MAX], content[MESSAGE_MAX];
    bool keeps;  // the connection may stay
};

// read_responses: the statuses of the responses in n bytes as http-parser finds them, at most max;
// returns how many, or -1 when it refuses one or the last is not complete. None answers HEAD.
int read_responses(const uint8_t *bytes, size_t n, int *statuses, int max);

// read_theirs: http-parser's reading of the first request in m.
void read_theirs(struct message m, struct reading *a);
