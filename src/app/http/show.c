// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/show.h"

#include <arpa/inet.h>
#include <string.h>

#include "app/http/service.h"
#include "c10m/tree.h"

enum {
    FILES_A_PIECE = 128,
    RECORDS_A_PIECE = 65536,  // records read
    LINE_BYTES_MAX = HTTP_KEY_BYTES_MAX + 64,
};

static const struct http_site *site_now(const void *data)
{
    const struct http_sites *sites = &((const struct http_service *)data)->sites;
    return sites->at[http_sites_now(sites)];
}

// The cursor stays valid because the table of replies never changes.
static int files_next(struct tree_out *out, void *cursor, void *data)
{
    const struct http_site *site = site_now(data);
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

// One line for each skipped entry: PATH REASON, with the path of a request for it.
static int skipped_next(struct tree_out *out, void *cursor, void *data)
{
    const struct http_site *site = site_now(data);
    uint32_t *at = cursor;
    for (unsigned n = 0; n < FILES_A_PIECE && tree_room(out) >= LINE_BYTES_MAX; n++) {
        if (*at == site->skipped || *at == HTTP_SKIPPED_MAX)
            return 0;
        const struct http_skipped *s = &site->skips[(*at)++];
        tree_printf(out, "%s %s\n", s->path, s->reason);
    }
    return 1;
}

static int site_read(struct tree_out *out, void *data)
{
    const struct http_sites *sites = &((const struct http_service *)data)->sites;
    const struct http_site *site = site_now(data);
    tree_printf(out,
                "version %u\nhosts %u\nfiles %u\nbytes %llu\nfiles_hidden %u\n"
                "entries_skipped %u\nconnections_now %llu\nconnections_before %llu\n",
                sites->version, site->n_hosts, site->files, (unsigned long long)site->bytes,
                site->hidden, site->skipped,
                (unsigned long long)http_sites_held(sites, http_sites_now(sites)),
                (unsigned long long)http_sites_held(sites, !http_sites_now(sites)));
    return 0;
}

// One line for each client of a PROXY header: address and port.
static int clients_next(struct tree_out *out, void *cursor, void *data)
{
    const struct http_clients *clients = &((const struct http_service *)data)->clients;
    uint64_t *at = cursor;
    for (unsigned n = 0; n < RECORDS_A_PIECE && tree_room(out) >= LINE_BYTES_MAX; n++, ++*at) {
        struct http_client c;
        char text[INET6_ADDRSTRLEN];
        if (*at == (uint64_t)clients->workers * clients->records)
            return 0;
        if (!http_clients_look(clients, (unsigned)(*at / clients->records),
                               (uint32_t)(*at % clients->records), &c))
            continue;
        static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
        const bool v4 = memcmp(c.addr, mapped, sizeof(mapped)) == 0;
        inet_ntop(v4 ? AF_INET : AF_INET6, c.addr + (v4 ? 12 : 0), text, sizeof(text));
        tree_printf(out, "%s %u\n", text, c.port);
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
        {"proxy_connections_max", p->proxy_connections_max},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        tree_printf(out, "%s %llu\n", rows[i].name, (unsigned long long)rows[i].value);
    return 0;
}

int http_tree(const struct c10m_service *s, struct tree_node *dir)
{
    static const struct tree_ops files = {.next = files_next, .cursor_bytes = sizeof(uint32_t)};
    static const struct tree_ops skipped = {.next = skipped_next, .cursor_bytes = sizeof(uint32_t)};
    static const struct tree_ops clients = {.next = clients_next, .cursor_bytes = sizeof(uint64_t)};
    void *service = c10m_service_data(s);
    const bool made = tree_file(dir, "files", 0444, &files, service) != NULL &&
                      tree_file(dir, "skipped", 0444, &skipped, service) != NULL &&
                      tree_file_ro(dir, "site", site_read, service) != NULL &&
                      tree_file(dir, "clients", 0444, &clients, service) != NULL &&
                      tree_file_ro(dir, "limits", limits_read, service) != NULL;
    return made ? 0 : -1;
}
