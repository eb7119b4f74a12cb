// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <string.h>

#include "ctl/http/web_path.h"
#include "ctl/http/web_serve.h"

// json_name: appends the name as a JSON string. Names have no control characters; bytes above 0x7f
// are copied.
static void json_name(struct text *out, const char *name)
{
    text_put(out, "\"", 1);
    for (; *name != '\0'; name++) {
        if (*name == '"' || *name == '\\')
            text_put(out, "\\", 1);
        text_put(out, name, 1);
    }
    text_put(out, "\"", 1);
}

static void list_json(const struct tree_handle *h, struct text *out)
{
    static const char *const kinds[] = {
        [TREE_DIR] = "dir", [TREE_FILE] = "file", [TREE_LINK] = "link"};
    struct tree_dirent e;
    const char *separator = "[";
    for (uint64_t pos = 0; tree_next(h, &pos, &e); separator = ",\n ") {
        text_printf(out, "%s{\"name\":", separator);
        json_name(out, e.name);
        text_printf(out, ",\"kind\":\"%s\"}", kinds[e.kind]);
    }
    text_printf(out, "%s]\n", separator[0] == '[' ? "[" : "");
}

static void list_text(const struct tree_handle *h, struct text *out)
{
    struct tree_dirent e;
    for (uint64_t pos = 0; tree_next(h, &pos, &e);)
        text_printf(out, "%s%s\n", e.name, e.kind == TREE_DIR ? "/" : "");
}

static int list(const struct web_request *r, struct web_answer *a)
{
    const bool json = r->accept != NULL && strstr(r->accept, "application/json") != NULL;
    int rc = tree_list(a->handle);
    if (rc != 0)
        return rc;
    if (json) {
        a->type = "application/json";
        list_json(a->handle, &a->text);
    } else
        list_text(a->handle, &a->text);
    return a->text.error;
}

// uid_of: the user to whom handles are charged: root or nobody, who cannot use the handles reserved
// for root.
static uint32_t uid_of(bool root)
{
    return root ? 0 : WEB_UID_NOBODY;
}

static int read_entry(struct web *w, const struct web_request *r, struct tree_node *node, bool root,
                      struct web_answer *a)
{
    if (!web_may(node, TREE_READ, root))
        return -EACCES;
    int rc = tree_open_as(&w->session, node, TREE_READ, uid_of(root), &a->handle);
    if (rc != 0)
        return rc;
    if (tree_stat(node).kind == TREE_DIR)
        return list(r, a);
    a->from_handle = true;
    a->stream = tree_streams(node);
    return 0;
}

static int write_entry(struct web *w, const struct web_request *r, struct tree_node *node,
                       bool root, struct web_answer *a)
{
    if (tree_stat(node).kind == TREE_DIR)
        return -EISDIR;
    if (!web_may(node, TREE_WRITE, root))
        return -EACCES;
    int rc = tree_open_as(&w->session, node, TREE_WRITE, uid_of(root), &a->handle);
    if (rc != 0)
        return rc;
    rc = tree_write(a->handle, r->body == NULL ? "" : r->body, r->body_bytes);
    tree_close(a->handle);
    a->handle = NULL;
    w->counts.writes += rc == 0;
    a->status = 204;
    return rc;
}

void web_proc(struct web *w, const struct web_request *r, const char *raw, bool root,
              struct web_answer *a)
{
    char path[WEB_PATH_BYTES_MAX];
    struct tree_node *node = NULL;
    const bool writes = r->method == WEB_PUT || r->method == WEB_POST;
    tree_reason_clear();
    int rc = web_path_decode(raw, path, sizeof(path));
    if (rc == -EINVAL) {
        w->counts.bad_paths++;
        web_error(a, 400, "expected names separated by /, not empty, . or ..");
        return;
    }
    if (rc == 0)
        rc = web_path_walk(w->session.tree, path, root, &node);
    if (rc == 0 && raw[0] != '\0' && raw[strlen(raw) - 1] == '/' &&
        tree_stat(node).kind != TREE_DIR)
        rc = -ENOTDIR;
    if (rc == 0)
        rc = writes ? write_entry(w, r, node, root, a) : read_entry(w, r, node, root, a);
    if (rc != 0)
        web_errno(w, a, rc, writes, path);
}
