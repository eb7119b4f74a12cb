// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/site_load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/http/date.h"
#include "app/http/listing.h"
#include "app/http/packed.h"
#include "app/http/path.h"

#define RANGES     "Accept-Ranges: bytes\r\n"
#define VARY       "Vary: Accept-Encoding\r\n"
#define TEXT_PLAIN "Content-Type: text/plain; charset=utf-8\r\n"
#define TEXT_HTML  "text/html; charset=utf-8"

enum {
    READ_BYTES = 8 << 20,  // at once
    RECENT_MS = 20,        // two ticks of the slowest kernel
};

// The state of loading.
struct loader {
    struct http_site *site;
    struct c10m_service *service;
    const struct http_site_params *params;
    struct http_host *host;  // the present host
    struct http_text names;  // its names, as configured
    uint32_t first;          // its first reply
    bool *page_found;        // for each rule: a host has its page
    char root[PATH_MAX];     // resolved
    size_t root_bytes;       // 0 for "/"
    char path[PATH_MAX];     // of the present entry: root, then "/name" ...
    struct http_entry last;  // the entry that load_path() has loaded; valid if `served`
    bool served;
    bool no_memory;
    char *err;
    size_t err_bytes;
};

// A directory that is being read; `parent` is the one that contains it.
struct level {
    const struct level *parent;
    dev_t dev;
    ino_t ino;
    unsigned depth;
    struct http_entries *entries;  // for the listing; NULL: no listing
    bool index;                    // has an index.html
};

__attribute__((format(printf, 2, 3))) static int fail(struct loader *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(l->err, l->err_bytes, format, args);
    va_end(args);
    return -1;
}

// Whether the replaced site has skipped the same entry for the same reason.
static bool was_skipped(const struct loader *l, const char *key, int n, const char *reason)
{
    const struct http_site *before = l->params->before;
    for (uint32_t i = 0; before != NULL && i < before->skipped && i < HTTP_SKIPPED_MAX; i++)
        if (strcmp(before->skips[i].reason, reason) == 0 &&
            strlen(before->skips[i].path) == (size_t)n &&
            memcmp(before->skips[i].path, key, (size_t)n) == 0)
            return true;
    return false;
}

// The path of the present entry below its root, percent-encoded, or the end of it that fits.
static int skipped_key(const struct loader *l, char key[HTTP_KEY_BYTES_MAX])
{
    const char *name = l->path + l->root_bytes;
    int n = http_path_encode(name, key, HTTP_KEY_BYTES_MAX);
    while (n < 0)  // drop bytes at the start until the rest fits
        n = http_path_encode(++name, key, HTTP_KEY_BYTES_MAX);
    return n;
}

// Records that l->path is not served. reason: a constant string.
static int skip(struct loader *l, const char *reason)
{
    struct http_site *site = l->site;
    char key[HTTP_KEY_BYTES_MAX];
    const int n = skipped_key(l, key);
    if (site->skipped < HTTP_WARNINGS_MAX && !was_skipped(l, key, n, reason))
        c10m_warn(l->service, "%s: skipped %.*s: %s", l->root, n, key, reason);
    if (site->skipped < HTTP_SKIPPED_MAX) {
        char *path = strndup(key, (size_t)n);
        if (path == NULL)
            return fail(l, "%s: no memory", l->path);
        site->skips[site->skipped] = (struct http_skipped){path, reason};
    }
    site->skipped++;
    return 0;
}

// The present entry exists and cannot be read. A start skips it; a reload fails.
static int unread(struct loader *l, const char *reason)
{
    char key[HTTP_KEY_BYTES_MAX];
    if (l->params->before == NULL || was_skipped(l, key, skipped_key(l, key), reason))
        return skip(l, reason);
    return fail(l, "%s: %s", l->path, reason);
}

static int skip_errno(struct loader *l)
{
    const bool gone = errno == ENOENT || errno == ELOOP || errno == ENOTDIR;
    return gone ? skip(l, strerrordesc_np(errno)) : unread(l, strerrordesc_np(errno));
}

// Makes a reply from the arguments and *r, whose body is set, and appends it to the table.
static int add(struct loader *l, struct http_reply *r, unsigned status, const char *reason,
               const struct http_fields *fields, const char *key, size_t key_bytes)
{
    struct http_site *site = l->site;
    if (site->replies_n == site->replies_room) {
        uint32_t room = site->replies_room == 0 ? 64 : site->replies_room * 2;
        struct http_reply *replies = realloc(site->replies, room * sizeof(*replies));
        if (replies == NULL)
            return fail(l, "%s: no memory", l->path);
        site->replies = replies;
        site->replies_room = room;
    }
    if (!http_reply_make(r, status, reason, fields, key, key_bytes))
        return fail(l, "%s: no memory", l->path);
    site->replies[site->replies_n++] = *r;
    return 0;
}

static int add_fixed(struct loader *l)
{
    for (const struct http_fixed *f = http_fixed; f->status != 0; f++) {
        struct http_reply r = {0};
        struct http_fields fields = {"", f->fields, ""};
        if (f->status != 204) {
            r.body = (const uint8_t *)f->reason;
            r.body_bytes = (uint32_t)strlen(f->reason);
            fields.type = TEXT_PLAIN;
        }
        if (add(l, &r, f->status, f->reason, &fields, "", 0) != 0)
            return -1;
    }
    return 0;
}

// Whether a rule applies to the present host: to all hosts, or to one of its names (.NAME for
// *.NAME).
static bool is_for_host(const struct loader *l, const struct http_rule *rule)
{
    struct http_text names = l->names, name;
    if (rule->host.n == 0)
        return true;
    while (http_list_next(&names, &name)) {
        const bool all = name.n != 0 && name.s[0] == '*';
        if (name.n - all == rule->host.n &&
            strncasecmp((const char *)name.s + all, (const char *)rule->host.s, rule->host.n) == 0)
            return true;
    }
    return false;
}

static unsigned rules_n(const struct loader *l)
{
    return l->params->rules == NULL ? 0 : l->params->rules->n;
}

// The fields that the rules add to a path, and *expires_s.
static int own_fields(struct loader *l, const char *key, size_t key_bytes,
                      char own[HTTP_OWN_BYTES_MAX], uint32_t *expires_s)
{
    const struct http_text path = {(const uint8_t *)key, key_bytes};
    size_t n = 0;
    bool expires = false;
    own[0] = '\0';
    *expires_s = 0;
    for (unsigned i = 0; i < rules_n(l); i++) {
        const struct http_rule *rule = &l->params->rules->at[i];
        int len = 0;
        if (rule->kind > HTTP_RULE_EXPIRES || !is_for_host(l, rule) || !http_glob(rule->path, path))
            continue;
        if (rule->kind == HTTP_RULE_FIELD) {
            len = snprintf(own + n, HTTP_OWN_BYTES_MAX - n, "%.*s\r\n", (int)rule->value.n,
                           (const char *)rule->value.s);
        } else if (!expires) {
            expires = true;
            *expires_s = rule->number;
            len = snprintf(own + n, HTTP_OWN_BYTES_MAX - n, "Cache-Control: max-age=%u\r\n",
                           rule->number);
        }
        if (len < 0 || (size_t)len >= HTTP_OWN_BYTES_MAX - n)
            return fail(l, "%.*s: header lines of more than %d bytes", (int)key_bytes, key,
                        HTTP_OWN_BYTES_MAX);
        n += (size_t)len;
    }
    return 0;
}

static int add_directory_redirect(struct loader *l, const char *directory, size_t directory_bytes)
{
    static const char body[] = "Moved Permanently";
    struct http_reply r = {
        .body = (const uint8_t *)body, .body_bytes = sizeof(body) - 1, .special = HTTP_REDIRECT};
    char location[HTTP_KEY_BYTES_MAX + 16], own[HTTP_OWN_BYTES_MAX];
    snprintf(location, sizeof(location), "Location: %.*s\r\n", (int)directory_bytes, directory);
    if (directory_bytes == 1)
        return 0;
    if (own_fields(l, directory, directory_bytes - 1, own, &r.expires_s) != 0)
        return -1;
    return add(l, &r, 301, body, &(struct http_fields){TEXT_PLAIN, location, own}, directory,
               directory_bytes - 1);
}

// Adds a resource that answers with the content or the fields of the request.
static int add_special(struct loader *l, const char *path, enum http_special special)
{
    char key[HTTP_PATH_ROOM(HTTP_KEY_BYTES_MAX)];
    struct http_reply r = {.body = (const uint8_t *)"", .special = special};
    if (path == NULL)
        return 0;
    const size_t len = strlen(path) <= HTTP_KEY_BYTES_MAX ? strlen(path) : 0;
    int n = http_path((const uint8_t *)path, len, key);
    if (n < 0 || n > HTTP_KEY_BYTES_MAX || strcspn(path, "?") != strlen(path) || path[0] != '/')
        return fail(l, "%s: expected an absolute path as in a URL", path);
    return add(l, &r, 200, "OK", &(struct http_fields){"", "", ""}, key, (size_t)n);
}

static bool is_hidden(struct loader *l, const char *key, size_t key_bytes)
{
    return http_site_moved(l->host, key, key_bytes) != NULL;
}

// Adds one reply with validators and ranges.
static int add_content(struct loader *l, const struct http_reply *content, const char *media_type,
                       uint64_t modified_s, const char *key, size_t key_bytes)
{
    char type[192], validators[128 + HTTP_OWN_BYTES_MAX], own[HTTP_OWN_BYTES_MAX];
    struct http_reply r = *content;
    const struct http_fields fields = {type, RANGES, validators};
    if (modified_s > l->params->now_s)
        modified_s = l->params->now_s;  // RFC 9110 section 8.8.2.1
    if (own_fields(l, key, key_bytes, own, &r.expires_s) != 0)
        return -1;
    snprintf(type, sizeof(type), "Content-Type: %s\r\n", media_type);
    snprintf(validators, sizeof(validators), "Last-Modified: %.*s\r\nETag: \"%x-%016llx\"\r\n%s",
             HTTP_DATE_BYTES, http_date(modified_s), r.body_bytes,
             (unsigned long long)http_path_hash(r.body, r.body_bytes), own);
    r.special = HTTP_FILE;
    r.modified_s = (uint32_t)modified_s;
    return add(l, &r, 200, "OK", &fields, key, key_bytes);
}

// Adds the reply of a file, and that of its directory if the file is the index.
static int add_file(struct loader *l, const struct http_reply *file, const struct stat *st)
{
    char key[HTTP_KEY_BYTES_MAX];
    const size_t n = (size_t)http_path_encode(l->path + l->root_bytes, key, sizeof(key));
    const char *name = strrchr(l->path, '/') + 1, *type = http_mime(l->params->types, name);
    const uint64_t modified_s = st->st_mtime < 0 ? 0 : (uint64_t)st->st_mtime;
    l->last = (struct http_entry){.bytes = file->body_bytes, .modified_s = modified_s};
    l->served = true;
    if (add_content(l, file, type, modified_s, key, n) != 0)
        return -1;
    if (strcmp(name, "index.html") != 0)
        return 0;
    const size_t directory = n - strlen(name);
    return add_content(l, file, type, modified_s, key, directory) != 0
               ? -1
               : add_directory_redirect(l, key, directory);
}

// Returns NULL, or the reason of the failure.
static const char *read_all(const struct loader *l, int fd, uint8_t *to, uint64_t len)
{
    for (uint64_t done = 0; done < len;) {
        const uint64_t left = len - done;
        ssize_t n = pread(fd, to + done, left < READ_BYTES ? left : READ_BYTES, (off_t)done);
        if (c10m_reload_stopping(l->service))
            return "the server stops";
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return strerrordesc_np(errno);
        if (n == 0)
            return "became shorter while it was read";
        done += (uint64_t)n;
    }
    return NULL;
}

// The reason why an open file cannot be served, or NULL.
static const char *unfit(const struct loader *l, const struct stat *st)
{
    char key[HTTP_KEY_BYTES_MAX];
    if (!S_ISREG(st->st_mode))  // it was a regular file before open()
        return "neither a file nor a directory";
    if (http_path_encode(l->path + l->root_bytes, key, sizeof(key)) < 0)
        return "its path takes more than 1024 bytes in a URL";
    if (st->st_size > C10M_SEND_REF_BYTES_MAX)
        return "more than 1073741824 bytes";
    return (uint64_t)st->st_size > l->params->bytes_max ? "more than bytes_max" : NULL;
}
static_assert(HTTP_KEY_BYTES_MAX == 1024 && C10M_SEND_REF_BYTES_MAX == 1073741824,
              "messages above");

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

// Whether the file was not changed between two fstat(). The time of the last change of the inode
// cannot be set, unlike that of its content.
static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && same_time(&a->st_mtim, &b->st_mtim) &&
           same_time(&a->st_ctim, &b->st_ctim);
}

// Times of files have the resolution of the kernel's tick: a change within RECENT_MS of the one
// before may leave them as they are. Waits until the last change is older.
static bool let_rest(int fd, struct stat *st)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t ms = (int64_t)(now.tv_sec - st->st_ctim.tv_sec) * 1000 +
                       (now.tv_nsec - st->st_ctim.tv_nsec) / 1000000;
    if (ms < 0 || ms > RECENT_MS)  // below 0: another machine's clock
        return true;
    nanosleep(&(struct timespec){.tv_nsec = RECENT_MS * 1000000}, NULL);
    return fstat(fd, st) == 0;
}

static int no_room(struct loader *l, uint64_t len)
{
    l->no_memory = errno == ENOMEM;
    if (l->no_memory)
        return fail(l, "%s: no memory for %llu bytes", l->path, (unsigned long long)len);
    return fail(l, "%s: %llu bytes do not fit: raise [memory] image_bytes", l->path,
                (unsigned long long)len);
}

// Reads the file, of st->st_size bytes, into an image. *why: the reason why it cannot be read.
static int read_image(struct loader *l, int fd, const struct stat *st, struct http_reply *file,
                      const char **why)
{
    uint64_t len = (uint64_t)st->st_size;
    *file = (struct http_reply){.body = (const uint8_t *)"", .body_bytes = (uint32_t)len};
    *why = NULL;
    if (len > l->params->bytes_max - l->site->bytes)
        return fail(l, "bytes_max = %llu: %s: %llu bytes, and %llu before it, are more than that",
                    (unsigned long long)l->params->bytes_max, l->path, (unsigned long long)len,
                    (unsigned long long)l->site->bytes);
    if (len == 0)
        return 0;
    uint8_t *room;
    file->image = c10m_images_reserve(l->site->images, len, &room);
    if (file->image == NULL)
        return no_room(l, len);
    *why = read_all(l, fd, room, len);
    file->body = c10m_image_bytes(file->image, &len);
    return 0;
}

// read_image(), again if the file has changed meanwhile. *st: as of the last time.
static int read_whole(struct loader *l, int fd, struct stat *st, struct http_reply *file,
                      const char **why)
{
    for (unsigned reads = 1;; reads++) {
        struct stat after;
        if (!let_rest(fd, st)) {
            *why = strerrordesc_np(errno);
            return 0;
        }
        *why = unfit(l, st);
        if (*why != NULL)
            return 0;
        if (read_image(l, fd, st, file, why) != 0)
            return -1;
        if (fstat(fd, &after) != 0) {
            *why = strerrordesc_np(errno);
            return 0;
        }
        if (is_same(st, &after))
            return 0;
        if (reads == HTTP_READS_MAX) {
            *why = "changed while it was read";
            return 0;
        }
        *st = after;
    }
}

static int load_open_file(struct loader *l, int fd)
{
    struct stat st;
    struct http_reply file;
    if (fstat(fd, &st) != 0)
        return skip_errno(l);
    const char *why = unfit(l, &st);
    if (why != NULL)
        return skip(l, why);
    char key[HTTP_KEY_BYTES_MAX];
    if (is_hidden(l, key, (size_t)http_path_encode(l->path + l->root_bytes, key, sizeof(key)))) {
        l->site->hidden++;
        return 0;
    }
    if (l->site->files == l->params->files_max)
        return fail(l, "files_max = %llu: %s: there are more files below the root",
                    (unsigned long long)l->params->files_max, l->path);
    if (read_whole(l, fd, &st, &file, &why) != 0)
        return -1;
    if (why != NULL)
        return unread(l, why);
    l->site->files++;
    l->site->bytes += file.body_bytes;
    return add_file(l, &file, &st);
}

static int load_file(struct loader *l)
{
    // O_NONBLOCK: the path may have become a pipe
    int fd = open(l->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return skip_errno(l);
    int rc = load_open_file(l, fd);
    close(fd);
    return rc;
}

static int load_directory(struct loader *l, const struct stat *st, struct level *parent);

// Loads the file or directory at l->path.
static int load_path(struct loader *l, struct level *parent)
{
    struct stat st;
    l->served = false;
    if (lstat(l->path, &st) != 0)
        return skip_errno(l);
    if (S_ISLNK(st.st_mode)) {
        char real[PATH_MAX];
        if (realpath(l->path, real) == NULL || stat(l->path, &st) != 0)
            return skip_errno(l);
        if (strncmp(real, l->root, l->root_bytes) != 0 ||
            (real[l->root_bytes] != '/' && real[l->root_bytes] != '\0'))
            return skip(l, "symbolic link leaves the root");
    }
    if (S_ISDIR(st.st_mode))
        return load_directory(l, &st, parent);
    if (!S_ISREG(st.st_mode))
        return skip(l, "neither a file nor a directory");
    return load_file(l);
}

// Adds a loaded entry to the listing of its directory.
static int note_entry(struct loader *l, struct level *level, const char *name)
{
    if (!l->served)
        return 0;
    level->index |= strcmp(name, "index.html") == 0;
    if (level->entries == NULL || http_entries_add(level->entries, name, l->last.directory,
                                                   l->last.bytes, l->last.modified_s))
        return 0;
    return fail(l, "%s: no memory", l->path);
}

static int load_entries(struct loader *l, DIR *directory, struct level *level)
{
    size_t len = strlen(l->path);
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(directory);
        if (e == NULL)
            return errno == 0 ? 0 : skip_errno(l);
        if (e->d_name[0] == '.' && strcmp(e->d_name, ".well-known") != 0)
            continue;
        int n = snprintf(l->path + len, sizeof(l->path) - len, "/%s", e->d_name);
        const bool fits = n > 0 && (size_t)n < sizeof(l->path) - len;
        l->served = false;
        if ((fits ? load_path(l, level) : skip(l, "path too long")) != 0 ||
            note_entry(l, level, e->d_name) != 0)
            return -1;
        l->path[len] = '\0';
    }
}

// Adds the listing of the directory at l->path.
static int add_listing(struct loader *l, const struct level *level, const struct stat *st)
{
    char key[HTTP_KEY_BYTES_MAX], path[PATH_MAX + 1];
    size_t len;
    snprintf(path, sizeof(path), "%s/", l->path + l->root_bytes);
    const int n = http_path_encode(path, key, sizeof(key));
    if (n < 0)
        return skip(l, "its path takes more than 1024 bytes in a URL");
    if (is_hidden(l, key, (size_t)n))
        return 0;
    char *text = http_listing(path, level->entries, &len);
    if (text == NULL)
        return fail(l, "%s: no memory", l->path);
    struct http_reply page = {.body_bytes = (uint32_t)len};
    uint8_t *room = NULL;
    if (len <= C10M_SEND_REF_BYTES_MAX && len <= l->params->bytes_max - l->site->bytes)
        page.image = c10m_images_reserve(l->site->images, len, &room);
    if (page.image != NULL)
        memcpy(room, text, len);
    free(text);
    if (page.image == NULL)
        return fail(l, "%s: a listing of %zu bytes: raise bytes_max or [memory] image_bytes",
                    l->path, len);
    uint64_t bytes;
    page.body = c10m_image_bytes(page.image, &bytes);
    l->site->bytes += len;
    const uint64_t modified_s = st->st_mtime < 0 ? 0 : (uint64_t)st->st_mtime;
    return add_content(l, &page, TEXT_HTML, modified_s, key, (size_t)n) != 0
               ? -1
               : add_directory_redirect(l, key, (size_t)n);
}

static_assert(HTTP_DEPTH_MAX == 32, "message below");
static int load_directory(struct loader *l, const struct stat *st, struct level *parent)
{
    struct http_entries entries = {0};
    struct level level = {.parent = parent,
                          .dev = st->st_dev,
                          .ino = st->st_ino,
                          .depth = parent == NULL ? 0 : parent->depth + 1,
                          .entries = l->params->listing ? &entries : NULL};
    if (level.depth > HTTP_DEPTH_MAX)
        return skip(l, "more than 32 directories deep");
    for (const struct level *up = parent; up != NULL; up = up->parent)
        if (up->dev == level.dev && up->ino == level.ino)
            return skip(l, "symbolic link to a directory that contains it");
    DIR *directory = opendir(l->path[0] == '\0' ? "/" : l->path);
    if (directory == NULL && parent != NULL)
        return skip_errno(l);
    if (directory == NULL)
        return fail(l, "root = %s: %s", l->root, strerror(errno));
    int rc = load_entries(l, directory, &level);
    closedir(directory);
    if (rc == 0 && level.entries != NULL && !level.index)
        rc = add_listing(l, &level, st);
    http_entries_free(&entries);
    l->served = true;
    l->last = (struct http_entry){.directory = true,
                                  .modified_s = st->st_mtime < 0 ? 0 : (uint64_t)st->st_mtime};
    return rc;
}

static int make_table(struct loader *l)
{
    struct http_site *site = l->site;
    struct http_host *host = l->host;
    uint32_t slots = 16;
    while (slots < 2 * (site->replies_n - l->first))
        slots *= 2;
    host->slots = malloc(slots * sizeof(*host->slots));
    if (host->slots == NULL)
        return fail(l, "%s: no memory", l->root);
    memset(host->slots, 0xff, slots * sizeof(*host->slots));
    host->mask = slots - 1;
    for (uint32_t i = l->first; i < site->replies_n; i++) {
        const struct http_reply *r = &site->replies[i];
        if (r->key_bytes == 0)
            continue;
        uint32_t hash = (uint32_t)http_path_hash(r->head + r->head_bytes, r->key_bytes), at = hash;
        while (host->slots[at & host->mask].reply != HTTP_REPLY_NONE)
            at++;
        host->slots[at & host->mask] = (struct http_slot){hash, i};
    }
    return 0;
}

// A content coding: the suffix of its files, its name, and the check that a file is the compressed
// version of another one.
struct packing {
    const char *suffix, *coding;
    bool (*is_of)(const struct http_reply *packed, const struct http_reply *plain);
};

static const struct packing packings[] = {
    {".gz", "gzip", http_is_gzip_of},
    {".br", "br", http_is_brotli_of},
};

static uint32_t *packed_of(struct http_reply *r, const struct packing *p)
{
    return p == &packings[0] ? &r->gzip : &r->br;
}

// The compressed version of the file of reply `ix`, or HTTP_REPLY_NONE.
static uint32_t packed_beside(const struct loader *l, uint32_t ix, const struct packing *p)
{
    const struct http_reply *r = &l->site->replies[ix];
    char key[HTTP_KEY_BYTES_MAX + 16];
    if (r->special != HTTP_FILE || r->key_bytes == 0)
        return HTTP_REPLY_NONE;
    const char *own = r->head + r->head_bytes;
    const char *index = own[r->key_bytes - 1] == '/' ? "index.html" : "";
    int n = snprintf(key, sizeof(key), "%.*s%s", (int)r->key_bytes, own, index);
    uint32_t file = http_site_find(l->site, l->host, key, (size_t)n);
    if (file == HTTP_REPLY_NONE || l->site->replies[file].body != r->body)
        return HTTP_REPLY_NONE;  // a listing
    n += snprintf(key + n, sizeof(key) - (size_t)n, "%s", p->suffix);
    file = http_site_find(l->site, l->host, key, (size_t)n);
    if (file == HTTP_REPLY_NONE || l->site->replies[file].special != HTTP_FILE ||
        !p->is_of(&l->site->replies[file], r))
        return HTTP_REPLY_NONE;
    return file;
}

// Adds the reply for clients that accept the coding: type and additional fields of the plain file;
// bytes, time and entity tag of the compressed one.
static int add_packed(struct loader *l, uint32_t ix, uint32_t file, const struct packing *p)
{
    const struct http_reply *plain = &l->site->replies[ix], *packed = &l->site->replies[file];
    char type[192], extras[96], validators[128 + HTTP_OWN_BYTES_MAX], own[HTTP_OWN_BYTES_MAX];
    struct http_reply r = {.body = packed->body,
                           .image = packed->image,
                           .body_bytes = packed->body_bytes,
                           .modified_s = packed->modified_s,
                           .special = HTTP_FILE};
    if (own_fields(l, plain->head + plain->head_bytes, plain->key_bytes, own, &r.expires_s) != 0)
        return -1;
    snprintf(type, sizeof(type), "%.*s", plain->extras_off - plain->fields_off,
             plain->head + plain->fields_off);
    snprintf(extras, sizeof(extras), RANGES "Content-Encoding: %s\r\n", p->coding);
    snprintf(validators, sizeof(validators), "Last-Modified: %.*s\r\nETag: %.*s\r\n%s" VARY,
             HTTP_DATE_BYTES, http_date(packed->modified_s), packed->etag_bytes,
             packed->head + packed->etag_off, own);
    const uint32_t made = l->site->replies_n;
    if (add(l, &r, 200, "OK", &(struct http_fields){type, extras, validators}, "", 0) != 0)
        return -1;
    struct http_reply *of = &l->site->replies[ix];
    const bool first = of->gzip == 0 && of->br == 0;
    *packed_of(of, p) = made;
    if (first && !http_reply_add_field(of, VARY))
        return fail(l, "%s: no memory", l->root);
    return 0;
}

static int pair_packed(struct loader *l)
{
    const uint32_t n = l->site->replies_n;  // add_packed() appends replies
    for (unsigned k = 0; k < sizeof(packings) / sizeof(packings[0]); k++) {
        for (uint32_t i = l->first; i < n; i++) {
            uint32_t file = packed_beside(l, i, &packings[k]);
            if (file != HTTP_REPLY_NONE && add_packed(l, i, file, &packings[k]) != 0)
                return -1;
        }
    }
    return 0;
}

// Fails if a file has the path of a special resource.
static int check_specials(struct loader *l)
{
    for (uint32_t i = l->first; i < l->site->replies_n; i++) {
        const struct http_reply *r = &l->site->replies[i];
        const char *key = r->head + r->head_bytes;
        if ((r->special == HTTP_CONTENT || r->special == HTTP_RECEIVED) &&
            http_site_find(l->site, l->host, key, r->key_bytes) != i)
            return fail(l, "%.*s: there is a file, directory or resource of this name",
                        (int)r->key_bytes, key);
    }
    return 0;
}

static int load_root(struct loader *l, const char *root)
{
    struct stat st;
    if (realpath(root, l->root) == NULL || stat(l->root, &st) != 0)
        return fail(l, "root = %s: %s", root, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return fail(l, "root = %s: not a directory", root);
    l->root_bytes = strcmp(l->root, "/") == 0 ? 0 : strlen(l->root);
    memcpy(l->path, l->root, l->root_bytes);
    l->path[l->root_bytes] = '\0';
    return load_directory(l, &st, NULL);
}

static const char *moved_reason(unsigned status)
{
    switch (status) {
    case 301:
        return "Moved Permanently";
    case 302:
        return "Found";
    case 303:
        return "See Other";
    case 307:
        return "Temporary Redirect";
    default:
        return "Permanent Redirect";
    }
}

// Adds a redirect of the configuration: of one path, which is in the hash table, or of all paths
// with a prefix.
static int add_moved(struct loader *l, const struct http_rule *rule)
{
    const char *reason = moved_reason(rule->number), *target = (const char *)rule->value.s;
    const size_t bytes = strlen(rule->path);
    const bool all = rule->path[bytes - 1] == '*', rest = target[rule->value.n - 1] == '*';
    const bool query =
        memchr(target, '?', rule->value.n) != NULL || memchr(target, '#', rule->value.n) != NULL;
    char location[HTTP_OWN_BYTES_MAX];
    struct http_reply r = {.body = (const uint8_t *)reason,
                           .body_bytes = (uint32_t)strlen(reason),
                           .special = query ? HTTP_MOVED_EXACTLY : HTTP_MOVED};
    const int n = snprintf(location, sizeof(location), "Location: %.*s\r\n",
                           (int)rule->value.n - rest, target);
    if (n < 0 || (size_t)n >= sizeof(location))
        return fail(l, "redirect = %s: its target is too long", rule->path);
    if (all) {
        struct http_prefix *p = &l->host->prefixes[l->host->n_prefixes++];
        *p = (struct http_prefix){strndup(rule->path, bytes - 1), (uint32_t)bytes - 1,
                                  l->site->replies_n, rest};
        if (p->path == NULL)
            return fail(l, "redirect = %s: no memory", rule->path);
    }
    return add(l, &r, rule->number, reason, &(struct http_fields){TEXT_PLAIN, location, ""},
               all ? "" : rule->path, all ? 0 : bytes);
}

static int add_all_moved(struct loader *l)
{
    l->host->prefixes = calloc(rules_n(l) + 1, sizeof(*l->host->prefixes));
    if (l->host->prefixes == NULL)
        return fail(l, "no memory");
    for (unsigned i = 0; i < rules_n(l); i++) {
        const struct http_rule *rule = &l->params->rules->at[i];
        if (rule->kind != HTTP_RULE_REDIRECT || !is_for_host(l, rule))
            continue;
        l->host->served = true;
        if (add_moved(l, rule) != 0)
            return -1;
    }
    return 0;
}

// The reply of the host's error page for a status; HTTP_REPLY_NONE: none.
static uint32_t page_for(struct loader *l, unsigned status)
{
    uint32_t page = HTTP_REPLY_NONE;
    for (unsigned i = 0; i < rules_n(l) && page == HTTP_REPLY_NONE; i++) {
        const struct http_rule *rule = &l->params->rules->at[i];
        if (rule->kind != HTTP_RULE_PAGE || rule->number != status || !is_for_host(l, rule))
            continue;
        page = http_site_find(l->site, l->host, rule->path, strlen(rule->path));
        if (page != HTTP_REPLY_NONE && l->site->replies[page].special != HTTP_FILE)
            page = HTTP_REPLY_NONE;
        l->page_found[i] |= page != HTTP_REPLY_NONE;
    }
    return page;
}

// A host with error pages gets its own copy of all replies of http_fixed[].
static int add_pages(struct loader *l)
{
    bool any = false;
    for (const struct http_fixed *f = http_fixed; f->status != 0; f++)
        any |= page_for(l, f->status) != HTTP_REPLY_NONE;
    if (!any)
        return 0;
    l->host->fixed = l->site->replies_n;
    for (const struct http_fixed *f = http_fixed; f->status != 0; f++) {
        const uint32_t page = page_for(l, f->status);
        const struct http_reply *from =
            &l->site->replies[page != HTTP_REPLY_NONE ? page
                                                      // the reply of all hosts
                                                      : (uint32_t)(f - http_fixed)];
        struct http_reply r = {
            .body = from->body, .body_bytes = from->body_bytes, .image = from->image};
        char type[192];
        snprintf(type, sizeof(type), "%.*s", from->extras_off - from->fields_off,
                 from->head + from->fields_off);
        if (add(l, &r, f->status, f->reason, &(struct http_fields){type, f->fields, ""}, "", 0) !=
            0)
            return -1;
    }
    return 0;
}

// Loads one host. Its redirects are added first, so that they have priority over its files.
static int load_host(struct loader *l, const char *root)
{
    l->host = &l->site->hosts[l->site->n_hosts++];
    l->first = l->site->replies_n;
    int rc = add_all_moved(l);
    l->host->served |= root != NULL;
    if (rc == 0 && root != NULL)
        rc = load_root(l, root);
    if (rc == 0 && l->host->served)
        rc = add_special(l, l->params->content_path, HTTP_CONTENT);
    if (rc == 0 && l->host->served)
        rc = add_special(l, l->params->received_path, HTTP_RECEIVED);
    if (rc == 0)
        rc = make_table(l);
    if (rc == 0)
        rc = check_specials(l);
    if (rc == 0)
        rc = pair_packed(l);
    return rc == 0 ? add_pages(l) : rc;
}

// Parses a `host` line: NAME, NAME ROOT.
static int load_line(struct loader *l, struct http_text line)
{
    struct http_text name, names = line;
    char root[PATH_MAX];
    while (names.n > 0 && !http_is_blank(names.s[names.n - 1]))
        names.n--;
    snprintf(root, sizeof(root), "%.*s", (int)(line.n - names.n), (const char *)line.s + names.n);
    l->names = names = http_text_trim(names);
    if (names.n == 0 || l->site->n_hosts == HTTP_HOSTS_MAX)
        return fail(l, "host = %.*s: expected names and a directory, at most %d lines", (int)line.n,
                    (const char *)line.s, HTTP_HOSTS_MAX - 1);
    while (http_list_next(&names, &name)) {
        const char *wrong = http_names_add(&l->site->names, name, l->site->n_hosts);
        if (wrong != NULL)
            return fail(l, "host = %.*s: %.*s: %s", (int)line.n, (const char *)line.s, (int)name.n,
                        (const char *)name.s, wrong);
    }
    return load_host(l, strcmp(root, "-") == 0 ? NULL : root);
}

static int check_pages(struct loader *l)
{
    for (unsigned i = 0; i < rules_n(l); i++) {
        const struct http_rule *rule = &l->params->rules->at[i];
        if (rule->kind == HTTP_RULE_PAGE && !l->page_found[i])
            return fail(l, "error_page = %u %.*s%s: there is no such file", rule->number,
                        (int)rule->host.n, (const char *)rule->host.s, rule->path);
    }
    return 0;
}

static int load_all(struct loader *l)
{
    const char *hosts = l->params->hosts == NULL ? "" : l->params->hosts;
    struct http_text lines = {(const uint8_t *)hosts, strlen(hosts)}, line;
    if (add_fixed(l) != 0 || load_host(l, l->params->root) != 0)
        return -1;
    while (http_line_next(&lines, &line))
        if (load_line(l, line) != 0)
            return -1;
    if (l->site->skipped > HTTP_WARNINGS_MAX)
        c10m_warn(l->service, "%u entries skipped in total (apps/NAME/skipped)", l->site->skipped);
    return check_pages(l);
}

int http_site_load(struct http_site *site, struct c10m_service *s,
                   const struct http_site_params *params, char *err, size_t err_bytes)
{
    *site = (struct http_site){.images = c10m_images_new(s)};
    struct loader *l = calloc(1, sizeof(*l));
    bool *page_found = calloc(HTTP_RULES_MAX + 1, sizeof(*page_found));
    if (l == NULL || page_found == NULL || site->images == NULL) {
        free(l);
        free(page_found);
        snprintf(err, err_bytes, "no memory");
        return -1;
    }
    l->site = site;
    l->service = s;
    l->params = params;
    l->page_found = page_found;
    l->err = err;
    l->err_bytes = err_bytes;
    int rc = load_all(l);
    if (rc != 0 && l->no_memory)
        rc = HTTP_LOAD_NO_MEMORY;
    free(page_found);
    free(l);
    return rc;
}
