// SPDX-License-Identifier: BSD-3-Clause
// agent_server.h: a client of the agent.
#pragma once
#include "app/agent/agent.h"

enum {
    REQUEST_BYTES_MAX = sizeof(struct agent_request) + AGENT_DATA_BYTES_MAX,
    REPLY_BYTES_MAX = sizeof(struct agent_reply) + AGENT_DATA_BYTES_MAX,
};

// client: one connection to the agent, with the buffers of its request and its reply.
struct client {
    struct client *next;
    int fd;           // -1: disconnected
    uint32_t events;  // events for which the thread's epoll instance waits
    bool replying;    // the reply waits until the client's socket has room
    size_t reply_bytes;
    struct call call;
    struct agent_request *in;
    struct agent_reply *out;
};

// client_new: creates the client of connection fd. fd -1: no connection, replies are not sent
// (tests). Returns NULL if there is no memory.
struct client *client_new(const struct agent *a, int fd);
void client_free(struct client *k);

// request_is_valid: whether the n bytes at r are a complete request whose length fields are
// consistent.
bool request_is_valid(const struct agent_request *r, size_t n);

// client_reply: sends the reply of the call, now or when the client's socket has room.
void client_reply(struct agent *a, struct client *k);
