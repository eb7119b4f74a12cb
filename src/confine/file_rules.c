// SPDX-License-Identifier: BSD-3-Clause
#include "confine/file_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"

// Later than the headers of Linux 6.1.
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

// By the version that brought them.
enum { VERSION_TRUNCATE = 3 };

#define OF_FILES    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE)
#define READ_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE_RIGHTS                                                                               \
    (READ_RIGHTS | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                 \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |  \
     LANDLOCK_ACCESS_FS_MAKE_SOCK)
#define NEVER                                                                                      \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_FIFO |    \
     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

static uint64_t truncating(const struct file_rules *r)
{
    return r->version >= VERSION_TRUNCATE ? LANDLOCK_ACCESS_FS_TRUNCATE : 0;
}

int file_rules_open(struct file_rules *r, struct err *err)
{
    const long version =
        syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    *r = (struct file_rules){.fd = -1, .version = version < 0 ? 0 : (int)version};
    if (r->version == 0)
        return 0;
    const struct landlock_ruleset_attr attr = {.handled_access_fs =
                                                   WRITE_RIGHTS | NEVER | truncating(r)};
    r->fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
    return r->fd >= 0 ? 0 : err_set(err, "Landlock: no rules: %s", strerror(errno));
}

int file_rules_allow(struct file_rules *r, const char *path, enum file_right right, struct err *err)
{
    struct stat st;
    const int at = r->fd < 0 || path[0] == '\0' ? -1 : open(path, O_PATH | O_CLOEXEC);
    if (at < 0)
        return 0;
    uint64_t rights = right == FILE_READ ? READ_RIGHTS : WRITE_RIGHTS | truncating(r);
    if (fstat(at, &st) == 0 && !S_ISDIR(st.st_mode))
        rights &= OF_FILES | truncating(r);
    const struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = at};
    const long rc = syscall(SYS_landlock_add_rule, r->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    const int why = errno;
    close(at);
    return rc == 0 ? 0 : err_set(err, "Landlock: %s: %s", path, strerror(why));
}

int file_rules_obey(struct file_rules *r, struct err *err)
{
    long rc = 0;
    if (r->fd >= 0 && (rc = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) == 0)
        rc = syscall(SYS_landlock_restrict_self, r->fd, 0);
    const int why = errno;
    file_rules_close(r);
    return rc == 0 ? 0 : err_set(err, "Landlock: %s", strerror(why));
}

void file_rules_close(struct file_rules *r)
{
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}
