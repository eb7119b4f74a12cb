// fuzz_http.c: what a client can send to the http application, and how the network can cut it.
//
//   input: [size of the first piece] [size of the others] [room of the send queue] bytes of the
//   client...
//
// The bytes go to one connection whole and to a second one in pieces against a narrow send queue.
// Both must answer the same, to the byte; and when the client then falls silent, both must come to
// an end.
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
    static char root[TEMP_PATH_BYTES], large[2000], err[256];
    static const struct temp_entry entries[] = {
        {"index.html", "index", NULL},
        {"a b", "odd name", NULL},
        {"d/", NULL, NULL},
        {"d/index.html", "d", NULL},
    };
    const char *params[] = {"root", root, "header_bytes_max", "512", NULL};
    memset(large, 'l', sizeof(large));
    temp_tree_make(root, entries, sizeof(entries) / sizeof(entries[0]));
    temp_tree_file(root, "large", large, sizeof(large));
    struct c10m_service *s = fake_service_new(&app_http, params, err, sizeof(err));
    temp_tree_remove(root);
    need(s != NULL, err);
    return s;
}

static void finish(struct c10m_conn *c)
{
    fake_drain(c);
    fake_advance(c, 10001);  // a head that has begun ends in 408
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
    return 0;
}
