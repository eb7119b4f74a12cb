// SPDX-License-Identifier: BSD-3-Clause
// load_service.h: the service for a load.
#pragma once
#include "c10m/app.h"
#include "load/load_options.h"
#include "server/server.h"

// load_stream_window: the receive window of each side of a stream, in bytes.
uint32_t load_stream_window(const struct load_options *o);

// load_ring_slots: the slots of the ring between client and server.
uint32_t load_ring_slots(const struct load_options *o);

// load_service_app: the application for the load, from `apps`, which is ended by NULL.
const struct c10m_app *load_service_app(const struct load_options *o,
                                        const struct c10m_app *const *apps);

// load_service: sets the only service of a server in this process. p->connections must be set.
void load_service(const struct load_options *o, const struct c10m_app *app,
                  struct server_params *p);
