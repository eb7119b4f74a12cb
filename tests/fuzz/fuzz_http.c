// SPDX-License-Identifier: BSD-3-Clause
// fuzz_http.c: what a client can send to the http application, and how the network can cut it.
//
//   input: [size of the first piece] [size of the others] [room of the send queue] bytes of the
//   client...
//
// The bytes go to one connection whole and to a second one in pieces against a narrow send queue.
// Both must answer the same, to the byte; and when the client then falls silent, both must come to
// an end, with every hold given back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/apps.h"
#include "unit/fake_stack.h"
#include "unit/temp_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { CONTROL_BYTES = 3 };

static void need(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz_http: not so: %s\n", what);
    abort();
}

static struct c10m_service *serve(void)
{
    static char root[TEMP_PATH_BYTES], hosts[256], large[2000], err[256];
    static const struct temp_entry entries[] = {
        {"index.html", "index", NULL},
        {"a b", "odd name", NULL},
        {"b.txt", "text", NULL},
        {"b.txt.br", "packed", NULL},
        {"l/", NULL, NULL},
        {"l/<&>", "listed", NULL},
        {"d/", NULL, NULL},
        {"d/index.html", "d", NULL},
    };
    static const uint8_t packed[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3,
                                     3,    0,    0, 0, 0, 0, 0, 0, 0, 0};
    const char *params[] = {"root",
                            root,
                            "header_bytes_max",
                            "512",
                            "body_bytes_max",
                            "300",
                            "body_timeout_ms",
                            "5000",
                            "holds_max",
                            "16",
                            "echo_path",
                            "/e",
                            "headers_path",
                            "/h",
                            "access_log",
                            "/dev/null",
                            "host",
                            hosts,
                            "redirect",
                            "/m/* 301 /n/*\n/q 302 /x?y\nthree.org/* 308 https://o.org/*\n",
                            "header",
                            "/d/* X-Own: a, b\n*.gz X-Packed: 1\n",
                            "expires",
                            "* 1h\n",
                            "error_page",
                            "404 /a%20b\n405 two.org/\n",
                            "listing",
                            "on",
                            NULL};
    memset(large, 'l', sizeof(large));
    temp_tree_make(root, entries, sizeof(entries) / sizeof(entries[0]));
    snprintf(hosts, sizeof(hosts), "two.org, *.two.org, [fd00::2] %s/d\nthree.org -\n", root);
    temp_tree_file(root, "large", large, sizeof(large));
    temp_tree_file(root, "z", "", 0);
    temp_tree_file(root, "z.gz", packed, sizeof(packed));  // of nothing
    struct c10m_service *s = fake_service_new(&app_http, params, err, sizeof(err));
    temp_tree_remove(root);
    need(s != NULL, err);
    return s;
}

static void finish(struct c10m_conn *c)
{
    fake_drain(c);
    fake_advance(c, 10001);  // a head or content that has begun ends in 408
    fake_drain(c);
    need(c->in.len == 0, "what was not answered is thrown away");
    fake_advance(c, 60000);
    need(c->shut, "an idle connection is shut down");
    fake_drain(c);
    fake_advance(c, 60000);
    need(c->aborted, "a connection that its peer keeps open is reset");
}

static bool same(const struct fake_bytes *a, const struct fake_bytes *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->at, b->at, a->len) == 0);
}

static void check_answers(const struct c10m_conn *whole, const struct c10m_conn *cut)
{
    static const char start[] = "HTTP/1.1 ";
    need(same(&whole->out, &cut->out), "answers do not depend on the pieces and the room");
    if (whole->out.len == 0)
        return;
    need(whole->out.len > sizeof(start) && memcmp(whole->out.at, start, sizeof(start) - 1) == 0,
         "the first response has a status line");
}

// As many requests with content as a source may have holds, a quarter of them: a hold that was not
// given back is missed.
static void check_holds(struct c10m_service *s)
{
    static const char text[] = "POST /e HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
    struct c10m_conn *c[4];
    for (unsigned i = 0; i < 4; i++) {
        c[i] = fake_open(s);
        fake_feed(c[i], text, sizeof(text) - 2, 0);
        need(c[i]->out.len == 0, "there is a hold for each");
    }
    for (unsigned i = 0; i < 4; i++)
        fake_close(c[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct c10m_service *s;
    if (s == NULL)
        s = serve();
    if (len < CONTROL_BYTES)
        return 0;
    size_t first = data[0], piece = data[1], room = data[2] + 1u;
    data += CONTROL_BYTES;
    len -= CONTROL_BYTES;
    struct c10m_conn *whole = fake_open(s), *cut = fake_open(s);
    if (first > len)
        first = len;
    cut->send_room = room * 4;
    cut->refs_refused = (unsigned)room % 4;
    fake_feed(whole, data, len, 0);
    fake_feed(cut, data, first, 0);
    fake_ack(cut, room);
    fake_feed(cut, data + first, len - first, piece);
    finish(whole);
    finish(cut);
    check_answers(whole, cut);
    fake_close(whole);
    fake_close(cut);
    check_holds(s);
    return 0;
}
