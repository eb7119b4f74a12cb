// SPDX-License-Identifier: BSD-3-Clause
// ctl/conn/kill: resets connections that match.
#include "ctl/steering/steering_internal.h"
#include "server/conn_filter.h"
#include "worker/order.h"

static int kill_write(struct ctl_steering_entry *e, char *line)
{
    struct order o = {.kind = ORDER_KILL};
    const int rc = conn_filter_parse(server_params_of(e->st->p.server), line, &o.kill);
    return rc != 0 ? rc : ctl_steering_order(e, &o, "connections killed:");
}

static const struct ctl_steering_file kill_file = {
    .help =
        "# Resets connections: the peer gets a RST, the application an error. One order per "
        "write:\n"
        "#   10.0.0.1:1234 10.0.0.2:80     the connection with this local and remote address\n"
        "#   local ADDR[:PORT] | local *:PORT\n"
        "#   remote ADDR[/BITS][:PORT] | remote [ADDR6/BITS]:PORT | remote *:PORT\n"
        "#   state NAME                    ESTABLISHED, CLOSE_WAIT, ...\n"
        "#   service NAME\n"
        "#   idle SECONDS                  the peer sent and acknowledged nothing new for SECONDS\n"
        "#   all\n"
        "# Several conditions in a line select the connections that match all of them. Half-open\n"
        "# connections and connections in TIME_WAIT never match.\n",
    .write = kill_write,
};

int ctl_steering_kill_fill(struct ctl_steering *st, struct tree_node *root)
{
    return ctl_steering_add(st, root, "ctl/conn/kill", &kill_file, 0);
}
