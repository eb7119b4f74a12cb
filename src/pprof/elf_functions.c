// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/elf_functions.h"

#include <stdlib.h>
#include <string.h>

static bool is_function(const GElf_Sym *sym, const char *name, GElf_Word section)
{
    const unsigned type = GELF_ST_TYPE(sym->st_info);
    return name != NULL && name[0] != '\0' && section != SHN_UNDEF &&
           (type == STT_FUNC || type == STT_GNU_IFUNC);
}

// Of several names of an address the widest comes first, then the one with the fewest underscores
// in front: qsort_r before __qsort_r.
static int by_start(const void *a, const void *b)
{
    const struct elf_function *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->limit != y->limit)
        return x->limit > y->limit ? -1 : 1;
    const size_t of_x = strspn(x->name, "_"), of_y = strspn(y->name, "_");
    return of_x != of_y ? (of_x > of_y) - (of_x < of_y) : strcmp(x->name, y->name);
}

static void end_those_without_size(struct elf_functions *f)
{
    for (unsigned i = 0; i + 1 < f->n; i++)
        if (f->all[i].limit == f->all[i].start)
            f->all[i].limit = f->all[i + 1].start;
}

void elf_functions_load(struct elf_functions *f, Dwfl_Module *module)
{
    const int n = dwfl_module_getsymtab(module);
    if (n <= 0)
        return;
    f->all = calloc((size_t)n, sizeof(*f->all));
    for (int i = 0; i < n && f->all != NULL; i++) {
        GElf_Sym sym;
        GElf_Addr address;
        GElf_Word section;
        const char *name = dwfl_module_getsym_info(module, i, &sym, &address, &section, NULL, NULL);
        if (is_function(&sym, name, section))
            f->all[f->n++] = (struct elf_function){address, address + sym.st_size, name};
    }
    if (f->n == 0)
        return;
    qsort(f->all, f->n, sizeof(*f->all), by_start);
    end_those_without_size(f);
}

void elf_functions_free(struct elf_functions *f)
{
    free(f->all);
    *f = (struct elf_functions){.n = 0};
}

// after: how many functions start at or before the address.
static unsigned after(const struct elf_functions *f, uint64_t address)
{
    unsigned low = 0, high = f->n;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (f->all[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *elf_functions_at(const struct elf_functions *f, uint64_t address)
{
    unsigned i = after(f, address);
    if (i == 0)
        return NULL;
    while (i > 1 && f->all[i - 2].start == f->all[i - 1].start)  // the first of several names
        i--;
    return address < f->all[i - 1].limit ? f->all[i - 1].name : NULL;
}
