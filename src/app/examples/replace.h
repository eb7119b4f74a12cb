// SPDX-License-Identifier: BSD-3-Clause
// replace.h: a replacer for streams: "elvis" becomes "Elvis", wherever the stream is cut. Pure; one
// stream belongs to one thread.
#pragma once
#include <stddef.h>
#include <stdint.h>

// replace_stream: held: the first `held` bytes of the pattern have been received and not yet
// written, because the rest decides. All zero at the beginning.
struct replace_stream {
    uint8_t held;
};

enum { REPLACE_HELD_MAX = 4 };  // one byte less than the pattern

// replace_feed: writes to out what the next len bytes of the stream decide: at most len +
// REPLACE_HELD_MAX bytes. Returns how many.
size_t replace_feed(struct replace_stream *s, const uint8_t *data, size_t len, uint8_t *out);

// replace_end: the stream has ended: writes the held bytes, at most REPLACE_HELD_MAX. Returns how
// many.
size_t replace_end(struct replace_stream *s, uint8_t *out);
