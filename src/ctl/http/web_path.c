// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/http/web_path.h"

#include <errno.h>
#include <string.h>

#include "c10m/tree.h"
#include "ctl/http/web_serve.h"
#include "ctl/local/tree_walk.h"

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// unescape: returns the character at *at and moves *at after it; -1: not allowed in a name.
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

// decode_name: decodes one name, up to / or the end, to out. Returns its length, or -errno.
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

// The credentials of an HTTP client: root with the token, otherwise nobody.
static struct ctl_who asking(bool root)
{
    return (struct ctl_who){.uid = root ? 0 : UINT32_MAX, .gid = UINT32_MAX};
}

bool web_may(const struct tree_node *node, unsigned how, bool root)
{
    const unsigned want =
        ((how & TREE_READ) != 0 ? MAY_READ : 0u) | ((how & TREE_WRITE) != 0 ? MAY_WRITE : 0u);
    const struct ctl_who who = asking(root);
    const struct tree_stat s = tree_stat(node);
    return ctl_may(&who, &s, want);
}

int web_path_walk(struct tree *t, const char *path, bool root, struct tree_node **node)
{
    const struct ctl_who who = asking(root);
    return ctl_walk(t, &who, path, strlen(path), true, node);
}
