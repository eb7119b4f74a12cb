// SPDX-License-Identifier: BSD-3-Clause
#include "app/apps.h"

#include <string.h>

const struct c10m_app *const apps[] = {
    &app_echo, &app_discard, &app_chargen, &app_daytime, &app_http, &app_proxy, &app_agent, NULL,
};

const struct c10m_app *app_find(const char *name)
{
    for (const struct c10m_app *const *a = apps; *a != NULL; a++)
        if (strcmp((*a)->name, name) == 0)
            return *a;
    return NULL;
}
