// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_corrupt.h"

#include <string.h>

#include "base/rng.h"
#include "load/load.h"

static struct {
    struct c10m_app app;
    const struct c10m_app *honest;
    uint32_t ppm;
    struct rng rng;
    uint64_t lies;  // answers changed; written by the worker
} liar;

static size_t liar_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    uint8_t lie[LOAD_PAYLOAD_MAX];
    const size_t n = MIN(MIN(len, c10m_send_room(c)), sizeof(lie));
    if (n == 0 || rng_below(&liar.rng, 1000000) >= liar.ppm)
        return liar.honest->data(c, data, len);
    const uint32_t bit = rng_below(&liar.rng, (uint32_t)n * 8);
    memcpy(lie, data, n);
    lie[bit / 8] ^= (uint8_t)(1u << bit % 8);
    __atomic_store_n(&liar.lies, liar.lies + 1, __ATOMIC_RELAXED);
    return c10m_send(c, lie, n);
}

static int liar_datagram(struct c10m_service *s, const struct c10m_datagram *d)
{
    const int n = liar.honest->datagram(s, d);
    if (n <= 0 || rng_below(&liar.rng, 1000000) >= liar.ppm)
        return n;
    const uint32_t bit = rng_below(&liar.rng, (uint32_t)n * 8);
    d->answer[bit / 8] ^= (uint8_t)(1u << bit % 8);
    __atomic_store_n(&liar.lies, liar.lies + 1, __ATOMIC_RELAXED);
    return n;
}

const struct c10m_app *load_corrupt(const struct c10m_app *honest, uint32_t ppm, uint64_t seed)
{
    liar.app = *honest;
    liar.app.data = liar_data;
    liar.app.datagram = liar_datagram;
    liar.honest = honest;
    liar.ppm = ppm;
    liar.rng.state = seed;
    liar.lies = 0;
    return &liar.app;
}

uint64_t load_corrupt_count(void)
{
    return __atomic_load_n(&liar.lies, __ATOMIC_RELAXED);
}
