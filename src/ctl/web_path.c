#include "ctl/web_path.h"

#include <errno.h>
#include <string.h>

#include "ctl/web.h"

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// unescape: the character at *at, which moves behind it; -1: there is none that a name can have.
static int unescape(const char **at)
{
    const char *p = *at;
    int c = (unsigned char)*p;
    *at = p + 1;
    if (c == '%') {
        const int high = hex(p[1]), low = high < 0 ? -1 : hex(p[2]);
        if (low < 0)
            return -1;
        c = high << 4 | low;
        *at = p + 3;
    }
    return c < ' ' || c == 0x7f || c == '/' ? -1 : c;
}

// decode_name: one name, up to / or the end, to out; returns its length, or -errno.
static int decode_name(const char **at, char *out, size_t room)
{
    size_t n = 0;
    while (**at != '/' && **at != '\0') {
        const int c = unescape(at);
        if (c < 0)
            return -EINVAL;
        if (n + 1 >= room || n == TREE_NAME_BYTES_MAX)
            return -ENAMETOOLONG;
        out[n++] = (char)c;
    }
    out[n] = '\0';
    return n == 0 || strcmp(out, ".") == 0 || strcmp(out, "..") == 0 ? -EINVAL : (int)n;
}

int web_path_decode(const char *raw, char *out, size_t room)
{
    size_t n = 0;
    out[0] = '\0';
    if (raw[0] == '\0')
        return 0;
    if (raw[0] != '/')
        return -EINVAL;
    while (raw[0] == '/' && raw[1] != '\0') {
        raw++;
        if (n > 0)
            out[n++] = '/';
        const int name = n < room ? decode_name(&raw, out + n, room - n) : -ENAMETOOLONG;
        if (name < 0)
            return name;
        n += (size_t)name;
    }
    return 0;
}

bool web_may(const struct tree_node *node, unsigned how, bool root)
{
    const unsigned want =
        ((how & TREE_READ) != 0 ? 04u : 0u) | ((how & TREE_WRITE) != 0 ? 02u : 0u);
    return root || (tree_stat(node).mode & want) == want;
}

// way: where the walk is: the directories from the root down, and the names still to go.
struct way {
    struct tree_node *at[TREE_DEPTH_MAX + 1];
    unsigned depth, links;
    bool root;
    char rest[WEB_PATH_BYTES_MAX];
};

// take_name: the first name of the rest, which loses it. False: none is left.
static bool take_name(struct way *w, char name[TREE_NAME_BYTES_MAX + 1], int *rc)
{
    const size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");
    *rc = n > TREE_NAME_BYTES_MAX ? -ENAMETOOLONG : 0;
    if (n == 0 || *rc != 0)
        return false;
    memcpy(name, w->rest + skip, n);
    name[n] = '\0';
    memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
    return true;
}

// follow: what a link's target says comes before the rest.
static int follow(struct way *w, const char *target)
{
    const size_t n = strlen(target), rest = strlen(w->rest);
    if (target[0] == '/')
        return -EXDEV;
    if (++w->links > WEB_LINKS_MAX)
        return -ELOOP;
    if (n + 1 + rest >= sizeof(w->rest))
        return -ENAMETOOLONG;
    memmove(w->rest + n + 1, w->rest, rest + 1);
    memcpy(w->rest, target, n);
    w->rest[n] = '/';
    return 0;
}

static int step(struct way *w, const char *name)
{
    struct tree_node *dir = w->at[w->depth];
    if (tree_stat(dir).kind != TREE_DIR)
        return -ENOTDIR;
    if (!w->root && (tree_stat(dir).mode & 01) == 0)
        return -EACCES;
    if (strcmp(name, ".") == 0)
        return 0;
    if (strcmp(name, "..") == 0) {
        if (w->depth == 0)
            return -EXDEV;
        w->depth--;
        return 0;
    }
    struct tree_node *node = tree_lookup(dir, name);
    if (node == NULL)
        return -errno;
    if (tree_target(node) != NULL)
        return follow(w, tree_target(node));
    if (w->depth == TREE_DEPTH_MAX)
        return -ENAMETOOLONG;
    w->at[++w->depth] = node;
    return 0;
}

int web_path_walk(struct tree *t, const char *path, bool root, struct tree_node **node)
{
    struct way w = {.at = {tree_root(t)}, .root = root};
    char name[TREE_NAME_BYTES_MAX + 1];
    const size_t n = strlen(path);
    int rc = n < sizeof(w.rest) ? 0 : -ENAMETOOLONG;
    if (rc == 0)
        memcpy(w.rest, path, n + 1);
    while (rc == 0 && take_name(&w, name, &rc))
        rc = step(&w, name);
    *node = w.at[w.depth];
    return rc;
}
