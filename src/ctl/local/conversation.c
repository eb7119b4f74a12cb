// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/local/conversation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void talk_init(struct talk *k, struct tree *t, const struct ctl_who *who,
               struct talk_counts *counts)
{
    tree_session_init(&k->session, t);
    k->who = who;
    k->counts = counts;
    k->state = TALK_HELLO;
    k->in_n = k->out_at = k->out_n = 0;
    k->handle = NULL;
}

void talk_fini(struct talk *k)
{
    tree_session_close(&k->session);
    k->handle = NULL;
    k->state = TALK_OVER;
}

uint8_t *talk_room(struct talk *k, size_t *n)
{
    *n = k->state == TALK_OVER ? 0 : sizeof(k->in) - k->in_n;
    return k->in + k->in_n;
}

void talk_received(struct talk *k, size_t n)
{
    CHECK(n <= sizeof(k->in) - k->in_n);
    k->in_n += n;
}

bool talk_idle(const struct talk *k)
{
    return k->state == TALK_READ && tree_idle(k->handle);
}

bool talk_busy(const struct talk *k)
{
    return k->out_at < k->out_n || k->state == TALK_READ || k->state == TALK_LIST;
}

// ---- answers

static void answer_end(struct talk *k, uint64_t total)
{
    k->out_n += wire_end_put(k->out + k->out_n, total);
}

// answer_error: code is a positive errno. The text is that of tree_refuse(), if the callback has
// set one.
static void answer_error(struct talk *k, int code)
{
    k->counts->denied += code == EACCES || code == EPERM;
    k->counts->failed += code != EACCES && code != EPERM;
    k->out_n += wire_error_put(k->out + k->out_n, code, tree_reason());
}

// talk_end: ends the conversation after a protocol error, because later bytes cannot be parsed
// either.
static void talk_end(struct talk *k, const char *why)
{
    k->counts->malformed++;
    k->out_n += wire_error_put(k->out + k->out_n, EPROTO, why);
    k->state = TALK_OVER;
}

static void handle_close(struct talk *k)
{
    tree_close(k->handle);
    k->handle = NULL;
    k->state = TALK_IDLE;
}

// data_frame: writes the head of a DATA frame before its n bytes, which are already in the buffer.
static void data_frame(struct talk *k, size_t n)
{
    wire_head_put(k->out + k->out_n, WIRE_DATA, n);
    k->out_n += WIRE_HEAD_BYTES + n;
    k->total += n;
}

// ---- requests

// find: the entry that r names, if the client has the rights `want`. Returns 0 or -errno.
static int find(struct talk *k, const struct wire_request *r, bool follow, unsigned want,
                struct tree_node **node)
{
    const int rc = ctl_walk(k->session.tree, k->who, r->path, r->path_bytes, follow, node);
    if (rc != 0 || want == 0)
        return rc;
    const struct tree_stat s = tree_stat(*node);
    return ctl_may(k->who, &s, want) ? 0 : -EACCES;
}

static struct wire_entry entry_of(const struct tree_node *node, const char *name)
{
    const struct tree_stat s = tree_stat(node);
    const char *target = tree_target(node);
    return (struct wire_entry){.id = s.id,
                               .made_s = s.made_s,
                               .kind = (uint8_t)s.kind,
                               .mode = (uint16_t)s.mode,
                               .uid = s.uid,
                               .gid = s.gid,
                               .name = name,
                               .name_bytes = (uint16_t)strlen(name),
                               .target = target,
                               .target_bytes = (uint16_t)(target == NULL ? 0 : strlen(target))};
}

static int do_stat(struct talk *k, const struct wire_request *r)
{
    struct tree_node *node;
    const int rc = find(k, r, (r->flags & WIRE_NOFOLLOW) == 0, 0, &node);
    if (rc != 0)
        return rc;
    const struct wire_entry e = entry_of(node, "");
    data_frame(k, wire_entry_put(k->out + WIRE_HEAD_BYTES, WIRE_ENTRY_BYTES_MAX, &e));
    answer_end(k, k->total);
    return 0;
}

static int do_list(struct talk *k, const struct wire_request *r)
{
    struct tree_node *node;
    int rc = find(k, r, true, 0, &node);
    if (rc == 0 && tree_stat(node).kind != TREE_DIR)
        rc = -ENOTDIR;
    const struct tree_stat s = rc == 0 ? tree_stat(node) : (struct tree_stat){0};
    // MAY_SEARCH: the listing includes modes
    if (rc == 0 && !ctl_may(k->who, &s, MAY_READ | MAY_SEARCH))
        rc = -EACCES;
    if (rc == 0)
        rc = tree_open_as(&k->session, node, TREE_READ, k->who->uid, &k->handle);
    if (rc != 0)
        return rc;
    rc = tree_list(k->handle);
    if (rc != 0) {
        handle_close(k);
        return rc;
    }
    k->listed = 0;
    k->state = TALK_LIST;
    return 0;
}

static int do_read(struct talk *k, const struct wire_request *r)
{
    struct tree_node *node;
    int rc = find(k, r, true, MAY_READ, &node);
    if (rc == 0 && tree_stat(node).kind == TREE_DIR)
        rc = -EISDIR;
    if (rc == 0)
        rc = tree_open_as(&k->session, node, TREE_READ, k->who->uid, &k->handle);
    if (rc != 0)
        return rc;
    k->offset = r->offset;
    k->left = r->limit == 0 ? UINT64_MAX : r->limit;
    k->state = TALK_READ;
    return 0;
}

static int do_write(struct talk *k, const struct wire_request *r)
{
    struct tree_node *node;
    struct tree_handle *h;
    int rc = find(k, r, true, MAY_WRITE, &node);
    if (rc == 0 && tree_stat(node).kind == TREE_DIR)
        rc = -EISDIR;
    if (rc == 0)
        rc = tree_open_as(&k->session, node, TREE_WRITE, k->who->uid, &h);
    if (rc != 0)
        return rc;
    rc = tree_write(h, r->data, r->data_bytes);
    tree_close(h);
    if (rc != 0)
        return rc;
    k->counts->writes++;
    answer_end(k, r->data_bytes);
    return 0;
}

static void request(struct talk *k, uint8_t type, const uint8_t *payload, size_t n)
{
    struct wire_request r;
    const char *wrong = wire_request_get(&r, type, payload, n);
    if (wrong != NULL) {
        talk_end(k, wrong);
        return;
    }
    k->counts->requests++;
    k->total = 0;
    tree_reason_clear();
    const int rc = r.type == WIRE_STAT   ? do_stat(k, &r)
                   : r.type == WIRE_LIST ? do_list(k, &r)
                   : r.type == WIRE_READ ? do_read(k, &r)
                                         : do_write(k, &r);
    if (rc != 0)
        answer_error(k, -rc);
}

// execute_frame: executes the next frame. False: it is incomplete.
static bool execute_frame(struct talk *k)
{
    struct wire_head h;
    if (k->in_n < WIRE_HEAD_BYTES)
        return false;
    if (!wire_head_get(k->in, &h) || h.payload_bytes > WIRE_REQUEST_BYTES_MAX) {
        talk_end(k, "a frame is too long, or not of this protocol");
        return true;
    }
    const size_t bytes = WIRE_HEAD_BYTES + h.payload_bytes;
    if (k->in_n < bytes)
        return false;
    const uint8_t *payload = k->in + WIRE_HEAD_BYTES;
    if (k->state != TALK_HELLO) {
        request(k, h.type, payload, h.payload_bytes);
    } else if (h.type == WIRE_HELLO && wire_hello_good(payload, h.payload_bytes)) {
        wire_hello_put(k->out);
        k->out_n = WIRE_HELLO_BYTES;
        k->state = TALK_IDLE;
    } else {
        talk_end(k, "expected a HELLO of version 1");
    }
    k->in_n -= bytes;
    memmove(k->in, k->in + bytes, k->in_n);
    return true;
}

// ---- longer answers, one frame per call

static void list_more(struct talk *k)
{
    struct tree_dirent d;
    size_t used = 0;
    uint64_t pos = k->listed;
    while (WIRE_DATA_BYTES_MAX - used >= WIRE_ENTRY_BYTES_MAX && tree_next(k->handle, &pos, &d)) {
        k->listed = pos;
        const struct tree_node *node = tree_by_id(k->session.tree, d.id);
        if (node == NULL)
            continue;  // removed after the listing was made
        const struct wire_entry e = entry_of(node, d.name);
        used += wire_entry_put(k->out + WIRE_HEAD_BYTES + used, WIRE_DATA_BYTES_MAX - used, &e);
    }
    if (used > 0) {
        data_frame(k, used);
        return;
    }
    answer_end(k, k->total);
    handle_close(k);
}

// False: a stream has no data yet.
static bool read_more(struct talk *k)
{
    const char *data = NULL;
    const size_t want = MIN(k->left, (uint64_t)WIRE_DATA_BYTES_MAX);
    tree_reason_clear();
    const ssize_t n = want == 0 ? 0 : tree_read(k->handle, k->offset, want, &data);
    if (n == -EAGAIN)
        return false;
    if (n > 0) {
        memcpy(k->out + WIRE_HEAD_BYTES, data, (size_t)n);
        data_frame(k, (size_t)n);
        k->offset += (uint64_t)n;
        k->left -= k->left == UINT64_MAX ? 0 : (uint64_t)n;
        k->counts->read_bytes += (uint64_t)n;
        return true;
    }
    if (n < 0)
        answer_error(k, (int)-n);
    else
        answer_end(k, k->total);
    handle_close(k);
    return true;
}

bool talk_work(struct talk *k, bool *later)
{
    *later = false;
    if (k->out_at < k->out_n)
        return true;
    k->out_at = k->out_n = 0;
    if (k->state == TALK_OVER)
        return false;
    if (k->state == TALK_LIST)
        list_more(k);
    else if (k->state == TALK_READ)
        *later = !read_more(k);
    else
        return execute_frame(k);
    return true;
}
