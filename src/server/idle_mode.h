// SPDX-License-Identifier: BSD-3-Clause
// idle_mode.h: [cpu] idle of a server: the mode that was asked for, or IDLE_PAUSE where the ports
// do not have it. All workers have the same. Control thread.
#pragma once
#include "base/err.h"
#include "base/text.h"
#include "worker/idle.h"

struct server;
struct server_params;

// idle_mode_name: as the key has it.
const char *idle_mode_name(enum idle_mode mode);

// idle_mode_of: the mode of a server of these parameters, by the drivers of its ports.
enum idle_mode idle_mode_of(const struct server_params *p);

// idle_mode_doubt: whether that is another one than was asked for; *err says why.
bool idle_mode_doubt(const struct server_params *p, struct err *err);

// idle_mode_render: the same for people, as a line, and another one of the doubt.
void idle_mode_render(const struct server_params *p, struct text *out);

// idle_mode_start: gives the workers, which do not run yet, the mode. A port that has no descriptor
// for a queue, although its driver should, makes it IDLE_PAUSE (logged). -1: no descriptors.
int idle_mode_start(struct server *s, struct err *err);

// idle_mode_stop: closes what it has opened. No worker runs, and nobody wakes one any more.
void idle_mode_stop(struct server *s);
