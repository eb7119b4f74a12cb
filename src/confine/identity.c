// SPDX-License-Identifier: BSD-3-Clause
#include "confine/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PASSWD_BYTES = 4096, CAPABILITIES = 64 };

// look_up: returns whether there is such a user.
static bool look_up(struct identity *who, const char *user)
{
    struct passwd entry, *found = NULL;
    char room[PASSWD_BYTES];
    if (getpwnam_r(user, &entry, room, sizeof(room), &found) != 0 || found == NULL)
        return false;
    snprintf(who->name, sizeof(who->name), "%s", user);
    who->uid = found->pw_uid;
    who->gid = found->pw_gid;
    return true;
}

// permitted: the capabilities of the calling thread.
static uint64_t permitted(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    if (capget(&head, data) != 0)
        return 0;
    return (uint64_t)data[1].permitted << 32 | data[0].permitted;
}

int identity_find(struct identity *who, const char *user, struct err *err)
{
    const bool is_auto = strcmp(user, IDENTITY_AUTO) == 0;
    *who = (struct identity){.uid = geteuid(), .gid = getegid()};
    who->lowers = who->uid != 0 && permitted() != 0;
    if (is_auto && (who->uid != 0 || !look_up(who, IDENTITY_USER)))
        return 0;
    if (!is_auto && !look_up(who, user))
        return err_set(err, "there is no user %s", user);
    if (geteuid() != 0 && who->uid != geteuid())
        return err_set(err, "user %s: %s: only root can become another user", user,
                       strerror(EPERM));
    who->changes = who->uid != geteuid();
    return 0;
}

static int keep(uint64_t kept)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    const uint32_t low = (uint32_t)kept, high = (uint32_t)(kept >> 32);
    struct __user_cap_data_struct data[2] = {{low, low, 0}, {high, high, 0}};
    return capset(&head, data);
}

// The C library changes the user and the groups of all threads. Without PR_SET_KEEPCAPS, which is
// the calling thread's own, the kernel takes all capabilities away with the user 0.
int identity_take(const struct identity *who, uint64_t kept, struct err *err)
{
    if (who->changes &&
        (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || initgroups(who->name, who->gid) != 0 ||
         setresgid(who->gid, who->gid, who->gid) != 0 ||
         setresuid(who->uid, who->uid, who->uid) != 0))
        return err_set(err, "user %s: %s", who->name, strerror(errno));
    if (keep(kept & permitted()) != 0)
        return err_set(err, "capabilities: %s", strerror(errno));
    // The change of the user has made /proc/self root's.
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
        return err_set(err, "user %s: PR_SET_DUMPABLE: %s", who->name, strerror(errno));
    return 0;
}

void identity_no_capabilities(void)
{
    if (geteuid() != 0)  // root keeps what it has
        keep(0);         // giving up is always permitted
}

void identity_capabilities(uint64_t set, char *out, size_t bytes)
{
    size_t used = 0;
    snprintf(out, bytes, "none");
    for (int i = 0; i < CAPABILITIES && used < bytes; i++) {
        char *name = (set & UINT64_C(1) << i) == 0 ? NULL : cap_to_name(i);
        if (name == NULL)
            continue;
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", used == 0 ? "" : ", ", name);
        cap_free(name);
    }
}
