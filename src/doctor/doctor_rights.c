// SPDX-License-Identifier: BSD-3-Clause
// doctor_rights.c: as whom a server runs, what the kernel must let it do, and what confines it.
#include <inttypes.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confine/file_rules.h"
#include "confine/identity.h"
#include "doctor/doctor_rows.h"
#include "drivers/port_rights.h"

enum { CAPS_TEXT_BYTES = 256 };

#define CAP(name) (UINT64_C(1) << CAP_##name)

// user_there: in the machine's list, or where else this machine finds users.
static bool user_there(const struct doctor *d, const char *user, unsigned *uid)
{
    char entry[IDENTITY_NAME_BYTES + 2];
    char *text = doctor_file(&d->host, "/etc/passwd");
    snprintf(entry, sizeof(entry), "%s:", user);
    const char *line = text;
    while (line != NULL && strncmp(line, entry, strlen(entry)) != 0)
        line = (line = strchr(line, '\n')) == NULL ? NULL : line + 1;
    bool there = line != NULL && sscanf(line + strlen(entry), "%*[^:]:%u", uid) == 1;
    free(text);
    const struct passwd *found = there || d->host.root[0] != '\0' ? NULL : getpwnam(user);
    if (found != NULL)
        *uid = found->pw_uid;
    return there || found != NULL;
}

DOCTOR_LOOK(user)
{
    const char *asked = d->needs.user;
    const bool is_auto = strcmp(asked, IDENTITY_AUTO) == 0;
    const char *name = is_auto ? IDENTITY_USER : asked;
    unsigned uid = 0;
    if (user_there(d, name, &uid)) {
        doctor_say(f, DOCTOR_OK, "%s (%u)", name, uid);
        return;
    }
    doctor_say(f, is_auto ? DOCTOR_WARN : DOCTOR_FAIL, "there is no user %s%s", name,
               is_auto ? ": a server that root starts stays root" : "");
    doctor_advise(f, "useradd --system --no-create-home --shell /usr/sbin/nologin %s", name);
}

// field: a set of capabilities of this process, as of a server that is started from the same place.
// False: it is not known.
static bool field(const struct doctor *d, const char *name, uint64_t *out)
{
    char *text = doctor_file(&d->host, "/proc/self/status");
    const char *line = text == NULL ? NULL : strstr(text, name);
    const bool known = line != NULL && sscanf(line + strlen(name), "%" SCNx64, out) == 1;
    free(text);
    return known;
}

// needed_by: to open the device. A TAP that exists already needs none.
static uint64_t needed_by(const struct server_port_params *p)
{
    const struct port_params *inner = server_inner_port(p);
    const struct port_rights *r = port_rights_of(inner->driver);
    return r == NULL || inner->attach ? 0 : r->capabilities;
}

DOCTOR_LOOK(capabilities)
{
    const struct server_params *p = d->needs.params;
    char list[CAPS_TEXT_BYTES];
    uint64_t have, need = p->pages == PAGES_NONE ? 0 : CAP(SYS_ADMIN);
    for (unsigned i = 0; i < p->n_ports; i++)
        need |= needed_by(&p->ports[i]);
    if (!field(d, "\nCapEff:", &have)) {
        doctor_say(f, DOCTOR_UNKNOWN, "/proc/self/status does not say");
        return;
    }
    identity_capabilities(need & ~have, list, sizeof(list));
    if ((need & ~have) != 0) {
        doctor_say(f, DOCTOR_WARN, "this process lacks %s", list);
        doctor_advise(f, "start the server as root or by c10m@NAME; in a container: --cap-add");
        return;
    }
    identity_capabilities(need, list, sizeof(list));
    doctor_say(f, DOCTOR_OK, "needed: %s", list);
}

static void look_seccomp(const struct doctor *d, struct doctor_finding *f)
{
    char actions[DOCTOR_LINE_BYTES];
    doctor_line(&d->host, "/proc/sys/kernel/seccomp/actions_avail", actions, sizeof(actions));
    if (!d->needs.seccomp)
        doctor_say(f, DOCTOR_OK, "seccomp = off");
    else if (strstr(actions, "trap") != NULL)
        doctor_say(f, DOCTOR_OK, "seccomp");
    else
        doctor_say(f, DOCTOR_WARN, "this kernel has no seccomp: calls are not filtered");
}

// landlock_version: of the kernel's Landlock; 0: none.
static int landlock_version(const struct doctor *d)
{
    struct file_rules r;
    struct err err;
    char lsm[DOCTOR_LINE_BYTES];
    if (d->host.root[0] == '\0' && file_rules_open(&r, &err) == 0) {
        file_rules_close(&r);
        return r.version;
    }
    doctor_line(&d->host, "/sys/kernel/security/lsm", lsm, sizeof(lsm));
    return strstr(lsm, "landlock") != NULL;
}

static void look_landlock(const struct doctor *d, struct doctor_finding *f)
{
    const int version = landlock_version(d);
    if (!d->needs.landlock)
        doctor_say(f, DOCTOR_OK, "landlock = off");
    else if (version > 0)
        doctor_say(f, DOCTOR_OK, "Landlock %d", version);
    else {
        doctor_say(f, DOCTOR_WARN, "this kernel has no Landlock: files are not guarded");
        doctor_advise(f, "the word lsm= of the boot line, which has to contain landlock");
    }
}

// A profile is that of the process that started this one, as a container's.
static void look_modules(const struct doctor *d, struct doctor_finding *f)
{
    char label[DOCTOR_LINE_BYTES], on[DOCTOR_LINE_BYTES];
    uint64_t enforces = 0;
    doctor_line(&d->host, "/sys/module/apparmor/parameters/enabled", on, sizeof(on));
    doctor_line(&d->host, "/proc/self/attr/current", label, sizeof(label));
    if (on[0] == 'Y' && label[0] != '\0' && strcmp(label, "unconfined") != 0) {
        doctor_say(f, DOCTOR_WARN,
                   "AppArmor confines this process by the profile %.80s: mounts "
                   "may be refused",
                   label);
        doctor_advise(f, "in a container: --security-opt apparmor=unconfined");
    }
    if (doctor_number(&d->host, "/sys/fs/selinux/enforce", &enforces) && enforces != 0) {
        doctor_say(f, DOCTOR_UNKNOWN, "SELinux enforces, with which c10m was not tried");
        doctor_advise(f, "if something is refused: ausearch -m avc; in a container: "
                         "--security-opt label=disable");
    }
}

DOCTOR_LOOK(confinement)
{
    look_seccomp(d, f);
    look_landlock(d, f);
    look_modules(d, f);
}
