// SPDX-License-Identifier: BSD-3-Clause
#include "server/service_fault.h"

#include <stdio.h>
#include <string.h>

#include "conf/key_table.h"

// key_named: the key of these n characters, if services of this application have it.
static const struct key *key_named(enum conf_section section, const char *app, const char *at,
                                   size_t n)
{
    char name[CONF_NAME_BYTES];
    if (n == 0 || n >= sizeof(name))
        return NULL;
    snprintf(name, sizeof(name), "%.*s", (int)n, at);
    const struct key *k = key_find(section, name);
    return k != NULL && key_applies(k, app) ? k : NULL;
}

// key_in: the first key that the reason names. Other words may stand where a key could: a path
// ("readme: 70 bytes do not fit") or what went wrong ("no memory for holds_max = 9").
static const struct key *key_in(enum conf_section section, const char *app, const char *reason)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    for (const char *at = reason; *at != '\0';) {
        const size_t n = strspn(at, letters);
        const bool named =
            strncmp(at + n, " = ", 3) == 0 || (at == reason && strncmp(at + n, ": ", 2) == 0);
        const struct key *k = named ? key_named(section, app, at, n) : NULL;
        if (k != NULL)
            return k;
        at += n == 0 ? 1 : n;
    }
    return NULL;
}

int service_fault_key(const char *service, const char *app, struct err *err)
{
    const size_t before = strlen("service : ") + strlen(service);
    const char *reason = err->text + (strlen(err->text) < before ? 0 : before);
    const bool agent = strcmp(app, "agent") == 0;
    if (strstr(reason, "[memory] image_bytes") != NULL)
        return err_key(err, "memory.image_bytes");
    const struct key *k = key_in(agent ? SECTION_agent : SECTION_service, app, reason);
    if (agent)
        return err_key(err, "agent.%s", k != NULL ? k->name : "socket");
    return err_key(err, "service.%s.%s", service, k != NULL ? k->name : "app");
}
