// SPDX-License-Identifier: BSD-3-Clause
// Any bytes said to the control socket, by root, by a member of a group or by nobody, in portions,
// to a tree with readers, streams and writers that make and remove entries: what is answered is of
// the protocol, nobody gets what his rights do not give, and nothing stays open.
//
// Input: one byte: bits 0-1 who, bit 2 whether HELLO is said for him, bits 3-7 how the rest is cut
// into portions; then what he says.
#include <errno.h>
#include <string.h>

#include "ctl/local/conversation.h"

enum {
    STEPS_MAX = 100000,  // of work on one portion: more is a loop without end
    STREAM_CALLS = 50,
};

static const char secret[] = "only root reads this";
static struct tree *tree;
static struct tree_node *root;
static const struct ctl_who *who;
static int entries_made;

static int plain_read(struct tree_out *out, void *data)
{
    return tree_printf(out, "value %d\n", 7);
}

static int secret_read(struct tree_out *out, void *data)
{
    CHECK(who->uid == 0);
    return tree_printf(out, "%s\n", secret);
}

static int long_read(struct tree_out *out, void *data)
{
    static const char block[4096];
    for (int i = 0; i < 40; i++)
        tree_put(out, block, sizeof(block));
    return 0;
}

static int failing_read(struct tree_out *out, void *data)
{
    return tree_refuse(ERANGE, "as always");
}

static int stream_next(struct tree_out *out, void *cursor, void *data)
{
    unsigned *at = cursor;
    if (++*at % 2 == 0)
        tree_printf(out, "piece %u\n", *at);
    return *at < STREAM_CALLS;
}

// seen: every byte that a writer is promised, and no other.
static unsigned seen(const char *buf, size_t n)
{
    unsigned sum = 0;
    CHECK(n > 0 && n <= TREE_WRITE_BYTES_MAX);
    for (size_t i = 0; i < n; i++)
        sum += (unsigned char)buf[i];
    return sum;
}

static int any_write(const char *buf, size_t n, void *data)
{
    return seen(buf, n) % 2 == 0 ? 0 : tree_refuse(EINVAL, "odd: %.*s", (int)MIN(n, 40u), buf);
}

static int root_write(const char *buf, size_t n, void *data)
{
    CHECK(who->uid == 0);
    return any_write(buf, n, data);
}

static int group_write(const char *buf, size_t n, void *data)
{
    CHECK(who->uid == 0 || who->n_groups > 0);
    return any_write(buf, n, data);
}

// Makes an entry of the name that is written.
static int make_write(const char *buf, size_t n, void *data)
{
    char name[64] = "made/";
    memcpy(name + 5, buf, MIN(n, 50u));
    seen(buf, n);
    if (entries_made == 100)
        return -ENOSPC;
    if (tree_file_ro(root, name, plain_read, NULL) == NULL)
        return tree_refuse(errno, "%s", tree_error(root));
    entries_made++;
    return 0;
}

static int remove_write(const char *buf, size_t n, void *data)
{
    char name[64] = "made/";
    memcpy(name + 5, buf, MIN(n, 50u));
    return tree_remove(root, name) == 0 ? 0 : -errno;
}

static void file(const char *path, unsigned mode, int (*read)(struct tree_out *, void *),
                 int (*write)(const char *, size_t, void *), uint32_t gid)
{
    const struct tree_ops ops = {.read = read, .write = write};
    struct tree_node *node = tree_file(root, path, mode, &ops, NULL);
    CHECK(node != NULL);
    tree_chown(node, 0, gid);
}

static void tree_make(void)
{
    static const struct tree_ops stream = {.next = stream_next, .cursor_bytes = sizeof(unsigned)};
    tree = tree_create();
    root = tree_root(tree);
    entries_made = 0;
    CHECK(tree != NULL);
    tree_chown(root, 0, 0);
    file("a", 0444, plain_read, NULL, 0);
    file("long", 0444, long_read, NULL, 0);
    file("fails", 0444, failing_read, NULL, 0);
    file("secret", 0400, secret_read, NULL, 0);
    file("w", 0222, NULL, any_write, 0);
    file("button", 0200, NULL, root_write, 0);
    file("group", 0460, secret_read, group_write, 50);
    file("d/make", 0666, plain_read, make_write, 0);
    file("d/remove", 0222, NULL, remove_write, 0);
    file("shut/in", 0666, secret_read, root_write, 0);
    CHECK(tree_file(root, "s", 0444, &stream, NULL) != NULL);
    CHECK(tree_chmod(tree_lookup(root, "shut"), 0700) == 0);
    CHECK(tree_chmod(tree_lookup(root, "group"), 0420) == 0);
    CHECK(tree_link(root, "l", "d/make") != NULL && tree_link(root, "p", "shut/in") != NULL);
    CHECK(tree_link(root, "x", "x") != NULL && tree_link(root, "up", "../..") != NULL);
}

// heard: what the server said, frame by frame.
static struct {
    uint8_t head[WIRE_HEAD_BYTES];
    size_t head_n;
    uint64_t left;  // of the payload
    uint64_t total;
    bool greeted, over;
} heard;

static void frame_heard(void)
{
    struct wire_head h;
    CHECK(!heard.over);
    CHECK(wire_head_get(heard.head, &h));
    CHECK(h.payload_bytes <= WIRE_DATA_BYTES_MAX);
    CHECK(heard.greeted || h.type == WIRE_HELLO || h.type == WIRE_ERROR);
    CHECK(h.type == WIRE_HELLO ? !heard.greeted : h.type >= WIRE_DATA && h.type <= WIRE_ERROR);
    heard.greeted |= h.type == WIRE_HELLO;
    heard.total = h.type == WIRE_DATA ? heard.total + h.payload_bytes : 0;
    heard.left = h.payload_bytes;
}

static void hear(const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        if (heard.left > 0) {
            const size_t part = MIN(n, heard.left);
            heard.left -= part;
            bytes += part;
            n -= part;
            continue;
        }
        heard.head[heard.head_n++] = *bytes++;
        n--;
        if (heard.head_n == WIRE_HEAD_BYTES) {
            heard.head_n = 0;
            frame_heard();
        }
    }
}

static void work(struct talk *k, size_t portion)
{
    bool later;
    int steps = 0;
    while (talk_work(k, &later)) {
        const size_t n = MIN(portion, k->out_n - k->out_at);
        CHECK(++steps < STEPS_MAX);
        CHECK(later || n > 0 || k->out_n == 0);
        hear(k->out + k->out_at, n);
        k->out_at += n;
    }
    CHECK(k->out_at == k->out_n && !talk_busy(k));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static gid_t groups[] = {9, 50};
    static const struct ctl_who all[] = {
        {0, 0, 0, NULL}, {1000, 1000, 2, groups}, {65534, 65534, 0, NULL}, {2000, 2000, 0, NULL}};
    static struct talk k;
    struct talk_counts counts = {0};
    uint8_t hello[WIRE_HELLO_BYTES];
    if (len == 0)
        return 0;
    const size_t portion = data[0] >> 3 == 0 ? SIZE_MAX : (size_t)1 << (data[0] >> 3) % 20;
    who = &all[data[0] & 3];
    tree_make();
    memset(&heard, 0, sizeof(heard));
    talk_init(&k, tree, who, &counts);
    if ((data[0] & 4) != 0) {
        wire_hello_put(hello);
        memcpy(k.in, hello, sizeof(hello));
        talk_received(&k, sizeof(hello));
        work(&k, portion);
        CHECK(heard.greeted);
    }
    for (size_t at = 1, room; at < len;) {
        uint8_t *to = talk_room(&k, &room);
        const size_t n = MIN(MIN(len - at, room), portion);
        if (n == 0)
            break;
        memcpy(to, data + at, n);
        talk_received(&k, n);
        at += n;
        work(&k, MAX(portion, 64u));
    }
    CHECK(heard.left == 0 && heard.head_n == 0);
    talk_fini(&k);
    CHECK(tree_usage(tree).handles == 0 && tree_usage(tree).snapshot_bytes == 0);
    tree_destroy(tree);
    return 0;
}
