// SPDX-License-Identifier: BSD-3-Clause
// mem/: the reserved memory and its use.
#include "ctl/files/hugepages.h"
#include "ctl/files/tree_files_internal.h"

static int ledger_read(struct tree_out *out, void *data)
{
    const struct ctl_shown *s = data;
    struct ledger l = {0};
    server_ledger(server_params_of(s->server), &l);
    ledger_render(&l, server_params_of(s->server)->connections, tree_text(out));
    return 0;
}

static int arenas_read(struct tree_out *out, void *data)
{
    server_arenas(((const struct ctl_shown *)data)->server, tree_text(out));
    return 0;
}

static int pools_read(struct tree_out *out, void *data)
{
    fill_pools_render(((const struct ctl_shown *)data)->fill, tree_text(out));
    return 0;
}

static int hugepages_read(struct tree_out *out, void *data)
{
    (void)data;
    ctl_hugepages_render("/sys", "/proc", tree_text(out));
    return 0;
}

int ctl_tree_mem(const struct ctl_shown *s)
{
    return ctl_tree_add(s, "mem/ledger", ledger_read, s) |
           ctl_tree_add(s, "mem/arenas", arenas_read, s) |
           ctl_tree_add(s, "mem/pools", pools_read, s) |
           ctl_tree_add(s, "mem/hugepages", hugepages_read, s);
}
