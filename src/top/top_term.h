// SPDX-License-Identifier: BSD-3-Clause
// top_term.h: the terminal of the live view, with ncurses. One per process. The terminal is
// restored at every end of the process except SIGKILL: SIGINT, SIGTERM and SIGHUP are reported to
// the caller, and a handler restores the terminal after a crash.
#pragma once
#include "base/err.h"
#include "top/top_grid.h"

// in addition to characters and enum top_key
enum { TOP_KEY_END_ASKED = -1, TOP_KEY_RESIZED = -2 };

// top_term_open: opens the terminal of stdin and stdout. Returns 0, or -1 with the reason in *e (no
// terminal, or unknown type) and nothing changed.
int top_term_open(struct err *e);

// top_term_close: restores the terminal.
void top_term_close(void);

// top_term_size: the present numbers of rows and columns.
void top_term_size(unsigned *rows, unsigned *cols);

// top_term_show: shows the grid on the screen; only changes are sent.
void top_term_show(const struct top_grid *g);

// top_term_wait: returns the next key, TOP_KEY_NONE after `seconds` without a key, TOP_KEY_RESIZED,
// or TOP_KEY_END_ASKED: a signal arrived, or the terminal was closed.
int top_term_wait(double seconds);

// top_signals: installs handlers of SIGINT, SIGTERM and SIGHUP, which end the waits; needs no
// terminal. top_sleep: waits `seconds`; false: a signal arrived. top_signal: this signal, or 0.
void top_signals(void);
bool top_sleep(double seconds);
int top_signal(void);
