// SPDX-License-Identifier: BSD-3-Clause
// costly.c: the command c10m with an application whose requests cost time, for scripts/bench
// overload. Each request of HTTP/1.1 keeps the worker busy for COSTLY_US microseconds, like a page
// that is computed, and is then answered with 64 bytes. A request that may have waited for
// COSTLY_WAIT_MS is answered 503 at once (0: none); without this variable, one that has waited for
// AUTO_MS at an overloaded worker, as http does by default. They are variables of the environment,
// read at the start.
#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "c10m/main.h"

enum { AUTO_MS = 100, US_MAX = 1000000, HEAD_BYTES_MAX = 4096, IDLE_MS = 60000 };

#define BODY "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"

static const char answer[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 64\r\n\r\n" BODY;
static const char refusal[] =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";

static_assert(sizeof(BODY) == 65, "the length that the answer tells");

static unsigned cost_us, wait_ms;
static bool automatic;
static int answered, refused;

static unsigned variable(const char *name)
{
    const char *text = getenv(name);
    const long n = text != NULL ? atol(text) : 0;
    return n < 0 ? 0 : n < US_MAX ? (unsigned)n : US_MAX;
}

static int costly_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    cost_us = variable("COSTLY_US");
    automatic = getenv("COSTLY_WAIT_MS") == NULL;
    wait_ms = variable("COSTLY_WAIT_MS");
    answered = c10m_counter(s, "answered", "requests answered 200");
    refused = c10m_counter(s, "refused", "requests answered 503");
    (void)err, (void)err_bytes;
    return answered < 0 || refused < 0 ? -1 : 0;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void compute(void)
{
    for (const uint64_t end = now_ns() + UINT64_C(1000) * cost_us; now_ns() < end;)
        ;
}

static bool is_late(const struct c10m_conn *c)
{
    if (automatic)
        return c10m_overloaded_us(c) >= AUTO_MS * 1000;
    return wait_ms != 0 && c10m_waited_us(c) >= wait_ms * 1000;
}

static void handle(struct c10m_conn *c)
{
    if (is_late(c)) {
        c10m_send(c, refusal, sizeof(refusal) - 1);
        c10m_count(c, refused, 1);
        return;
    }
    compute();
    c10m_send(c, answer, sizeof(answer) - 1);
    c10m_count(c, answered, 1);
}

static size_t costly_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    static const char last[] = "\r\n\r\n";
    size_t used = 0;
    c10m_set_timer(c, IDLE_MS);
    for (const uint8_t *end;
         (end = memmem(data + used, len - used, last, sizeof(last) - 1)) != NULL;) {
        if (c10m_send_room(c) < sizeof(answer))
            return used;  // `writable` passes the request again
        used = (size_t)(end + sizeof(last) - 1 - data);
        handle(c);
    }
    if (len - used > HEAD_BYTES_MAX)
        c10m_abort(c);
    return used;
}

// Who sends nothing for IDLE_MS is reset.
static void costly_open(struct c10m_conn *c)
{
    c10m_set_timer(c, IDLE_MS);
}

static const struct c10m_app app_costly = {.name = "costly",
                                           .init = costly_init,
                                           .open = costly_open,
                                           .data = costly_data,
                                           .writable = c10m_resume,
                                           .timer = c10m_abort,
                                           .end = c10m_shutdown};

int main(int argc, char **argv)
{
    static const struct c10m_app *const own[] = {&app_costly, NULL};
    return c10m_main(argc, argv, own);
}
