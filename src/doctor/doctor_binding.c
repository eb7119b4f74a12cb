// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pci_driver.h"
#include "doctor/doctor_pci.h"
#include "doctor/doctor_rows.h"

enum { CLASS_NETWORK = 0x02, CLASS_BRIDGE = 0x06, CLASS_SHIFT = 16 };

#define DRIVERCTL_DIR "/etc/driverctl.d"

static bool no_nics(const struct doctor *d, struct doctor_finding *f)
{
    if (d->needs.n_nics == 0)
        doctor_say(f, DOCTOR_NONE, "no port of driver pci");
    return d->needs.n_nics == 0;
}

static bool is_there(const struct doctor *d, const struct doctor_nic *nic)
{
    char path[DOCTOR_PATH_BYTES];
    return doctor_exists(&d->host, doctor_pci_path(path, nic->address, ""));
}

// ---- IOMMU

// The firmware says in a table of ACPI that it offers one: DMAR is Intel's, IVRS is AMD's.
#define ACPI_TABLES "/sys/firmware/acpi/tables"

static bool is_amd(const struct doctor *d)
{
    char *cpuinfo = doctor_file(&d->host, "/proc/cpuinfo");
    const bool amd = cpuinfo != NULL && strstr(cpuinfo, "AuthenticAMD") != NULL;
    free(cpuinfo);
    return amd;
}

static void advise_iommu(const struct doctor *d, struct doctor_finding *f)
{
    const bool intel_offers = doctor_exists(&d->host, ACPI_TABLES "/DMAR");
    const bool amd_offers = doctor_exists(&d->host, ACPI_TABLES "/IVRS");
    const bool amd = amd_offers || (!intel_offers && is_amd(d));
    if (!intel_offers && !amd_offers)
        doctor_advise(f, "switch it on in the firmware (%s)", amd ? "AMD-Vi" : "VT-d");
    doctor_advise(f, "add to the boot line: %s iommu=pt", amd ? "amd_iommu=on" : "intel_iommu=on");
    doctor_advise(f, "then reboot, before the NIC is bound");
}

DOCTOR_LOOK(iommu)
{
    const bool on = doctor_iommu_on(&d->host);
    if (d->needs.n_nics == 0)
        doctor_say(f, DOCTOR_NONE, "%s; no port of driver pci", on ? "in use" : "none");
    else if (on)
        doctor_say(f, DOCTOR_OK, "in use");
    else if (doctor_noiommu(&d->host))
        doctor_say(f, DOCTOR_WARN,
                   "none: vfio-pci works without (enable_unsafe_noiommu_mode), "
                   "the NIC reaches all memory");
    else
        doctor_say(f, DOCTOR_WARN,
                   "none: only uio_pci_generic can bind a NIC, which then reaches "
                   "all memory");
    if (f->state == DOCTOR_WARN)
        advise_iommu(d, f);
}

// ---- vfio

static bool module_known(const struct doctor_host *h, const char *driver)
{
    char path[DOCTOR_PATH_BYTES], release[DOCTOR_NAME_BYTES], file[DOCTOR_NAME_BYTES];
    snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s", driver);
    if (doctor_exists(h, path))
        return true;
    doctor_line(h, "/proc/sys/kernel/osrelease", release, sizeof(release));
    snprintf(file, sizeof(file), "/%.40s.ko", driver);
    snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", release);
    char *modules = doctor_file(h, path);
    const bool known = modules != NULL && strstr(modules, file) != NULL;
    free(modules);
    return known;
}

// group: the other devices of an IOMMU group.
struct group {
    const struct doctor_host *h;
    const char *address;
    struct doctor_finding *f;
};

static unsigned class_of(const struct doctor_host *h, const char *address)
{
    char path[DOCTOR_PATH_BYTES], line[32];
    doctor_line(h, doctor_pci_path(path, address, "class"), line, sizeof(line));
    return (unsigned)strtoul(line, NULL, 16) >> CLASS_SHIFT;
}

static bool look_neighbor(void *arg, const char *address)
{
    const struct group *g = arg;
    char driver[DOCTOR_NAME_BYTES];
    doctor_pci_driver(g->h, address, driver);
    if (strcmp(address, g->address) == 0 || driver[0] == '\0' ||
        class_of(g->h, address) == CLASS_BRIDGE || strcmp(driver, "vfio-pci") == 0 ||
        strcmp(driver, "pci-stub") == 0)
        return true;
    doctor_say(g->f, DOCTOR_WARN, "%s is in the IOMMU group of %s and bound to %s", g->address,
               address, driver);
    doctor_advise(g->f, "unbind %s, or put the NIC into another slot", address);
    return true;
}

DOCTOR_LOOK(vfio)
{
    const char *driver = doctor_wanted_driver(&d->host);
    char path[DOCTOR_PATH_BYTES];
    if (no_nics(d, f))
        return;
    snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s", driver);
    if (doctor_exists(&d->host, path)) {
        doctor_say(f, DOCTOR_OK, "%s is loaded", driver);
    } else if (module_known(&d->host, driver)) {
        doctor_say(f, DOCTOR_WARN, "%s is not loaded", driver);
    } else {
        doctor_say(f, DOCTOR_WARN, "this kernel has no %s", driver);
        doctor_advise(f,
                      "install the kernel's modules (linux-image-amd64 has %s, the cloud kernel "
                      "and others may not)",
                      driver);
    }
    for (unsigned i = 0; i < d->needs.n_nics; i++) {
        const char *address = d->needs.nics[i].address;
        struct group g = {&d->host, address, f};
        doctor_each(&d->host, doctor_pci_path(path, address, "iommu_group/devices"), look_neighbor,
                    &g);
    }
}

DOCTOR_PLAN(vfio)
{
    const char *driver = doctor_wanted_driver(&d->host);
    if (d->needs.n_nics != 0 && module_known(&d->host, driver))
        doctor_changes_add(out, &d->host, DOCTOR_MODULE, driver, "");
}

// ---- which NIC Linux can do without

// uses_of: what Linux must not lose, read once for all NICs; until the next call.
static const struct doctor_uses *uses_of(const struct doctor *d)
{
    static struct doctor_uses all;
    doctor_uses_read(&all, &d->host);
    return &all;
}

// listed: the network devices of a machine without a port of driver pci.
struct listed {
    const struct doctor *d;
    const struct doctor_uses *all;
    struct doctor_finding *f;
};

static bool list_nic(void *arg, const char *address)
{
    const struct listed *l = arg;
    char interface[DOCTOR_NAME_BYTES], uses[DOCTOR_USES_BYTES];
    if (class_of(&l->d->host, address) != CLASS_NETWORK)
        return true;
    doctor_pci_interface(&l->d->host, address, interface);
    const bool carries = doctor_carries(&l->d->host, address, l->all, uses);
    doctor_say(l->f, DOCTOR_NONE, "%s (%s): %s%s", address,
               interface[0] == '\0' ? "no interface" : interface,
               carries ? "not free: " : "may be bound", uses);
    return true;
}

// has_routes: something else of Linux goes over it.
static void say_free(const struct doctor *d, const struct doctor_nic *nic,
                     const struct doctor_uses *all, struct doctor_finding *f)
{
    char interface[DOCTOR_NAME_BYTES], uses[DOCTOR_USES_BYTES], path[DOCTOR_PATH_BYTES], state[32];
    doctor_pci_interface(&d->host, nic->address, interface);
    if (doctor_pci_beside(&d->host, nic->address)) {
        doctor_say(f, DOCTOR_OK, "%s (port %s): %s stays Linux's", nic->address, nic->port,
                   interface);
        return;
    }
    if (doctor_carries(&d->host, nic->address, all, uses)) {
        doctor_say(f, d->force ? DOCTOR_WARN : DOCTOR_FAIL, "%s (port %s) carries %s", nic->address,
                   nic->port, uses);
        doctor_advise(f, "bound, %s is gone, and with it %s; --force takes it all the same",
                      interface[0] == '\0' ? "its interface" : interface, uses);
        return;
    }
    if (interface[0] == '\0') {
        doctor_say(f, DOCTOR_OK, "%s (port %s): Linux has no interface on it", nic->address,
                   nic->port);
        return;
    }
    snprintf(path, sizeof(path), "/sys/class/net/%s/operstate", interface);
    doctor_line(&d->host, path, state, sizeof(state));
    const bool up = strcmp(state, "up") == 0;
    doctor_say(f, up ? DOCTOR_WARN : DOCTOR_OK, "%s (port %s): %s is %s", nic->address, nic->port,
               interface, state[0] == '\0' ? "down" : state);
    if (up)
        doctor_advise(f,
                      "bound, %s is gone with its addresses, routes and connections; `undo` brings "
                      "the interface back, its addresses come from the network configuration",
                      interface);
}

DOCTOR_LOOK(nic_free)
{
    struct listed l = {d, uses_of(d), f};
    if (d->needs.n_nics == 0) {
        doctor_each(&d->host, "/sys/bus/pci/devices", list_nic, &l);
        if (f->value.len == 0)
            doctor_say(f, DOCTOR_NONE, "no network device on the PCI bus");
    }
    for (unsigned i = 0; i < d->needs.n_nics; i++)
        if (is_there(d, &d->needs.nics[i]))
            say_free(d, &d->needs.nics[i], l.all, f);
        else
            doctor_say(f, DOCTOR_NONE, "%s: no such device", d->needs.nics[i].address);
}

// ---- binding

// leaves_iommu: there is an IOMMU, and this driver, which was chosen without it, does not use it.
static bool leaves_iommu(const struct doctor *d, const char *driver)
{
    return doctor_iommu_on(&d->host) && pci_driver_is_user_space(driver) &&
           strcmp(driver, "vfio-pci") != 0;
}

static void say_driver(const struct doctor *d, const struct doctor_nic *nic,
                       struct doctor_finding *f)
{
    char driver[DOCTOR_NAME_BYTES];
    doctor_pci_driver(&d->host, nic->address, driver);
    const bool beside = doctor_pci_beside(&d->host, nic->address);
    if (!is_there(d, nic)) {
        doctor_say(f, DOCTOR_FAIL, "%s (port %s): there is no such PCI device (lspci -D)",
                   nic->address, nic->port);
        return;
    }
    if (leaves_iommu(d, driver)) {
        doctor_say(f, DOCTOR_WARN, "%s (port %s) is bound to %s, which does not use the IOMMU",
                   nic->address, nic->port, driver);
        doctor_advise(f, "once the row nic-boot is ok, the next boot binds it to vfio-pci");
        return;
    }
    doctor_say(f, beside || doctor_bound(&d->host, nic->address) ? DOCTOR_OK : DOCTOR_FAIL,
               "%s (port %s) is bound to %s", nic->address, nic->port,
               driver[0] == '\0' ? "no driver" : driver);
}

DOCTOR_LOOK(nic_driver)
{
    if (no_nics(d, f))
        return;
    for (unsigned i = 0; i < d->needs.n_nics; i++)
        say_driver(d, &d->needs.nics[i], f);
}

// may_bind: there is such a device, it is to be bound, and Linux can do without it.
static bool may_bind(const struct doctor *d, const struct doctor_nic *nic,
                     const struct doctor_uses *all)
{
    char uses[DOCTOR_USES_BYTES];
    return is_there(d, nic) && !doctor_pci_beside(&d->host, nic->address) &&
           (d->force || !doctor_carries(&d->host, nic->address, all, uses));
}

DOCTOR_PLAN(nic_driver)
{
    const char *driver = doctor_wanted_driver(&d->host);
    char path[DOCTOR_PATH_BYTES], value[2 * DOCTOR_NAME_BYTES];
    if (!module_known(&d->host, driver))
        return;
    const struct doctor_uses *all = uses_of(d);
    snprintf(value, sizeof(value), "%s %s", driver, driver);
    for (unsigned i = 0; i < d->needs.n_nics; i++) {
        const struct doctor_nic *nic = &d->needs.nics[i];
        if (!may_bind(d, nic, all) || doctor_bound(&d->host, nic->address))
            continue;
        doctor_changes_add(out, &d->host, DOCTOR_MODULE, driver, "");
        doctor_changes_add(out, &d->host, DOCTOR_DRIVER, doctor_pci_path(path, nic->address, ""),
                           value);
    }
}

// ---- at boot

static void saved_path(char out[DOCTOR_PATH_BYTES], const struct doctor_nic *nic)
{
    snprintf(out, DOCTOR_PATH_BYTES, DRIVERCTL_DIR "/pci-%s", nic->address);
}

static bool has_driverctl(const struct doctor *d)
{
    return doctor_exists(&d->host, "/usr/sbin/driverctl") ||
           doctor_exists(&d->host, "/usr/bin/driverctl");
}

// say_saved: the driver that driverctl has saved for the device; "" if none.
static void say_saved(const struct doctor *d, const char *address, const char *saved,
                      struct doctor_finding *f)
{
    if (!has_driverctl(d) || !pci_driver_is_user_space(saved))
        doctor_say(f, DOCTOR_WARN, "%s: no saved binding", address);
    else if (leaves_iommu(d, saved))
        doctor_say(f, DOCTOR_WARN, "%s: driverctl binds it to %s, which does not use the IOMMU",
                   address, saved);
    else
        doctor_say(f, DOCTOR_OK, "%s: driverctl binds it to %s", address, saved);
}

DOCTOR_LOOK(nic_boot)
{
    char path[DOCTOR_PATH_BYTES], saved[DOCTOR_NAME_BYTES];
    if (no_nics(d, f))
        return;
    for (unsigned i = 0; i < d->needs.n_nics; i++) {
        const struct doctor_nic *nic = &d->needs.nics[i];
        if (doctor_pci_beside(&d->host, nic->address)) {
            doctor_say(f, DOCTOR_OK, "%s stays with its driver", nic->address);
            continue;
        }
        saved_path(path, nic);
        doctor_line(&d->host, path, saved, sizeof(saved));
        say_saved(d, nic->address, saved, f);
    }
    if (f->state == DOCTOR_WARN && !has_driverctl(d))
        doctor_advise(f,
                      "apt install driverctl, then again; or run dpdk-devbind.py "
                      "--bind=%s before the server at each boot (ExecStartPre=+)",
                      doctor_wanted_driver(&d->host));
}

DOCTOR_PLAN(nic_boot)
{
    char path[DOCTOR_PATH_BYTES], text[DOCTOR_NAME_BYTES];
    if (!has_driverctl(d))
        return;
    const struct doctor_uses *all = uses_of(d);
    for (unsigned i = 0; i < d->needs.n_nics; i++) {
        const struct doctor_nic *nic = &d->needs.nics[i];
        if (!may_bind(d, nic, all))
            continue;
        saved_path(path, nic);
        snprintf(text, sizeof(text), "%s\n", doctor_wanted_driver(&d->host));
        doctor_changes_add_dir(out, &d->host, DRIVERCTL_DIR);
        doctor_changes_add(out, &d->host, DOCTOR_FILE, path, text);
    }
}
