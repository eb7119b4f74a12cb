// SPDX-License-Identifier: BSD-3-Clause
// door.h: the tree as a door (FUSE, socket, HTTP) uses it: find an entry, open it, read, write,
// list, close. c10m/tree.h is the side of those who have something to show. Control thread only.
//
//     tree_lookup, tree_by_id --> node --tree_open--> handle --> tree_read, tree_write, tree_list
//                                                        |
//                                                   tree_close, tree_door_close
//
// The door checks permissions (tree_stat tells mode, owner and group); the registry does not know
// who asks.
#pragma once
#include <sys/queue.h>
#include <sys/types.h>

#include "base/text.h"
#include "c10m/tree.h"

struct tree;
struct tree_handle;

enum tree_kind { TREE_DIR, TREE_FILE, TREE_LINK };

enum { TREE_READ = 1, TREE_WRITE = 2 };  // what a handle is for

enum {
    TREE_HANDLES_MAX = 1024,                       // open at a time, all doors together
    TREE_HANDLES_USER_MAX = 256,                   // of one user; root: any number
    TREE_HANDLES_ROOT = 64,                        // of all, only root's
    TREE_SNAPSHOTS_BYTES_MAX = 256 * 1024 * 1024,  // that they hold together
    TREE_SNAPSHOTS_ROOT_BYTES = 32 * 1024 * 1024,  // of those, only root's
    TREE_ROOT_ID = 1,                              // FUSE's number for the root
    TREE_IDLE_CALLS = 256,
    TREE_IDLE_MS = 10,
    TREE_WORK_NS = 20000,  // a call that takes longer did something
};

// tree_stat: the attributes of an entry. id is never used again for another entry; links is 0 for
// an entry that is removed and only held open.
struct tree_stat {
    uint64_t id;
    enum tree_kind kind;
    uint32_t mode, uid, gid, links;
    int64_t made_s;  // seconds since 1970
};

// tree_usage: how much of the limits is in use, and how often each refused.
struct tree_usage {
    uint64_t entries, handles, snapshot_bytes;
    uint64_t entries_refused, handles_refused, snapshots_refused, writes_refused;
};

// tree_dirent: one entry of a directory; name lies in the listing.
struct tree_dirent {
    uint64_t id;
    enum tree_kind kind;
    const char *name;
};

// tree_door: the handles of one door.
struct tree_door {
    struct tree *tree;
    LIST_HEAD(tree_handle_list, tree_handle) handles;
};

// tree_create: an empty tree whose root belongs to the effective user and group. NULL: no memory.
struct tree *tree_create(void);

// tree_destroy: removes every entry and frees the tree. All doors are closed before. NULL: nothing.
void tree_destroy(struct tree *t);

// tree_root: the root directory.
struct tree_node *tree_root(struct tree *t);

// tree_usage: present use and refusals.
struct tree_usage tree_usage(const struct tree *t);

// tree_by_id: the entry with that id, or NULL when it is gone; one that is removed and held open is
// found (links 0).
struct tree_node *tree_by_id(struct tree *t, uint64_t id);

// tree_lookup: the entry `name` of the directory `dir`; NULL with errno ENOENT or ENOTDIR.
struct tree_node *tree_lookup(struct tree_node *dir, const char *name);

// tree_stat, tree_target: attributes; target of a symlink (NULL: is none).
struct tree_stat tree_stat(const struct tree_node *node);
const char *tree_target(const struct tree_node *node);

// tree_streams: is it a stream, whose length nobody knows before its end?
bool tree_streams(const struct tree_node *node);

// tree_text: the text behind `out`, for renderers that know base/text.h only.
struct text *tree_text(struct tree_out *out);

// tree_door_init: a door of t without handles. tree_door_close: closes all it has.
void tree_door_init(struct tree_door *door, struct tree *t);
void tree_door_close(struct tree_door *door);

// tree_open: opens node for `how` (TREE_READ, TREE_WRITE or both); a file opened for reading is
// rendered here, a stream is not. 0 and *handle, or: -ENOENT (removed), -EACCES (no such callback,
// or a directory to write), -ELOOP (symlink), -ENFILE (TREE_HANDLES_MAX), -ENOBUFS
// (TREE_SNAPSHOTS_BYTES_MAX), -EFBIG, -ENOMEM, what the read callback said.
int tree_open(struct tree_door *door, struct tree_node *node, unsigned how,
              struct tree_handle **handle);

// tree_open_as: the same on behalf of user uid, whose handles are counted: nobody but root has more
// than TREE_HANDLES_USER_MAX (-EMFILE) or one of the last TREE_HANDLES_ROOT (-ENFILE). tree_open is
// root's.
int tree_open_as(struct tree_door *door, struct tree_node *node, unsigned how, uint32_t uid,
                 struct tree_handle **handle);

// tree_reason: what the last callback said of its failure with tree_refuse, "" if nothing, or if
// tree_reason_clear was called since. One line; a door shows it beside the error's own words.
const char *tree_reason(void);
void tree_reason_clear(void);

// tree_close: the end of the handle. Releases the data of an entry removed meanwhile.
void tree_close(struct tree_handle *h);

// tree_read: *data = the text from offset `off` on, valid until the next call of this handle;
// returns how many bytes, at most n, are there (0 at and past the end), or a stream's -errno. Of a
// file opened for reading. A stream is read in order, like Linux's seq_file: at the offset where
// the last read ended or within its piece, or at 0, where it begins anew; elsewhere -EINVAL.
// -EAGAIN: nothing is to hand yet, a piece of work was done towards it: ask again.
ssize_t tree_read(struct tree_handle *h, uint64_t off, size_t n, const char **data);

// tree_idle: the last TREE_IDLE_CALLS reads of this stream all gave -EAGAIN and took no time worth
// the name, or next() said TREE_LATER: nothing comes until something happens. A door then asks
// again after TREE_IDLE_MS, in place of its next turn.
bool tree_idle(const struct tree_handle *h);

// tree_lives: the stream tells what happens while it is read (it has said TREE_LATER before): who
// reads it may be as slow as he likes.
bool tree_lives(const struct tree_handle *h);

// tree_write: hands buf[0..n) to the write callback. 0, or -EFBIG (n over TREE_WRITE_BYTES_MAX),
// -EBADF (not opened for writing), -EIO (removed), what the callback said. n = 0 does nothing.
int tree_write(struct tree_handle *h, const char *buf, size_t n);

// tree_list: takes the listing of an open directory, a new one each time (the entries of a
// directory removed meanwhile: none). 0, -ENOTDIR, -ENOBUFS or -ENOMEM.
int tree_list(struct tree_handle *h);

// tree_next: *e = the entry of the listing at *pos, and *pos moves behind it; *pos begins at 0 and
// is otherwise what an earlier tree_next left. False at the end. In order of names.
bool tree_next(const struct tree_handle *h, uint64_t *pos, struct tree_dirent *e);
