// SPDX-License-Identifier: BSD-3-Clause
// The chosen mutant, from the environment: C10M_MUTANT=N; C10M_MUTANT_REACHED=FILE records instead.
#include "mutant.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

unsigned mutant_chosen, mutant_span = MUTANT_KINDS;

// A byte a mutant, in a file that is shared with children and outlives an abort. REACHED: of the
// first mutant of a condition, it was evaluated. DIFFERS: the mutant would have changed a value.
enum { DIFFERS = 1, REACHED = 2 };
static unsigned char *record;
static size_t record_size;

static _Bool value(unsigned kind, _Bool plain, _Bool other)
{
    switch (kind) {
    case MUTANT_NEGATE:
        return !plain;
    case MUTANT_BOUND:
        return other;
    default:
        return kind == MUTANT_TRUE;
    }
}

_Bool mutant_apply(unsigned first, unsigned kinds, _Bool plain, _Bool other)
{
    if (record != NULL && first < record_size)
        record[first] |= REACHED;
    unsigned number = first;
    for (unsigned kind = 1; kind <= MUTANT_FALSE; kind *= 2) {
        if (!(kinds & kind))
            continue;
        const _Bool changed = value(kind, plain, other);
        if (record == NULL && number == mutant_chosen)
            return changed;
        if (record != NULL && number < record_size && changed != plain)
            record[number] |= DIFFERS;
        number++;
    }
    return plain;
}

// No other constructor runs conditions of the stack before this one.
__attribute__((constructor(101))) static void choose(void)
{
    const char *number = getenv("C10M_MUTANT"), *path = getenv("C10M_MUTANT_REACHED");
    if (number != NULL)
        mutant_chosen = (unsigned)strtoul(number, NULL, 10);
    if (path == NULL)
        return;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        _exit(99);
    record_size = (size_t)st.st_size;
    record = mmap(NULL, record_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (record == MAP_FAILED)
        _exit(99);
    close(fd);
    mutant_span = ~0u;
}

// _fail: cmocka's, called by each assertion that does not hold: one is enough.
void _fail(const char *file, int line);
void _fail(const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold\n", file, line);
    _exit(1);
}
