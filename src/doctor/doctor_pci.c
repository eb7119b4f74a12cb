// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_pci.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pci_driver.h"
#include "doctor/doctor_routes.h"

enum { STACK_MAX = 8 };  // interfaces above one another: a VLAN on a bond on a bridge

const char *doctor_pci_path(char out[DOCTOR_PATH_BYTES], const char *address, const char *file)
{
    snprintf(out, DOCTOR_PATH_BYTES, "/sys/bus/pci/devices/%s%s%s", address,
             file[0] == '\0' ? "" : "/", file);
    return out;
}

void doctor_pci_driver(const struct doctor_host *h, const char *address,
                       char out[DOCTOR_NAME_BYTES])
{
    char path[DOCTOR_PATH_BYTES];
    doctor_link(h, doctor_pci_path(path, address, "driver"), out, DOCTOR_NAME_BYTES);
}

static bool take_first(void *arg, const char *name)
{
    snprintf(arg, DOCTOR_NAME_BYTES, "%s", name);
    return false;
}

void doctor_pci_interface(const struct doctor_host *h, const char *address,
                          char out[DOCTOR_NAME_BYTES])
{
    char path[DOCTOR_PATH_BYTES];
    out[0] = '\0';
    doctor_each(h, doctor_pci_path(path, address, "net"), take_first, out);
    if (out[0] != '\0')
        return;
    // virtio: the interface is on a device below.
    char below[DOCTOR_NAME_BYTES] = "";
    for (unsigned i = 0; i < 64 && out[0] == '\0'; i++) {
        snprintf(below, sizeof(below), "virtio%u/net", i);
        doctor_each(h, doctor_pci_path(path, address, below), take_first, out);
    }
}

bool doctor_pci_beside(const struct doctor_host *h, const char *address)
{
    char path[DOCTOR_PATH_BYTES];
    return doctor_exists(h, doctor_pci_path(path, address, "infiniband"));
}

static bool count_one(void *arg, const char *name)
{
    (void)name;
    ++*(unsigned *)arg;
    return true;
}

bool doctor_iommu_on(const struct doctor_host *h)
{
    unsigned n = 0;
    doctor_each(h, "/sys/class/iommu", count_one, &n);
    return n != 0;
}

bool doctor_noiommu(const struct doctor_host *h)
{
    char line[8];
    doctor_line(h, "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", line, sizeof(line));
    return line[0] == 'Y';
}

const char *doctor_wanted_driver(const struct doctor_host *h)
{
    return doctor_iommu_on(h) || doctor_noiommu(h) ? "vfio-pci" : "uio_pci_generic";
}

bool doctor_bound(const struct doctor_host *h, const char *address)
{
    char driver[DOCTOR_NAME_BYTES];
    doctor_pci_driver(h, address, driver);
    return pci_driver_is_user_space(driver);
}

// uses: what is looked for on the way from an interface down to the device.
struct search {
    const struct doctor_host *h;
    const char *address;
    const char *interface;
    unsigned depth;
    bool found;
};

static bool stands_on(const struct doctor_host *h, const char *interface, const char *address,
                      unsigned depth);

static bool look_lower(void *arg, const char *name)
{
    struct search *s = arg;
    if (strncmp(name, "lower_", 6) == 0)
        s->found = stands_on(s->h, name + 6, s->address, s->depth + 1);
    return !s->found;
}

static bool stands_on(const struct doctor_host *h, const char *interface, const char *address,
                      unsigned depth)
{
    char path[DOCTOR_PATH_BYTES], own[DOCTOR_NAME_BYTES];
    struct search s = {h, address, interface, depth, false};
    doctor_pci_interface(h, address, own);
    if (own[0] != '\0' && strcmp(own, interface) == 0)
        return true;
    if (depth == STACK_MAX)
        return false;
    snprintf(path, sizeof(path), "/sys/class/net/%.40s", interface);
    doctor_each(h, path, look_lower, &s);
    return s.found;
}

bool doctor_carries(const struct doctor_host *h, const char *address, char uses[DOCTOR_USES_BYTES])
{
    static struct doctor_uses all;
    size_t used = 0;
    uses[0] = '\0';
    doctor_uses_read(&all, h);
    for (unsigned i = 0; i < all.n; i++) {
        if (!stands_on(h, all.at[i].interface, address, 0) || used >= DOCTOR_USES_BYTES)
            continue;
        used += (size_t)snprintf(uses + used, DOCTOR_USES_BYTES - used, "%s%s over %s",
                                 used == 0 ? "" : ", ", all.at[i].what, all.at[i].interface);
    }
    if (used == 0 && all.incomplete)
        used =
            (size_t)snprintf(uses, DOCTOR_USES_BYTES, "perhaps one of too many sessions to list");
    return used != 0;
}
