// SPDX-License-Identifier: BSD-3-Clause
// doctor_value.c: reads and writes the places that changes are about, kind by kind.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "doctor/doctor_change.h"
#include "doctor/doctor_cpus.h"
#include "doctor/doctor_pci.h"
#include "doctor/doctor_process.h"

enum { NAME_BYTES = 64, VALUE_BYTES = 2 * NAME_BYTES + 2 };

static void read_mask(const struct doctor_host *h, const char *path,
                      char out[DOCTOR_CPUS_TEXT_BYTES])
{
    struct doctor_cpus set;
    doctor_line(h, path, out, DOCTOR_CPUS_TEXT_BYTES);
    if (doctor_cpus_parse_mask(&set, out))
        doctor_cpus_mask(&set, out);
}

// "ixgbe -": bound to ixgbe, no override.
static void read_driver(const struct doctor_host *h, const char *device, char out[VALUE_BYTES])
{
    char path[DOCTOR_PATH_BYTES + 32], driver[NAME_BYTES], override[NAME_BYTES];
    snprintf(path, sizeof(path), "%s/driver", device);
    doctor_link(h, path, driver, sizeof(driver));
    snprintf(path, sizeof(path), "%s/driver_override", device);
    doctor_line(h, path, override, sizeof(override));
    const bool none = override[0] == '\0' || strcmp(override, "(null)") == 0;
    snprintf(out, VALUE_BYTES, "%s %s", driver[0] == '\0' ? "-" : driver, none ? "-" : override);
}

static bool module_loaded(const struct doctor_host *h, const char *name)
{
    char path[DOCTOR_PATH_BYTES];
    snprintf(path, sizeof(path), "/sys/module/%.100s", name);
    for (char *c = path; *c != '\0'; c++)
        *c = *c == '-' ? '_' : *c;  // as the kernel writes it
    return doctor_exists(h, path);
}

char *doctor_value_read(const struct doctor_host *h, enum doctor_change_kind kind, const char *path)
{
    char line[DOCTOR_LINE_BYTES] = "";
    static_assert((int)DOCTOR_LINE_BYTES >= (int)DOCTOR_CPUS_TEXT_BYTES, "a mask is a line");
    if (kind == DOCTOR_FILE)
        return doctor_file(h, path);
    if (kind == DOCTOR_MODULE)
        return module_loaded(h, path) ? strdup("") : NULL;
    if (!doctor_exists(h, path))
        return NULL;
    if (kind == DOCTOR_LINE)
        doctor_line(h, path, line, sizeof(line));
    else if (kind == DOCTOR_CHOICE)
        doctor_word(h, path, line, sizeof(line));
    else if (kind == DOCTOR_MASK)
        read_mask(h, path, line);
    else if (kind == DOCTOR_DRIVER)
        read_driver(h, path, line);
    return strdup(line);
}

static int put(const struct doctor_host *h, const char *path, const char *text, struct err *err)
{
    const int rc = h->write(h, path, text);
    return rc == 0 ? 0 : err_set(err, "%s: \"%s\": %s", path, text, strerror(-rc));
}

static int write_dir(const struct doctor_host *h, const char *path, bool there, struct err *err)
{
    char at[DOCTOR_PATH_BYTES];
    doctor_path(h, at, "%s", path);
    if ((there ? mkdir(at, 0755) : rmdir(at)) == 0 && (!there || chmod(at, 0755) == 0))
        return 0;  // whatever the umask is: daemons read what lies there
    return err_set(err, "%s: %s", path, strerror(errno));
}

static int write_module(const struct doctor_host *h, const char *name, bool there, struct err *err)
{
    const char *const load[] = {"modprobe", name, NULL};
    const char *const unload[] = {"modprobe", "-r", name, NULL};
    return h->run(h, there ? load : unload, err);
}

// check_free: no process holds the device: the kernel would let us wait until it ends.
static int check_free(const struct doctor_host *h, const char *address, struct err *err)
{
    char file[DOCTOR_PATH_BYTES], comm[DOCTOR_COMM_BYTES];
    bool hidden = false;
    const long pid =
        doctor_pci_device_file(h, address, file) ? doctor_process_holds(h, file, &hidden) : 0;
    if (pid == 0)
        return 0;
    doctor_process_comm(h, pid, comm);
    return err_set(err, "%s: %s (process %ld) holds %s: stop it first", address, comm, pid, file);
}

// The override first: with it only this driver takes the device.
static int write_driver(const struct doctor_host *h, const char *device, const char *value,
                        struct err *err)
{
    char driver[NAME_BYTES], override[NAME_BYTES], now[NAME_BYTES], path[DOCTOR_PATH_BYTES + 64];
    const char *address = strrchr(device, '/');
    if (address == NULL || sscanf(value, "%63s %63s", driver, override) != 2)
        return err_set(err, "%s: \"%s\": DRIVER OVERRIDE was expected", device, value);
    address++;
    if (check_free(h, address, err) != 0)
        return -1;
    snprintf(path, sizeof(path), "%s/driver_override", device);
    if (put(h, path, strcmp(override, "-") == 0 ? "\n" : override, err) != 0)
        return -1;
    snprintf(path, sizeof(path), "%s/driver", device);
    doctor_link(h, path, now, sizeof(now));
    if (strcmp(now[0] == '\0' ? "-" : now, driver) == 0)
        return 0;
    snprintf(path, sizeof(path), "%s/driver/unbind", device);
    if (now[0] != '\0' && put(h, path, address, err) != 0)
        return -1;
    if (strcmp(driver, "-") == 0)
        return 0;
    snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/bind", driver);
    return put(h, path, address, err);
}

// Only one that runs: an operator may have stopped it since.
static int restart(const struct doctor_host *h, const char *service, struct err *err)
{
    const char *const argv[] = {"systemctl", "try-restart", service, NULL};
    return service[0] == '\0' ? 0 : h->run(h, argv, err);
}

int doctor_value_write(const struct doctor_host *h, const struct doctor_change *c,
                       const char *value, struct err *err)
{
    switch (c->kind) {
    case DOCTOR_FILE:
        if (h->replace(h, c->path, value, err) != 0)
            return -1;
        return restart(h, c->restart, err);
    case DOCTOR_DIR:
        return write_dir(h, c->path, value != NULL, err);
    case DOCTOR_MODULE:
        return write_module(h, c->path, value != NULL, err);
    case DOCTOR_DRIVER:
        return write_driver(h, c->path, value == NULL ? "- -" : value, err);
    default:
        return put(h, c->path, value == NULL ? "" : value, err);
    }
}
