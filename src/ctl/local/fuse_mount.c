// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/local/fuse_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "ctl/local/fuse_ops.h"
#include "ctl/local/mountpoint.h"

#define MOUNT_OPTIONS                                                                              \
    "-ofsname=c10m,subtype=c10m,default_permissions,allow_other,nosuid,nodev,noexec"

struct ctl_fuse {
    struct ctl_loop *loop;
    struct ctl_mountpoint mountpoint;
    struct ctl_fuse_files files;
    int wake_fd;  // eventfd, readable while reads of streams wait for their next piece
    int rest_fd;  // timer while a stream is idle; -1: none
    struct fuse_session *session;
    struct fuse_buf buf;  // libfuse allocates it at the first request
    bool serving;
};

// said: the last log message of libfuse, whose log function is global and has no argument.
static struct err said;

static void fuse_said(enum fuse_log_level level, const char *format, va_list ap)
{
    vsnprintf(said.text, sizeof(said.text), format, ap);
    said.text[strcspn(said.text, "\n")] = '\0';
}

// fuse_lost: the connection to the kernel has ended. The server continues without the mount.
static void fuse_lost(struct ctl_fuse *f, int rc)
{
    ctl_loop_remove(f->loop, fuse_session_fd(f->session));
    f->serving = false;
    log_say(LOG_door, LOG_WARN, "the mount %s has ended (%s): the tree is not visible there",
            f->mountpoint.path, rc < 0 ? strerror(-rc) : "unmounted");
}

static void fuse_ready(void *arg, uint32_t events)
{
    struct ctl_fuse *f = arg;
    for (int i = 0; i < FUSE_REQUESTS_A_WAKE; i++) {
        int rc = fuse_session_receive_buf(f->session, &f->buf);
        if (rc == -EAGAIN || rc == -EINTR)
            return;
        if (rc <= 0) {
            fuse_lost(f, rc);
            return;
        }
        fuse_session_process_buf(f->session, &f->buf);
    }
}

// Uses an eventfd, so that other sources of the loop are served in between.
static void wake(void *arg)
{
    struct ctl_fuse *f = arg;
    eventfd_write(f->wake_fd, 1);
}

static void on_rest(void *arg, uint64_t periods)
{
    struct ctl_fuse *f = arg;
    (void)periods;
    ctl_loop_remove(f->loop, f->rest_fd);
    f->rest_fd = -1;
    ctl_fuse_ops_rested(&f->files);
}

// If no timer can be created, idle streams continue at once.
static void rest(void *arg)
{
    struct ctl_fuse *f = arg;
    if (f->rest_fd < 0)
        f->rest_fd = ctl_loop_timer(f->loop, TREE_IDLE_MS, on_rest, f, NULL);
    if (f->rest_fd < 0)
        ctl_fuse_ops_rested(&f->files);
}

static void streams_ready(void *arg, uint32_t events)
{
    struct ctl_fuse *f = arg;
    eventfd_t ignored;
    if (!ctl_fuse_ops_resume(&f->files))
        eventfd_read(f->wake_fd, &ignored);
}

static int streams_add(struct ctl_fuse *f, struct err *e)
{
    TAILQ_INIT(&f->files.put_off);
    TAILQ_INIT(&f->files.resting);
    f->rest_fd = -1;
    f->files.wake = wake;
    f->files.rest = rest;
    f->files.arg = f;
    f->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (f->wake_fd < 0)
        return err_set(e, "%s: eventfd: %s", f->mountpoint.path, strerror(errno));
    if (ctl_loop_add(f->loop, f->wake_fd, EPOLLIN, streams_ready, f, e) == 0)
        return 0;
    close(f->wake_fd);
    return -1;
}

static void streams_remove(struct ctl_fuse *f)
{
    ctl_fuse_ops_drop(&f->files);
    ctl_loop_remove(f->loop, f->rest_fd);
    ctl_loop_remove(f->loop, f->wake_fd);
    close(f->wake_fd);
}

static struct fuse_session *session_new(struct ctl_fuse_files *files, struct err *e)
{
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
    struct fuse_session *session = NULL;
    if (fuse_opt_add_arg(&args, "c10m") == 0 && fuse_opt_add_arg(&args, MOUNT_OPTIONS) == 0)
        session = fuse_session_new(&args, &ctl_fuse_ops, sizeof(ctl_fuse_ops), files);
    fuse_opt_free_args(&args);
    if (session == NULL)
        err_set(e, "libfuse: no session: %s", said.text);
    return session;
}

static int session_mount(struct ctl_fuse *f, struct err *e)
{
    if (fuse_session_mount(f->session, f->mountpoint.path) != 0)
        return err_set(e, "%s: mount failed: %s", f->mountpoint.path, said.text);
    int fd = fuse_session_fd(f->session);
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        err_set(e, "%s: fcntl: %s", f->mountpoint.path, strerror(errno));
    else if (ctl_loop_add(f->loop, fd, EPOLLIN, fuse_ready, f, e) == 0)
        return 0;
    fuse_session_unmount(f->session);
    return -1;
}

struct ctl_fuse *ctl_fuse_start(struct ctl_loop *loop, struct tree *t, const char *path,
                                struct err *e)
{
    said.text[0] = '\0';
    fuse_set_log_func(fuse_said);
    if (access("/dev/fuse", R_OK | W_OK) != 0) {
        err_set(e, "%s: mount failed: /dev/fuse: %s (modprobe fuse)", path, strerror(errno));
        return NULL;
    }
    struct ctl_fuse *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        err_set(e, "%s: no memory", path);
        return NULL;
    }
    f->loop = loop;
    tree_session_init(&f->files.session, t);
    if (ctl_mountpoint_prepare(&f->mountpoint, path, e) != 0)
        goto fail_free;
    if (streams_add(f, e) != 0)
        goto fail_mountpoint;
    f->session = session_new(&f->files, e);
    if (f->session == NULL)
        goto fail_streams;
    if (session_mount(f, e) != 0)
        goto fail_session;
    f->serving = true;
    return f;

fail_session:
    fuse_session_destroy(f->session);
fail_streams:
    streams_remove(f);
fail_mountpoint:
    ctl_mountpoint_undo(&f->mountpoint);
fail_free:
    free(f);
    return NULL;
}

static void stop(struct ctl_fuse *f, bool unmount)
{
    if (f->serving)
        ctl_loop_remove(f->loop, fuse_session_fd(f->session));
    streams_remove(f);
    if (unmount)
        fuse_session_unmount(f->session);
    fuse_session_destroy(f->session);
    free(f->buf.mem);
    tree_session_close(&f->files.session);
    if (unmount)
        ctl_mountpoint_undo(&f->mountpoint);
    free(f);
}

void ctl_fuse_stop(struct ctl_fuse *f)
{
    if (f != NULL)
        stop(f, true);
}

void ctl_fuse_leave(struct ctl_fuse *f)
{
    if (f != NULL)
        stop(f, false);
}

bool ctl_fuse_serving(const struct ctl_fuse *f)
{
    return f->serving;
}
