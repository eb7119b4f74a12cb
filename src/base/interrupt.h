// interrupt.h: Ctrl-C and SIGTERM for a command that ends by itself and gives back what it holds.
#pragma once
#include <stdbool.h>

// interrupt_catch: from here on the first of them is remembered, the second one ends the process at
// once. What the caller ignores (a shell's background job) stays ignored. Main thread, once.
void interrupt_catch(void);

// interrupted: has one come? Any thread.
bool interrupted(void);
