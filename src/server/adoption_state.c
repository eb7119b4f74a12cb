// SPDX-License-Identifier: BSD-3-Clause
#include "server/adoption_state.h"

#include <stdio.h>
#include <string.h>

#include "server/adoption_worker.h"
#include "server/server_memory.h"
#include "worker/worker.h"

// Increase it when the meaning of a field that stays changes, not only its place.
enum { ADOPTION_VERSION = 5 };

const char ADOPTION_MAGIC[8] = "c10mkeep";

// ---- the layout: a line for each thing that both processes must have in common

static void put_sizes(struct text *out)
{
    text_printf(out, "version %d\n", ADOPTION_VERSION);
    text_printf(out, "block %zu ext %zu flight %zu %d %d buf %zu %d syn %zu time_wait %zu %zu\n",
                sizeof(struct block), sizeof(struct ext), sizeof(struct flight), FLIGHT_BYTES,
                FLIGHT_LARGE_BYTES, sizeof(struct buf), BUF_STRIDE, sizeof(struct syn_record),
                sizeof(struct time_wait), sizeof(struct time_wait6));
    text_printf(out, "state %zu secrets %d refusals %d\n", sizeof(struct adoption), SECRET_COUNT,
                TCP_REFUSAL_COUNT);
    adoption_worker_lines(out);
}

static void put_memory(const struct server_params *p, struct text *out)
{
    struct region r[REGION_COUNT];
    server_regions(p, r);
    text_printf(out, "[cpu] workers %u\n", p->n_workers);
    for (unsigned i = 0; i < REGION_COUNT; i++)
        text_printf(out, "memory %s %llu %llu\n", r[i].name, (unsigned long long)r[i].count,
                    (unsigned long long)r[i].bytes);
}

static void put_services(const struct server_params *p, struct text *out)
{
    for (unsigned i = 0; i < p->n_services; i++)
        text_printf(out, "[service %s] app %s\n", p->services[i].name, p->services[i].app->name);
}

static void put_addresses(const struct server_params *p, struct text *out)
{
    char at[IP_TEXT_BYTES];
    for (unsigned i = 0; i < p->n_ports; i++)
        text_printf(out, "[port %s] memory of neighbors %llu\n", p->ports[i].port.name,
                    (unsigned long long)server_port_net_bytes(&p->ports[i].net));
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_locals; k++)
            text_printf(out, "[port %s] address %s\n", p->ports[i].port.name,
                        ip_text(&p->ports[i].net.locals[k].addr, at));
}

void adoption_layout(const struct server_params *p, struct text *out)
{
    put_sizes(out);
    put_memory(p, out);
    put_services(p, out);
    put_addresses(p, out);
}

// differs: the first line of `now` that `before` does not have at its place; NULL: none.
static const char *differs(const char *before, const char *now, char line[128])
{
    size_t at = 0, begin = 0;
    for (; before[at] == now[at] && now[at] != '\0'; at++)
        if (now[at] == '\n')
            begin = at + 1;
    if (before[at] == now[at])
        return NULL;
    const char *of = now[begin] != '\0' ? now : before;
    snprintf(line, 128, "%.*s", (int)strcspn(of + begin, "\n"), of + begin);
    return line;
}

const char *adoption_differs(const struct adoption *a, const char *layout, char line[128])
{
    if (memcmp(a->magic, ADOPTION_MAGIC, sizeof(a->magic)) != 0)
        return "it is not the state of a server";
    if (shared_u32_load(&a->complete) == 0)
        return "that server ended while it started";
    if (memchr(a->layout, '\0', ADOPTION_LAYOUT_BYTES) == NULL)
        return "its layout has no end";
    return differs(a->layout, layout, line);
}

uint64_t adoption_clock_at(const struct adoption *a, uint64_t boot_us)
{
    return MAX(boot_us - MIN(boot_us, a->epoch_us), a->clock_us + 1);
}

void adoption_change(const struct sock_states *states, struct sock_change change,
                     const struct c10m_service *s, unsigned i, struct text *out)
{
    const bool unknown = (change.unknown >> i & 1) != 0;
    char was[32] = "of an unknown version";
    if (!unknown)
        snprintf(was, sizeof(was), "of version %u", states->version[i]);
    text_printf(
        out,
        "service %s: the state of its connections is %s, the application %s has version %u: %s",
        s->name, was, s->app->name, s->app->state_version,
        unknown                 ? "they are reset"
        : s->app->adopt == NULL ? "it cannot convert it, and they are reset"
                                : "it converts it");
}
