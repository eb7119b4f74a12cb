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
//                          at any offset and in pieces of any size, are from this one text.
//     stream           --> for a text that has no end, or is too long for one text: next() renders
//                          it piece by piece while the client reads
//     write(2)         --> write() with exactly these bytes: one call is one command
//     removal          --> the name disappears at once; release() is called after the last reader
//                          has closed the file
//
// Threads: all functions here and all callbacks run on the control thread only. A callback may
// allocate, and may create and remove entries, including its own. It must not block, because all
// readers wait for it. A call that fails sets errno as described below and leaves the tree
// unchanged; tree_error() returns the reason as text.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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

enum { TREE_LATER = 0x4c };  // result of next(): no data now; call again after some milliseconds

// tree_ops: the callbacks of a file. They are copied when the file is created. Without read and
// next the file is not readable, without write it is not writable, without release nothing is
// released. A file has read or next, not both.
struct tree_ops {
    // read: renders the present value into out. Returns 0, or -errno: the open fails with this
    // errno. read may ignore or return the results of tree_printf and tree_put.
    int (*read)(struct tree_out *out, void *data);
    // next: renders the next piece of a stream, at most TREE_CHUNK_BYTES_MAX (tree_room() tells how
    // much room is left). cursor: cursor_bytes bytes that hold the position of this reader, zero at
    // its first call. A call should take at most a millisecond, because all other readers wait for
    // it. If a call appends nothing, next is called again after the other readers were served.
    // Returns 1: there may be more; TREE_LATER: there may be more after some milliseconds; 0: this
    // was the end; or -errno: the read fails with this errno, and the next read continues at the
    // cursor. The pieces of a stream show different moments.
    int (*next)(struct tree_out *out, void *cursor, void *data);
    // done: the reader of a stream has closed it or starts at the beginning again. Releases what
    // the cursor refers to. Called once for each cursor with which next was called.
    void (*done)(void *cursor, void *data);
    size_t cursor_bytes;  // at most TREE_CURSOR_BYTES_MAX
    // write: n in [1, TREE_WRITE_BYTES_MAX] bytes, without a terminating zero, valid during the
    // call. Returns 0, or -errno, which the writer gets; a failed write must change nothing. Shells
    // show the messages of EINVAL and ERANGE to the user.
    int (*write)(const char *buf, size_t n, void *data);
    // release: no callback uses data after this call. Called exactly once for each file that was
    // created.
    void (*release)(void *data);
};

// tree_dir, tree_file, tree_link: create an entry at `path` below the directory `parent`. A path
// consists of names separated by /. Missing directories of the path are created (mode 0555); they
// stay when the entry is removed. A name has no control characters and is not "." or "..". The
// entry inherits owner and group of its directory; tree_chown() changes them. Modes: directory
// 0555, symlink 0777, file `mode` (bits of 0777 only; read bits need read or next, write bits need
// write). Whether `target` exists is not checked. Returns the entry, or NULL with errno EINVAL
// (path, mode, target or ops), ENAMETOOLONG (a name, the depth or the target), EEXIST, ENOTDIR,
// ENOSPC (TREE_ENTRIES_MAX) or ENOMEM.
struct tree_node *tree_dir(struct tree_node *parent, const char *path);
struct tree_node *tree_file(struct tree_node *parent, const char *path, unsigned mode,
                            const struct tree_ops *ops, void *data);
struct tree_node *tree_link(struct tree_node *parent, const char *path, const char *target);

// tree_file_ro: tree_file with mode 0444, a read callback and nothing to release.
struct tree_node *tree_file_ro(struct tree_node *parent, const char *path,
                               int (*read)(struct tree_out *out, void *data), void *data);

// tree_remove: removes the entry at `path` below `parent`; a directory with all its entries. A
// reader that has a removed file open can read its text to the end; a write fails with EIO. release
// is called after the last reader has closed the file. Returns 0, or -1 with errno EINVAL,
// ENAMETOOLONG, ENOENT or ENOTDIR.
int tree_remove(struct tree_node *parent, const char *path);

// tree_remove_node: the same for an entry that is given as a node and is not the root. Cannot fail.
void tree_remove_node(struct tree_node *node);

// tree_chmod: changes the mode, with the rules of tree_file; the mode of a symlink cannot be
// changed. Returns 0, or -1 with errno EINVAL. tree_chown: changes owner and group. Cannot fail.
// Open files stay open after both.
int tree_chmod(struct tree_node *node, unsigned mode);
void tree_chown(struct tree_node *node, uint32_t uid, uint32_t gid);

// tree_owner_new: an owner of entries in the tree of `node`, similar to THIS_MODULE in Linux's
// procfs. While an entry of an owner is open, tree_leave() fails, because the callbacks and the
// data of the entry are the owner's. `name` is used in messages. Returns NULL with errno ENOMEM.
// The owner is valid until it leaves or the tree is freed.
//
//     me = tree_owner_new(dir, "my application");
//     tree_own(dir, me);                     me also owns entries created below dir later
//     ...
//     if (tree_leave(me) != 0)               EBUSY: an entry is open. Try again later, or remove
//         tree_leave_later(me, unload, x);   the names now and call unload(x) after the last close
struct tree_owner *tree_owner_new(struct tree_node *node, const char *name);

// tree_own: makes `owner` the owner of the entry, of all entries below it that have no owner, and
// of all entries created below it later. An entry has one owner. Returns 0, or -1 with errno EINVAL
// (the entry is the root) or EBUSY (it has another owner).
int tree_own(struct tree_node *node, struct tree_owner *owner);

// tree_owner_entries: the number of entries of the owner, including removed entries that are still
// open. tree_owner_open: the number of open file handles on its entries.
uint64_t tree_owner_entries(const struct tree_owner *owner);
uint64_t tree_owner_open(const struct tree_owner *owner);

// tree_leave: removes all entries of the owner and all entries that others created below them, then
// frees the owner. Returns 0, or -1 with errno EBUSY: an entry, possibly a removed one, is open, or
// the call was made in a callback of one of these entries; nothing was changed.
int tree_leave(struct tree_owner *owner);

// tree_leave_later: does the same, and does not fail if entries are open. The names disappear at
// once. Readers can continue to read open files. gone(arg) is called after the last release
// callback, possibly before tree_leave_later() returns.
void tree_leave_later(struct tree_owner *owner, void (*gone)(void *arg), void *arg);

// tree_error: one line of text with the reason of the last failure on the tree of `node`; "" if no
// call has failed.
const char *tree_error(const struct tree_node *node);

// tree_refuse: stores the reason of a failure, one line, and returns -code. Called in a read, next
// or write callback that fails; the callback returns the result. Clients of the socket and of HTTP
// get the text with the error. Programs that use the mount get the errno `code` only.
//
//     if (value > 100)
//         return tree_refuse(ERANGE, "expected 0 to 100, got %ld", value);
int tree_refuse(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// tree_room: the number of bytes that can still be appended to the output.
size_t tree_room(const struct tree_out *out);

// tree_printf, tree_put: append formatted text or n bytes to the output, completely or not at all.
// Return 0, -ENOMEM, or -EFBIG: the text would exceed TREE_SNAPSHOT_BYTES_MAX, or the texts of all
// open files would exceed their common limit. After a failure the open fails, even if later calls
// succeed.
int tree_printf(struct tree_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int tree_put(struct tree_out *out, const void *data, size_t n);

#ifdef __cplusplus
}
#endif
