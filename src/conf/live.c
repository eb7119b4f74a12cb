// SPDX-License-Identifier: BSD-3-Clause
#include "conf/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_load.h"
#include "conf/lists.h"
#include "conf/value.h"

const char *conf_key_name(const struct conf *c, const struct key *k, unsigned at,
                          char out[KEY_NAME_BYTES])
{
    const char *name = k->section == SECTION_port      ? c->ports[at].name
                       : k->section == SECTION_service ? c->services[at].name
                                                       : "";
    snprintf(out, KEY_NAME_BYTES, "%s%s%s.%s", conf_sections[k->section].name,
             name[0] != '\0' ? "." : "", name, k->name);
    return out;
}

// is_out_of_range: whether the text is well formed for the key's type, although value_parse()
// refused it: its value is then out of range.
static bool is_out_of_range(const struct key *k, const char *text)
{
    char got[VALUE_GOT_BYTES];
    uint64_t value;
    struct key wide = *k;
    wide.min = 0;
    wide.max = UINT64_MAX;
    wide.width = sizeof(value);
    switch (k->type) {
    case KEY_NUMBER:
    case KEY_POWER:
    case KEY_COUNT:
    case KEY_SIZE:
    case KEY_MS:
        return text[0] != '\0' &&
               (value_parse(&wide, &value, text, got) || text[strspn(text, "0123456789")] == '\0');
    default:
        return false;
    }
}

// check_whole: checks the rules between keys. Keys without a default count as given, because the
// configuration was complete when the server started.
static int check_whole(struct conf *c)
{
    static struct conf_host host;
    struct conf_errors errs;
    struct load *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return -ENOMEM;
    conf_errors_init(&errs);
    host = (struct conf_host){0};
    for (unsigned id = 0; id <= CONF_CPU_ID_MAX && host.cpus.n < CONF_CPUS_MAX; id++)
        if (cpus_has(&c->cpu.linux_cpus, id) || cpus_has(&c->cpu.workers, id))
            host.cpus.id[host.cpus.n++] = (uint16_t)id;
    *l = (struct load){.c = c, .host = &host, .file = "ctl", .errs = &errs};
    load_mark_given(l);
    check_all(l);
    const int rc = errs.n == 0 ? 0 : -ERANGE;
    conf_errors_free(&errs);
    free(l);
    return rc;
}

int conf_set_live(struct conf *c, const struct key *k, unsigned at, const char *text,
                  struct conf *scratch)
{
    char got[VALUE_GOT_BYTES];
    memcpy(scratch, c, sizeof(*c));
    if (!k->live || !value_parse(k, key_field(k, scratch, at), text, got))
        return k->live && is_out_of_range(k, text) ? -ERANGE : -EINVAL;
    scratch->control.http.port = 0;  // skips check_http(), which would read the token file again
    const int rc = check_whole(scratch);
    if (rc != 0)
        return rc;
    memcpy(key_field(k, c, at), key_field(k, scratch, at), k->width);
    return 0;
}

// change: the state of one reload.
struct change {
    struct conf *c;
    struct load *l;  // the file that is being read
    struct text *changed, *restart;
};

static void put_place(struct text *out, struct load *l, enum conf_section section, unsigned at,
                      const struct key *k)
{
    const struct load_section *s = load_section_of(l, section, at);
    const unsigned line =
        k == NULL || s->key_line[k - conf_keys] == 0 ? s->header_line : s->key_line[k - conf_keys];
    if (k != NULL && s->overridden[k - conf_keys])
        text_printf(out, "--set: ");
    else if (line != 0)
        text_printf(out, "%s:%u: ", l->file, line);
    else
        text_printf(out, "%s: ", l->file);
}

static void apply_key(struct change *ch, const struct key *k, unsigned at, unsigned next_at)
{
    const void *to = key_field_const(k, ch->l->c, next_at);
    void *from = key_field(k, ch->c, at);
    char name[KEY_NAME_BYTES];
    if (memcmp(from, to, k->width) == 0)
        return;
    struct text *out = k->live ? ch->changed : ch->restart;
    put_place(out, ch->l, k->section, next_at, k);
    text_printf(out, "%s: ", conf_key_name(ch->c, k, at, name));
    if (!k->live) {
        text_printf(out, "wants a restart\n");
        return;
    }
    value_print(k, from, out);
    text_printf(out, " -> ");
    value_print(k, to, out);
    text_printf(out, "\n");
    memcpy(from, to, k->width);
}

static void apply_section(struct change *ch, enum conf_section section, unsigned at,
                          unsigned next_at)
{
    for (unsigned i = 0; i < conf_n_keys; i++)
        if (conf_keys[i].section == section)
            apply_key(ch, &conf_keys[i], at, next_at);
}

static const char *name_of(const struct conf *c, enum conf_section section, unsigned at)
{
    return section == SECTION_port ? c->ports[at].name : c->services[at].name;
}

static uint32_t number_of(const struct conf *c, enum conf_section section)
{
    return section == SECTION_port ? c->n_ports : c->n_services;
}

static int find(const struct conf *c, enum conf_section section, const char *name)
{
    for (unsigned i = 0; i < number_of(c, section); i++)
        if (strcmp(name_of(c, section, i), name) == 0)
            return (int)i;
    return -1;
}

static void apply_named(struct change *ch, enum conf_section section)
{
    const char *kind = conf_sections[section].name;
    const struct conf *next = ch->l->c;
    for (unsigned i = 0; i < number_of(ch->c, section); i++) {
        const int at = find(next, section, name_of(ch->c, section, i));
        if (at >= 0)
            apply_section(ch, section, i, (unsigned)at);
        else
            text_printf(ch->restart, "%s: [%s %s] is gone: wants a restart\n", ch->l->file, kind,
                        name_of(ch->c, section, i));
    }
    for (unsigned i = 0; i < number_of(next, section); i++)
        if (find(ch->c, section, name_of(next, section, i)) < 0) {
            put_place(ch->restart, ch->l, section, i, NULL);
            text_printf(ch->restart, "[%s %s] is new: wants a restart\n", kind,
                        name_of(next, section, i));
        }
}

int conf_reload(struct conf *c, const char *path, char *const *sets, unsigned n_sets,
                struct conf *scratch, struct text *changed, struct text *restart,
                struct conf_errors *errs)
{
    struct load *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return load_no_memory(errs);
    const int rc = load_file(l, scratch, path, sets, n_sets, errs);
    if (rc == 0) {
        struct change ch = {c, l, changed, restart};
        for (enum conf_section s = 0; s < SECTION_port; s++)
            apply_section(&ch, s, 0, 0);
        apply_named(&ch, SECTION_port);
        apply_named(&ch, SECTION_service);
    }
    free(l);
    return rc;
}
