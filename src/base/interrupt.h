// SPDX-License-Identifier: BSD-3-Clause
// interrupt.h: Ctrl-C, SIGTERM and similar signals, for a command that ends by itself and releases
// what it holds.
#pragma once
#include <stdbool.h>

// interrupt_catch: from now on a signal that asks to end (base/signals.h; SIGHUP too) is recorded.
// Later ones have no effect, because the command is already releasing what it holds. A signal that
// the parent ignores (a shell's background job) stays ignored. Main thread, once.
void interrupt_catch(void);

// interrupted: whether such a signal has come. Any thread.
bool interrupted(void);
