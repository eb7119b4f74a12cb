// SPDX-License-Identifier: BSD-3-Clause
// frames.h: the protocol of the control socket: encoding and decoding of requests and replies. No
// side effects. docs/control.md describes the protocol for authors of clients.
//
//     frame    payload_bytes:4  type:1  zero:3  payload     all numbers little-endian
//     client   HELLO                          then one request at a time: STAT LIST READ WRITE
//     server   HELLO                          DATA DATA ... END     or at any place of it ERROR
//
// A request that violates the protocol is answered by ERROR, and the connection is closed. A
// request that fails is answered by ERROR, and the client may send the next one.
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
    // A WRITE with the longest path and twice the tree's limit of data, so that the tree itself
    // refuses a write over its limit, as on the mount.
    WIRE_REQUEST_BYTES_MAX = 2 + WIRE_PATH_BYTES_MAX + 2 * TREE_WRITE_BYTES_MAX,
    WIRE_ENTRY_BYTES_MAX = 32 + TREE_NAME_BYTES_MAX + TREE_LINK_BYTES_MAX,
};

static_assert((int)WIRE_ENTRY_BYTES_MAX <= (int)WIRE_DATA_BYTES_MAX, "an entry fits in a frame");

// wire_type: requests of the client, then answers of the server.
enum wire_type {
    WIRE_HELLO = 1,  // magic:4 version:2 zero:2; both ways
    WIRE_STAT = 2,   // flags:1 path        -> DATA with one entry, without name; END
    WIRE_LIST = 3,   // path                -> DATA with whole entries; END
    WIRE_READ = 4,   // offset:8 limit:8 path -> DATA with bytes; END. limit 0: to the end
    WIRE_WRITE = 5,  // path_bytes:2 path data -> END: accepted as one command
    WIRE_DATA = 16,
    WIRE_END = 17,    // total:8: bytes of all DATA of this answer; for WRITE, bytes accepted
    WIRE_ERROR = 18,  // errno:4 (Linux's number) text
};

enum { WIRE_NOFOLLOW = 1 };  // flag of STAT: do not follow a symlink

struct wire_head {
    uint32_t payload_bytes;
    uint8_t type;
};

// wire_request: a request. path and data point into the payload; path is not terminated.
struct wire_request {
    enum wire_type type;
    uint8_t flags;
    uint64_t offset, limit;
    const char *path;
    size_t path_bytes;
    const char *data;
    size_t data_bytes;
};

// wire_entry: one entry in the answer to STAT and LIST. name and target are not terminated.
// Encoding: id:8 made_s:8 kind:1 zero:1 mode:2 uid:4 gid:4 target_bytes:2 name_bytes:2, name,
// target.
struct wire_entry {
    uint64_t id;
    int64_t made_s;
    uint8_t kind;  // enum tree_kind: 0 directory, 1 file, 2 symlink
    uint16_t mode;
    uint32_t uid, gid;
    const char *name, *target;
    uint16_t name_bytes, target_bytes;
};

// wire_head_put, wire_head_get: write and read the first WIRE_HEAD_BYTES of a frame. get returns
// false if the bytes that must be zero are not.
void wire_head_put(uint8_t *out, enum wire_type type, size_t payload_bytes);
bool wire_head_get(const uint8_t *in, struct wire_head *h);

// wire_hello_put: writes a HELLO frame of WIRE_HELLO_BYTES. wire_hello_good: whether the payload of
// a HELLO has this protocol and version.
enum { WIRE_HELLO_BYTES = WIRE_HEAD_BYTES + 8 };
void wire_hello_put(uint8_t *out);
bool wire_hello_good(const uint8_t *payload, size_t n);

// wire_request_put: writes the frame of r, one of the four requests, to out[0..room). Returns its
// length, or 0: path or data are too long, or room is too small. WIRE_HEAD_BYTES +
// WIRE_REQUEST_BYTES_MAX is enough for every request.
size_t wire_request_put(uint8_t *out, size_t room, const struct wire_request *r);

// wire_request_get: parses the payload of a frame and checks its length, its flags, and that the
// path has no zero byte and at most WIRE_PATH_BYTES_MAX bytes. Returns NULL, or the error as text.
const char *wire_request_get(struct wire_request *r, uint8_t type, const uint8_t *payload,
                             size_t n);

// wire_entry_put: writes e to out[0..room). Returns its length, or 0: room is too small.
// wire_entry_get: parses the entry at in[0..n). Returns its length, or 0: malformed.
size_t wire_entry_put(uint8_t *out, size_t room, const struct wire_entry *e);
size_t wire_entry_get(struct wire_entry *e, const uint8_t *in, size_t n);

// wire_end_put, wire_error_put: write an END or ERROR frame. Return its length, at most
// WIRE_HEAD_BYTES + WIRE_ERROR_BYTES_MAX; a longer text is truncated. code: a positive errno.
size_t wire_end_put(uint8_t *out, uint64_t total);
size_t wire_error_put(uint8_t *out, int code, const char *text);

// wire_end_get, wire_error_get: parse END and ERROR. False: malformed. The text of ERROR points
// into the payload.
bool wire_end_get(const uint8_t *payload, size_t n, uint64_t *total);
bool wire_error_get(const uint8_t *payload, size_t n, int *code, const char **text,
                    size_t *text_bytes);
