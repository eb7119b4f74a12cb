// SPDX-License-Identifier: BSD-3-Clause
// ctl/trace: the flight recorder.
#include "c10m/tree.h"
#include "ctl/steering/steering_internal.h"
#include "prof/recorder.h"

static int recorder_write(struct ctl_steering_entry *e, char *line)
{
    struct err err;
    const int rc = recorder_order(e->st->recorder, line, &err);
    return rc == 0 ? 0 : tree_refuse(-rc, "%s", err.text);
}

static void recorder_show(struct ctl_steering_entry *e, struct text *out)
{
    recorder_render(e->st->recorder, out);
}

static const struct ctl_steering_file recorder_file = {
    .help =
        "# The flight recorder: keeps what all workers did before something rare happens.\n"
        "#   stall TIME SECONDS            a turn takes TIME or longer: stall 500us 2s\n"
        "#   drop REASON SECONDS           a packet is dropped: drop tcp_checksum 2s\n"
        "#   stall TIME drop REASON SECONDS  either of them\n"
        "#   off                           nothing is recorded, what is kept is freed\n"
        "# SECONDS before it are kept, 1s to 60s, or less if that is more than 64 MiB. Then the\n"
        "# recording ends: prof/flight is the trace. Reasons are those of cores/N/drops.\n",
    .write = recorder_write,
    .show = recorder_show,
};

int ctl_steering_trace_fill(struct ctl_steering *st, struct tree_node *root)
{
    return st->recorder == NULL ? 0 : ctl_steering_add(st, root, "ctl/trace", &recorder_file, 0);
}
