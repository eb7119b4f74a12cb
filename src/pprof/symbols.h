// SPDX-License-Identifier: BSD-3-Clause
// symbols.h: names of the code of this process: functions with inlined ones, files, lines, from the
// debugging information (DWARF, by libdw) of the program and its libraries, else from their symbol
// tables. Slow: the first look-up in a program of 10 MB takes some 100 ms. Not for the control
// thread or a worker. An instance belongs to one thread.
#pragma once
#include "base/base.h"
#include "base/err.h"

enum { SYMBOL_INLINED_MAX = 32 };  // frames at one address

// symbol_frame: the strings live as long as the symbols. function: the name in the source, without
// the suffixes of the compiler's clones. linked: the name in the symbol table. file NULL: unknown.
struct symbol_frame {
    const char *function, *linked, *file;
    unsigned line;        // of the address; 0: unknown
    unsigned first_line;  // of the function; 0: unknown
};

// symbol_mapping: the file that is mapped at an address.
struct symbol_mapping {
    uint64_t start, limit, offset;
    const char *file;      // its path
    const char *build_id;  // hex digits; "": none
};

struct symbols;

// symbols_open: of this process as it is now. NULL with *err. symbols_close: NULL is allowed.
struct symbols *symbols_open(struct err *err);
void symbols_close(struct symbols *s);

// symbols_at: the frames at this address, the innermost inlined function first, at most max.
// Returns how many; 0: nothing is known of the address.
unsigned symbols_at(struct symbols *s, uint64_t address, struct symbol_frame *out, unsigned max);

// symbols_mapping: whether the address is in a mapped file; *out describes it.
bool symbols_mapping(struct symbols *s, uint64_t address, struct symbol_mapping *out);
