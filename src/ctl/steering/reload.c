// SPDX-License-Identifier: BSD-3-Clause
// ctl/reload and SIGHUP: read the configuration again and apply the keys that may change while the
// server runs. The outcome is known when the write returns, except that of the files of services,
// which are read by another thread (reload_files.c).
//
//     ctl/reload <- now --> read, checked --> refused: -EINVAL with the first error, nothing
//     changed SIGHUP -------------^               --> applied: the report says what changed, and
//     what waits
//                                             for a restart
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/notify.h"
#include "conf/live.h"
#include "ctl/steering/steering_internal.h"

enum { REPORT_BYTES = 1 << 20 };

// say: logs each line of the text, and adds it to the report behind `word`.
static void say(struct ctl_steering *st, enum log_level level, const char *word, struct text *text)
{
    char *save = NULL, *line = text->len == 0 ? NULL : strtok_r(text->data, "\n", &save);
    for (; line != NULL; line = strtok_r(NULL, "\n", &save)) {
        log_say(LOG_conf, level, "%s", line);
        text_printf(&st->reload.report, "%s %s\n", word, line);
    }
}

static void tell_begin(void)
{
    char state[80];
    snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
             ctl_steering_now_ms() * 1000);
    notify_say(state, "reading the configuration");
}

static int refuse(struct ctl_steering *st, struct conf_errors *errs, struct err *err)
{
    const char *lines = text_str(&errs->lines);
    st->reload.refused++;
    err_set(err, "%.*s", (int)strcspn(lines, "\n"), lines);
    say(st, LOG_ERROR, "error", &errs->lines);
    log_say(LOG_conf, LOG_ERROR, "the configuration is invalid: nothing has changed");
    notify_say("READY=1", "serving; the new configuration was refused: %s", err->text);
    return -1;
}

static void accept(struct ctl_steering *st, struct text *changed, struct text *restart,
                   enum log_level level_before)
{
    say(st, LOG_INFO, "changed", changed);
    say(st, LOG_WARN, "restart", restart);
    log_say(LOG_conf, LOG_INFO, "configuration reloaded");
    ctl_steering_apply(st, level_before);
    ctl_steering_files_reload(st->files);
    notify_say("READY=1", "serving; configuration reloaded");
}

int ctl_steering_reload(struct ctl_steering *st, struct err *err)
{
    const struct ctl_steering_params *p = &st->p;
    const enum log_level level = (enum log_level)p->conf->control.log_level;
    struct text changed, restart;
    struct conf_errors errs;
    text_init(&changed, REPORT_BYTES);
    text_init(&restart, REPORT_BYTES);
    conf_errors_init(&errs);
    text_free(&st->reload.report);
    text_init(&st->reload.report, REPORT_BYTES);
    st->reload.count++;
    tell_begin();
    const int rc =
        conf_reload(p->conf, p->file, p->sets, p->n_sets, &st->next, &changed, &restart, &errs);
    if (rc != 0)
        refuse(st, &errs, err);
    else
        accept(st, &changed, &restart, level);
    conf_errors_free(&errs);
    text_free(&changed);
    text_free(&restart);
    return rc;
}

static int reload_write(struct ctl_steering_entry *e, char *line)
{
    struct err err = {.text = ""};
    if (strcmp(line, "now") != 0)
        return -EINVAL;
    return ctl_steering_reload(e->st, &err) == 0 ? 0 : tree_refuse(EINVAL, "%s", err.text);
}

static void reload_show(struct ctl_steering_entry *e, struct text *out)
{
    const struct ctl_steering_reload *r = &e->st->reload;
    text_printf(out, "reloads %" PRIu64 "\nrefused %" PRIu64 "\n%s", r->count, r->refused,
                text_str(&r->report));
    ctl_steering_files_report(e->st->files, out);
}

static const struct ctl_steering_file reload_file = {
    .help =
        "# Reads the configuration file again, as SIGHUP does, and applies the keys that may "
        "change\n"
        "# while the server runs. If the file has an error, the write fails and nothing changes.\n"
        "# Otherwise services read their files again, too (ctl/services/NAME/reload).\n"
        "#   now\n"
        "# Below: how many reloads there were, how many were refused, and of the last one each "
        "key\n"
        "# that changed, each that wants a restart, and each error.\n",
    .write = reload_write,
    .show = reload_show,
};

int ctl_steering_reload_fill(struct ctl_steering *st, struct tree_node *root)
{
    return ctl_steering_add(st, root, "ctl/reload", &reload_file, 0);
}
