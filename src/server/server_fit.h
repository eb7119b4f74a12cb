// SPDX-License-Identifier: BSD-3-Clause
// server_fit.h: how many connections the memory of a machine holds. Arithmetic, and a look at /sys
// and /proc; reserves nothing. Control thread.
#pragma once
#include "mem/page_supply.h"
#include "server/server.h"

enum {
    SERVER_CONNECTIONS_MAX = 100000000,  // that a configuration takes
    // Memory that is left to Linux where ordinary memory is made into pages: a tenth of the
    // machine's, but at least 1 GiB (in MiB here): the kernel, the page cache of the files served,
    // what else runs. Less than that is free already: nothing more becomes pages.
    SERVER_LEAVE_MIB_MIN = 1024,
    SERVER_LEAVE_PERCENT = 10,
};

// server_supply: the memory that can be had.
struct server_supply {
    struct page_supply pages;     // free huge pages, now
    uint64_t available_bytes;     // ordinary memory (MemAvailable)
    uint64_t total_bytes;         // of the machine
    uint64_t leave_bytes;         // of the available that Linux keeps
    struct page_supply possible;  // 2 MiB pages free if all but leave_bytes became such
};

// server_supply_read: according to sys_root ("/sys") and proc_root ("/proc").
void server_supply_read(struct server_supply *s, const char *sys_root, const char *proc_root);

// server_fit_to: gives p so many connections; records that p leaves to be chosen (0) follow them,
// as config/default.conf says of `auto`.
void server_fit_to(struct server_params *p, uint32_t connections);

// server_fit: the most connections, up to SERVER_CONNECTIONS_MAX, that a server like p can have in
// these pages (p->pages PAGES_NONE: in ordinary_bytes). 0: not one for each worker.
uint32_t server_fit(const struct server_params *p, const struct page_supply *pages,
                    uint64_t ordinary_bytes);

// server_fit_max: where p->connections is 0 (`connections = max`), as many as fit now. 0; -1: not
// one, *err has the arithmetic and the command.
int server_fit_max(struct server_params *p, struct err *err);
