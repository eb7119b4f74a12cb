// SPDX-License-Identifier: BSD-3-Clause
// doctor_main.h: `c10m doctor`.
#pragma once
#include "c10m/app.h"
#include "conf/conf.h"
#include "server/server.h"

// doctor_main: argv[0] is "doctor". apps: those of the program, ended by NULL, for the
// configuration. Exit status: 0 nothing fails, 1 something does, 2 bad usage or configuration.
int doctor_main(int argc, char **argv, const struct c10m_app *const *apps);

// doctor_serve_check: the rows of the machine that would stop a server of these parameters, each
// that fails as a line "ROW: value", into `out`. Takes nothing, changes nothing.
void doctor_serve_check(const struct conf *c, const struct server_params *p, struct text *out);
