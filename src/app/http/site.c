#include "app/http/site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/http/date.h"
#include "app/http/mime.h"
#include "app/http/path.h"

#define ALLOW      "Allow: GET, HEAD, OPTIONS\r\n"
#define ALLOW_POST "Allow: POST, OPTIONS\r\n"
#define RANGES     "Accept-Ranges: bytes\r\n"
#define VARY       "Vary: Accept-Encoding\r\n"
#define TEXT_PLAIN "Content-Type: text/plain; charset=utf-8\r\n"

static const struct {
    unsigned status;
    const char *reason, *fields;
} fixed[] = {
    {400, "Bad Request", ""},
    {204, "No Content", ALLOW},
    {204, "No Content", ALLOW_POST},
    {404, "Not Found", ""},
    {405, "Method Not Allowed", ALLOW},
    {405, "Method Not Allowed", ALLOW_POST},
    {408, "Request Timeout", ""},
    {411, "Length Required", ""},
    {412, "Precondition Failed", ""},
    {413, "Content Too Large", ""},
    {414, "URI Too Long", ""},
    {417, "Expectation Failed", ""},
    {431, "Request Header Fields Too Large", ""},
    {501, "Not Implemented", ""},
    {503, "Service Unavailable", "Retry-After: 1\r\n"},
    {505, "HTTP Version Not Supported", ""},
};
enum { FIXED = sizeof(fixed) / sizeof(fixed[0]) };

// What is in hand while loading.
struct loader {
    struct http_site *site;
    struct c10m_service *service;
    const struct http_site_limits *limits;
    uint64_t files, bytes;
    char root[PATH_MAX];  // resolved
    size_t root_bytes;    // 0 for "/"
    char path[PATH_MAX];  // of what is being looked at: root, then "/name" ...
    char *err;
    size_t err_bytes;
};

// A directory being read, and those it lies in.
struct level {
    const struct level *parent;
    dev_t dev;
    ino_t ino;
    unsigned depth;
};

__attribute__((format(printf, 2, 3))) static int fail(struct loader *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(l->err, l->err_bytes, format, args);
    va_end(args);
    return -1;
}

// Appends *r, whose body is set, made of the rest.
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
    for (unsigned i = 0; i < FIXED; i++) {
        struct http_reply r = {0};
        struct http_fields fields = {"", fixed[i].fields, ""};
        if (fixed[i].status != 204) {
            r.body = (const uint8_t *)fixed[i].reason;
            r.body_bytes = (uint32_t)strlen(fixed[i].reason);
            fields.type = TEXT_PLAIN;
        }
        if (add(l, &r, fixed[i].status, fixed[i].reason, &fields, "", 0) != 0)
            return -1;
    }
    return 0;
}

static int add_redirect(struct loader *l, const char *directory, size_t directory_bytes)
{
    static const char body[] = "Moved Permanently";
    struct http_reply r = {.body = (const uint8_t *)body, .body_bytes = sizeof(body) - 1};
    char location[HTTP_KEY_BYTES_MAX + 16];
    snprintf(location, sizeof(location), "Location: %.*s\r\n", (int)directory_bytes, directory);
    return add(l, &r, 301, body, &(struct http_fields){TEXT_PLAIN, location, ""}, directory,
               directory_bytes - 1);
}

// A resource that answers what it is asked, at a path that the configuration names.
static int add_special(struct loader *l, const char *path, enum http_special special)
{
    char key[HTTP_KEY_BYTES_MAX];
    struct http_reply r = {.body = (const uint8_t *)"", .special = special};
    if (path == NULL)
        return 0;
    int n = http_path((const uint8_t *)path, strlen(path) < sizeof(key) ? strlen(path) : 0, key);
    if (n < 0 || strcspn(path, "?") != strlen(path) || path[0] != '/')
        return fail(l, "%s: expected an absolute path as in a URL", path);
    return add(l, &r, 200, "OK", &(struct http_fields){"", "", ""}, key, (size_t)n);
}

// The file's line under its own name, and its directory's when it is the index.
static int add_file(struct loader *l, const struct http_reply *file, const struct stat *st)
{
    char key[HTTP_KEY_BYTES_MAX], type[128], validators[128];
    int n = http_path_encode(l->path + l->root_bytes, key, sizeof(key));
    if (n < 0)
        return fail(l, "%s: its path takes more than %d bytes in a URL", l->path,
                    HTTP_KEY_BYTES_MAX);
    const char *name = strrchr(l->path, '/') + 1;
    uint64_t modified_s = st->st_mtime < 0 ? 0 : (uint64_t)st->st_mtime;
    if (modified_s > l->limits->now_s)
        modified_s = l->limits->now_s;  // RFC 9110 section 8.8.2.1
    snprintf(type, sizeof(type), "Content-Type: %s\r\n", http_mime(name));
    snprintf(validators, sizeof(validators), "Last-Modified: %.*s\r\nETag: \"%x-%016llx\"\r\n",
             HTTP_DATE_BYTES, http_date(modified_s), file->body_bytes,
             (unsigned long long)http_path_hash(file->body, file->body_bytes));
    struct http_reply r = *file;
    const struct http_fields fields = {type, RANGES, validators};
    r.special = HTTP_FILE;
    r.modified_s = (uint32_t)modified_s;
    if (add(l, &r, 200, "OK", &fields, key, (size_t)n) != 0)
        return -1;
    if (strcmp(name, "index.html") != 0)
        return 0;
    size_t directory_bytes = (size_t)n - strlen(name);
    if (add(l, &r, 200, "OK", &fields, key, directory_bytes) != 0)
        return -1;
    return directory_bytes == 1 ? 0 : add_redirect(l, key, directory_bytes);
}

static int read_all(struct loader *l, int fd, uint8_t *to, uint64_t len)
{
    for (uint64_t done = 0; done < len;) {
        size_t part = len - done < 1 << 30 ? (size_t)(len - done) : 1 << 30;
        ssize_t n = read(fd, to + done, part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(l, "%s: %s", l->path, strerror(errno));
        if (n == 0)
            return fail(l, "%s: became shorter while it was read", l->path);
        done += (uint64_t)n;
    }
    return 0;
}

static int load_open_file(struct loader *l, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail(l, "%s: %s", l->path, strerror(errno));
    uint64_t len = (uint64_t)st.st_size;
    if (++l->files > l->limits->files_max)
        return fail(l, "%s: more than files_max = %llu files below the root", l->path,
                    (unsigned long long)l->limits->files_max);
    if (len > C10M_SEND_REF_BYTES_MAX)
        return fail(l, "%s: %llu bytes: a file may have at most %d", l->path,
                    (unsigned long long)len, C10M_SEND_REF_BYTES_MAX);
    if (len > l->limits->bytes_max - l->bytes)
        return fail(l, "%s: %llu bytes, and %llu before it: more than bytes_max = %llu", l->path,
                    (unsigned long long)len, (unsigned long long)l->bytes,
                    (unsigned long long)l->limits->bytes_max);
    l->bytes += len;
    struct http_reply file = {.body = (const uint8_t *)"", .body_bytes = (uint32_t)len};
    if (len != 0) {
        uint8_t *room;
        file.image = c10m_image_reserve(l->service, len, &room);
        if (file.image == NULL)
            return fail(l, "%s: %llu bytes do not fit: raise [memory] image_bytes", l->path,
                        (unsigned long long)len);
        if (read_all(l, fd, room, len) != 0)
            return -1;
        file.body = c10m_image_bytes(file.image, &len);
    }
    return add_file(l, &file, &st);
}

static int load_file(struct loader *l)
{
    int fd = open(l->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(l, "%s: %s", l->path, strerror(errno));
    int rc = load_open_file(l, fd);
    close(fd);
    return rc;
}

static int load_directory(struct loader *l, const struct stat *st, const struct level *parent);

// The file or directory at l->path.
static int load_path(struct loader *l, const struct level *parent)
{
    struct stat st;
    if (lstat(l->path, &st) != 0)
        return fail(l, "%s: %s", l->path, strerror(errno));
    if (S_ISLNK(st.st_mode)) {
        char real[PATH_MAX];
        if (realpath(l->path, real) == NULL || stat(l->path, &st) != 0)
            return fail(l, "%s: symbolic link: %s", l->path, strerror(errno));
        if (strncmp(real, l->root, l->root_bytes) != 0 ||
            (real[l->root_bytes] != '/' && real[l->root_bytes] != '\0'))
            return fail(l, "%s: symbolic link leaves the root: %s", l->path, real);
    }
    if (S_ISDIR(st.st_mode))
        return load_directory(l, &st, parent);
    if (!S_ISREG(st.st_mode))
        return fail(l, "%s: neither a file nor a directory", l->path);
    return load_file(l);
}

static int load_entries(struct loader *l, DIR *directory, const struct level *level)
{
    size_t len = strlen(l->path);
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(directory);
        if (e == NULL)
            return errno == 0 ? 0 : fail(l, "%s: %s", l->path, strerror(errno));
        if (e->d_name[0] == '.' && strcmp(e->d_name, ".well-known") != 0)
            continue;
        if (len + 1 + strlen(e->d_name) >= sizeof(l->path))
            return fail(l, "%s: path too long", l->path);
        snprintf(l->path + len, sizeof(l->path) - len, "/%s", e->d_name);
        if (load_path(l, level) != 0)
            return -1;
        l->path[len] = '\0';
    }
}

static int load_directory(struct loader *l, const struct stat *st, const struct level *parent)
{
    struct level level = {parent, st->st_dev, st->st_ino, parent == NULL ? 0 : parent->depth + 1};
    if (level.depth > HTTP_DEPTH_MAX)
        return fail(l, "%s: more than %d directories deep", l->path, HTTP_DEPTH_MAX);
    for (const struct level *up = parent; up != NULL; up = up->parent)
        if (up->dev == level.dev && up->ino == level.ino)
            return fail(l, "%s: symbolic link to a directory it lies in", l->path);
    DIR *directory = opendir(l->path[0] == '\0' ? "/" : l->path);
    if (directory == NULL)
        return fail(l, "%s: %s", l->path, strerror(errno));
    int rc = load_entries(l, directory, &level);
    closedir(directory);
    return rc;
}

static int make_table(struct loader *l)
{
    struct http_site *site = l->site;
    uint32_t slots = 16;
    while (slots < 2 * site->replies_n)
        slots *= 2;
    site->slots = malloc(slots * sizeof(*site->slots));
    if (site->slots == NULL)
        return fail(l, "%s: no memory", l->root);
    memset(site->slots, 0xff, slots * sizeof(*site->slots));
    site->mask = slots - 1;
    for (uint32_t i = 0; i < site->replies_n; i++) {
        const struct http_reply *r = &site->replies[i];
        if (r->key_bytes == 0)
            continue;
        uint32_t hash = (uint32_t)http_path_hash(r->head + r->head_bytes, r->key_bytes), at = hash;
        while (site->slots[at & site->mask].reply != HTTP_REPLY_NONE)
            at++;
        site->slots[at & site->mask] = (struct http_slot){hash, i};
    }
    return 0;
}

static uint32_t little_endian(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

// CRC-32 of RFC 1952 section 8, four bits at a time.
static uint32_t crc32(const uint8_t *p, size_t len)
{
    static const uint32_t nibble[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = UINT32_MAX;
    for (; len > 0; p++, len--) {
        crc ^= *p;
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return ~crc;
}

// Whether `packed` is the gzip file of `plain`, of one member, as far as its ends tell.
static bool is_gzip_of(const struct http_reply *packed, const struct http_reply *plain)
{
    const uint8_t *p = packed->body;
    const size_t n = packed->body_bytes;
    return n >= 18 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8 &&
           little_endian(p + n - 4) == plain->body_bytes &&
           little_endian(p + n - 8) == crc32(plain->body, plain->body_bytes);
}

// The .gz beside the file of reply `ix`, or HTTP_REPLY_NONE.
static uint32_t gzip_beside(const struct http_site *site, uint32_t ix)
{
    const struct http_reply *r = &site->replies[ix];
    char key[HTTP_KEY_BYTES_MAX + 16];
    if (r->special != HTTP_FILE || r->key_bytes == 0)
        return HTTP_REPLY_NONE;
    const char *own = r->head + r->head_bytes;
    int n = snprintf(key, sizeof(key), "%.*s%s.gz", (int)r->key_bytes, own,
                     own[r->key_bytes - 1] == '/' ? "index.html" : "");
    uint32_t gz = http_site_find(site, key, (size_t)n);
    if (gz == HTTP_REPLY_NONE || !is_gzip_of(&site->replies[gz], r))
        return HTTP_REPLY_NONE;
    return gz;
}

// The reply to those who accept gzip: the file's type, the other's bytes and entity tag.
static int add_gzip(struct loader *l, uint32_t ix, uint32_t gz)
{
    const struct http_reply *plain = &l->site->replies[ix], *packed = &l->site->replies[gz];
    char type[128], validators[256];
    struct http_reply r = {.body = packed->body,
                           .image = packed->image,
                           .body_bytes = packed->body_bytes,
                           .modified_s = packed->modified_s,
                           .special = HTTP_FILE};
    snprintf(type, sizeof(type), "%.*s", plain->extras_off - plain->fields_off,
             plain->head + plain->fields_off);
    snprintf(validators, sizeof(validators), "%.*s" VARY,
             (int)(packed->head_bytes - packed->validators_off - strlen("Date: ")),
             packed->head + packed->validators_off);
    const struct http_fields fields = {type, RANGES "Content-Encoding: gzip\r\n", validators};
    uint32_t own = l->site->replies_n;
    if (add(l, &r, 200, "OK", &fields, "", 0) != 0)
        return -1;
    l->site->replies[ix].gzip = own;
    if (!http_reply_add_field(&l->site->replies[ix], VARY))
        return fail(l, "%s: no memory", l->root);
    return 0;
}

static int pair_gzip(struct loader *l)
{
    uint32_t n = l->site->replies_n;  // the variants come behind
    for (uint32_t i = 0; i < n; i++) {
        uint32_t gz = gzip_beside(l->site, i);
        if (gz != HTTP_REPLY_NONE && add_gzip(l, i, gz) != 0)
            return -1;
    }
    return 0;
}

// Two replies of one name: a file lies where a special resource is to be.
static int check_specials(struct loader *l)
{
    for (uint32_t i = 0; i < l->site->replies_n; i++) {
        const struct http_reply *r = &l->site->replies[i];
        const char *key = r->head + r->head_bytes;
        if (r->special > HTTP_FILE && http_site_find(l->site, key, r->key_bytes) != i)
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

int http_site_load(struct http_site *site, struct c10m_service *s, const char *root,
                   const struct http_site_limits *limits, char *err, size_t err_bytes)
{
    *site = (struct http_site){0};
    struct loader *l = calloc(1, sizeof(*l));
    if (l == NULL) {
        snprintf(err, err_bytes, "no memory");
        return -1;
    }
    l->site = site;
    l->service = s;
    l->limits = limits;
    l->err = err;
    l->err_bytes = err_bytes;
    int rc = add_fixed(l);
    if (rc == 0)
        rc = load_root(l, root);
    if (rc == 0)
        rc = add_special(l, limits->content_path, HTTP_CONTENT);
    if (rc == 0)
        rc = add_special(l, limits->received_path, HTTP_RECEIVED);
    if (rc == 0)
        rc = make_table(l);
    if (rc == 0)
        rc = check_specials(l);
    if (rc == 0)
        rc = pair_gzip(l);
    free(l);
    return rc;
}

void http_site_free(struct http_site *site)
{
    for (uint32_t i = 0; i < site->replies_n; i++)
        free((void *)(uintptr_t)site->replies[i].head);
    free(site->replies);
    free(site->slots);
    *site = (struct http_site){0};
}

uint32_t http_site_find(const struct http_site *site, const void *key, size_t key_bytes)
{
    uint32_t hash = (uint32_t)http_path_hash(key, key_bytes);
    for (uint32_t at = hash;; at++) {
        struct http_slot slot = site->slots[at & site->mask];
        if (slot.reply == HTTP_REPLY_NONE)
            return HTTP_REPLY_NONE;
        const struct http_reply *r = &site->replies[slot.reply];
        if (slot.hash == hash && r->key_bytes == key_bytes &&
            memcmp(r->head + r->head_bytes, key, key_bytes) == 0)
            return slot.reply;
    }
}

uint32_t http_site_fixed(unsigned status)
{
    for (uint32_t i = 0; i < FIXED; i++)
        if (fixed[i].status == status)
            return i;
    return 0;
}

uint32_t http_site_fixed_post(unsigned status)
{
    return http_site_fixed(status) + 1;  // its line stands behind the other one
}
