// SPDX-License-Identifier: BSD-3-Clause
// ctl/drain and ctl/services/NAME/state: refuse new connections and let open ones finish.
//
//     serving --start, SIGTERM--> draining --none left, or time is up: the rest is reset--> drained
//        ^                           |                                                        |
//        +-----------stop------------+---------------------------stop-------------------------+
//
// Half-open connections are still accepted during the drain, because their peers have the SYN-ACK.
// At the end of the drain the workers close the services, which removes half-open connections; then
// the state is drained. A single service is drained in the same way.
//
// After SIGTERM, the time limit is enforced by stopping the workers, which reset the remaining
// connections, and not by an order, which a hanging worker would not execute.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/words.h"
#include "ctl/steering/steering_internal.h"
#include "tcp/tcp.h"
#include "worker/order.h"

static const char *const state_names[] = {[TCP_SERVICE_OPEN] = "open",
                                          [TCP_SERVICE_DRAINING] = "draining",
                                          [TCP_SERVICE_CLOSED] = "closed"};

static void tell_applications(struct ctl_steering *st, uint32_t services)
{
    const struct order o = {.kind = ORDER_DRAIN, .services = services};
    if (orders_post(st->orders, &o, NULL, NULL) != 0)
        log_say(LOG_ctl, LOG_WARN,
                "drain: too many orders are pending: idle connections stay open");
}

static void begin(struct ctl_steering *st, uint64_t seconds)
{
    st->drain.state = DRAIN_UNDER_WAY;
    st->drain.again_ms = 0;
    st->drain.shut = false;
    st->drain.until_ms = ctl_steering_now_ms() + seconds * 1000;
    ctl_steering_states(st);
    tell_applications(st, UINT32_MAX);
    log_say(LOG_ctl, LOG_INFO, "draining: %llu connections have %llu s",
            (unsigned long long)ctl_steering_connections(st, UINT_MAX),
            (unsigned long long)seconds);
}

// A half-open connection may have been established after the walk that reset the others.
static void on_reset(void *arg, const struct order_answer *a)
{
    struct ctl_steering *st = arg;
    (void)a;
    st->drain.reset = false;
    st->drain.again_ms = ctl_steering_now_ms() + STEERING_RESET_AGAIN_MS;
}

static void reset_rest(struct ctl_steering *st)
{
    const struct order o = {.kind = ORDER_KILL};
    if (orders_post(st->orders, &o, on_reset, st) != 0)
        return;  // try again at the next tick
    st->drain.reset = true;
    if (st->drain.again_ms == 0)
        log_say(LOG_ctl, LOG_INFO, "drain: the time limit has expired: resetting %llu connections",
                (unsigned long long)ctl_steering_connections(st, UINT_MAX));
}

static void end(struct ctl_steering *st)
{
    st->drain.state = DRAIN_DONE;
    log_say(LOG_ctl, LOG_INFO, "drained");
    if (st->drain.stops)
        ctl_loop_stop(st->p.loop);
}

static void shut(struct ctl_steering *st)
{
    if (st->drain.shut)
        return;
    st->drain.shut = true;
    ctl_steering_states(st);
}

bool ctl_steering_drain_tick(struct ctl_steering *st, uint64_t now_ms)
{
    struct ctl_steering_drain *d = &st->drain;
    if (d->state != DRAIN_UNDER_WAY)
        return false;
    if (ctl_steering_connections(st, UINT_MAX) == 0) {
        shut(st);
        // A worker may accept connections until it has executed the order, so they are checked
        // after all workers have.
        if (orders_lagging(st->orders) < 0 && ctl_steering_connections(st, UINT_MAX) == 0) {
            end(st);
            return false;
        }
    }
    if (now_ms < MAX(d->until_ms, d->again_ms) || d->reset)
        return true;
    if (d->stops) {
        log_say(LOG_ctl, LOG_WARN, "drain: the time limit has expired with %llu connections left",
                (unsigned long long)ctl_steering_connections(st, UINT_MAX));
        ctl_loop_stop(st->p.loop);
        return false;
    }
    shut(st);
    reset_rest(st);
    return true;
}

void ctl_steering_look(struct ctl_steering *st)
{
    bool any = false;
    ctl_steering_follow_look(st);
    if (ctl_steering_files_look(st->files))
        ctl_steering_kick(st);
    if (st->drain.state != DRAIN_NONE || orders_lagging(st->orders) >= 0)
        return;
    for (unsigned i = 0; i < server_params_of(st->p.server)->n_services; i++) {
        if (st->wanted[i] != TCP_SERVICE_DRAINING || st->empty[i] ||
            ctl_steering_connections(st, i) != 0)
            continue;
        st->empty[i] = any = true;
        log_say(LOG_ctl, LOG_INFO, "service %s: drained", server_service(st->p.server, i)->name);
    }
    if (any)
        ctl_steering_states(st);
}

void ctl_steering_stop(struct ctl_steering *st)
{
    if (st->drain.stops || st->p.conf->control.drain_s == 0) {
        ctl_loop_stop(st->p.loop);
        return;
    }
    begin(st, st->p.conf->control.drain_s);
    st->drain.stops = true;
}

static int start(struct ctl_steering *st, const char *text)
{
    uint64_t seconds = st->p.conf->control.drain_s;
    const int rc = text == NULL ? 0 : words_number(text, 0, STEERING_DRAIN_S_MAX, &seconds);
    if (rc == 0)
        begin(st, seconds);
    return rc;
}

static int drain_write(struct ctl_steering_entry *e, char *line)
{
    char *words[STEERING_WORDS_MAX];
    const int n = ctl_steering_words(line, words);
    struct ctl_steering *st = e->st;
    if (n < 1 || n > 2)
        return -EINVAL;
    if (st->drain.stops)
        return -EBUSY;
    if (strcmp(words[0], "start") == 0)
        return start(st, n == 2 ? words[1] : NULL);
    if (n == 1 && strcmp(words[0], "now") == 0)
        return start(st, "0");
    if (n != 1 || strcmp(words[0], "stop") != 0)
        return -EINVAL;
    if (st->drain.state != DRAIN_NONE)
        log_say(LOG_ctl, LOG_INFO, "drain: canceled");
    st->drain.state = DRAIN_NONE;
    ctl_steering_states(st);
    return 0;
}

static void drain_show(struct ctl_steering_entry *e, struct text *out)
{
    static const char *const names[] = {
        [DRAIN_NONE] = "serving", [DRAIN_UNDER_WAY] = "draining", [DRAIN_DONE] = "drained"};
    const struct ctl_steering_drain *d = &e->st->drain;
    const uint64_t now_ms = ctl_steering_now_ms();
    const uint64_t left_ms = d->until_ms > now_ms ? d->until_ms - now_ms : 0;
    text_printf(out, "state %s\nconnections %llu\n", names[d->state],
                (unsigned long long)ctl_steering_connections(e->st, UINT_MAX));
    if (d->state == DRAIN_UNDER_WAY)
        text_printf(out, "seconds_left %llu\n", (unsigned long long)(left_ms + 999) / 1000);
}

static const struct ctl_steering_file drain_file = {
    .help =
        "# Drains the server: it refuses new connections (RST), closes HTTP connections after the\n"
        "# current reply, closes idle connections, and resets the rest when the time is over.\n"
        "#   start [SECONDS]   drain for 0 to 86400 seconds (default: [control] drain_s)\n"
        "#   now               reset all connections at once, as `start 0`\n"
        "#   stop              cancel the drain and serve again\n"
        "# SIGTERM does `start` and then stops the server; a second SIGTERM stops it at once.\n",
    .write = drain_write,
    .show = drain_show,
};

static int state_write(struct ctl_steering_entry *e, char *line)
{
    struct ctl_steering *st = e->st;
    for (unsigned s = 0; s < ARRAY_LEN(state_names); s++) {
        if (strcmp(line, state_names[s]) != 0)
            continue;
        if (st->drain.state != DRAIN_NONE)
            return -EBUSY;
        st->wanted[e->at] = (uint8_t)s;
        st->empty[e->at] = false;
        ctl_steering_states(st);
        if (s == TCP_SERVICE_DRAINING)
            tell_applications(st, 1u << e->at);
        log_say(LOG_ctl, LOG_INFO, "service %s: %s", server_service(st->p.server, e->at)->name,
                state_names[s]);
        return 0;
    }
    return -EINVAL;
}

// in_force: the lowest of the states that the workers have; `wanted` if there is no worker.
static uint8_t in_force(const struct ctl_steering *st, unsigned service, uint8_t wanted)
{
    uint8_t least = wanted;
    for (unsigned w = 0; w < server_workers(st->p.server); w++) {
        const struct tcp_service *sv = &server_worker(st->p.server, w)->tcp.services[service];
        const uint8_t state = peek_u8(&sv->state);
        least = w == 0 ? state : MIN(least, state);
    }
    return least;
}

static const char *name_of(uint8_t state, bool drains, uint64_t connections)
{
    if (!drains || state != TCP_SERVICE_CLOSED)
        return state_names[state];
    return connections == 0 ? "drained" : state_names[TCP_SERVICE_DRAINING];
}

static void state_show(struct ctl_steering_entry *e, struct text *out)
{
    const struct ctl_steering *st = e->st;
    const uint8_t wanted = orders_settings(st->orders)->services[e->at].state;
    const uint8_t now = in_force(st, e->at, wanted);
    const uint64_t n = ctl_steering_connections(st, e->at);
    const bool drains = st->drain.state != DRAIN_NONE || st->wanted[e->at] == TCP_SERVICE_DRAINING;
    text_printf(out, "state %s\n", name_of(now, drains, n));
    if (now != wanted)
        text_printf(out, "pending %s\n", name_of(wanted, drains, n));
    text_printf(out, "connections %llu\n", (unsigned long long)n);
}

static const struct ctl_steering_file state_file = {
    .help =
        "# open: accepts connections. closed: refuses new connections (RST); open ones continue.\n"
        "# draining: as closed, and open connections end as soon as possible, HTTP after the\n"
        "# current reply. drained: no connection is left, and half-open ones are refused, too.\n"
        "# pending: the state that was requested and that some worker has not reached yet.\n"
        "# While the whole server drains (ctl/drain), the state is draining, and a write returns\n"
        "# EBUSY.\n",
    .write = state_write,
    .show = state_show,
};

int ctl_steering_drain_fill(struct ctl_steering *st, struct tree_node *root)
{
    int rc = ctl_steering_add(st, root, "ctl/drain", &drain_file, 0);
    for (unsigned i = 0; i < server_params_of(st->p.server)->n_services; i++) {
        char path[96];
        snprintf(path, sizeof(path), "ctl/services/%s/state",
                 server_service(st->p.server, i)->name);
        rc |= ctl_steering_add(st, root, path, &state_file, i);
    }
    return rc;
}
