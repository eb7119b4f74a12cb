// SPDX-License-Identifier: BSD-3-Clause
#include "unit/doctor_machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doctor_cpus.h"
#include "unit/temp_tree.h"

enum { CPUS = 12, NODES = 2, PATH_BYTES = 700, STOPPED = 9 };

struct doctor_machine machine;

static void full(char out[PATH_BYTES], const char *path)
{
    snprintf(out, PATH_BYTES, "%s%.600s", machine.root, path);
}

static void need(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    abort();
}

static void make_parents(const char *path)
{
    char at[PATH_BYTES];
    full(at, path);
    for (char *slash = strchr(at + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(at, 0755);
        *slash = '/';
    }
}

void machine_put(const char *path, const char *text)
{
    char at[PATH_BYTES];
    make_parents(path);
    full(at, path);
    FILE *f = fopen(at, "we");
    need(f != NULL, at);
    need(fputs(text, f) >= 0 && fclose(f) == 0, at);
}

void machine_link(const char *path, const char *target)
{
    char at[PATH_BYTES];
    make_parents(path);
    full(at, path);
    unlink(at);
    need(symlink(target, at) == 0, at);
}

void machine_delete(const char *path)
{
    char at[PATH_BYTES];
    struct stat st;
    full(at, path);
    if (lstat(at, &st) == 0 && S_ISDIR(st.st_mode))
        temp_tree_remove(at);
    else
        unlink(at);
}

__attribute__((format(printf, 2, 3))) static void put(const char *text, const char *format, ...)
{
    char path[PATH_BYTES];
    va_list ap;
    va_start(ap, format);
    vsnprintf(path, sizeof(path), format, ap);
    va_end(ap);
    machine_put(path, text);
}

// ---- what there is

static void make_cpus(void)
{
    for (unsigned cpu = 0; cpu < CPUS; cpu++) {
        char list[16];
        snprintf(list, sizeof(list), "%u\n", cpu);
        put(list, "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
        put("powersave\n", "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor", cpu);
        put("performance powersave\n",
            "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_available_governors", cpu);
        put("POLL\n", "/sys/devices/system/cpu/cpu%u/cpuidle/state0/name", cpu);
        put("0\n", "/sys/devices/system/cpu/cpu%u/cpuidle/state0/latency", cpu);
        put("0\n", "/sys/devices/system/cpu/cpu%u/cpuidle/state0/disable", cpu);
        put("C6\n", "/sys/devices/system/cpu/cpu%u/cpuidle/state1/name", cpu);
        put("133\n", "/sys/devices/system/cpu/cpu%u/cpuidle/state1/latency", cpu);
        put("0\n", "/sys/devices/system/cpu/cpu%u/cpuidle/state1/disable", cpu);
        put("0\n", "/sys/devices/system/cpu/cpu%u/power/pm_qos_resume_latency_us", cpu);
        put("1\n", "/sys/devices/system/cpu/cpu%u/online", cpu);
        put("", "/sys/devices/system/cpu/cpu%u/node%u/x", cpu, cpu < CPUS / NODES ? 0 : 1);
    }
    put("0-11\n", "/sys/devices/system/cpu/online");
    put("\n", "/sys/devices/system/cpu/isolated");
    put("(null)\n", "/sys/devices/system/cpu/nohz_full");
}

static void make_memory(void)
{
    static const char *const files[] = {"nr_hugepages", "free_hugepages"};
    for (unsigned i = 0; i < ARRAY_LEN(files); i++) {
        put("0\n", "/sys/kernel/mm/hugepages/hugepages-2048kB/%s", files[i]);
        put("0\n", "/sys/kernel/mm/hugepages/hugepages-1048576kB/%s", files[i]);
        for (unsigned node = 0; node < NODES; node++) {
            put("0\n", "/sys/devices/system/node/node%u/hugepages/hugepages-2048kB/%s", node,
                files[i]);
            put("0\n", "/sys/devices/system/node/node%u/hugepages/hugepages-1048576kB/%s", node,
                files[i]);
        }
    }
    put("0\n", "/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages");
    put("0-5\n", "/sys/devices/system/node/node0/cpulist");
    put("6-11\n", "/sys/devices/system/node/node1/cpulist");
    put("[always] madvise never\n", "/sys/kernel/mm/transparent_hugepage/enabled");
    put("MemTotal:       67108864 kB\nMemAvailable:   62914560 kB\n", "/proc/meminfo");
}

static void make_nic(const char *address, const char *driver, const char *interface, unsigned node,
                     const char *group)
{
    char text[PATH_BYTES];
    put("0x020000\n", "/sys/bus/pci/devices/%s/class", address);
    put("(null)\n", "/sys/bus/pci/devices/%s/driver_override", address);
    snprintf(text, sizeof(text), "%u\n", node);
    put(text, "/sys/bus/pci/devices/%s/numa_node", address);
    put("5.0 GT/s PCIe\n", "/sys/bus/pci/devices/%s/current_link_speed", address);
    put("5.0 GT/s PCIe\n", "/sys/bus/pci/devices/%s/max_link_speed", address);
    put("8\n", "/sys/bus/pci/devices/%s/current_link_width", address);
    put("8\n", "/sys/bus/pci/devices/%s/max_link_width", address);
    put("", "/sys/bus/pci/devices/%s/net/%s/x", address, interface);
    put("", "/sys/bus/pci/devices/%s/iommu_group_files/devices/%s/x", address, address);
    put("", "/sys/bus/pci/drivers/%s/bind", driver);
    snprintf(text, sizeof(text), "/sys/bus/pci/devices/%s/driver", address);
    machine_link(text, driver);
    snprintf(text, sizeof(text), "/sys/bus/pci/devices/%s/iommu_group", address);
    machine_link(text, group);
    put("down\n", "/sys/class/net/%s/operstate", interface);
    snprintf(text, sizeof(text), "/sys/class/net/%s/device", interface);
    machine_link(text, address);
    for (unsigned q = 0; q < CPUS; q++)
        put("", "/sys/class/net/%s/queues/rx-%u/x", interface, q);
}

static void make_interrupts(void)
{
    for (unsigned irq = 20; irq < 24; irq++)
        put("0-11\n", "/proc/irq/%u/smp_affinity_list", irq);
    put("fff\n", "/proc/irq/default_smp_affinity");
    put("fff\n", "/sys/devices/virtual/workqueue/cpumask");
    put("fff\n", "/sys/devices/virtual/workqueue/writeback/cpumask");
    put("irqbalance\n", "/proc/700/comm");
    put("# settings\nIRQBALANCE_ARGS=\n", "/etc/default/irqbalance");
}

void machine_make(void)
{
    machine = (struct doctor_machine){.pages_most = UINT64_MAX};
    // In memory where that is possible: the record is synced before each of thousands of changes.
    strcpy(machine.root, access("/dev/shm", W_OK) == 0 ? "/dev/shm/c10m-doctor-XXXXXX"
                                                       : "/tmp/c10m-doctor-XXXXXX");
    need(mkdtemp(machine.root) != NULL, machine.root);
    make_cpus();
    make_memory();
    make_nic(NIC_A, "ixgbe", "eth1", 0, "../../../../kernel/iommu_groups/12");
    make_nic(NIC_B, "igb", "eth0", 1, "../../../../kernel/iommu_groups/13");
    make_interrupts();
    put("", "/var/lib/x");
    put("", "/sys/module/loop/x");
    put("", "/sys/class/iommu/dmar0/x");
    put("BOOT_IMAGE=/vmlinuz quiet\n", "/proc/cmdline");
    put("6.1.0-test\n", "/proc/sys/kernel/osrelease");
    put("11111111-2222-3333-4444-555555555555\n", "/proc/sys/kernel/random/boot_id");
    put("kernel/drivers/vfio/pci/vfio-pci.ko:\n", "/lib/modules/6.1.0-test/modules.dep");
    put("", "/usr/sbin/driverctl");
    put("Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
        "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
        "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
        "eth1\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n",
        "/proc/net/route");
    put("Max locked memory         8388608              8388608              bytes     \n"
        "Max open files            1024                 524288               files     \n",
        "/proc/self/limits");
    put("Name:\tx\nCapEff:\t0000000000000000\n", "/proc/self/status");
}

void machine_remove(void)
{
    temp_tree_remove(machine.root);
}

char *machine_snapshot(void)
{
    char command[PATH_BYTES * 2];
    char *out = calloc(1, 1 << 20);
    snprintf(command, sizeof(command),
             "cd %s && { find . -type f ! -path ./ran -exec sha1sum {} +; find . -type l -printf "
             "'%%p -> %%l\\n'; find . -type d; } | sort",
             machine.root);
    FILE *f = popen(command, "r");
    need(f != NULL && out != NULL, "popen");
    need(fread(out, 1, (1 << 20) - 1, f) > 0, command);
    pclose(f);
    return out;
}

// ---- its kernel

static void step_begins(void)
{
    machine.steps++;
    if (machine.steps == machine.stop_at && !machine.stop_after)
        _exit(STOPPED);
}

static void step_ends(void)
{
    if (machine.steps == machine.stop_at && machine.stop_after)
        _exit(STOPPED);
}

static uint64_t number_of(const struct doctor_host *h, const char *path)
{
    uint64_t n = 0;
    doctor_number(h, path, &n);
    return n;
}

static void add_to(const struct doctor_host *h, const char *path, int64_t more)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRId64 "\n", (int64_t)number_of(h, path) + more);
    machine_put(path, text);
}

// A node's pages: they are free, and the machine's, too.
static void set_pages(const struct doctor_host *h, const char *path, const char *text)
{
    const uint64_t want = MIN(strtoull(text, NULL, 10), machine.pages_most);
    const int64_t more = (int64_t)want - (int64_t)number_of(h, path);
    const char *size = strstr(path, "hugepages-");
    char other[PATH_BYTES];
    add_to(h, path, more);
    snprintf(other, sizeof(other), "%.*s/free_hugepages", (int)(strrchr(path, '/') - path), path);
    add_to(h, other, more);
    const int len = (int)strcspn(size, "/");
    snprintf(other, sizeof(other), "/sys/kernel/mm/hugepages/%.*s/nr_hugepages", len, size);
    add_to(h, other, more);
    snprintf(other, sizeof(other), "/sys/kernel/mm/hugepages/%.*s/free_hugepages", len, size);
    add_to(h, other, more);
}

// The interface comes and goes with the kernel's driver.
static void show_interface(const char *address, bool shown)
{
    char a[PATH_BYTES], b[PATH_BYTES], path[PATH_BYTES];
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", address, shown ? ".net" : "net");
    full(a, path);
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", address, shown ? "net" : ".net");
    full(b, path);
    need(rename(a, b) == 0, a);
}

static int bind_device(const char *path, const char *address)
{
    char driver[64], link[PATH_BYTES], override[64];
    snprintf(driver, sizeof(driver), "%s", path + strlen("/sys/bus/pci/drivers/"));
    driver[strcspn(driver, "/")] = '\0';
    snprintf(link, sizeof(link), "/sys/bus/pci/devices/%s/driver_override", address);
    struct doctor_host h;
    machine_host(&h);
    doctor_line(&h, link, override, sizeof(override));
    const bool overridden = strcmp(override, "(null)") != 0;
    if ((overridden && strcmp(override, driver) != 0) ||
        (strcmp(driver, "vfio-pci") == 0 && (machine.refuse_bind || !overridden)))
        return -EINVAL;
    snprintf(link, sizeof(link), "/sys/bus/pci/devices/%s/driver", address);
    machine_link(link, driver);
    if (strcmp(driver, "vfio-pci") != 0)
        show_interface(address, true);
    return 0;
}

static void unbind_device(const struct doctor_host *h, const char *path, const char *address)
{
    char link[PATH_BYTES], driver[64];
    snprintf(link, sizeof(link), "%.*s", (int)(strrchr(path, '/') - path), path);
    doctor_link(h, link, driver, sizeof(driver));
    machine_delete(link);
    if (strcmp(driver, "vfio-pci") != 0)
        show_interface(address, false);
}

static void set_mask(const char *path, const char *text)
{
    struct doctor_cpus set;
    char mask[DOCTOR_CPUS_TEXT_BYTES], padded[DOCTOR_CPUS_TEXT_BYTES + 8];
    need(doctor_cpus_parse_mask(&set, text), text);
    snprintf(padded, sizeof(padded), "%03lx\n", strtoul(doctor_cpus_mask(&set, mask), NULL, 16));
    machine_put(path, padded);
}

static bool ends_with(const char *path, const char *end)
{
    const size_t len = strlen(path), n = strlen(end);
    return len >= n && strcmp(path + len - n, end) == 0;
}

static void each_irq(void (*change)(const char *path, struct doctor_cpus *may,
                                    const struct doctor_cpus *online),
                     const struct doctor_cpus *online)
{
    struct doctor_host h;
    machine_host(&h);
    for (unsigned irq = 20; irq < 24; irq++) {
        char path[PATH_BYTES], line[DOCTOR_LINE_BYTES];
        struct doctor_cpus may;
        snprintf(path, sizeof(path), "/proc/irq/%u/smp_affinity_list", irq);
        doctor_line(&h, path, line, sizeof(line));
        if (doctor_cpus_parse_list(&may, line) && line[0] != '\0')
            change(path, &may, online);
    }
}

static void put_list(const char *path, const struct doctor_cpus *set)
{
    char list[DOCTOR_CPUS_TEXT_BYTES], line[DOCTOR_CPUS_TEXT_BYTES + 1];
    snprintf(line, sizeof(line), "%s\n", doctor_cpus_list(set, list));
    machine_put(path, line);
}

// As irq_migrate_all_off_this_cpu(): an interrupt without an online CPU may run on all of them.
static void widen(const char *path, struct doctor_cpus *may, const struct doctor_cpus *online)
{
    const struct doctor_cpus left = doctor_cpus_and(may, online);
    if (doctor_cpus_count(&left) == 0)
        put_list(path, online);
}

static void set_online(const struct doctor_host *h, const char *path, const char *text)
{
    char line[DOCTOR_LINE_BYTES], file[DOCTOR_LINE_BYTES + 2];
    struct doctor_cpus online, one = {0};
    doctor_line(h, "/sys/devices/system/cpu/online", line, sizeof(line));
    doctor_cpus_parse_list(&online, line);
    doctor_cpus_add(&one,
                    (unsigned)strtoul(path + strlen("/sys/devices/system/cpu/cpu"), NULL, 10));
    online = text[0] == '1' ? doctor_cpus_or(&online, &one) : doctor_cpus_less(&online, &one);
    put_list("/sys/devices/system/cpu/online", &online);
    snprintf(file, sizeof(file), "%s\n", text);
    machine_put(path, file);
    each_irq(widen, &online);
}

// The kernel refuses an affinity without an online CPU.
static bool has_online(const struct doctor_host *h, const char *list)
{
    char line[DOCTOR_LINE_BYTES];
    struct doctor_cpus online, may;
    doctor_line(h, "/sys/devices/system/cpu/online", line, sizeof(line));
    doctor_cpus_parse_list(&online, line);
    doctor_cpus_parse_list(&may, list);
    may = doctor_cpus_and(&may, &online);
    return doctor_cpus_count(&may) != 0;
}

static int kernel_takes(const struct doctor_host *h, const char *path, const char *text)
{
    char line[DOCTOR_LINE_BYTES];
    if (ends_with(path, "/unbind")) {
        unbind_device(h, path, text);
        return 0;
    }
    if (!doctor_exists(h, path))
        return -ENOENT;
    if (ends_with(path, "/bind"))
        return bind_device(path, text);
    if (strcmp(path, "/proc/irq/23/smp_affinity_list") == 0)
        return -EIO;  // the kernel manages it
    if (ends_with(path, "/smp_affinity_list") && !has_online(h, text))
        return -EINVAL;
    if (ends_with(path, "/nr_hugepages"))
        set_pages(h, path, text);
    else if (ends_with(path, "/online"))
        set_online(h, path, text);
    else if (ends_with(path, "/cpumask") || ends_with(path, "/default_smp_affinity"))
        set_mask(path, text);
    else if (ends_with(path, "/driver_override"))
        machine_put(path, text[0] == '\n' ? "(null)\n" : text);
    else if (ends_with(path, "/transparent_hugepage/enabled"))
        machine_put(path, strcmp(text, "always") == 0 ? "[always] madvise never\n"
                                                      : "always [madvise] never\n");
    else {
        snprintf(line, sizeof(line), "%s\n", text);
        machine_put(path, line);
    }
    return 0;
}

static int kernel_write(const struct doctor_host *h, const char *path, const char *text)
{
    step_begins();
    const int rc = kernel_takes(h, path, text);
    step_ends();
    return rc;
}

static int run(const struct doctor_host *h, const char *const *argv, struct err *err)
{
    (void)h;
    if (machine.keep_module && strcmp(argv[0], "modprobe") == 0)
        return err_set(err, "%s: in use", argv[0]);
    step_begins();
    if (strcmp(argv[0], "modprobe") == 0 && strcmp(argv[1], "-r") == 0) {
        machine_delete("/sys/module/vfio_pci");
        machine_delete("/sys/bus/pci/drivers/vfio-pci");
    } else if (strcmp(argv[0], "modprobe") == 0) {
        machine_put("/sys/module/vfio_pci/x", "");
        machine_put("/sys/bus/pci/drivers/vfio-pci/bind", "");
    } else {
        char path[PATH_BYTES];
        full(path, "/ran");
        FILE *f = fopen(path, "ae");
        fprintf(f, "%s %s %s\n", argv[0], argv[1], argv[2]);
        fclose(f);
    }
    step_ends();
    return 0;
}

static int replace(const struct doctor_host *h, const char *path, const char *text, struct err *err)
{
    struct doctor_host plain;
    doctor_host_init(&plain, h->root);
    step_begins();
    const int rc = plain.replace(h, path, text, err);
    step_ends();
    return rc;
}

void machine_host(struct doctor_host *h)
{
    doctor_host_init(h, machine.root);
    h->write = kernel_write;
    h->run = run;
    h->replace = replace;
}
