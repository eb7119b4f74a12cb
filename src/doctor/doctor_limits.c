// SPDX-License-Identifier: BSD-3-Clause
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/doctor_rows.h"
#include "mem/ledger.h"

enum {
    CAP_IPC_LOCK_BIT = 14,  // linux/capability.h: no limit of locked memory
    FILES_ENOUGH = 1024,
};

// limit_of: the soft limit of this process, as of a server that is started from the same place.
// False: it is not known. *out UINT64_MAX: unlimited.
static bool limit_of(const struct doctor *d, const char *name, uint64_t *out)
{
    char *text = doctor_file(&d->host, "/proc/self/limits");
    const char *line = text == NULL ? NULL : strstr(text, name);
    bool known = line != NULL;
    if (known) {
        line += strlen(name);
        line += strspn(line, " ");
        if (strncmp(line, "unlimited", 9) == 0)
            *out = UINT64_MAX;
        else
            known = sscanf(line, "%" SCNu64, out) == 1;
    }
    free(text);
    return known;
}

static bool may_lock_all(const struct doctor *d)
{
    char *text = doctor_file(&d->host, "/proc/self/status");
    const char *line = text == NULL ? NULL : strstr(text, "\nCapEff:");
    const uint64_t caps = line == NULL ? 0 : strtoull(line + strlen("\nCapEff:"), NULL, 16);
    free(text);
    return (caps >> CAP_IPC_LOCK_BIT & 1) != 0;
}

DOCTOR_LOOK(memlock)
{
    uint64_t limit;
    char a[2][LEDGER_GROUPED_BYTES];
    if (d->needs.n_nics == 0)
        doctor_say(f, DOCTOR_NONE, "no port of driver pci");
    else if (may_lock_all(d))
        doctor_say(f, DOCTOR_OK, "no limit for this user (CAP_IPC_LOCK)");
    else if (!limit_of(d, "Max locked memory", &limit))
        doctor_say(f, DOCTOR_UNKNOWN, "/proc/self/limits does not say");
    else if (limit == UINT64_MAX)
        doctor_say(f, DOCTOR_OK, "unlimited");
    else if (limit >= d->needs.packet_bytes)
        doctor_say(f, DOCTOR_OK, "%s bytes", ledger_grouped(a[0], limit));
    else
        doctor_say(f, DOCTOR_WARN, "%s bytes, and DPDK's memory has %s",
                   ledger_grouped(a[0], limit), ledger_grouped(a[1], d->needs.packet_bytes));
    if (f->state == DOCTOR_WARN)
        doctor_advise(f, "LimitMEMLOCK=infinity in the unit of systemd, or ulimit -l unlimited "
                         "before the start");
}

DOCTOR_LOOK(nofile)
{
    uint64_t limit;
    if (!limit_of(d, "Max open files", &limit))
        doctor_say(f, DOCTOR_UNKNOWN, "/proc/self/limits does not say");
    else if (limit == UINT64_MAX)
        doctor_say(f, DOCTOR_OK, "unlimited");
    else
        doctor_say(f, limit >= FILES_ENOUGH ? DOCTOR_OK : DOCTOR_WARN, "%" PRIu64, limit);
    if (f->state == DOCTOR_WARN)
        doctor_advise(f, "LimitNOFILE=%d in the unit of systemd, or ulimit -n %d before the start",
                      FILES_ENOUGH, FILES_ENOUGH);
}
