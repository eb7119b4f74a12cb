// load_corrupt.h: a service that answers something else now and then, to show that the client
// notices.
#pragma once
#include "c10m/app.h"

// load_liar: `honest` with one bit changed in ppm of a million of its calls of `data` and
// `datagram`, by the seed; `honest` must be an echo. One at a time in a process, on one worker.
const struct c10m_app *load_liar(const struct c10m_app *honest, uint32_t ppm, uint64_t seed);

// load_liar_lies: answers changed so far. Any thread.
uint64_t load_liar_lies(void);
