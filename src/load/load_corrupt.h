// SPDX-License-Identifier: BSD-3-Clause
// load_corrupt.h: a service that answers something else now and then, to show that the client
// notices.
#pragma once
#include "c10m/app.h"

// load_corrupt: `honest` with one bit changed in ppm of a million of its calls of `data` and
// `datagram`, by the seed; `honest` must be an echo. One at a time in a process, on one worker.
const struct c10m_app *load_corrupt(const struct c10m_app *honest, uint32_t ppm, uint64_t seed);

// load_corrupt_count: answers changed so far. Any thread.
uint64_t load_corrupt_count(void);
