// SPDX-License-Identifier: BSD-3-Clause
// text.h: a string that grows up to a limit. The control side renders into it.
#pragma once
#include <stdarg.h>

#include "base/base.h"

// text_budget: memory that several texts share, also those of other threads. used_bytes: what they
// have allocated; any thread adds and subtracts. closed: nobody wants the texts any more; one
// thread sets it.
struct text_budget {
    _Atomic(size_t) used_bytes;
    _Atomic(bool) closed;
    size_t limit_bytes;
};

// text: the first failure is kept in `error`, and later calls change nothing. A renderer can
// therefore ignore the results; its caller checks error once.
struct text {
    char *data;  // terminated; NULL before the first append
    size_t len;  // bytes without the terminator
    size_t room;
    size_t limit_bytes;  // len never exceeds it
    int error;           // 0, -EFBIG (limit), -EDQUOT (budget), -ECANCELED (its end) or -ENOMEM
    struct text_budget *budget;  // NULL: none; set it after text_init()
};

// text_init: an empty text of at most limit_bytes. Allocates nothing.
void text_init(struct text *t, size_t limit_bytes);

// text_free: frees the memory. t is then empty, with the same limit and budget,
// and no error.
void text_free(struct text *t);

// text_put, text_printf, text_vprintf: append n bytes of any value, or formatted text, completely
// or not at all. Return 0 or t->error.
int text_put(struct text *t, const void *data, size_t n);
int text_printf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
int text_vprintf(struct text *t, const char *format, va_list ap)
    __attribute__((format(printf, 2, 0)));

// text_str: the text as a terminated string; "" if it is empty, never NULL.
const char *text_str(const struct text *t);
