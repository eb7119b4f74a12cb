// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_process.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void doctor_process_comm(const struct doctor_host *h, long pid, char out[DOCTOR_COMM_BYTES])
{
    char path[DOCTOR_PATH_BYTES];
    snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
    doctor_line(h, path, out, DOCTOR_COMM_BYTES);
    for (char *c = out; *c != '\0'; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
}

// is_system: it belongs to the user to whom the machine does: to root, on the machine itself.
static bool is_system(const struct doctor_host *h, const char *pid)
{
    char at[DOCTOR_PATH_BYTES];
    struct stat process, all;
    return stat(doctor_path(h, at, "/proc/%.20s", pid), &process) == 0 &&
           stat(doctor_path(h, at, "/proc"), &all) == 0 && process.st_uid == all.st_uid;
}

// search: what is looked for among the processes.
struct search {
    const struct doctor_host *h;
    const char *want;
    long pid;    // of the process looked at
    long found;  // 0: not yet
    bool hidden;
};

static bool has_name(void *arg, const char *pid)
{
    struct search *s = arg;
    char comm[DOCTOR_COMM_BYTES];
    if (!isdigit((unsigned char)pid[0]))
        return true;
    doctor_process_comm(s->h, atol(pid), comm);
    if (strcmp(comm, s->want) == 0 && is_system(s->h, pid))
        s->found = atol(pid);
    return s->found == 0;
}

long doctor_process_named(const struct doctor_host *h, const char *name)
{
    struct search s = {.h = h, .want = name};
    doctor_each(h, "/proc", has_name, &s);
    return s.found;
}

static bool has_file(void *arg, const char *fd)
{
    struct search *s = arg;
    char path[DOCTOR_PATH_BYTES], at[DOCTOR_PATH_BYTES], target[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%ld/fd/%.20s", s->pid, fd);
    const ssize_t len = readlink(doctor_path(s->h, at, "%s", path), target, sizeof(target) - 1);
    target[MAX(len, 0)] = '\0';
    if (strcmp(target, s->want) == 0)
        s->found = s->pid;
    return s->found == 0;
}

static bool holds(void *arg, const char *pid)
{
    struct search *s = arg;
    char path[DOCTOR_PATH_BYTES], at[DOCTOR_PATH_BYTES];
    if (!isdigit((unsigned char)pid[0]) || (s->h->root[0] == '\0' && atol(pid) == getpid()))
        return true;
    s->pid = atol(pid);
    snprintf(path, sizeof(path), "/proc/%ld/fd", s->pid);
    if (access(doctor_path(s->h, at, "%s", path), R_OK) != 0 && errno == EACCES)
        s->hidden = true;
    doctor_each(s->h, path, has_file, s);
    return s->found == 0;
}

long doctor_process_holds(const struct doctor_host *h, const char *target, bool *hidden)
{
    struct search s = {.h = h, .want = target};
    doctor_each(h, "/proc", holds, &s);
    *hidden = *hidden || s.hidden;
    return s.found;
}

// pins: the threads of one process.
struct pins {
    const struct doctor_host *h;
    long pid;
    struct doctor_cpus cpus;
};

static bool each_thread(void *arg, const char *tid)
{
    struct pins *p = arg;
    char path[DOCTOR_PATH_BYTES];
    struct doctor_cpus set;
    snprintf(path, sizeof(path), "/proc/%ld/task/%.20s/status", p->pid, tid);
    char *text = doctor_file(p->h, path);
    char *list = text == NULL ? NULL : strstr(text, "\nCpus_allowed_list:");
    if (list != NULL) {
        list += strlen("\nCpus_allowed_list:");
        list += strspn(list, " \t");
        if (doctor_cpus_parse_list(&set, list) && doctor_cpus_count(&set) == 1)
            p->cpus = doctor_cpus_or(&p->cpus, &set);
    }
    free(text);
    return true;
}

struct doctor_cpus doctor_process_pinned(const struct doctor_host *h, long pid)
{
    struct pins p = {.h = h, .pid = pid};
    char path[DOCTOR_PATH_BYTES];
    snprintf(path, sizeof(path), "/proc/%ld/task", pid);
    doctor_each(h, path, each_thread, &p);
    return p.cpus;
}
