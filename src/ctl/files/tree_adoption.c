// SPDX-License-Identifier: BSD-3-Clause
// control/adoption: the connections that outlived another process.
#include "ctl/files/tree_files_internal.h"
#include "mem/image_store.h"

static int adoption_read(struct tree_out *out, void *data)
{
    struct server_adoption a;
    if (!server_adoption(((const struct ctl_shown *)data)->server, &a))
        return 0;
    tree_printf(out, "starts %u\nsilent_us %llu\n", a.starts, (unsigned long long)a.silent_us);
    tree_printf(out, "connections %u\nhalf_open %u\ntime_wait %u\n", a.of.connections,
                a.of.half_open, a.of.time_wait);
    tree_printf(out, "half_open_refused %u\ntime_wait_refused %u\n", a.of.half_open_refused,
                a.of.time_wait_refused);
    tree_printf(out, "image_spans_now %u\nimage_spans_max %d\n", a.image_spans_now, IMAGE_SPANS);
    for (unsigned r = TCP_ADOPTED + 1; r < TCP_REFUSAL_COUNT; r++)
        tree_printf(out, "refused_%s %u\n", tcp_refusal_name((enum tcp_refusal)r), a.of.refused[r]);
    return 0;
}

int ctl_tree_adoption(const struct ctl_shown *s)
{
    struct server_adoption a;
    return server_adoption(s->server, &a) ? ctl_tree_add(s, "control/adoption", adoption_read, s)
                                          : 0;
}
