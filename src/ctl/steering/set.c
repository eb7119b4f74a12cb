// SPDX-License-Identifier: BSD-3-Clause
// ctl/set/KEY: keys that may change while the server runs. ctl/log: the level of the log.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "c10m/tree.h"
#include "conf/live.h"
#include "conf/value.h"
#include "ctl/steering/steering_internal.h"

// set_at: the value of e->at for the file of a key: row and index in one number.
static unsigned set_at(const struct key *k, unsigned at)
{
    return at * KEY_ROWS_MAX + (unsigned)(k - conf_keys);
}

static const struct key *key_of(const struct ctl_steering_entry *e, unsigned *at)
{
    *at = e->at / KEY_ROWS_MAX;
    return &conf_keys[e->at % KEY_ROWS_MAX];
}

// ctl/log may have set levels of modules. Changes of keys other than log_level must not reset them.
void ctl_steering_apply(struct ctl_steering *st, enum log_level level_before)
{
    const enum log_level level = (enum log_level)st->p.conf->control.log_level;
    ctl_steering_settings(st);
    if (level != level_before)
        log_set_level(level);
}

// refused: reports the error with the text of the table of keys.
static int refused(const struct key *k, const char *line, int rc)
{
    struct text want;
    text_init(&want, STEERING_LINE_BYTES);
    value_expected(k, &want);
    tree_refuse(-rc, "expected %s, got \"%.64s\"", text_str(&want), line);
    text_free(&want);
    return rc;
}

static int set_write(struct ctl_steering_entry *e, char *line)
{
    unsigned at;
    const struct key *k = key_of(e, &at);
    struct conf *c = e->st->p.conf;
    char name[KEY_NAME_BYTES];
    const enum log_level level = (enum log_level)c->control.log_level;
    const int rc = conf_set_live(c, k, at, line, &e->st->next);
    if (rc != 0)
        return refused(k, line, rc);
    ctl_steering_apply(e->st, level);
    if (k == KEY_AT(control, log_level))
        log_set_level((enum log_level)c->control.log_level);
    log_say(LOG_ctl, LOG_INFO, "%s = %s", conf_key_name(c, k, at, name), line);
    return 0;
}

static void set_show(struct ctl_steering_entry *e, struct text *out)
{
    unsigned at;
    const struct key *k = key_of(e, &at);
    char name[KEY_NAME_BYTES];
    text_printf(out, "# %s.\n#   ", k->help);
    value_expected(k, out);
    text_printf(out, "\n%s = ", conf_key_name(e->st->p.conf, k, at, name));
    value_print(k, key_field_const(k, e->st->p.conf, at), out);
    const int lagging = orders_lagging(e->st->orders);
    text_printf(out, "\n");
    if (lagging >= 0)
        text_printf(out, "# worker %d does not have this value yet\n", lagging);
}

static const struct ctl_steering_file set_file = {.write = set_write, .show = set_show};

static int fill_section(struct ctl_steering *st, struct tree_node *root, enum conf_section section,
                        unsigned at)
{
    const struct conf *c = st->p.conf;
    int rc = 0;
    for (unsigned i = 0; i < conf_n_keys; i++) {
        const struct key *k = &conf_keys[i];
        char name[KEY_NAME_BYTES], path[KEY_NAME_BYTES + 16];
        if (k->section != section || !k->live ||
            (section == SECTION_service && !key_applies(k, c->services[at].app)))
            continue;
        snprintf(path, sizeof(path), "ctl/set/%s", conf_key_name(c, k, at, name));
        rc |= ctl_steering_add(st, root, path, &set_file, set_at(k, at));
    }
    return rc;
}

int ctl_steering_set_fill(struct ctl_steering *st, struct tree_node *root)
{
    int rc = 0;
    for (enum conf_section s = 0; s < SECTION_port; s++)
        rc |= fill_section(st, root, s, 0);
    for (unsigned i = 0; i < st->p.conf->n_services; i++)
        rc |= fill_section(st, root, SECTION_service, i);
    return rc;
}

// ---- ctl/log

static int word_of(const char *word, const char *(*name)(unsigned), unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(name(i), word) == 0)
            return (int)i;
    return -1;
}

static const char *module_name(unsigned i)
{
    return log_module_name((enum log_module)i);
}

static const char *level_name(unsigned i)
{
    return log_level_name((enum log_level)i);
}

static int log_write_order(struct ctl_steering_entry *e, char *line)
{
    char *words[STEERING_WORDS_MAX];
    const int n = ctl_steering_words(line, words);
    (void)e;
    if (n != 1 && n != 2)
        return -EINVAL;
    const int level = word_of(words[n - 1], level_name, LOG_DEBUG + 1);
    const int module = n == 2 ? word_of(words[0], module_name, LOG_MODULES) : 0;
    if (level < 0 || module < 0)
        return -EINVAL;
    if (n == 1)
        log_set_level((enum log_level)level);
    else
        log_set_module((enum log_module)module, (enum log_level)level);
    return 0;
}

static void log_show(struct ctl_steering_entry *e, struct text *out)
{
    (void)e;
    for (unsigned i = 0; i < LOG_MODULES; i++)
        text_printf(out, "%s %s\n", module_name(i),
                    log_level_name(log_level_of((enum log_module)i)));
}

static const struct ctl_steering_file log_file = {
    .help =
        "# The level of the log on stderr: LEVEL, or MODULE LEVEL; levels: error warn info debug.\n"
#define LOG_MODULE_HELP(name, help) "#   " #name ": " help "\n"
    LOG_MODULE_TABLE(LOG_MODULE_HELP)
#undef LOG_MODULE_HELP
        ,
    .write = log_write_order,
    .show = log_show,
};

int ctl_steering_log_fill(struct ctl_steering *st, struct tree_node *root)
{
    return ctl_steering_add(st, root, "ctl/log", &log_file, 0);
}
