// SPDX-License-Identifier: BSD-3-Clause
// history/: the last hour, from server/history.h.
#include <string.h>

#include "ctl/files/tree_files_internal.h"
#include "server/history.h"

enum { HISTORY_LOOK_MS = 1000 };

static_assert((int)CORE_NAME_BYTES == (int)HISTORY_NAME_BYTES,
              "buffers of core names have the same size");
static_assert((int)HISTORY_LINES_BYTES_MAX <= (int)TREE_SNAPSHOT_BYTES_MAX,
              "history/figures of 64 workers must fit into a file of the tree");

static uint64_t next_ns;
static struct history_shared json = {.render = history_json, .limit_bytes = HISTORY_JSON_BYTES_MAX};
static struct history_shared figures = {.render = history_figures_render,
                                        .limit_bytes = HISTORY_LINES_BYTES_MAX};

int ctl_history_open(struct ctl_shown *s)
{
    next_ns = 0;
    s->history = history_new(server_workers(s->server));
    return s->history == NULL ? -1 : 0;
}

void ctl_history_close(struct ctl_shown *s)
{
    history_shared_free(&json);
    history_shared_free(&figures);
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

static int put(const struct ctl_shown *s, struct history_shared *shared, struct text *out)
{
    char names[SERVER_WORKERS_MAX][CORE_NAME_BYTES];
    for (unsigned w = 0; w < server_workers(s->server); w++)
        server_core_name(s->server, w, names[w]);
    return history_shared_put(shared, s->history, (const char(*)[CORE_NAME_BYTES])names,
                              liveness_clock_ns(), out);
}

int ctl_history_json(const struct ctl_shown *s, struct text *out)
{
    return put(s, &json, out);
}

static int figures_read(struct tree_out *out, void *data)
{
    return put(data, &figures, tree_text(out));
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
