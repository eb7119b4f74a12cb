// SPDX-License-Identifier: BSD-3-Clause
// server_internal.h: what the files of the server share.
#pragma once
#include <pthread.h>

#include "base/keys.h"
#include "base/seq_count.h"
#include "pkt/pkt.h"
#include "pkt/port.h"
#include "server/adoption.h"
#include "server/adoption_move.h"
#include "server/server.h"
#include "server/server_memory.h"
#include "server/worker_start.h"
#include "worker/handoff.h"

struct capture_readers;
struct linux_ports;

struct server {
    struct server_params params;
    struct keys keys;
    uint8_t rss_key[TOEPLITZ_KEY_BYTES_MAX];  // which worker is home to a connection
    struct arena *arena;
    struct image_store *images;  // where images outlive the process; NULL: they do not
    // Of [control] adopt (adoption.h); control thread.
    struct adoption *adoption;   // the begin of the arena; NULL: nothing is kept
    struct adoption_move *move;  // copies connections of another layout; NULL: none are
    bool adopting;               // connections of a dead process are in the arena
    bool adoption_done;          // they are those of this server
    bool keeps;                  // server_keep()
    bool serves;                 // server_serves()
    struct tcp_adopted adopted;
    uint64_t silent_us;  // since the workers before ended
    unsigned n_inited;   // services whose init was done
    struct c10m_service services[TCP_SERVICES_MAX];
    struct pkt_pool *pools[SERVER_WORKERS_MAX];
    struct pkt_pool *jumbo_pools[SERVER_WORKERS_MAX];  // NULL: no port has jumbo frames
    struct port *ports[WORKER_PORTS_MAX];
    struct port *trunks[WORKER_PORTS_MAX];       // in their place for workers; NULL: no VLAN
    struct handoff *handoffs[WORKER_PORTS_MAX];  // around them; NULL: one worker
    struct worker *workers[SERVER_WORKERS_MAX];
    unsigned n_launched;
    struct call_filter worker_filter;
    struct worker_start starts[SERVER_WORKERS_MAX];
    bool eal_up;
    struct own_thread control;            // from server_run() on
    pthread_t threads[TCP_SERVICES_MAX];  // of the services below n_threads that have one
    struct own_thread own_threads[TCP_SERVICES_MAX];  // the same
    unsigned n_threads;
    struct shared_bool threads_stop;  // control thread to those
    struct linux_ports *linux_ports;  // linux_port.h; NULL: no port is shared with Linux
    struct shared_u64 wall_us;  // the time of day where the workers' clock is 0 (wall_clock.h):
                                // written by the control thread, read by the workers
    struct seq_count locals_changes;  // of params.ports[].net.locals: written by the control
                                      // thread, read by any (service_calls.c)
    struct capture_readers *capture_readers;  // dumps (capture.h); NULL: there was none
    struct shared_u64 capture_bytes;          // of their rings; control thread to any
    uint64_t log_handed[TCP_SERVICES_MAX], log_lost[TCP_SERVICES_MAX];
};

// server_of: a service lies in its server's array.
static inline struct server *server_of(const struct c10m_service *s)
{
    char *first = (char *)(uintptr_t)(s - s->ix);
    return (struct server *)(first - offsetof(struct server, services));
}

// server_pool: worker w's pool for port i.
static inline struct pkt_pool *server_pool(const struct server *s, unsigned i, unsigned w)
{
    return server_is_jumbo(&s->params, i) ? s->jumbo_pools[w] : s->pools[w];
}

// server_service_init: fills in service i and runs its application's init. -1: *err names the key.
int server_service_init(struct server *s, unsigned i, struct err *err);

// server_draw: the secrets of a start.
void server_draw(struct server *s);

// server_init_worker: carves worker id's pieces out of s->arena and places it there. Wants of s:
// params, keys, rss_key, services, pools, ports and handoffs; nothing else has to be there.
int server_init_worker(struct server *s, unsigned id, struct err *err);
