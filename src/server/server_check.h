// SPDX-License-Identifier: BSD-3-Clause
// server_check.h: what server_start would refuse on this machine, found before anything is taken.
// Control thread.
#pragma once
#include "base/text.h"
#include "conf/places.h"
#include "server/server.h"

// server_findings: lines, each ended by a newline, with the place of the key at fault. errors: a
// start would be refused; warnings: the server would start, without something.
struct server_findings {
    struct conf_places *places;
    struct text errors, warnings;
};

// server_findings_init: places may be NULL, and live longer than f.
void server_findings_init(struct server_findings *f, struct conf_places *places);
void server_findings_free(struct server_findings *f);

void server_find_error(struct server_findings *f, const struct err *e);
void server_find_warning(struct server_findings *f, const struct err *e);

// server_has_ports: -1 and *err: a server of no port is not started.
int server_has_ports(const struct server_params *p, struct err *err);

// server_has_doubt: whether port i is shared with Linux and has no address that the workers could
// use: Linux gets everything. *err has the words and the key. A port on whose link VLANs are may be
// meant so.
bool server_has_doubt(const struct server_params *p, unsigned i, struct err *err);

// server_adopt_doubt: whether connections are to outlive the process, and cannot without hugepages.
bool server_adopt_doubt(const struct server_params *p, struct err *err);

// server_check_4k: whether there is enough memory, if p wants no hugepages. The kernel
// hands it out when it is first written: what is too much would end the process later. -1: *err has
// the numbers.
int server_check_4k(const struct server_params *p, struct err *err);

// server_check_services: runs the init of every application and undoes it, as a start does: what is
// to be served is read, a log is opened. `agent` false: without the agent, whose socket another
// process may have.
void server_check_services(const struct server_params *p, bool agent, struct server_findings *f);

// server_check_ports: their devices, interfaces, files and plugins, and whether another server has
// them. server_check_memory: the hugepages, with those that files of killed servers hold, which a
// start removes; or the memory in 4 KiB pages.
void server_check_ports(const struct server_params *p, struct server_findings *f);
void server_check_memory(const struct server_params *p, struct server_findings *f);

// server_owner: the living process that has p's name; 0: none that may be seen.
long server_owner(const struct server_params *p);

// server_clean_check: -1: a living server has the name.
int server_clean_check(const char *name, struct err *err);

// server_clean_look: says what server_clean() would remove, a line each.
void server_clean_look(const char *name, const char *huge_dir, struct text *said);

// server_clean: removes what killed servers left in DPDK's directory and on hugetlbfs, of `name`
// and of others, and unmounts that if nobody uses it; says so, a line each. keep: except what
// `name` kept for the next start ([control] adopt). -1: a living server has the name, or it is not
// allowed.
int server_clean(const char *name, const char *huge_dir, bool keep, struct text *said,
                 struct err *err);
