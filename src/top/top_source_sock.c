// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>

#include "ctl/cli/client.h"
#include "ctl/local/frames.h"
#include "top/top_source.h"
#include "top/top_term.h"

struct sock_source {
    struct top_source source;
    struct ctl_client client;
    bool open;
};

// Whether the error ends the connection. Errors reported by the server do not.
static bool is_cut(int rc)
{
    return rc == -EPIPE || rc == -ETIMEDOUT || rc == -EPROTO || rc == -ECONNRESET || rc == -EINTR;
}

static int checked(struct sock_source *s, int rc)
{
    if (is_cut(rc)) {
        ctl_client_close(&s->client);
        s->open = false;
    }
    return rc;
}

static bool ended(void)
{
    return top_signal() != 0;
}

static int ready(struct sock_source *s)
{
    if (s->open)
        return 0;
    const int rc =
        ctl_client_open_until(&s->client, s->source.name, CLIENT_TIMEOUT_MS, ended, NULL);
    s->open = rc == 0;
    return rc;
}

static int sock_read(struct top_source *source, const char *path, struct text *out)
{
    struct sock_source *s = (struct sock_source *)source;
    const int rc = ready(s);
    return rc != 0 ? rc : checked(s, ctl_client_get(&s->client, path, out, NULL));
}

static void each_entry(void *arg, const struct wire_entry *e)
{
    text_printf(arg, "%.*s\n", (int)e->name_bytes, e->name);
}

static int sock_list(struct top_source *source, const char *path, struct text *out)
{
    struct sock_source *s = (struct sock_source *)source;
    int rc = ready(s);
    if (rc == 0)
        rc = checked(s, ctl_client_list(&s->client, path, each_entry, out, NULL));
    return rc != 0 ? rc : out->error;
}

static void sock_close(struct top_source *source)
{
    struct sock_source *s = (struct sock_source *)source;
    if (s->open)
        ctl_client_close(&s->client);
    free(s);
}

struct top_source *top_source_sock(const char *path)
{
    struct sock_source *s = calloc(1, sizeof(*s));
    if (s != NULL)
        s->source = (struct top_source){sock_read, sock_list, sock_close, path};
    return s == NULL ? NULL : &s->source;
}
