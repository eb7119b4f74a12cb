// SPDX-License-Identifier: BSD-3-Clause
// identity.h: as whom a server runs once its start, which needs root, is over, and what it keeps of
// root's rights.
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum { IDENTITY_NAME_BYTES = 64 };

#define IDENTITY_AUTO "auto"  // the user IDENTITY_USER if there is one, else root stays root
#define IDENTITY_USER "c10m"

// identity: changes: the process becomes that user. lowers: it stays who it is, another user than
// root, and gives up capabilities that its parent gave it.
struct identity {
    char name[IDENTITY_NAME_BYTES];
    uid_t uid;
    gid_t gid;
    bool changes, lowers;
};

// identity_find: whom `user` names. A process of another user than root can become nobody: it has
// to be that user, or `user` to be IDENTITY_AUTO. Returns 0, or -1 with *err.
int identity_find(struct identity *who, const char *user, struct err *err);

// identity_take: the process becomes `who`, with its groups. The calling thread keeps the
// capabilities `kept` (bit N is number N of <linux/capability.h>), as far as it has them. If the
// user changes, all other threads have none; otherwise each gives up its own. Files of the process
// in /proc, and its core dumps, belong to that user. Returns 0, or -1 with *err: then the process
// must end, for part of it may be done.
int identity_take(const struct identity *who, uint64_t kept, struct err *err);

// identity_no_capabilities: the calling thread gives up those that it has from the thread that
// created it.
void identity_no_capabilities(void);

// identity_capabilities: appends the names of a set, such as "net_admin, net_raw"; "none".
void identity_capabilities(uint64_t set, char *out, size_t bytes);
