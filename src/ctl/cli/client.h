// SPDX-License-Identifier: BSD-3-Clause
// client.h: a client of the control socket, used by commands that access a running server. Calls
// block. A client may be used by one thread only.
//
//     struct ctl_client c;
//     if (ctl_client_open(&c, path, CLIENT_TIMEOUT_MS, &e) == 0) {
//         rc = ctl_client_get(&c, "cores/2/counters", &text, &e);
//         ctl_client_close(&c);
//     }
//
// Calls return 0 or -errno: an error of the server, with *e = "PATH: strerror: message of the
// server", or one of the connection, after which only ctl_client_close() may be called: -EPIPE
// (closed by the server), -ETIMEDOUT, -EPROTO, -EINTR.
#pragma once
#include "base/err.h"
#include "base/text.h"
#include "ctl/local/frames.h"

enum {
    CLIENT_TIMEOUT_MS = 5000,
    CLIENT_ASK_MS = 100,  // between two calls of ended()
};

#define CTL_SOCKET_DEFAULT "/run/c10m/control.sock"

struct ctl_client {
    int fd;
    uint8_t *frame;  // buffer of WIRE_HEAD_BYTES + WIRE_REQUEST_BYTES_MAX for one frame
    unsigned timeout_ms;
    bool (*ended)(void);  // whether to end a wait; NULL: never
};

// ctl_client_open: connects and exchanges HELLO. timeout_ms: limit of each wait in this and in
// later calls; 0: none. Returns 0, or -errno with *e = "no server answers at PATH: reason".
int ctl_client_open(struct ctl_client *c, const char *path, unsigned timeout_ms, struct err *e);
void ctl_client_close(struct ctl_client *c);

// ctl_client_open_until: as ctl_client_open(), but each wait, also in later calls, ends with -EINTR
// when ended() returns true. ended() is called every CLIENT_ASK_MS and at each signal.
int ctl_client_open_until(struct ctl_client *c, const char *path, unsigned timeout_ms,
                          bool (*ended)(void), struct err *e);

// ctl_client_timeout: changes the timeout of later calls, in ms; 0: none.
void ctl_client_timeout(struct ctl_client *c, unsigned timeout_ms);

// ctl_client_read: passes the bytes of a file from `offset` on, at most `limit` (0: to the end), to
// sink in the portions in which they arrive. If sink returns -errno, the call returns it, and then
// only ctl_client_close() may be called.
int ctl_client_read(struct ctl_client *c, const char *path, uint64_t offset, uint64_t limit,
                    int (*sink)(void *arg, const char *data, size_t n), void *arg, struct err *e);

// ctl_client_get: appends a whole file to *text. -EFBIG: it exceeds the limit of *text.
int ctl_client_get(struct ctl_client *c, const char *path, struct text *text, struct err *e);

// ctl_client_list: calls each() for every entry of a directory in the order of names. The entry is
// valid during the call.
int ctl_client_list(struct ctl_client *c, const char *path,
                    void (*each)(void *arg, const struct wire_entry *entry), void *arg,
                    struct err *e);

// ctl_client_stat: sets *entry to the entry at path (nofollow: a symlink itself). Name and target
// of *entry are valid until the next call.
int ctl_client_stat(struct ctl_client *c, const char *path, bool nofollow, struct wire_entry *entry,
                    struct err *e);

// ctl_client_write: writes one command of n bytes to the file. -EFBIG: it is too long for the file
// or the protocol.
int ctl_client_write(struct ctl_client *c, const char *path, const char *data, size_t n,
                     struct err *e);
