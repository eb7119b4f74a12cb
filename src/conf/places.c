// SPDX-License-Identifier: BSD-3-Clause
#include "conf/places.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf_load.h"
#include "conf/partial.h"

struct conf_places {
    struct load load;
};

struct load *conf_places_load(struct conf_places *places)
{
    return &places->load;
}

int conf_load_parts(struct conf *c, const char *path, char *const *sets, unsigned n_sets,
                    struct conf_errors *errs, struct conf_places **places)
{
    *places = calloc(1, sizeof(**places));
    if (*places == NULL)
        return load_no_memory(errs);
    const int rc = load_file(&(*places)->load, c, path, sets, n_sets, errs);
    (*places)->load.errs = NULL;
    return rc;
}

int conf_load_places(struct conf *c, const char *path, char *const *sets, unsigned n_sets,
                     struct conf_errors *errs, struct conf_places **places)
{
    const int rc = conf_load_parts(c, path, sets, n_sets, errs, places);
    if (rc == 0)
        return 0;
    conf_places_free(*places);
    *places = NULL;
    return rc;
}

void conf_places_free(struct conf_places *places)
{
    free(places);
}

static bool is_section(const char *name, size_t n, enum conf_section section)
{
    return strlen(conf_sections[section].name) == n &&
           memcmp(conf_sections[section].name, name, n) == 0;
}

// index_of: the index of the port or service whose name is the n characters at `name`, or -1.
static int index_of(const struct conf *c, enum conf_section section, const char *name, size_t n)
{
    const bool ports = section == SECTION_port;
    for (unsigned i = 0; i < (ports ? c->n_ports : c->n_services); i++) {
        const char *other = ports ? c->ports[i].name : c->services[i].name;
        if (strlen(other) == n && memcmp(other, name, n) == 0)
            return (int)i;
    }
    return -1;
}

// find: the key of SECTION.KEY or SECTION.NAME.KEY, and the index of its section. NULL if there is
// no such key.
static const struct key *find(const struct conf *c, const char *dotted, unsigned *at)
{
    const size_t n = strcspn(dotted, ".");
    const char *rest = dotted + n + (dotted[n] == '.');
    *at = 0;
    for (enum conf_section s = 0; s < SECTION_COUNT; s++) {
        if (!is_section(dotted, n, s))
            continue;
        const size_t name = strcspn(rest, ".");
        if (!conf_sections[s].named)
            return key_find(s, rest);
        const int index = index_of(c, s, rest, name);
        if (index < 0 || rest[name] != '.')
            return NULL;
        *at = (unsigned)index;
        return key_find(s, rest + name + 1);
    }
    return NULL;
}

void conf_place(struct conf_places *places, const char *key, struct text *out)
{
    unsigned at;
    const struct key *k = places == NULL ? NULL : find(places->load.c, key, &at);
    if (k != NULL)
        load_put_place(&places->load, k, at, out);
    else if (key[0] != '\0')
        text_printf(out, "%s: ", key);
}
