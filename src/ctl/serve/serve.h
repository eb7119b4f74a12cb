// SPDX-License-Identifier: BSD-3-Clause
// serve.h: `c10m serve`: runs a server with its tree until a signal ends it. Control thread.
#pragma once
#include "conf/conf.h"
#include "conf/places.h"
#include "prof/prof_files.h"
#include "server/server.h"

// ctl_conf: the configuration, which may change while the server runs, and its sources. file NULL:
// only the defaults and the sets.
struct ctl_conf {
    struct conf *conf;
    const char *file;
    char *const *sets;
    unsigned n_sets;
    struct conf_places *places;   // places of keys for error messages of the start; NULL: unknown
    struct prof_files *profiles;  // of the flags; NULL: none
};

// The exit status of a server that ended to be started again: EX_TEMPFAIL of sysexits.h.
enum { CTL_RESTART_STATUS = 75 };

// ctl_serve: starts the server, mounts the tree, serves until a signal (base/signals.h), and
// releases all resources, which further signals do not interrupt. SIGINT and SIGTERM drain first; a
// second one, or another signal, stops at once. SIGUSR2 stops at once if the next server adopts the
// connections, else it is as SIGTERM. The caller must have blocked the signals (signals_hold()).
// Returns the exit status: 0; CTL_RESTART_STATUS; or 1 with the reason logged.
int ctl_serve(const struct ctl_conf *from, const struct server_params *p, const char *version);

// ctl_doubts: appends warnings about settings that are valid but useless, one per line: a port
// without a listening service, a ring that no host can reach.
void ctl_doubts(const struct server_params *p, struct text *out);
