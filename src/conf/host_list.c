// SPDX-License-Identifier: BSD-3-Clause
#include "conf/host_list.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/topology.h"
#include "conf/key_table.h"
#include "conf/lists.h"
#include "tables/app_table.h"

// apps: the values of [service NAME] app, as "|echo|discard". built_in: the names that an
// out-of-tree application must not use.
#define APP_WORD_SERVICE(name)      "|" #name
#define APP_WORD_SECTION(name)      ""
#define APP_WORD(name, kind, help)  APP_WORD_##kind(name)
#define APP_TAKEN(name, kind, help) "|" #name
static char apps[1024] = APP_TABLE(APP_WORD);
static const char built_in[] = APP_TABLE(APP_TAKEN);

bool conf_apps_add(const char *name)
{
    const size_t n = strlen(apps);
    if (!is_name(name) || word_index(&apps[1], name) >= 0 || word_index(&built_in[1], name) >= 0 ||
        n + strlen(name) + 2 > sizeof(apps))
        return false;
    snprintf(apps + n, sizeof(apps) - n, "|%s", name);
    return true;
}

static bool may_run_on(unsigned id)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(id, &one);
    return sched_setaffinity(0, sizeof(one), &one) == 0;
}

// add_isolated: Linux takes isolated cores (isolcpus on the boot line) out of the affinity of every
// process. A thread may ask for one all the same, unless the cpuset of the process forbids it.
static void add_isolated(cpu_set_t *set)
{
    char isolated[1024];
    const cpu_set_t before = *set;
    io_read_line("/sys/devices/system/cpu", "isolated", isolated, sizeof(isolated));
    for (unsigned id = 0; id <= CONF_CPU_ID_MAX && isolated[0] != '\0'; id++)
        if (!CPU_ISSET(id, &before) && topology_list_has(isolated, id) && may_run_on(id))
            CPU_SET(id, set);
    if (!CPU_EQUAL(set, &before))
        sched_setaffinity(0, sizeof(before), &before);
}

void conf_host_read(struct conf_host *h)
{
    memset(h, 0, sizeof(*h));
    h->apps = &apps[1];
    cpu_set_t set;
    // Linux returns the cores of the affinity that are online. The call fails on a machine with
    // more possible cores than CPU_SETSIZE.
    const bool read = sched_getaffinity(0, sizeof(set), &set) == 0;
    if (read)
        add_isolated(&set);
    if (read)
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
