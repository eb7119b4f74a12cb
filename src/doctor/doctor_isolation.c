// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "base/topology.h"
#include "doctor/doctor_boot.h"
#include "doctor/doctor_interrupts.h"
#include "doctor/doctor_rows.h"

#define CPU_DIR "/sys/devices/system/cpu"

// cpus_of: the CPUs of a file of /sys; where the kernel has none, of the word of the boot line.
static struct doctor_cpus cpus_of(const struct doctor *d, const char *file, const char *word)
{
    char path[DOCTOR_PATH_BYTES], line[DOCTOR_CPUS_TEXT_BYTES];
    struct doctor_cpus set, boot;
    snprintf(path, sizeof(path), CPU_DIR "/%s", file);
    doctor_line(&d->host, path, line, sizeof(line));
    if (!doctor_cpus_parse_list(&set, line))  // "(null)"
        set = (struct doctor_cpus){0};
    doctor_boot_cpus(&d->host, word, &boot);
    return doctor_cpus_or(&set, &boot);
}

static void say_set(const struct doctor *d, const char *name, const struct doctor_cpus *has,
                    struct doctor_finding *f)
{
    char list[DOCTOR_CPUS_TEXT_BYTES];
    const struct doctor_cpus lacking = doctor_cpus_less(&d->needs.workers, has);
    if (doctor_cpus_count(&lacking) == 0)
        doctor_say(f, DOCTOR_OK, "%s=%s", name, doctor_cpus_list(has, list));
    else
        doctor_say(f, DOCTOR_WARN, "%s lacks %s", name, doctor_cpus_list(&lacking, list));
}

// advise_boot_line: the words for the boot line, as this configuration wants them; on a line of
// their own, so that they can be copied.
static void advise_boot_line(const struct doctor *d, struct doctor_finding *f)
{
    char workers[DOCTOR_CPUS_TEXT_BYTES], rest[DOCTOR_CPUS_TEXT_BYTES];
    const struct doctor_cpus others = doctor_cpus_less(&d->needs.online, &d->needs.workers);
    doctor_cpus_list(&d->needs.workers, workers);
    doctor_cpus_list(&others, rest);
    doctor_advise(f, "add to the boot line:");
    doctor_advise(f, "isolcpus=managed_irq,domain,%s nohz_full=%s rcu_nocbs=%s irqaffinity=%s",
                  workers, workers, workers, rest);
    doctor_advise(f, "on Debian: GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub and "
                     "reboot");
}

DOCTOR_LOOK(isolation)
{
    const struct doctor_cpus isolated = cpus_of(d, "isolated", "isolcpus");
    const struct doctor_cpus nohz = cpus_of(d, "nohz_full", "nohz_full");
    struct doctor_cpus rcu;
    const struct doctor_cpus others = doctor_cpus_less(&d->needs.online, &d->needs.workers);
    doctor_boot_cpus(&d->host, "rcu_nocbs", &rcu);
    rcu = doctor_cpus_or(&rcu, &nohz);  // nohz_full implies it
    if (doctor_cpus_count(&others) == 0) {
        doctor_say(f, DOCTOR_WARN, "every CPU runs a worker: Linux has none of its own");
        return;
    }
    say_set(d, "isolcpus", &isolated, f);
    if (doctor_exists(&d->host, CPU_DIR "/nohz_full"))
        say_set(d, "nohz_full", &nohz, f);
    else
        doctor_say(f, DOCTOR_OK, "this kernel has no nohz_full");
    say_set(d, "rcu_nocbs", &rcu, f);
    if (f->state == DOCTOR_WARN)
        advise_boot_line(d, f);
}

// ---- siblings

// siblings_of: the online hyper-threads of the CPU's core, without itself.
static struct doctor_cpus siblings_of(const struct doctor *d, unsigned cpu)
{
    char path[DOCTOR_PATH_BYTES], line[DOCTOR_CPUS_TEXT_BYTES];
    struct doctor_cpus set, self = {0};
    snprintf(path, sizeof(path), CPU_DIR "/cpu%u/topology/thread_siblings_list", cpu);
    doctor_line(&d->host, path, line, sizeof(line));
    doctor_cpus_parse_list(&set, line);
    set = doctor_cpus_and(&set, &d->needs.online);
    doctor_cpus_add(&self, cpu);
    return doctor_cpus_less(&set, &self);
}

static void say_sibling(const struct doctor *d, unsigned cpu, unsigned sibling,
                        struct doctor_finding *f)
{
    if (doctor_cpus_has(&d->needs.workers, sibling)) {
        if (sibling < cpu)
            return;  // said of the other one
        doctor_say(f, DOCTOR_WARN, "the workers on %u and %u share a core", cpu, sibling);
    } else if (doctor_cpus_has(&d->needs.linux_cpus, sibling)) {
        doctor_say(f, DOCTOR_WARN, "worker CPU %u shares a core with %u, which [cpu] linux has",
                   cpu, sibling);
    } else {
        doctor_say(f, DOCTOR_WARN, "worker CPU %u shares a core with %u, which is online", cpu,
                   sibling);
        return;  // the fix takes it off-line
    }
    doctor_advise(f, "take one CPU of each core for [cpu] workers (c10m plan shows the cores)");
}

DOCTOR_LOOK(siblings)
{
    for (unsigned cpu = 0; cpu < DOCTOR_CPUS_MAX; cpu++) {
        if (!doctor_cpus_has(&d->needs.workers, cpu))
            continue;
        const struct doctor_cpus set = siblings_of(d, cpu);
        for (unsigned other = 0; other < DOCTOR_CPUS_MAX; other++)
            if (doctor_cpus_has(&set, other))
                say_sibling(d, cpu, other, f);
    }
    if (f->state == DOCTOR_NONE)
        doctor_say(f, DOCTOR_OK, "no worker shares its core");
}

// to_go: the siblings that neither workers nor Linux are given, and that can go off line.
static struct doctor_cpus to_go(const struct doctor *d)
{
    const struct doctor_cpus given = doctor_cpus_or(&d->needs.workers, &d->needs.linux_cpus);
    struct doctor_cpus off = {0};
    for (unsigned cpu = 0; cpu < DOCTOR_CPUS_MAX; cpu++) {
        if (!doctor_cpus_has(&d->needs.workers, cpu))
            continue;
        struct doctor_cpus set = siblings_of(d, cpu);
        set = doctor_cpus_less(&set, &given);
        for (unsigned other = 1; other < DOCTOR_CPUS_MAX; other++) {
            char path[DOCTOR_PATH_BYTES];
            snprintf(path, sizeof(path), CPU_DIR "/cpu%u/online", other);
            if (doctor_cpus_has(&set, other) && doctor_exists(&d->host, path))
                doctor_cpus_add(&off, other);
        }
    }
    return off;
}

// The interrupts first: an undo, which goes backwards, then restores them when the CPUs are there.
DOCTOR_PLAN(siblings)
{
    const struct doctor_cpus off = to_go(d);
    if (doctor_cpus_count(&off) != 0)
        doctor_interrupts_rescue(d, &off, out);
    for (unsigned cpu = 1; cpu < DOCTOR_CPUS_MAX; cpu++) {
        char path[DOCTOR_PATH_BYTES];
        snprintf(path, sizeof(path), CPU_DIR "/cpu%u/online", cpu);
        if (doctor_cpus_has(&off, cpu))
            doctor_changes_add(out, &d->host, DOCTOR_LINE, path, "0");
    }
}
