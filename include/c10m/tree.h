// SPDX-License-Identifier: BSD-3-Clause
// c10m/tree.h: entries of the control tree (/run/c10m/proc), similar to Linux's procfs. A file is a
// set of callbacks and a data pointer, so that one callback can serve many files:
//
//     static int state_read(struct tree_out *out, void *data)
//     {
//         const struct thing *t = data;
//         return tree_printf(out, "requests %lu\n", t->requests);
//     }
//     tree_file(dir, "things/7/state", 0444, &(struct tree_ops){.read = state_read}, thing);
//
//     open for reading --> read() renders the whole text once. All bytes that the reader then gets,
//                          at any offset and in pieces of any size, are of that moment.
//     stream           --> for a text that is too long for that or has no end: next() renders it
//                          piece by piece while it is read
//     write(2)         --> write() with exactly these bytes: one call is one command
//     removal          --> the name disappears at once; release() is called when no reader has the
//                          file open any more
//
// Threads: all functions here and all callbacks run on the control thread only. A callback may
// allocate, and may create and remove entries, also its own. It must not block, because all readers
// wait for it. A call that fails sets errno as described below and leaves the tree unchanged;
// tree_error() has the reason in words.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct tree_node;   // an entry: valid until it, or a directory above it, is removed
struct tree_out;    // where a read callback writes
struct tree_owner;  // the module that created entries; its open entries are counted

enum {
    TREE_NAME_BYTES_MAX = 255,         // one name
    TREE_DEPTH_MAX = 16,               // names from the root to an entry
    TREE_LINK_BYTES_MAX = 1023,        // target of a symlink
    TREE_ENTRIES_MAX = 1 << 16,        // in the tree, with removed ones that are still open
    TREE_WRITE_BYTES_MAX = 64 * 1024,  // one write
    TREE_SNAPSHOT_BYTES_MAX = 16 * 1024 * 1024,  // one rendered text
    TREE_CHUNK_BYTES_MAX = 64 * 1024,            // one piece of a stream
    TREE_CURSOR_BYTES_MAX = 256,                 // what a stream's reader remembers
};

enum { TREE_LATER = 0x4c };  // a result of next(): there is nothing for some milliseconds

// tree_ops: the callbacks of a file. They are copied when the file is created. NULL: the file is
// not readable, not writable, or has nothing to release. A file has read or next, not both.
struct tree_ops {
    // read: renders the present value into out. Returns 0, or -errno, with which the open fails.
    // The results of tree_printf and tree_put may be ignored or returned.
    int (*read)(struct tree_out *out, void *data);
    // next: renders the next piece of a stream, at most TREE_CHUNK_BYTES_MAX (tree_room() tells how
    // much room is left). cursor: cursor_bytes bytes of this reader, zero at its first call, which
    // hold its position. A call should work for a millisecond at most, because everybody waits for
    // it. If it appends nothing, it is called again after others had their turn. Returns 1: there
    // may be more; TREE_LATER: there may be more after some time; 0: this was the end; or -errno:
    // the read fails with it, and the next read continues here. A stream does not show one moment.
    int (*next)(struct tree_out *out, void *cursor, void *data);
    // done: the reader of a stream has closed it or begins again. Releases what its cursor refers
    // to. Called once for each cursor with which next was called.
    void (*done)(void *cursor, void *data);
    size_t cursor_bytes;  // at most TREE_CURSOR_BYTES_MAX
    // write: n in [1, TREE_WRITE_BYTES_MAX] bytes, not terminated, valid during the call. Returns
    // 0, or -errno, which the writer gets; then it has changed nothing. Shells show messages for
    // -EINVAL and -ERANGE.
    int (*write)(const char *buf, size_t n, void *data);
    // release: data is not used any more. Called exactly once for each file that was created.
    void (*release)(void *data);
};

// tree_dir, tree_file, tree_link: create an entry at `path` below the directory `parent`. A path is
// names with / between them. Missing directories of the path are created (mode 0555), and stay when
// the entry is removed. A name has no control characters and is not "." or "..". Owner and group
// are those of the directory; tree_chown() changes them. Modes: directory 0555, symlink 0777, file
// `mode` (bits of 0777 only; read bits need a read callback, write bits need a write callback).
// `target` is not checked and may dangle. Returns the entry, or NULL with errno EINVAL (path, mode,
// target or ops), ENAMETOOLONG (a name, the depth or the target), EEXIST, ENOTDIR, ENOSPC
// (TREE_ENTRIES_MAX) or ENOMEM.
struct tree_node *tree_dir(struct tree_node *parent, const char *path);
struct tree_node *tree_file(struct tree_node *parent, const char *path, unsigned mode,
                            const struct tree_ops *ops, void *data);
struct tree_node *tree_link(struct tree_node *parent, const char *path, const char *target);

// tree_file_ro: tree_file with mode 0444, a read callback and nothing to release.
struct tree_node *tree_file_ro(struct tree_node *parent, const char *path,
                               int (*read)(struct tree_out *out, void *data), void *data);

// tree_remove: removes the entry at `path` below `parent`; a directory with all its entries. A
// reader that has a removed file open can read its snapshot to the end; a write fails with EIO. The
// data is released when the last one closes it. Returns 0, or -1 with errno EINVAL, ENAMETOOLONG,
// ENOENT or ENOTDIR.
int tree_remove(struct tree_node *parent, const char *path);

// tree_remove_node: the same for an entry that is given as a node and is not the root. Cannot fail.
void tree_remove_node(struct tree_node *node);

// tree_chmod, tree_chown: change the mode (same rules as tree_file; that of a symlink cannot
// change), or owner and group. tree_chmod returns 0, or -1 with errno EINVAL. Files that are open
// stay open.
int tree_chmod(struct tree_node *node, unsigned mode);
void tree_chown(struct tree_node *node, uint32_t uid, uint32_t gid);

// tree_owner_new: an owner of entries in the tree of `node`, similar to THIS_MODULE in Linux's
// procfs. While entries of an owner are in use it cannot leave, because their callbacks and data
// are its own. `name` is for messages. NULL: ENOMEM. The owner lives until it leaves, or as long as
// the tree.
//
//     me = tree_owner_new(dir, "my application");
//     tree_own(dir, me);                     entries created below dir from now on are owned, too
//     ...
//     if (tree_leave(me) != 0)               EBUSY: an entry is open. Try again later, or
//         tree_leave_later(me, unload, x);   admit no new readers, and call unload(x) after the
//         last
struct tree_owner *tree_owner_new(struct tree_node *node, const char *name);

// tree_own: gives the entry to `owner`, with all entries below it that have no owner, and all that
// are created below it later. An entry has one owner. Returns 0, or -1 with errno EINVAL (the
// root) or EBUSY (it has another owner).
int tree_own(struct tree_node *node, struct tree_owner *owner);

// tree_owner_entries: how many entries the owner has, with removed ones that are still open.
// tree_owner_open: how many times its entries are open.
uint64_t tree_owner_entries(const struct tree_owner *owner);
uint64_t tree_owner_open(const struct tree_owner *owner);

// tree_leave: removes all entries of the owner, and everything that others created below them, and
// frees the owner. Returns 0, or -1 with errno EBUSY: an entry is open, removed or not; nothing was
// changed. In a callback of one of its entries the result is EBUSY.
int tree_leave(struct tree_owner *owner);

// tree_leave_later: the same, but never refused. The names disappear at once, readers can read on
// in what they have open, and gone(arg) is called after the last release callback, which may be
// before this function returns.
void tree_leave_later(struct tree_owner *owner, void (*gone)(void *arg), void *arg);

// tree_error: one line that says why the last call that failed on the tree of `node` did so. "" if
// none failed.
const char *tree_error(const struct tree_node *node);

// tree_refuse: called in a read, next or write callback that fails. Stores the reason, one line,
// and returns -code, which the callback returns. Clients of the socket and of HTTP get this text
// with the error. The mount can pass on the number only.
//
//     if (value > 100)
//         return tree_refuse(ERANGE, "expected 0 to 100, got %ld", value);
int tree_refuse(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// tree_room: how many bytes can still be appended.
size_t tree_room(const struct tree_out *out);

// tree_printf, tree_put: append formatted text or n bytes to the output, completely or not at all.
// Return 0, -ENOMEM, or -EFBIG: more than TREE_SNAPSHOT_BYTES_MAX, or more than all readers
// together may hold. After a failure the open fails, even if later calls succeed.
int tree_printf(struct tree_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int tree_put(struct tree_out *out, const void *data, size_t n);
