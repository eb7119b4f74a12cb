// SPDX-License-Identifier: BSD-3-Clause
// cmd_check.h: `c10m check` on the machine that the server is to run on: what `serve` would refuse
// there, by the same functions, with nothing taken and nothing left.
#pragma once
#include <stdio.h>

#include "conf/conf.h"
#include "conf/partial.h"
#include "conf/places.h"
#include "server/server.h"

// ctl_check: prints errors and warnings to `to`, a line each: what the services read, devices,
// pages, directories, doors. Where a server of this name runs already, devices, pages and doors are
// its own: they are not looked at, and that is said. To a user who is not root they are warnings:
// root may do more. Returns how many errors. parts: of a configuration whose text has errors, what
// is known (conf/partial.h); what depends on the rest is not looked at. NULL: all is known.
unsigned ctl_check(const struct conf *c, const struct server_params *p, struct conf_places *places,
                   const struct conf_parts *parts, FILE *to);
