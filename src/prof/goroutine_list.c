// SPDX-License-Identifier: BSD-3-Clause
#include <inttypes.h>

#include "prof/conn_waits.h"
#include "prof/goroutine.h"
#include "server/core_name.h"
#include "sock/sock.h"
#include "tcp/tcp_show.h"

// list: what is being written.
struct list {
    const struct server *s;
    struct goroutine_filter filter;
    struct text *out;
    uint64_t matched;
};

// line: what is known of one entry. idle_ms UINT32_MAX: nothing.
struct line {
    struct tcp_shown shown;
    enum conn_waits waits;
    uint32_t idle_ms;
};

static void look(const struct conn_seen *seen, struct line *l)
{
    const struct tcp *t = seen->view;
    l->idle_ms = UINT32_MAX;
    if (seen->kind == CONN_SYN) {
        tcp_show_syn(&l->shown, t, &seen->syn, seen->ix, t->now.ms);
        l->waits = CONN_WAITS_HANDSHAKE;
    } else if (seen->kind == CONN_BLOCK) {
        struct block copy = seen->block;
        tcp_show_block(&l->shown, t, &seen->block, seen->ix, t->now.ms);
        l->waits = conn_waits_of(&seen->block);
        l->idle_ms = tcp_idle_time_ms(t, &copy);
    } else {
        tcp_show_time_wait(&l->shown, t, &seen->time_wait, seen->ix, t->now.ms);
        l->waits = CONN_WAITS_TIMER;
    }
    l->shown.worker = seen->worker;
}

static void put_end(struct text *out, const struct ip_addr *a, uint16_t port)
{
    char at[IP_TEXT_BYTES];
    text_printf(out, ip_is_v4(a) ? "%s:%u" : "[%s]:%u", ip_text(a, at), port);
}

static void put_head(const struct line *l, struct text *out)
{
    enum { MINUTE_MS = 60 * 1000 };
    text_printf(out, "goroutine %" PRIu64 " [%s", (uint64_t)l->shown.worker << 32 | l->shown.id,
                conn_waits_names[l->waits]);
    if (l->idle_ms != UINT32_MAX && l->idle_ms >= MINUTE_MS)
        text_printf(out, ", %u minutes", l->idle_ms / MINUTE_MS);
    text_printf(out, "]:\n");
}

static void put_times(const struct line *l, struct text *out)
{
    if (l->idle_ms != UINT32_MAX)
        text_printf(out, "idle %u s", l->idle_ms / 1000);
    if (l->shown.timer != 0)
        text_printf(out, "%stimer in %.1f s", l->idle_ms != UINT32_MAX ? ", " : "",
                    l->shown.when_ms / 1e3);
    else if (l->idle_ms == UINT32_MAX)
        text_printf(out, "no timer");
}

static void put_owner(const struct list *list, const struct line *l, bool has_service)
{
    char core[CORE_NAME_BYTES];
    server_core_name(list->s, l->shown.worker, core);
    if (!has_service) {
        text_printf(list->out, "\t");
        put_times(l, list->out);
        text_printf(list->out, "\ncreated by c10m on core c%s\n\n", core);
        return;
    }
    const struct c10m_service *sv = server_service(list->s, l->shown.service);
    text_printf(list->out, "app %s(service %s)\n\t", sv->app->name, sv->name);
    put_times(l, list->out);
    text_printf(list->out, "\ncreated by service %s on core c%s\n\n", sv->name, core);
}

static void put(const struct list *list, const struct conn_seen *seen)
{
    const struct worker *w = server_worker(list->s, seen->worker);
    const struct ip_addr none = {{0}};
    const uint16_t ix = conn_local_ix(seen);
    struct line l;
    look(seen, &l);
    put_head(&l, list->out);
    text_printf(list->out, "%s(unacked %u, unsent %u, unread %u bytes)\n\t",
                tcp_state_name((enum tcp_state)l.shown.state), l.shown.unacked, l.shown.unsent,
                l.shown.rcvq);
    put_end(list->out, ix < w->sock.n_locals ? &w->sock.shown[ix] : &none, l.shown.local_port);
    text_printf(list->out, " <-> ");
    put_end(list->out, &l.shown.remote, l.shown.remote_port);
    text_printf(list->out, "\n");
    put_owner(list, &l,
              seen->kind < CONN_TIME_WAIT &&
                  l.shown.service < server_params_of(list->s)->n_services);
}

static bool see(void *arg, const struct conn_seen *seen)
{
    struct list *list = arg;
    struct conn_seen copy = *seen;
    if (goroutine_matches(&list->filter, list->s, &copy) && ++list->matched <= GOROUTINE_LIST_MAX)
        put(list, seen);
    return true;
}

void goroutine_list(const struct reading *r, struct text *out)
{
    struct list list = {.s = r->shown.server, .out = out};
    struct err err;
    goroutine_filter_parse(&r->shown, &r->query, &list.filter, &err);  // begin() has checked it
    conn_walk_all(list.s, &r->over, see, &list);
    if (list.matched > GOROUTINE_LIST_MAX)
        text_printf(out, "... %" PRIu64 " more: a filter selects those of interest\n",
                    list.matched - GOROUTINE_LIST_MAX);
}
