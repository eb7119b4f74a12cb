// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/serve/watchdog.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/notify.h"
#include "server/core_name.h"

// hanging: the first worker without a turn since the last call, described in *now; -1: none.
static int hanging(struct ctl_watchdog *w, struct liveness_now *now)
{
    const uint64_t now_ns = liveness_clock_ns();
    int found = -1;
    for (unsigned i = 0; i < w->n; i++) {
        struct liveness_now look;
        liveness_look(w->shown->liveness, i, now_ns, &look);
        if (look.turn == w->turns[i] && found < 0) {
            found = (int)i;
            *now = look;
        }
        w->turns[i] = look.turn;
    }
    return found;
}

static void say_hungry(struct ctl_watchdog *w, unsigned worker, const struct liveness_now *now)
{
    char core[CORE_NAME_BYTES];
    server_core_name(w->shown->server, worker, core);
    const char *stage = now->stage == STAGE_idle ? "-" : stat_stage_names[now->stage].name;
    const char *app = now->service != NULL ? now->service->app->name : "-";
    notify_say(
        "", "the watchdog is not fed: the worker of cores/%s hangs in stage %s of application %s",
        core, stage, app);
    if (!w->hungry)
        log_line(
            LOG_WARN,
            "the watchdog is not fed: the worker of cores/%s hangs in stage %s of application %s",
            core, stage, app);
}

static void on_watchdog(void *arg, uint64_t periods)
{
    struct ctl_watchdog *w = arg;
    struct liveness_now now;
    (void)periods;
    const int worker = hanging(w, &now);
    if (worker >= 0) {
        say_hungry(w, (unsigned)worker, &now);
        w->hungry = true;
        return;
    }
    if (w->hungry)
        notify_say("", "serving: all workers turn again");
    w->hungry = false;
    notify_watchdog();
}

int ctl_watchdog_start(struct ctl_watchdog *w, struct ctl_loop *loop, const struct ctl_shown *shown,
                       struct err *err)
{
    const uint64_t period_ms = notify_watchdog_us() / 1000 / 4;
    *w = (struct ctl_watchdog){.loop = loop, .shown = shown, .n = server_workers(shown->server)};
    if (notify_watchdog_us() == 0)
        return 0;
    w->turns = calloc(w->n, sizeof(*w->turns));
    if (w->turns == NULL)
        return err_set(err, "no memory for the watchdog");
    const uint64_t look_ms =
        MIN(MAX(period_ms, (uint64_t)WATCHDOG_LOOK_MS_MIN), (uint64_t)WATCHDOG_LOOK_MS_MAX);
    w->timer_fd = ctl_loop_timer(loop, (uint32_t)look_ms, on_watchdog, w, err);
    return w->timer_fd < 0 ? -1 : 0;
}

void ctl_watchdog_stop(struct ctl_watchdog *w)
{
    if (w->turns != NULL && w->timer_fd >= 0)
        ctl_loop_remove(w->loop, w->timer_fd);
    free(w->turns);
    *w = (struct ctl_watchdog){.turns = NULL};
}
