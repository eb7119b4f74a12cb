// SPDX-License-Identifier: BSD-3-Clause
#include "app/apps.h"

#include <string.h>

const struct c10m_app *const apps[APP_COUNT + 1] = {
#define APP_POINTER(name, kind, help) &app_##name,
    APP_TABLE(APP_POINTER)
#undef APP_POINTER
};

const struct c10m_app *app_find(const char *name)
{
    for (const struct c10m_app *const *a = apps; *a != NULL; a++)
        if (strcmp((*a)->name, name) == 0)
            return *a;
    return NULL;
}
