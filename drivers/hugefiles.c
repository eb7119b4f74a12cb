// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/hugefiles.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/io.h"

static bool read_count(uint64_t page_bytes, const char *file, uint64_t *out)
{
    char path[128];
    snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%llukB/%s",
             (unsigned long long)(page_bytes >> 10), file);
    return io_read_number(path, out);
}

// find_mount: ignores mounts of c10m processes, because the last user of their directory unmounts
// them.
static void find_mount(uint64_t page_bytes, char *out)
{
    out[0] = '\0';
    FILE *f = setmntent("/proc/self/mounts", "re");
    if (f == NULL)
        return;
    struct mntent e;
    char text[4096];
    while (out[0] == '\0' && getmntent_r(f, &e, text, sizeof(text)) != NULL) {
        struct statfs s;
        if (strcmp(e.mnt_type, "hugetlbfs") != 0 || strcmp(e.mnt_fsname, "c10m") == 0 ||
            statfs(e.mnt_dir, &s) != 0)
            continue;
        if ((uint64_t)s.f_bsize == page_bytes && strlen(e.mnt_dir) < HUGE_PATH_BYTES &&
            access(e.mnt_dir, R_OK | W_OK | X_OK) == 0)
            strcpy(out, e.mnt_dir);
    }
    endmntent(f);
}

bool hugepages_read(uint64_t page_bytes, struct hugepages *out)
{
    memset(out, 0, sizeof(*out));
    out->page_bytes = page_bytes;
    if (!read_count(page_bytes, "nr_hugepages", &out->total) ||
        !read_count(page_bytes, "free_hugepages", &out->free))
        return false;
    find_mount(page_bytes, out->mount);
    return true;
}

void hugepages_prefer(struct hugepages *h, const char *dir)
{
    char path[HUGE_PATH_BYTES];
    struct statfs s;
    const char *size = h->page_bytes == (uint64_t)1 << 30 ? "1G" : "2M";
    if (dir == NULL || snprintf(path, sizeof(path), "%s/%s", dir, size) >= (int)sizeof(path))
        return;
    if (statfs(path, &s) == 0 && s.f_type == HUGETLBFS_MAGIC &&
        (uint64_t)s.f_bsize == h->page_bytes)
        strcpy(h->mount, path);
}

static bool is_free(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void remove_all(const char *dir, const char *prefix, bool used)
{
    char head[HUGE_PATH_BYTES];
    snprintf(head, sizeof(head), "%smap_", prefix);
    DIR *d = opendir(dir);
    if (d == NULL)
        return;
    struct dirent *e;
    while ((e = readdir(d)) != NULL) {
        if (strncmp(e->d_name, head, strlen(head)) != 0)
            continue;
        int fd = openat(dirfd(d), e->d_name, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (used || is_free(fd))
            unlinkat(dirfd(d), e->d_name, 0);
        close(fd);
    }
    closedir(d);
}

void hugefiles_remove(const char *dir, const char *prefix)
{
    remove_all(dir, prefix, false);
}

void hugefiles_abandon(const char *dir, const char *prefix)
{
    remove_all(dir, prefix, true);
}
