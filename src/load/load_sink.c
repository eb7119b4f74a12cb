// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_sink.h"

#include <string.h>

#include "load/load_options.h"
#include "load/load_pattern.h"

// Each cache line is written by one worker.
static struct {
    uint64_t bytes, wrong;
} CACHE_ALIGNED taken[LOAD_WORKERS_MAX];

static uint8_t pattern[LOAD_PATTERN_BYTES + LOAD_PATTERN_MORE];

struct sink_conn {
    uint32_t at;  // position in the pattern
};

static int sink_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    (void)s, (void)err, (void)err_bytes;
    load_pattern_fill(pattern);
    memset(taken, 0, sizeof(taken));
    return 0;
}

static void count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static size_t sink_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    struct sink_conn *st = c10m_state(c);
    bool same = true;
    for (size_t at = 0; at < len;) {
        const uint32_t n = (uint32_t)MIN(len - at, (size_t)LOAD_PATTERN_MORE);
        same &= memcmp(data + at, pattern + st->at, n) == 0;
        st->at = load_pattern_step(st->at, n);
        at += n;
    }
    count(&taken[c10m_worker(c)].bytes, len);
    if (!same)
        count(&taken[c10m_worker(c)].wrong, 1);
    return len;
}

const struct c10m_app load_sink = {
    .name = "sink",
    .init = sink_init,
    .data = sink_data,
    .end = c10m_shutdown,
};

uint64_t load_sink_bytes(void)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < LOAD_WORKERS_MAX; i++)
        n += __atomic_load_n(&taken[i].bytes, __ATOMIC_RELAXED);
    return n;
}

uint64_t load_sink_wrong(void)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < LOAD_WORKERS_MAX; i++)
        n += __atomic_load_n(&taken[i].wrong, __ATOMIC_RELAXED);
    return n;
}
