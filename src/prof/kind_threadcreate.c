// SPDX-License-Identifier: BSD-3-Clause
// threadcreate: the threads of the process, by who made them.
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prof/prof_frames.h"
#include "prof/prof_kinds.h"
#include "prof/reading.h"
#include "sock/sock.h"

enum { THREAD_NAME_BYTES = 16, PATH_BYTES = 64, THREADS_MAX = 4096 };

// thread_name: as Linux has it, without the newline; "": it has ended.
static void thread_name(const char *tid, char name[THREAD_NAME_BYTES])
{
    char path[PATH_BYTES];
    name[0] = '\0';
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", tid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return;
    if (fgets(name, THREAD_NAME_BYTES, f) == NULL)
        name[0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    fclose(f);
}

static int worker_of(const struct server *s, unsigned tid)
{
    for (unsigned i = 0; i < server_workers(s); i++)
        if (shared_u32_load(&server_worker(s, i)->tid) == tid)
            return (int)i;
    return -1;
}

// service_of: the service that a thread is named after (server/app_threads.c).
static int service_of(const struct server *s, const char *name)
{
    const struct server_params *p = server_params_of(s);
    for (unsigned i = 0; i < p->n_services; i++)
        if (p->services[i].app->thread != NULL &&
            strncmp(p->services[i].name, name, THREAD_NAME_BYTES - 1) == 0)
            return (int)i;
    return -1;
}

static bool starts(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

// maker_of: who made a thread that is neither a worker nor an application's. DPDK's names are those
// of 22.11.
static const char *maker_of(unsigned tid, const char *name)
{
    static const char *const dpdk[] = {"eal-intr", "rte_mp",     "telemetry", "dpdk-",
                                       "lcore",    "rte-worker", "pdump"};
    if (tid == (unsigned)getpid())
        return "process start";
    for (unsigned i = 0; i < ARRAY_LEN(dpdk); i++)
        if (starts(name, dpdk[i]))
            return "DPDK";
    return starts(name, "prof") ? "profiles" : "control thread";
}

static void put(const struct reading *r, const char *tid_text, int64_t sign)
{
    const struct server *s = r->shown.server;
    const unsigned tid = (unsigned)strtoul(tid_text, NULL, 10);
    const int worker = worker_of(s, tid);
    char name[THREAD_NAME_BYTES];
    struct frames f = {.n = 0};
    thread_name(tid_text, name);
    const int service = worker >= 0 ? -1 : service_of(s, name);
    if (name[0] == '\0')
        return;
    frames_add(&f, "%s", tid == (unsigned)getpid() ? "control thread" : name);
    if (worker >= 0) {
        frames_add(&f, "worker on core %u", server_worker(s, (unsigned)worker)->cpu);
        frames_add(&f, "server start");
    } else if (service >= 0) {
        frames_service(&f, s, (unsigned)service);
        frames_add(&f, "server start");
    } else {
        frames_add(&f, "%s", maker_of(tid, name));
    }
    frames_put(&f, r->profile, &sign);
}

static void read_threads(const struct reading *r, int64_t sign)
{
    DIR *d = opendir("/proc/self/task");
    const struct dirent *e = d == NULL ? NULL : readdir(d);
    for (unsigned i = 0; e != NULL && i < THREADS_MAX; i++, e = readdir(d))
        if (isdigit((unsigned char)e->d_name[0]))
            put(r, e->d_name, sign);
    if (d != NULL)
        closedir(d);
}

static const struct reading_kind threadcreate = {
    .title = "threadcreate",
    .params = {.n_types = 1,
               .types = {{"threadcreate", "count"}},
               .period_type = {"threadcreate", "count"},
               .period = 1},
    .read = read_threads,
};

READING_KIND(threadcreate,
             .help =
                 "the threads of the process, and who made them: workers, applications' threads, "
                 "DPDK's, those of the control thread.");
