// SPDX-License-Identifier: BSD-3-Clause
// err.h: how a step of start-up says why it failed: one line of text, made by the step that knows.
#pragma once
#include "base/base.h"

enum { ERR_TEXT_BYTES = 512 };

struct err {
    char text[ERR_TEXT_BYTES];  // empty: no error; always terminated
};

// err_set: writes the formatted text into e (cut at ERR_TEXT_BYTES - 1) and returns -1, so that a
// function may `return err_set(e, ...)`. e may be NULL.
int err_set(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

// err_append: adds text behind what e says, cut at the same length, and returns -1.
int err_append(struct err *e, const char *text);
