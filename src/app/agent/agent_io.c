// SPDX-License-Identifier: BSD-3-Clause
// TCP data: Linux's tcp_recvmsg() and tcp_sendmsg(). A blocking call repeats its command to the
// worker until it succeeds or fails.
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "app/agent/agent.h"

// Whether the socket was disconnected during the call (Linux's sk_wait_event()).
static bool disconnected(const struct call *c)
{
    return c->disconnects != c->socket->disconnects;
}

static bool has_connection(const struct call *c)
{
    return c->socket->state == TCP_ATTACHED && !disconnected(c);
}

// ---- receiving

static void read_step(struct agent *a, struct call *c);

static void read_over(struct agent *a, struct call *c, int64_t ret)
{
    const bool copied = ret > 0 && !(c->flags & MSG_TRUNC);
    call_return_data(a, c, ret, copied ? (uint32_t)ret : 0);
}

static void read_again(struct agent *a, struct call *c)
{
    if (c->nonblock || c->timed_out || c->gone)
        read_over(a, c, c->got != 0 ? c->got : -EAGAIN);
    else if (!has_connection(c))
        read_step(a, c);
    else
        call_block(a, c, c->file, read_step);
}

// With MSG_PEEK the next attempt returns the same bytes again, so their count replaces c->got.
static void read_done(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    c->lent--;
    socket_update(c->socket, m);
    if (m->ret == -EAGAIN) {
        read_again(a, c);
        return;
    }
    if (m->ret < 0) {
        read_over(a, c, m->ret);
        return;
    }
    c->got = c->flags & MSG_PEEK ? m->ret : c->got + m->ret;
    if (c->got >= c->target || m->io.last || m->ret == 0)
        read_over(a, c, c->got);
    else
        read_again(a, c);
}

// recv() on a socket without a connection.
static void read_idle(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    const bool no_error = c->got != 0 || k->state == TCP_LISTENING || disconnected(c);
    const int error = no_error ? 0 : socket_error(k);
    if (c->got != 0)
        read_over(a, c, c->got);
    else if (disconnected(c))
        read_over(a, c, -EPIPE);
    else if (error != 0)
        read_over(a, c, -error);
    else
        read_over(a, c, k->shut_in && k->state == TCP_IDLE ? 0 : -ENOTCONN);
}

static void read_step(struct agent *a, struct call *c)
{
    const bool peek = (c->flags & MSG_PEEK) != 0;
    if (!has_connection(c)) {
        read_idle(a, c);
        return;
    }
    if (c->gone) {  // the client has disconnected: leave the bytes in the queue for the next call
        read_over(a, c, c->got);
        return;
    }
    c->msg.io.buf = c->flags & MSG_TRUNC ? NULL : c->reply->data + (peek ? 0 : c->got);
    c->msg.io.bytes = (uint32_t)(c->want - (peek ? 0 : c->got));
    c->msg.io.peek = peek;
    c->msg.io.begun = c->got != 0;
    call_post(a, c, CMD_READ, read_done);
}

static void receive(struct agent *a, struct call *c, int64_t want, int64_t flags)
{
    struct socket *k = c->socket;
    const int64_t most =
        flags & MSG_TRUNC && k->f.kind == FILE_TCP ? INT32_MAX : AGENT_DATA_BYTES_MAX;
    c->flags = (int)flags;
    c->want = want > most ? most : want;
    c->nonblock = k->f.nonblock || (flags & MSG_DONTWAIT);
    c->target = c->flags & MSG_WAITALL || k->o.lowat > c->want ? c->want : k->o.lowat;
    call_deadline(a, c, k->o.rcv_timeout_us);
    if (want < 0)  // as on Linux, which finds that the buffer does not fit into the address space
        call_return(a, c, -EFAULT);
    else if (flags & MSG_ERRQUEUE)  // the error queue is always empty
        call_return(a, c, -EAGAIN);
    else if (k->f.kind == FILE_UDP)
        udp_receive(a, c);
    else if (flags & MSG_OOB)  // no urgent data
        call_return(a, c, -EINVAL);
    else
        read_step(a, c);
}

// read() of zero bytes returns 0 in every state of the socket; recv() of zero bytes does not.
void op_read(struct agent *a, struct call *c)
{
    if (c->file->kind == FILE_EPOLL)
        call_return(a, c, -EINVAL);
    else if (c->r->a[0] == 0)
        call_return(a, c, 0);
    else
        receive(a, c, c->r->a[0], 0);
}

void op_recv(struct agent *a, struct call *c)
{
    receive(a, c, c->r->a[0], c->r->a[1]);
}

// ---- sending

static void write_step(struct agent *a, struct call *c);

static void write_again(struct agent *a, struct call *c)
{
    if (c->nonblock || c->timed_out || c->gone)
        call_return(a, c, c->got != 0 ? c->got : -EAGAIN);
    else if (!has_connection(c))
        write_step(a, c);
    else
        call_block(a, c, c->file, write_step);
}

static void write_done(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    c->lent--;
    socket_update(c->socket, m);
    if (m->ret == -EAGAIN) {
        write_again(a, c);
        return;
    }
    if (m->ret < 0) {
        call_return(a, c, c->got != 0 ? c->got : m->ret);
        return;
    }
    c->got += m->ret;
    if (c->got == c->want)
        call_return(a, c, c->got);
    else
        write_again(a, c);
}

static void write_step(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    if (!has_connection(c)) {
        const bool no_error = c->got != 0 || k->state != TCP_IDLE || disconnected(c);
        const int error = no_error ? 0 : socket_error(k);
        call_return(a, c, c->got != 0 ? c->got : error != 0 ? -error : -EPIPE);
        return;
    }
    c->msg.io.buf = (uint8_t *)(uintptr_t)c->r->data + c->got;
    c->msg.io.bytes = (uint32_t)(c->want - c->got);
    c->msg.io.more = (c->flags & MSG_MORE) != 0;
    c->msg.io.record = (c->flags & MSG_EOR) != 0;
    c->msg.io.begun = c->got != 0;
    call_post(a, c, CMD_WRITE, write_done);
}

// Unknown MSG_* flags are ignored, as on Linux.
static void send_bytes(struct agent *a, struct call *c, int64_t flags)
{
    struct socket *k = c->socket;
    c->flags = (int)flags;
    c->want = c->r->data_bytes;
    c->nonblock = k->f.nonblock || (flags & MSG_DONTWAIT);
    call_deadline(a, c, k->o.snd_timeout_us);
    if (k->f.kind == FILE_UDP)
        udp_send(a, c);
    else if (flags & (MSG_OOB | MSG_FASTOPEN))
        call_return(a, c, -EOPNOTSUPP);
    else
        write_step(a, c);
}

void op_write(struct agent *a, struct call *c)
{
    if (c->file->kind == FILE_EPOLL)
        call_return(a, c, -EINVAL);
    else
        send_bytes(a, c, 0);
}

void op_send(struct agent *a, struct call *c)
{
    send_bytes(a, c, c->r->a[1]);
}

// ---- ioctl

static void return_int(struct agent *a, struct call *c, int value)
{
    memcpy(c->reply->data, &value, sizeof(value));
    call_return_data(a, c, 0, sizeof(value));
}

static void queued_done(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    c->lent--;
    socket_update(c->socket, m);
    const int64_t what = c->r->a[0];
    return_int(a, c,
               (int)(what == SIOCINQ    ? m->queued.in
                     : what == SIOCOUTQ ? m->queued.out
                                        : m->queued.unsent));
}

// Linux's tcp_ioctl(). Epoll descriptors have no ioctl.
void op_ioctl(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    const int64_t what = c->r->a[0];
    if (k == NULL || (what != SIOCINQ && what != SIOCOUTQ && what != SIOCOUTQNSD))
        call_return(a, c, -ENOTTY);
    else if (k->f.kind == FILE_UDP)
        udp_ioctl(a, c);
    else if (k->state == TCP_LISTENING)
        call_return(a, c, -EINVAL);
    else if (k->state == TCP_ATTACHED)
        call_post(a, c, CMD_QUEUED, queued_done);
    else
        return_int(a, c, 0);
}
