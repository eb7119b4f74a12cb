// SPDX-License-Identifier: BSD-3-Clause
// sieve.c: the first primes, from a sieve of chained stages.
//
//     GET /primes?n=10     ->     2, 3, 5, 7, 11, 13, 17, 19, 23, 29, one a line
//
// n: 1 to PRIMES_MAX, 10 by default. A step handles one burst of numbers, and a timer starts the
// next step a millisecond later, so that packets of other connections do not wait for the whole
// sieve. SIEVES_MAX requests run at a time on each worker; others get status 503.
#include <assert.h>
#include <c10m/socket.h>
#include <stdio.h>
#include <stdlib.h>

#include "ask.h"
#include "examples.h"
#include "primes.h"

enum { SIEVES_MAX = 8, STEP_MS = 1 };

// The sieves of one worker; only it uses them after init.
struct sieves {
    struct primes sieve[SIEVES_MAX];
    bool used[SIEVES_MAX];
};

struct sieve_conn {
    struct ask_conn ask;
    struct primes *sieve;  // NULL: no request is being handled
    bool keep;
};

static_assert(sizeof(struct sieve_conn) <= C10M_STATE_BYTES, "it lies in the connection's block");

static int sieve_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    struct sieves *all = calloc(c10m_workers(s), sizeof(*all));
    c10m_service_set_data(s, all);
    if (all == NULL)
        snprintf(err, err_bytes, "no memory for the sieves");
    return all == NULL ? -1 : 0;
}

static void sieve_fini(struct c10m_service *s)
{
    free(c10m_service_data(s));
}

static struct sieves *sieves_of(struct c10m_conn *c)
{
    struct sieves *all = c10m_service_data(c10m_service_of(c));
    return &all[c10m_worker(c)];
}

static struct primes *take(struct sieves *all)
{
    for (unsigned i = 0; i < SIEVES_MAX; i++)
        if (!all->used[i]) {
            all->used[i] = true;
            return &all->sieve[i];
        }
    return NULL;
}

static void give_back(struct c10m_conn *c, enum c10m_close why)
{
    struct sieve_conn *me = c10m_state(c);
    struct sieves *all = sieves_of(c);
    (void)why;
    if (me->sieve != NULL)
        all->used[me->sieve - all->sieve] = false;
    me->sieve = NULL;
}

static enum ask_handled begin(struct c10m_conn *c, const struct ask *ask, unsigned n)
{
    struct sieve_conn *me = c10m_state(c);
    me->sieve = take(sieves_of(c));
    if (me->sieve == NULL) {
        ask_refuse(c, "503 Service Unavailable", "all sieves are busy");
        return ASK_DONE;
    }
    primes_begin(me->sieve, n);
    me->keep = ask->keep;
    c10m_set_timer(c, STEP_MS);
    return ASK_BUSY;
}

static enum ask_handled handle(struct c10m_conn *c, const struct ask *ask)
{
    unsigned n = 10;
    if (!ask_room(c, PRIMES_TEXT_BYTES))  // for the whole answer: a client that does not read
        return ASK_WAIT;                  // holds no sieve
    if (!ask_is(ask, "/primes"))
        ask_refuse(c, "404 Not Found", "try /primes?n=10");
    else if (!ask_number(ask, "n", 1, PRIMES_MAX, &n))
        ask_refuse(c, "400 Bad Request", "n: expected a number from 1 to 1000");
    else
        return begin(c, ask, n);
    return ASK_DONE;
}

static size_t sieve_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return ask_serve(c, data, len, handle);
}

// The room was there when the request came, and nothing was sent since.
static void deliver(struct c10m_conn *c)
{
    struct sieve_conn *me = c10m_state(c);
    char text[PRIMES_TEXT_BYTES];
    const size_t n = primes_text(me->sieve, text);
    ask_answer(c, me->keep, "200 OK", "text/plain", text, n);
    give_back(c, C10M_CLOSED);
    ask_finish(c, me->keep);
}

static void step(struct c10m_conn *c)
{
    const struct sieve_conn *me = c10m_state(c);
    if (!primes_step(me->sieve)) {
        c10m_set_timer(c, STEP_MS);
        return;
    }
    ask_open(c);
    deliver(c);
}

static void sieve_timer(struct c10m_conn *c)
{
    const struct sieve_conn *me = c10m_state(c);
    if (me->sieve != NULL)
        step(c);
    else
        ask_idle(c);
}

const struct c10m_app app_sieve = {
    .name = "sieve",
    .init = sieve_init,
    .fini = sieve_fini,
    .marks_requests = true,
    .open = ask_open,
    .data = sieve_data,
    .writable = c10m_resume,
    .timer = sieve_timer,
    .end = ask_end,
    .drain = ask_drain,
    .close = give_back,
};
