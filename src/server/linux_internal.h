// SPDX-License-Identifier: BSD-3-Clause
// linux_internal.h: what linux_port.c and linux_thread.c share.
#pragma once
#include <pthread.h>

#include "server/linux_port.h"

// shared_port: one port. What the thread writes and others read is shared.
struct shared_port {
    const char *name;  // of the interface; NULL: the port is not shared
    int fd, ifindex;
    bool up, said_gone;       // control thread
    struct shared_bool gone;  // written by the thread
    struct shared_u64 written, written_bytes, refused, read, read_bytes;
};

struct linux_ports {
    const struct server *server;
    struct linux_flows flows;
    struct shared_port ports[WORKER_PORTS_MAX];
    unsigned n;
    pthread_t thread;
    bool started;
    struct shared_bool stop;  // control thread to the thread
    uint8_t frame[FRAME_BYTES_MAX];
};
