// SPDX-License-Identifier: BSD-3-Clause
#include "server/adoption.h"

#include <pthread.h>
#include <rte_cycles.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "mem/image_store.h"
#include "server/adoption_state.h"
#include "server/server_internal.h"
#include "sock/sock_adopt.h"
#include "worker/hand.h"

// Keys whose output peers have seen, or that records depend on. The others are drawn anew: what
// they decide is made anew as well.
static const enum secret kept_keys[] = {SECRET_NUMBERS, SECRET_COOKIES, SECRET_FAST_OPEN,
                                        SECRET_TIMESTAMPS};

uint64_t adoption_bytes(const struct server_params *p)
{
    return p->adopt == SERVER_ADOPT_NEVER ? 0 : ADOPTION_STATE_BYTES;
}

static uint64_t boot_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

// ---- opening

static struct arena_params arena_of(const struct server_params *p)
{
    return (struct arena_params){.dir = p->huge_dir,
                                 .name = p->prefix,
                                 .pages = p->pages,
                                 .bytes = server_arena_bytes(p),
                                 .leave_bytes = server_packet_bytes(p),
                                 .keep = p->adopt != SERVER_ADOPT_NEVER,
                                 .at_offset = offsetof(struct adoption, at),
                                 .node = -1};
}

static struct arena *open_arena(const struct server *s, struct err *err)
{
    const struct arena_params ap = arena_of(&s->params);
    struct arena *a = arena_open(&ap, err);
    if (a == NULL)
        err_key(err, "memory.connections");
    return a;
}

// has_size: whether the arena is as long as one of our own with such pages.
static bool has_size(const struct server *s)
{
    const uint64_t page = arena_page_bytes(s->arena), bytes = server_arena_bytes(&s->params);
    return arena_reserved_bytes(s->arena) == ALIGN_UP(bytes, page);
}

// refusal: why the arena that a dead process kept cannot be adopted; NULL: it can.
static const char *refusal(const struct server *s, const char *layout, char line[128])
{
    const struct adoption *a = s->adoption;
    const char *other = adoption_differs(a, layout, line);
    if (other == NULL && a->at != a)
        return "its memory cannot be mapped at the same address";
    if (other == NULL && !has_size(s))
        return "its memory is shorter or longer than its layout says";
    return other;
}

static struct adoption *carve_state(struct server *s)
{
    return arena_carve(s->arena, "state", ADOPTION_STATE_BYTES, CACHE_LINE);
}

static int begin_anew(struct server *s, const char *layout, struct err *err)
{
    struct adoption *a = s->adoption;
    if (strlen(layout) >= ADOPTION_LAYOUT_BYTES)
        return err_set(err, "[control] adopt: too many addresses and services");
    memset(a, 0, ADOPTION_STATE_BYTES);
    memcpy(a->magic, ADOPTION_MAGIC, sizeof(a->magic));
    strcpy(a->layout, layout);
    memcpy(a->keys, s->keys.of, sizeof(a->keys));
    memcpy(a->rss_key, s->rss_key, sizeof(a->rss_key));
    a->at = s->move == NULL ? a : NULL;  // adoption_move_end()
    a->epoch_us = boot_us();
    for (unsigned i = 0; i < TCP_SERVICES_MAX; i++)
        a->image_owner[i] = (uint8_t)i;
    return 0;
}

static void take_over(struct server *s, const struct adoption *a)
{
    for (unsigned i = 0; i < ARRAY_LEN(kept_keys); i++)
        s->keys.of[kept_keys[i]] = a->keys[kept_keys[i]];
    memcpy(s->rss_key, a->rss_key, sizeof(a->rss_key));
    s->adopting = true;
}

// move: `line` of the layout is another one: the connections can be copied. -1: *why.
static int move(struct server *s, const char *layout, const char *line, struct err *why)
{
    const struct arena_params ap = arena_of(&s->params);
    struct err reason;
    if (adoption_move_open(s, &ap, layout, &reason) != 0)
        return err_set(why, "%s: %s", line, reason.text);
    take_over(s, adoption_move_from(s->move));
    if (begin_anew(s, layout, why) != 0)
        return -1;
    adoption_move_state(s);
    log_line(LOG_INFO, "the connections of the server before move: %s", line);
    return 0;
}

// look: whether what the dead process kept can be adopted; 1: no, and it is not required.
static int look(struct server *s, const char *layout, struct err *err)
{
    char line[128];
    struct err other;
    const bool must = s->params.adopt == SERVER_ADOPT_REQUIRE;
    const char *why = !arena_is_kept(s->arena)        ? "no server of this name left any"
                      : arena_fault(s->arena) != NULL ? arena_fault(s->arena)
                                                      : refusal(s, layout, line);
    if (why == NULL) {
        take_over(s, s->adoption);
        return 0;
    }
    if (why == line) {
        if (move(s, layout, line, &other) == 0)
            return 0;
        why = other.text;
    }
    if (must) {
        err_set(err, "the connections of the server before cannot be adopted: %s", why);
        return err_key(err, "control.adopt");
    }
    if (arena_is_kept(s->arena))
        log_line(LOG_WARN, "the connections of the server before are not adopted: %s", why);
    return 1;
}

// reopen: what was kept cannot be adopted: gives it up for an arena of our own.
static int reopen(struct server *s, struct err *err)
{
    arena_drop(s->arena);
    arena_close(s->arena);
    s->arena = open_arena(s, err);
    s->adoption = s->arena == NULL ? NULL : carve_state(s);
    return s->arena == NULL ? -1 : 0;
}

// try_services: what is kept is not given up for a start that an application would fail.
static int try_services(struct server *s, struct err *err)
{
    for (unsigned i = 0; i < s->params.n_services; i++) {
        if (server_service_init(s, i, err) != 0)
            return -1;
        sock_service_fini(&s->services[i]);
    }
    return 0;
}

static int open_state(struct server *s, const char *layout, struct err *err)
{
    if (arena_fault(s->arena) == NULL)
        s->adoption = carve_state(s);
    const int rc = look(s, layout, err);
    if (rc <= 0)
        return rc;
    if (arena_is_kept(s->arena) && (try_services(s, err) != 0 || reopen(s, err) != 0))
        return -1;
    return begin_anew(s, layout, err);
}

// open_images: without a file for them, connections that send an image do not go on.
static void open_images(struct server *s)
{
    struct err err;
    bool kept;
    const int fd = arena_images(s->arena, &kept, &err);
    if (fd >= 0)
        s->images = image_store_open(fd, kept && s->adopting, &err);
    if (s->images == NULL)
        log_line(LOG_INFO, "connections that send from a file do not outlive the process: %s",
                 err.text);
}

int adoption_open(struct server *s, struct err *err)
{
    struct text layout;
    s->arena = open_arena(s, err);
    if (s->arena == NULL || s->params.adopt == SERVER_ADOPT_NEVER)
        return s->arena == NULL ? -1 : 0;
    text_init(&layout, 1 << 16);
    adoption_layout(&s->params, &layout);
    const int rc = open_state(s, text_str(&layout), err);
    text_free(&layout);
    if (rc == 0 && s->params.pages != PAGES_NONE)
        open_images(s);
    return rc;
}

uint8_t adoption_image_owner(const struct server *s, unsigned i)
{
    return s->adoption != NULL ? s->adoption->image_owner[i] : (uint8_t)i;
}

// ---- workers

// stays: whether the region has what connections consist of.
static bool stays(enum region_id r)
{
    switch (r) {
    case REGION_BLOCKS:
    case REGION_ROUNDS:
    case REGION_SYN_RECORDS:
    case REGION_TIME_WAIT:
    case REGION_TIME_WAIT6:
    case REGION_EXTENSIONS:
    case REGION_FLIGHTS:
    case REGION_BUFFERS:
        return true;
    default:
        return false;
    }
}

// note_refused: noted in the state, so that it is known if this start fails.
static void note_refused(struct server *s, const struct tcp_adopted *a)
{
    struct tcp_adopted *to = &s->adoption->refused;
    to->half_open_refused += a->half_open_refused;
    to->time_wait_refused += a->time_wait_refused;
    for (unsigned r = 0; r < TCP_REFUSAL_COUNT; r++)
        to->refused[r] += a->refused[r];
}

// drop_hand: what the worker before had in hand. It is gone at once: a process that ends before it
// has adopted the others leaves no list.
static void drop_hand(struct server *s, const struct worker *before, uint8_t *const mem[])
{
    struct block *blocks = (struct block *)mem[REGION_BLOCKS];
    struct tcp_adopted dropped = {.connections = 0};
    uint32_t hand[HAND_MAX];
    const unsigned n = hand_list(before, server_share(&s->params, s->params.connections), hand);
    for (unsigned i = 0; i < n; i++)
        dropped.refused[TCP_REFUSED_IN_HAND] += tcp_adopt_drop(&blocks[hand[i]]);
    note_refused(s, &dropped);
    s->adoption->ran_us = MAX(s->adoption->ran_us, before->tcp.now.us);
}

// look_before: at the worker of the process before. One that never ran has nothing in hand.
static void look_before(struct server *s, uint8_t *const mem[REGION_COUNT])
{
    const struct worker *before = (const struct worker *)mem[REGION_WORKER];
    if (shared_u32_load(&before->state) != WORKER_IDLE)
        drop_hand(s, before, mem);
    s->adoption->clock_us = MAX(s->adoption->clock_us, before->tcp.now.us);
}

void adoption_prepare(struct server *s, unsigned id, uint8_t *const mem[REGION_COUNT],
                      struct adoption_neighbors *neighbors)
{
    struct region r[REGION_COUNT];
    if (!s->adopting)
        return;
    if (s->move != NULL)
        adoption_move_net(s, id, mem[REGION_NET]);
    else
        look_before(s, mem);
    adoption_neighbors_look(neighbors, &s->params, mem[REGION_NET]);
    server_regions(&s->params, r);
    for (unsigned i = 0; i < REGION_COUNT; i++)
        if (mem[i] != NULL && !stays(i) && s->move == NULL)
            memset(mem[i], 0, r[i].bytes);
}

// The workers' clock counts the TSC, which is parts of a million wrong, but never goes back.
uint64_t adoption_clock_us(const struct server *s)
{
    if (!s->adopting)
        return 0;
    return adoption_clock_at(s->adoption, boot_us());
}

// adoptable: services whose applications say so, one bit each.
static uint32_t adoptable(const struct server_params *p)
{
    uint32_t services = 0;
    for (unsigned i = 0; i < p->n_services; i++)
        if (p->services[i].app->adopts)
            services |= 1u << i;
    return services;
}

static bool is_image(void *server, uint8_t service, const uint8_t *at, uint32_t len)
{
    struct server *s = server;
    return s->images != NULL &&
           image_store_holds(s->images, s->services[service].image_owner, at, len);
}

static void add(struct tcp_adopted *to, const struct tcp_adopted *from)
{
    to->connections += from->connections;
    to->half_open += from->half_open;
    to->time_wait += from->time_wait;
}

// entering: one worker's part, on a thread of its own.
struct entering {
    struct tcp *tcp;
    struct tcp_adopt_params params;
    void *scratch;
    struct tcp_adopted out;
    pthread_t thread;
};

static void *enter(void *arg)
{
    struct entering *e = arg;
    tcp_adopt(e->tcp, &e->params, e->scratch, &e->out);
    return NULL;
}

static int begin_enter(struct server *s, unsigned id, struct entering *e, struct err *err)
{
    struct worker *w = s->workers[id];
    cpu_set_t cpu;
    *e = (struct entering){.tcp = &w->tcp,
                           .params = {.n_locals = w->sock.n_locals,
                                      .services = adoptable(&s->params),
                                      .is_image = is_image,
                                      .arg = s},
                           .scratch = calloc(1, tcp_adopt_footprint(&w->tcp))};
    if (e->scratch == NULL)
        return err_set(err, "no memory to adopt connections");
    const int rc = pthread_create(&e->thread, NULL, enter, e);
    if (rc != 0) {
        free(e->scratch);
        return err_set(err, "no thread to adopt connections: %s", strerror(rc));
    }
    CPU_ZERO(&cpu);
    CPU_SET(w->cpu, &cpu);
    pthread_setaffinity_np(e->thread, sizeof(cpu), &cpu);
    return 0;
}

static void end_enter(struct server *s, struct entering *e)
{
    pthread_join(e->thread, NULL);
    free(e->scratch);
    add(&s->adopted, &e->out);
    note_refused(s, &e->out);
}

static int take_moved(struct server *s, struct err *err)
{
    struct tcp_adopted refused;
    if (adoption_move_take(s, &refused, err) != 0)
        return -1;
    note_refused(s, &refused);
    return 0;
}

// The threads get no signals, which are for the control thread.
int adoption_enter(struct server *s, struct err *err)
{
    struct entering e[SERVER_WORKERS_MAX];
    sigset_t all, before;
    unsigned n = 0;
    if (!s->adopting)
        return 0;
    if (s->move != NULL && take_moved(s, err) != 0)
        return -1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (n < s->params.n_workers && begin_enter(s, n, &e[n], err) == 0)
        n++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (unsigned i = 0; i < n; i++)
        end_enter(s, &e[i]);
    return n == s->params.n_workers ? 0 : -1;
}

// say_change: what becomes of the connections of service i, whose state is of another version.
static void say_change(const struct server *s, unsigned i, struct sock_change change)
{
    const struct c10m_app *app = s->services[i].app;
    struct text line;
    text_init(&line, 1024);
    adoption_change(&s->adoption->states, change, &s->services[i], i, &line);
    const bool converts = app->adopt != NULL && (change.unknown >> i & 1) == 0;
    log_line(converts ? LOG_INFO : LOG_WARN, "%s", text_str(&line));
    text_free(&line);
}

// convert_states: after all of the start that can be tried beforehand. If the rest fails, the
// connections stay with their state of the new version.
static void convert_states(struct server *s)
{
    struct sock_states *st = &s->adoption->states;
    const unsigned n = s->params.n_services;
    const struct sock_change change = sock_states_begin(st, s->services, n);
    unsigned refused = 0;
    for (unsigned i = 0; i < n; i++)
        if ((change.other >> i & 1) != 0)
            say_change(s, i, change);
    for (unsigned i = 0; i < s->params.n_workers; i++)
        refused += sock_adopt(&s->workers[i]->sock, st, change);
    sock_states_end(st, s->services, n);
    s->adopted.connections -= refused;
    s->adoption->refused.refused[TCP_REFUSED_APP_STATE] += refused;
}

// take_refused: what this start and those that failed before have refused.
static void take_refused(struct server *s)
{
    struct tcp_adopted *all = &s->adoption->refused;
    all->connections = s->adopted.connections;
    all->half_open = s->adopted.half_open;
    all->time_wait = s->adopted.time_wait;
    s->adopted = *all;
}

static void put_refused(const struct tcp_adopted *a, struct text *out)
{
    for (unsigned r = 1; r < TCP_REFUSAL_COUNT; r++)
        if (a->refused[r] != 0)
            text_printf(out, ", %s %u", tcp_refusal_name(r), a->refused[r]);
    if (a->half_open_refused != 0)
        text_printf(out, "; half-open ones %u", a->half_open_refused);
    if (a->time_wait_refused != 0)
        text_printf(out, "; in TIME-WAIT %u", a->time_wait_refused);
}

static unsigned refused(const struct tcp_adopted *a)
{
    unsigned n = 0;
    for (unsigned r = 0; r < TCP_REFUSAL_COUNT; r++)
        n += a->refused[r];
    return n;
}

static void say(const struct server *s)
{
    const struct tcp_adopted *a = &s->adopted;
    struct text why;
    text_init(&why, 1024);
    put_refused(a, &why);
    log_line(LOG_INFO,
             "adopted %u connections, %u half-open ones and %u in TIME-WAIT after %llu ms; not "
             "adopted: %u%s",
             a->connections, a->half_open, a->time_wait, (unsigned long long)s->silent_us / 1000,
             refused(a), text_str(&why));
    text_free(&why);
}

static void begin_states(struct server *s)
{
    sock_states_note(&s->adoption->states, s->services, s->params.n_services);
    s->adoption->epoch_us = boot_us() - worker_now(&s->workers[0]->clock, tsc_read()).us;
}

void adoption_complete(struct server *s)
{
    if (s->adoption == NULL)
        return;
    s->adoption_done = true;
    s->adoption->starts++;
    if (s->adopting)
        convert_states(s);
    if (s->images != NULL)
        image_store_confirm(s->images);
    take_refused(s);
    s->silent_us = s->adopting ? adoption_clock_us(s) - s->adoption->ran_us : 0;
    if (s->adopting)
        say(s);
    else
        begin_states(s);
    shared_u32_store_release(&s->adoption->complete, 1);  // after all that was prepared
    if (s->move != NULL)
        adoption_move_end(s);
}

bool server_adoption(const struct server *s, struct server_adoption *out)
{
    if (s->adoption == NULL)
        return false;
    *out = (struct server_adoption){s->adoption->starts, s->silent_us, s->adopted,
                                    s->images != NULL ? image_store_spans_now(s->images) : 0};
    return true;
}

void adoption_serves(struct server *s)
{
    adoption_move_close(s->move);
    s->move = NULL;
    if (s->adoption != NULL)
        s->adoption->refused = (struct tcp_adopted){.connections = 0};
    if (s->images != NULL)
        image_store_give_idle(s->images);
}

bool adoption_stays(const struct server *s)
{
    return s->keeps || (s->adopting && !s->serves);
}

void adoption_end(struct server *s)
{
    image_store_close(s->images);
    if (s->adopting && !s->serves)
        log_line(LOG_WARN, "the connections of the server before stay in memory for the next "
                           "start; c10m clean removes them");
    if (s->arena != NULL && !adoption_stays(s) && (!arena_is_kept(s->arena) || s->adoption_done))
        arena_drop(s->arena);
}
