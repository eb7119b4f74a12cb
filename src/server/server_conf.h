// SPDX-License-Identifier: BSD-3-Clause
// server_conf.h: from the configuration to the parameters of start-up.
#pragma once
#include "conf/conf.h"
#include "server/server.h"

// server_machine_from: the part of *p that is not services: cores, memory, TCP, ports. As below.
int server_machine_from(struct server_params *p, const struct conf *c, struct err *err);

// server_params_from: fills *p from c, which has passed conf_load's checks. `apps` ends with NULL.
// -1: *err names what this build cannot do. Strings point into c, which outlives p.
int server_params_from(struct server_params *p, const struct conf *c,
                       const struct c10m_app *const *apps, struct err *err);

// server_settings_from: what of c may change while the workers run; the services' states stay. The
// services of c are the first ones of the server, in its order; connections: that the server has
// room for, where c has `max`.
void server_settings_from(struct order_settings *o, const struct conf *c, uint32_t connections);
