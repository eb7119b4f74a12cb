// SPDX-License-Identifier: BSD-3-Clause
// ctl/services/NAME/reload, and the part of SIGHUP and ctl/reload that concerns files: reads the
// files of services again (c10m/reload.h). Nothing here waits: each step of a service is one that a
// look finds to be possible.
//
//     wanted --helper thread--> read --show--> ORDER_SHOWN to all workers --> told
//               ^                 | LATER: there is no room until replaced objects are released
//               +--- once more ---+
//     told --unused: an object--> ORDER_TURN to all workers --helper thread--> released
//
// Before a `read`, what is unused is released, so that reloads in quick succession need no more
// room. If a worker does not answer, its order is given again, nothing is released until it has,
// and a `read` does not wait for that.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "c10m/reload.h"
#include "ctl/steering/steering_internal.h"
#include "server/reload_thread.h"
#include "worker/order.h"

enum old_state {
    OLD_NONE,
    OLD_FOUND,    // no connection uses it, but a turn may
    OLD_ORDERED,  // ORDER_TURN is under way
    OLD_READY,    // nothing uses it
    OLD_LEAVES,   // the helper thread releases it
};

// files_of: the reloads of one service.
struct files_of {
    struct ctl_steering_files *all;
    const struct c10m_reload *ops;  // NULL: the application has none
    bool wanted;                    // `read` is to begin
    bool reads;                     // it runs
    bool second;                    // it is, or will be, the second attempt
    bool telling;                   // ORDER_SHOWN is under way
    bool stuck;                     // a worker has not answered the last order
    uint32_t shows;   // how often connections had to be told: by `show`, or C10M_RELOAD_LATER
    uint32_t posted;  // value of `shows` when the order was given
    uint32_t told;    // ... and when all workers had executed one
    void *old;        // a replaced object
    enum old_state old_state;
    uint64_t count, failed;
    bool failed_last;
    char last[C10M_RELOAD_TEXT_BYTES];
};

struct ctl_steering_files {
    struct ctl_steering *st;
    struct reload_thread *thread;
    unsigned n;
    struct files_of of[TCP_SERVICES_MAX];
};

struct ctl_steering_files *ctl_steering_files_new(struct ctl_steering *st)
{
    struct ctl_steering_files *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return NULL;
    f->thread = reload_thread_new(st->p.server);
    if (f->thread == NULL) {
        free(f);
        return NULL;
    }
    f->st = st;
    f->n = server_params_of(st->p.server)->n_services;
    for (unsigned i = 0; i < f->n; i++) {
        const struct c10m_app *app = server_service(st->p.server, i)->app;
        f->of[i] = (struct files_of){.all = f, .ops = app == NULL ? NULL : app->reload};
    }
    return f;
}

// An object that waits for a turn of the workers is not released: the process ends before.
void ctl_steering_files_free(struct ctl_steering_files *f)
{
    if (f == NULL)
        return;
    reload_thread_free(f->thread);
    for (unsigned i = 0; i < f->n; i++)
        if (f->of[i].old_state == OLD_READY)
            f->of[i].ops->release(server_service_to_change(f->st->p.server, i), f->of[i].old);
    free(f);
}

static unsigned index_of(const struct files_of *f)
{
    return (unsigned)(f - f->all->of);
}

static struct c10m_service *service_of(const struct files_of *f)
{
    return server_service_to_change(f->all->st->p.server, index_of(f));
}

static void fail(struct files_of *f, const char *why)
{
    f->failed++;
    f->failed_last = true;
    f->second = false;
    snprintf(f->last, sizeof(f->last), "%s", why);
    log_say(LOG_ctl, LOG_ERROR, "service %s: the files were not reloaded: %s", service_of(f)->name,
            why);
}

// ---- orders

static void on_told(void *arg, const struct order_answer *a)
{
    struct files_of *f = arg;
    f->telling = false;
    f->stuck = a->error != 0;
    if (a->error == 0)
        f->told = f->posted;
    if (a->error == 0 || !f->second || !f->wanted)
        return;
    f->wanted = false;
    fail(f, "a worker does not answer, so that no room can be made");
}

static void tell(struct files_of *f)
{
    const struct order o = {.kind = ORDER_SHOWN, .services = 1u << index_of(f)};
    if (f->telling || f->told == f->shows || orders_post(f->all->st->orders, &o, on_told, f) != 0)
        return;  // a busy queue: at the next look
    f->telling = true;
    f->posted = f->shows;
}

static void on_turn(void *arg, const struct order_answer *a)
{
    struct files_of *f = arg;
    f->stuck = a->error != 0;
    f->old_state = a->error == 0 ? OLD_READY : OLD_FOUND;
}

static void find_old(struct files_of *f)
{
    if (f->old_state == OLD_NONE && f->told == f->shows && !f->reads &&
        (f->old = f->ops->unused(service_of(f))) != NULL)
        f->old_state = OLD_FOUND;
}

static void order_turn(struct files_of *f)
{
    const struct order o = {.kind = ORDER_TURN};
    if (f->old_state == OLD_FOUND && orders_post(f->all->st->orders, &o, on_turn, f) == 0)
        f->old_state = OLD_ORDERED;
}

// ---- the helper thread

static void begin_release(struct files_of *f)
{
    struct err err;
    if (f->old_state != OLD_READY || reload_thread_busy(f->all->thread))
        return;
    if (reload_thread_release(f->all->thread, index_of(f), f->old, &err) == 0)
        f->old_state = OLD_LEAVES;
}

// may_read: whether `read` may begin.
static bool may_read(const struct files_of *f)
{
    const bool clean = f->told == f->shows && f->old_state == OLD_NONE;
    return f->wanted && !reload_thread_busy(f->all->thread) && (clean || (f->stuck && !f->second));
}

static void begin_read(struct files_of *f)
{
    struct err err;
    if (!may_read(f))
        return;
    f->wanted = false;
    if (reload_thread_read(f->all->thread, index_of(f), &err) != 0)
        fail(f, err.text);
    else
        f->reads = true;
}

static void show(struct files_of *f, void *made)
{
    f->ops->show(service_of(f), made, f->last, sizeof(f->last));
    f->shows++;
    f->count++;
    f->failed_last = f->second = false;
    log_say(LOG_ctl, LOG_INFO, "service %s: %s", service_of(f)->name, f->last);
}

static void end_read(struct files_of *f, const struct reload_result *r)
{
    f->reads = false;
    if (r->rc == 0) {
        show(f, r->made);
        return;
    }
    if (r->rc == C10M_RELOAD_LATER)
        f->shows++;  // the connections that hold the room are to be reset
    if (r->rc != C10M_RELOAD_LATER || f->second) {
        fail(f, r->text);
        return;
    }
    log_say(LOG_ctl, LOG_WARN, "service %s: %s: they are reset", service_of(f)->name, r->text);
    f->second = f->wanted = true;
}

static void take_result(struct ctl_steering_files *all)
{
    struct reload_result r;
    if (!reload_thread_take(all->thread, &r))
        return;
    struct files_of *f = &all->of[r.service];
    if (r.released)
        f->old_state = OLD_NONE;
    else
        end_read(f, &r);
}

// is_busy: whether the next look should be soon.
static bool is_busy(const struct files_of *f)
{
    return f->wanted || f->reads || f->telling || f->old_state != OLD_NONE;
}

bool ctl_steering_files_look(struct ctl_steering_files *all)
{
    bool busy = false;
    take_result(all);
    for (unsigned i = 0; i < all->n; i++) {
        struct files_of *f = &all->of[i];
        if (f->ops == NULL)
            continue;
        tell(f);
        find_old(f);
        order_turn(f);
        begin_release(f);
        begin_read(f);
        busy |= is_busy(f);
    }
    return busy;
}

// ---- orders of the operator

static bool under_way(const struct files_of *f)
{
    return f->wanted || f->reads;
}

static void want(struct files_of *f)
{
    f->wanted = true;
    ctl_steering_kick(f->all->st);
}

void ctl_steering_files_reload(struct ctl_steering_files *all)
{
    for (unsigned i = 0; i < all->n; i++)
        if (all->of[i].ops != NULL)
            want(&all->of[i]);
}

void ctl_steering_files_report(const struct ctl_steering_files *all, struct text *out)
{
    for (unsigned i = 0; i < all->n; i++) {
        const struct files_of *f = &all->of[i];
        const char *name = f->ops == NULL ? NULL : service_of(f)->name;
        if (name != NULL && under_way(f))
            text_printf(out, "files %s under way\n", name);
        else if (name != NULL && f->failed_last)
            text_printf(out, "error service %s: %s\n", name, f->last);
        else if (name != NULL && f->count != 0)
            text_printf(out, "files %s: %s\n", name, f->last);
    }
}

static struct files_of *entry_of(const struct ctl_steering_entry *e)
{
    return &e->st->files->of[e->at];
}

static int files_write(struct ctl_steering_entry *e, char *line)
{
    struct files_of *f = entry_of(e);
    if (strcmp(line, "now") != 0)
        return -EINVAL;
    if (under_way(f))
        return -EBUSY;
    want(f);
    return 0;
}

static void files_show(struct ctl_steering_entry *e, struct text *out)
{
    const struct files_of *f = entry_of(e);
    text_printf(out, "state %s\nreloads %" PRIu64 "\nfailed %" PRIu64 "\n",
                f->reads    ? "reading"
                : f->wanted ? "waiting"
                            : "idle",
                f->count, f->failed);
    if (f->last[0] != '\0')
        text_printf(out, "%s: %s\n", f->failed_last ? "error" : "result", f->last);
}

static const struct ctl_steering_file files_file = {
    .help =
        "# Reads the files of the service again. New connections and requests then get the new\n"
        "# files; a response that has begun ends with the old ones. If an error occurs, nothing\n"
        "# changes. SIGHUP and ctl/reload do the same for all services.\n"
        "#   now\n"
        "# Below: the number of reloads and of those that failed, and the result of the last "
        "one.\n",
    .write = files_write,
    .show = files_show,
};

int ctl_steering_files_fill(struct ctl_steering *st, struct tree_node *root)
{
    int rc = 0;
    for (unsigned i = 0; i < st->files->n; i++) {
        char path[96];
        if (st->files->of[i].ops == NULL)
            continue;
        snprintf(path, sizeof(path), "ctl/services/%s/reload",
                 server_service(st->p.server, i)->name);
        rc |= ctl_steering_add(st, root, path, &files_file, i);
    }
    return rc;
}
