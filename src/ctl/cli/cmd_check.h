// SPDX-License-Identifier: BSD-3-Clause
// cmd_check.h: the part of `c10m check` that depends on this machine. It uses the functions of
// `serve` to find errors of a start, and leaves the machine unchanged.
#pragma once
#include <stdio.h>

#include "conf/conf.h"
#include "conf/partial.h"
#include "conf/places.h"
#include "server/server.h"

// ctl_check: checks the files of services, devices, pages, directories, mount and sockets. Prints
// errors and warnings to `to`, one per line. If the server of this configuration is running,
// devices, pages, mount and sockets are in use by it and are not checked, which is printed. For a
// user other than root, errors of permission are printed as warnings. parts: the valid parts of a
// configuration whose text has errors (conf/partial.h); checks that depend on other parts are
// skipped. NULL: the text has no errors. Returns the number of errors.
unsigned ctl_check(const struct conf *c, const struct server_params *p, struct conf_places *places,
                   const struct conf_parts *parts, FILE *to);
