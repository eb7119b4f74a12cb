// SPDX-License-Identifier: BSD-3-Clause
// Claims about src/pprof: the set of strings, samples that add up, the file for go tool pprof, and
// the text. The names of code are a fake's: address A is line A of function fA, inlined into gA.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "pprof/intern.h"
#include "pprof/profile_encode.h"
#include "unit/check.h"

enum { MANY = 5000, PLAIN_BYTES_MAX = 1 << 20, KNOWN_BELOW = 0x1000, MAP_FROM = 0x100 };

unsigned symbols_at(struct symbols *s, uint64_t address, struct symbol_frame *out, unsigned max)
{
    static const char *const names[] = {"f", "g"};
    assert_non_null(s);
    for (unsigned i = 0; i < 2 && i < max; i++)
        out[i] = (struct symbol_frame){names[i], names[i], "code.c", (unsigned)address, 1};
    return address < KNOWN_BELOW ? 2 : 0;
}

bool symbols_mapping(struct symbols *s, uint64_t address, struct symbol_mapping *out)
{
    assert_non_null(s);
    *out = (struct symbol_mapping){MAP_FROM, KNOWN_BELOW, 0, "/bin/fake", "c0ffee"};
    return address >= MAP_FROM && address < KNOWN_BELOW;
}

static struct symbols *const fake = (struct symbols *)(uintptr_t)16;  // only passed on

// ---- a reader of protobuf

struct field {
    unsigned number, wire;
    uint64_t value;  // of a varint, or the length of bytes
    const uint8_t *bytes;
};

static uint64_t varint(const uint8_t **at)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint8_t b = *(*at)++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80)
            return v;
    }
}

static bool next_field(const uint8_t **at, const uint8_t *end, struct field *f)
{
    if (*at >= end)
        return false;
    const uint64_t tag = varint(at);
    *f = (struct field){.number = (unsigned)(tag >> 3), .wire = tag & 7, .value = varint(at)};
    f->bytes = *at;
    if (f->wire == 2)
        *at += f->value;
    assert_true(*at <= end);
    return true;
}

// plain: the file without gzip.
static struct {
    uint8_t bytes[PLAIN_BYTES_MAX];
    size_t n;
} plain;

static void encode(const struct profile *p, struct symbols *symbols)
{
    struct text out;
    text_init(&out, PLAIN_BYTES_MAX);
    assert_int_equal(profile_encode(p, symbols, &out), 0);
    z_stream z = {.next_in = (uint8_t *)out.data,
                  .avail_in = (unsigned)out.len,
                  .next_out = plain.bytes,
                  .avail_out = sizeof(plain.bytes)};
    assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    plain.n = z.total_out;
    inflateEnd(&z);
    text_free(&out);
}

// find: field number `number` of the message, the nth of that kind.
static bool find(const uint8_t *at, size_t n, unsigned number, unsigned nth, struct field *f)
{
    const uint8_t *end = at + n;
    while (next_field(&at, end, f))
        if (f->number == number && nth-- == 0)
            return true;
    *f = (struct field){0};
    return false;
}

static bool top(unsigned number, unsigned nth, struct field *f)
{
    return find(plain.bytes, plain.n, number, nth, f);
}

static unsigned count(unsigned number)
{
    struct field f;
    unsigned n = 0;
    while (top(number, n, &f))
        n++;
    return n;
}

static void is_string(uint64_t ix, const char *want)
{
    struct field f;
    assert_true(top(6, (unsigned)ix, &f));
    assert_int_equal(f.value, strlen(want));
    assert_memory_equal(f.bytes, want, f.value);
}

static uint64_t number_in(const struct field *message, unsigned number)
{
    struct field f;
    find(message->bytes, message->value, number, 0, &f);
    return f.value;
}

// ---- profiles

static const struct profile_params two_types = {
    .n_types = 2,
    .default_type = 1,
    .types = {{"things", "count"}, {"space", "bytes"}},
};

static void add(struct profile *p, const char *leaf, const char *root, int64_t things,
                int64_t space)
{
    const struct profile_frame stack[] = {{.function = leaf}, {.function = root}};
    const int64_t values[] = {things, space};
    profile_add(p, &(struct profile_sample){.stack = stack, .depth = 2, .values = values});
}

static void a_key_has_one_number_and_keeps_it_while_the_set_grows(void **state)
{
    struct intern t = {.bytes = NULL};
    char key[16];
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < MANY; i++) {
            snprintf(key, sizeof(key), "key %u", i);
            assert_int_equal(intern_put(&t, key, strlen(key)), i);
        }
    assert_int_equal(t.n, MANY);
    size_t n;
    assert_memory_equal(intern_get(&t, 4711, &n), "key 4711", 8);
    assert_int_equal(n, 8);
    assert_int_equal(intern_find(&t, "key 17", 6), 17);
    assert_int_equal(intern_find(&t, "key 1", 6), INTERN_FAILED);  // with its terminator: another
    assert_int_equal(intern_find(&t, "none", 4), INTERN_FAILED);
    intern_free(&t);
    assert_int_equal(intern_find(&t, "key 17", 6), INTERN_FAILED);
}

static void keys_of_no_bytes_are_a_key(void **state)
{
    struct intern t = {.bytes = NULL};
    assert_int_equal(intern_put(&t, "", 0), 0);
    assert_int_equal(intern_put(&t, "a", 1), 1);
    assert_int_equal(intern_put(&t, "", 0), 0);
    intern_free(&t);
}

static void equal_samples_add_up_and_others_stay_apart(void **state)
{
    struct profile *p = profile_new(&two_types);
    add(p, "block", "web", 1, 256);
    add(p, "block", "web", 2, 512);
    add(p, "block", "mail", 1, 256);
    encode(p, NULL);
    struct field sample, values;
    assert_int_equal(count(2), 2);
    assert_true(top(2, 0, &sample));
    assert_true(find(sample.bytes, sample.value, 2, 0, &values));
    const uint8_t *at = values.bytes;
    assert_int_equal(varint(&at), 3);
    assert_int_equal(varint(&at), 768);
    assert_true(top(2, 1, &sample));
    assert_true(find(sample.bytes, sample.value, 2, 0, &values));
    at = values.bytes;
    assert_int_equal(varint(&at), 1);
    add(p, "block", "mail", -1, -256);
    encode(p, NULL);
    assert_int_equal(count(2), 1);  // the other one added up to nothing
    profile_free(p);
}

static void the_file_names_types_functions_and_the_default(void **state)
{
    struct profile *p = profile_new(&two_types);
    struct field f, line;
    add(p, "block", "web", 1, 256);
    profile_comment(p, "it is %s", "good");
    profile_took(p, 5000000000);
    encode(p, NULL);
    assert_true(top(1, 1, &f));
    is_string(number_in(&f, 1), "space");
    is_string(number_in(&f, 2), "bytes");
    assert_true(top(14, 0, &f));
    is_string(f.value, "space");
    assert_true(top(10, 0, &f));
    assert_int_equal(f.value, 5000000000);
    assert_true(top(13, 0, &f));
    is_string(f.value, "it is good");
    assert_int_equal(count(5), 2);
    assert_true(top(4, 1, &f));  // the second location: one line of the second function
    assert_int_equal(number_in(&f, 3), 0);
    assert_true(find(f.bytes, f.value, 4, 0, &line));
    assert_int_equal(number_in(&line, 1), 2);
    assert_true(top(5, 1, &f));
    is_string(number_in(&f, 2), "web");
    assert_false(top(11, 0, &f));  // no period
    profile_free(p);
}

static void code_has_its_inlined_frames_its_mapping_and_its_build_id(void **state)
{
    struct profile *p = profile_new(&two_types);
    const struct profile_frame stack[] = {{.address = 0x123}, {.address = 0x222}, {.address = 9}};
    const int64_t values[] = {1, 1};
    struct field f, line;
    profile_add(p, &(struct profile_sample){.stack = stack, .depth = 3, .values = values});
    encode(p, fake);
    assert_int_equal(count(3), 1);  // one file
    assert_int_equal(count(5), 2);  // f and g, whichever address
    assert_int_equal(count(4), 3);
    assert_true(top(3, 0, &f));
    is_string(number_in(&f, 5), "/bin/fake");
    is_string(number_in(&f, 6), "c0ffee");
    assert_true(top(4, 0, &f));
    assert_int_equal(number_in(&f, 3), 0x123);
    assert_int_equal(number_in(&f, 2), 1);
    assert_true(find(f.bytes, f.value, 4, 1, &line));
    assert_int_equal(number_in(&line, 2), 0x123);
    assert_true(top(4, 2, &f));  // outside of the mapping
    assert_int_equal(number_in(&f, 2), 0);
    profile_free(p);
}

static void labels_are_text_or_a_number_with_its_unit(void **state)
{
    struct profile *p = profile_new(&two_types);
    const struct profile_frame stack[] = {{.function = "f"}};
    const struct profile_label labels[] = {{.key = "core", .text = "c1"},
                                           {.key = "bytes", .unit = "bytes", .number = 256}};
    const int64_t values[] = {1, 1};
    struct field sample, l;
    profile_add(p, &(struct profile_sample){stack, 1, values, labels, 2});
    profile_add(p, &(struct profile_sample){stack, 1, values, labels, 1});
    encode(p, NULL);
    assert_int_equal(count(2), 2);
    assert_true(top(2, 0, &sample));
    assert_true(find(sample.bytes, sample.value, 3, 0, &l));
    is_string(number_in(&l, 1), "core");
    is_string(number_in(&l, 2), "c1");
    assert_true(find(sample.bytes, sample.value, 3, 1, &l));
    assert_int_equal(number_in(&l, 3), 256);
    is_string(number_in(&l, 4), "bytes");
    profile_free(p);
}

static void beyond_the_most_samples_new_ones_are_lost_and_known_ones_count(void **state)
{
    struct profile *p = profile_new(&two_types);
    char leaf[16];
    for (unsigned i = 0; i < PROFILE_SAMPLES_MAX + 10; i++) {
        snprintf(leaf, sizeof(leaf), "%u", i);
        add(p, leaf, "r", 1, 0);
    }
    assert_int_equal(profile_lost(p), 10);
    add(p, "0", "r", 1, 0);
    assert_int_equal(profile_lost(p), 10);
    profile_lose(p, 5);
    assert_int_equal(profile_lost(p), 15);
    profile_free(p);
}

static void add_deep(struct profile *p, uint64_t leaf)
{
    struct profile_frame stack[PROFILE_DEPTH_MAX] = {{.address = 1 + leaf}};
    const int64_t values[] = {1, 1};
    for (unsigned i = 1; i < PROFILE_DEPTH_MAX; i++)
        stack[i].address = i;
    profile_add(p, &(struct profile_sample){stack, PROFILE_DEPTH_MAX, values, NULL, 0});
}

static void deep_stacks_have_a_limit_in_bytes(void **state)
{
    enum { FIT = PROFILE_KEY_BYTES_MAX / (8 + PROFILE_DEPTH_MAX * 24) };
    struct profile *p = profile_new(&two_types);
    for (unsigned i = 0; i < FIT + 10; i++)
        add_deep(p, i);
    assert_int_equal(profile_lost(p), 10);
    add_deep(p, FIT - 1);
    assert_int_equal(profile_lost(p), 10);
    profile_free(p);
}

static void strings_have_a_limit_in_bytes(void **state)
{
    enum { LONG = 1 << 20, FIT = PROFILE_STRING_BYTES_MAX / LONG - 1 };
    struct profile *p = profile_new(&two_types);
    char *name = malloc(LONG + 1);
    memset(name, 'x', LONG);
    name[LONG] = '\0';
    for (unsigned i = 0; i < FIT + 3; i++) {
        name[0] = (char)('a' + i);
        add(p, name, "r", 1, 0);
    }
    assert_int_equal(profile_lost(p), 3);
    name[0] = 'a';
    add(p, name, "r", 1, 0);
    assert_int_equal(profile_lost(p), 3);
    free(name);
    profile_free(p);
}

static void a_file_over_the_limit_is_an_error(void **state)
{
    struct profile *p = profile_new(&two_types);
    struct text out;
    add(p, "block", "web", 1, 256);
    text_init(&out, 16);
    assert_int_equal(profile_encode(p, NULL, &out), -EFBIG);
    text_free(&out);
    assert_int_equal(profile_text(p, "heap", 1, NULL, &out), -EFBIG);
    text_free(&out);
    profile_free(p);
}

// ---- text

static void text_is(const struct profile *p, unsigned by, struct symbols *symbols, const char *want)
{
    struct text out;
    text_init(&out, PLAIN_BYTES_MAX);
    assert_int_equal(profile_text(p, "heap", by, symbols, &out), 0);
    assert_string_equal(text_str(&out), want);
    text_free(&out);
}

static void the_text_of_an_empty_profile_is_its_head(void **state)
{
    struct profile *p = profile_new(&two_types);
    text_is(p, 0, NULL, "heap profile: total 0\n");
    profile_free(p);
}

static void the_text_has_the_largest_first_and_the_sum(void **state)
{
    struct profile *p = profile_new(&two_types);
    add(p, "few", "r", 1, 100);
    add(p, "many", "r", 9, 50);
    text_is(p, 0, NULL,
            "heap profile: total 10\n9 50 @\n#\t0x0\tmany\n#\t0x0\tr\n\n"
            "1 100 @\n#\t0x0\tfew\n#\t0x0\tr\n\n");
    text_is(p, 1, NULL,
            "heap profile: total 150\n1 100 @\n#\t0x0\tfew\n#\t0x0\tr\n\n"
            "9 50 @\n#\t0x0\tmany\n#\t0x0\tr\n\n");
    profile_free(p);
}

static void the_text_has_addresses_lines_labels_comments_and_losses(void **state)
{
    struct profile *p = profile_new(&two_types);
    const struct profile_frame stack[] = {
        {.address = 0x123}, {.address = 0x2000}, {.function = "app", .file = "a.c", .line = 7}};
    const struct profile_label labels[] = {{.key = "core", .text = "c\"1"},
                                           {.key = "bytes", .unit = "bytes", .number = 256}};
    const int64_t values[] = {1, 2};
    profile_add(p, &(struct profile_sample){stack, 3, values, labels, 2});
    profile_comment(p, "a remark");
    profile_lose(p, 3);
    text_is(p, 0, fake,
            "heap profile: total 1\n1 2 @ 0x123 0x2000\n"
            "# labels: {\"core\":\"c\\\"1\", \"bytes\":\"256bytes\"}\n"
            "#\t0x123\tf\tcode.c:291\n#\t0x123\tg\tcode.c:291\n#\t0x2000\t?\n"
            "#\t0x0\tapp\ta.c:7\n\n# a remark\n# 3 samples were lost\n");
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_has_one_number_and_keeps_it_while_the_set_grows),
        cmocka_unit_test(keys_of_no_bytes_are_a_key),
        cmocka_unit_test(equal_samples_add_up_and_others_stay_apart),
        cmocka_unit_test(the_file_names_types_functions_and_the_default),
        cmocka_unit_test(code_has_its_inlined_frames_its_mapping_and_its_build_id),
        cmocka_unit_test(labels_are_text_or_a_number_with_its_unit),
        cmocka_unit_test(beyond_the_most_samples_new_ones_are_lost_and_known_ones_count),
        cmocka_unit_test(deep_stacks_have_a_limit_in_bytes),
        cmocka_unit_test(strings_have_a_limit_in_bytes),
        cmocka_unit_test(a_file_over_the_limit_is_an_error),
        cmocka_unit_test(the_text_of_an_empty_profile_is_its_head),
        cmocka_unit_test(the_text_has_the_largest_first_and_the_sum),
        cmocka_unit_test(the_text_has_addresses_lines_labels_comments_and_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
