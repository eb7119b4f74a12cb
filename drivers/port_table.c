#include "drivers/port_table.h"

#include <string.h>

#include "drivers/af_packet.h"
#include "drivers/af_xdp.h"
#include "drivers/fault.h"
#include "drivers/loop.h"
#include "drivers/memif.h"
#include "drivers/pcap.h"
#include "drivers/pci.h"
#include "drivers/ring.h"
#include "drivers/tap.h"

// The drivers: NAME has a function NAME_open.
#define DRIVER_TABLE(X)                                                                            \
    X(ring) X(tap) X(af_packet) X(af_xdp) X(memif) X(pci) X(pcap) X(fault) X(loop)

static const struct {
    const char *name;
    struct port *(*open)(const struct port_params *params, struct err *err);
} drivers[] = {
#define DRIVER_ROW(name) {#name, name##_open},
    DRIVER_TABLE(DRIVER_ROW)
#undef DRIVER_ROW
};

// ", ring, tap": the separator before the first is skipped.
#define DRIVER_NAME(name) ", " #name
static const char *const names = &DRIVER_TABLE(DRIVER_NAME)[2];

static int check_common(const struct port_params *p, struct err *err)
{
    size_t len = p->name == NULL ? 0 : strlen(p->name);
    if (len == 0 || len >= PORT_NAME_BYTES)
        return err_set(err, "port \"%s\": a name of 1 to %d characters was expected",
                       p->name ? p->name : "", PORT_NAME_BYTES - 1);
    if (p->queues < 1 || p->queues > PORT_QUEUES_MAX)
        return err_set(err, "port %s: queues = %u: 1 to %d was expected", p->name, p->queues,
                       PORT_QUEUES_MAX);
    if (p->mtu != 0 && (p->mtu < PORT_MTU_MIN || p->mtu > PORT_MTU_MAX))
        return err_set(err, "port %s: mtu = %u: %d to %d was expected", p->name, p->mtu,
                       PORT_MTU_MIN, PORT_MTU_MAX);
    return 0;
}

struct port *port_open(const struct port_params *params, struct err *err)
{
    if (check_common(params, err) != 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(drivers); i++)
        if (params->driver != NULL && strcmp(params->driver, drivers[i].name) == 0)
            return drivers[i].open(params, err);
    err_set(err, "port %s: driver = %s: one of %s was expected", params->name,
            params->driver ? params->driver : "(none)", names);
    return NULL;
}

void port_close(struct port *p)
{
    if (p != NULL)
        p->ops->close(p);
}

const char *port_drivers(void)
{
    return names;
}
