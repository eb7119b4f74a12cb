#include "bench/reader.h"

#include "base/clock.h"
#include "tcp/tcp_show.h"

enum { PIECE_BYTES = 64 * 1024 };  // as of the tree

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

void bench_reader_free(struct bench_reader *r)
{
    text_free(&r->text);
}
