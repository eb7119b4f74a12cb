// SPDX-License-Identifier: BSD-3-Clause
// Images that outlive a process: what the next one finds, whatever moment the one before ended at.
// A memory file stands in for the one on tmpfs.
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "mem/image_store.h"
#include "mem/page_supply.h"

enum { OWNER = 3, OTHER = 4, BYTES = 3 * 4096 };

static int file;
static struct image_store *store;

static uint64_t held(void)
{
    struct stat st;
    assert_int_equal(fstat(file, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

static void reopen(bool kept)
{
    struct err err;
    image_store_close(store);
    store = image_store_open(dup(file), kept, &err);
    if (store == NULL)
        fail_msg("%s", err.text);
}

static int begin(void **state)
{
    (void)state;
    file = memfd_create("images", MFD_CLOEXEC);
    store = NULL;
    reopen(false);
    return 0;
}

static int end(void **state)
{
    (void)state;
    image_store_close(store);
    close(file);
    return 0;
}

// fill: a span of the owner with BYTES bytes; returns the first.
static uint8_t *fill(uint8_t owner, uint8_t with, unsigned *span)
{
    *span = image_store_take(store, owner);
    assert_true(*span < IMAGE_SPANS);
    uint8_t *at = image_store_more(store, *span, BYTES);
    assert_non_null(at);
    memset(at, with, BYTES);
    return at;
}

static void the_next_process_has_the_bytes_at_the_same_address(void **state)
{
    unsigned span, other;
    (void)state;
    const uint8_t *at = fill(OWNER, 7, &span);
    fill(OTHER, 8, &other);
    image_store_confirm(store);
    assert_false(image_store_holds(store, OWNER, at, 1));
    reopen(true);
    assert_true(image_store_has_left(store));
    assert_int_equal(image_store_spans_now(store), 2);
    assert_int_equal(image_store_left(store, OWNER), 0);
    assert_true(image_store_holds(store, OWNER, at, 1));
    assert_int_equal(image_store_left(store, OWNER), UINT64_C(1) << span);
    assert_int_equal(image_store_used(store, span), BYTES);
    for (unsigned i = 0; i < BYTES; i++)
        assert_int_equal(at[i], 7);
}

static void only_what_is_used_is_an_image_of_its_owner(void **state)
{
    unsigned span;
    (void)state;
    const uint8_t *at = fill(OWNER, 7, &span);
    image_store_confirm(store);
    reopen(true);
    assert_true(image_store_holds(store, OWNER, at, BYTES));
    assert_true(image_store_holds(store, OWNER, at + BYTES - 1, 1));
    assert_false(image_store_holds(store, OWNER, at + 1, BYTES));
    assert_false(image_store_holds(store, OWNER, at + BYTES, 1));
    assert_false(image_store_holds(store, OWNER, at - 1, 1));
    assert_false(image_store_holds(store, OWNER, at, UINT64_MAX));
    assert_false(image_store_holds(store, OTHER, at, 1));
    assert_false(image_store_holds(store, OWNER, at + IMAGE_SPAN_BYTES, 1));
    assert_false(image_store_holds(store, OWNER, NULL, 0));
    assert_false(image_store_holds(store, OWNER, at + IMAGE_SPANS * IMAGE_SPAN_BYTES, 0));
    assert_false(image_store_holds(store, OWNER, (const uint8_t *)UINTPTR_MAX, 1));
}

static void spans_without_connections_are_freed_and_others_stay(void **state)
{
    unsigned idle, used, mine;
    (void)state;
    fill(OWNER, 1, &idle);
    const uint8_t *at = fill(OWNER, 2, &used);
    image_store_confirm(store);
    reopen(true);
    fill(OWNER, 3, &mine);
    assert_true(image_store_holds(store, OWNER, at, BYTES));
    image_store_give_idle(store);
    assert_int_equal(image_store_left(store, OWNER), UINT64_C(1) << used);
    assert_int_equal(image_store_used(store, mine), BYTES);
    assert_int_equal(at[0], 2);
    assert_int_equal(image_store_take(store, OWNER), idle);
}

static void what_is_freed_has_no_memory(void **state)
{
    unsigned span;
    (void)state;
    const uint64_t before = held();
    fill(OWNER, 1, &span);
    assert_true(held() >= before + BYTES);
    image_store_give(store, span);
    assert_int_equal(held(), before);
    const uint8_t *at = fill(OWNER, 1, &span);
    image_store_confirm(store);
    reopen(true);
    image_store_give_left(store);
    assert_false(image_store_has_left(store));
    assert_int_equal(image_store_spans_now(store), 0);
    assert_int_equal(held(), before);
    assert_int_equal(at[0], 0);
}

static void a_span_grows_until_it_is_full(void **state)
{
    (void)state;
    const unsigned span = image_store_take(store, OWNER);
    uint8_t *first = image_store_more(store, span, BYTES);
    assert_ptr_equal(image_store_more(store, span, PAGE_4K), first + BYTES);
    assert_null(image_store_more(store, span, IMAGE_SPAN_BYTES - BYTES));
    assert_int_equal(image_store_used(store, span), BYTES + PAGE_4K);
}

static void there_are_so_many_spans(void **state)
{
    (void)state;
    for (unsigned i = 0; i < IMAGE_SPANS; i++)
        assert_int_equal(image_store_take(store, OWNER), i);
    assert_int_equal(image_store_take(store, OWNER), IMAGE_SPAN_NONE);
    assert_int_equal(image_store_spans_now(store), IMAGE_SPANS);
    image_store_give(store, 5);
    assert_int_equal(image_store_spans_now(store), IMAGE_SPANS - 1);
    assert_int_equal(image_store_take(store, OWNER), 5);
}

// A process that is killed between the stores of take and give leaves a span that is taken and has
// no bytes, perhaps with memory.
static void a_span_half_taken_or_half_freed_is_freed(void **state)
{
    unsigned span;
    (void)state;
    uint64_t *used = NULL;
    const uint64_t before = held();
    uint8_t *at = fill(OWNER, 9, &span);
    image_store_confirm(store);
    for (uint64_t *p = (uint64_t *)(void *)(at - (2 << 20)); used == NULL; p++)
        used = *p == BYTES ? p : NULL;
    *used = 0;
    reopen(true);
    assert_false(image_store_has_left(store));
    assert_int_equal(held(), before);
    assert_int_equal(image_store_take(store, OWNER), span);
}

// A start gives up what is left for memory, and fills the same span with other bytes. If it fails,
// the connections that were to be judged still name that place.
static void what_a_start_that_fails_has_filled_is_no_image(void **state)
{
    unsigned span, again;
    (void)state;
    const uint64_t before = held();
    for (unsigned killed = 0; killed < 2; killed++) {
        uint8_t *at = fill(OWNER, 1, &span);
        image_store_confirm(store);
        reopen(true);
        image_store_give_left(store);
        assert_ptr_equal(fill(OWNER, 2, &again), at);
        uint8_t *state_at = at - (2 << 20);
        uint8_t head[4096];
        memcpy(head, state_at, sizeof(head));
        image_store_close(store);
        store = NULL;
        assert_int_equal(held(), before);
        if (killed)
            assert_int_equal(pwrite(file, head, sizeof(head), 0), sizeof(head));
        reopen(true);
        assert_false(image_store_has_left(store));
        assert_false(image_store_holds(store, OWNER, at, 1));
        assert_int_equal(held(), before);
    }
}

// One that the server takes while it runs is as those of its start.
static void a_span_of_a_reload_is_left(void **state)
{
    unsigned span;
    (void)state;
    image_store_confirm(store);
    const uint8_t *at = fill(OWNER, 1, &span);
    reopen(true);
    assert_true(image_store_holds(store, OWNER, at, BYTES));
}

static void a_file_that_is_not_whole_begins_anew(void **state)
{
    unsigned span;
    (void)state;
    uint8_t *at = fill(OWNER, 9, &span);
    image_store_confirm(store);
    memset(at - (2 << 20), 0x55, 64);  // the head
    reopen(true);
    assert_false(image_store_has_left(store));
    at = fill(OWNER, 9, &span);
    image_store_confirm(store);
    image_store_close(store);
    store = NULL;
    assert_int_equal(ftruncate(file, 1 << 20), 0);
    reopen(true);
    assert_false(image_store_has_left(store));
    fill(OWNER, 9, &span);
    image_store_confirm(store);
    reopen(false);  // nobody adopts
    assert_false(image_store_has_left(store));
}

// Reading it would take memory that the machine may not have, and send zeros.
static void a_file_with_a_hole_begins_anew(void **state)
{
    unsigned span;
    (void)state;
    fill(OWNER, 9, &span);
    image_store_confirm(store);
    image_store_close(store);
    store = NULL;
    assert_int_equal(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2 << 20, BYTES),
                     0);
    reopen(true);
    assert_false(image_store_has_left(store));
    assert_int_equal(image_store_spans_now(store), 0);
}

// plant: the first span of the head, as fill() has left it, gets this state.
static void plant(uint8_t span_state)
{
    unsigned span;
    uint8_t *at = fill(OWNER, 9, &span), *head = at - (2 << 20);
    unsigned n = 0;
    image_store_confirm(store);
    for (; n < 64 && memcmp(head + n, &(uint64_t){BYTES}, 8) != 0; n += 8)
        ;
    head[n + 8] = span_state;
}

static void a_span_of_a_state_that_does_not_exist_or_free_with_bytes_begins_anew(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        plant(i == 0 ? 3 : 0);
        reopen(true);
        assert_int_equal(image_store_spans_now(store), 0);
        assert_int_equal(image_store_take(store, OWNER), 0);
        assert_int_equal(image_store_used(store, 0), 0);
        image_store_give(store, 0);
    }
}

static void a_second_one_in_the_same_process_is_refused(void **state)
{
    struct err err;
    (void)state;
    assert_null(image_store_open(dup(file), true, &err));
    assert_non_null(strstr(err.text, "cannot map"));
}

int main(void)
{
#define HERE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        HERE(the_next_process_has_the_bytes_at_the_same_address),
        HERE(only_what_is_used_is_an_image_of_its_owner),
        HERE(spans_without_connections_are_freed_and_others_stay),
        HERE(what_is_freed_has_no_memory),
        HERE(a_span_grows_until_it_is_full),
        HERE(there_are_so_many_spans),
        HERE(a_span_half_taken_or_half_freed_is_freed),
        HERE(what_a_start_that_fails_has_filled_is_no_image),
        HERE(a_span_of_a_reload_is_left),
        HERE(a_file_that_is_not_whole_begins_anew),
        HERE(a_file_with_a_hole_begins_anew),
        HERE(a_span_of_a_state_that_does_not_exist_or_free_with_bytes_begins_anew),
        HERE(a_second_one_in_the_same_process_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
