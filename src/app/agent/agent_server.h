// SPDX-License-Identifier: BSD-3-Clause
// agent_server.h: a client of the agent, as the files that serve it see it.
#pragma once
#include "app/agent/agent.h"

enum {
    REQUEST_BYTES_MAX = sizeof(struct agent_request) + AGENT_DATA_BYTES_MAX,
    REPLY_BYTES_MAX = sizeof(struct agent_reply) + AGENT_DATA_BYTES_MAX,
};

// client: one connection to the agent. Its request and its reply lie in it while they are in work.
struct client {
    struct client *next;
    int fd;           // -1: gone
    uint32_t events;  // that the thread's epoll waits for
    bool replying;    // the reply waits until the client takes it
    size_t reply_bytes;
    struct call call;
    struct agent_request *in;
    struct agent_reply *out;
};

// client_new: of the connection fd; -1: none, replies stay where they are. NULL: no memory.
struct client *client_new(const struct agent *a, int fd);
void client_free(struct client *k);

// request_good: whether n bytes are a request: whole, and of the lengths that it says.
bool request_good(const struct agent_request *r, size_t n);

// client_reply: sends the call's reply, now or when the client takes it.
void client_reply(struct agent *a, struct client *k);
