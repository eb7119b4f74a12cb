// SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/own_thread.h"
#include "base/rng.h"
#include "check.h"
#include "pprof/cfi.h"
#include "pprof/cfi_unit.h"
#include "pprof/symbols.h"
#include "pprof/unwind.h"
#include "seed.h"

enum { DEPTH = 32 };

static struct loaded_file *files;
static unsigned n_files;
static struct symbols *symbols;
static struct own_thread self;
static struct unwind_memory memory;
static uint64_t stack[DEPTH];
static unsigned depth;

static int setup(void **state)
{
    (void)state;
    files = loaded_list(&n_files);
    symbols = symbols_open(NULL);
    own_thread_begin(&self);
    memory = (struct unwind_memory){files, n_files, self.stack_low, self.stack_high};
    return files == NULL || symbols == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    own_thread_end();
    symbols_close(symbols);
    loaded_free(files, n_files);
    return 0;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)number;
    (void)info;
    depth = unwind(
        &memory,
        (struct unwind_registers){(uint64_t)g[REG_RIP], (uint64_t)g[REG_RSP], (uint64_t)g[REG_RBP]},
        stack, DEPTH);
}

// interrupt_by: while fn runs, the trap in it fills in stack.
static NOINLINE void interrupt_by(void (*fn)(void))
{
    struct sigaction before, action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, &before);
    depth = 0;
    fn();
    sigaction(SIGTRAP, &before, NULL);
}

// Each stops at its instruction int3, in a different state of its frame.
__asm__(".text\n"
        ".type leaf_without_frame, @function\n"
        "leaf_without_frame:\n.cfi_startproc\n"
        "  int3\n"
        "  ret\n"
        ".cfi_endproc\n.size leaf_without_frame, .-leaf_without_frame\n"
        ".type before_its_frame, @function\n"
        "before_its_frame:\n.cfi_startproc\n"
        "  push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
        "  int3\n"
        "  mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
        "  pop %rbp\n.cfi_def_cfa %rsp, 8\n.cfi_restore %rbp\n"
        "  ret\n"
        ".cfi_endproc\n.size before_its_frame, .-before_its_frame\n"
        ".type without_frame_pointer, @function\n"
        "without_frame_pointer:\n.cfi_startproc\n"
        "  push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
        "  sub $0x400, %rsp\n.cfi_def_cfa_offset 0x410\n"
        "  mov $0x1234, %ebp\n"
        "  int3\n"
        "  add $0x400, %rsp\n.cfi_def_cfa_offset 16\n"
        "  pop %rbp\n.cfi_def_cfa_offset 8\n.cfi_restore %rbp\n"
        "  ret\n"
        ".cfi_endproc\n.size without_frame_pointer, .-without_frame_pointer\n"
        ".type after_an_early_return, @function\n"
        "after_an_early_return:\n.cfi_startproc\n"
        "  push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
        "  mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
        "  sub $0x40, %rsp\n"
        "  jmp 1f\n"
        ".cfi_remember_state\n"
        "  leave\n.cfi_def_cfa %rsp, 8\n.cfi_restore %rbp\n"
        "  ret\n"
        ".cfi_restore_state\n"
        "1: int3\n"
        "  leave\n.cfi_def_cfa %rsp, 8\n.cfi_restore %rbp\n"
        "  ret\n"
        ".cfi_endproc\n.size after_an_early_return, .-after_an_early_return\n"
        ".type without_a_table, @function\n"
        "without_a_table:\n"
        "  push %rbp\n"
        "  mov %rsp, %rbp\n"
        "  int3\n"
        "  pop %rbp\n"
        "  ret\n"
        ".size without_a_table, .-without_a_table\n");
void leaf_without_frame(void);
void before_its_frame(void);
void without_frame_pointer(void);
void after_an_early_return(void);
void without_a_table(void);

static void (*volatile callee)(void);

static NOINLINE void planted_caller(void)
{
    callee();
    __asm__ volatile("");  // no tail call
}

static const char *name_of(unsigned i)
{
    static struct symbol_frame frame;
    if (i >= depth || symbols_at(symbols, stack[i], &frame, 1) == 0)
        return "?";
    return frame.function;
}

static void every_state_of_a_frame_shows_the_caller(void **state)
{
    static const struct {
        void (*fn)(void);
        const char *name;
    } cases[] = {
        {leaf_without_frame, "leaf_without_frame"},
        {before_its_frame, "before_its_frame"},
        {without_frame_pointer, "without_frame_pointer"},
        {after_an_early_return, "after_an_early_return"},
        {without_a_table, "without_a_table"},
    };
    (void)state;
    for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
        callee = cases[i].fn;
        interrupt_by(planted_caller);
        assert_string_equal(name_of(0), cases[i].name);
        assert_string_equal(name_of(1), "planted_caller");
        assert_string_equal(name_of(2), "interrupt_by");
        assert_string_equal(name_of(3), "every_state_of_a_frame_shows_the_caller");
    }
}

static int trap_and_compare(const void *a, const void *b)
{
    leaf_without_frame();
    return *(const int *)a - *(const int *)b;
}

static NOINLINE void sort(void)
{
    int numbers[] = {2, 1};
    qsort(numbers, 2, sizeof(*numbers), trap_and_compare);
    assert_int_equal(numbers[0], 1);
}

// libc is compiled without frame pointers.
static void callers_beyond_a_library_are_seen(void **state)
{
    unsigned i = 0;
    (void)state;
    interrupt_by(sort);
    assert_string_equal(name_of(1), "trap_and_compare");
    while (i < depth && strcmp(name_of(i), "sort") != 0)
        i++;
    assert_string_equal(name_of(i), "sort");
    assert_string_equal(name_of(i + 1), "interrupt_by");
}

static NOINLINE void recurse(unsigned more)
{
    if (more == 0)
        leaf_without_frame();
    else
        recurse(more - 1);
    __asm__ volatile("");
}

static void recurse_deeply(void)
{
    recurse(1000);
}

static void a_deep_stack_loses_its_outermost_functions(void **state)
{
    (void)state;
    interrupt_by(recurse_deeply);
    assert_int_equal(depth, DEPTH);
    assert_string_equal(name_of(1), "recurse");
    assert_string_equal(name_of(DEPTH - 1), "recurse");
}

static void *end_of_thread(void *arg)
{
    struct own_thread own = {.stack_low = 0};
    (void)arg;
    own_thread_begin(&own);
    memory.stack_low = own.stack_low;
    memory.stack_high = own.stack_high;
    interrupt_by(leaf_without_frame);
    own_thread_end();
    return NULL;
}

static void the_first_function_of_a_thread_ends_the_stack(void **state)
{
    const struct unwind_memory mine = memory;
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, end_of_thread, NULL), 0);
    pthread_join(thread, NULL);
    memory = mine;
    assert_in_range(depth, 3, 6);
    assert_string_equal(name_of(2), "end_of_thread");
}

// guarded: memory whose end, and whose begin if the bytes are whole pages, no access may leave.
static uint8_t *guarded(size_t bytes)
{
    const size_t page = (size_t)getpagesize(), whole = ALIGN_UP(bytes, page);
    uint8_t *at = mmap(NULL, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    assert_int_equal(mprotect(at + page, whole, PROT_READ | PROT_WRITE), 0);
    return at + page + whole - bytes;
}

// A stack of nonsense, partly addresses of code and of itself, between pages that cannot be read.
static void nonsense_ends_a_walk(void **state)
{
    enum { WORDS = 512, TRIES = 100000 };
    uint64_t *words = (uint64_t *)guarded(WORDS * sizeof(*words)), walked = 0;
    struct rng rng = test_rng(__func__);
    const struct unwind_memory m = {files, n_files, (uint64_t)words, (uint64_t)(words + WORDS)};
    (void)state;
    for (unsigned i = 0; i < TRIES; i++) {
        const struct loaded_file *f = &files[rng_u64(&rng) % n_files];
        const uint64_t at = (uint64_t)&words[rng_u64(&rng) % WORDS];
        words[rng_u64(&rng) % WORDS] = f->start + rng_u64(&rng) % (f->limit - f->start);
        words[rng_u64(&rng) % WORDS] = (uint64_t)&words[rng_u64(&rng) % WORDS];
        const struct unwind_registers r = {f->start + rng_u64(&rng) % (f->limit - f->start), at,
                                           i % 2 == 0 ? rng_u64(&rng)
                                                      : (uint64_t)&words[rng_u64(&rng) % WORDS]};
        const unsigned n = unwind(&m, r, stack, DEPTH);
        assert_in_range(n, 1, DEPTH);
        walked += n > 2;
    }
    assert_true(walked > TRIES / 100);  // so the stack was read
    munmap((uint8_t *)words, WORDS * sizeof(*words));
}

// copy_image: with what lies between its variables, which the address sanitizer guards.
__attribute__((no_sanitize("address"))) static void copy_image(volatile uint8_t *to,
                                                               const uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
}

// copied: a file whose tables are a copy that ends before a page that cannot be read. Its code has
// addresses as far from the copy as f's from the original.
static struct loaded_file copied(const struct loaded_file *f)
{
    const size_t bytes = (size_t)(f->image_limit - f->frames);
    struct loaded_file c = *f;
    uint8_t *copy = guarded(ALIGN_UP(bytes, 8));
    c.frames = c.image = copy;
    c.image_limit = copy + bytes;
    return c;
}

static uint64_t address_in(const struct loaded_file *copy, const struct loaded_file *f,
                           uint64_t address)
{
    return address - (uintptr_t)f->frames + (uintptr_t)copy->frames;
}

// Bytes of one function's entry, and of what it shares with others, are replaced.
static void a_damaged_table_is_not_read_beyond_its_end(void **state)
{
    enum { TRIES = 20000, BEFORE = 24 };
    struct rng rng = test_rng(__func__);
    const struct loaded_file *f = loaded_at(files, n_files, (uint64_t)planted_caller);
    struct loaded_file copy = copied(f);
    struct cfi_row row;
    struct cfi_unit u;
    unsigned whole = 0, damaged = 0;
    (void)state;
    for (unsigned i = 0; i < TRIES; i++) {
        const uint64_t at = address_in(&copy, f, f->start + rng_u64(&rng) % (f->limit - f->start));
        copy_image((uint8_t *)(uintptr_t)copy.frames, f->frames,
                   (size_t)(copy.image_limit - copy.frames));
        if (!cfi_unit_at(&copy, at, &u))
            continue;
        whole += cfi_row_at(&copy, at, &row);
        for (unsigned k = 0; k < 3; k++) {
            const struct cursor *c = rng_u64(&rng) % 4 == 0 ? &u.common : &u.own;
            uint8_t *from = (uint8_t *)(uintptr_t)c->at - BEFORE;
            from[rng_u64(&rng) % (size_t)(c->limit - from)] = (uint8_t)rng_u64(&rng);
        }
        damaged += !cfi_row_at(&copy, at, &row);
    }
    fprintf(stderr, "%u rows, %u damaged\n", whole, damaged);
    assert_true(whole > TRIES / 4 && damaged > TRIES / 100);
}

// The whole header, or the end of the tables, is replaced.
static void a_table_of_nonsense_is_not_read_beyond_its_end(void **state)
{
    enum { TRIES = 2000 };
    struct rng rng = test_rng(__func__);
    const struct loaded_file *f = loaded_at(files, n_files, (uint64_t)planted_caller);
    struct loaded_file copy = copied(f);
    const size_t bytes = (size_t)(copy.image_limit - copy.frames);
    struct cfi_row row;
    (void)state;
    for (unsigned i = 0; i < TRIES; i++) {
        uint8_t *to = (uint8_t *)(uintptr_t)copy.frames;
        copy_image(to, f->frames, bytes);
        for (unsigned k = 0; k < 64; k++)
            to[i % 2 == 0 ? 4 + rng_u64(&rng) % 64 : rng_u64(&rng) % bytes] =
                (uint8_t)rng_u64(&rng);
        copy.image_limit = copy.frames + (i % 4 == 0 ? rng_u64(&rng) % bytes : bytes);
        for (unsigned k = 0; k < 16; k++)
            cfi_row_at(&copy,
                       address_in(&copy, f, f->start + rng_u64(&rng) % (f->limit - f->start)),
                       &row);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_of_a_frame_shows_the_caller),
        cmocka_unit_test(callers_beyond_a_library_are_seen),
        cmocka_unit_test(a_deep_stack_loses_its_outermost_functions),
        cmocka_unit_test(the_first_function_of_a_thread_ends_the_stack),
        cmocka_unit_test(nonsense_ends_a_walk),
        cmocka_unit_test(a_damaged_table_is_not_read_beyond_its_end),
        cmocka_unit_test(a_table_of_nonsense_is_not_read_beyond_its_end),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
