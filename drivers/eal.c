// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/eal.h"

#include <inttypes.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_memory.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/eal_dir.h"
#include "drivers/hugefiles.h"

enum { ARGS_MAX = 32 + 2 * EAL_PCI_MAX, ARGS_BYTES = 8192 };

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

struct args {
    char *v[ARGS_MAX + 1];
    int n;
    char text[ARGS_BYTES];
    size_t used;
};

// DPDK permits one EAL in a process. This data is kept for eal_stop(), and because EAL keeps
// pointers to its arguments.
static struct {
    struct hugepages pages;
    bool files;  // pages are named files below pages.mount
    bool leaves_devices;
    char prefix[64];
    struct eal_dir dir;
    struct args args;
} eal;

__attribute__((format(printf, 2, 3))) static void add(struct args *a, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int len = vsnprintf(a->text + a->used, ARGS_BYTES - a->used, format, ap);
    va_end(ap);
    CHECK(a->n < ARGS_MAX && len >= 0 && (size_t)len < ARGS_BYTES - a->used);
    a->v[a->n++] = a->text + a->used;
    a->used += (size_t)len + 1;
}

static uint64_t pages_needed(const struct eal_params *p, uint64_t page_bytes)
{
    uint64_t pages = 0;
    for (unsigned i = 0; i < EAL_NODES_MAX; i++)
        pages += (p->memory_bytes[i] + page_bytes - 1) / page_bytes;
    return pages;
}

static bool pages_after_cleaning(uint64_t page_bytes, const struct eal_params *p,
                                 struct hugepages *out)
{
    if (!hugepages_read(page_bytes, out))
        return false;
    hugepages_prefer(out, p->huge_dir);
    if (out->mount[0] != '\0')
        hugefiles_remove(out->mount, p->file_prefix);
    hugepages_read(page_bytes, out);
    hugepages_prefer(out, p->huge_dir);
    return true;
}

// choose_pages: prefers 2 MiB pages, because the arenas of connection blocks gain more from 1 GiB
// pages.
static int choose_pages(const struct eal_params *p, struct err *err)
{
    struct hugepages two, one;
    bool has_two = pages_after_cleaning(2 * MIB, p, &two);
    bool has_one = pages_after_cleaning(GIB, p, &one);
    uint64_t need = pages_needed(p, 2 * MIB);
    if (has_two && two.free >= need) {
        eal.pages = two;
        return 0;
    }
    if (has_one && one.free >= pages_needed(p, GIB)) {
        eal.pages = one;
        return 0;
    }
    if (!has_two)
        err_set(err, "packet memory: this kernel has no 2 MiB pages: set hugepage = none");
    else
        err_set(err,
                "packet memory: 2 MiB pages: %" PRIu64 " needed, %" PRIu64
                " free: sysctl vm.nr_hugepages=%" PRIu64,
                need, two.free, two.total + need - two.free);
    return err_key(err, "memory.packets");
}

// node_list: MiB for each node, such as "8,0,16", up to the last node with any; in whole pages.
static void node_list(const struct eal_params *p, uint64_t page_bytes, char *out, size_t bytes)
{
    unsigned last = 0;
    for (unsigned i = 0; i < EAL_NODES_MAX; i++)
        if (p->memory_bytes[i] != 0)
            last = i;
    size_t used = 0;
    for (unsigned i = 0; i <= last; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%" PRIu64, i ? "," : "",
                                 ALIGN_UP(p->memory_bytes[i], page_bytes) / MIB);
}

static void add_memory(struct args *a, const struct eal_params *p)
{
    if (!p->hugepages) {
        uint64_t sum = 0;
        for (unsigned i = 0; i < EAL_NODES_MAX; i++)
            sum += p->memory_bytes[i];
        add(a, "--no-huge");
        add(a, "--no-shconf");
        add(a, "-m");
        add(a, "%" PRIu64, ALIGN_UP(sum, MIB) / MIB);
        return;
    }
    char nodes[EAL_NODES_MAX * 24];
    node_list(p, eal.pages.page_bytes, nodes, sizeof(nodes));
    add(a, "--socket-mem=%s", nodes);
    add(a, "--socket-limit=%s", nodes);  // EAL must not allocate more than the ledger has
    if (eal.files)
        add(a, "--huge-dir=%s", eal.pages.mount);
    else
        add(a, "--in-memory");
}

static void add_lcores(struct args *a, const struct eal_params *p)
{
    char list[EAL_WORKERS_MAX * 12 + 16];
    size_t used = (size_t)snprintf(list, sizeof(list), "0@%u", p->main_cpu);
    for (unsigned i = 0; i < p->workers; i++)
        used +=
            (size_t)snprintf(list + used, sizeof(list) - used, ",%u@%u", i + 1, p->worker_cpu[i]);
    add(a, "--lcores=%s", list);
    add(a, "--main-lcore=0");
}

static void make_args(struct args *a, const struct eal_params *p)
{
    a->n = 0;
    a->used = 0;
    add(a, "c10m");
    add(a, "--file-prefix=%s", p->file_prefix);
    add(a, "--log-level=warning");
    add(a, "--log-level=lib.eal:error");  // suppresses warnings about unused page sizes
    add_lcores(a, p);
    add_memory(a, p);
    if (!p->telemetry)
        add(a, "--no-telemetry");
    if (p->pci_allow[0] == NULL)
        add(a, "--no-pci");
    for (unsigned i = 0; i < EAL_PCI_MAX && p->pci_allow[i] != NULL; i++) {
        add(a, "-a");
        add(a, "%s", p->pci_allow[i]);
    }
    a->v[a->n] = NULL;
}

int eal_start(const struct eal_params *params, struct err *err)
{
    if (params->workers > EAL_WORKERS_MAX)
        return err_set(err, "%u workers: at most %d", params->workers, EAL_WORKERS_MAX);
    if (strlen(params->file_prefix) >= sizeof(eal.prefix))
        return err_set(err, "name \"%s\": at most %zu characters", params->file_prefix,
                       sizeof(eal.prefix) - 1);
    char root[EAL_DIR_BYTES];
    eal_dir_root(root);
    if (eal_dir_open(&eal.dir, root, params->file_prefix, params->huge_dir, err) != 0)
        return -1;
    if (params->hugepages && choose_pages(params, err) != 0) {
        eal_dir_close(&eal.dir);
        return -1;
    }
    eal.files = params->hugepages && !params->in_memory && eal.pages.mount[0] != '\0';
    strcpy(eal.prefix, params->file_prefix);
    make_args(&eal.args, params);

    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    rte_openlog_stream(stderr);  // not syslog too: a worker whose driver has an error writes only
    int rc = rte_eal_init(eal.args.n, eal.args.v);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc >= 0)
        return 0;
    eal_dir_close(&eal.dir);
    return err_set(err, "DPDK did not start: %s (its own message is above)%s",
                   rte_strerror(rte_errno), geteuid() == 0 ? "" : ": try it as root");
}

void eal_leave_devices(void)
{
    eal.leaves_devices = true;
}

void eal_stop(void)
{
    if (!eal.leaves_devices)
        rte_eal_cleanup();
    eal_dir_close(&eal.dir);
    if (eal.files)
        hugefiles_remove(eal.pages.mount, eal.prefix);
}

int eal_give(unsigned uid, unsigned gid, struct err *err)
{
    return eal_dir_give(&eal.dir, uid, gid, err);
}

void eal_abandon(void)
{
    if (eal.files)
        hugefiles_abandon(eal.pages.mount, eal.prefix);
    eal_dir_close(&eal.dir);
}

int eal_worker_launch(unsigned worker, int (*fn)(void *arg), void *arg, struct err *err)
{
    int rc = rte_eal_remote_launch(fn, arg, worker + 1);
    return rc == 0 ? 0 : err_set(err, "worker %u did not start: %s", worker, rte_strerror(-rc));
}

int eal_worker_join(unsigned worker)
{
    return rte_eal_wait_lcore(worker + 1);
}

static int add_segment(const struct rte_memseg_list *list, const struct rte_memseg *seg, void *arg)
{
    if (!list->external)
        *(uint64_t *)arg += seg->len;
    return 0;
}

uint64_t eal_memory_bytes(void)
{
    uint64_t sum = 0;
    rte_memseg_walk(add_segment, &sum);
    return sum;
}

static int first_page(const struct rte_memseg_list *list, const struct rte_memseg *seg, void *arg)
{
    *(uint64_t *)arg = seg->hugepage_sz;
    return 1;
}

uint64_t eal_page_bytes(void)
{
    uint64_t bytes = 0;
    rte_memseg_walk(first_page, &bytes);
    return bytes;
}
