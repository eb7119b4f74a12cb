// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/pci_slot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 256, NO_VENDOR = 0xffff };

static const char *path_of(const struct pci_slot *s, const char *file, char out[PATH_BYTES])
{
    const char *folder = getenv("SYSFS_PCI_DEVICES");  // as DPDK's bus does
    snprintf(out, PATH_BYTES, "%s/%s/%s", folder != NULL ? folder : "/sys/bus/pci/devices",
             s->address, file);
    return out;
}

static ino_t driver_link(const struct pci_slot *s)
{
    char path[PATH_BYTES];
    struct stat st;
    return lstat(path_of(s, "driver", path), &st) == 0 ? st.st_ino : 0;
}

void pci_slot_take(struct pci_slot *s, const char *address)
{
    pci_address_full(address, s->address);
    s->driver_link = driver_link(s);
}

bool pci_slot_is_left(const struct pci_slot *s)
{
    return s->address[0] != '\0' && (s->driver_link == 0 || driver_link(s) != s->driver_link);
}

// open_config: the vendor ID of a virtual function always reads as ones (SR-IOV 1.1, 3.4.1.1). Its
// physical function's tells whether the device is there.
static int open_config(const struct pci_slot *s)
{
    char path[PATH_BYTES];
    const int fd = open(path_of(s, "physfn/config", path), O_RDONLY | O_CLOEXEC);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    return open(path_of(s, "config", path), O_RDONLY | O_CLOEXEC);
}

bool pci_slot_answers(const struct pci_slot *s)
{
    uint16_t vendor = NO_VENDOR;
    if (s->address[0] == '\0')
        return true;
    const int fd = open_config(s);
    if (fd < 0)
        return errno != ENOENT;  // without the right to look: believe that it is there
    const bool got = pread(fd, &vendor, sizeof(vendor), 0) == sizeof(vendor);
    close(fd);
    return got && vendor != NO_VENDOR;
}
