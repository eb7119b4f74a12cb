// SPDX-License-Identifier: BSD-3-Clause
// err.h: error messages of start-up: one line of text, written by the function that failed.
#pragma once
#include "base/base.h"

enum { ERR_TEXT_BYTES = 512, ERR_KEY_BYTES = 96 };

struct err {
    char text[ERR_TEXT_BYTES];  // empty: no error; always terminated
    // The key of the configuration that is at fault, as `port.tap0.device`; empty: none. After
    // err_set() only.
    char key[ERR_KEY_BYTES];
};

// err_set: writes the formatted text into e, truncated to ERR_TEXT_BYTES - 1, without a key, and
// returns -1, so that a function can `return err_set(e, ...)`. e may be NULL.
int err_set(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

// err_key: names the key at fault of an error that is set, unless a lower layer has named one
// already, which knows better. Returns -1. e may be NULL.
int err_key(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

// err_append: appends text to e, truncated to the same length, and returns -1.
int err_append(struct err *e, const char *text);
