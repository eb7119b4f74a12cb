// SPDX-License-Identifier: BSD-3-Clause
// The list of functions replaces .debug_aranges, which clang does not write, and libdw's
// dwarf_getscopes_die(), which reads a whole unit, with LTO half the program, for each address.
#include "pprof/dwarf_functions.h"

#include <dwarf.h>
#include <stdlib.h>

enum { FUNCTIONS_FIRST = 1024, NAMESPACES_MAX = 16 };

static bool make_room(struct dwarf_functions *f)
{
    if (f->n < f->room)
        return true;
    const unsigned room = f->room == 0 ? FUNCTIONS_FIRST : 2 * f->room;
    struct dwarf_function *all = realloc(f->all, room * sizeof(*all));
    if (all == NULL)
        return false;
    f->all = all;
    f->room = room;
    return true;
}

static void add_ranges(struct dwarf_functions *f, Dwarf_Die *die)
{
    Dwarf_Addr base, start, limit;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &limit)) > 0;)
        if (start != 0 && start < limit && make_room(f))  // 0: the linker dropped it
            f->all[f->n++] = (struct dwarf_function){start, limit, *die};
}

// add_children: the functions of a unit, or of a namespace in it.
static void add_children(struct dwarf_functions *f, Dwarf_Die *of, unsigned depth)
{
    Dwarf_Die die;
    if (dwarf_child(of, &die) != 0 || depth == NAMESPACES_MAX)
        return;
    do {
        if (dwarf_tag(&die) == DW_TAG_subprogram)
            add_ranges(f, &die);
        else if (dwarf_tag(&die) == DW_TAG_namespace)
            add_children(f, &die, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static int by_start(const void *a, const void *b)
{
    const struct dwarf_function *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

void dwarf_functions_load(struct dwarf_functions *f, Dwfl_Module *module)
{
    Dwarf_Addr bias;
    if (dwfl_module_getdwarf(module, &bias) == NULL)
        return;
    f->bias = bias;
    for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, &bias)) != NULL;)
        add_children(f, unit, 0);
    if (f->n != 0)
        qsort(f->all, f->n, sizeof(*f->all), by_start);
}

void dwarf_functions_free(struct dwarf_functions *f)
{
    free(f->all);
    *f = (struct dwarf_functions){.n = 0};
}

// find: the function with this address of the file; NULL: none.
static const struct dwarf_function *find(const struct dwarf_functions *f, uint64_t address)
{
    unsigned low = 0, high = f->n;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (f->all[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 || address >= f->all[low - 1].limit ? NULL : &f->all[low - 1];
}

// step: from a function or a block to the inlined function or the block in it that contains the
// address; false: there is none.
static bool step(Dwarf_Die *die, uint64_t address)
{
    Dwarf_Die child;
    if (dwarf_child(die, &child) != 0)
        return false;
    do {
        const int tag = dwarf_tag(&child);
        if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
            dwarf_haspc(&child, address) == 1) {
            *die = child;
            return true;
        }
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
}

static unsigned number(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 ? (unsigned)value : 0;
}

static void put_function(struct dwarf_place *out, Dwarf_Die *die)
{
    int line;
    const char *name = dwarf_diename(die);
    out->function = name == NULL ? "?" : name;
    out->first_line = dwarf_decl_line(die, &line) == 0 ? (unsigned)line : 0;
}

static void put_directory(struct dwarf_place *out, Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    out->directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
}

static void put_line(struct dwarf_place *out, Dwarf_Die *unit, uint64_t address)
{
    int number_of_line;
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    if (line == NULL || dwarf_lineno(line, &number_of_line) != 0)
        return;
    out->line = (unsigned)number_of_line;
    out->file = dwarf_linesrc(line, NULL, NULL);
    put_directory(out, unit);
}

// put_call: the place where `inlined` was called.
static void put_call(struct dwarf_place *out, Dwarf_Die *unit, Dwarf_Die *inlined)
{
    Dwarf_Files *files;
    size_t n;
    out->line = number(inlined, DW_AT_call_line);
    if (dwarf_getsrcfiles(unit, &files, &n) == 0)
        out->file = dwarf_filesrc(files, number(inlined, DW_AT_call_file), NULL, NULL);
    put_directory(out, unit);
}

unsigned dwarf_functions_at(const struct dwarf_functions *f, uint64_t address,
                            struct dwarf_place *out, unsigned max)
{
    const uint64_t at = address - f->bias;
    const struct dwarf_function *function = find(f, at);
    Dwarf_Die dies[DWARF_FRAMES_MAX], unit, die;
    unsigned n = 0, written = 0;
    if (function == NULL)
        return 0;
    die = dies[n++] = function->die;
    if (dwarf_diecu(&die, &unit, NULL, NULL) == NULL)
        return 0;
    while (n < DWARF_FRAMES_MAX && step(&die, at))
        if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
            dies[n++] = die;
    for (; n > 0 && written < max; n--, written++) {
        out[written] = (struct dwarf_place){.function = NULL};
        put_function(&out[written], &dies[n - 1]);
        if (written == 0)
            put_line(&out[written], &unit, at);
        else
            put_call(&out[written], &unit, &dies[n]);
    }
    return written;
}
