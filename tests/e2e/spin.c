// SPDX-License-Identifier: BSD-3-Clause
// spin.c: the server with an application that does what none may: `spin` never comes back from its
// callback, `empty` takes every packet of the worker's pool; both until the file that the
// environment variable C10M_HOLD names is gone. Each line is answered by itself when that is over.
// For tests/e2e/alive.sh, which looks at the server meanwhile.
#include <rte_mempool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "c10m/main.h"
#include "server/server_internal.h"

enum { TAKEN_MAX = 65536, LOOK_MS = 20 };

static struct server *server;
static const char *hold;
static void *taken[TAKEN_MAX];  // by the one worker
static unsigned n_taken;

static int spin_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    server = server_of(s);
    hold = getenv("C10M_HOLD");
    if (hold != NULL)
        return 0;
    snprintf(err, err_bytes, "C10M_HOLD is not set");
    return -1;
}

static bool held(void)
{
    return access(hold, F_OK) == 0;
}

// What comes back to the pool meanwhile is taken as well.
static void take_all(void)
{
    struct rte_mempool *pool = &server->pools[0]->mp;
    while (n_taken < TAKEN_MAX && rte_mempool_get(pool, &taken[n_taken]) == 0)
        n_taken++;
}

static void give_back(void)
{
    rte_mempool_put_bulk(&server->pools[0]->mp, taken, n_taken);
    n_taken = 0;
}

static void spin_timer(struct c10m_conn *c)
{
    if (held()) {
        take_all();
        c10m_set_timer(c, LOOK_MS);
    } else {
        give_back();
        c10m_send(c, "empty\n", 6);
    }
}

static size_t spin_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    if (memchr(data, '\n', len) == NULL)
        return 0;
    if (memcmp(data, "spin", 4) == 0) {
        while (held())
            ;
        c10m_send(c, "spin\n", 5);
    } else {
        take_all();
        c10m_set_timer(c, LOOK_MS);
    }
    return len;
}

static const struct c10m_app app_spin = {
    .name = "spin",
    .init = spin_init,
    .data = spin_data,
    .timer = spin_timer,
    .end = c10m_shutdown,
};

int main(int argc, char **argv)
{
    static const struct c10m_app *const own[] = {&app_spin, NULL};
    return c10m_main(argc, argv, own);
}
