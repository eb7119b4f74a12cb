// SPDX-License-Identifier: BSD-3-Clause
// c10m/tree.h: entries of the control tree (/run/c10m/proc), in the manner of Linux's procfs. A
// file is a pair of callbacks and a data pointer, so that one callback serves many files:
//
//     static int state_read(struct tree_out *out, void *data)
//     {
//         const struct thing *t = data;
//         return tree_printf(out, "requests %lu\n", t->requests);
//     }
//     tree_file(dir, "things/7/state", 0444, &(struct tree_ops){.read = state_read}, thing);
//
//     open for reading --> read() renders the whole text once: every byte the reader gets
//                          afterwards, at any offset and in any portion, is of that one moment
//     a text too long for that, or without an end, is a stream, which is what procfs has device
//     files for: next() renders it piece by piece while it is read
//     write(2)         --> write() with exactly those bytes: one call is one command
//     removal          --> the name is gone at once; release() when no reader holds it any more
//
// Threads: everything here, the callbacks included, runs on the control thread, and on no other.
// A callback may create and remove entries, its own too, and may allocate; it may not block, as all
// readers wait for it. Failing calls set errno as said below and leave the tree as it was;
// tree_error tells the reason in words.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct tree_node;   // an entry: valid until it, or a directory above it, is removed
struct tree_out;    // where a read callback writes
struct tree_owner;  // who has made entries, and is counted

enum {
    TREE_NAME_BYTES_MAX = 255,         // one name
    TREE_DEPTH_MAX = 16,               // names from the root to an entry
    TREE_LINK_BYTES_MAX = 1023,        // target of a symlink
    TREE_ENTRIES_MAX = 1 << 16,        // in the whole tree, those removed but held open too
    TREE_WRITE_BYTES_MAX = 64 * 1024,  // one write
    TREE_SNAPSHOT_BYTES_MAX = 16 * 1024 * 1024,  // one rendered text
    TREE_CHUNK_BYTES_MAX = 64 * 1024,            // one piece of a stream
    TREE_CURSOR_BYTES_MAX = 256,                 // what a stream's reader remembers
};

enum { TREE_LATER = 0x4c };  // of next(): nothing to hand for some milliseconds

// tree_ops: the callbacks of a file, copied when it is made. Those that are NULL: not readable, not
// writable, nothing to release. At most one of read and next.
struct tree_ops {
    // read: renders the present value into out. 0, or -errno: then the open fails with it. What
    // tree_printf and tree_put returned may be ignored or passed on.
    int (*read)(struct tree_out *out, void *data);
    // next: renders the next piece of a stream, at most TREE_CHUNK_BYTES_MAX (tree_room tells how
    // much is left); cursor is cursor_bytes of the reader's, zero at the first call, that say where
    // he is. Everybody waits for it: a call does a millisecond's work at most, and may end with
    // nothing appended: it is called again, after others had their turn. 1: there may be more;
    // TREE_LATER: there may be more, but some time has to pass before that; 0: that was the end, or
    // -errno: then the read fails with it, and the next one begins again here. What is read is not
    // of one moment.
    int (*next)(struct tree_out *out, void *cursor, void *data);
    // done: a reader of a stream is gone, or begins anew: what his cursor stands for may be given
    // back. Once for each cursor that next was called with. May be NULL.
    void (*done)(void *cursor, void *data);
    size_t cursor_bytes;  // at most TREE_CURSOR_BYTES_MAX
    // write: n in [1, TREE_WRITE_BYTES_MAX] bytes, not terminated, valid during the call. 0, or
    // -errno, which the writer gets (-EINVAL and -ERANGE say what a shell shows); then it must have
    // changed nothing.
    int (*write)(const char *buf, size_t n, void *data);
    // release: the last use of data is over. Called exactly once for each file made.
    void (*release)(void *data);
};

// tree_dir, tree_file, tree_link: make an entry at `path` below the directory `parent`: names with
// / between them. Directories of the path that are missing are made (mode 0555) and stay when the
// entry goes. A name has no control character and is not "." or "..". Owner and group are those of
// the directory; tree_chown changes them. Modes: directory 0555, symlink 0777, file `mode` (only
// bits of 0777; read bits need a read callback, write bits a write callback). `target` is not
// looked at and may dangle. Returns the entry, or NULL with errno EINVAL (path, mode, target or
// ops), ENAMETOOLONG (a name, the depth or the target), EEXIST, ENOTDIR, ENOSPC (TREE_ENTRIES_MAX),
// ENOMEM.
struct tree_node *tree_dir(struct tree_node *parent, const char *path);
struct tree_node *tree_file(struct tree_node *parent, const char *path, unsigned mode,
                            const struct tree_ops *ops, void *data);
struct tree_node *tree_link(struct tree_node *parent, const char *path, const char *target);

// tree_file_ro: tree_file with mode 0444, a read callback and nothing to release.
struct tree_node *tree_file_ro(struct tree_node *parent, const char *path,
                               int (*read)(struct tree_out *out, void *data), void *data);

// tree_remove: removes the entry at `path` below `parent`, a directory with all that is in it. Who
// holds a removed file open reads on in his snapshot and gets EIO for writes; its data is released
// after the last one. 0, or -1 with errno EINVAL, ENAMETOOLONG, ENOENT, ENOTDIR.
int tree_remove(struct tree_node *parent, const char *path);

// tree_remove_node: the same for an entry at hand, which is not the root. Cannot fail.
void tree_remove_node(struct tree_node *node);

// tree_chmod, tree_chown: change mode (same rules as tree_file; a symlink's cannot change), or
// owner and group. tree_chmod: 0, or -1 with errno EINVAL. Readers that have it open keep it.
int tree_chmod(struct tree_node *node, unsigned mode);
void tree_chown(struct tree_node *node, uint32_t uid, uint32_t gid);

// tree_owner_new: an owner of entries in the tree of `node`, what THIS_MODULE is to Linux's procfs:
// whose entries are in use cannot leave, for their callbacks and data are his. `name` is for
// messages. NULL: ENOMEM. It lives until it leaves, or with the tree.
//
//     me = tree_owner_new(dir, "my application");
//     tree_own(dir, me);                     what is made below dir from now on is owned as well
//     ...
//     if (tree_leave(me) != 0)               EBUSY: somebody has one open: ask again later; or
//         tree_leave_later(me, unload, x);   no new reader from now on; unload(x) after the last
struct tree_owner *tree_owner_new(struct tree_node *node, const char *name);

// tree_own: the entry belongs to `owner`, and all below it that belong to nobody, and what is made
// below it later. An entry has one owner. 0, or -1 with errno EINVAL (the root), EBUSY: it is
// another's.
int tree_own(struct tree_node *node, struct tree_owner *owner);

// tree_owner_entries, tree_owner_open: how many entries belong to it, those that are removed but
// held open too; how many times they are open.
uint64_t tree_owner_entries(const struct tree_owner *owner);
uint64_t tree_owner_open(const struct tree_owner *owner);

// tree_leave: removes all entries of the owner, wherever they lie, what others made below them too,
// and frees it. 0, or -1 with errno EBUSY: one of them is open, removed or not; then nothing
// happened. In a callback of its own entries: EBUSY.
int tree_leave(struct tree_owner *owner);

// tree_leave_later: the same without the refusal: the names go now, readers read on in what they
// hold, and after the last release callback gone(arg) is called, perhaps before this returns.
void tree_leave_later(struct tree_owner *owner, void (*gone)(void *arg), void *arg);

// tree_error: why the last failing call on the tree of `node` failed, one line; "" if none did.
const char *tree_error(const struct tree_node *node);

// tree_refuse: from a read, next or write callback that fails: says why in one line, and returns
// -code for it to return. Whoever asked through the socket or HTTP sees the words beside the
// error's own; through the mount the kernel passes on the number alone.
//
//     if (value > 100)
//         return tree_refuse(ERANGE, "expected 0 to 100, got %ld", value);
int tree_refuse(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// tree_room: how many bytes may still be appended.
size_t tree_room(const struct tree_out *out);

// tree_printf, tree_put: append formatted text, or n bytes, to what is read. All or nothing; 0,
// -EFBIG (over TREE_SNAPSHOT_BYTES_MAX, or over what all readers together may hold) or -ENOMEM. A
// failure sticks and fails the open.
int tree_printf(struct tree_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int tree_put(struct tree_out *out, const void *data, size_t n);
