// SPDX-License-Identifier: BSD-3-Clause
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "doctor/doctor_rows.h"
#include "server/idle_mode.h"

#define CPU_DIR "/sys/devices/system/cpu"

// From here on the way back from an idle state is long: as long as a stall that the server reports.
enum { LATENCY_US_LONG = 100 };

static void cpu_path(char out[DOCTOR_PATH_BYTES], unsigned cpu, const char *file)
{
    snprintf(out, DOCTOR_PATH_BYTES, CPU_DIR "/cpu%u/%s", cpu, file);
}

// ---- clock

static void governor_of(const struct doctor *d, unsigned cpu, char out[32])
{
    char path[DOCTOR_PATH_BYTES];
    cpu_path(path, cpu, "cpufreq/scaling_governor");
    doctor_line(&d->host, path, out, 32);
}

DOCTOR_LOOK(governor)
{
    struct doctor_cpus slow = {0};
    char list[DOCTOR_CPUS_TEXT_BYTES], now[32], other[32] = "";
    unsigned n = 0;
    for (unsigned cpu = 0; cpu < DOCTOR_CPUS_MAX; cpu++) {
        if (!doctor_cpus_has(&d->needs.workers, cpu))
            continue;
        governor_of(d, cpu, now);
        n += now[0] != '\0';
        if (now[0] == '\0' || strcmp(now, "performance") == 0)
            continue;
        doctor_cpus_add(&slow, cpu);
        memcpy(other, now, sizeof(other));
    }
    if (n == 0)
        doctor_say(f, DOCTOR_NONE, "no cpufreq (a virtual machine, or the firmware has it)");
    else if (other[0] == '\0')
        doctor_say(f, DOCTOR_OK, "performance");
    else
        doctor_say(f, DOCTOR_WARN, "%s on CPUs %s", other, doctor_cpus_list(&slow, list));
}

static bool has_word(const char *line, const char *word)
{
    const size_t len = strlen(word);
    for (const char *at = line; (at = strstr(at, word)) != NULL; at += len)
        if ((at == line || at[-1] == ' ') && (at[len] == '\0' || at[len] == ' '))
            return true;
    return false;
}

DOCTOR_PLAN(governor)
{
    char path[DOCTOR_PATH_BYTES], line[DOCTOR_LINE_BYTES], now[32];
    for (unsigned cpu = 0; cpu < DOCTOR_CPUS_MAX; cpu++) {
        if (!doctor_cpus_has(&d->needs.workers, cpu))
            continue;
        governor_of(d, cpu, now);
        cpu_path(path, cpu, "cpufreq/scaling_available_governors");
        doctor_line(&d->host, path, line, sizeof(line));
        cpu_path(path, cpu, "cpufreq/scaling_governor");
        if (now[0] != '\0' && has_word(line, "performance"))
            doctor_changes_add(out, &d->host, DOCTOR_LINE, path, "performance");
    }
}

// ---- idle states

// deepest: the longest way back of the states that the CPU may enter; its limit on it counts.
struct deepest {
    const struct doctor *d;
    unsigned cpu;
    uint64_t latency_us;
    char name[32];
};

static bool each_state(void *arg, const char *state)
{
    struct deepest *s = arg;
    char path[DOCTOR_PATH_BYTES], file[64];
    uint64_t latency_us, off;
    snprintf(file, sizeof(file), "cpuidle/%.20s/disable", state);
    cpu_path(path, s->cpu, file);
    if (doctor_number(&s->d->host, path, &off) && off != 0)
        return true;
    snprintf(file, sizeof(file), "cpuidle/%.20s/latency", state);
    cpu_path(path, s->cpu, file);
    if (!doctor_number(&s->d->host, path, &latency_us) || latency_us <= s->latency_us)
        return true;
    s->latency_us = latency_us;
    snprintf(file, sizeof(file), "cpuidle/%.20s/name", state);
    cpu_path(path, s->cpu, file);
    doctor_line(&s->d->host, path, s->name, sizeof(s->name));
    return true;
}

// pm_qos: "n/a" permits no latency at all, 0 is no limit.
static struct deepest deepest_of(const struct doctor *d, unsigned cpu)
{
    struct deepest s = {.d = d, .cpu = cpu};
    char path[DOCTOR_PATH_BYTES], limit[32];
    uint64_t limit_us;
    cpu_path(path, cpu, "cpuidle");
    doctor_each(&d->host, path, each_state, &s);
    cpu_path(path, cpu, "power/pm_qos_resume_latency_us");
    doctor_line(&d->host, path, limit, sizeof(limit));
    if (strcmp(limit, "n/a") == 0)
        s.latency_us = 0;
    else if (doctor_number(&d->host, path, &limit_us) && limit_us != 0)
        s.latency_us = MIN(s.latency_us, limit_us);
    return s;
}

DOCTOR_LOOK(cstates)
{
    struct doctor_cpus deep = {0};
    struct deepest worst = {0};
    char list[DOCTOR_CPUS_TEXT_BYTES];
    bool known = false;
    for (unsigned cpu = 0; cpu < DOCTOR_CPUS_MAX; cpu++) {
        char path[DOCTOR_PATH_BYTES];
        if (!doctor_cpus_has(&d->needs.workers, cpu))
            continue;
        cpu_path(path, cpu, "cpuidle/state0");
        known = known || doctor_exists(&d->host, path);
        const struct deepest s = deepest_of(d, cpu);
        if (s.latency_us >= LATENCY_US_LONG)
            doctor_cpus_add(&deep, cpu);
        if (s.latency_us >= worst.latency_us)
            worst = s;
    }
    if (!known)
        doctor_say(f, DOCTOR_NONE, "no idle states (a virtual machine?)");
    else if (doctor_cpus_count(&deep) == 0)
        doctor_say(f, DOCTOR_OK, "the way back takes %" PRIu64 " us at most", worst.latency_us);
    else
        doctor_say(f, DOCTOR_WARN, "%s: the way back takes %" PRIu64 " us, on CPUs %s", worst.name,
                   worst.latency_us, doctor_cpus_list(&deep, list));
}

DOCTOR_PLAN(cstates)
{
    char path[DOCTOR_PATH_BYTES];
    for (unsigned cpu = 0; cpu < DOCTOR_CPUS_MAX; cpu++) {
        if (!doctor_cpus_has(&d->needs.workers, cpu))
            continue;
        const struct deepest s = deepest_of(d, cpu);
        cpu_path(path, cpu, "power/pm_qos_resume_latency_us");
        if (s.latency_us >= LATENCY_US_LONG && doctor_exists(&d->host, path))
            doctor_changes_add(out, &d->host, DOCTOR_LINE, path, "n/a");
    }
}

// ---- [cpu] idle

DOCTOR_LOOK(idle)
{
    const struct server_params *p = d->needs.params;
    struct err err;
    if (idle_mode_doubt(p, &err))
        doctor_say(f, DOCTOR_WARN, "%s", err.text);
    else
        doctor_say(f, DOCTOR_OK, "%s", idle_mode_name(idle_mode_of(p)));
}
