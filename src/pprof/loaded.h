// SPDX-License-Identifier: BSD-3-Clause
// loaded.h: the files whose code this process executes: the program, its libraries, its plugins.
#pragma once
#include "base/base.h"

enum {
    LOADED_BUILD_ID_BYTES = 32,  // a longer one is not kept; SHA-1, the usual one, has 20
    LOADED_FILES_MAX = 1024,     // more are left out
};

// loaded_file: [start, limit) is its code, which begins at byte `offset` of the file. base: what is
// added to addresses in the file. path: a name without `/` is not a file ([vdso]). program: it can
// be opened as /proc/self/exe, also if it was deleted meanwhile.
struct loaded_file {
    uint64_t start, limit, offset, base;
    char *path;
    bool program;
    const uint8_t *frames, *image, *image_limit;
    char build_id[2 * LOADED_BUILD_ID_BYTES + 1];  // hex digits; "": none
};

// loaded_list: all of them, by address. NULL: no memory. *n: how many. loaded_free: NULL is
// allowed.
struct loaded_file *loaded_list(unsigned *n);
void loaded_free(struct loaded_file *files, unsigned n);

// loaded_at: the file whose code has this address; NULL: none. For a signal handler, too.
const struct loaded_file *loaded_at(const struct loaded_file *files, unsigned n, uint64_t address);

// loaded_touch: maps what a signal handler reads of them, and the program's code, so that no page
// fault waits in the handler.
void loaded_touch(const struct loaded_file *files, unsigned n);

// loaded_hex: bytes as hex digits. n <= LOADED_BUILD_ID_BYTES, else out is "".
void loaded_hex(const uint8_t *bytes, size_t n, char out[2 * LOADED_BUILD_ID_BYTES + 1]);
