// SPDX-License-Identifier: BSD-3-Clause
// slow_frames.h: a ring of copies of frames of the slow protocols (IEEE 802.3 annex 57A), from one
// thread to another. A partner may send ten in a second (57A.3); what does not fit is lost and
// counted by the writer.
#pragma once
#include <string.h>

#include "base/shared.h"

enum {
    SLOW_FRAMES = 4,         // a power of two
    SLOW_FRAME_BYTES = 124,  // the frames have 124 without the FCS; of a longer one the rest is cut
    SLOW_TYPE = 0x8809,
    SLOW_TYPE_AT = 12,
};

struct slow_frame {
    uint32_t len;
    uint8_t bytes[SLOW_FRAME_BYTES];
};

struct slow_frames {
    struct shared_u32 head;  // free-running; written by the reader
    struct shared_u32 tail;  // written by the writer
    struct slow_frame at[SLOW_FRAMES];
};

// slow_frames_put: false: there is no room.
static inline bool slow_frames_put(struct slow_frames *r, const uint8_t *frame, uint32_t len)
{
    const uint32_t tail = shared_u32_load(&r->tail);
    // Acquire: of the reader's release in slow_frames_get(), after which the place is free.
    if (tail - shared_u32_load_acquire(&r->head) == SLOW_FRAMES)
        return false;
    struct slow_frame *to = &r->at[tail % SLOW_FRAMES];
    to->len = MIN(len, (uint32_t)SLOW_FRAME_BYTES);
    memcpy(to->bytes, frame, to->len);
    shared_u32_store_release(&r->tail, tail + 1);  // to slow_frames_get()
    return true;
}

// slow_frames_get: false: there is none.
static inline bool slow_frames_get(struct slow_frames *r, struct slow_frame *out)
{
    const uint32_t head = shared_u32_load(&r->head);
    // Acquire: of the writer's release in slow_frames_put().
    if (shared_u32_load_acquire(&r->tail) == head)
        return false;
    *out = r->at[head % SLOW_FRAMES];
    shared_u32_store_release(&r->head, head + 1);  // to slow_frames_put()
    return true;
}
