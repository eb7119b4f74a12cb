// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/symbols.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/dwarf_functions.h"
#include "pprof/elf_functions.h"
#include "pprof/loaded.h"
#include "pprof/text_pool.h"

// code: one loaded file and, from the first look-up in it, its functions.
struct code {
    struct loaded_file *file;
    bool looked;
    struct dwarf_functions dwarf;
    struct elf_functions elf;
};

struct symbols {
    Dwfl *dwfl;
    struct loaded_file *files;
    struct code *codes;  // of each file
    unsigned n;
    struct text_pool names;
};

// Only local files: the standard search would also ask the servers of $DEBUGINFOD_URLS.
static char *debuginfo_path = NULL;  // libdw's default
static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_build_id_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debuginfo_path,
};

struct symbols *symbols_open(struct err *err)
{
    struct symbols *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        err_set(err, "symbols: no memory");
        return NULL;
    }
    s->dwfl = dwfl_begin(&callbacks);
    s->files = loaded_list(&s->n);
    s->codes = calloc(MAX(s->n, 1u), sizeof(*s->codes));
    if (s->dwfl == NULL || s->files == NULL || s->codes == NULL) {
        symbols_close(s);
        err_set(err, "symbols: no memory");
        return NULL;
    }
    for (unsigned i = 0; i < s->n; i++)
        s->codes[i].file = &s->files[i];
    return s;
}

void symbols_close(struct symbols *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; s->codes != NULL && i < s->n; i++) {
        dwarf_functions_free(&s->codes[i].dwarf);
        elf_functions_free(&s->codes[i].elf);
    }
    text_pool_free(&s->names);
    free(s->codes);
    loaded_free(s->files, s->n);
    if (s->dwfl != NULL)
        dwfl_end(s->dwfl);
    free(s);
}

// is_same_file: whether the file is still the one that was loaded; an upgrade may have replaced it.
static bool is_same_file(const struct loaded_file *f, Dwfl_Module *module)
{
    const uint8_t *bits;
    GElf_Addr address;
    char id[sizeof(f->build_id)] = "";
    GElf_Addr bias;
    if (dwfl_module_getelf(module, &bias) == NULL)
        return false;
    const int n = dwfl_module_build_id(module, &bits, &address);
    if (n > 0)
        loaded_hex(bits, (size_t)n, id);
    return strcmp(id, f->build_id) == 0;
}

// load: reads the functions of a file at the first look-up in it.
static void load(struct symbols *s, struct code *c)
{
    const struct loaded_file *f = c->file;
    c->looked = true;
    if (strchr(f->path, '/') == NULL)
        return;
    const char *path = f->program ? "/proc/self/exe" : f->path;
    dwfl_report_begin_add(s->dwfl);
    Dwfl_Module *module = dwfl_report_elf(s->dwfl, f->path, path, -1, f->base, true);
    dwfl_report_end(s->dwfl, NULL, NULL);
    if (module == NULL || !is_same_file(f, module))
        return;
    dwarf_functions_load(&c->dwarf, module);
    elf_functions_load(&c->elf, module);
}

// code_at: of the file that contains the address; NULL: none does.
static struct code *code_at(struct symbols *s, uint64_t address)
{
    const struct loaded_file *f = loaded_at(s->files, s->n, address);
    return f == NULL ? NULL : &s->codes[f - s->files];
}

// put_dwarf: what the debugging information says, with whole paths.
static void put_dwarf(struct symbols *s, const struct dwarf_place *place, const char *linked,
                      struct symbol_frame *out)
{
    *out = (struct symbol_frame){.function = place->function,
                                 .linked = linked == NULL ? place->function : linked,
                                 .line = place->line,
                                 .first_line = place->first_line};
    if (place->file != NULL)
        out->file = text_pool_path(&s->names, place->directory, place->file);
}

// put_linked: the name in the symbol table, up to the suffix of a clone (`.constprop.0`).
static void put_linked(struct symbols *s, const char *linked, struct symbol_frame *out)
{
    const size_t first = linked[0] == '.';
    *out = (struct symbol_frame){.linked = linked};
    out->function = text_pool_keep(&s->names, linked, first + strcspn(linked + first, "."));
    if (out->function == NULL)
        out->function = linked;
}

unsigned symbols_at(struct symbols *s, uint64_t address, struct symbol_frame *out, unsigned max)
{
    struct dwarf_place places[SYMBOL_INLINED_MAX];
    struct code *c = code_at(s, address);
    if (c == NULL || max == 0)
        return 0;
    if (!c->looked)
        load(s, c);
    const char *linked = elf_functions_at(&c->elf, address);
    const unsigned n =
        dwarf_functions_at(&c->dwarf, address, places, MIN(max, (unsigned)SYMBOL_INLINED_MAX));
    for (unsigned i = 0; i < n; i++)
        put_dwarf(s, &places[i], i == n - 1 ? linked : NULL, &out[i]);
    if (n != 0 || linked == NULL)
        return n;
    put_linked(s, linked, &out[0]);
    return 1;
}

bool symbols_mapping(struct symbols *s, uint64_t address, struct symbol_mapping *out)
{
    const struct code *c = code_at(s, address);
    if (c == NULL)
        return false;
    *out = (struct symbol_mapping){.start = c->file->start,
                                   .limit = c->file->limit,
                                   .offset = c->file->offset,
                                   .file = c->file->path,
                                   .build_id = c->file->build_id};
    return true;
}
