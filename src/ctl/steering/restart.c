// SPDX-License-Identifier: BSD-3-Clause
// ctl/restart: the server ends, and leaves its connections to the next one, which the service
// manager starts. SIGUSR2 does the same, and ends a server that keeps nothing as well.
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "ctl/steering/steering_internal.h"

static int restart_write(struct ctl_steering_entry *e, char *line)
{
    struct ctl_steering *st = e->st;
    if (strcmp(line, "now") != 0)
        return -EINVAL;
    if (!server_can_keep(st->p.server))
        return tree_refuse(EOPNOTSUPP, "connections are not kept: [control] adopt is never, or "
                                       "there are no hugepages");
    if (!ctl_steering_kick(st))
        return tree_refuse(EIO, "no timer for the end: see the log");
    log_say(LOG_ctl, LOG_INFO, "ending for a restart");
    st->restart = true;  // the loop ends at the next tick, when the writer has its answer
    return 0;
}

bool ctl_steering_restart_tick(struct ctl_steering *st)
{
    if (st->restart)
        ctl_loop_stop(st->p.loop);
    return st->restart;
}

bool ctl_steering_restarts(const struct ctl_steering *st)
{
    return st->restart;
}

void ctl_steering_restart_drop(struct ctl_steering *st)
{
    st->restart = false;
}

static const struct ctl_steering_file restart_file = {
    .help = "# Ends the server for a restart: it resets no connection that the next server adopts\n"
            "# ([control] adopt), keeps them in hugepages, and exits with status 75. The service\n"
            "# manager, or you, start the next one.\n"
            "#   now\n"
            "# SIGUSR2 does the same, and ends a server that keeps nothing as SIGTERM does.\n",
    .write = restart_write,
};

int ctl_steering_restart_fill(struct ctl_steering *st, struct tree_node *root)
{
    return ctl_steering_add(st, root, "ctl/restart", &restart_file, 0);
}
