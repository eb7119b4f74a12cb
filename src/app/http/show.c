#include "app/http/show.h"

#include "app/http/service.h"
#include "c10m/tree.h"

enum {
    FILES_A_PIECE = 128,
    LINE_BYTES_MAX = HTTP_KEY_BYTES_MAX + 64,
};

// The table of replies never changes, and neither does a reader's place in it.
static int files_next(struct tree_out *out, void *cursor, void *data)
{
    const struct http_site *site = &((const struct http_service *)data)->site;
    uint32_t *at = cursor;
    for (unsigned n = 0; n < FILES_A_PIECE && tree_room(out) >= LINE_BYTES_MAX; n++) {
        if (*at == site->replies_n)
            return 0;
        const struct http_reply *r = &site->replies[(*at)++];
        if (r->special == HTTP_FILE && r->key_bytes != 0)
            tree_printf(out, "%.*s %u %u\n", (int)r->key_bytes, r->head + r->head_bytes,
                        r->body_bytes, r->modified_s);
    }
    return 1;
}

static int limits_read(struct tree_out *out, void *data)
{
    const struct http_params *p = &((const struct http_service *)data)->params;
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"header_bytes_max", p->header_bytes_max},
        {"header_bytes_held", p->header_bytes_held},
        {"header_timeout_ms", p->header_timeout_ms},
        {"keepalive_timeout_ms", p->keepalive_timeout_ms},
        {"write_timeout_ms", p->write_timeout_ms},
        {"write_bytes_min", p->write_bytes_min},
        {"body_bytes_max", p->body_bytes_max},
        {"body_timeout_ms", p->body_timeout_ms},
        {"holds_max", p->holds_max},
        {"files_max", p->files_max},
        {"bytes_max", p->bytes_max},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tree_printf(out, "%s %llu\n", rows[i].name, (unsigned long long)rows[i].value);
    return 0;
}

int http_tree(const struct c10m_service *s, struct tree_node *dir)
{
    static const struct tree_ops files = {.next = files_next, .cursor_bytes = sizeof(uint32_t)};
    void *service = c10m_service_data(s);
    const bool made = tree_file(dir, "files", 0444, &files, service) != NULL &&
                      tree_file_ro(dir, "limits", limits_read, service) != NULL;
    return made ? 0 : -1;
}
