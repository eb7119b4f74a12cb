// SPDX-License-Identifier: BSD-3-Clause
// client.h: a client of the control socket: what the commands ask a running server with.
// Blocks; knows no tree. One thread a client.
//
//     struct ctl_client c;
//     if (ctl_client_open(&c, path, CLIENT_TIMEOUT_MS, &e) == 0) {
//         rc = ctl_client_get(&c, "cores/2/counters", &text, &e);
//         ctl_client_close(&c);
//     }
//
// Calls return 0 or -errno: the server's, with *e = "PATH: strerror: the server's words", or the
// connection's own, after which only the close is of use: -EPIPE (cut off), -ETIMEDOUT, -EPROTO,
// -EINTR.
#pragma once
#include "base/err.h"
#include "base/text.h"
#include "ctl/doors/frames.h"

enum {
    CLIENT_TIMEOUT_MS = 5000,
    CLIENT_ASK_MS = 100,  // between two questions whether somebody wants the wait to end
};

#define CTL_SOCKET_DEFAULT "/run/c10m/control.sock"

struct ctl_client {
    int fd;
    uint8_t *frame;  // one frame; of WIRE_HEAD_BYTES + WIRE_REQUEST_BYTES_MAX
    unsigned timeout_ms;
    bool (*ended)(void);  // NULL: nobody is asked
};

// ctl_client_open: connects and says hello. timeout_ms: for each wait of this and of the calls that
// follow; 0: none. 0, or -errno with *e = "no server answers at PATH: why".
int ctl_client_open(struct ctl_client *c, const char *path, unsigned timeout_ms, struct err *e);
void ctl_client_close(struct ctl_client *c);

// ctl_client_open_until: the same, but each wait, of later calls as well, ends with -EINTR when
// ended() says so, which is asked every CLIENT_ASK_MS and at each signal.
int ctl_client_open_until(struct ctl_client *c, const char *path, unsigned timeout_ms,
                          bool (*ended)(void), struct err *e);

// ctl_client_timeout: another one from now on.
void ctl_client_timeout(struct ctl_client *c, unsigned timeout_ms);

// ctl_client_read: hands the bytes of a file to sink from `offset` on, at most limit of them (0: to
// the end), in portions as they come. What sink returns, unless 0, ends the call with it: -errno,
// and then only the close is of use.
int ctl_client_read(struct ctl_client *c, const char *path, uint64_t offset, uint64_t limit,
                    int (*sink)(void *arg, const char *data, size_t n), void *arg, struct err *e);

// ctl_client_get: a whole file, appended to *text, which limits how long it may be (-EFBIG).
int ctl_client_get(struct ctl_client *c, const char *path, struct text *text, struct err *e);

// ctl_client_list: calls each() for every entry of a directory, in order of names; the entry's
// bytes are valid during the call.
int ctl_client_list(struct ctl_client *c, const char *path,
                    void (*each)(void *arg, const struct wire_entry *entry), void *arg,
                    struct err *e);

// ctl_client_stat: what lies at path (nofollow: a symlink there itself). Name and target of *entry
// lie in the client until the next call.
int ctl_client_stat(struct ctl_client *c, const char *path, bool nofollow, struct wire_entry *entry,
                    struct err *e);

// ctl_client_write: one command of n bytes to the file. -EFBIG also where it is too long to be
// sent.
int ctl_client_write(struct ctl_client *c, const char *path, const char *data, size_t n,
                     struct err *e);
