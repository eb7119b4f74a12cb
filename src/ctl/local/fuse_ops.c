// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/local/fuse_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/local/fuse_mount.h"

static_assert(FUSE_ROOT_ID == TREE_ROOT_ID, "ids are inode numbers");

static struct tree_session *session_of(fuse_req_t req)
{
    return &((struct ctl_fuse_files *)fuse_req_userdata(req))->session;
}

// node_of: the entry with this inode number. NULL: it was removed, and ENOENT was answered.
static struct tree_node *node_of(fuse_req_t req, fuse_ino_t ino)
{
    struct tree_node *node = tree_by_id(session_of(req)->tree, ino);
    if (node == NULL)
        fuse_reply_err(req, ENOENT);
    return node;
}

static struct tree_handle *handle_of(const struct fuse_file_info *fi)
{
    return (struct tree_handle *)(uintptr_t)fi->fh;
}

static mode_t type_of(enum tree_kind kind)
{
    return kind == TREE_DIR ? S_IFDIR : kind == TREE_LINK ? S_IFLNK : S_IFREG;
}

static struct stat attributes(const struct tree_node *node)
{
    struct tree_stat s = tree_stat(node);
    const char *target = tree_target(node);
    struct timespec made = {.tv_sec = s.made_s};
    return (struct stat){.st_ino = s.id,
                         .st_mode = type_of(s.kind) | s.mode,
                         .st_nlink = s.links,
                         .st_uid = s.uid,
                         .st_gid = s.gid,
                         .st_size = target == NULL ? 0 : (off_t)strlen(target),
                         .st_atim = made,
                         .st_mtim = made,
                         .st_ctim = made};
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
    conn->max_write = FUSE_REQUEST_BYTES_MAX;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct tree_node *dir = node_of(req, parent);
    if (dir == NULL)
        return;
    struct tree_node *node = tree_lookup(dir, name);
    if (node == NULL) {
        fuse_reply_err(req, errno);
        return;
    }
    struct fuse_entry_param e = {.attr = attributes(node)};
    e.ino = e.attr.st_ino;
    fuse_reply_entry(req, &e);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct tree_node *node = node_of(req, ino);
    if (node == NULL)
        return;
    struct stat st = attributes(node);
    fuse_reply_attr(req, &st, 0);
}

// op_setattr: accepts truncation only, with or without times; chmod, chown and touch fail.
static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
                       struct fuse_file_info *fi)
{
    int refused = FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID;
    if ((to_set & FUSE_SET_ATTR_SIZE) == 0 || (to_set & refused) != 0)
        fuse_reply_err(req, EPERM);
    else
        op_getattr(req, ino, fi);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    struct tree_node *node = node_of(req, ino);
    if (node == NULL)
        return;
    if (tree_target(node) == NULL)
        fuse_reply_err(req, EINVAL);
    else
        fuse_reply_readlink(req, tree_target(node));
}

static void open_as(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, unsigned how)
{
    struct tree_handle *h = NULL;
    struct tree_node *node = node_of(req, ino);
    if (node == NULL)
        return;
    int rc = tree_open_as(session_of(req), node, how, fuse_req_ctx(req)->uid, &h);
    if (rc != 0) {
        fuse_reply_err(req, -rc);
        return;
    }
    fi->fh = (uintptr_t)h;
    fi->direct_io = 1;  // the size is unknown, and each open has its own text
    if (fuse_reply_open(req, fi) == -ENOENT)
        tree_close(h);  // the open was interrupted, so no release follows
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    int access = fi->flags & O_ACCMODE;
    open_as(req, ino, fi,
            access == O_RDONLY   ? TREE_READ
            : access == O_WRONLY ? TREE_WRITE
                                 : TREE_READ | TREE_WRITE);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    open_as(req, ino, fi, TREE_READ);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    tree_close(handle_of(fi));
    fuse_reply_err(req, 0);
}

// read_or_wait: answers the read. False: its stream needs more work.
static bool read_or_wait(fuse_req_t req, struct tree_handle *h, size_t size, off_t off)
{
    const char *data = NULL;
    const ssize_t n = tree_read(h, (uint64_t)off, size, &data);
    if (n == -EAGAIN)
        return false;
    if (n < 0)
        fuse_reply_err(req, (int)-n);
    else
        fuse_reply_buf(req, data, (size_t)n);
    return true;
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                    struct fuse_file_info *fi)
{
    struct ctl_fuse_files *d = fuse_req_userdata(req);
    if (read_or_wait(req, handle_of(fi), size, off))
        return;
    struct put_off *p = malloc(sizeof(*p));
    if (p == NULL) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    *p = (struct put_off){.req = req, .handle = handle_of(fi), .size = size, .off = off};
    TAILQ_INSERT_TAIL(&d->put_off, p, link);
    d->wake(d->arg);
}

bool ctl_fuse_ops_resume(struct ctl_fuse_files *d)
{
    struct put_off *p = TAILQ_FIRST(&d->put_off);
    if (p == NULL)
        return false;
    TAILQ_REMOVE(&d->put_off, p, link);
    const bool killed = fuse_req_interrupted(p->req) != 0;
    if (killed)
        fuse_reply_err(p->req, EINTR);
    if (killed || read_or_wait(p->req, p->handle, p->size, p->off)) {
        free(p);
    } else if (tree_idle(p->handle)) {
        TAILQ_INSERT_TAIL(&d->resting, p, link);
        d->rest(d->arg);
    } else {
        TAILQ_INSERT_TAIL(&d->put_off, p, link);
    }
    return !TAILQ_EMPTY(&d->put_off);
}

void ctl_fuse_ops_rested(struct ctl_fuse_files *d)
{
    TAILQ_CONCAT(&d->put_off, &d->resting, link);
    if (!TAILQ_EMPTY(&d->put_off))
        d->wake(d->arg);
}

void ctl_fuse_ops_drop(struct ctl_fuse_files *d)
{
    TAILQ_CONCAT(&d->put_off, &d->resting, link);
    for (struct put_off *p; (p = TAILQ_FIRST(&d->put_off)) != NULL; free(p)) {
        TAILQ_REMOVE(&d->put_off, p, link);
        fuse_reply_err(p->req, EIO);
    }
}

// op_write: one write is one command; the offset is ignored.
static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
                     struct fuse_file_info *fi)
{
    int rc = tree_write(handle_of(fi), buf, size);
    if (rc == 0)
        fuse_reply_write(req, size);
    else
        fuse_reply_err(req, -rc);
}

// DIR_POS: offsets 0 and 1 are "." and ".."; higher ones are positions of tree_next() plus DIR_POS.
enum { DIR_POS = 2 };

// dir_entry: the entry at *off; moves *off after it. False: the end.
static bool dir_entry(const struct tree_handle *h, uint64_t *off, struct tree_dirent *e)
{
    static const char *const dots[] = {".", ".."};
    if (*off < DIR_POS) {
        *e = (struct tree_dirent){TREE_ROOT_ID, TREE_DIR, dots[*off]};
        ++*off;
        return true;
    }
    uint64_t pos = *off - DIR_POS;
    bool more = tree_next(h, &pos, e);
    *off = pos + DIR_POS;
    return more;
}

// op_readdir: makes the listing at offset 0, so that later parts are from the same moment.
static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at,
                       struct fuse_file_info *fi)
{
    struct tree_handle *h = handle_of(fi);
    int rc = at == 0 ? tree_list(h) : 0;
    size_t room = MIN(size, (size_t)FUSE_REQUEST_BYTES_MAX), used = 0;
    char *buf = rc == 0 ? malloc(room) : NULL;
    if (buf == NULL) {
        fuse_reply_err(req, rc != 0 ? -rc : ENOMEM);
        return;
    }
    struct tree_dirent e;
    for (uint64_t off = (uint64_t)at; dir_entry(h, &off, &e);) {
        struct stat st = {.st_ino = e.id, .st_mode = type_of(e.kind)};
        size_t n = fuse_add_direntry(req, buf + used, room - used, e.name, &st, (off_t)off);
        if (n > room - used)
            break;
        used += n;
    }
    fuse_reply_buf(req, buf, used);
    free(buf);
}

// Clients cannot create, rename or remove entries: only the server does.
static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
    fuse_reply_err(req, EPERM);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                      struct fuse_file_info *fi)
{
    fuse_reply_err(req, EPERM);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    fuse_reply_err(req, EPERM);
}

static void op_remove(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    fuse_reply_err(req, EPERM);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    fuse_reply_err(req, EPERM);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to_parent,
                      const char *to_name, unsigned int flags)
{
    fuse_reply_err(req, EPERM);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t to_parent, const char *to_name)
{
    fuse_reply_err(req, EPERM);
}

const struct fuse_lowlevel_ops ctl_fuse_ops = {
    .init = op_init,
    .lookup = op_lookup,
    .getattr = op_getattr,
    .setattr = op_setattr,
    .readlink = op_readlink,
    .open = op_open,
    .read = op_read,
    .write = op_write,
    .release = op_release,
    .opendir = op_opendir,
    .readdir = op_readdir,
    .releasedir = op_release,
    .mknod = op_mknod,
    .create = op_create,
    .mkdir = op_mkdir,
    .unlink = op_remove,
    .rmdir = op_remove,
    .symlink = op_symlink,
    .rename = op_rename,
    .link = op_link,
};
