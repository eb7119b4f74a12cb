// SPDX-License-Identifier: BSD-3-Clause
#include "tables/driver_table.h"

#include <stddef.h>
#include <string.h>

const struct driver driver_rows[DRIVER_COUNT] = {
#define DRIVER_ROW(name, kind, device, port_kib, queue_kib, rx_held, tx_held, at_least, help)      \
    {#name, DRIVER_##kind, DEVICE_##device, port_kib, queue_kib, rx_held, tx_held, at_least},
    DRIVER_TABLE(DRIVER_ROW)
#undef DRIVER_ROW
};

// Of one direction: what the ring holds or, if that is auto, what the driver does.
static uint32_t held(const struct driver *d, uint32_t by_default, uint32_t ring)
{
    if (by_default == 0 || ring == 0)
        return by_default;
    return d->at_least && ring < by_default ? by_default : ring;
}

uint32_t driver_held(const struct driver *d, uint32_t rx_ring, uint32_t tx_ring)
{
    return held(d, d->rx_held, rx_ring) + held(d, d->tx_held, tx_ring);
}

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

bool driver_has_parent(const char *name)
{
    const struct driver *d = driver_find(name);
    return d != NULL && d->kind == DRIVER_SUBPORT;
}

bool driver_has_members(const char *name)
{
    const struct driver *d = driver_find(name);
    return d != NULL && d->kind == DRIVER_GROUP;
}

// A capture has no link.
bool driver_may_join(const char *name)
{
    const struct driver *d = driver_find(name);
    return d != NULL && d->kind == DRIVER_LINK && d->device != DEVICE_CAPTURE;
}

enum driver_device driver_device(const char *name)
{
    const struct driver *d = driver_find(name);
    return d == NULL ? DEVICE_NONE : d->device;
}
