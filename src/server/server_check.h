// SPDX-License-Identifier: BSD-3-Clause
// server_check.h: what server_start would refuse on this machine, found before anything is taken.
// Control thread.
#pragma once
#include "base/text.h"
#include "server/server.h"

// server_findings: lines, each ended by a newline. errors: it would be refused; warnings: as the
// machine is now it would be, or something is not as good as it may be.
struct server_findings {
    struct text errors, warnings;
};

void server_findings_init(struct server_findings *f);
void server_findings_free(struct server_findings *f);

// server_check_services: runs the init of every application and undoes it, as a start does: what is
// to be served is read, a log is opened. `agent` false: without the agent, whose socket another
// process may have.
void server_check_services(const struct server_params *p, bool agent, struct server_findings *f);

// server_check_machine: devices, interfaces, files and plugins of the ports; whether there are
// enough pages, or memory, now, with the arithmetic.
void server_check_machine(const struct server_params *p, struct server_findings *f);

// server_owner: the living process that has p's name; 0: none that may be seen.
long server_owner(const struct server_params *p);

// server_clean_check: -1: a living server has the name.
int server_clean_check(const char *name, struct err *err);

// server_clean: removes what killed servers left in DPDK's directory and on hugetlbfs, of `name`
// and of others, and unmounts that if nobody uses it; says so, a line each. -1: a living server has
// the name, or it is not allowed.
int server_clean(const char *name, const char *huge_dir, struct text *said, struct err *err);
