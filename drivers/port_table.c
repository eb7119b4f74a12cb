// SPDX-License-Identifier: BSD-3-Clause
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

// The drivers: NAME has a function NAME_open. KiB that a port takes of DPDK's memory, and each of
// its queues, with room: measured (DPDK 22.11) tap 1,520 and 20, for it has a pool of its own, the
// other virtual ones at most 360 and 35. Of `pci` nothing could be measured: two rings of 4,096
// descriptors and what the driver keeps for each are 0.3 to 0.5 MiB a queue.
#define DRIVER_TABLE(X)                                                                            \
    X(ring, 0, 0)                                                                                  \
    X(tap, 2048, 64)                                                                               \
    X(af_packet, 512, 64)                                                                          \
    X(af_xdp, 512, 64)                                                                             \
    X(memif, 512, 64)                                                                              \
    X(pci, 8192, 1024)                                                                             \
    X(pcap, 512, 64)                                                                               \
    X(fault, 0, 0)                                                                                 \
    X(loop, 0, 0)

static const struct driver {
    const char *name;
    struct port *(*open)(const struct port_params *params, struct err *err);
    uint32_t port_kib, queue_kib;
} drivers[] = {
#define DRIVER_ROW(name, port_kib, queue_kib) {#name, name##_open, port_kib, queue_kib},
    DRIVER_TABLE(DRIVER_ROW)
#undef DRIVER_ROW
};

// ", ring, tap": the separator before the first is skipped.
#define DRIVER_NAME(name, port_kib, queue_kib) ", " #name
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

static const struct driver *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(drivers); i++)
        if (name != NULL && strcmp(name, drivers[i].name) == 0)
            return &drivers[i];
    return NULL;
}

uint64_t port_memory_bytes(const struct port_params *params, unsigned queues)
{
    enum { PER_DESCRIPTOR = 64 };
    const struct driver *d = find(params->driver);
    if (d == NULL)
        return 0;
    const uint64_t each = d->queue_kib == 0
                              ? 0
                              : d->queue_kib * 1024ull +
                                    PER_DESCRIPTOR * (uint64_t)(params->rx_ring + params->tx_ring);
    return d->port_kib * 1024ull + queues * each;
}

struct port *port_open(const struct port_params *params, struct err *err)
{
    if (check_common(params, err) != 0)
        return NULL;
    const struct driver *d = find(params->driver);
    if (d != NULL)
        return d->open(params, err);
    err_set(err, "port %s: driver = %s: one of %s was expected", params->name,
            params->driver ? params->driver : "(none)", names);
    return NULL;
}

void port_close(struct port *p)
{
    if (p != NULL)
        p->ops->close(p);
}

// The others take what they are given.
int port_check(const struct port_params *params, struct err *err)
{
    static const struct {
        const char *name;
        int (*check)(const struct port_params *params, struct err *err);
    } checks[] = {{"tap", tap_check},       {"af_packet", af_packet_check},
                  {"af_xdp", af_xdp_check}, {"memif", memif_check},
                  {"pci", pci_check},       {"pcap", pcap_check}};
    for (size_t i = 0; i < ARRAY_LEN(checks); i++)
        if (strcmp(params->driver, checks[i].name) == 0)
            return checks[i].check(params, err);
    return 0;
}

const char *port_drivers(void)
{
    return names;
}
