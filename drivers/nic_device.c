// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/nic_device.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

enum { ALIAS_BYTES = 512 };

static bool read_line(const char *path, char *line, int bytes)
{
    FILE *f = fopen(path, "re");
    const bool got = f != NULL && fgets(line, bytes, f) != NULL;
    if (f != NULL)
        fclose(f);
    if (got)
        line[strcspn(line, "\n")] = '\0';
    return got;
}

// nic_of_device: the lines of the aliases file are "alias PATTERN MODULE".
const struct nic_profile *nic_of_device(const char *modalias_path, const char *aliases_path)
{
    char alias[ALIAS_BYTES], line[ALIAS_BYTES], pattern[ALIAS_BYTES], module[ALIAS_BYTES];
    const struct nic_profile *found = NULL;
    if (!read_line(modalias_path, alias, sizeof(alias)))
        return NULL;
    FILE *f = fopen(aliases_path, "re");
    while (f != NULL && found == NULL && fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "alias %511s %511s", pattern, module) == 2 &&
            fnmatch(pattern, alias, 0) == 0)
            found = nic_profile_of_module(module);
    if (f != NULL)
        fclose(f);
    return found;
}

const struct nic_profile *nic_of_address(const char *address)
{
    char modalias[PATH_MAX], aliases[PATH_MAX];
    struct utsname u;
    if (uname(&u) != 0)
        return NULL;
    snprintf(modalias, sizeof(modalias), "/sys/bus/pci/devices/%.40s/modalias", address);
    snprintf(aliases, sizeof(aliases), "/lib/modules/%s/modules.alias", u.release);
    return nic_of_device(modalias, aliases);
}
