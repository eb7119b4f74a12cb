// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/steering/steering.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/words.h"
#include "c10m/tree.h"
#include "ctl/files/tree_files_internal.h"
#include "ctl/steering/steering_internal.h"
#include "server/server_conf.h"
#include "tcp/tcp.h"
#include "worker/order.h"

uint64_t ctl_steering_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

struct ctl_steering *ctl_steering_new(const struct ctl_steering_params *p, struct err *err)
{
    struct ctl_steering *st = calloc(1, sizeof(*st));
    if (st != NULL) {
        st->orders = orders_new(p->server);
        st->baseline = ctl_baseline_new(p->server);
    }
    if (st == NULL || st->orders == NULL || st->baseline == NULL) {
        if (st != NULL) {
            orders_free(st->orders);
            ctl_baseline_free(st->baseline);
        }
        free(st);
        err_set(err, "no memory for the files of ctl/");
        return NULL;
    }
    st->p = *p;
    st->timer_fd = -1;
    text_init(&st->reload.report, 0);
    st->files = ctl_steering_files_new(st);
    if (st->files == NULL) {
        ctl_steering_free(st);
        err_set(err, "no memory for the files of ctl/");
        return NULL;
    }
    return st;
}

void ctl_steering_free(struct ctl_steering *st)
{
    if (st == NULL)
        return;
    if (st->timer_fd >= 0)
        ctl_loop_remove(st->p.loop, st->timer_fd);
    ctl_steering_follow_close(st);
    ctl_steering_files_free(st->files);
    orders_free(st->orders);
    ctl_baseline_free(st->baseline);
    text_free(&st->reload.report);
    for (struct ctl_steering_entry *e = st->entries, *next; e != NULL; e = next) {
        next = e->next;
        free(e);
    }
    free(st);
}

const struct ctl_baseline *ctl_steering_baseline(const struct ctl_steering *st)
{
    return st->baseline;
}

static void on_tick(void *arg, uint64_t periods)
{
    struct ctl_steering *st = arg;
    (void)periods;
    const uint64_t now_ms = ctl_steering_now_ms();
    bool more = orders_poll(st->orders, now_ms);
    more |= ctl_steering_drain_tick(st, now_ms);
    more |= ctl_steering_files_look(st->files);
    more |= ctl_steering_restart_tick(st);
    if (more || st->timer_fd < 0)
        return;
    ctl_loop_remove(st->p.loop, st->timer_fd);
    st->timer_fd = -1;
}

bool ctl_steering_kick(struct ctl_steering *st)
{
    struct err err;
    if (st->timer_fd >= 0 || st->p.loop == NULL)
        return st->timer_fd >= 0;
    st->timer_fd = ctl_loop_timer(st->p.loop, STEERING_TICK_MS, on_tick, st, &err);
    if (st->timer_fd < 0)
        log_line(LOG_ERROR, "%s", err.text);
    return st->timer_fd >= 0;
}

// ---- orders

static const char *reason(int error)
{
    switch (error) {
    case -ENOENT:
        return "no such entry (ENOENT)";
    case -ENOSPC:
        return "no room for another permanent entry (ENOSPC)";
    case -EPERM:
        return "the entry is in the configuration (EPERM)";
    case -EAFNOSUPPORT:
        return "the port has no address of that family (EAFNOSUPPORT)";
    default:
        return strerror(-error);
    }
}

static void tell(struct ctl_steering_entry *e, const struct order_answer *a)
{
    char core[CORE_NAME_BYTES], count[64], of[32] = "";
    snprintf(count, sizeof(count), "%llu", (unsigned long long)a->count);
    if (a->done != a->workers)
        snprintf(of, sizeof(of), "%u of ", a->done);
    int n = snprintf(e->last, sizeof(e->last), "%s %s on %s%u worker%s", e->action, count, of,
                     a->workers, a->workers == 1 ? "" : "s");
    if (a->error == -ETIMEDOUT) {
        server_core_name(e->st->p.server, a->late, core);
        snprintf(e->last + n, sizeof(e->last) - (size_t)n,
                 "; the worker of cores/%s does not answer (ETIMEDOUT)", core);
    } else if (a->error != 0) {
        snprintf(e->last + n, sizeof(e->last) - (size_t)n, ": %s", reason(a->error));
    }
}

static void on_done(void *arg, const struct order_answer *a)
{
    struct ctl_steering_entry *e = arg;
    tell(e, a);
    e->busy = false;
    log_say(LOG_ctl, a->error == 0 ? LOG_INFO : LOG_WARN, "%s", e->last);
}

int ctl_steering_order(struct ctl_steering_entry *e, const struct order *o, const char *action)
{
    const int rc = e->busy ? -EBUSY : orders_post(e->st->orders, o, on_done, e);
    if (rc != 0)
        return rc;
    e->action = action;
    e->busy = true;
    ctl_steering_kick(e->st);
    return 0;
}

// The state of the service that the workers get. During a drain of the server it is draining, at
// the end closed.
static uint8_t state_for(const struct ctl_steering *st, unsigned service)
{
    const bool all = st->drain.state != DRAIN_NONE;
    if (!all && st->wanted[service] != TCP_SERVICE_DRAINING)
        return st->wanted[service];
    return (all ? st->drain.shut : st->empty[service]) ? TCP_SERVICE_CLOSED : TCP_SERVICE_DRAINING;
}

void ctl_steering_states(struct ctl_steering *st)
{
    struct order_settings *s = orders_settings(st->orders);
    for (unsigned i = 0; i < server_params_of(st->p.server)->n_services; i++)
        s->services[i].state = state_for(st, i);
    orders_set(st->orders);
    ctl_steering_kick(st);
}

void ctl_steering_on_change(struct ctl_steering *st, void (*fn)(void *arg), void *arg)
{
    st->changed = fn;
    st->changed_arg = arg;
}

void ctl_steering_settings(struct ctl_steering *st)
{
    struct order_settings *s = orders_settings(st->orders);
    server_settings_from(s, st->p.conf, server_params_of(st->p.server)->connections);
    orders_set(st->orders);
    ctl_steering_kick(st);
    if (st->changed != NULL)
        st->changed(st->changed_arg);
}

uint64_t ctl_steering_connections(const struct ctl_steering *st, unsigned service)
{
    uint64_t n = 0;
    for (unsigned w = 0; w < server_workers(st->p.server); w++) {
        const struct tcp *t = &server_worker(st->p.server, w)->tcp;
        for (unsigned i = 0; i < t->n_services; i++)
            if (i == service || service == UINT_MAX)
                n += peek_u32(&t->services[i].connections);
    }
    return n;
}

// ---- lines

int ctl_steering_words(char *line, char *words[STEERING_WORDS_MAX])
{
    return words_split(line, words, STEERING_WORDS_MAX);
}

int ctl_steering_service(const struct ctl_steering *st, const char *name)
{
    const struct server_params *p = server_params_of(st->p.server);
    for (unsigned i = 0; i < p->n_services; i++)
        if (strcmp(p->services[i].name, name) == 0)
            return (int)i;
    return -1;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Copies n bytes, without a terminating zero, to line, without blanks at the ends. False: the line
// is too long, or has control characters or a second line.
static bool line_of(const char *buf, size_t n, char line[STEERING_LINE_BYTES])
{
    for (; n != 0 && is_blank(buf[n - 1]); n--)
        ;
    for (; n != 0 && is_blank(buf[0]); n--)
        buf++;
    if (n == 0 || n >= STEERING_LINE_BYTES)
        return false;
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)buf[i] < ' ' && buf[i] != '\t') || buf[i] == 0x7f)
            return false;
    memcpy(line, buf, n);
    line[n] = '\0';
    return true;
}

static int entry_write(const char *buf, size_t n, void *data)
{
    struct ctl_steering_entry *e = data;
    char line[STEERING_LINE_BYTES];
    const int rc = line_of(buf, n, line) ? e->file->write(e, line) : -EINVAL;
    if ((rc == -EINVAL || rc == -ERANGE) && tree_reason()[0] == '\0')
        return tree_refuse(-rc, "read the file for its syntax");
    return rc;
}

static int entry_read(struct tree_out *out, void *data)
{
    struct ctl_steering_entry *e = data;
    struct text *text = tree_text(out);
    if (e->file->help != NULL)
        text_printf(text, "%s", e->file->help);
    if (e->file->show != NULL)
        e->file->show(e, text);
    if (e->busy)
        text_printf(text, "last: under way\n");
    else if (e->last[0] != '\0')
        text_printf(text, "last: %s\n", e->last);
    return 0;
}

int ctl_steering_add(struct ctl_steering *st, struct tree_node *root, const char *path,
                     const struct ctl_steering_file *file, unsigned at)
{
    static const struct tree_ops ops = {.read = entry_read, .write = entry_write};
    struct ctl_steering_entry *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return -1;
    *e = (struct ctl_steering_entry){.st = st, .file = file, .at = at, .next = st->entries};
    st->entries = e;
    return tree_file(root, path, 0644, &ops, e) == NULL ? -1 : 0;
}

void ctl_steering_set_recorder(struct ctl_steering *st, struct recorder *recorder)
{
    st->recorder = recorder;
}

int ctl_steering_fill(struct ctl_steering *st, struct tree_node *root)
{
    return ctl_steering_kill_fill(st, root) | ctl_steering_drain_fill(st, root) |
           ctl_steering_arp_fill(st, root) | ctl_steering_follow_fill(st, root) |
           ctl_steering_set_fill(st, root) | ctl_steering_reload_fill(st, root) |
           ctl_steering_files_fill(st, root) | ctl_steering_log_fill(st, root) |
           ctl_steering_trace_fill(st, root) | ctl_steering_reset_fill(st, root) |
           ctl_steering_restart_fill(st, root);
}
