// SPDX-License-Identifier: BSD-3-Clause
// server_fit.h: how many connections the memory of a machine holds. Arithmetic, and a look at /sys
// and /proc; reserves nothing. Control thread.
#pragma once
#include "mem/page_supply.h"
#include "server/server.h"

enum { SERVER_CONNECTIONS_MAX = 100000000 };  // that a configuration takes

// server_supply: the memory that can be had.
struct server_supply {
    uint64_t dead_2m, dead_1g;    // pages in files of killed servers: a start removes these files
    struct page_supply pages;     // hugepages, now, with the dead ones, and what may become such
    struct memory_4k of_4k;       // of which of_4k.linux_bytes never become pages
    struct page_supply possible;  // 2 MiB pages free if all that may become such did
};

// server_supply_read: according to sys_root ("/sys") and proc_root ("/proc"), and to the files of
// killed servers below huge_dir (NULL: none). Only root may look at these.
void server_supply_read(struct server_supply *s, const char *sys_root, const char *proc_root,
                        const char *huge_dir);

// server_pages: hugepages of one size that a server takes, on one NUMA node.
struct server_pages {
    size_t page_bytes;
    int node;  // -1: the machine has one node, or it does not matter
    uint64_t needed;
    struct page_count have;
    char command[PAGE_COMMAND_BYTES];  // makes the missing ones; empty: none is missing
};

enum server_fits {
    SERVER_FITS_NOW,
    SERVER_FITS_AFTER,  // after the commands
    SERVER_FITS_NOT,    // not in this machine, unless other programs give memory back
};

enum { SERVER_PAGES_MAX = 4 };

// server_need: what a server takes of a machine's memory. n_pages 0: 4 KiB pages (`hugepage =
// none`), which is compared with what is available.
struct server_need {
    uint64_t bytes;
    enum server_fits fits;
    unsigned n_pages;
    struct server_pages pages[SERVER_PAGES_MAX];
    struct server_supply supply;
};

// server_need_read: what a server of these parameters (connections not 0) needs on the machine that
// sys_root ("/sys") and proc_root ("/proc") describe. On a machine of several NUMA nodes the
// packets have to lie on node 0, and the tables come from the node of the first Linux core; there,
// pages of killed servers do not count, as their node is not known.
void server_need_read(const struct server_params *p, const char *sys_root, const char *proc_root,
                      struct server_need *n);

// server_need_text: one line, without its end: "1,280 pages of 2 MiB needed, 64 free: sysctl
// vm.nr_hugepages=1280", or that it fits, or that it cannot.
void server_need_text(const struct server_need *n, struct text *out);

// server_fit_to: gives p so many connections; records that p leaves to be chosen (0) follow them,
// as config/default.conf says of `auto`.
void server_fit_to(struct server_params *p, uint32_t connections);

// server_fit: the most connections, up to SERVER_CONNECTIONS_MAX, that a server like p can have in
// these pages (p->pages PAGES_NONE: in bytes_4k). 0: not one for each worker.
uint32_t server_fit(const struct server_params *p, const struct page_supply *pages,
                    uint64_t bytes_4k);

// server_fit_max: where p->connections is 0 (`connections = max`), as many as fit now. 0; -1: not
// one, *err has the arithmetic and the command.
int server_fit_max(struct server_params *p, struct err *err);
