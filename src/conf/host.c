#include <sched.h>
#include <string.h>

#include "conf/conf.h"

void conf_host_read(struct conf_host *h)
{
    memset(h, 0, sizeof(*h));
    h->apps = "echo|discard|chargen|daytime|http|proxy";
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
