// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/cfi_unit.h"

enum {  // encodings that ld and compilers use; others are not supported
    PCREL_SDATA4 = 0x1b,
    DATAREL_SDATA4 = 0x3b,
    UDATA4 = 0x03,
    ENCODING_SIZE = 0x07,
};

// entry: the cursor over one entry of .eh_frame, behind its length.
static struct cursor entry(const struct loaded_file *f, const uint8_t *at)
{
    enum { LENGTH_64_BITS = 0xfffffff0 };
    struct cursor c = {at, f->image_limit, at < f->image || at > f->image_limit};
    const uint64_t length = c.bad ? 0 : cursor_fixed(&c, 4);
    c.bad |= length >= LENGTH_64_BITS || length > (size_t)(c.limit - c.at);
    c.limit = c.bad ? c.at : c.at + length;
    return c;
}

// search: the entry of the function that begins at or before the address, by the sorted table of
// pairs of .eh_frame_hdr: start, place of the entry, both relative to the header.
static const uint8_t *search(const struct loaded_file *f, uint64_t address, uint64_t *start)
{
    struct cursor c = {f->frames, f->image_limit, false};
    const uint64_t head = cursor_fixed(&c, 4), eh_frame = cursor_fixed(&c, 4),
                   n = cursor_fixed(&c, 4);
    (void)eh_frame;
    if (head != (1 | PCREL_SDATA4 << 8 | UDATA4 << 16 | (uint64_t)DATAREL_SDATA4 << 24) || c.bad ||
        n > (size_t)(c.limit - c.at) / 8)
        return NULL;
    const int32_t(*table)[2] = (const int32_t(*)[2])c.at;
    const int64_t wanted = (int64_t)(address - (uintptr_t)f->frames);
    uint64_t low = 0, high = n;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (table[middle][0] <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    *start = (uintptr_t)f->frames + (uint64_t)(int64_t)table[low - 1][0];
    return f->frames + table[low - 1][1];
}

// read_common: the CIE. *encoding: of addresses in its FDEs.
static bool read_common(struct cursor c, struct cfi_unit *u, uint8_t *encoding, bool *augmented)
{
    *encoding = 0;
    cursor_fixed(&c, 4);
    const uint64_t version = cursor_fixed(&c, 1);
    const uint8_t *augmentation = c.at;
    while (cursor_fixed(&c, 1) != 0)
        continue;
    if (c.bad)
        return false;
    u->code_align = cursor_uleb(&c);
    u->data_align = cursor_sleb(&c);
    const uint64_t return_register = version == 1 ? cursor_fixed(&c, 1) : cursor_uleb(&c);
    *augmented = augmentation[0] == 'z';
    const uint64_t bytes = *augmented ? cursor_uleb(&c) : 0;
    u->common = c;
    cursor_skip(&u->common, bytes);
    for (augmentation += *augmented; *augmentation != '\0' && !c.bad; augmentation++) {
        if (*augmentation == 'R')
            *encoding = (uint8_t)cursor_fixed(&c, 1);
        else if (*augmentation == 'L')
            cursor_fixed(&c, 1);
        else if (*augmentation == 'P')
            cursor_skip(&c, cursor_fixed(&c, 1) == 0 ? 8 : 4);
        else
            return false;  // S: the frame of a signal
    }
    return !c.bad && !u->common.bad && return_register == CFI_RETURN;
}

bool cfi_unit_at(const struct loaded_file *f, uint64_t address, struct cfi_unit *u)
{
    uint8_t encoding;
    bool augmented;
    const uint8_t *at = search(f, address, &u->start);
    if (at == NULL)
        return false;
    struct cursor c = entry(f, at);
    const uint8_t *here = c.at;
    const uint64_t back = cursor_fixed(&c, 4);
    if (c.bad || back > (size_t)(here - f->image) ||
        !read_common(entry(f, here - back), u, &encoding, &augmented) ||
        (encoding & ENCODING_SIZE) != UDATA4)
        return false;
    cursor_fixed(&c, 4);  // start, which the table has
    const uint64_t length = cursor_fixed(&c, 4);
    if (augmented)
        cursor_skip(&c, cursor_uleb(&c));
    u->own = c;
    return !c.bad && address - u->start < length;
}
