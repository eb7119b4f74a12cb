// SPDX-License-Identifier: BSD-3-Clause
// apps.h: the built-in applications, as an explicit list. A new one is a line in apps.c.
#pragma once
#include <stddef.h>

#include "c10m/app.h"

extern const struct c10m_app app_echo;     // sends back what comes
extern const struct c10m_app app_discard;  // consumes what comes
extern const struct c10m_app app_chargen;  // sends a pattern without end
extern const struct c10m_app app_daytime;  // sends the date and closes
extern const struct c10m_app app_http;   // HTTP/1.1: static files from memory (app/http/service.h)
extern const struct c10m_app app_proxy;  // relays each connection to `upstream`
extern const struct c10m_app app_agent;  // BSD socket calls for other processes (c10m/agent.h)

// apps: every built-in application, ended by NULL.
extern const struct c10m_app *const apps[];

// app_find: the application called `name` ([service X] app = NAME), or NULL. Control thread.
const struct c10m_app *app_find(const char *name);
