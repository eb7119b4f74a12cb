// SPDX-License-Identifier: BSD-3-Clause
#include "conf/partial.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf_load.h"
#include "conf/value.h"
#include "tables/driver_table.h"

// known: every line of the section was understood. A section header that was not may have been that
// of a section which is not in the file.
static bool known(struct load *l, enum conf_section section, unsigned at)
{
    const struct load_section *s = load_section_of(l, section, at);
    return !s->incomplete && (conf_sections[section].named || s->header_line != 0 || !l->lost);
}

static bool section_good(struct load *l, enum conf_section section, unsigned at)
{
    bool good = known(l, section, at);
    for (unsigned i = 0; i < conf_n_keys && good; i++)
        good = conf_keys[i].section != section || key_good(l, &conf_keys[i], at);
    return good;
}

// keys_good: names, ended by NULL, of keys of [control] or [memory].
static bool keys_good(struct load *l, enum conf_section section, const char *const *names)
{
    bool good = known(l, section, 0);
    for (; *names != NULL && good; names++)
        good = key_good(l, key_find(section, *names), 0);
    return good;
}

static void parts_of(struct load *l, struct conf_parts *parts)
{
    static const char *const identity[] = {"name", "run_dir", "socket", NULL};
    static const char *const mount[] = {"mount", NULL}, *const http[] = {"http", NULL};
    static const char *const hugetlbfs[] = {"hugetlbfs", "hugepage", NULL};
    parts->identity = keys_good(l, SECTION_control, identity);
    parts->mount = parts->identity && keys_good(l, SECTION_control, mount);
    parts->http = keys_good(l, SECTION_control, http);
    parts->hugetlbfs = parts->identity && keys_good(l, SECTION_memory, hugetlbfs);
    parts->cpu = section_good(l, SECTION_cpu, 0);
    parts->memory = parts->cpu && section_good(l, SECTION_memory, 0);
}

// defaults: keys at fault of sections without a name get their default. Of the machine nothing
// depends on [tcp] and [statsd].
static void defaults(struct load *l, struct conf *out, struct text *left_out)
{
    char got[VALUE_GOT_BYTES];
    for (enum conf_section s = 0; s < SECTION_port; s++)
        if (s != SECTION_tcp && s != SECTION_statsd && !section_good(l, s, 0))
            text_printf(left_out, " [%s]", conf_sections[s].name);
    for (unsigned i = 0; i < conf_n_keys; i++) {
        const struct key *k = &conf_keys[i];
        if (conf_sections[k->section].named || key_good(l, k, 0))
            continue;
        value_clear(k, key_field(k, out, 0));
        if (k->initial != NULL)
            value_parse(k, key_field(k, out, 0), k->initial, got);
    }
}

static bool has_port(const struct conf *c, const char *name)
{
    for (unsigned i = 0; i < c->n_ports; i++)
        if (strcmp(c->ports[i].name, name) == 0)
            return true;
    return false;
}

static void keep_port(struct conf *out, const struct conf_port *p, bool keep, struct text *left_out)
{
    if (keep)
        out->ports[out->n_ports++] = *p;
    else
        text_printf(left_out, " [port %s]", p->name);
}

// on_another: the name of the port without which p cannot be; "": none.
static const char *on_another(const struct conf_port *p)
{
    return driver_wraps(p->driver) ? p->wraps : driver_has_parent(p->driver) ? p->parent : "";
}

// has_members: whether all members of a bond are kept.
static bool has_members(const struct conf *out, const struct conf_port *p)
{
    for (unsigned i = 0; i < p->members.n; i++)
        if (!has_port(out, p->members.at[i]))
            return false;
    return true;
}

// may_be: whether the ports that p needs are kept.
static bool may_be(const struct conf *out, const struct conf_port *p)
{
    if (driver_has_members(p->driver))
        return has_members(out, p);
    return on_another(p)[0] == '\0' || has_port(out, on_another(p));
}

// rank: a port is kept after those that it may need.
static unsigned rank(const struct conf_port *p)
{
    if (driver_has_parent(p->driver))
        return 2;
    return driver_wraps(p->driver) || driver_has_members(p->driver) ? 1 : 0;
}

// keep_ports: first those that have a device, then those around or over some of them, then those on
// the link of one of both.
static void keep_ports(struct load *l, struct conf *out, struct text *left_out)
{
    const struct conf *c = l->c;
    out->n_ports = 0;
    for (unsigned now = 0; now < 3; now++)
        for (unsigned i = 0; i < c->n_ports; i++) {
            const struct conf_port *p = &c->ports[i];
            if (rank(p) == now)
                keep_port(out, p, section_good(l, SECTION_port, i) && may_be(out, p), left_out);
        }
}

// keep_services: an address may be on a port that is left out.
static void keep_services(struct load *l, struct conf *out, bool any_address, struct text *left_out)
{
    const struct conf *c = l->c;
    out->n_services = 0;
    for (unsigned i = 0; i < c->n_services; i++) {
        if (!section_good(l, SECTION_service, i)) {
            text_printf(left_out, " [service %s]", c->services[i].name);
            continue;
        }
        struct conf_service *s = &out->services[out->n_services++];
        *s = c->services[i];
        if (any_address)
            s->address = (struct ip_addr){0};
    }
}

// resolved: what has become `auto` is chosen as in a load. Cores of a default may be more than fit
// with workers_per_core.
static bool resolved(const struct load *l, struct conf *out)
{
    struct conf_errors none;
    struct load *again = calloc(1, sizeof(*again));
    if (again == NULL)
        return false;
    conf_errors_init(&none);
    *again = (struct load){.c = out, .host = l->host, .file = l->file, .errs = &none};
    resolve_auto(again);
    const uint32_t workers = conf_workers(out);
    const bool good = none.n == 0 && workers != 0 && workers <= CONF_WORKERS_MAX &&
                      out->cpu.linux_cpus.n != 0 && load_render(out);
    conf_errors_free(&none);
    free(again);
    return good;
}

bool conf_partial(struct conf_places *places, struct conf *out, struct conf_parts *parts,
                  struct text *left_out)
{
    struct load *l = places == NULL ? NULL : conf_places_load(places);
    if (l == NULL || !l->is_text || l->bad_set)
        return false;
    *out = *l->c;
    parts_of(l, parts);
    defaults(l, out, left_out);
    keep_ports(l, out, left_out);
    parts->ports = out->n_ports == l->c->n_ports && !l->lost;
    keep_services(l, out, !parts->ports, left_out);
    return resolved(l, out);
}
