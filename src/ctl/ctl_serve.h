// ctl_serve.h: `c10m serve`: a server with its tree, until a signal ends it. Control thread.
#pragma once
#include "conf/conf.h"
#include "worker/server.h"

// ctl_serve: starts the server, mounts the tree, serves until SIGTERM or SIGINT, stops. A second
// signal while it stops ends the process at once. Returns the exit status: 0, or 1 with the reason
// logged.
int ctl_serve(const struct conf *c, const struct server_params *p, const char *version);

// ctl_doubts: what is allowed and nobody can want, a line each: a port that no service listens on,
// one whose far end nobody can have.
void ctl_doubts(const struct server_params *p, struct text *out);
