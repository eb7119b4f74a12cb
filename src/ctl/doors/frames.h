// SPDX-License-Identifier: BSD-3-Clause
// frames.h: the protocol of the control socket: how requests and replies lie in bytes. Pure:
// knows no socket and no tree. docs/doors.md has it as a table for those who write a client.
//
//     frame    payload_bytes:4  type:1  zero:3  payload     all numbers little-endian
//     client   HELLO                          then one request at a time: STAT LIST READ WRITE
//     server   HELLO                          DATA DATA ... END     or at any place of it ERROR
//
// A request that is no request of this protocol is answered by ERROR and the end of the connection;
// one that cannot be done by ERROR, and the next may follow.
#pragma once
#include "base/base.h"
#include "c10m/tree.h"

enum {
    WIRE_VERSION = 1,
    WIRE_MAGIC = 0x6d303163,  // "c10m"
    WIRE_HEAD_BYTES = 8,
    WIRE_PATH_BYTES_MAX = 4095,
    WIRE_DATA_BYTES_MAX = 64 * 1024,  // payload of one DATA frame
    WIRE_ERROR_BYTES_MAX = 4 + 512,   // payload of ERROR
    // WRITE with the longest path and twice what the tree takes: a write over the tree's limit is
    // refused by the tree, as through the mount.
    WIRE_REQUEST_BYTES_MAX = 2 + WIRE_PATH_BYTES_MAX + 2 * TREE_WRITE_BYTES_MAX,
    WIRE_ENTRY_BYTES_MAX = 32 + TREE_NAME_BYTES_MAX + TREE_LINK_BYTES_MAX,
};

static_assert((int)WIRE_ENTRY_BYTES_MAX <= (int)WIRE_DATA_BYTES_MAX, "an entry fits in a frame");

// wire_type: requests of the client, then what the server answers.
enum wire_type {
    WIRE_HELLO = 1,  // magic:4 version:2 zero:2; both ways
    WIRE_STAT = 2,   // flags:1 path        -> DATA with one entry, without name; END
    WIRE_LIST = 3,   // path                -> DATA with whole entries; END
    WIRE_READ = 4,   // offset:8 limit:8 path -> DATA with bytes; END. limit 0: to the end
    WIRE_WRITE = 5,  // path_bytes:2 path data -> END: all of it was taken, as one command
    WIRE_DATA = 16,
    WIRE_END = 17,    // total:8: bytes of all DATA of this answer; of WRITE, of what was taken
    WIRE_ERROR = 18,  // errno:4 (Linux's number) text
};

enum { WIRE_NOFOLLOW = 1 };  // flag of STAT: of a symlink itself, not of what it leads to

struct wire_head {
    uint32_t payload_bytes;
    uint8_t type;
};

// wire_request: what a client asks for; path and data lie in the payload, path is not terminated.
struct wire_request {
    enum wire_type type;
    uint8_t flags;
    uint64_t offset, limit;
    const char *path;
    size_t path_bytes;
    const char *data;
    size_t data_bytes;
};

// wire_entry: one entry as STAT and LIST tell it. name and target are not terminated. In bytes:
// id:8 made_s:8 kind:1 zero:1 mode:2 uid:4 gid:4 target_bytes:2 name_bytes:2, name, target.
struct wire_entry {
    uint64_t id;
    int64_t made_s;
    uint8_t kind;  // enum tree_kind: 0 directory, 1 file, 2 symlink
    uint16_t mode;
    uint32_t uid, gid;
    const char *name, *target;
    uint16_t name_bytes, target_bytes;
};

// wire_head_put, wire_head_get: the first WIRE_HEAD_BYTES of a frame. get: false when the bytes
// that have to be zero are not.
void wire_head_put(uint8_t *out, enum wire_type type, size_t payload_bytes);
bool wire_head_get(const uint8_t *in, struct wire_head *h);

// wire_hello_put: a whole HELLO frame of WIRE_HELLO_BYTES. wire_hello_good: a HELLO's payload is of
// this protocol and version.
enum { WIRE_HELLO_BYTES = WIRE_HEAD_BYTES + 8 };
void wire_hello_put(uint8_t *out);
bool wire_hello_good(const uint8_t *payload, size_t n);

// wire_request_put: a whole frame of r into out[0..room); its bytes, or 0: path or data are too
// long, or room is. (type is one of the four requests; out of WIRE_HEAD_BYTES +
// WIRE_REQUEST_BYTES_MAX holds any.)
size_t wire_request_put(uint8_t *out, size_t room, const struct wire_request *r);

// wire_request_get: the request of a frame's payload, checked whole: its length, flags, and a path
// without zero bytes of at most WIRE_PATH_BYTES_MAX. NULL, or what is wrong in words.
const char *wire_request_get(struct wire_request *r, uint8_t type, const uint8_t *payload,
                             size_t n);

// wire_entry_put: e into out[0..room); its bytes, or 0: no room. wire_entry_get: the entry at
// in[0..n); its bytes, or 0: is none.
size_t wire_entry_put(uint8_t *out, size_t room, const struct wire_entry *e);
size_t wire_entry_get(struct wire_entry *e, const uint8_t *in, size_t n);

// wire_end_put, wire_error_put: whole frames; bytes written, at most WIRE_HEAD_BYTES +
// WIRE_ERROR_BYTES_MAX (text is cut). code is an errno, positive.
size_t wire_end_put(uint8_t *out, uint64_t total);
size_t wire_error_put(uint8_t *out, int code, const char *text);

// wire_end_get: false: is none. wire_error_get: the text lies in the payload.
bool wire_end_get(const uint8_t *payload, size_t n, uint64_t *total);
bool wire_error_get(const uint8_t *payload, size_t n, int *code, const char **text,
                    size_t *text_bytes);
