#include "bench/reader.h"

#include "base/clock.h"

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

void bench_reader_free(struct bench_reader *r)
{
    text_free(&r->text);
}
