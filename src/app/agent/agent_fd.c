// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "app/agent/agent.h"

int fd_new(struct agent *a, struct file *f)
{
    for (unsigned fd = 0; fd < a->sockets_max; fd++) {
        if (a->fds[fd] != NULL)
            continue;
        a->fds[fd] = f;
        return (int)fd;
    }
    return -EMFILE;
}

struct file *fd_get(const struct agent *a, int fd)
{
    return fd < 0 || (unsigned)fd >= a->sockets_max ? NULL : a->fds[fd];
}

void file_init(struct agent *a, struct file *f, enum file_kind kind)
{
    f->kind = kind;
    f->users = 1;
    f->all_next = a->all;
    f->all_link = &a->all;
    if (a->all != NULL)
        a->all->all_link = &f->all_next;
    a->all = f;
}

void file_free(struct agent *a, struct file *f)
{
    (void)a;
    *f->all_link = f->all_next;
    if (f->all_next != NULL)
        f->all_next->all_link = f->all_link;
    free(f);
}

void file_drop(struct agent *a, struct file *f)
{
    epoll_forget(a, f);
    if (f->kind == FILE_EPOLL) {
        epoll_release(a, f);
    } else {
        udp_queue_free(socket_of(f));
        udp_cork_free(socket_of(f));
        free(socket_of(f)->close_msg);
        free(socket_of(f)->members);
    }
    file_free(a, f);
}

void file_use(struct file *f)
{
    f->users++;
}

static void release_file(struct agent *a, struct file *f, struct call *c)
{
    f->released = true;
    epoll_forget(a, f);
    if (f->kind == FILE_EPOLL)
        epoll_release(a, f);
    else
        socket_release(a, socket_of(f), c);
    if (f->lent == 0)
        file_free(a, f);
}

void file_unuse(struct agent *a, struct file *f)
{
    if (--f->users == 0)
        release_file(a, f, NULL);
}

void file_back(struct agent *a, struct file *f)
{
    if (--f->lent == 0 && f->released)
        file_free(a, f);
}

// If only the descriptor and this call use the file, the file is released, and the call waits for
// that (SO_LINGER). Otherwise the file lives until the calls that are blocked on it end. While this
// call waited for a busy socket, another call may have closed the descriptor.
void op_close(struct agent *a, struct call *c)
{
    struct file *f = c->file;
    if (fd_get(a, c->r->fd) != f) {
        call_return(a, c, -EBADF);
        return;
    }
    a->fds[c->r->fd] = NULL;
    c->file = NULL;
    f->users--;  // the use by the descriptor
    if (f->users > 1) {
        f->users--;
        call_return(a, c, 0);
        return;
    }
    f->users = 0;
    f->lent++;  // until the call is over
    c->lent++;
    release_file(a, f, c);
    c->lent--;
    if (c->lent == 0)
        call_return(a, c, 0);
    file_back(a, f);
}

void op_fcntl(struct agent *a, struct call *c)
{
    struct file *f = c->file;
    switch (c->r->a[0]) {
    case F_GETFL:
        call_return(a, c, O_RDWR | (f->nonblock ? O_NONBLOCK : 0));
        return;
    case F_SETFL:
        f->nonblock = (c->r->a[1] & O_NONBLOCK) != 0;
        call_return(a, c, 0);
        return;
    default:
        call_return(a, c, -EINVAL);
    }
}
