// SPDX-License-Identifier: BSD-3-Clause
// access.c: handles, which readers and writers of entries hold, and what is read through them.
#include "tree/access.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tree/node.h"

// tree_handle: an open entry. out.text is the snapshot of a file, the listing of a directory (a
// sequence of struct record), or the last piece of a stream. text_at is the offset of that piece
// in the stream.
struct tree_handle {
    LIST_ENTRY(tree_handle) link;
    struct tree_node *node;
    uint32_t uid;  // the user who opened it
    struct tree_out out;
    size_t held_bytes;  // the part of usage.snapshot_bytes that this handle's text takes
    unsigned how;
    bool ended;           // the stream has no more pieces
    bool begun;           // next() was called and has state in the cursor
    bool lives;           // next() has returned TREE_LATER without text
    uint32_t idle_calls;  // consecutive calls of next() that returned no text and took no time
    uint64_t text_at;
    uint64_t cursor[TREE_CURSOR_BYTES_MAX / sizeof(uint64_t)];
};

// record: one entry of a listing: id, kind and length of the name; the name and a terminating 0
// follow it.
struct record {
    uint64_t id;
    uint8_t kind;
    uint8_t name_len;
} __attribute__((packed));

static_assert(TREE_NAME_BYTES_MAX <= UINT8_MAX, "name_len holds it");

// LISTING_BYTES_MAX: the listing of a directory that contains TREE_ENTRIES_MAX entries, each with
// the longest name.
enum { LISTING_BYTES_MAX = TREE_ENTRIES_MAX * (sizeof(struct record) + TREE_NAME_BYTES_MAX + 1) };

static_assert((size_t)LISTING_BYTES_MAX <= (size_t)TREE_SNAPSHOTS_BYTES_MAX,
              "any directory can be listed");

int tree_printf(struct tree_out *out, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int rc = text_vprintf(&out->text, format, ap);
    va_end(ap);
    return rc;
}

int tree_put(struct tree_out *out, const void *data, size_t n)
{
    return text_put(&out->text, data, n);
}

size_t tree_room(const struct tree_out *out)
{
    return out->text.error != 0 ? 0 : out->text.limit_bytes - out->text.len;
}

// reason: the text of tree_refuse() in the callback that failed last. Callbacks get no handle that
// could hold it. One static variable is enough, because all callbacks run on the control thread.
static struct err reason;

int tree_refuse(int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(reason.text, sizeof(reason.text), format, ap);
    va_end(ap);
    return -code;
}

const char *tree_reason(void)
{
    return reason.text;
}

void tree_reason_clear(void)
{
    reason.text[0] = '\0';
}

struct text *tree_text(struct tree_out *out)
{
    return &out->text;
}

struct tree_node *tree_lookup(struct tree_node *dir, const char *name)
{
    uint32_t at;
    struct tree_node *node = NULL;
    if (dir->kind != TREE_DIR)
        errno = ENOTDIR;
    else if ((node = node_find(dir, name, strlen(name), &at)) == NULL)
        errno = ENOENT;
    return node;
}

struct tree_stat tree_stat(const struct tree_node *node)
{
    uint32_t links = node->kind == TREE_DIR ? 2 + node->dir_count : 1;
    return (struct tree_stat){.id = node->id,
                              .kind = (enum tree_kind)node->kind,
                              .mode = node->mode,
                              .uid = node->uid,
                              .gid = node->gid,
                              .links = node->removed ? 0 : links,
                              .made_s = node->made_s};
}

const char *tree_target(const struct tree_node *node)
{
    return node->target;
}

void tree_session_init(struct tree_session *session, struct tree *t)
{
    session->tree = t;
    LIST_INIT(&session->handles);
}

void tree_session_close(struct tree_session *session)
{
    while (!LIST_EMPTY(&session->handles))
        tree_close(LIST_FIRST(&session->handles));
}

// text_begin, text_end: the handle's text is filled between these two calls. The limit is
// limit_bytes or what the text of all handles together leaves, if that is less. text_end returns 0
// or the text's error.
static void text_begin(struct tree_handle *h, size_t limit_bytes)
{
    struct tree_usage *u = &h->node->tree->usage;
    u->snapshot_bytes -= h->held_bytes;
    h->held_bytes = 0;
    text_free(&h->out.text);
    const uint64_t all = TREE_SNAPSHOTS_BYTES_MAX - (h->uid == 0 ? 0 : TREE_SNAPSHOTS_ROOT_BYTES);
    text_init(&h->out.text, MIN(limit_bytes, all - MIN(all, u->snapshot_bytes)));
}

static int text_end(struct tree_handle *h, size_t limit_bytes)
{
    struct tree_usage *u = &h->node->tree->usage;
    struct text *t = &h->out.text;
    int rc = t->error == -EFBIG && t->limit_bytes < limit_bytes ? -ENOBUFS : t->error;
    u->snapshots_refused += rc != 0;
    h->held_bytes = t->len;
    u->snapshot_bytes += t->len;
    return rc;
}

// snapshot: calls the read callback. An error of the text takes precedence over the callback's
// result. A positive result is an error of the callback.
static int snapshot(struct tree_handle *h)
{
    text_begin(h, TREE_SNAPSHOT_BYTES_MAX);
    tree_reason_clear();
    int rc = h->node->ops.read(&h->out, h->node->data);
    int full = text_end(h, TREE_SNAPSHOT_BYTES_MAX);
    if (full != 0)
        return full;
    return rc > 0 ? -EIO : rc;
}

static int open_check(const struct tree_node *node, unsigned how)
{
    if (node->removed)
        return -ENOENT;
    if (node->kind == TREE_LINK)
        return -ELOOP;
    if (node->kind == TREE_DIR)
        return (how & TREE_WRITE) != 0 ? -EACCES : 0;
    bool readable = (how & TREE_READ) == 0 || node->ops.read != NULL || node->ops.next != NULL;
    bool writable = (how & TREE_WRITE) == 0 || node->ops.write != NULL;
    return readable && writable ? 0 : -EACCES;
}

// user_at: the element of uid, or the free element for it (hash table with linear probing). A free
// element always exists.
static struct tree_user *user_at(struct tree *t, uint32_t uid)
{
    uint32_t i = uid * 2654435761u % USERS_MAX;
    while (t->users[i].handles != 0 && t->users[i].uid != uid)
        i = (i + 1) % USERS_MAX;
    return &t->users[i];
}

// user_drop: counts one handle less for uid. When an element becomes free, later elements of the
// probe sequence move up, so that a search still finds them.
static void user_drop(struct tree *t, uint32_t uid)
{
    struct tree_user *u = user_at(t, uid);
    CHECK(u->handles > 0);
    if (--u->handles > 0)
        return;
    for (uint32_t i = (uint32_t)(u - t->users + 1) % USERS_MAX; t->users[i].handles != 0;
         i = (i + 1) % USERS_MAX) {
        const struct tree_user moved = t->users[i];
        t->users[i].handles = 0;
        *user_at(t, moved.uid) = moved;
    }
}

// handles_check: 0 if uid may open one more handle, else -EMFILE or -ENFILE.
static int handles_check(struct tree *t, uint32_t uid)
{
    struct tree_usage *u = &t->usage;
    const bool full = u->handles >= TREE_HANDLES_MAX - (uid == 0 ? 0 : TREE_HANDLES_ROOT);
    const bool greedy = uid != 0 && user_at(t, uid)->handles >= TREE_HANDLES_USER_MAX;
    u->handles_refused += full || greedy;
    return greedy ? -EMFILE : full ? -ENFILE : 0;
}

int tree_open(struct tree_session *session, struct tree_node *node, unsigned how,
              struct tree_handle **handle)
{
    return tree_open_as(session, node, how, 0, handle);
}

int tree_open_as(struct tree_session *session, struct tree_node *node, unsigned how, uint32_t uid,
                 struct tree_handle **handle)
{
    struct tree *t = node->tree;
    int rc = open_check(node, how);
    if (rc == 0)
        rc = handles_check(t, uid);
    if (rc != 0)
        return rc;
    struct tree_handle *h = calloc(1, sizeof(*h));
    if (h == NULL)
        return -ENOMEM;
    struct tree_user *user = user_at(t, uid);
    user->uid = uid;
    user->handles++;
    t->usage.handles++;
    node->refs++;
    if (node->owner != NULL)
        node->owner->open++;
    h->node = node;
    h->uid = uid;
    h->how = how;
    LIST_INSERT_HEAD(&session->handles, h, link);
    if (node->kind == TREE_FILE && (how & TREE_READ) != 0 && node->ops.read != NULL)
        rc = snapshot(h);
    if (rc != 0) {
        tree_close(h);
        return rc;
    }
    *handle = h;
    return 0;
}

// cursor_drop: ends the use of the cursor; the callback done() frees what it refers to.
static void cursor_drop(struct tree_handle *h)
{
    if (h->begun && h->node->ops.done != NULL)
        h->node->ops.done(h->cursor, h->node->data);
    h->begun = false;
    memset(h->cursor, 0, sizeof(h->cursor));
}

void tree_close(struct tree_handle *h)
{
    cursor_drop(h);
    struct tree_usage *u = &h->node->tree->usage;
    u->handles--;
    user_drop(h->node->tree, h->uid);
    u->snapshot_bytes -= h->held_bytes;
    LIST_REMOVE(h, link);
    text_free(&h->out.text);
    if (h->node->owner != NULL)
        h->node->owner->open--;
    node_unref(h->node);
    free(h);
}

bool tree_streams(const struct tree_node *node)
{
    return node->ops.next != NULL;
}

static void stream_rewind(struct tree_handle *h)
{
    cursor_drop(h);
    h->text_at = 0;
    h->ended = false;
    text_begin(h, TREE_CHUNK_BYTES_MAX);
    text_end(h, TREE_CHUNK_BYTES_MAX);
}

static uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// stream_call: calls next() and updates idle_calls.
static int stream_call(struct tree_handle *h)
{
    const uint64_t begin_ns = clock_ns();
    tree_reason_clear();
    h->begun = true;
    const int rc = h->node->ops.next(&h->out, h->cursor, h->node->data);
    if (rc == TREE_LATER && h->out.text.len == 0) {
        h->lives = true;
        h->idle_calls = TREE_IDLE_CALLS;
    } else if (rc != 1 || h->out.text.len != 0 || clock_ns() - begin_ns > TREE_WORK_NS)
        h->idle_calls = 0;
    else if (h->idle_calls < TREE_IDLE_CALLS)
        h->idle_calls++;
    return rc;
}

bool tree_idle(const struct tree_handle *h)
{
    return h->idle_calls == TREE_IDLE_CALLS;
}

bool tree_lives(const struct tree_handle *h)
{
    return h->lives;
}

// stream_next: replaces the current piece by the next one. After an error the text is empty.
static ssize_t stream_next(struct tree_handle *h)
{
    h->text_at += h->out.text.len;
    text_begin(h, TREE_CHUNK_BYTES_MAX);
    int rc = stream_call(h);
    const int full = text_end(h, TREE_CHUNK_BYTES_MAX);
    h->ended = rc == 0 && full == 0;
    if (full == 0 && (rc == 0 || rc == 1 || rc == TREE_LATER))
        return h->out.text.len != 0 || h->ended ? 0 : -EAGAIN;
    text_begin(h, TREE_CHUNK_BYTES_MAX);
    text_end(h, TREE_CHUNK_BYTES_MAX);
    return full != 0 ? full : rc > 0 ? -EIO : rc;
}

static ssize_t stream_read(struct tree_handle *h, uint64_t off)
{
    if (off == 0 && (h->text_at + h->out.text.len != 0 || h->ended))
        stream_rewind(h);
    if (off < h->text_at || off > h->text_at + h->out.text.len)
        return -EINVAL;
    if (off == h->text_at + h->out.text.len && !h->ended)
        return stream_next(h);
    return 0;
}

ssize_t tree_read(struct tree_handle *h, uint64_t off, size_t n, const char **data)
{
    const struct text *t = &h->out.text;
    if (h->node->kind != TREE_FILE)
        return 0;
    if (h->node->ops.next != NULL) {
        const ssize_t rc = stream_read(h, off);
        if (rc != 0)
            return rc;
        off -= h->text_at;
    }
    if (off >= t->len)
        return 0;
    *data = t->data + off;
    return (ssize_t)MIN(n, t->len - off);
}

int tree_write(struct tree_handle *h, const char *buf, size_t n)
{
    struct tree_node *node = h->node;
    int rc = 0;
    if ((h->how & TREE_WRITE) == 0)
        return -EBADF;
    if (node->removed)
        return -EIO;
    if (n > TREE_WRITE_BYTES_MAX) {
        node->tree->usage.writes_refused++;
        return -EFBIG;
    }
    tree_reason_clear();
    if (n > 0)
        rc = node->ops.write(buf, n, node->data);
    return rc > 0 ? -EIO : rc;
}

int tree_list(struct tree_handle *h)
{
    const struct tree_node *dir = h->node;
    struct text *t = &h->out.text;
    if (dir->kind != TREE_DIR)
        return -ENOTDIR;
    text_begin(h, LISTING_BYTES_MAX);
    for (uint32_t i = 0; i < dir->child_count; i++) {
        const struct tree_node *node = dir->children[i];
        size_t name_len = strlen(node->name);
        struct record r = {.id = node->id, .kind = node->kind, .name_len = (uint8_t)name_len};
        text_put(t, &r, sizeof(r));
        text_put(t, node->name, name_len + 1);
    }
    return text_end(h, LISTING_BYTES_MAX);
}

bool tree_next(const struct tree_handle *h, uint64_t *pos, struct tree_dirent *e)
{
    const struct text *t = &h->out.text;
    struct record r;
    if (h->node->kind != TREE_DIR || *pos >= t->len || t->len - *pos < sizeof(r))
        return false;
    memcpy(&r, t->data + *pos, sizeof(r));
    uint64_t name_at = *pos + sizeof(r);
    if (t->len - name_at < (size_t)r.name_len + 1)
        return false;
    *e = (struct tree_dirent){r.id, (enum tree_kind)r.kind, t->data + name_at};
    *pos = name_at + r.name_len + 1;
    return true;
}
