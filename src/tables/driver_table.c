// SPDX-License-Identifier: BSD-3-Clause
#include "tables/driver_table.h"

#include <stddef.h>
#include <string.h>

const struct driver driver_rows[DRIVER_COUNT] = {
#define DRIVER_ROW(name, kind, device, port_kib, queue_kib, rx_held, tx_held, help)                \
    {#name, DRIVER_##kind, DEVICE_##device, port_kib, queue_kib, rx_held, tx_held},
    DRIVER_TABLE(DRIVER_ROW)
#undef DRIVER_ROW
};

const struct driver *driver_find(const char *name)
{
    for (unsigned i = 0; i < DRIVER_COUNT; i++)
        if (name != NULL && strcmp(name, driver_rows[i].name) == 0)
            return &driver_rows[i];
    return NULL;
}

bool driver_wraps(const char *name)
{
    const struct driver *d = driver_find(name);
    return d != NULL && d->kind == DRIVER_WRAPPER;
}

enum driver_device driver_device(const char *name)
{
    const struct driver *d = driver_find(name);
    return d == NULL ? DEVICE_NONE : d->device;
}
