// SPDX-License-Identifier: BSD-3-Clause
// load_corrupt.h: a service that sometimes sends a wrong answer, to show that the client detects
// it.
#pragma once
#include "c10m/app.h"

// load_corrupt: the application `honest`, which must be an echo, with one bit changed in `ppm` of a
// million calls of `data` and `datagram`. seed: of the random numbers. Only one at a time in a
// process, on one worker.
const struct c10m_app *load_corrupt(const struct c10m_app *honest, uint32_t ppm, uint64_t seed);

// load_corrupt_count: the number of answers changed so far. Any thread.
uint64_t load_corrupt_count(void);
