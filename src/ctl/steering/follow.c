// SPDX-License-Identifier: BSD-3-Clause
// ports/NAME/follow: ports that follow a Linux interface.
#include <stdio.h>

#include "base/log.h"
#include "c10m/tree.h"
#include "ctl/steering/steering_internal.h"
#include "server/port_follow.h"

static int follow_read(struct tree_out *out, void *data)
{
    port_follow_show(data, tree_text(out));
    return 0;
}

static int fill(struct ctl_steering *st, struct tree_node *root, unsigned i)
{
    const struct server_port_params *pp = &server_params_of(st->p.server)->ports[i];
    char path[96];
    struct err err;
    if (pp->follow == NULL)
        return 0;
    st->follows[i] = port_follow_new(st->p.server, st->orders, i, &err);
    if (st->follows[i] == NULL) {
        log_say(LOG_port, LOG_ERROR, "port %s: %s", pp->port.name, err.text);
        return 0;
    }
    snprintf(path, sizeof(path), "ports/%s/follow", pp->port.name);
    return tree_file_ro(root, path, follow_read, st->follows[i]) == NULL ? -1 : 0;
}

int ctl_steering_follow_fill(struct ctl_steering *st, struct tree_node *root)
{
    int rc = 0;
    for (unsigned i = 0; i < server_params_of(st->p.server)->n_ports; i++)
        rc |= fill(st, root, i);
    return rc;
}

void ctl_steering_follow_look(struct ctl_steering *st)
{
    bool busy = false;
    for (unsigned i = 0; i < WORKER_PORTS_MAX; i++)
        if (st->follows[i] != NULL)
            busy |= port_follow_poll(st->follows[i], ctl_steering_now_ms());
    if (busy)
        ctl_steering_kick(st);
}

void ctl_steering_follow_close(struct ctl_steering *st)
{
    for (unsigned i = 0; i < WORKER_PORTS_MAX; i++)
        port_follow_free(st->follows[i]);
}
