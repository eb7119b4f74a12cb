// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_record.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/doctor_disk.h"

enum {
    RECORD_VERSION = 1,
    RECORD_BYTES_MAX = 64 << 20,  // 4,096 changes, a few of them of whole files
    DIR_MODE = 0700,
    LOCK_TRIES = 16,
};

// ---- the file

// NULL is JSON's null.
static json_t *value_json(const char *value)
{
    return value == NULL ? json_null() : json_stringn_nocheck(value, strlen(value));
}

static json_t *change_json(const struct doctor_change *c)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:b, s:s}", "row", c->row, "kind",
                     doctor_kind_name(c->kind), "path", c->path, "was", value_json(c->was), "want",
                     value_json(c->want), "restart", c->restart, "done", (int)c->done, "boot",
                     c->boot);
}

static int save(const struct doctor_record *r, struct err *err)
{
    if (r->changes.n == 0)
        return r->host->replace(r->host, DOCTOR_RECORD_FILE, NULL, err);
    json_t *list = json_array();
    for (unsigned i = 0; i < r->changes.n; i++)
        json_array_append_new(list, change_json(&r->changes.at[i]));
    json_t *all = json_pack("{s:i, s:o}", "version", RECORD_VERSION, "changes", list);
    char *text = all == NULL ? NULL : json_dumps(all, JSON_INDENT(1));
    int rc = text == NULL ? err_set(err, "%s: no memory", DOCTOR_RECORD_FILE) : 0;
    if (rc == 0 && strlen(text) > RECORD_BYTES_MAX)
        rc = err_set(err, "%s would have more than %d bytes", DOCTOR_RECORD_FILE, RECORD_BYTES_MAX);
    if (rc == 0)
        rc = r->host->replace(r->host, DOCTOR_RECORD_FILE, text, err);
    free(text);
    json_decref(all);
    return rc;
}

static char *copy_of(const json_t *value)
{
    return json_is_string(value) ? strdup(json_string_value(value)) : NULL;
}

static bool is_value(const json_t *value)
{
    return json_is_string(value) || json_is_null(value);
}

static bool read_change(const json_t *from, struct doctor_change *c)
{
    const char *row, *kind, *path, *restart, *boot = "";  // a record without boots is an older one
    json_t *was, *want;
    int done;
    *c = (struct doctor_change){.kind = DOCTOR_KINDS};
    if (json_unpack((json_t *)(uintptr_t)from, "{s:s, s:s, s:s, s:o, s:o, s:s, s:b, s?s}", "row",
                    &row, "kind", &kind, "path", &path, "was", &was, "want", &want, "restart",
                    &restart, "done", &done, "boot", &boot) != 0)
        return false;
    c->kind = doctor_kind_find(kind);
    c->done = done;
    snprintf(c->row, sizeof(c->row), "%s", row);
    snprintf(c->restart, sizeof(c->restart), "%s", restart);
    snprintf(c->boot, sizeof(c->boot), "%s", boot);
    if (c->kind == DOCTOR_KINDS || !is_value(was) || !is_value(want) ||
        snprintf(c->path, sizeof(c->path), "%s", path) >= (int)sizeof(c->path))
        return false;
    c->was = copy_of(was);
    c->want = copy_of(want);
    return true;
}

static bool read_changes(struct doctor_changes *out, const json_t *all)
{
    const json_t *list = json_object_get(all, "changes");
    if (json_integer_value(json_object_get(all, "version")) != RECORD_VERSION ||
        !json_is_array(list) || json_array_size(list) > DOCTOR_CHANGES_MAX)
        return false;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (read_change(json_array_get(list, i), &out->at[out->n]))
            out->n++;
        else
            return false;
    return true;
}

static int load(struct doctor_record *r, struct err *err)
{
    json_error_t why = {.text = "it is no record of c10m doctor", .line = 1};
    char *text = doctor_long_file(r->host, DOCTOR_RECORD_FILE, RECORD_BYTES_MAX);
    if (text == NULL && !doctor_exists(r->host, DOCTOR_RECORD_FILE))
        return 0;
    json_t *all = text == NULL ? NULL : json_loads(text, 0, &why);
    const bool ok = all != NULL && read_changes(&r->changes, all);
    json_decref(all);
    free(text);
    return ok ? 0
              : err_set(err, "%s:%d: %s", DOCTOR_RECORD_FILE, why.line,
                        why.text[0] == '\0' ? "it is no record of c10m doctor" : why.text);
}

// ---- the directory

// Only root may enter it, so that nobody else can hold the lock.
static void make_dirs(const struct doctor_host *h)
{
    char at[DOCTOR_PATH_BYTES];
    doctor_path(h, at, "%s", DOCTOR_RECORD_DIR);
    for (char *slash = strchr(at + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(at, 0755);
        *slash = '/';
    }
    mkdir(at, DIR_MODE);
}

// own_dir: nobody else can write what an undo would believe. An earlier version made it 0755.
static int own_dir(int fd, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_set(err, "%s: %s", DOCTOR_RECORD_DIR, strerror(errno));
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return err_set(err, "%s belongs to user %u: only root may have it", DOCTOR_RECORD_DIR,
                       st.st_uid);
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return err_set(err, "%s: others may write there (mode %03o)", DOCTOR_RECORD_DIR,
                       st.st_mode & 07777);
    if ((st.st_mode & 07777) != DIR_MODE && fchmod(fd, DIR_MODE) != 0)
        return err_set(err, "%s: %s", DOCTOR_RECORD_DIR, strerror(errno));
    return 0;
}

// is_at: the directory is still the one of that path: the doctor that had the lock before may have
// removed it.
static bool is_at(int fd, const char *path)
{
    struct stat open_one, there;
    return fstat(fd, &open_one) == 0 && stat(path, &there) == 0 &&
           open_one.st_dev == there.st_dev && open_one.st_ino == there.st_ino;
}

// try_lock: 1: locked; 0: it is gone, or another one is there now; -1 with *err.
static int try_lock(struct doctor_record *r, const char *path, struct err *err)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_set(err, "%s: %s", DOCTOR_RECORD_DIR, strerror(errno));
    int rc = own_dir(fd, err);
    if (rc == 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
        rc = errno == EWOULDBLOCK
                 ? err_set(err, "%s: another c10m doctor is at work", DOCTOR_RECORD_DIR)
                 : err_set(err, "%s: %s", DOCTOR_RECORD_DIR, strerror(errno));
    if (rc == 0 && is_at(fd, path)) {
        r->lock_fd = fd;
        return 1;
    }
    close(fd);
    return rc;
}

// lock_dir: 0 also if there is no directory, and none is to be made: then nothing is locked.
static int lock_dir(struct doctor_record *r, bool make, struct err *err)
{
    char at[DOCTOR_PATH_BYTES];
    doctor_path(r->host, at, "%s", DOCTOR_RECORD_DIR);
    for (unsigned i = 0; i < LOCK_TRIES; i++) {
        if (make)
            make_dirs(r->host);
        else if (!doctor_exists(r->host, DOCTOR_RECORD_DIR))
            return 0;
        const int rc = try_lock(r, at, err);
        if (rc != 0)
            return MIN(rc, 0);
    }
    return err_set(err, "%s: it comes and goes: another c10m doctor is at work", DOCTOR_RECORD_DIR);
}

int doctor_record_open(struct doctor_record *r, const struct doctor_host *h, bool make,
                       struct err *err)
{
    char at[DOCTOR_PATH_BYTES];
    *r = (struct doctor_record){.host = h, .lock_fd = -1};
    doctor_line(h, "/proc/sys/kernel/random/boot_id", r->boot, sizeof(r->boot));
    doctor_changes_init(&r->changes);
    int rc = r->changes.error ? err_set(err, "no memory") : lock_dir(r, make, err);
    if (rc == 0 && r->lock_fd >= 0) {
        doctor_disk_clean(doctor_path(h, at, "%s", DOCTOR_RECORD_FILE));
        rc = load(r, err);
    }
    if (rc != 0)
        doctor_record_close(r);
    return rc;
}

void doctor_record_close(struct doctor_record *r)
{
    char at[DOCTOR_PATH_BYTES];
    if (r->lock_fd >= 0) {
        rmdir(doctor_path(r->host, at, "%s", DOCTOR_RECORD_DIR));
        close(r->lock_fd);
        r->lock_fd = -1;
    }
    doctor_changes_free(&r->changes);
}

// ---- entries

struct doctor_change *doctor_record_find(struct doctor_record *r, const struct doctor_change *c)
{
    for (unsigned i = 0; i < r->changes.n; i++) {
        struct doctor_change *at = &r->changes.at[i];
        if (at->kind == c->kind && strcmp(at->path, c->path) == 0)
            return at;
    }
    return NULL;
}

static bool is_utf8(const char *text, size_t len)
{
    json_t *value = json_stringn(text, len);
    json_decref(value);
    return value != NULL;
}

// bad_line: the number of the first line that is not UTF-8, from 1; 0: there is none.
static unsigned bad_line(const char *text)
{
    unsigned n = 1;
    if (is_utf8(text, strlen(text)))
        return 0;
    for (size_t len; is_utf8(text, len = strcspn(text, "\n")); n++)
        text += len + (text[len] == '\n');
    return n;
}

int doctor_record_holds(const struct doctor_record *r, const struct doctor_change *c,
                        struct err *why)
{
    const unsigned line = c->was == NULL ? 0 : bad_line(c->was);
    if (c->was == NULL && c->kind == DOCTOR_FILE && doctor_exists(r->host, c->path))
        return err_set(why,
                       "%s cannot be kept for undo: it is no file of text that can be read, or has "
                       "more than %d bytes; change it by hand",
                       c->path, DOCTOR_FILE_BYTES_MAX);
    if (line != 0 || !is_utf8(c->path, strlen(c->path)))
        return err_set(why, "%s cannot be kept for undo: line %u is not UTF-8; change it by hand",
                       c->path, line);
    return 0;
}

static char *copy_text(const char *text, bool *ok)
{
    char *copy = text == NULL ? NULL : strdup(text);
    *ok = *ok && (text == NULL || copy != NULL);
    return copy;
}

int doctor_record_note(struct doctor_record *r, const struct doctor_change *c, struct err *err)
{
    struct doctor_change *at = doctor_record_find(r, c);
    bool ok = true;
    if (at == NULL && r->changes.n == DOCTOR_CHANGES_MAX)
        return err_set(err, "%s has no room for more than %d changes", DOCTOR_RECORD_FILE,
                       DOCTOR_CHANGES_MAX);
    if (at == NULL) {
        at = &r->changes.at[r->changes.n++];
        *at = *c;
        at->was = copy_text(c->was, &ok);
        snprintf(at->boot, sizeof(at->boot), "%s", r->boot);
    } else {
        free(at->want);
    }
    at->want = copy_text(c->want, &ok);
    at->done = false;
    return ok ? save(r, err) : err_set(err, "no memory");
}

int doctor_record_done(struct doctor_record *r, const struct doctor_change *c, struct err *err)
{
    struct doctor_change *at = doctor_record_find(r, c);
    if (at == NULL || at->done)
        return 0;
    at->done = true;
    return save(r, err);
}

static void remove_entry(struct doctor_record *r, struct doctor_change *at)
{
    doctor_change_free(at);
    const unsigned i = (unsigned)(at - r->changes.at);
    memmove(at, at + 1, (r->changes.n - i - 1) * sizeof(*at));
    r->changes.n--;
}

int doctor_record_drop(struct doctor_record *r, const struct doctor_change *c, struct err *err)
{
    struct doctor_change *at = doctor_record_find(r, c);
    if (at == NULL)
        return 0;
    remove_entry(r, at);
    return save(r, err);
}

bool doctor_record_past(const struct doctor_record *r, const struct doctor_change *c)
{
    return c->boot[0] != '\0' && r->boot[0] != '\0' && strcmp(c->boot, r->boot) != 0 &&
           !doctor_kind_on_disk(c->kind);
}

int doctor_record_drop_past(struct doctor_record *r, struct err *err)
{
    const unsigned n = r->changes.n;
    for (unsigned i = n; i-- > 0;)
        if (doctor_record_past(r, &r->changes.at[i]))
            remove_entry(r, &r->changes.at[i]);
    return r->changes.n == n ? 0 : save(r, err);
}
