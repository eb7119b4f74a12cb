// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/agent/agent_server.h"

// The kind of descriptor that a call needs.
enum wants { NO_FILE, ANY_FILE, A_SOCKET };

static const struct {
    void (*op)(struct agent *a, struct call *c);
    enum wants wants;
} ops[] = {
    [AGENT_SOCKET] = {op_socket, NO_FILE},
    [AGENT_BIND] = {op_bind, A_SOCKET},
    [AGENT_LISTEN] = {op_listen, A_SOCKET},
    [AGENT_ACCEPT] = {op_accept, A_SOCKET},
    [AGENT_CONNECT] = {op_connect, A_SOCKET},
    [AGENT_READ] = {op_read, ANY_FILE},
    [AGENT_RECV] = {op_recv, A_SOCKET},
    [AGENT_WRITE] = {op_write, ANY_FILE},
    [AGENT_SEND] = {op_send, A_SOCKET},
    [AGENT_SENDTO] = {op_send, A_SOCKET},
    [AGENT_RECVFROM] = {op_recv, A_SOCKET},
    [AGENT_FCNTL] = {op_fcntl, ANY_FILE},
    [AGENT_IOCTL] = {op_ioctl, ANY_FILE},
    [AGENT_CLOSE] = {op_close, ANY_FILE},
    [AGENT_SHUTDOWN] = {op_shutdown, A_SOCKET},
    [AGENT_GETSOCKOPT] = {op_getsockopt, A_SOCKET},
    [AGENT_SETSOCKOPT] = {op_setsockopt, A_SOCKET},
    [AGENT_POLL] = {op_poll, NO_FILE},
    [AGENT_EPOLL_CREATE] = {op_epoll_create, NO_FILE},
    [AGENT_EPOLL_CTL] = {op_epoll_ctl, ANY_FILE},
    [AGENT_EPOLL_WAIT] = {op_epoll_wait, NO_FILE},
    [AGENT_RESET] = {op_reset, NO_FILE},
    [AGENT_GETSOCKNAME] = {op_getsockname, A_SOCKET},
    [AGENT_GETPEERNAME] = {op_getpeername, A_SOCKET},
};

enum { OPS_N = sizeof(ops) / sizeof(ops[0]) };

// Finds the file of the call's descriptor and makes the call one of its users. Returns 0 or -errno.
static int use_file_of(struct agent *a, struct call *c)
{
    struct file *f = fd_get(a, c->r->fd);
    if (f == NULL)
        return -EBADF;
    if (ops[c->r->op].wants == A_SOCKET && f->kind == FILE_EPOLL)
        return -ENOTSOCK;
    file_use(f);
    c->file = f;
    c->socket = f->kind == FILE_EPOLL ? NULL : socket_of(f);
    c->disconnects = c->socket == NULL ? 0 : c->socket->disconnects;
    return 0;
}

// If another call is changing the socket on the workers, this call waits for its end. If the client
// disconnects in that time, the call is not executed.
static void begin(struct agent *a, struct call *c)
{
    if (c->gone || (a->resetter != NULL && a->resetter != c))
        call_return(a, c, -EBADF);
    else if (c->file != NULL && c->file->busy)
        call_block(a, c, c->file, begin);
    else
        ops[c->r->op].op(a, c);
}

void call_start(struct agent *a, struct call *c)
{
    memset(c->reply, 0, sizeof(*c->reply));
    c->file = NULL;
    c->socket = NULL;
    c->timed_out = c->fenced = c->to_epoll = false;
    c->nonblock = false;
    c->got = c->want = c->target = 0;
    c->flags = 0;
    c->scope = 0;
    c->deadline_us = NEVER;
    c->polled = NULL;
    c->n_polled = 0;
    int rc = c->r->op < OPS_N && ops[c->r->op].op != NULL ? 0 : -EINVAL;
    if (rc == 0 && ops[c->r->op].wants != NO_FILE)
        rc = use_file_of(a, c);
    if (rc != 0)
        call_return(a, c, rc);
    else
        begin(a, c);
}

void call_return_data(struct agent *a, struct call *c, int64_t ret, uint32_t bytes)
{
    c->reply->ret = ret < 0 ? -1 : ret;
    c->reply->error = ret < 0 ? (int32_t)-ret : 0;
    c->reply->data_bytes = bytes;
    c->r = NULL;
    for (unsigned i = 0; i < c->n_polled; i++)
        if (c->polled[i] != NULL)
            file_unuse(a, c->polled[i]);
    free(c->polled);
    c->polled = NULL;
    c->n_polled = 0;
    if (c->file != NULL)
        file_unuse(a, c->file);
    c->file = NULL;
    client_reply(a, c->client);
}

void call_return(struct agent *a, struct call *c, int64_t ret)
{
    call_return_data(a, c, ret, 0);
}

void call_cancel(struct agent *a, struct call *c)
{
    c->gone = true;
    if (c->r == NULL || !c->blocked)
        return;
    c->timed_out = true;
    call_unblock(a, c);
    c->step(a, c);
}

bool call_over(const struct call *c)
{
    return c->r == NULL && c->lent == 0;
}
