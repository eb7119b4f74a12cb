// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_boot.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem/page_supply.h"

// next_word: the next blank-separated word of *at. False: there is none.
static bool next_word(const char **at, char *out, size_t room)
{
    *at += strspn(*at, " \t\n");
    const size_t len = strcspn(*at, " \t\n");
    snprintf(out, room, "%.*s", (int)MIN(len, room - 1), *at);
    *at += len;
    return len != 0;
}

// value_of: what follows "NAME=" in the word, or NULL.
static const char *value_of(const char *word, const char *name)
{
    const size_t len = strlen(name);
    return strncmp(word, name, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

bool doctor_boot_word(const struct doctor_host *h, const char *name, char *out, size_t room)
{
    char line[DOCTOR_LINE_BYTES], word[DOCTOR_LINE_BYTES];
    const char *at = line;
    bool found = false;
    out[0] = '\0';
    doctor_line(h, "/proc/cmdline", line, sizeof(line));
    while (next_word(&at, word, sizeof(word))) {
        const char *value = value_of(word, name);
        if (value != NULL)
            snprintf(out, room, "%s", value);
        found = found || value != NULL;
    }
    return found;
}

void doctor_boot_cpus(const struct doctor_host *h, const char *name, struct doctor_cpus *out)
{
    char value[DOCTOR_LINE_BYTES];
    const char *at = value;
    doctor_boot_word(h, name, value, sizeof(value));
    while (isalpha((unsigned char)*at)) {
        at += strcspn(at, ",");
        at += *at == ',';
    }
    if (!doctor_cpus_parse_list(out, at))
        *out = (struct doctor_cpus){0};
}

// size_of: "2M", "1G".
static uint64_t size_of(const char *text)
{
    char *end;
    const uint64_t n = strtoull(text, &end, 10);
    const char unit = (char)toupper((unsigned char)*end);
    return unit == 'G' ? n << 30 : unit == 'M' ? n << 20 : unit == 'K' ? n << 10 : n;
}

// by_node: "512", or "0:256,1:256".
static uint64_t by_node(const char *text)
{
    uint64_t sum = 0;
    if (strchr(text, ':') == NULL)
        return strtoull(text, NULL, 10);
    while ((text = strchr(text, ':')) != NULL)
        sum += strtoull(++text, NULL, 10);
    return sum;
}

// hugepages= is of the size that hugepagesz= before it says, else of the default size.
static uint64_t on_command_line(const struct doctor_host *h, size_t page_bytes)
{
    char line[DOCTOR_LINE_BYTES], word[DOCTOR_LINE_BYTES], usual[32];
    const char *at = line, *value;
    uint64_t size = PAGE_2M, pages = 0;
    if (doctor_boot_word(h, "default_hugepagesz", usual, sizeof(usual)))
        size = size_of(usual);
    doctor_line(h, "/proc/cmdline", line, sizeof(line));
    while (next_word(&at, word, sizeof(word))) {
        if ((value = value_of(word, "hugepagesz")) != NULL)
            size = size_of(value);
        else if ((value = value_of(word, "hugepages")) != NULL && size == page_bytes)
            pages = by_node(value);
    }
    return pages;
}

// settings: the files of one folder, by name.
struct settings {
    const struct doctor_host *h;
    const char *dir;
    size_t page_bytes;
    uint64_t pages;
};

static void sysctl_line(struct settings *s, const char *line)
{
    char key[64], value[32];
    if (sscanf(line, " %63[a-z_./] = %31[0-9]", key, value) == 2 && s->page_bytes == PAGE_2M &&
        (strcmp(key, "vm.nr_hugepages") == 0 || strcmp(key, "vm/nr_hugepages") == 0))
        s->pages = strtoull(value, NULL, 10);
}

static void tmpfiles_line(struct settings *s, const char *line)
{
    char path[DOCTOR_PATH_BYTES], want[64];
    unsigned long long pages;
    snprintf(want, sizeof(want), "/hugepages-%zukB/nr_hugepages", s->page_bytes / 1024);
    if (sscanf(line, " w%*[!+-] %511s %*s %*s %*s %*s %llu", path, &pages) != 2 &&
        sscanf(line, " w %511s %*s %*s %*s %*s %llu", path, &pages) != 2)
        return;
    if (strncmp(path, "/sys/", 5) == 0 && strstr(path, want) != NULL)
        s->pages += pages;
}

static void each_line(struct settings *s, const char *path,
                      void (*line)(struct settings *s, const char *line))
{
    char *text = doctor_file(s->h, path), *save = NULL;
    for (char *at = text == NULL ? NULL : strtok_r(text, "\n", &save); at != NULL;
         at = strtok_r(NULL, "\n", &save))
        line(s, at);
    free(text);
}

static bool is_conf(const char *name)
{
    const size_t len = strlen(name);
    return len > 5 && strcmp(name + len - 5, ".conf") == 0;
}

static bool sysctl_file(void *arg, const char *name)
{
    struct settings *s = arg;
    char path[DOCTOR_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%.200s", s->dir, name);
    if (is_conf(name))
        each_line(s, path, sysctl_line);
    return true;
}

static bool tmpfiles_file(void *arg, const char *name)
{
    struct settings *s = arg;
    char path[DOCTOR_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%.200s", s->dir, name);
    if (is_conf(name))
        each_line(s, path, tmpfiles_line);
    return true;
}

uint64_t doctor_boot_pages(const struct doctor_host *h, size_t page_bytes,
                           char from[DOCTOR_PATH_BYTES])
{
    static const char *const sysctls[] = {"/usr/lib/sysctl.d", "/etc/sysctl.d"};
    struct settings sysctl = {h, NULL, page_bytes, 0};
    struct settings tmpfiles = {h, "/etc/tmpfiles.d", page_bytes, 0};
    for (unsigned i = 0; i < ARRAY_LEN(sysctls); i++) {
        sysctl.dir = sysctls[i];
        doctor_each(h, sysctl.dir, sysctl_file, &sysctl);
    }
    each_line(&sysctl, "/etc/sysctl.conf", sysctl_line);
    doctor_each(h, tmpfiles.dir, tmpfiles_file, &tmpfiles);
    const uint64_t line = on_command_line(h, page_bytes);
    const uint64_t most = MAX(line, MAX(sysctl.pages, tmpfiles.pages));
    snprintf(from, DOCTOR_PATH_BYTES, "%s",
             most == 0                ? "nothing"
             : most == line           ? "the boot line"
             : most == tmpfiles.pages ? "tmpfiles.d"
                                      : "sysctl.d");
    return most;
}
