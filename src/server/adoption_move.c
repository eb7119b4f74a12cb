// SPDX-License-Identifier: BSD-3-Clause
#include "server/adoption_move.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "mem/page_supply.h"
#include "server/adoption_layout.h"
#include "server/adoption_state.h"
#include "server/server_internal.h"
#include "worker/hand.h"

struct adoption_move {
    struct arena *arena;  // the earlier one
    struct adoption *state;
    struct layout layout;
    bool same_nets;
    bool ended;  // adoption_move_end()
    struct tcp_move_map map;
    struct tcp_left left[SERVER_WORKERS_MAX];  // by earlier worker, as the next two
    struct left_worker {
        bool ran;
        uint64_t now_us;
        uint32_t hand[HAND_MAX];
        struct converted converted;
    } was[SERVER_WORKERS_MAX];
    uint8_t *fate[SERVER_WORKERS_MAX];
};

// ---- opening

static uint8_t service_now(const struct server_params *p, const char *name, const char *app)
{
    for (unsigned i = 0; i < p->n_services; i++) {
        const struct server_service_params *sp = &p->services[i];
        if (strcmp(sp->name, name) == 0 && strcmp(sp->app->name, app) == 0)
            return sp->app->adopts && sp->app->moves ? (uint8_t)i : (uint8_t)TCP_MOVE_NONE;
    }
    return TCP_MOVE_NONE;
}

// local_now: the address of that port that has not been found before for another one of the earlier
// server: free places are alike.
static uint8_t local_now(const struct server_params *p, const char *port,
                         const struct ip_addr *addr, bool found[TCP_LOCALS_MAX])
{
    unsigned local = 0;
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_locals; k++, local++)
            if (!found[local] && strcmp(p->ports[i].port.name, port) == 0 &&
                ip_equal(&p->ports[i].net.locals[k].addr, addr)) {
                found[local] = true;
                return (uint8_t)local;
            }
    return TCP_MOVE_NONE;
}

static bool is_none(const struct ip_addr *a)
{
    return ip_is_zero(a) || (ip_is_v4(a) && ip_to_v4(a) == 0);
}

// map_locals: addr: what the earlier server had at each place at last: one that follows an
// interface of Linux gets addresses while it runs, in places that its configuration leaves free.
// Such an address has a free place of the port until Linux says it again, or the place that the
// configuration gives it now.
static void map_locals(struct tcp_move_map *map, const struct layout *l,
                       const struct server_params *p, const struct ip_addr *addr)
{
    bool found[TCP_LOCALS_MAX] = {false};
    for (uint32_t i = 0; i < l->n_locals; i++)
        map->local[i] = local_now(p, l->local[i].port, &addr[i], found);
    for (uint32_t i = 0; i < l->n_locals; i++) {
        struct ip_addr free_place;
        if (map->local[i] == TCP_MOVE_NONE && ip_parse(l->local[i].addr, &free_place) &&
            is_none(&free_place))
            map->local[i] = local_now(p, l->local[i].port, &free_place, found);
    }
}

static struct tcp_move_map map_of(const struct layout *l, const struct server_params *p,
                                  const struct ip_addr *addr)
{
    struct tcp_move_map map = {.n_services = l->n_services, .n_locals = l->n_locals};
    for (uint32_t i = 0; i < l->n_services; i++)
        map.service[i] = service_now(p, l->service[i].name, l->service[i].app);
    memcpy(map.addr, addr, l->n_locals * sizeof(map.addr[0]));
    map_locals(&map, l, p, addr);
    return map;
}

static void look_at_hand(struct adoption_move *m, unsigned w, const struct worker *before)
{
    struct tcp_left *left = &m->left[w];
    struct left_worker *was = &m->was[w];
    layout_left(&m->layout, w, (uint8_t *)m->state, left);
    left->hand = was->hand;
    was->ran = shared_u32_load(&before->state) != WORKER_IDLE;
    was->now_us = before->tcp.now.us;
    if (was->ran)
        left->n_hand = hand_list(before, left->n_blocks, was->hand);
}

// look_at_workers: -1: no memory.
static int look_at_workers(struct adoption_move *m, const struct server_params *p)
{
    struct worker *before = aligned_alloc(_Alignof(struct worker), sizeof(*before));
    if (before == NULL)
        return -1;
    memset(before, 0, sizeof(*before));
    for (unsigned w = 0; w < m->layout.n_workers; w++) {
        const uint8_t *at = layout_at(&m->layout, w, (uint8_t *)m->state, REGION_WORKER);
        adoption_worker_copy(before, at, &m->layout.worker);
        look_at_hand(m, w, before);
        if (w == 0)
            m->map = map_of(&m->layout, p, before->homes.local);
    }
    free(before);
    return 0;
}

// same_apps: a service that has another application now is a mistake rather than a wish to end its
// connections.
static bool same_apps(const struct layout *l, const struct server_params *p)
{
    for (uint32_t i = 0; i < l->n_services; i++)
        for (unsigned k = 0; k < p->n_services; k++)
            if (strcmp(l->service[i].name, p->services[k].name) == 0 &&
                strcmp(l->service[i].app, p->services[k].app->name) != 0)
                return false;
    return true;
}

static int read_layout(struct layout *l, const char *was, const char *layout,
                       const struct server_params *p, struct err *why)
{
    if (layout_read(l, was, p, layout, why) != 0)
        return -1;
    return same_apps(l, p) ? 0 : err_set(why, "a service has another application");
}

// has_memory: for the converted records, which lie in ordinary memory until the server serves.
static bool has_memory(const struct layout *l)
{
    struct memory_4k now;
    memory_4k_read(&now, "/proc");
    return now.total_bytes == 0 ||
           layout_converted_bytes(l) <=
               now.available_bytes - MIN(now.available_bytes, now.linux_bytes);
}

static int read_earlier(struct adoption_move *m, const struct server_params *p, const char *layout,
                        struct err *why)
{
    const char *was = m->state->layout;
    if (read_layout(&m->layout, was, layout, p, why) != 0)
        return -1;
    if (m->state->at != m->state)
        return err_set(why, "its memory cannot be mapped at the same address");
    if (ADOPTION_STATE_BYTES + m->layout.n_workers * m->layout.worker_bytes >
        arena_reserved_bytes(m->arena))
        return err_set(why, "its memory is shorter than its layout says");
    m->same_nets = layout_same_nets(was, layout);
    return look_at_workers(m, p) == 0 ? 0 : err_set(why, "no memory");
}

static struct adoption_move *read_move(struct server *s, const char *layout, struct err *why)
{
    struct adoption_move *m = calloc(1, sizeof(*m));
    if (m == NULL) {
        err_set(why, "no memory");
        return NULL;
    }
    m->arena = s->arena;
    m->state = s->adoption;
    if (read_earlier(m, &s->params, layout, why) == 0)
        return m;
    free(m);
    return NULL;
}

int adoption_move_open(struct server *s, const struct arena_params *ap, const char *layout,
                       struct err *why)
{
    struct adoption_move *m = read_move(s, layout, why);
    if (m == NULL)
        return -1;
    if (!has_memory(&m->layout)) {
        free(m);
        return err_set(why, "not enough memory to convert them");
    }
    struct arena *next = arena_open_next(m->arena, ap, why);
    if (next == NULL) {
        free(m);
        return -1;
    }
    s->move = m;
    s->arena = next;
    s->adoption = arena_carve(next, "state", ADOPTION_STATE_BYTES, CACHE_LINE);
    return 0;
}

const struct adoption *adoption_move_from(const struct adoption_move *m)
{
    return m->state;
}

// ---- the state

// move_times: of the worker that ran last.
static void move_times(struct adoption *to, const struct adoption_move *m)
{
    to->epoch_us = m->state->epoch_us;
    to->clock_us = m->state->clock_us;
    to->ran_us = m->state->ran_us;
    for (unsigned w = 0; w < m->layout.n_workers; w++) {
        to->clock_us = MAX(to->clock_us, m->was[w].now_us);
        if (m->was[w].ran)
            to->ran_us = MAX(to->ran_us, m->was[w].now_us);
    }
}

static void move_versions(struct sock_states *to, const struct sock_states *from,
                          const struct tcp_move_map *map, const struct server_params *p)
{
    const struct sock_states was = *from;  // perhaps the same
    const uint32_t was_unknown = shared_u32_load(&was.unknown);
    uint32_t unknown = 0;
    for (unsigned i = 0; i < p->n_services; i++)
        to->version[i] = p->services[i].app->state_version;
    for (uint32_t i = 0; i < map->n_services; i++) {
        if (map->service[i] == TCP_MOVE_NONE)
            continue;
        to->version[map->service[i]] = was.version[i];
        unknown |= (was_unknown >> i & 1) << map->service[i];
    }
    shared_u32_store(&to->unknown, unknown);
}

static bool has_service(const struct server_params *p, const char *name)
{
    for (unsigned i = 0; i < p->n_services; i++)
        if (strcmp(p->services[i].name, name) == 0)
            return true;
    return false;
}

int adoption_move_forecast(const struct adoption *was, const struct server_params *p,
                           const char *layout, struct sock_states *states, struct text *gone,
                           struct err *why)
{
    static struct layout l;
    if (read_layout(&l, was->layout, layout, p, why) != 0)
        return -1;
    if (!has_memory(&l))
        return err_set(why, "not enough memory to convert them");
    struct ip_addr addr[TCP_LOCALS_MAX] = {{{0}}};  // where they are, nobody asks
    const struct tcp_move_map map = map_of(&l, p, addr);
    move_versions(states, &was->states, &map, p);
    for (uint32_t i = 0; i < l.n_services; i++)
        if (!has_service(p, l.service[i].name))
            text_printf(gone, "  service %s is gone: its connections are reset\n",
                        l.service[i].name);
    return 0;
}

// move_owners: each service keeps its number in the file of images; a new one gets a free number.
static void move_owners(struct adoption *to, const struct adoption_move *m, unsigned n_services)
{
    bool has[TCP_SERVICES_MAX] = {false}, taken[UINT8_MAX + 1] = {false};
    for (uint32_t i = 0; i < m->map.n_services; i++)
        taken[m->state->image_owner[i]] = true;
    for (uint32_t i = 0; i < m->map.n_services; i++) {
        if (m->map.service[i] == TCP_MOVE_NONE)
            continue;
        to->image_owner[m->map.service[i]] = m->state->image_owner[i];
        has[m->map.service[i]] = true;
    }
    for (unsigned i = 0, next = 0; i < n_services; i++) {
        if (has[i])
            continue;
        while (taken[next])
            next++;
        to->image_owner[i] = (uint8_t)next++;
    }
}

void adoption_move_state(struct server *s)
{
    const struct adoption_move *m = s->move;
    move_times(s->adoption, m);
    s->adoption->starts = m->state->starts;
    s->adoption->refused = m->state->refused;
    move_versions(&s->adoption->states, &m->state->states, &m->map, &s->params);
    move_owners(s->adoption, m, s->params.n_services);
}

void adoption_move_net(const struct server *s, unsigned id, uint8_t *net_region)
{
    const struct adoption_move *m = s->move;
    const unsigned w = id % m->layout.n_workers;
    struct region own[REGION_COUNT];
    server_regions(&s->params, own);
    if (m->layout.from == NULL && m->same_nets &&
        m->layout.region[REGION_NET].bytes == own[REGION_NET].bytes)
        memcpy(net_region, layout_at(&m->layout, w, (uint8_t *)m->state, REGION_NET),
               m->layout.region[REGION_NET].bytes);
}

// ---- copying

// job: on a thread of its own.
struct job {
    struct server *s;
    unsigned i;  // an earlier worker, or one of this server
    int rc;
    struct tcp_adopted out;
    pthread_t thread;
};

static void *look(void *arg)
{
    struct job *j = arg;
    struct adoption_move *m = j->s->move;
    struct tcp_left *left = &m->left[j->i];
    uint8_t *fate = m->fate[j->i] = malloc(left->n_blocks);
    j->rc = -1;
    if (fate != NULL && (m->layout.from == NULL ||
                         adoption_convert(m->layout.from, left, &m->was[j->i].converted) == 0))
        j->rc = tcp_move_look(left, &m->map, &j->s->workers[0]->tcp, fate, &j->out);
    return NULL;
}

static void *take(void *arg)
{
    struct job *j = arg;
    const struct adoption_move *m = j->s->move;
    j->rc = tcp_move_take(&j->s->workers[j->i]->tcp, m->left, (uint8_t *const *)m->fate,
                          m->layout.n_workers, &m->map, &j->out);
    return NULL;
}

static bool start(struct job *j, void *(*run)(void *))
{
    const struct server *s = j->s;
    cpu_set_t cpu;
    if (pthread_create(&j->thread, NULL, run, j) != 0)
        return false;
    CPU_ZERO(&cpu);
    CPU_SET(s->workers[j->i % s->params.n_workers]->cpu, &cpu);
    pthread_setaffinity_np(j->thread, sizeof(cpu), &cpu);
    return true;
}

static void add(struct tcp_adopted *to, const struct tcp_adopted *from)
{
    to->half_open_refused += from->half_open_refused;
    to->time_wait_refused += from->time_wait_refused;
    for (unsigned r = 0; r < TCP_REFUSAL_COUNT; r++)
        to->refused[r] += from->refused[r];
}

// all: n jobs at the same time, on the workers' CPUs. The threads get no signals, which are for the
// control thread.
static int all(struct server *s, unsigned n, void *(*run)(void *), struct tcp_adopted *sum)
{
    static struct job jobs[SERVER_WORKERS_MAX];
    sigset_t full, before;
    unsigned started = 0;
    int rc = 0;
    sigfillset(&full);
    pthread_sigmask(SIG_SETMASK, &full, &before);
    for (; started < n; started++) {
        jobs[started] = (struct job){.s = s, .i = started};
        if (!start(&jobs[started], run))
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(jobs[i].thread, NULL);
        rc |= jobs[i].rc;
        add(sum, &jobs[i].out);
    }
    return started == n ? rc : -1;
}

int adoption_move_take(struct server *s, struct tcp_adopted *refused, struct err *err)
{
    *refused = (struct tcp_adopted){.connections = 0};
    if (all(s, s->move->layout.n_workers, look, refused) == 0 &&
        all(s, s->params.n_workers, take, refused) == 0)
        return 0;
    return err_set(err, "no memory or thread to adopt connections");
}

// ---- the end

static void free_move(struct adoption_move *m)
{
    for (unsigned w = 0; w < SERVER_WORKERS_MAX; w++) {
        free(m->fate[w]);
        converted_free(&m->was[w].converted);
    }
    free(m);
}

void adoption_move_end(struct server *s)
{
    s->adoption->at = s->adoption;
    __asm__ volatile("" ::: "memory");  // this process may be killed at the next store
    shared_u32_store(&s->move->state->complete, 0);
    arena_succeed(s->arena);
    s->move->ended = true;
}

void adoption_move_close(struct adoption_move *m)
{
    if (m == NULL)
        return;
    if (m->ended)
        arena_free_pages(m->arena);
    arena_close(m->arena);
    free_move(m);
}
