// SPDX-License-Identifier: BSD-3-Clause
#include "server/worker_start.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "confine/identity.h"
#include "drivers/port_rights.h"
#include "server/idle_mode.h"
#include "server/server.h"

// driver_of: the k-th driver of a port: its own, then those of the ports around or over which it
// is. NULL: there are no more.
static const char *driver_of(const struct server_port_params *pp, unsigned k)
{
    if (k == 0)
        return pp->port.driver;
    const struct port_params *device = server_device(pp, k - 1);
    return device == NULL ? NULL : device->driver;
}

// each_rights: what each driver of the ports needs.
static void each_rights(const struct server_params *p,
                        void (*take)(const struct port_rights *r, void *to), void *to)
{
    const char *driver;
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; (driver = driver_of(&p->ports[i], k)) != NULL; k++)
            if (port_rights_of(driver) != NULL)
                take(port_rights_of(driver), to);
}

static void take_calls(const struct port_rights *r, void *calls)
{
    call_list_add(calls, r->calls, r->n_calls);
}

static void take_control_calls(const struct port_rights *r, void *calls)
{
    call_list_add(calls, r->control_calls, r->n_control_calls);
}

static void take_capabilities(const struct port_rights *r, void *all)
{
    *(uint64_t *)all |= r->capabilities;
}

// What malloc() and free() of the C library ask the kernel.
static const int memory_calls[] = {SYS_brk,    SYS_mmap,    SYS_munmap,
                                   SYS_mremap, SYS_madvise, SYS_mprotect};

static bool allocates(const struct server_params *p)
{
    for (unsigned i = 0; i < p->n_services; i++)
        if (p->services[i].app->allocates)
            return true;
    return false;
}

// To sleep, and to wake another worker.
static const int sleep_calls[] = {SYS_ppoll, SYS_read, SYS_write};

int worker_filter(const struct server_params *p, struct call_filter *filter, struct err *err)
{
    struct call_list calls = {.n = 0};
    each_rights(p, take_calls, &calls);
    if (allocates(p))
        call_list_add(&calls, memory_calls, ARRAY_LEN(memory_calls));
    if (idle_mode_of(p) == IDLE_INTERRUPT)
        call_list_add(&calls, sleep_calls, ARRAY_LEN(sleep_calls) - (p->n_workers == 1));
    return call_filter_worker(filter, &calls, p->calls, err);
}

void worker_control_calls(const struct server_params *p, struct call_list *calls)
{
    each_rights(p, take_control_calls, calls);
}

uint64_t worker_capabilities(const struct server_params *p)
{
    uint64_t all = 0;
    each_rights(p, take_capabilities, &all);
    return all;
}

void worker_place(const void *worker, char *text, size_t n)
{
    const struct worker *w = worker;
    const unsigned at = shared_u32_load(&w->at);
    const uint8_t serving = shared_u8_load(&w->sock.serving);
    const bool in_app = serving < w->tcp.n_services;
    snprintf(text, n, "worker on CPU %u, stage %s%s%s", w->cpu,
             at < STAGE_COUNT ? stat_stage_names[at].name : "?", in_app ? " of service " : "",
             in_app ? w->sock.services[serving].name : "");
}

int worker_begin(void *start)
{
    const struct worker_start *s = start;
    identity_no_capabilities();
    prctl(PR_SET_TIMERSLACK, IDLE_SLACK_NS);  // the default, 50 us, would be added to each sleep
    if (s->filter->n != 0)
        violation_accept(&s->place);
    CHECK(call_filter_load(s->filter, false) == 0);
    return s->run(s->worker);
}
