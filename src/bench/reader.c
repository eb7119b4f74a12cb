// SPDX-License-Identifier: BSD-3-Clause
#include "bench/reader.h"

#include <errno.h>
#include <rte_cycles.h>

#include "base/clock.h"
#include "conf/conf.h"
#include "tcp/tcp_show.h"

enum { PIECE_BYTES = 64 * 1024, STREAM_BYTES_MAX = 1 << 20 };  // as in the tree; limit of one file

void bench_reader_init(struct bench_reader *r, const struct server *server)
{
    *r = (struct bench_reader){.server = server};
    text_init(&r->text, PIECE_BYTES);
}

void bench_reader_piece(void *arg)
{
    struct bench_reader *r = arg;
    const uint64_t start = tsc_read();
    const bool more = conns_next(r->server, CONNS_TCP4, &r->at, &r->text);
    const uint64_t took = tsc_read() - start;
    r->cycles += took;
    r->cycles_max = MAX(r->cycles_max, took);
    r->bytes += r->text.len;
    r->pieces++;
    text_free(&r->text);
    if (more)
        return;
    r->at = (struct conns_cursor){0};
    r->passes++;
}

void bench_reader_busy(void *arg)
{
    struct bench_reader *r = arg;
    const struct tcp *t = &server_worker(r->server, 0)->tcp;
    const struct block own = {.state = TCP_ESTABLISHED, .mss = 1460, .cwnd = 14600};
    struct tcp_shown shown;
    char line[TCP_SHOW_BYTES_MAX];
    for (uint32_t i = 0; r->text.len + TCP_SHOW_BYTES_MAX < PIECE_BYTES; i++) {
        tcp_show_block(&shown, t, &own, i, 1);
        text_put(&r->text, line, tcp_show_line4(line, &shown, i));
    }
    text_free(&r->text);
}

// conf_any: a configuration for the tree, which differs from that of the server.
static const struct conf *conf_any(void)
{
    static struct conf conf;
    static struct conf_errors errors;
    static char port[] = "port.wire.driver=ring", address[] = "port.wire.address=10.0.0.1/24",
                service[] = "service.echo.app=echo", listens[] = "service.echo.port=7";
    char *const sets[] = {port, address, service, listens};
    CHECK(conf_load(&conf, NULL, sets, ARRAY_LEN(sets), &errors) == 0);
    return &conf;
}

static void tree_begin(struct bench_reader *r)
{
    struct err err = {.text = ""};
    r->shown = (struct ctl_shown){
        .server = r->server, .conf = conf_any(), .version = "bench", .tree = tree_create()};
    CHECK(r->shown.tree != NULL && ctl_tree_open(&r->shown, &err) == 0);
    tree_session_init(&r->session, r->shown.tree);
}

static void read_file(struct bench_reader *r, struct tree_handle *h)
{
    const char *data;
    ssize_t n = 0;
    for (uint64_t at = 0; n >= 0 && at < STREAM_BYTES_MAX; at += (uint64_t)n) {
        n = tree_read(h, at, PIECE_BYTES, &data);
        if (n == -EAGAIN)
            n = 0;
        else if (n <= 0)
            break;
        r->bytes += (uint64_t)n;
    }
}

static void read_node(struct bench_reader *r, struct tree_node *node)
{
    struct tree_handle *h;
    struct tree_dirent e;
    uint64_t pos = 0;
    if (tree_open(&r->session, node, TREE_READ, &h) != 0)
        return;
    if (tree_stat(node).kind == TREE_DIR && tree_list(h) == 0)
        while (tree_next(h, &pos, &e))
            read_node(r, tree_by_id(r->shown.tree, e.id));
    else
        read_file(r, h);
    tree_close(h);
}

void bench_reader_tree(void *arg)
{
    struct bench_reader *r = arg;
    const uint64_t start = tsc_read();
    if (start < r->next_tsc)
        return;
    if (r->shown.tree == NULL)
        tree_begin(r);
    r->next_tsc = start + rte_get_tsc_hz() / 1000 * BENCH_READER_TREE_MS;
    read_node(r, tree_root(r->shown.tree));
    ctl_tree_look(&r->shown, 1);
    const uint64_t took = tsc_read() - start;
    r->cycles += took;
    r->cycles_max = MAX(r->cycles_max, took);
    r->pieces++;
    r->passes++;
}

void bench_reader_free(struct bench_reader *r)
{
    if (r->shown.tree != NULL) {
        tree_session_close(&r->session);
        tree_destroy(r->shown.tree);
        ctl_tree_close(&r->shown);
    }
    text_free(&r->text);
}
