// SPDX-License-Identifier: BSD-3-Clause
// fractal.h: the Mandelbrot set, and PNG pictures of it whose rows are written in any order, by any
// thread. Pure functions, no allocation.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FRACTAL_SIDE_MAX = 1024,  // width, height
    FRACTAL_STEPS_MAX = 256,  // iterations of a pixel
    // A row is a stored block of deflate: 5 bytes of head, the filter's byte, the pixels.
    FRACTAL_ROW_EXTRA = 6,
    FRACTAL_PNG_EXTRA = 63,  // everything else
    FRACTAL_PNG_BYTES_MAX =
        FRACTAL_PNG_EXTRA + FRACTAL_SIDE_MAX * (FRACTAL_SIDE_MAX + FRACTAL_ROW_EXTRA),
};

// fractal: one picture: gray, 8 bits for each pixel.
struct fractal {
    uint32_t width, height;  // 1 to FRACTAL_SIDE_MAX
    uint32_t steps;          // 1 to FRACTAL_STEPS_MAX
    uint8_t *png;            // fractal_bytes()
};

size_t fractal_bytes(const struct fractal *f);

// fractal_begin: writes everything but the pixels and the checksums.
void fractal_begin(const struct fractal *f);

// fractal_pixels: computes the pixels [from, to), counted row by row. Threads may do this at the
// same time for different pixels. Time: (to - from) * steps iterations of about 1 ns, at most.
void fractal_pixels(const struct fractal *f, uint32_t from, uint32_t to);

// fractal_end: writes the checksums, after all pixels. Time: about 3 ns for each byte.
void fractal_end(const struct fractal *f);
