// SPDX-License-Identifier: BSD-3-Clause
#include "conf/host_list.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "conf/key_table.h"
#include "conf/lists.h"

static char apps[1024] = "echo|discard|chargen|daytime|http|proxy";

bool conf_apps_add(const char *name)
{
    const size_t n = strlen(apps);
    if (!is_name(name) || word_index(apps, name) >= 0 || strcmp(name, "agent") == 0 ||
        n + strlen(name) + 2 > sizeof(apps))
        return false;
    snprintf(apps + n, sizeof(apps) - n, "|%s", name);
    return true;
}

void conf_host_read(struct conf_host *h)
{
    memset(h, 0, sizeof(*h));
    h->apps = apps;
    cpu_set_t set;
    // Linux gives the cores that are allowed and online. It refuses on a machine that could have
    // more than CPU_SETSIZE of them.
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        for (unsigned id = 0; id <= CONF_CPU_ID_MAX && h->cpus.n < CONF_CPUS_MAX; id++)
            if (CPU_ISSET(id, &set))
                h->cpus.id[h->cpus.n++] = (uint16_t)id;
    if (h->cpus.n == 0)
        h->cpus.n = 1;  // core 0
}

const struct conf_host *conf_host_here(void)
{
    static struct conf_host host;
    if (host.cpus.n == 0)
        conf_host_read(&host);
    return &host;
}
