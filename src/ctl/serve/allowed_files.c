// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/serve/allowed_files.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

// Of a tap port and of a NIC the devices are opened again; names of threads are written to /proc.
static const char *const writable[] = {"/dev", "/proc"};

// Of symbols for profiles: the program, libraries and their debugging information. /run/dpdk: EAL
// looks for secondary processes when a device is opened again.
static const char *const readable[] = {"/usr", "/lib", "/lib64", "/etc", "/sys", "/run/dpdk"};

static int allow_list(struct file_rules *r, const char *const *paths, unsigned n,
                      enum file_right right, struct err *err)
{
    int rc = 0;
    for (unsigned i = 0; i < n && rc == 0; i++)
        rc = file_rules_allow(r, paths[i], right, err);
    return rc;
}

// allow_around: the directory that the file is in: it may be replaced by another one.
static int allow_around(struct file_rules *r, const char *file, enum file_right right,
                        struct err *err)
{
    char path[PATH_MAX];
    if (file == NULL || file[0] == '\0')
        return 0;
    snprintf(path, sizeof(path), "%s", file);
    return file_rules_allow(r, dirname(path), right, err);
}

// allow_root: a directory whose files are read again by a reload. Where a deployment replaces it by
// another directory, or is a link that changes, the directory around it is what stays. Not "/":
// then all files would be allowed.
static int allow_root(struct file_rules *r, const char *root, struct err *err)
{
    char path[PATH_MAX], real[PATH_MAX];
    snprintf(path, sizeof(path), "%s", root);
    if (root[0] == '\0' || file_rules_allow(r, root, FILE_READ, err) != 0)
        return root[0] == '\0' ? 0 : -1;
    const char *around = dirname(path);
    if (strcmp(around, "/") != 0 && file_rules_allow(r, around, FILE_READ, err) != 0)
        return -1;
    if (realpath(root, real) == NULL)
        return 0;
    around = dirname(real);
    return strcmp(around, "/") == 0 ? 0 : file_rules_allow(r, around, FILE_READ, err);
}

// allow_hosts: the last word of each `host` line is a root, or "-".
static int allow_hosts(struct file_rules *r, const char *lines, struct err *err)
{
    char text[CONF_WEB_BYTES], *save = NULL;
    int rc = 0;
    snprintf(text, sizeof(text), "%s", lines);
    for (char *line = strtok_r(text, "\n", &save); line != NULL && rc == 0;
         line = strtok_r(NULL, "\n", &save)) {
        const char *root = line + strlen(line);
        while (root > line && root[-1] != ' ' && root[-1] != '\t')
            root--;
        if (root[0] == '/')
            rc = allow_root(r, root, err);
    }
    return rc;
}

static int allow_program(struct file_rules *r, struct err *err)
{
    char path[PATH_MAX] = "";
    const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[n < 0 ? 0 : n] = '\0';
    return file_rules_allow(r, path, FILE_READ, err);
}

static int allow_service(struct file_rules *r, const struct conf_service *s, struct err *err)
{
    if (allow_root(r, s->root, err) != 0 || allow_hosts(r, s->host, err) != 0 ||
        allow_around(r, s->mime_types, FILE_READ, err) != 0)
        return -1;
    return allow_around(r, s->access_log, FILE_WRITE, err);
}

static int allow_all(struct file_rules *r, const struct conf *c, const char *file, struct err *err)
{
    int rc = allow_list(r, writable, ARRAY_LEN(writable), FILE_WRITE, err);
    if (rc == 0)
        rc = allow_list(r, readable, ARRAY_LEN(readable), FILE_READ, err);
    if (rc == 0)
        rc = file_rules_allow(r, c->control.run_dir, FILE_WRITE, err);
    if (rc == 0)
        rc = allow_program(r, err);
    if (rc == 0)
        rc = allow_around(r, file, FILE_READ, err);
    if (rc == 0)
        rc = allow_around(r, c->control.http_token_file, FILE_READ, err);
    if (rc == 0 && c->control.log[0] == '/')
        rc = allow_around(r, c->control.log, FILE_WRITE, err);
    for (unsigned i = 0; i < c->n_services && rc == 0; i++)
        rc = allow_service(r, &c->services[i], err);
    return rc;
}

int allowed_files(struct file_rules *r, const struct conf *c, const char *file, struct err *err)
{
    if (file_rules_open(r, err) != 0)
        return -1;
    if (allow_all(r, c, file, err) == 0)
        return 0;
    file_rules_close(r);
    return -1;
}
