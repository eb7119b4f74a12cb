// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_pci.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pci_driver.h"

enum {
    STACK_MAX = 8,        // interfaces above one another: a VLAN on a bond on a bridge
    VIRTIO_MAX = 64,      // devices of virtio, numbered over the whole machine
    FUNCTIONS_MAX = 256,  // virtual functions of a NIC
    OWNED_MAX = 512,      // interfaces of a NIC and of its virtual functions
};

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
    char *out = arg;
    if (out[0] == '\0')
        snprintf(out, DOCTOR_NAME_BYTES, "%s", name);
    return false;
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

bool doctor_pci_device_file(const struct doctor_host *h, const char *address,
                            char out[DOCTOR_PATH_BYTES])
{
    char path[DOCTOR_PATH_BYTES], driver[DOCTOR_NAME_BYTES], group[DOCTOR_NAME_BYTES] = "";
    doctor_pci_driver(h, address, driver);
    if (strcmp(driver, "vfio-pci") == 0 &&
        doctor_link(h, doctor_pci_path(path, address, "iommu_group"), group, sizeof(group))) {
        snprintf(out, DOCTOR_PATH_BYTES, "/dev/vfio/%s%s", doctor_iommu_on(h) ? "" : "noiommu-",
                 group);
        return true;
    }
    for (unsigned i = 0; i < 256; i++) {
        char file[DOCTOR_NAME_BYTES];
        snprintf(file, sizeof(file), "uio/uio%u", i);
        if (!doctor_exists(h, doctor_pci_path(path, address, file)))
            continue;
        snprintf(out, DOCTOR_PATH_BYTES, "/dev/uio%u", i);
        return true;
    }
    return false;
}

// each_interface: of the device; of a virtio device they are on a device below it. Until `each`
// returns false.
static void each_interface(const struct doctor_host *h, const char *address,
                           bool (*each)(void *arg, const char *name), void *arg)
{
    char path[DOCTOR_PATH_BYTES], below[DOCTOR_NAME_BYTES];
    doctor_each(h, doctor_pci_path(path, address, "net"), each, arg);
    for (unsigned i = 0; i < VIRTIO_MAX; i++) {
        snprintf(below, sizeof(below), "virtio%u/net", i);
        doctor_each(h, doctor_pci_path(path, address, below), each, arg);
    }
}

void doctor_pci_interface(const struct doctor_host *h, const char *address,
                          char out[DOCTOR_NAME_BYTES])
{
    out[0] = '\0';
    each_interface(h, address, take_first, out);
}

// ---- what goes over a device

// owned: the interfaces of a device and of its virtual functions, which go with it.
struct owned {
    const struct doctor_host *h;
    unsigned n;
    bool up;    // one of them is
    bool more;  // than have room here
    char name[OWNED_MAX][DOCTOR_INTERFACE_BYTES];
};

static bool is_up(const struct doctor_host *h, const char *interface)
{
    char path[DOCTOR_PATH_BYTES], state[32];
    snprintf(path, sizeof(path), "/sys/class/net/%.40s/operstate", interface);
    doctor_line(h, path, state, sizeof(state));
    return strcmp(state, "up") == 0 || strcmp(state, "unknown") == 0;
}

static bool own_one(void *arg, const char *name)
{
    struct owned *o = arg;
    o->up = o->up || is_up(o->h, name);
    o->more = o->n == OWNED_MAX;
    if (!o->more)
        snprintf(o->name[o->n++], sizeof(o->name[0]), "%s", name);
    return !o->more;
}

static void own_all(struct owned *o, const struct doctor_host *h, const char *address)
{
    o->h = h;
    o->n = 0;
    o->up = o->more = false;
    each_interface(h, address, own_one, o);
    for (unsigned i = 0; i < FUNCTIONS_MAX; i++) {
        char path[DOCTOR_PATH_BYTES], file[DOCTOR_NAME_BYTES], function[DOCTOR_NAME_BYTES];
        snprintf(file, sizeof(file), "virtfn%u", i);
        if (!doctor_link(h, doctor_pci_path(path, address, file), function, sizeof(function)))
            break;
        each_interface(h, function, own_one, o);
    }
}

// search: among what is below an interface.
struct search {
    const struct owned *owned;
    unsigned depth;
    bool found;
};

static bool stands_on(const struct owned *o, const char *interface, unsigned depth);

static bool look_lower(void *arg, const char *name)
{
    struct search *s = arg;
    if (strncmp(name, "lower_", 6) == 0)
        s->found = stands_on(s->owned, name + 6, s->depth + 1);
    return !s->found;
}

static bool stands_on(const struct owned *o, const char *interface, unsigned depth)
{
    char path[DOCTOR_PATH_BYTES];
    struct search s = {o, depth, false};
    for (unsigned i = 0; i < o->n; i++)
        if (strcmp(o->name[i], interface) == 0)
            return true;
    if (depth == STACK_MAX)
        return false;
    snprintf(path, sizeof(path), "/sys/class/net/%.40s", interface);
    doctor_each(o->h, path, look_lower, &s);
    return s.found;
}

// is_hidden: a driver of the kernel has the device, and there is no interface of it here.
static bool is_hidden(const struct doctor_host *h, const char *address, const struct owned *o)
{
    char driver[DOCTOR_NAME_BYTES];
    doctor_pci_driver(h, address, driver);
    return o->n == 0 && driver[0] != '\0' && strcmp(driver, "pci-stub") != 0 &&
           !pci_driver_is_user_space(driver);
}

bool doctor_carries(const struct doctor_host *h, const char *address, const struct doctor_uses *all,
                    char uses[DOCTOR_USES_BYTES])
{
    static struct owned owned;
    size_t used = 0;
    own_all(&owned, h, address);
    uses[0] = '\0';
    for (unsigned i = 0; i < all->n; i++) {
        const struct doctor_use *use = &all->at[i];
        const bool maybe = use->unseen && owned.up;
        if (used >= DOCTOR_USES_BYTES || (!maybe && !stands_on(&owned, use->interface, 0)))
            continue;
        used += (size_t)snprintf(uses + used, DOCTOR_USES_BYTES - used, "%s%s%s over %s%s",
                                 used == 0 ? "" : ", ", maybe ? "perhaps " : "", use->what,
                                 use->interface, maybe ? " (by which NIC is not known)" : "");
    }
    const char *perhaps = all->incomplete != NULL ? all->incomplete
                          : owned.more            ? "what its many functions do"
                          : is_hidden(h, address, &owned)
                              ? "an interface in another network namespace"
                              : NULL;
    if (used == 0 && perhaps != NULL)
        used = (size_t)snprintf(uses, DOCTOR_USES_BYTES, "perhaps %s", perhaps);
    return used != 0;
}
