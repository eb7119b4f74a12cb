// SPDX-License-Identifier: BSD-3-Clause
// Where a sequence number lies in a send queue (tcp_seek.h), beside a walk from the head.
#include "check.h"
#include "tcp_pair.h"
#include "tests/unit/seed.h"

#define OUT(r, i) ((r)->e.out[i])

enum { IMAGE_BYTES = 1 << 20, PIECES_MAX = 400 };

static struct rng rng;
static uint8_t image_bytes[IMAGE_BYTES];
static const struct c10m_image image = {.bytes = image_bytes, .len = IMAGE_BYTES};

static struct raw *open_raw(void)
{
    struct raw *r = raw_new(NULL);
    rng = test_rng(__func__);
    for (uint32_t i = 0; i < IMAGE_BYTES; i++)
        image_bytes[i] = role_byte(i);
    raw_open(r);
    r->e.tcp.services[0].snd_limit = IMAGE_BYTES;
    return r;
}

static struct c10m_conn conn_of(struct raw *r)
{
    struct block *b = raw_block(r);
    return (struct c10m_conn){&r->e.sock, b, (uint32_t)(b - r->e.tcp.blocks), false};
}

static uint32_t walk(const struct tcp *t, const struct block *b, uint32_t seq)
{
    uint32_t ix = b->snd_head;
    while (seq - t->bufs.bufs[ix].seq >= t->bufs.bufs[ix].len)
        ix = t->bufs.bufs[ix].next;
    return ix;
}

// queue_some: references of all sizes, some of them with copied bytes before them.
static void queue_some(struct raw *r, unsigned pieces)
{
    struct c10m_conn c = conn_of(r);
    for (unsigned i = 0; i < pieces; i++) {
        const uint32_t len = 256u << rng_below(&rng, 8);
        if (rng_below(&rng, 2))
            c10m_send(&c, image_bytes, 1 + rng_below(&rng, 100));
        c10m_send_ref(&c, &image, rng_below(&rng, IMAGE_BYTES - len), len);
    }
}

static void a_place_is_what_a_walk_from_the_head_finds(void **state)
{
    struct raw *r = open_raw();
    struct tcp *t = &r->e.tcp;
    struct block *b = raw_block(r);
    unsigned found = 0;
    for (unsigned round = 0; round < 50; round++) {
        queue_some(r, rng_below(&rng, PIECES_MAX));
        for (unsigned i = 0; i < 200 && b->snd_una != b->snd_end; i++, found++) {
            const uint32_t seq = b->snd_una + rng_below(&rng, b->snd_end - b->snd_una);
            assert_int_equal(tcp_seek(t, b, seq), walk(t, b, seq));
        }
        b->snd_nxt = b->snd_max = b->snd_end;  // all of it left, and some is acknowledged
        r->ack = b->snd_una + rng_below(&rng, b->snd_end - b->snd_una + 1);
        raw_send(r, SEG_ACK, 0, 0);
        assert_int_equal(b->snd_una, r->ack);
    }
    assert_true(found > 5000);
    raw_free(r, false);
}

// The next connection in the same block may have the same numbers, and the places of the last.
static void a_place_of_another_life_of_the_block_is_no_place(void **state)
{
    struct raw *r = open_raw();
    struct tcp *t = &r->e.tcp;
    struct block *b = raw_block(r);
    queue_some(r, 40);
    const uint32_t una = b->snd_una, end = b->snd_end;
    for (uint32_t seq = una; seq_lt(seq, end); seq += 1000)
        tcp_seek(t, b, seq);
    b->generation++;
    const uint32_t head = b->snd_head, rest = t->bufs.bufs[head].next;
    // As if the queue were another one: its only pieces are the first two.
    const struct buf was = t->bufs.bufs[rest];
    t->bufs.bufs[rest].next = BUF_NONE;
    t->bufs.bufs[rest].len = end - t->bufs.bufs[rest].seq;
    for (uint32_t seq = t->bufs.bufs[rest].seq; seq_lt(seq, end); seq += 1000)
        assert_int_equal(tcp_seek(t, b, seq), rest);
    t->bufs.bufs[rest] = was;
    raw_free(r, false);
}

static void short_references_share_a_buffer_and_fill_segments(void **state)
{
    enum { SHORT = 100, TIMES = 1000 };
    struct raw *r = open_raw();
    struct buf_pool *p = &r->e.tcp.bufs;
    struct c10m_conn c = conn_of(r);
    const uint32_t refs = p->n_free_refs, bufs = p->n_free_data;
    struct block *b = raw_block(r);
    b->cwnd = b->snd_wnd = IMAGE_BYTES;
    for (uint32_t i = 0; i < TIMES; i++)
        assert_true(c10m_send_ref(&c, &image, i * SHORT, SHORT));
    assert_int_equal(p->n_free_refs, refs);
    assert_in_range(bufs - p->n_free_data, 1, SHORT * TIMES / BUF_BYTES + 1);
    raw_turn(r, 1);
    uint32_t at = 0;
    assert_true(r->e.tcp.n_out > 1);
    for (uint32_t i = 0; i < r->e.tcp.n_out; i++) {
        const struct seg_out *o = &OUT(r, i);
        assert_true((uint32_t)o->data_len[0] + o->data_len[1] == b->mss || i + 1 == r->e.tcp.n_out);
        for (unsigned k = 0; k < 2; k++)
            for (uint32_t n = 0; n < o->data_len[k]; n++)
                assert_int_equal(o->data[k][n], role_byte(at++));
    }
    raw_free(r, false);
}

static void a_short_reference_needs_no_buffer_where_none_is_left(void **state)
{
    struct raw *r = open_raw();
    struct buf_pool *p = &r->e.tcp.bufs;
    struct c10m_conn c = conn_of(r);
    const uint32_t refs = p->n_free_refs, kept = p->n_free_data;
    p->n_free_data = 0;
    assert_true(c10m_send_ref(&c, &image, 0, 1));
    assert_int_equal(p->n_free_refs, refs - 1);
    p->n_free_data = kept;
    raw_free(r, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_what_a_walk_from_the_head_finds),
        cmocka_unit_test(a_place_of_another_life_of_the_block_is_no_place),
        cmocka_unit_test(short_references_share_a_buffer_and_fill_segments),
        cmocka_unit_test(a_short_reference_needs_no_buffer_where_none_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
