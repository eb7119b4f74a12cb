// SPDX-License-Identifier: BSD-3-Clause
#include "server/adoption_forecast.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mem/hugedir.h"
#include "mem/ledger.h"
#include "mem/page_supply.h"
#include "server/adoption.h"
#include "server/adoption_move.h"
#include "server/adoption_state.h"
#include "server/server_check.h"
#include "server/server_memory.h"

enum { OWNER_BYTES = 64 };

// owner_text: "of process 123", which runs, or "of the server before", if pid is 0.
static void owner_text(long pid, char out[OWNER_BYTES])
{
    if (pid != 0)
        snprintf(out, OWNER_BYTES, "of process %ld", pid);
    else
        snprintf(out, OWNER_BYTES, "of the server before");
}

// verdict: of a forecast.
struct verdict {
    char line[128];  // of the layout that differs
    struct err reason;
    const char *why;  // they are not adopted; NULL: they are
    bool moves;       // to memory of another layout
    struct text gone;
};

// judge: a move changes a->states to what the start finds.
static void judge(struct verdict *v, const struct server_params *p, struct adoption *a,
                  const struct hugedir_kept *kept)
{
    struct text layout;
    text_init(&layout, 1 << 16);
    adoption_layout(p, &layout);
    *v = (struct verdict){.moves = false};
    text_init(&v->gone, 1 << 16);
    v->why = adoption_differs(a, text_str(&layout), v->line);
    if (v->why == v->line) {
        v->moves =
            adoption_move_forecast(a, p, text_str(&layout), &a->states, &v->gone, &v->reason) == 0;
        v->why = v->moves ? NULL : v->line;
    } else if (v->why == NULL && kept->bytes != ALIGN_UP(server_arena_bytes(p), kept->page_bytes)) {
        v->why = "its memory is shorter or longer than its layout says";
    }
    text_free(&layout);
}

// no_room: whether there are fewer hugepages than a copy needs beside what it copies; *why: how
// many. The packets of a server that runs are free when the next one starts.
static bool no_room(const struct server_params *p, bool runs, struct err *why)
{
    struct page_supply now;
    size_t page;
    if (p->pages == PAGES_NONE)
        return false;
    page_supply_read(&now, "/sys", -1);
    return page_supply_choose(&now, p->pages, server_arena_bytes(p),
                              runs ? 0 : server_packet_bytes(p), &page, why) != 0;
}

static void service_line(const struct sock_states *states, struct sock_change change, bool moves,
                         const struct c10m_service *s, unsigned i, struct text *out)
{
    text_printf(out, "  ");
    if (!s->app->adopts || (moves && !s->app->moves))
        text_printf(out, "service %s: application %s cannot go on: its connections are reset",
                    s->name, s->app->name);
    else if ((change.other >> i & 1) != 0)
        adoption_change(states, change, s, i, out);
    else
        text_printf(out, "service %s: its connections go on", s->name);
    text_printf(out, "\n");
}

// service_lines: `a` is a copy.
static void service_lines(const struct server_params *p, struct adoption *a, bool moves,
                          struct text *out)
{
    static struct c10m_service services[TCP_SERVICES_MAX];
    for (unsigned i = 0; i < p->n_services; i++) {
        services[i].name = p->services[i].name;
        services[i].app = p->services[i].app;
    }
    const struct sock_change change = sock_states_begin(&a->states, services, p->n_services);
    for (unsigned i = 0; i < p->n_services; i++)
        service_line(&a->states, change, moves, &services[i], i, out);
}

static int forecast(const struct server_params *p, int fd, const struct hugedir_kept *kept,
                    struct text *out)
{
    static union {
        struct adoption a;
        char bytes[ADOPTION_STATE_BYTES];
    } state;
    char owner[OWNER_BYTES], bytes[LEDGER_GROUPED_BYTES];
    struct verdict v = {.why = "its memory cannot be read"};
    const long pid = server_owner(p);
    owner_text(pid, owner);
    if (pread(fd, state.bytes, sizeof(state), 0) == (ssize_t)sizeof(state))
        judge(&v, p, &state.a, kept);
    if (v.moves && no_room(p, pid != 0, &v.reason))
        v.why = v.line;
    if (v.why != NULL) {
        text_printf(out, "adoption: the next start does not adopt the connections %s: %s%s%s\n%s",
                    owner, v.why, v.reason.text[0] != '\0' ? ": " : "", v.reason.text,
                    pid == 0 ? ""
                             : "  `c10m write ctl/drain 'start SECONDS'` lets them end first\n");
        return -1;
    }
    text_printf(out, "adoption: the next start adopts the connections %s\n", owner);
    if (v.moves)
        text_printf(out,
                    "  it copies them, because of %s: until it serves it needs %s bytes of "
                    "hugepages beside those of now\n",
                    v.line,
                    ledger_grouped(bytes, ALIGN_UP(server_arena_bytes(p), kept->page_bytes)));
    service_lines(p, &state.a, v.moves, out);
    text_printf(out, "%s", text_str(&v.gone));
    text_free(&v.gone);
    return 0;
}

int adoption_forecast(const struct server_params *p, struct text *out)
{
    struct hugedir_kept kept;
    if (p->adopt == SERVER_ADOPT_NEVER) {
        text_printf(out, "adoption: [control] adopt = never\n");
        return 0;
    }
    const int fd = hugedir_look(p->huge_dir, p->prefix, offsetof(struct adoption, at), &kept);
    if (fd < 0 && errno == ENOENT) {
        text_printf(out, "adoption: no server of this name has connections that stay\n");
        return 0;
    }
    if (fd < 0) {
        text_printf(out, "adoption: the memory of the server of this name cannot be read: %s\n",
                    strerror(errno));
        return -1;
    }
    const int rc = forecast(p, fd, &kept, out);
    close(fd);
    return rc;
}
