// SPDX-License-Identifier: BSD-3-Clause
#include "prof/stack_names.h"

#include <stdio.h>
#include <string.h>

#include "pprof/loaded.h"
#include "pprof/symbols.h"

// writing: the words so far. used: of out->calls.
struct writing {
    struct stack_names *out;
    size_t used;
    unsigned names;
};

static void add_name(struct writing *w, const char *name)
{
    static const char *const before[] = {"", ", called by "};
    char *at = w->out->calls + w->used;
    const size_t room = sizeof(w->out->calls) - w->used;
    const int n = snprintf(at, room, "%s%s", w->names < 2 ? before[w->names] : ", ", name);
    if (n < 0 || (size_t)n >= room) {
        *at = '\0';  // not a part of a name
        w->names = STACK_CALLS_MAX;
        return;
    }
    w->used += (size_t)n;
    w->names++;
}

static bool is_program(const struct loaded_file *f)
{
    return f != NULL && f->program;
}

static void add_frames(struct writing *w, struct symbols *symbols, const struct loaded_file *f,
                       uint64_t address)
{
    struct symbol_frame frames[SYMBOL_INLINED_MAX];
    char unknown[64];
    const unsigned n = symbols_at(symbols, address, frames, SYMBOL_INLINED_MAX);
    for (unsigned i = 0; i < n && w->names < STACK_CALLS_MAX; i++)
        add_name(w, frames[i].function);
    if (n != 0 && is_program(f) && strcmp(w->out->function, "-") == 0)
        snprintf(w->out->function, sizeof(w->out->function), "%s", frames[0].function);
    if (n != 0 || w->names == STACK_CALLS_MAX)
        return;
    snprintf(unknown, sizeof(unknown), "0x%llx of %s",
             (unsigned long long)(address - (f != NULL ? f->base : 0)),
             is_program(f) ? "the program" : "a library");
    add_name(w, unknown);
}

void stack_names_find(const uint64_t *addresses, unsigned n, struct stack_names *out)
{
    unsigned n_files = 0;
    struct err err;
    struct writing w = {.out = out};
    *out = (struct stack_names){.function = "-"};
    struct loaded_file *files = loaded_list(&n_files);
    struct symbols *symbols = files == NULL ? NULL : symbols_open(&err);
    for (unsigned i = 0; symbols != NULL && i < n; i++)
        add_frames(&w, symbols, loaded_at(files, n_files, addresses[i]), addresses[i]);
    symbols_close(symbols);
    loaded_free(files, n_files);
}
