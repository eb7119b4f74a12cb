// SPDX-License-Identifier: BSD-3-Clause
// history/: the last hour, as server/history.h keeps it.
#include <string.h>

#include "ctl/files/tree_files_internal.h"
#include "server/history.h"

enum { HISTORY_LOOK_MS = 1000 };

static uint64_t next_ns;

int ctl_history_open(struct ctl_shown *s)
{
    next_ns = 0;
    s->history = history_new(server_workers(s->server));
    return s->history == NULL ? -1 : 0;
}

void ctl_history_close(struct ctl_shown *s)
{
    history_free(s->history);
    s->history = NULL;
}

void ctl_history_look(const struct ctl_shown *s)
{
    static struct history_core cores[SERVER_WORKERS_MAX];
    const uint64_t now_ns = liveness_clock_ns();
    if (now_ns < next_ns)
        return;
    next_ns = now_ns + HISTORY_LOOK_MS * UINT64_C(1000000);
    for (unsigned w = 0; w < server_workers(s->server); w++)
        history_look(s->server, w, &cores[w]);
    history_take(s->history, now_ns, cores);
}

void ctl_history_change(void *shown, const struct verdict_item *item, uint64_t now_ns)
{
    const struct ctl_shown *s = shown;
    history_change(s->history, item, now_ns, (uint64_t)time(NULL));
}

static void names_of(const struct ctl_shown *s, char (*names)[CORE_NAME_BYTES])
{
    for (unsigned w = 0; w < server_workers(s->server); w++)
        ctl_tree_core_name(s->server, w, names[w]);
}

int ctl_history_json(const struct ctl_shown *s, struct text *out)
{
    static struct text last;
    static const struct ctl_shown *of;
    static uint64_t at_ns;
    char names[SERVER_WORKERS_MAX][CORE_NAME_BYTES];
    const uint64_t now_ns = liveness_clock_ns();
    if (of != s || last.error != 0 || now_ns - at_ns > CTL_HISTORY_SHARED_MS * UINT64_C(1000000)) {
        text_free(&last);
        text_init(&last, out->limit_bytes);
        names_of(s, names);
        history_json(s->history, (const char(*)[CORE_NAME_BYTES])names, now_ns, &last);
        of = s;
        at_ns = now_ns;
    }
    if (last.error == 0)
        text_put(out, last.data, last.len);
    return last.error != 0 ? last.error : out->error;
}

static int figures_read(struct tree_out *out, void *data)
{
    const struct ctl_shown *s = data;
    char names[SERVER_WORKERS_MAX][CORE_NAME_BYTES];
    names_of(s, names);
    history_figures_render(s->history, (const char(*)[CORE_NAME_BYTES])names, liveness_clock_ns(),
                           tree_text(out));
    return 0;
}

static int verdicts_read(struct tree_out *out, void *data)
{
    history_changes_render(((const struct ctl_shown *)data)->history, tree_text(out));
    return 0;
}

int ctl_tree_history(const struct ctl_shown *s)
{
    return ctl_tree_add(s, "history/figures", figures_read, s) |
           ctl_tree_add(s, "history/verdicts", verdicts_read, s);
}
