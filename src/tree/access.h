// SPDX-License-Identifier: BSD-3-Clause
// access.h: the tree for its control interfaces (FUSE, socket, HTTP): find an entry, open it, read,
// write, list, close. c10m/tree.h is the interface for code that adds entries. Control thread only.
//
//     tree_lookup, tree_by_id --> node --tree_open--> handle --> tree_read, tree_write, tree_list
//                                                        |
//                                                   tree_close, tree_session_close
//
// The interface checks permissions (tree_stat() has mode, owner and group); the tree does not know
// the user.
#pragma once
#include <sys/queue.h>
#include <sys/types.h>

#include "base/text.h"
#include "c10m/tree.h"

struct tree;
struct tree_handle;

enum tree_kind { TREE_DIR, TREE_FILE, TREE_LINK };

enum { TREE_READ = 1, TREE_WRITE = 2 };  // access of a handle

enum {
    TREE_HANDLES_MAX = 1024,                       // open at a time, over all interfaces
    TREE_HANDLES_USER_MAX = 256,                   // of one user; root has no such limit
    TREE_HANDLES_ROOT = 64,                        // of TREE_HANDLES_MAX, reserved for root
    TREE_SNAPSHOTS_BYTES_MAX = 256 * 1024 * 1024,  // held by all handles together
    TREE_SNAPSHOTS_ROOT_BYTES = 32 * 1024 * 1024,  // of those, reserved for root
    TREE_ROOT_ID = 1,                              // FUSE's number for the root
    TREE_IDLE_CALLS = 256,
    TREE_IDLE_MS = 10,
    TREE_WORK_NS = 20000,  // a call that takes longer did some work
};

// tree_stat: the attributes of an entry. An id is never reused. links is 0 for an entry that was
// removed and is held open.
struct tree_stat {
    uint64_t id;
    enum tree_kind kind;
    uint32_t mode, uid, gid, links;
    int64_t made_s;  // seconds since 1970
};

// tree_usage: how much of each limit is in use, and how often each limit refused.
struct tree_usage {
    uint64_t entries, handles, snapshot_bytes;
    uint64_t entries_refused, handles_refused, snapshots_refused, writes_refused;
};

// tree_dirent: one entry of a directory; name points into the listing.
struct tree_dirent {
    uint64_t id;
    enum tree_kind kind;
    const char *name;
};

// tree_session: the handles that one client or one interface holds open.
struct tree_session {
    struct tree *tree;
    LIST_HEAD(tree_handle_list, tree_handle) handles;
};

// tree_create: an empty tree; its root directory belongs to the effective user and group. NULL: no
// memory.
struct tree *tree_create(void);

// tree_destroy: removes every entry and frees the tree. All sessions are closed before. NULL: does
// nothing.
void tree_destroy(struct tree *t);

// tree_root: the root directory.
struct tree_node *tree_root(struct tree *t);

// tree_usage: the current use and the refusals.
struct tree_usage tree_usage(const struct tree *t);

// tree_by_id: the entry with that id; NULL: it is gone. An entry that was removed and is held open
// is found (links 0).
struct tree_node *tree_by_id(struct tree *t, uint64_t id);

// tree_lookup: the entry `name` of directory `dir`; NULL with errno ENOENT or ENOTDIR.
struct tree_node *tree_lookup(struct tree_node *dir, const char *name);

// tree_stat: the attributes of an entry. tree_target: the target of a symlink; NULL: it is not a
// symlink.
struct tree_stat tree_stat(const struct tree_node *node);
const char *tree_target(const struct tree_node *node);

// tree_streams: whether the entry is a stream, whose length is unknown until its end.
bool tree_streams(const struct tree_node *node);

// tree_text: the text of `out`, for renderers that use base/text.h.
struct text *tree_text(struct tree_out *out);

// tree_session_init: begins a session of t without handles. tree_session_close: closes all its
// handles.
void tree_session_init(struct tree_session *session, struct tree *t);
void tree_session_close(struct tree_session *session);

// tree_open: opens node for `how` (TREE_READ, TREE_WRITE or both). A file that is opened for
// reading is rendered here; a stream is not. Returns 0 and *handle, or -ENOENT (removed), -EACCES
// (no such callback, or writing to a directory), -ELOOP (symlink), -ENFILE (TREE_HANDLES_MAX),
// -ENOBUFS (TREE_SNAPSHOTS_BYTES_MAX), -EFBIG, -ENOMEM, or the error of the read callback.
int tree_open(struct tree_session *session, struct tree_node *node, unsigned how,
              struct tree_handle **handle);

// tree_open_as: the same for user uid, whose handles are counted. Users other than root get at most
// TREE_HANDLES_USER_MAX (-EMFILE) and none of the last TREE_HANDLES_ROOT (-ENFILE). tree_open()
// opens as root.
int tree_open_as(struct tree_session *session, struct tree_node *node, unsigned how, uint32_t uid,
                 struct tree_handle **handle);

// tree_reason: the reason that the last callback passed to tree_refuse(), one line; "" if there was
// none or after tree_reason_clear(). An interface shows it with the text of the error.
const char *tree_reason(void);
void tree_reason_clear(void);

// tree_close: closes the handle, and frees the data of an entry that was removed meanwhile.
void tree_close(struct tree_handle *h);

// tree_read: sets *data to the text at offset `off`, valid until the next call with this handle,
// and returns its bytes, at most n, 0 at and after the end, or -errno of a stream. The handle is
// open for reading. A stream is read in order, as Linux's seq_file: at the offset where the last
// read ended or within its piece, or at 0, where it starts again; elsewhere -EINVAL. -EAGAIN: a
// part of the work was done, but no text is ready; call again.
ssize_t tree_read(struct tree_handle *h, uint64_t off, size_t n, const char **data);

// tree_idle: whether a stream has nothing to read until something happens: its last TREE_IDLE_CALLS
// reads returned -EAGAIN in less than TREE_WORK_NS each, or next() returned TREE_LATER. An
// interface then reads again after TREE_IDLE_MS.
bool tree_idle(const struct tree_handle *h);

// tree_lives: whether the stream reports events as they happen (it has returned TREE_LATER before),
// so that a slow reader is not an error.
bool tree_lives(const struct tree_handle *h);

// tree_write: passes buf[0..n) to the write callback. Returns 0, -EFBIG (n > TREE_WRITE_BYTES_MAX),
// -EBADF (not open for writing), -EIO (removed), or the error of the callback. n = 0 does nothing.
int tree_write(struct tree_handle *h, const char *buf, size_t n);

// tree_list: makes a new listing of an open directory; empty if the directory was removed. Returns
// 0, -ENOTDIR, -ENOBUFS or -ENOMEM.
int tree_list(struct tree_handle *h);

// tree_next: sets *e to the entry of the listing at *pos and advances *pos; 0 is the first, other
// values come from earlier calls. Entries are in order of their names. False: the end.
bool tree_next(const struct tree_handle *h, uint64_t *pos, struct tree_dirent *e);
