// SPDX-License-Identifier: BSD-3-Clause
// Sets of images: where they lie, what is counted, what ends them.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "mem/image_store.h"
#include "sock/sock.h"

enum { MANY = 5000, LARGE = 3 << 20 };

static struct c10m_service service;

static int begin(void **state)
{
    service = (struct c10m_service){.name = "s"};
    return 0;
}

static const struct c10m_image *reserve(struct c10m_images *set, uint64_t len, uint8_t fill)
{
    uint8_t *room;
    const struct c10m_image *image = c10m_images_reserve(set, len, &room);
    assert_non_null(image);
    memset(room, fill, len);
    return image;
}

static void assert_filled(const struct c10m_image *image, uint64_t len, uint8_t fill)
{
    uint64_t got;
    const uint8_t *at = c10m_image_bytes(image, &got);
    assert_int_equal(got, len);
    assert_int_equal((uintptr_t)at % CACHE_LINE, 0);
    for (uint64_t i = 0; i < len; i++)
        assert_int_equal(at[i], fill);
}

static bool is_mapped(const void *at)
{
    return msync((void *)((uintptr_t)at & ~(uintptr_t)4095), 4096, MS_ASYNC) == 0;
}

static void images_of_all_sizes_keep_their_bytes(void **state)
{
    static const struct c10m_image *small[MANY];
    struct c10m_images *set = c10m_images_new(&service);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < MANY; i++) {
        small[i] = reserve(set, 1 + i, (uint8_t)i);
        bytes += ALIGN_UP(1 + i, CACHE_LINE);
    }
    const struct c10m_image *large = reserve(set, LARGE, 7);
    for (unsigned i = 0; i < MANY; i++)
        assert_filled(small[i], 1 + i, (uint8_t)i);
    assert_filled(large, LARGE, 7);
    assert_int_equal(shared_u64_load(&service.image_count), MANY + 1);
    assert_int_equal(shared_u64_load(&service.image_bytes), bytes + LARGE);
    c10m_images_free(set);
}

static void a_set_ends_without_the_others(void **state)
{
    struct c10m_images *old = c10m_images_new(&service), *next = c10m_images_new(&service);
    const struct c10m_image *gone = reserve(old, 100, 1), *big = reserve(old, LARGE, 2),
                            *kept = reserve(next, 200, 3);
    const uint8_t *at[2] = {gone->bytes, big->bytes + LARGE - 1};
    c10m_images_free(old);
    assert_false(is_mapped(at[0]));
    assert_false(is_mapped(at[1]));
    assert_filled(kept, 200, 3);
    assert_int_equal(shared_u64_load(&service.image_count), 1);
    assert_int_equal(shared_u64_load(&service.image_bytes), 256);
    c10m_images_free(next);
    c10m_images_free(NULL);
    assert_int_equal(shared_u64_load(&service.image_bytes), 0);
}

// Each unmapping interrupts the workers.
static void many_small_images_are_in_few_mappings(void **state)
{
    char line[256];
    unsigned before = 0, after = 0;
    struct c10m_images *set = c10m_images_new(&service);
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), f) != NULL)
        before++;
    fclose(f);
    for (unsigned i = 0; i < MANY; i++)
        reserve(set, 3000, 1);
    f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), f) != NULL)
        after++;
    fclose(f);
    assert_in_range(after - before, 0, 12);
    c10m_images_free(set);
}

static void the_limit_is_of_each_set(void **state)
{
    uint8_t *room;
    service.image_bytes_max = 8192;
    struct c10m_images *old = c10m_images_new(&service), *next = c10m_images_new(&service);
    reserve(old, 8000, 1);
    errno = 0;
    assert_null(c10m_images_reserve(old, 200, &room));
    assert_int_equal(errno, ENOSPC);
    reserve(next, 8192, 1);
    c10m_images_free(old);
    c10m_images_free(next);
}

// A reload that would take the last memory makes the kernel end a process.
static void a_started_service_leaves_memory_to_linux(void **state)
{
    uint8_t *room;
    service.started = true;
    struct c10m_images *set = c10m_images_new(&service);
    errno = 0;
    assert_null(c10m_images_reserve(set, UINT64_C(1) << 46, &room));
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(shared_u64_load(&service.image_count), 0);
    reserve(set, 100, 1);
    c10m_images_free(set);
}

// What does not fit in the file lies in private memory, and is counted: who sends from it is
// refused by the next process.
static void images_without_a_span_are_private_and_counted(void **state)
{
    struct err err;
    struct image_store *store = image_store_open(memfd_create("images", MFD_CLOEXEC), false, &err);
    assert_non_null(store);
    service.image_store = store;
    struct c10m_images *first = c10m_images_new(&service), *last = c10m_images_new(&service);
    reserve(first, 100, 1);
    assert_int_equal(shared_u64_load(&service.image_private_bytes), 0);
    while (image_store_take(store, 0) != IMAGE_SPAN_NONE)
        ;
    assert_filled(reserve(last, LARGE, 2), LARGE, 2);
    assert_int_equal(shared_u64_load(&service.image_private_bytes), LARGE);
    reserve(first, LARGE, 3);  // its span has room
    assert_int_equal(shared_u64_load(&service.image_private_bytes), LARGE);
    c10m_images_free(last);
    assert_int_equal(shared_u64_load(&service.image_private_bytes), 0);
    c10m_images_free(first);
    image_store_close(store);
}

int main(void)
{
#define HERE(test) cmocka_unit_test_setup(test, begin)
    const struct CMUnitTest tests[] = {
        HERE(images_of_all_sizes_keep_their_bytes),
        HERE(a_set_ends_without_the_others),
        HERE(many_small_images_are_in_few_mappings),
        HERE(the_limit_is_of_each_set),
        HERE(a_started_service_leaves_memory_to_linux),
        HERE(images_without_a_span_are_private_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
