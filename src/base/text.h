// SPDX-License-Identifier: BSD-3-Clause
// text.h: a string that grows up to a limit; what the control side renders its answers into.
#pragma once
#include <stdarg.h>

#include "base/base.h"

// text: the first failure sticks (error), and every call after it changes nothing, so that a
// renderer may ignore the results and its caller asks once at the end.
struct text {
    char *data;  // terminated; NULL before the first append (text_str gives "" then)
    size_t len;  // bytes without the terminator
    size_t room;
    size_t limit_bytes;  // len never exceeds it
    int error;           // 0, -EFBIG (limit) or -ENOMEM
};

// text_init: an empty text of at most limit_bytes. Allocates nothing.
void text_init(struct text *t, size_t limit_bytes);

// text_free: frees the bytes; t is empty again, with the same limit and no error.
void text_free(struct text *t);

// text_put, text_printf, text_vprintf: append n bytes (any bytes), or formatted text. All or
// nothing; 0, or t->error.
int text_put(struct text *t, const void *data, size_t n);
int text_printf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
int text_vprintf(struct text *t, const char *format, va_list ap)
    __attribute__((format(printf, 2, 0)));

// text_str: the bytes so far as a terminated string, never NULL.
const char *text_str(const struct text *t);
