// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "doctor/doctor_disk.h"

static int write_file(const struct doctor_host *h, const char *path, const char *text)
{
    char at[DOCTOR_PATH_BYTES];
    const int fd = open(doctor_path(h, at, "%s", path), O_WRONLY | O_CLOEXEC | O_TRUNC);
    if (fd < 0)
        return -errno;
    const int rc = io_write_all(fd, text, strlen(text));
    close(fd);
    return rc;
}

static int replace_file(const struct doctor_host *h, const char *path, const char *text,
                        struct err *err)
{
    char at[DOCTOR_PATH_BYTES];
    return doctor_disk_replace(doctor_path(h, at, "%s", path), text, err);
}

// spawn: the program as the system has it, whatever PATH and other variables say that came with the
// operator's shell (MODPROBE_OPTIONS names another configuration).
static int spawn(pid_t *pid, const char *const *argv)
{
    static const char *const dirs[] = {"/usr/sbin", "/usr/bin", "/sbin", "/bin"};
    static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C";
    char *const environment[] = {path, locale, NULL};
    int rc = ENOENT;
    for (unsigned i = 0; i < ARRAY_LEN(dirs) && rc == ENOENT; i++) {
        char program[DOCTOR_PATH_BYTES];
        snprintf(program, sizeof(program), "%s/%s", dirs[i], argv[0]);
        rc = posix_spawn(pid, program, NULL, NULL, (char *const *)(uintptr_t)argv, environment);
    }
    return rc;
}

static int run_program(const struct doctor_host *h, const char *const *argv, struct err *err)
{
    pid_t pid;
    int status;
    if (h->root[0] != '\0')
        return err_set(err, "%s: no program runs below another root", argv[0]);
    const int rc = spawn(&pid, argv);
    if (rc != 0)
        return err_set(err, "%s: %s", argv[0], strerror(rc));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return err_set(err, "%s %s failed with status %d", argv[0], argv[1],
                   WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

void doctor_host_init(struct doctor_host *h, const char *root)
{
    *h = (struct doctor_host){
        .root = root, .write = write_file, .replace = replace_file, .run = run_program};
}

const char *doctor_path(const struct doctor_host *h, char out[DOCTOR_PATH_BYTES],
                        const char *format, ...)
{
    const int at = snprintf(out, DOCTOR_PATH_BYTES, "%s", h->root);
    va_list ap;
    va_start(ap, format);
    const int n = at >= DOCTOR_PATH_BYTES
                      ? 0
                      : vsnprintf(out + at, DOCTOR_PATH_BYTES - (size_t)at, format, ap);
    va_end(ap);
    if (at + n >= DOCTOR_PATH_BYTES)
        out[0] = '\0';
    return out;
}

void doctor_line(const struct doctor_host *h, const char *path, char *out, size_t room)
{
    char at[DOCTOR_PATH_BYTES];
    FILE *f = fopen(doctor_path(h, at, "%s", path), "re");
    out[0] = '\0';
    if (f == NULL)
        return;
    if (fgets(out, (int)room, f) == NULL)
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    fclose(f);
}

bool doctor_number(const struct doctor_host *h, const char *path, uint64_t *out)
{
    char at[DOCTOR_PATH_BYTES];
    return io_read_number(doctor_path(h, at, "%s", path), out);
}

void doctor_word(const struct doctor_host *h, const char *path, char *out, size_t room)
{
    char line[DOCTOR_LINE_BYTES];
    doctor_line(h, path, line, sizeof(line));
    const char *from = strchr(line, '[');
    const size_t len = from == NULL ? 0 : strcspn(from + 1, "]");
    snprintf(out, room, "%.*s", (int)len, from == NULL ? "" : from + 1);
}

// The size that the file system tells is 0 for files of /proc.
static char *read_all(FILE *f, size_t bytes_max)
{
    char *text = malloc(bytes_max + 1);
    const size_t n = text == NULL ? 0 : fread(text, 1, bytes_max + 1, f);
    if (text == NULL || n > bytes_max || ferror(f) || memchr(text, 0, n) != NULL) {
        free(text);
        return NULL;
    }
    text[n] = '\0';
    return text;
}

char *doctor_long_file(const struct doctor_host *h, const char *path, size_t bytes_max)
{
    char at[DOCTOR_PATH_BYTES];
    FILE *f = fopen(doctor_path(h, at, "%s", path), "re");
    char *text = f == NULL ? NULL : read_all(f, bytes_max);
    if (f != NULL)
        fclose(f);
    return text;
}

char *doctor_file(const struct doctor_host *h, const char *path)
{
    return doctor_long_file(h, path, DOCTOR_FILE_BYTES_MAX);
}

bool doctor_exists(const struct doctor_host *h, const char *path)
{
    char at[DOCTOR_PATH_BYTES];
    struct stat st;
    return lstat(doctor_path(h, at, "%s", path), &st) == 0;
}

bool doctor_link(const struct doctor_host *h, const char *path, char *out, size_t room)
{
    char at[DOCTOR_PATH_BYTES], target[PATH_MAX];
    const ssize_t len = readlink(doctor_path(h, at, "%s", path), target, sizeof(target) - 1);
    out[0] = '\0';
    if (len <= 0)
        return false;
    target[len] = '\0';
    const char *slash = strrchr(target, '/');
    snprintf(out, room, "%s", slash == NULL ? target : slash + 1);
    return true;
}

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

void doctor_each(const struct doctor_host *h, const char *dir,
                 bool (*each)(void *arg, const char *name), void *arg)
{
    char at[DOCTOR_PATH_BYTES];
    struct dirent **names;
    const int n = scandir(doctor_path(h, at, "%s", dir), &names, visible, versionsort);
    bool more = true;
    for (int i = 0; i < n; i++) {
        more = more && each(arg, names[i]->d_name);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}
