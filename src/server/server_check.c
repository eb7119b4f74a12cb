// SPDX-License-Identifier: BSD-3-Clause
#include "server/server_check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "drivers/eal_dir.h"
#include "drivers/port_table.h"
#include "mem/hugedir.h"
#include "mem/ledger.h"
#include "server/device_locks.h"
#include "server/linux_tap.h"
#include "server/server_fit.h"
#include "server/server_internal.h"
#include "server/server_memory.h"
#include "sock/sock.h"

enum { FINDINGS_BYTES = 1 << 20 };

void server_findings_init(struct server_findings *f, struct conf_places *places)
{
    *f = (struct server_findings){.places = places};
    text_init(&f->errors, FINDINGS_BYTES);
    text_init(&f->warnings, FINDINGS_BYTES);
}

void server_findings_free(struct server_findings *f)
{
    text_free(&f->errors);
    text_free(&f->warnings);
}

static void find(struct server_findings *f, struct text *to, const struct err *e)
{
    conf_place(f->places, e->key, to);
    text_printf(to, "%s\n", e->text);
}

void server_find_error(struct server_findings *f, const struct err *e)
{
    find(f, &f->errors, e);
}

void server_find_warning(struct server_findings *f, const struct err *e)
{
    find(f, &f->warnings, e);
}

void server_check_services(const struct server_params *p, bool agent, struct server_findings *f)
{
    struct err err;
    struct server *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        err_set(&err, "no memory");
        server_find_error(f, &err);
        return;
    }
    s->params = *p;
    for (unsigned i = 0; i < p->n_services; i++) {
        if (!agent && strcmp(p->services[i].app->name, "agent") == 0)
            continue;
        if (server_service_init(s, i, &err) != 0)
            server_find_error(f, &err);
        else
            sock_service_fini(&s->services[i]);
    }
    free(s);
}

static void check_devices(const struct server_params *p, unsigned i, struct server_findings *f)
{
    const struct port_params *device;
    struct err err;
    for (unsigned k = 0; (device = server_device(&p->ports[i], k)) != NULL; k++) {
        struct port_params port = *device;
        port.queues = (uint16_t)server_port_queues(p, i);
        if (port_check(&port, &err) != 0 || device_locks_look(device, &err) != 0)
            server_find_error(f, &err);
    }
}

void server_check_ports(const struct server_params *p, struct server_findings *f)
{
    struct err err;
    for (unsigned i = 0; i < p->n_ports; i++) {
        check_devices(p, i, f);
        const char *shared = p->ports[i].linux_name;
        if (shared != NULL && linux_tap_check(shared, p->ports[i].port.name, &err) != 0)
            server_find_error(f, &err);
    }
}

int server_check_4k(const struct server_params *p, struct err *err)
{
    struct memory_4k m;
    char a[2][LEDGER_GROUPED_BYTES];
    const uint64_t needed = server_arena_bytes(p) + server_packet_bytes(p);
    memory_4k_read(&m, "/proc");
    if (p->pages != PAGES_NONE || m.total_bytes == 0 || needed <= m.available_bytes)
        return 0;
    err_set(err,
            "hugepage = none: %s bytes in 4 KiB pages needed, %s available: make [memory] "
            "smaller (c10m plan)",
            ledger_grouped(a[0], needed), ledger_grouped(a[1], m.available_bytes));
    return err_key(err, "memory.connections");
}

static int memory_there(const struct server_params *p, struct err *err)
{
    struct server_supply s;
    size_t page_bytes;
    server_supply_read(&s, "/sys", "/proc", p->huge_dir);
    if (page_supply_choose(&s.pages, p->pages, server_arena_bytes(p), server_packet_bytes(p),
                           &page_bytes, err) != 0)
        return err_key(err, "memory.connections");
    return server_check_4k(p, err);
}

void server_check_memory(const struct server_params *p, struct server_findings *f)
{
    struct err err;
    if (memory_there(p, &err) != 0)
        server_find_error(f, &err);
}

int server_has_ports(const struct server_params *p, struct err *err)
{
    return p->n_ports != 0 ? 0
                           : err_set(err, "the configuration has no [port NAME]; an example is "
                                          "config/quickstart.conf");
}

static bool has_address(const struct net_config *n)
{
    for (unsigned k = 0; k < n->n_locals; k++)
        if (!net_local_is_none(&n->locals[k]))
            return true;
    return false;
}

bool server_has_doubt(const struct server_params *p, unsigned i, struct err *err)
{
    const struct server_port_params *pp = &p->ports[i];
    if (pp->linux_name == NULL || pp->follow != NULL || pp->port.n_vlans != 0 ||
        has_address(&pp->net))
        return false;
    err_set(err,
            "port %s: without an address all that arrives goes to Linux; with follow = %s the "
            "workers have the addresses that Linux gives %s",
            pp->port.name, pp->linux_name, pp->linux_name);
    err_key(err, "port.%s.linux", pp->port.name);
    return true;
}

bool server_adopt_doubt(const struct server_params *p, struct err *err)
{
    if (p->adopt == SERVER_ADOPT_NEVER || p->pages != PAGES_NONE)
        return false;
    err_set(err, "adopt is as never with [memory] hugepage = none: connections outlive their "
                 "process in hugepages only");
    err_key(err, "control.adopt");
    return true;
}

static long owner_of(const char *name)
{
    char root[EAL_DIR_BYTES];
    eal_dir_root(root);
    return eal_dir_owner(root, name);
}

long server_owner(const struct server_params *p)
{
    return owner_of(p->prefix);
}

int server_clean_check(const char *name, struct err *err)
{
    const long owner = owner_of(name);
    return owner == 0 ? 0
                      : err_set(err, "the running server %s (process %ld) has it: stop it first",
                                name, owner);
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int clean_eal(const char *name, const char *huge_dir, struct text *said, struct err *err)
{
    char root[EAL_DIR_BYTES], path[EAL_DIR_BYTES + HUGEDIR_NAME_BYTES];
    struct eal_dir d;
    eal_dir_root(root);
    snprintf(path, sizeof(path), "%s/%s", root, name);
    const bool was_there = is_directory(path);
    if (!is_directory(root))
        return 0;
    if (eal_dir_open(&d, root, name, huge_dir, err) != 0)
        return -1;
    eal_dir_remove_files(name, huge_dir);
    eal_dir_close(&d);
    if (was_there)
        text_printf(said, "removed directory %s\n", path);
    if (d.removed != 0)
        text_printf(said, "removed directories of %u other dead servers in %s\n", d.removed, root);
    return 0;
}

// The last user of the directory unmounts and removes it.
static int clean_pages(const char *name, const char *huge_dir, bool keep, struct text *said,
                       struct err *err)
{
    struct hugedir d;
    if (!is_directory(huge_dir))
        return 0;
    if (hugedir_open(&d, huge_dir, name, keep, err) != 0)
        return -1;
    hugedir_close(&d);
    if (d.removed != 0)
        text_printf(said, "removed %u files below %s, their pages are free\n", d.removed, huge_dir);
    if (!is_directory(huge_dir))
        text_printf(said, "removed directory %s\n", huge_dir);
    return 0;
}

// is_dead: whether a c10m process has made ROOT/NAME, and none lives that has it.
static bool is_dead(const char *root, const char *name)
{
    char lock[EAL_DIR_BYTES + 2 * HUGEDIR_NAME_BYTES];
    struct stat st;
    snprintf(lock, sizeof(lock), "%s/%.64s/%s", root, name, EAL_DIR_LOCK);
    return name[0] != '.' && stat(lock, &st) == 0 && eal_dir_owner(root, name) == 0;
}

static void look_eal(const char *name, struct text *said)
{
    char root[EAL_DIR_BYTES];
    eal_dir_root(root);
    DIR *d = opendir(root);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (is_dead(root, e->d_name))
            text_printf(said, "would remove directory %s/%s%s\n", root, e->d_name,
                        strcmp(e->d_name, name) == 0 ? "" : " of another dead server");
    if (d != NULL)
        closedir(d);
}

void server_clean_look(const char *name, const char *huge_dir, struct text *said)
{
    static const size_t pages[] = {PAGE_2M, PAGE_1G};
    const uint64_t images = hugedir_dead_bytes(huge_dir, PAGE_4K);
    look_eal(name, said);
    if (images != 0)
        text_printf(said, "would free %llu bytes of images below %s\n", (unsigned long long)images,
                    huge_dir);
    for (unsigned i = 0; i < ARRAY_LEN(pages); i++) {
        const uint64_t bytes = hugedir_dead_bytes(huge_dir, pages[i]);
        if (bytes != 0)
            text_printf(said, "would free %llu pages of %llu MiB below %s\n",
                        (unsigned long long)(bytes / pages[i]),
                        (unsigned long long)(pages[i] >> 20), huge_dir);
    }
}

int server_clean(const char *name, const char *huge_dir, bool keep, struct text *said,
                 struct err *err)
{
    return clean_eal(name, huge_dir, said, err) != 0 ? -1
                                                     : clean_pages(name, huge_dir, keep, said, err);
}
