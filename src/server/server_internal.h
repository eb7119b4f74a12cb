// SPDX-License-Identifier: BSD-3-Clause
// server_internal.h: what the files of the server share.
#pragma once
#include <pthread.h>

#include "base/keys.h"
#include "pkt/pkt.h"
#include "pkt/port.h"
#include "server/server.h"
#include "worker/handoff.h"

struct capture_readers;

struct server {
    struct server_params params;
    struct keys keys;
    uint8_t rss_key[TOEPLITZ_KEY_BYTES_MAX];  // which worker is home to a connection
    struct arena *arena;
    unsigned n_inited;  // services whose init was done
    struct c10m_service services[TCP_SERVICES_MAX];
    struct pkt_pool *pools[SERVER_WORKERS_MAX];
    struct port *ports[WORKER_PORTS_MAX];
    struct handoff *handoffs[WORKER_PORTS_MAX];  // around them; NULL: one worker
    struct worker *workers[SERVER_WORKERS_MAX];
    unsigned n_launched;
    bool eal_up;
    pthread_t threads[TCP_SERVICES_MAX];  // of the services below n_threads that have one
    unsigned n_threads;
    struct shared_bool threads_stop;  // control thread to those
    struct shared_u64 wall_us;  // the time of day where the workers' clock is 0 (wall_clock.h):
                                // written by the control thread, read by the workers
    struct capture_readers *capture_readers;  // dumps (capture.h); NULL: there was none
    uint64_t log_handed[TCP_SERVICES_MAX], log_lost[TCP_SERVICES_MAX];
};

// server_of: a service lies in its server's array.
static inline struct server *server_of(const struct c10m_service *s)
{
    char *first = (char *)(uintptr_t)(s - s->ix);
    return (struct server *)(first - offsetof(struct server, services));
}

// server_service_init: fills in service i and runs its application's init. -1: *err names the key.
int server_service_init(struct server *s, unsigned i, struct err *err);

// server_draw: the secrets of a start.
void server_draw(struct server *s);

// server_init_worker: carves worker id's pieces out of s->arena and places it there. Wants of s:
// params, keys, rss_key, services, pools, ports and handoffs; nothing else has to be there.
int server_init_worker(struct server *s, unsigned id, struct err *err);
