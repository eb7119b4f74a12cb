// SPDX-License-Identifier: BSD-3-Clause
// image_store.h: memory that connections send from by reference, in a file that outlives the
// process (arena_images()). Sets of images lie in spans of one mapping, which every process has at
// the same address:
//
//   [ head: which spans are in use, of whom, and how much | span 0: 16 GiB | span 1 | ... ]
//
// The file has memory only where images are. Spans of a process that has ended stay until
// image_store_give(), but not those of a start that failed: these may be where spans were from
// which connections send that are still to be judged.
//
// Threads: the control thread, and the one that reads files again; never two at a time. Any at any
// time: image_store_holds(), image_store_spans_now().
#pragma once
#include "base/base.h"
#include "base/err.h"

enum { IMAGE_SPANS = 64, IMAGE_SPAN_NONE = IMAGE_SPANS };

#define IMAGE_SPAN_BYTES (UINT64_C(16) << 30)

struct image_store;

// image_store_open: maps the file fd, which it closes; kept: a process before has written it. NULL:
// *e. The spans of a file that is not whole are freed.
struct image_store *image_store_open(int fd, bool kept, struct err *e);

// image_store_close: unmaps it. Its spans are not freed if they are confirmed: the next process
// finds them. NULL: does nothing.
void image_store_close(struct image_store *s);

// image_store_confirm: which connections go on is decided: from now on the spans of this process
// are as those of the one before. Brings what connections go on to send from into this process.
void image_store_confirm(struct image_store *s);

// image_store_take: an empty span for `owner` (0..255); IMAGE_SPAN_NONE: none is free.
unsigned image_store_take(struct image_store *s, uint8_t owner);

// image_store_more: `bytes` more of a span, a multiple of PAGE_4K, zero and in memory. NULL: the
// span is full, or there is no memory.
uint8_t *image_store_more(struct image_store *s, unsigned span, uint64_t bytes);

// image_store_give: frees the memory of a span, and the span.
void image_store_give(struct image_store *s, unsigned span);

// image_store_give_left: all spans that a process before has left. Connections that send from them
// cannot go on.
void image_store_give_left(struct image_store *s);

// image_store_holds: whether the len bytes at `at` lie in what is used of a span that a process
// before has left to this owner. image_store_left: such spans for which it was true, one bit each.
// image_store_give_idle: frees those for which it never was.
bool image_store_holds(struct image_store *s, uint8_t owner, const uint8_t *at, uint64_t len);
uint64_t image_store_left(const struct image_store *s, uint8_t owner);
void image_store_give_idle(struct image_store *s);

// image_store_has_left: whether a process before has left any span.
bool image_store_has_left(const struct image_store *s);

// image_store_spans_now: spans that are not free, of IMAGE_SPANS.
unsigned image_store_spans_now(const struct image_store *s);

// image_store_used: bytes of a span.
uint64_t image_store_used(const struct image_store *s, unsigned span);
