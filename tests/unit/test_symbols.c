// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "pprof/symbols.h"
#include "pprof/text_pool.h"

static struct symbols *symbols;
static struct symbol_frame frames[SYMBOL_INLINED_MAX];

static int setup(void **state)
{
    (void)state;
    symbols = symbols_open(NULL);
    return symbols == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    symbols_close(symbols);
    return 0;
}

// here: an address in the instruction that calls it.
static NOINLINE uint64_t here(void)
{
    return (uint64_t)__builtin_return_address(0) - 1;
}

enum { INNER_LINE = __LINE__ + 3 };
static ALWAYS_INLINE uint64_t planted_inner(void)
{
    return here();
}

enum { MIDDLE_LINE = __LINE__ + 3 };
static ALWAYS_INLINE uint64_t planted_middle(void)
{
    return planted_inner() + 0;
}

enum { OUTER_LINE = __LINE__ + 3 };
static NOINLINE uint64_t planted_outer(void)
{
    const volatile uint64_t at = planted_middle();
    return at;
}

// As the compiler names a copy of a function. The body differs from all others, or the compiler
// merges two functions.
static NOINLINE uint64_t planted_clone(void) __asm__("planted_clone.constprop.7");
static NOINLINE uint64_t planted_clone(void)
{
    const volatile uint64_t at = here() + 1;
    return at - 1;
}

static void assert_frame(unsigned i, const char *function, unsigned line)
{
    assert_string_equal(frames[i].function, function);
    assert_int_equal(frames[i].line, line);
    assert_true(frames[i].first_line < line && line - frames[i].first_line <= 4);
}

static void inlined_functions_are_frames_with_their_calls(void **state)
{
    (void)state;
    assert_int_equal(symbols_at(symbols, planted_outer(), frames, SYMBOL_INLINED_MAX), 3);
    assert_frame(0, "planted_inner", INNER_LINE);
    assert_frame(1, "planted_middle", MIDDLE_LINE);
    assert_frame(2, "planted_outer", OUTER_LINE);
    assert_string_equal(frames[2].linked, "planted_outer");
}

static void the_innermost_frames_come_first_if_there_is_little_room(void **state)
{
    (void)state;
    assert_int_equal(symbols_at(symbols, planted_outer(), frames, 2), 2);
    assert_frame(0, "planted_inner", INNER_LINE);
    assert_frame(1, "planted_middle", MIDDLE_LINE);
    assert_int_equal(symbols_at(symbols, planted_outer(), frames, 0), 0);
}

// The directory is the one that the compiler wrote down. A compiler cache or -ffile-prefix-map may
// have put another one there than that of the source.
static void a_file_has_its_whole_path(void **state)
{
    static const char end[] = "/tests/unit/test_symbols.c";
    char path[PATH_MAX];
    (void)state;
    assert_true(symbols_at(symbols, planted_outer(), frames, SYMBOL_INLINED_MAX) > 0);
    const char *file = frames[0].file;
    assert_int_equal(file[0], '/');
    assert_null(strstr(file, "/."));
    assert_null(strstr(file, "//"));
    assert_true(strlen(file) > strlen(end));
    assert_string_equal(file + strlen(file) - strlen(end), end);
    if (realpath(file, path) != NULL)
        assert_string_equal(file, path);
}

static void a_clone_has_the_name_of_its_origin(void **state)
{
    (void)state;
    assert_int_equal(symbols_at(symbols, planted_clone(), frames, SYMBOL_INLINED_MAX), 1);
    assert_string_equal(frames[0].function, "planted_clone");
    assert_string_equal(frames[0].linked, "planted_clone.constprop.7");
}

// In a library without debugging information.
static void a_function_of_a_library_has_a_name(void **state)
{
    (void)state;
    const uint64_t at = (uint64_t)dlsym(RTLD_DEFAULT, "print_message");
    assert_int_equal(symbols_at(symbols, at + 1, frames, SYMBOL_INLINED_MAX), 1);
    assert_string_equal(frames[0].function, "print_message");
    assert_null(frames[0].file);
}

static void an_address_without_code_has_no_frame(void **state)
{
    struct symbol_mapping m;
    (void)state;
    assert_int_equal(symbols_at(symbols, 1, frames, SYMBOL_INLINED_MAX), 0);
    assert_int_equal(symbols_at(symbols, UINT64_MAX, frames, SYMBOL_INLINED_MAX), 0);
    assert_int_equal(symbols_at(symbols, (uint64_t)&symbols, frames, SYMBOL_INLINED_MAX), 0);
    assert_false(symbols_mapping(symbols, 1, &m));
}

static void a_mapping_is_the_file_and_its_build_id(void **state)
{
    struct symbol_mapping m, libc;
    char program[PATH_MAX];
    (void)state;
    assert_non_null(realpath("/proc/self/exe", program));
    assert_true(symbols_mapping(symbols, planted_outer(), &m));
    assert_string_equal(m.file, program);
    assert_true(m.start < m.limit && m.start % 4096 == 0 && m.offset % 4096 == 0);
    assert_int_equal(strlen(m.build_id), 40);
    assert_true(
        symbols_mapping(symbols, (uint64_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &libc));
    assert_non_null(strstr(libc.file, "libc.so"));
    assert_string_not_equal(libc.build_id, m.build_id);
}

static void a_mapping_is_that_of_the_kernel(void **state)
{
    struct symbol_mapping m;
    char line[PATH_MAX + 128];
    uint64_t start, limit, offset;
    bool found = false;
    (void)state;
    assert_true(symbols_mapping(symbols, planted_outer(), &m));
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), maps) != NULL)
        found |= sscanf(line, "%lx-%lx r-xp %lx", &start, &limit, &offset) == 3 &&
                 start == m.start && limit == m.limit && offset == m.offset;
    fclose(maps);
    assert_true(found);
}

static void paths_are_made_whole_and_short(void **state)
{
    static const struct {
        const char *directory, *file, *path;
    } cases[] = {
        {"/home/build", "../src/x.c", "/home/src/x.c"},
        {"/b", "/usr/x.h", "/usr/x.h"},
        {"/b", "./x.c", "/b/x.c"},
        {"/b", "a//x.c", "/b/a/x.c"},
        {"/", "../../x.c", "/x.c"},
        {"/b/..", "..x.c", "/..x.c"},
        {NULL, "../x.c", "../x.c"},
        {"/b", "", "/b"},
    };
    struct text_pool names = {.n = 0};
    (void)state;
    for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
        const char *path = text_pool_path(&names, cases[i].directory, cases[i].file);
        assert_string_equal(path, cases[i].path);
        assert_ptr_equal(path, text_pool_path(&names, cases[i].directory, cases[i].file));
    }
    text_pool_free(&names);
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    char path[PATH_MAX + 1];
    struct text_pool names = {.n = 0};
    (void)state;
    memset(path, 'x', PATH_MAX);
    path[PATH_MAX] = '\0';
    assert_null(text_pool_path(&names, NULL, path));
    assert_non_null(text_pool_path(&names, NULL, path + 1));
    text_pool_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_functions_are_frames_with_their_calls),
        cmocka_unit_test(the_innermost_frames_come_first_if_there_is_little_room),
        cmocka_unit_test(a_file_has_its_whole_path),
        cmocka_unit_test(a_clone_has_the_name_of_its_origin),
        cmocka_unit_test(a_function_of_a_library_has_a_name),
        cmocka_unit_test(an_address_without_code_has_no_frame),
        cmocka_unit_test(a_mapping_is_the_file_and_its_build_id),
        cmocka_unit_test(a_mapping_is_that_of_the_kernel),
        cmocka_unit_test(paths_are_made_whole_and_short),
        cmocka_unit_test(a_path_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
