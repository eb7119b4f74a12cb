// SPDX-License-Identifier: BSD-3-Clause
// load_service.h: what a load speaks to.
#pragma once
#include "c10m/app.h"
#include "load/load_options.h"
#include "server/server.h"

// load_stream_window: bytes that each side of a stream offers the other.
uint32_t load_stream_window(const struct load_options *o);

// load_ring_slots: of the wire between client and server in one process.
uint32_t load_ring_slots(const struct load_options *o);

// load_service_app: the application that the load speaks to, out of `apps`, ended by NULL.
const struct c10m_app *load_service_app(const struct load_options *o,
                                        const struct c10m_app *const *apps);

// load_service: the one service of a server in this process; p->connections is set.
void load_service(const struct load_options *o, const struct c10m_app *app,
                  struct server_params *p);
