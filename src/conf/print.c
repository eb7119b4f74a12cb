// SPDX-License-Identifier: BSD-3-Clause
#include "conf/print.h"

#include <stdio.h>
#include <string.h>

#include "conf/conf_web.h"

bool key_printed(const struct key *k, const struct conf *c, unsigned at)
{
    if ((k->section == SECTION_port && !key_applies(k, c->ports[at].driver)) ||
        (k->section == SECTION_service && !key_applies(k, c->services[at].app)))
        return false;
    struct text t;
    text_init(&t, CONF_LINE_BYTES);
    value_print(k, key_field_const(k, c, at), &t);
    bool has_value = t.len > 0;
    text_free(&t);
    return has_value || (k->initial != NULL && k->initial[0] != '\0');
}

// print_lines: a key of conf/conf_web.h has several values, one for each line; prints each of them.
static void print_lines(const struct key *k, const char *lines, struct text *out)
{
    for (size_t n; *lines != '\0'; lines += n) {
        n = strcspn(lines, "\n") + 1;
        text_printf(out, "%s = %.*s", k->name, (int)n, lines);
    }
}

static void print_section(const struct conf *c, enum conf_section section, unsigned at,
                          const char *name, struct text *out)
{
    text_printf(out, "%s[%s%s%s]\n", out->len == 0 ? "" : "\n", conf_sections[section].name,
                name[0] == '\0' ? "" : " ", name);
    for (unsigned i = 0; i < conf_n_keys; i++) {
        const struct key *k = &conf_keys[i];
        if (k->section != section || !key_printed(k, c, at))
            continue;
        if (is_web(k)) {
            print_lines(k, key_field_const(k, c, at), out);
            continue;
        }
        text_printf(out, "%s = ", k->name);
        value_print(k, key_field_const(k, c, at), out);
        text_put(out, "\n", 1);
    }
}

int conf_print(const struct conf *c, struct text *out)
{
    for (enum conf_section s = 0; s < SECTION_port; s++)
        print_section(c, s, 0, "", out);
    for (unsigned i = 0; i < c->n_ports; i++)
        print_section(c, SECTION_port, i, c->ports[i].name, out);
    for (unsigned i = 0; i < c->n_services; i++)
        print_section(c, SECTION_service, i, c->services[i].name, out);
    return out->error;
}

static void help_notes(const struct key *k, struct text *out)
{
    if (k->only != NULL) {
        text_printf(out, "; %s ", k->section == SECTION_port ? "driver" : "app");
        words_list(k->only, out);
        text_printf(out, " only");
    }
    if (k->live)
        text_printf(out, "; live");
    if (k->repeat)
        text_printf(out, "; may be repeated");
    if (k->initial == NULL)
        text_printf(out, "; required");
    else if (k->initial[0] == '\0')
        text_printf(out, "; no default");
}

static void help_choices(const char *lines, struct text *out)
{
    for (size_t n; *lines != '\0'; lines += n + 1) {
        n = strcspn(lines, "\n");
        text_printf(out, "#   %.*s\n", (int)n, lines);
    }
}

static void help_key(const struct key *k, struct text *out)
{
    bool active = !conf_sections[k->section].named && k->initial != NULL;
    text_printf(out, "\n# %s.\n", k->help);
    if (k->choices != NULL)
        help_choices(k->choices, out);
    text_printf(out, "#   ");
    value_expected(k, out);
    help_notes(k, out);
    text_printf(out, "\n%s%s =%s%s\n", active ? "" : "#", k->name,
                k->initial == NULL || k->initial[0] == '\0' ? "" : " ",
                k->initial == NULL ? "" : k->initial);
}

int conf_help(struct text *out)
{
    text_printf(out,
                "# Every key of c10m with its default, made from the table in "
                "src/conf/key_table.c.\n"
                "# A comment begins with # or ; at the start of a line or after a blank.\n"
                "# --set SECTION.KEY=VALUE or --set SECTION.NAME.KEY=VALUE replaces a value.\n"
                "# live: changes while the server runs, by ctl/set/SECTION.KEY or by SIGHUP.\n");
    for (enum conf_section s = 0; s < SECTION_COUNT; s++) {
        const struct section *section = &conf_sections[s];
        text_printf(out, "\n# %s\n%s[%s%s]\n", section->help, section->named ? "#" : "",
                    section->name, section->named ? " NAME" : "");
        for (unsigned i = 0; i < conf_n_keys; i++)
            if (conf_keys[i].section == s)
                help_key(&conf_keys[i], out);
    }
    return out->error;
}

void conf_socket_path(const struct conf *c, char *out, size_t bytes)
{
    const char *socket = c->control.socket;
    const bool is_whole = socket[0] == '/' || socket[0] == '\0';
    snprintf(out, bytes, "%s%s%s", is_whole ? "" : c->control.run_dir, is_whole ? "" : "/", socket);
}
