// SPDX-License-Identifier: BSD-3-Clause
// top_term.h: the terminal of the live view, by ncurses. One a process. Whatever ends the process
// but SIGKILL, the terminal is as it was: signals that ask to end are told to the caller, and after
// a crash a handler puts it back before the signal takes its course.
#pragma once
#include "base/err.h"
#include "top/top_grid.h"

enum { TOP_KEY_END_ASKED = -1, TOP_KEY_RESIZED = -2 };  // beside characters and enum top_key

// top_term_open: takes the terminal of stdin and stdout. 0, or -1 with *e (none there, or of an
// unknown kind) and nothing changed.
int top_term_open(struct err *e);

// top_term_close: gives it back.
void top_term_close(void);

// top_term_size: rows and columns now.
void top_term_size(unsigned *rows, unsigned *cols);

// top_term_show: the grid onto the screen; only what changed is sent.
void top_term_show(const struct top_grid *g);

// top_term_wait: the next key, TOP_KEY_NONE after `seconds` without one, TOP_KEY_RESIZED, or
// TOP_KEY_END_ASKED: a signal asks to end, or the terminal is gone.
int top_term_wait(double seconds);

// top_signals: installs the handlers of SIGINT, SIGTERM and SIGHUP, which make the waits end; needs
// no terminal. top_sleep: waits `seconds`; false when asked to end. top_signal: the signal that
// asked, or 0.
void top_signals(void);
bool top_sleep(double seconds);
int top_signal(void);
