// SPDX-License-Identifier: BSD-3-Clause
// serve.h: `c10m serve`: a server with its tree, until a signal ends it. Control thread.
#pragma once
#include "conf/conf.h"
#include "conf/places.h"
#include "server/server.h"

// ctl_conf: the configuration, which changes while the server runs, and where it came from; file
// NULL: from the defaults and the sets.
struct ctl_conf {
    struct conf *conf;
    const char *file;
    char *const *sets;
    unsigned n_sets;
    struct conf_places *places;  // for errors of the start; NULL: not known
};

// ctl_serve: starts the server, mounts the tree, serves until a signal asks it to end
// (base/signals.h), gives all back, once and to the end, whatever signals come meanwhile. SIGINT
// and SIGTERM drain first; a second one, and any other, stops at once. The caller holds the
// signals. Returns the exit status: 0, or 1 with the reason logged.
int ctl_serve(const struct ctl_conf *from, const struct server_params *p, const char *version);

// ctl_doubts: what is allowed and nobody can want, a line each: a port that no service listens on,
// one whose far end nobody can have.
void ctl_doubts(const struct server_params *p, struct text *out);
