// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/port_table.h"

#include <string.h>

#include "tables/driver_table.h"

// The functions of each driver: NAME_open and NAME_check, which drivers/NAME.h describes.
#define DRIVER_DECLARE(name, kind, device, port_kib, queue_kib, rx_held, tx_held, at_least, help)  \
    struct port *name##_open(const struct port_params *params, struct err *err);                   \
    int name##_check(const struct port_params *params, struct err *err);
DRIVER_TABLE(DRIVER_DECLARE)

// calls: in the order of driver_rows[].
static const struct calls {
    struct port *(*open)(const struct port_params *params, struct err *err);
    int (*check)(const struct port_params *params, struct err *err);
} calls[DRIVER_COUNT] = {
#define DRIVER_CALLS(name, kind, device, port_kib, queue_kib, rx_held, tx_held, at_least, help)    \
    {name##_open, name##_check},
    DRIVER_TABLE(DRIVER_CALLS)};

// names: ", ring, tap" without the first separator.
#define DRIVER_NAME(name, kind, device, port_kib, queue_kib, rx_held, tx_held, at_least, help)     \
    ", " #name
static const char *const names = &DRIVER_TABLE(DRIVER_NAME)[2];

static int check_common(const struct port_params *p, struct err *err)
{
    size_t len = p->name == NULL ? 0 : strlen(p->name);
    if (len == 0 || len >= PORT_NAME_BYTES)
        return err_set(err, "port \"%s\": a name of 1 to %d characters was expected",
                       p->name ? p->name : "", PORT_NAME_BYTES - 1);
    if (p->queues < 1 || p->queues > PORT_QUEUES_MAX) {
        err_set(err, "port %s: queues = %u: 1 to %d was expected", p->name, p->queues,
                PORT_QUEUES_MAX);
        return err_key(err, "port.%s.queues", p->name);
    }
    if (p->mtu != 0 && (p->mtu < PORT_MTU_MIN || p->mtu > PORT_MTU_MAX)) {
        err_set(err, "port %s: mtu = %u: %d to %d was expected", p->name, p->mtu, PORT_MTU_MIN,
                PORT_MTU_MAX);
        return err_key(err, "port.%s.mtu", p->name);
    }
    return 0;
}

// calls_of: NULL for an unknown driver; *err then names the existing drivers.
static const struct calls *calls_of(const struct port_params *params, struct err *err)
{
    const struct driver *d = driver_find(params->driver);
    if (d != NULL)
        return &calls[d - driver_rows];
    err_set(err, "port %s: driver = %s: one of %s was expected", params->name,
            params->driver ? params->driver : "(none)", names);
    return NULL;
}

uint64_t port_memory_bytes(const struct port_params *params, unsigned queues)
{
    enum { PER_DESCRIPTOR = 64 };
    const struct driver *d = driver_find(params->driver);
    if (d == NULL)
        return 0;
    const uint64_t each = d->queue_kib == 0
                              ? 0
                              : d->queue_kib * 1024ull +
                                    PER_DESCRIPTOR * (uint64_t)(params->rx_ring + params->tx_ring);
    return d->port_kib * 1024ull + queues * each;
}

// at_fault: sets the key of an error of a port that cannot be opened: `device`, or `driver` if the
// driver has no device.
static int at_fault(const struct port_params *params, struct err *err)
{
    const bool has_device = driver_device(params->driver) != DEVICE_NONE;
    return err_key(err, "port.%s.%s", params->name, has_device ? "device" : "driver");
}

struct port *port_open(const struct port_params *params, struct err *err)
{
    if (check_common(params, err) != 0) {
        at_fault(params, err);
        return NULL;
    }
    const struct calls *of = calls_of(params, err);
    struct port *p = of == NULL ? NULL : of->open(params, err);
    if (p == NULL)
        at_fault(params, err);
    return p;
}

void port_close(struct port *p)
{
    if (p != NULL)
        p->ops->close(p);
}

int port_check(const struct port_params *params, struct err *err)
{
    const struct calls *of = calls_of(params, err);
    if (of != NULL && check_common(params, err) == 0 && of->check(params, err) == 0)
        return 0;
    return at_fault(params, err);
}
