// SPDX-License-Identifier: BSD-3-Clause
// What the example applications compute, without a server: src/app/examples.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "flow_graph.h"
#include "fractal.h"
#include "havlak.h"
#include "mandelbrot.h"
#include "padding.h"
#include "primes.h"
#include "replace.h"
#include "unit/check.h"

enum { SEED = 20261126 };

static void random_text(char *out, size_t len)
{
    for (size_t i = 0; i < len; i++)
        out[i] = (char)(' ' + rand() % ('~' - ' ' + 1));
    out[len] = '\0';
}

// ---- leftpad

static void a_text_is_padded_on_the_left(void **state)
{
    char out[PADDING_JSON_MAX];
    assert_int_equal(padding_fast("test", 10, '*', out), 21);
    assert_string_equal(out, "{\"str\":\"******test\"}\n");
    padding_fast("test", 3, '*', out);
    assert_string_equal(out, "{\"str\":\"test\"}\n");
    padding_fast("a\"b\\", 6, '"', out);
    assert_string_equal(out, "{\"str\":\"\\\"\\\"a\\\"b\\\\\"}\n");
}

static void the_mended_padding_equals_the_first_one(void **state)
{
    static const size_t lens[] = {0, 1, PADDING_TEXT_MAX, PADDING_LEN_MAX};
    char text[PADDING_TEXT_MAX + 1], slow[PADDING_JSON_MAX], fast[PADDING_JSON_MAX];
    srand(SEED);
    for (unsigned i = 0; i < 300; i++) {
        const size_t n = i < 4 ? lens[i] % (PADDING_TEXT_MAX + 1) : (size_t)rand() % 200;
        const size_t len = i < 8 ? lens[i % 4] : (size_t)rand() % 400;
        const char c = i == 9 ? '"' : (char)(' ' + rand() % 95);
        random_text(text, n);
        assert_int_equal(padding_slow(text, len, c, slow), padding_fast(text, len, c, fast));
        assert_string_equal(slow, fast);
    }
}

static void the_longest_json_fits(void **state)
{
    char text[PADDING_TEXT_MAX + 1], out[PADDING_JSON_MAX];
    memset(text, '\\', PADDING_TEXT_MAX);
    text[PADDING_TEXT_MAX] = '\0';
    assert_in_range(padding_slow(text, PADDING_LEN_MAX, '"', out), 2 * PADDING_LEN_MAX,
                    PADDING_JSON_MAX - 1);
    assert_in_range(padding_fast(text, PADDING_LEN_MAX, '"', out), 2 * PADDING_LEN_MAX,
                    PADDING_JSON_MAX - 1);
}

// ---- elvis

// The whole stream in pieces that end at the bits of `cuts`.
static size_t replaced(const char *text, size_t len, uint32_t cuts, uint8_t *out)
{
    struct replace_stream s = {0};
    size_t n = 0, from = 0;
    for (size_t i = 1; i <= len; i++)
        if (i == len || (cuts >> (i - 1) & 1)) {
            uint8_t piece[64];
            const size_t got = replace_feed(&s, (const uint8_t *)text + from, i - from, piece);
            assert_true(got <= i - from + REPLACE_HELD_MAX);
            memcpy(out + n, piece, got);
            n += got;
            from = i;
        }
    return n + replace_end(&s, out + n);
}

static void a_word_is_replaced_however_the_stream_is_cut(void **state)
{
    static const struct {
        const char *in, *out;
    } streams[] = {
        {"elvis", "Elvis"},
        {"xelviselvisx", "xElvisElvisx"},
        {"eelvis", "eElvis"},
        {"elvelviselvi", "elvElviselvi"},
        {"elelvis Elvis", "elElvis Elvis"},
        {"elvi", "elvi"},
        {"", ""},
        {"ELVIS e", "ELVIS e"},
    };
    for (unsigned i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        const size_t len = strlen(streams[i].in);
        for (uint32_t cuts = 0; cuts < 1u << (len == 0 ? 0 : len - 1); cuts++) {
            uint8_t out[64];
            assert_int_equal(replaced(streams[i].in, len, cuts, out), len);
            assert_memory_equal(out, streams[i].out, len);
        }
    }
}

// ---- sieve

static bool is_prime(uint32_t n)
{
    for (uint32_t i = 2; i * i <= n; i++)
        if (n % i == 0)
            return false;
    return true;
}

static void the_sieve_finds_the_primes(void **state)
{
    static struct primes p;
    char text[PRIMES_TEXT_BYTES];
    primes_begin(&p, PRIMES_MAX);
    while (!primes_step(&p))
        ;
    assert_int_equal(p.found, PRIMES_MAX);
    for (uint32_t n = 2, i = 0; i < p.found; n++)
        if (is_prime(n))
            assert_int_equal(p.stages[i++], n);
    const size_t n = primes_text(&p, text);
    assert_true(n < PRIMES_TEXT_BYTES && memcmp(text + n - 5, "7919\n", 5) == 0);
    primes_begin(&p, 1);
    assert_true(primes_step(&p));
    assert_int_equal(primes_text(&p, text), 2);
}

// ---- mandelbrot

static uint32_t be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

// Checks one chunk by zlib's CRC; returns where it ends.
static const uint8_t *chunk(const uint8_t *at, const char *name, uint32_t *len)
{
    *len = be32(at);
    assert_memory_equal(at + 4, name, 4);
    assert_int_equal(be32(at + 8 + *len), crc32(0, at + 4, *len + 4));
    return at + 12 + *len;
}

// The pixels of a PNG, by zlib.
static void decode(const struct fractal *f, uint8_t *pixels)
{
    uint32_t len;
    assert_memory_equal(f->png, "\x89PNG\r\n\x1a\n", 8);
    const uint8_t *at = chunk(f->png + 8, "IHDR", &len);
    assert_int_equal(be32(f->png + 16), f->width);
    assert_int_equal(be32(f->png + 20), f->height);
    const uint8_t *data = at + 8;
    at = chunk(at, "IDAT", &len);
    uLongf rows_len = f->height * (f->width + 1);
    uint8_t *rows = malloc(rows_len);
    assert_int_equal(uncompress(rows, &rows_len, data, len), Z_OK);
    for (uint32_t y = 0; y < f->height; y++) {
        assert_int_equal(rows[y * (f->width + 1)], 0);
        memcpy(pixels + y * f->width, rows + y * (f->width + 1) + 1, f->width);
    }
    free(rows);
    assert_ptr_equal(chunk(at, "IEND", &len), f->png + fractal_bytes(f));
}

static void a_picture_is_a_png_of_any_size(void **state)
{
    static const uint32_t sides[][2] = {{1, 1}, {1, 7}, {64, 48}, {1024, 1024}};
    for (unsigned i = 0; i < 4; i++) {
        struct fractal f = {.width = sides[i][0], .height = sides[i][1], .steps = 8};
        uint8_t *pixels = malloc(f.width * f.height);
        f.png = malloc(fractal_bytes(&f));
        fractal_begin(&f);
        fractal_pixels(&f, 0, f.width * f.height);
        fractal_end(&f);
        decode(&f, pixels);
        if (i >= 2) {  // the middle is in the set, the corner is not
            assert_int_equal(pixels[f.height / 2 * f.width + f.width / 2 + f.width / 5], 0);
            assert_true(pixels[0] > 200);
        }
        free(pixels);
        free(f.png);
    }
}

// rings: the workers' rings of a picture in the making: they take `room` messages each.
struct rings {
    unsigned room, n[2], most[2], posts;
    struct message *at[2][TASKS_MAX];
};

static bool ring_post(void *to, unsigned worker, struct message *m)
{
    struct rings *r = to;
    if (r->n[worker] == r->room)
        return false;
    r->at[worker][r->n[worker]++] = m;
    r->posts++;
    if (r->n[worker] > r->most[worker])
        r->most[worker] = r->n[worker];
    return true;
}

static void do_all(struct rings *r, unsigned worker)
{
    for (unsigned i = 0; i < r->n[worker]; i++)
        picture_work((struct task *)r->at[worker][i], worker);
    r->n[worker] = 0;
}

static struct mandelbrot *pictures;

static struct picture *new_picture(const struct mode *mode)
{
    struct picture *p = &pictures->pictures[PICTURES_MAX];  // of worker 1
    p->fractal.width = 40;
    p->fractal.height = 30;
    p->fractal.steps = 32;
    p->mode = mode;
    p->home = 1;
    return p;
}

static void each_mode_draws_the_same_picture(void **state)
{
    static struct rings r;
    uint8_t first[40 * 30], pixels[40 * 30];
    pictures = pictures_new(2);
    for (const struct mode *m = modes; m->name != NULL; m++) {
        struct picture *p = new_picture(m);
        memset(p->fractal.png, 1, FRACTAL_PNG_BYTES_MAX);
        r = (struct rings){.room = 500};
        picture_cut(p, 2);
        while (!picture_feed(p, 2, ring_post, &r)) {
            do_all(&r, 0);
            do_all(&r, 1);
        }
        fractal_end(&p->fractal);
        decode(&p->fractal, m == modes ? first : pixels);
        if (m != modes)
            assert_memory_equal(pixels, first, sizeof(first));
        assert_int_equal(r.posts, m->cut == CUT_WHOLE ? 1 : m->cut == CUT_ROWS ? 30 : 1200);
        assert_int_equal(r.most[0] != 0, m->spread);
        assert_true(r.most[1] <= m->ahead);
    }
    pictures_free(pictures);
}

static void a_picture_waits_for_its_slowest_worker(void **state)
{
    static struct rings r;
    pictures = pictures_new(2);
    struct picture *p = new_picture(&modes[4]);
    r = (struct rings){.room = 1000};
    picture_cut(p, 2);
    assert_false(picture_feed(p, 2, ring_post, &r));
    assert_int_equal(r.n[0] + r.n[1], 30);
    do_all(&r, 0);
    assert_false(picture_feed(p, 2, ring_post, &r));
    do_all(&r, 1);
    assert_true(picture_feed(p, 2, ring_post, &r));
    pictures_free(pictures);
}

// ---- loops

static struct flow_graph graph;
static struct havlak_work *work;

static void both(struct loops_found *slow, struct loops_found *fast)
{
    flow_graph_close(&graph);
    assert_true(havlak_slow(&graph, slow));
    havlak_fast(&graph, work, fast);
    assert_memory_equal(slow, fast, sizeof(*slow));
}

static void loops_are(const char *edges, uint32_t loops, uint32_t irreducible, uint32_t depth)
{
    struct loops_found slow, fast;
    memset(&graph, 0, sizeof(graph));
    for (const char *at = edges; at[0] != '\0'; at += at[2] == ' ' ? 3 : 2)
        assert_true(flow_graph_edge(&graph, (uint32_t)(at[0] - '0'), (uint32_t)(at[1] - '0')));
    both(&slow, &fast);
    assert_int_equal(fast.loops, loops);
    assert_int_equal(fast.irreducible, irreducible);
    assert_int_equal(fast.depth, depth);
}

static void the_loops_of_small_graphs_are_found(void **state)
{
    loops_are("01 12", 0, 0, 0);
    loops_are("01 11 12", 1, 0, 1);           // a block that is its own loop
    loops_are("01 12 21 23", 1, 0, 1);        // one loop
    loops_are("01 12 23 32 21 14", 2, 0, 2);  // a loop in a loop
    loops_are("01 12 21 23 34 43", 2, 0, 1);  // one after the other
    loops_are("01 02 12 21", 1, 1, 1);        // a loop with two entries
    loops_are("01 12 21 56 65", 1, 0, 1);     // blocks to which no path leads
}

static void the_loops_of_the_made_up_program_are_counted(void **state)
{
    struct loops_found slow, fast;
    memset(&graph, 0, sizeof(graph));
    assert_true(flow_graph_program(&graph, 4));
    both(&slow, &fast);
    assert_int_equal(fast.blocks, graph.n_blocks);
    assert_int_equal(fast.loops, 1 + 4 * 4 * (1 + 10 * 3));
    assert_int_equal(fast.depth, 4);
    memset(&graph, 0, sizeof(graph));
    assert_false(flow_graph_program(&graph, 100));
}

static void both_analyses_agree_on_random_graphs(void **state)
{
    struct loops_found slow, fast;
    uint32_t irreducible = 0;
    srand(SEED);
    for (unsigned i = 0; i < 2000; i++) {
        const uint32_t n = 2 + (uint32_t)rand() % 40, edges = n + (uint32_t)rand() % (2 * n);
        memset(&graph, 0, sizeof(graph));
        for (uint32_t e = 0; e < edges; e++)
            flow_graph_edge(&graph, (uint32_t)rand() % n, (uint32_t)rand() % n);
        both(&slow, &fast);
        irreducible += fast.irreducible;
    }
    assert_true(irreducible > 1000);
}

static int begin(void **state)
{
    work = malloc(havlak_work_bytes());
    return work == NULL;
}

static int end(void **state)
{
    free(work);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_padded_on_the_left),
        cmocka_unit_test(the_mended_padding_equals_the_first_one),
        cmocka_unit_test(the_longest_json_fits),
        cmocka_unit_test(a_word_is_replaced_however_the_stream_is_cut),
        cmocka_unit_test(the_sieve_finds_the_primes),
        cmocka_unit_test(a_picture_is_a_png_of_any_size),
        cmocka_unit_test(each_mode_draws_the_same_picture),
        cmocka_unit_test(a_picture_waits_for_its_slowest_worker),
        cmocka_unit_test(the_loops_of_small_graphs_are_found),
        cmocka_unit_test(the_loops_of_the_made_up_program_are_counted),
        cmocka_unit_test(both_analyses_agree_on_random_graphs),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
