// SPDX-License-Identifier: BSD-3-Clause
#include "server/linux_counts.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1 << 20 };  // /proc/interrupts of 400 CPUs

// The whole file, or its beginning, terminated; "" if there is none.
static const char *contents(const char *proc, const char *name)
{
    static char text[FILE_BYTES_MAX];
    char path[4096];
    size_t n = 0;
    snprintf(path, sizeof(path), "%s/%s", proc, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got; fd >= 0 && n < sizeof(text) - 1; n += (size_t)got)
        if ((got = read(fd, text + n, sizeof(text) - 1 - n)) <= 0)
            break;
    if (fd >= 0)
        close(fd);
    text[n] = '\0';
    return text;
}

// The number after `name` at the beginning of a line.
static uint64_t number_after(const char *text, const char *name)
{
    const size_t n = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0)
            return strtoull(line + n, NULL, 10);
    }
    return 0;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t) != 0)
        return 0;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// The CPU time of a thread of this process, up to this moment: /proc tells that of the last tick
// (Linux's include/linux/posix-timers.h).
static clockid_t thread_clock(int tid)
{
    enum { PER_THREAD = 4, SCHED = 2, SHIFT = 3 };
    return (clockid_t)(~(unsigned)tid << SHIFT | PER_THREAD | SCHED);
}

static void read_thread(struct linux_counts *out, const char *proc, int tid)
{
    char name[64];
    snprintf(name, sizeof(name), "self/task/%d/schedstat", tid);
    sscanf(contents(proc, name), "%*u %" SCNu64, &out->wait_ns);
    const int64_t ran = clock_ns(thread_clock(tid));
    if (ran != 0)
        out->lost_ns = clock_ns(CLOCK_MONOTONIC) - ran - (int64_t)out->wait_ns;
    snprintf(name, sizeof(name), "self/task/%d/status", tid);
    const char *status = contents(proc, name);
    out->slept = number_after(status, "voluntary_ctxt_switches:");
    out->forced = number_after(status, "nonvoluntary_ctxt_switches:");
    snprintf(name, sizeof(name), "self/task/%d/stat", tid);
    const char *after_name = strrchr(contents(proc, name), ')');  // it may hold anything
    if (after_name != NULL)
        sscanf(after_name, ") %*c %*d %*d %*d %*d %*d %*u %" SCNu64 " %*u %" SCNu64,
               &out->faults_minor, &out->faults_major);
}

static void read_steal(struct linux_counts *out, const char *proc, unsigned cpu)
{
    char name[16];
    snprintf(name, sizeof(name), "\ncpu%u ", cpu);
    const char *line = strstr(contents(proc, "stat"), name);
    if (line != NULL)  // user nice system idle iowait irq softirq steal
        sscanf(line + 1, "%*s %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &out->steal_ticks);
}

// Returns the column of the CPU in the head line `           CPU0       CPU1`. -1: there is none.
static int column_of(const char *head, unsigned cpu)
{
    unsigned is;
    int n;
    for (int column = 0; sscanf(head, " CPU%u%n", &is, &n) == 1; head += n, column++)
        if (is == cpu)
            return column;
    return -1;
}

// Returns a name without blanks: the last word of a device's line, or the text before the colon.
static void name_of(const char *line, const char *colon, const char *end, char *out)
{
    const char *from = line, *to = colon;
    if (isdigit((unsigned char)*line)) {
        for (to = end; to > colon && isspace((unsigned char)to[-1]);)
            to--;
        for (from = to; from > colon + 1 && !isspace((unsigned char)from[-1]);)
            from--;
    }
    snprintf(out, LINUX_NAME_BYTES, "%.*s", (int)(to - from), from);
}

static void read_interrupt(struct linux_counts *out, const char *line, const char *end, int column)
{
    const char *colon = memchr(line, ':', (size_t)(end - line));
    if (colon == NULL)
        return;
    const char *at = colon + 1;
    uint64_t count = 0;
    for (int i = 0; i <= column; i++) {
        char *next;
        count = strtoull(at, &next, 10);
        if (next == at || next > end)  // ERR and MIS have one number for all
            return;
        at = next;
    }
    struct linux_interrupt *row = &out->interrupts[out->n_interrupts++];
    row->count = count;
    name_of(line, colon, end, row->name);
}

static void read_interrupts(struct linux_counts *out, const char *proc, const char *file,
                            unsigned cpu)
{
    const char *line = contents(proc, file);
    const int column = column_of(line, cpu);
    while (column >= 0 && (line = strchr(line, '\n')) != NULL &&
           out->n_interrupts < LINUX_INTERRUPTS_MAX) {
        line++;
        line += strspn(line, " ");
        read_interrupt(out, line, line + strcspn(line, "\n"), column);
    }
}

void linux_counts_read(struct linux_counts *out, const char *proc, int tid, unsigned cpu)
{
    memset(out, 0, sizeof(*out));
    if (tid != 0)
        read_thread(out, proc, tid);
    read_steal(out, proc, cpu);
    read_interrupts(out, proc, "interrupts", cpu);
}

void linux_counts_softirqs(struct linux_counts *out, const char *proc, unsigned cpu)
{
    memset(out, 0, sizeof(*out));
    read_interrupts(out, proc, "softirqs", cpu);
}

static uint64_t count_before(const struct linux_counts *before, const char *name, unsigned hint)
{
    if (hint < before->n_interrupts && strcmp(before->interrupts[hint].name, name) == 0)
        return before->interrupts[hint].count;
    for (unsigned i = 0; i < before->n_interrupts; i++)
        if (strcmp(before->interrupts[i].name, name) == 0)
            return before->interrupts[i].count;
    return 0;
}

void linux_counts_since(struct linux_counts *now, const struct linux_counts *before)
{
    now->lost_ns -= before->lost_ns;
    now->wait_ns -= before->wait_ns;
    now->forced -= before->forced;
    now->slept -= before->slept;
    now->faults_minor -= before->faults_minor;
    now->faults_major -= before->faults_major;
    now->steal_ticks -= before->steal_ticks;
    for (unsigned i = 0; i < now->n_interrupts; i++)
        now->interrupts[i].count -= count_before(before, now->interrupts[i].name, i);
}
