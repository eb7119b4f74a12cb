// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_interrupts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/doctor_boot.h"
#include "doctor/doctor_process.h"
#include "doctor/doctor_rows.h"

#define IRQ_DIR         "/proc/irq"
#define WORKQUEUE_DIR   "/sys/devices/virtual/workqueue"
#define IRQBALANCE_FILE "/etc/default/irqbalance"
#define BAN_LIST        "IRQBALANCE_BANNED_CPULIST"

// linux_side: the online CPUs without a worker; empty where workers run on all.
static struct doctor_cpus linux_side(const struct doctor *d)
{
    return doctor_cpus_less(&d->needs.online, &d->needs.workers);
}

// Workers on every CPU: nothing can be kept away from them.
static bool no_room(const struct doctor *d, struct doctor_finding *f)
{
    const struct doctor_cpus rest = linux_side(d);
    if (doctor_cpus_count(&rest) != 0)
        return false;
    doctor_say(f, DOCTOR_WARN, "every CPU runs a worker");
    return true;
}

// ---- interrupts

struct irqs {
    const struct doctor *d;
    struct doctor_changes *out;  // NULL: only look
    struct doctor_cpus bad;      // numbers of interrupts, as in a set of CPUs
    unsigned n, n_bad;
};

static void irq_cpus(const struct doctor_host *h, const char *irq, const char *file,
                     struct doctor_cpus *set)
{
    char path[DOCTOR_PATH_BYTES], line[DOCTOR_CPUS_TEXT_BYTES];
    snprintf(path, sizeof(path), IRQ_DIR "/%.20s/%s", irq, file);
    doctor_line(h, path, line, sizeof(line));
    if (!doctor_cpus_parse_list(set, line))
        *set = (struct doctor_cpus){0};
}

// meets_workers: it may run there.
static bool meets_workers(const struct doctor *d, const char *irq, struct doctor_cpus *may)
{
    irq_cpus(&d->host, irq, "smp_affinity_list", may);
    const struct doctor_cpus both = doctor_cpus_and(may, &d->needs.workers);
    return doctor_cpus_count(&both) != 0;
}

static void move_irq(const struct doctor *d, const char *irq, const struct doctor_cpus *to,
                     struct doctor_changes *out)
{
    char path[DOCTOR_PATH_BYTES], list[DOCTOR_CPUS_TEXT_BYTES];
    snprintf(path, sizeof(path), IRQ_DIR "/%.20s/smp_affinity_list", irq);
    struct doctor_change *c =
        doctor_changes_add(out, &d->host, DOCTOR_LINE, path, doctor_cpus_list(to, list));
    if (c != NULL)
        c->may_refuse = true;  // an interrupt that the kernel manages itself
}

static bool each_irq(void *arg, const char *irq)
{
    struct irqs *s = arg;
    struct doctor_cpus may;
    if (!isdigit((unsigned char)irq[0]))
        return true;
    s->n++;
    if (!meets_workers(s->d, irq, &may))
        return true;
    s->n_bad++;
    doctor_cpus_add(&s->bad, (unsigned)strtoul(irq, NULL, 10));
    if (s->out == NULL)
        return true;
    const struct doctor_cpus rest = linux_side(s->d);
    const struct doctor_cpus left = doctor_cpus_and(&may, &rest);
    move_irq(s->d, irq, doctor_cpus_count(&left) == 0 ? &rest : &left, s->out);
    return true;
}

DOCTOR_LOOK(irq_affinity)
{
    struct irqs s = {.d = d};
    char list[DOCTOR_CPUS_TEXT_BYTES];
    if (no_room(d, f))
        return;
    doctor_each(&d->host, IRQ_DIR, each_irq, &s);
    if (s.n == 0)
        doctor_say(f, DOCTOR_UNKNOWN, "no interrupts in " IRQ_DIR);
    else if (s.n_bad == 0)
        doctor_say(f, DOCTOR_OK, "none of %u", s.n);
    else
        doctor_say(f, DOCTOR_WARN, "%u of %u: %s", s.n_bad, s.n, doctor_cpus_list(&s.bad, list));
    if (s.n_bad != 0)
        doctor_advise(f,
                      "those that the kernel refuses to move it manages itself: "
                      "isolcpus=managed_irq,... on the boot line keeps them away (row isolation)");
}

DOCTOR_PLAN(irq_affinity)
{
    struct irqs s = {.d = d, .out = out};
    struct doctor_cpus usual, rest = linux_side(d);
    char list[DOCTOR_CPUS_TEXT_BYTES];
    if (doctor_cpus_count(&rest) == 0)
        return;
    doctor_line(&d->host, IRQ_DIR "/default_smp_affinity", list, sizeof(list));
    if (list[0] != '\0' && doctor_cpus_parse_mask(&usual, list)) {
        const struct doctor_cpus left = doctor_cpus_and(&usual, &rest);
        const struct doctor_cpus meets = doctor_cpus_and(&usual, &d->needs.workers);
        if (doctor_cpus_count(&meets) != 0)
            doctor_changes_add(
                out, &d->host, DOCTOR_MASK, IRQ_DIR "/default_smp_affinity",
                doctor_cpus_mask(doctor_cpus_count(&left) == 0 ? &rest : &left, list));
    }
    doctor_each(&d->host, IRQ_DIR, each_irq, &s);
}

// ---- CPUs that go off line

struct rescue {
    const struct doctor *d;
    struct doctor_changes *out;
    struct doctor_cpus off, to;  // to: where those go that would have no CPU
};

static bool rescue_irq(void *arg, const char *irq)
{
    const struct rescue *s = arg;
    struct doctor_cpus may;
    if (!isdigit((unsigned char)irq[0]))
        return true;
    irq_cpus(&s->d->host, irq, "smp_affinity_list", &may);
    may = doctor_cpus_and(&may, &s->d->needs.online);
    const struct doctor_cpus left = doctor_cpus_less(&may, &s->off);
    if (doctor_cpus_count(&may) != 0 && doctor_cpus_count(&left) == 0)
        move_irq(s->d, irq, &s->to, s->out);
    return true;
}

void doctor_interrupts_rescue(const struct doctor *d, const struct doctor_cpus *off,
                              struct doctor_changes *out)
{
    const struct doctor_cpus rest = linux_side(d);
    struct rescue s = {.d = d, .out = out, .off = *off, .to = doctor_cpus_less(&rest, off)};
    if (doctor_cpus_count(&s.to) == 0)
        s.to = doctor_cpus_less(&d->needs.online, off);
    doctor_each(&d->host, IRQ_DIR, rescue_irq, &s);
}

// ---- workqueues

struct queues {
    const struct doctor *d;
    struct doctor_changes *out;  // NULL: only look
    struct doctor_finding *f;
};

// One file: the mask of all unbound workqueues, or of one of them.
static void look_mask(const struct queues *s, const char *path, const char *name)
{
    char mask[DOCTOR_CPUS_TEXT_BYTES];
    struct doctor_cpus set, rest = linux_side(s->d);
    doctor_line(&s->d->host, path, mask, sizeof(mask));
    if (mask[0] == '\0' || !doctor_cpus_parse_mask(&set, mask))
        return;
    const struct doctor_cpus meets = doctor_cpus_and(&set, &s->d->needs.workers);
    const struct doctor_cpus left = doctor_cpus_and(&set, &rest);
    if (s->out == NULL)
        doctor_say(s->f, doctor_cpus_count(&meets) != 0 ? DOCTOR_WARN : DOCTOR_OK, "%s: CPUs %s",
                   name, doctor_cpus_list(&set, mask));
    else if (doctor_cpus_count(&meets) != 0)
        doctor_changes_add(s->out, &s->d->host, DOCTOR_MASK, path,
                           doctor_cpus_mask(doctor_cpus_count(&left) == 0 ? &rest : &left, mask));
}

static bool each_workqueue(void *arg, const char *name)
{
    char path[DOCTOR_PATH_BYTES];
    snprintf(path, sizeof(path), WORKQUEUE_DIR "/%.100s/cpumask", name);
    look_mask(arg, path, name);
    return true;
}

static void each_mask(const struct queues *s)
{
    look_mask(s, WORKQUEUE_DIR "/cpumask", "all");
    doctor_each(&s->d->host, WORKQUEUE_DIR, each_workqueue, (void *)(uintptr_t)s);
}

DOCTOR_LOOK(workqueues)
{
    const struct queues s = {d, NULL, f};
    if (no_room(d, f))
        return;
    each_mask(&s);
    if (f->state == DOCTOR_NONE)
        doctor_say(f, DOCTOR_UNKNOWN, "this kernel shows no cpumask of workqueues");
}

DOCTOR_PLAN(workqueues)
{
    const struct queues s = {d, out, NULL};
    const struct doctor_cpus rest = linux_side(d);
    if (doctor_cpus_count(&rest) != 0)
        each_mask(&s);
}

// ---- irqbalance

// ban_value: what the line NAME=VALUE of its settings says, without quotes. False: there is none.
static bool ban_value(const char *text, const char *name, char *out, size_t room)
{
    const size_t len = strlen(name);
    bool found = false;
    out[0] = '\0';
    while (text != NULL && *text != '\0') {
        if (strncmp(text, name, len) == 0 && text[len] == '=') {
            text += len + 1;
            text += *text == '"' || *text == '\'';
            snprintf(out, room, "%.*s", (int)strcspn(text, "\"'\n"), text);
            found = true;
        }
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return found;
}

// banned: the CPUs that it leaves alone. Without a setting these are the isolated and the nohz_full
// ones (irqbalance 1.9, Debian 12).
static struct doctor_cpus banned(const struct doctor *d)
{
    char line[DOCTOR_CPUS_TEXT_BYTES];
    struct doctor_cpus set = {0}, nohz = {0};
    char *text = doctor_file(&d->host, IRQBALANCE_FILE);
    if (ban_value(text, BAN_LIST, line, sizeof(line)) && line[0] != '\0') {
        doctor_cpus_parse_list(&set, line);
    } else if (ban_value(text, "IRQBALANCE_BANNED_CPUS", line, sizeof(line)) && line[0] != '\0') {
        doctor_cpus_parse_mask(&set, line);
    } else {
        doctor_line(&d->host, "/sys/devices/system/cpu/isolated", line, sizeof(line));
        doctor_cpus_parse_list(&set, line);
        doctor_line(&d->host, "/sys/devices/system/cpu/nohz_full", line, sizeof(line));
        if (!doctor_cpus_parse_list(&nohz, line))
            nohz = (struct doctor_cpus){0};
        set = doctor_cpus_or(&set, &nohz);
    }
    free(text);
    return set;
}

DOCTOR_LOOK(irqbalance)
{
    char list[DOCTOR_CPUS_TEXT_BYTES];
    const long pid = doctor_process_named(&d->host, "irqbalance");
    const struct doctor_cpus ban = banned(d), lacking = doctor_cpus_less(&d->needs.workers, &ban);
    if (pid == 0)
        doctor_say(f, DOCTOR_OK, "not running");
    else if (doctor_cpus_count(&lacking) == 0)
        doctor_say(f, DOCTOR_OK, "running, and leaves CPUs %s alone", doctor_cpus_list(&ban, list));
    else
        doctor_say(f, DOCTOR_WARN, "running (process %ld), and may use CPUs %s", pid,
                   doctor_cpus_list(&lacking, list));
}

// with_ban: the settings with the line for the CPUs, in place of the ones that there are.
static void with_ban(const char *text, const char *list, struct text *out)
{
    while (text != NULL && *text != '\0') {
        const size_t len = strcspn(text, "\n");
        if (strncmp(text, "IRQBALANCE_BANNED_CPU", 21) != 0)
            text_printf(out, "%.*s\n", (int)len, text);
        text += len + (text[len] == '\n');
    }
    text_printf(out, BAN_LIST "=%s\n", list);
}

DOCTOR_PLAN(irqbalance)
{
    char list[DOCTOR_CPUS_TEXT_BYTES];
    struct text text;
    const struct doctor_cpus ban = banned(d), lacking = doctor_cpus_less(&d->needs.workers, &ban);
    const struct doctor_cpus all = doctor_cpus_or(&ban, &d->needs.workers);
    if (doctor_cpus_count(&lacking) == 0 || doctor_process_named(&d->host, "irqbalance") == 0)
        return;
    char *was = doctor_file(&d->host, IRQBALANCE_FILE);
    text_init(&text, DOCTOR_FILE_BYTES_MAX);
    with_ban(was, doctor_cpus_list(&all, list), &text);
    struct doctor_change *c =
        doctor_changes_add(out, &d->host, DOCTOR_FILE, IRQBALANCE_FILE, text_str(&text));
    if (c != NULL)
        snprintf(c->restart, sizeof(c->restart), "irqbalance");
    text_free(&text);
    free(was);
}
