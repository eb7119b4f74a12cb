// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/local/control_counters.h"

#include <stdlib.h>

struct counted {
    struct tree *tree;
    const struct ctl_sock *sock;
};

static void line(struct tree_out *out, const char *name, uint64_t value)
{
    tree_printf(out, "%s %llu\n", name, (unsigned long long)value);
}

static void sock_lines(struct tree_out *out, const struct sock_counts *c)
{
    line(out, "socket_clients_now", c->clients);
    line(out, "socket_accepted", c->accepted);
    line(out, "socket_refused_full", c->refused_full);
    line(out, "socket_refused_user", c->refused_user);
    line(out, "socket_failed", c->failed);
    line(out, "socket_timed_out", c->timed_out);
    line(out, "socket_requests", c->talk.requests);
    line(out, "socket_writes", c->talk.writes);
    line(out, "socket_denied", c->talk.denied);
    line(out, "socket_request_errors", c->talk.failed);
    line(out, "socket_malformed", c->talk.malformed);
    line(out, "socket_read_bytes", c->talk.read_bytes);
}

static int counters_read(struct tree_out *out, void *data)
{
    const struct counted *d = data;
    const struct sock_counts c = ctl_sock_counts(d->sock);
    const struct tree_usage u = tree_usage(d->tree);
    if (d->sock != NULL)
        sock_lines(out, &c);
    line(out, "tree_entries_now", u.entries);
    line(out, "tree_handles_now", u.handles);
    line(out, "tree_snapshot_bytes_now", u.snapshot_bytes);
    line(out, "tree_entries_refused", u.entries_refused);
    line(out, "tree_handles_refused", u.handles_refused);
    line(out, "tree_snapshots_refused", u.snapshots_refused);
    line(out, "tree_writes_refused", u.writes_refused);
    return 0;
}

int ctl_counters_add(struct tree *t, const struct ctl_sock *sock)
{
    struct counted *d = malloc(sizeof(*d));
    if (d == NULL)
        return -1;
    *d = (struct counted){t, sock};
    const struct tree_ops ops = {.read = counters_read, .release = free};
    if (tree_file(tree_root(t), "control/doors", 0444, &ops, d) != NULL)
        return 0;
    free(d);
    return -1;
}
