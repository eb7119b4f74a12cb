// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/cli/report_machine.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/io.h"

enum { LINE_BYTES = 512 };

// The value of the first line "NAME : VALUE" or "NAME: VALUE" of a file below proc; "" if there is
// none.
static void proc_value(const char *proc_root, const char *file, const char *name, char *out,
                       size_t room)
{
    char path[PATH_MAX], line[4096];
    const size_t n = strlen(name);
    out[0] = '\0';
    snprintf(path, sizeof(path), "%s/%s", proc_root, file);
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, name, n) != 0 || colon == NULL || strspn(line + n, " \t:") == 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(out, room, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    if (f != NULL)
        fclose(f);
}

static void put_proc(const char *proc_root, const char *file, const char *name, const char *as,
                     struct text *out)
{
    char value[LINE_BYTES];
    proc_value(proc_root, file, name, value, sizeof(value));
    if (value[0] != '\0')
        text_printf(out, "%s %s\n", as, value);
}

static void put_sys(const char *dir, const char *file, const char *as, struct text *out)
{
    char value[LINE_BYTES];
    io_read_line(dir, file, value, sizeof(value));
    if (value[0] != '\0')
        text_printf(out, "%s %s\n", as, value);
}

static void put_hypervisor(const char *proc_root, struct text *out)
{
    char flags[4096];
    proc_value(proc_root, "cpuinfo", "flags", flags, sizeof(flags));
    text_printf(out, "virtual_machine %s\n", strstr(flags, " hypervisor") != NULL ? "yes" : "no");
}

static void put_hugepages(const char *sys_root, struct text *out)
{
    static const char *const sizes[] = {"2048kB", "1048576kB"};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char dir[PATH_MAX];
        snprintf(dir, sizeof(dir), "%s/kernel/mm/hugepages/hugepages-%s", sys_root, sizes[i]);
        char total[LINE_BYTES], free_now[LINE_BYTES];
        io_read_line(dir, "nr_hugepages", total, sizeof(total));
        io_read_line(dir, "free_hugepages", free_now, sizeof(free_now));
        if (total[0] != '\0')
            text_printf(out, "hugepages_%s %s, free %s\n", sizes[i], total, free_now);
    }
}

// The words of the kernel command line about isolation of cores, idle states, and the IOMMU.
static void put_boot_line(const char *proc_root, struct text *out)
{
    static const char *const kept[] = {"isolcpus=",
                                       "nohz_full=",
                                       "rcu_nocbs=",
                                       "iommu=",
                                       "intel_iommu=",
                                       "amd_iommu=",
                                       "mitigations=",
                                       "intel_pstate=",
                                       "processor.max_cstate=",
                                       "intel_idle.max_cstate=",
                                       "idle="};
    char line[4096], *rest = line;
    io_read_line(proc_root, "cmdline", line, sizeof(line));
    text_printf(out, "boot_line");
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        for (size_t i = 0; i < ARRAY_LEN(kept); i++)
            if (strncmp(word, kept[i], strlen(kept[i])) == 0)
                text_printf(out, " %s", word);
    text_printf(out, "\n");
}

void report_machine(const char *sys_root, const char *proc_root, struct text *out)
{
    struct utsname system;
    put_proc(proc_root, "cpuinfo", "model name", "cpu", out);
    put_proc(proc_root, "cpuinfo", "microcode", "microcode", out);
    put_proc(proc_root, "cpuinfo", "cache size", "cache", out);
    char dir[PATH_MAX];
    snprintf(dir, sizeof(dir), "%s/devices/system", sys_root);
    put_sys(dir, "cpu/online", "cpus", out);
    put_sys(dir, "cpu/smt/active", "hyper_threads", out);
    put_sys(dir, "node/online", "numa_nodes", out);
    put_sys(dir, "cpu/cpu0/cpufreq/scaling_governor", "governor", out);
    put_hypervisor(proc_root, out);
    put_proc(proc_root, "meminfo", "MemTotal", "memory", out);
    put_hugepages(sys_root, out);
    if (uname(&system) == 0)
        text_printf(out, "kernel %s %s\n", system.sysname, system.release);
    put_boot_line(proc_root, out);
}

void report_nic(const char *sys_root, const char *address, struct text *out)
{
    static const char *const files[][2] = {
        {"vendor", "pci_vendor"},
        {"device", "pci_device"},
        {"subsystem_vendor", "pci_subsystem_vendor"},
        {"subsystem_device", "pci_subsystem_device"},
        {"revision", "pci_revision"},
        {"current_link_speed", "pcie_speed"},
        {"max_link_speed", "pcie_speed_max"},
        {"current_link_width", "pcie_width"},
        {"max_link_width", "pcie_width_max"},
        {"numa_node", "pci_node"},
    };
    char dir[PATH_MAX];
    if (strchr(address, '/') != NULL)
        return;
    snprintf(dir, sizeof(dir), "%s/bus/pci/devices/%s", sys_root, address);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        put_sys(dir, files[i][0], files[i][1], out);
}
