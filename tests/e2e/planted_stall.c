// SPDX-License-Identifier: BSD-3-Clause
// planted_stall.c: an application out of tree for tests/e2e/trace.sh and service.sh: a line `N`
// keeps its worker busy for N milliseconds, after an event "stalls" of its own, and is then
// answered.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "c10m/main.h"
#include "c10m/trace.h"

enum { MS = 1000000, MS_MAX = 60000 };

static int stalls;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static int planted_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    stalls = c10m_trace_event(s, "stalls");
    return 0;
}

static size_t planted_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    char line[8] = "";
    memcpy(line, data, len < sizeof(line) ? len : sizeof(line) - 1);
    const int ms = atoi(line);
    c10m_trace(c, stalls, (uint32_t)ms);
    for (const uint64_t end = now_ns() + (uint64_t)(ms < MS_MAX ? ms : MS_MAX) * MS;
         now_ns() < end;)
        ;
    c10m_send(c, "ok\n", 3);
    return len;
}

static const struct c10m_app app_planted = {
    .name = "planted", .init = planted_init, .data = planted_data, .end = c10m_shutdown};

int main(int argc, char **argv)
{
    static const struct c10m_app *const own[] = {&app_planted, NULL};
    return c10m_main(argc, argv, own);
}
