// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/show.h"

#include <arpa/inet.h>
#include <errno.h>
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

// A position in a site. at: index of a reply or of a skipped entry.
struct cursor {
    uint32_t version, at;
};

// The site to read on from the cursor; NULL: a reload has replaced it, and *rc is the result.
static const struct http_site *site_at(struct cursor *cursor, const void *data, int *rc)
{
    const struct http_site *site = site_now(data);
    if (cursor->version == 0)
        cursor->version = site->version;
    if (cursor->version == site->version)
        return site;
    *rc = tree_refuse(ESTALE, "the files were reloaded meanwhile: read the file again");
    return NULL;
}

static int files_next(struct tree_out *out, void *cursor, void *data)
{
    struct cursor *at = cursor;
    int rc;
    const struct http_site *site = site_at(at, data, &rc);
    if (site == NULL)
        return rc;
    for (unsigned n = 0; n < FILES_A_PIECE && tree_room(out) >= LINE_BYTES_MAX; n++) {
        if (at->at == site->replies_n)
            return 0;
        const struct http_reply *r = &site->replies[at->at++];
        if (r->special == HTTP_FILE && r->key_bytes != 0)
            tree_printf(out, "%.*s %u %u\n", (int)r->key_bytes, r->head + r->head_bytes,
                        r->body_bytes, r->modified_s);
    }
    return 1;
}

// One line for each skipped entry: PATH REASON, with the path of a request for it.
static int skipped_next(struct tree_out *out, void *cursor, void *data)
{
    struct cursor *at = cursor;
    int rc;
    const struct http_site *site = site_at(at, data, &rc);
    if (site == NULL)
        return rc;
    for (unsigned n = 0; n < FILES_A_PIECE && tree_room(out) >= LINE_BYTES_MAX; n++) {
        if (at->at == site->skipped || at->at == HTTP_SKIPPED_MAX)
            return 0;
        const struct http_skipped *s = &site->skips[at->at++];
        tree_printf(out, "%s %s\n", s->path, s->reason);
    }
    return 1;
}

// The replaced sites that are still in memory: their number, connections, and bytes of files.
static void put_before(struct tree_out *out, const struct http_sites *sites)
{
    uint64_t connections = 0, bytes = 0;
    unsigned n = 0;
    for (unsigned i = 0; i < HTTP_PLACES; i++) {
        if (sites->at[i] == NULL || i == http_sites_now(sites))
            continue;
        n++;
        connections += http_sites_held(sites, i);
        bytes += sites->at[i]->bytes;
    }
    tree_printf(out, "connections_before %llu\nversions_before %u\nbytes_before %llu\n",
                (unsigned long long)connections, n, (unsigned long long)bytes);
}

static int site_read(struct tree_out *out, void *data)
{
    const struct http_sites *sites = &((const struct http_service *)data)->sites;
    const struct http_site *site = site_now(data);
    tree_printf(out,
                "version %u\nloaded_s %llu\nloading_us %llu\nhosts %u\nfiles %u\n"
                "files_new %u\nfiles_changed %u\nfiles_removed %u\n",
                site->version, (unsigned long long)site->loaded_s,
                (unsigned long long)site->loading_us, site->n_hosts, site->files,
                site->changes.added, site->changes.changed, site->changes.removed);
    tree_printf(out, "bytes %llu\nfiles_hidden %u\nentries_skipped %u\nconnections_now %llu\n",
                (unsigned long long)site->bytes, site->hidden, site->skipped,
                (unsigned long long)http_sites_held(sites, http_sites_now(sites)));
    put_before(out, sites);
    return 0;
}

// One line for each replaced site that is in memory: its version, connections, files and bytes.
static int before_read(struct tree_out *out, void *data)
{
    const struct http_sites *sites = &((const struct http_service *)data)->sites;
    for (unsigned i = 0; i < HTTP_PLACES; i++) {
        const struct http_site *site = sites->at[i];
        if (site != NULL && i != http_sites_now(sites))
            tree_printf(out, "%u %llu %u %llu\n", site->version,
                        (unsigned long long)http_sites_held(sites, i), site->files,
                        (unsigned long long)site->bytes);
    }
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
    static const struct tree_ops files = {.next = files_next,
                                          .cursor_bytes = sizeof(struct cursor)};
    static const struct tree_ops skipped = {.next = skipped_next,
                                            .cursor_bytes = sizeof(struct cursor)};
    static const struct tree_ops clients = {.next = clients_next, .cursor_bytes = sizeof(uint64_t)};
    void *service = c10m_service_data(s);
    const bool made = tree_file(dir, "files", 0444, &files, service) != NULL &&
                      tree_file(dir, "skipped", 0444, &skipped, service) != NULL &&
                      tree_file_ro(dir, "site", site_read, service) != NULL &&
                      tree_file_ro(dir, "before", before_read, service) != NULL &&
                      tree_file(dir, "clients", 0444, &clients, service) != NULL &&
                      tree_file_ro(dir, "limits", limits_read, service) != NULL;
    return made ? 0 : -1;
}
