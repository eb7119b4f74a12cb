// SPDX-License-Identifier: BSD-3-Clause
// apps.h: the built-in applications, from the table in tables/app_table.h.
#pragma once
#include <stddef.h>

#include "c10m/app.h"
#include "tables/app_table.h"

// app_NAME: each built-in application, in src/app/NAME.c or in the folder src/app/NAME.
#define APP_DECLARE(name, kind, help) extern const struct c10m_app app_##name;
APP_TABLE(APP_DECLARE)
#undef APP_DECLARE

// apps: every built-in application, in the order of the table, ended by NULL.
extern const struct c10m_app *const apps[APP_COUNT + 1];

// app_find: the application called `name`, or NULL. Control thread.
const struct c10m_app *app_find(const char *name);
