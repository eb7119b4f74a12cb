// SPDX-License-Identifier: BSD-3-Clause
// A packet pool in 4 KiB pages: where its packets lie, and how much memory it takes.
#include <rte_errno.h>
#include <rte_malloc.h>

#include "server/server.h"
#include "server/server_memory.h"
#include "unit/pkt_env.h"

static uint64_t heap_used(void)
{
    struct rte_malloc_socket_stats s;
    assert_int_equal(rte_malloc_get_socket_stats(0, &s), 0);
    return s.heap_allocsz_bytes;
}

struct walk {
    const uint8_t *next;
    unsigned n;
};

static void comes_next(struct rte_mempool *mp, void *arg, void *packet, unsigned i)
{
    struct walk *w = arg;
    const uint8_t *header = (const uint8_t *)packet - mp->header_size;
    assert_ptr_equal(header, i == 0 ? header : w->next);
    assert_int_equal(rte_mempool_virt2iova(packet), (uintptr_t)packet);
    w->next = header + rte_mempool_calc_obj_size(mp->elt_size, mp->flags, NULL);
    w->n++;
}

static void its_packets_lie_side_by_side_in_one_piece(void **state)
{
    (void)state;
    struct pkt_pool *pool = pkt_pool_create("dense", 5000, -1);
    struct walk w = {NULL, 0};
    assert_non_null(pool);
    assert_int_equal(pool->mp.nb_mem_chunks, 1);
    rte_mempool_obj_iter(&pool->mp, comes_next, &w);
    assert_int_equal(w.n, 5000);
    assert_int_equal(pkt_pool_free_count(pool), 5000);
    pkt_pool_destroy(pool);
}

static void its_packets_are_whole(void **state)
{
    (void)state;
    struct pkt_pool *pool = pkt_pool_create("whole", 1024, -1);
    struct pkt *p = pkt_of(pool, 7, PKT_ROOM);
    assert_non_null(p);
    assert_int_equal(pkt_room(p), PKT_ROOM);
    assert_int_equal(p->m.buf_len, PKT_HEADROOM + PKT_ROOM);
    assert_int_equal(p->m.buf_iova, (uintptr_t)p->m.buf_addr);
    assert_ptr_equal(p->m.pool, &pool->mp);
    pkt_free(p);
    pkt_pool_destroy(pool);
}

static void it_takes_no_more_than_is_reserved_for_it(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1024, 4096, 10000, 32768};
    for (unsigned i = 0; i < ARRAY_LEN(counts); i++) {
        static struct server_params p;
        server_params_default(&p);
        p.n_ports = 0;
        p.pages = PAGES_NONE;
        p.packets = counts[i];
        const uint64_t before = heap_used();
        struct pkt_pool *pool = pkt_pool_create("counted", counts[i], -1);
        assert_non_null(pool);
        const uint64_t taken = heap_used() - before;
        print_message("%u packets: %lu bytes taken, %lu reserved\n", counts[i], taken,
                      server_packet_bytes(&p));
        assert_true(taken <= server_packet_bytes(&p));
        pkt_pool_destroy(pool);
        assert_int_equal(heap_used(), before);
    }
}

static void one_that_does_not_fit_is_refused_and_takes_nothing(void **state)
{
    (void)state;
    const uint64_t before = heap_used();
    assert_null(pkt_pool_create("too_large", 100000, -1));
    assert_int_equal(rte_errno, ENOMEM);
    assert_int_equal(heap_used(), before);
}

int main(void)
{
    pkt_env_start(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_packets_lie_side_by_side_in_one_piece),
        cmocka_unit_test(its_packets_are_whole),
        cmocka_unit_test(it_takes_no_more_than_is_reserved_for_it),
        cmocka_unit_test(one_that_does_not_fit_is_refused_and_takes_nothing),
    };
    const int failed = cmocka_run_group_tests_name("pkt_pool", tests, NULL, NULL);
    eal_stop();
    return failed;
}
