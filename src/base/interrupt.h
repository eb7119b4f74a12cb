// SPDX-License-Identifier: BSD-3-Clause
// interrupt.h: Ctrl-C, SIGTERM and the like for a command that ends by itself and gives back what
// it holds.
#pragma once
#include <stdbool.h>

// interrupt_catch: from here on one that asks to end (base/signals.h; SIGHUP does) is remembered;
// further ones change nothing, for what is held is being given back. What the caller ignores (a
// shell's background job) stays ignored. Main thread, once.
void interrupt_catch(void);

// interrupted: has one come? Any thread.
bool interrupted(void);
