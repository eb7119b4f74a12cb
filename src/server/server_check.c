// SPDX-License-Identifier: BSD-3-Clause
#include "server/server_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "drivers/eal_dir.h"
#include "drivers/port_table.h"
#include "mem/hugedir.h"
#include "mem/ledger.h"
#include "server/server_fit.h"
#include "server/server_internal.h"
#include "server/server_memory.h"
#include "sock/sock.h"

enum { FINDINGS_BYTES = 1 << 20 };

void server_findings_init(struct server_findings *f)
{
    text_init(&f->errors, FINDINGS_BYTES);
    text_init(&f->warnings, FINDINGS_BYTES);
}

void server_findings_free(struct server_findings *f)
{
    text_free(&f->errors);
    text_free(&f->warnings);
}

static void check_service(struct server *s, unsigned i, struct server_findings *f)
{
    const struct server_service_params *sp = &s->params.services[i];
    struct c10m_service *sv = &s->services[i];
    struct err err;
    *sv = (struct c10m_service){.name = sp->name,
                                .app = sp->app,
                                .param = sp->param,
                                .conf = sp->conf,
                                .image_bytes_max = s->params.image_bytes_max,
                                .ix = (uint8_t)i};
    if (sock_service_init(sv, &err) != 0)
        text_printf(&f->errors, "%s\n", err.text);
    else
        sock_service_fini(sv);
}

void server_check_services(const struct server_params *p, bool agent, struct server_findings *f)
{
    struct server *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        text_printf(&f->errors, "no memory\n");
        return;
    }
    s->params = *p;
    for (unsigned i = 0; i < p->n_services; i++)
        if (agent || strcmp(p->services[i].app->name, "agent") != 0)
            check_service(s, i, f);
    free(s);
}

static void check_ports(const struct server_params *p, struct server_findings *f)
{
    struct err err;
    for (unsigned i = 0; i < p->n_ports; i++) {
        const struct server_port_params *pp = &p->ports[i];
        const bool wraps = strcmp(pp->port.driver, "fault") == 0;
        if (port_check(wraps ? &pp->inner : &pp->port, &err) != 0)
            text_printf(&f->errors, "%s\n", err.text);
    }
}

static void check_memory(const struct server_params *p, struct server_findings *f)
{
    struct server_supply s;
    struct err err;
    size_t page_bytes;
    char a[2][LEDGER_GROUPED_BYTES];
    const uint64_t arena = server_arena_bytes(p), packets = server_packet_bytes(p);
    server_supply_read(&s, "/sys", "/proc");
    if (p->pages != PAGES_NONE) {
        if (page_supply_choose(&s.pages, p->pages, arena, packets, &page_bytes, &err) != 0)
            text_printf(&f->warnings, "%s\n", err.text);
        if (arena + packets > s.total_bytes)
            text_printf(&f->warnings, "%s bytes are needed, this machine has %s (c10m plan)\n",
                        ledger_grouped(a[0], arena + packets), ledger_grouped(a[1], s.total_bytes));
        return;
    }
    if (arena + packets > s.available_bytes)
        text_printf(&f->warnings, "%s bytes of ordinary memory are needed, %s are available\n",
                    ledger_grouped(a[0], arena + packets), ledger_grouped(a[1], s.available_bytes));
}

void server_check_machine(const struct server_params *p, struct server_findings *f)
{
    check_ports(p, f);
    check_memory(p, f);
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

// The last one out unmounts and removes the directory.
static int clean_pages(const char *name, const char *huge_dir, struct text *said, struct err *err)
{
    struct hugedir d;
    if (!is_directory(huge_dir))
        return 0;
    if (hugedir_open(&d, huge_dir, name, err) != 0)
        return -1;
    hugedir_close(&d);
    if (d.removed != 0)
        text_printf(said, "removed %u files below %s, their pages are free\n", d.removed, huge_dir);
    if (!is_directory(huge_dir))
        text_printf(said, "removed directory %s\n", huge_dir);
    return 0;
}

int server_clean(const char *name, const char *huge_dir, struct text *said, struct err *err)
{
    return clean_eal(name, huge_dir, said, err) != 0 ? -1 : clean_pages(name, huge_dir, said, err);
}
