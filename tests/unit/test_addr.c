// SPDX-License-Identifier: BSD-3-Clause
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>  // wants the four before it
// clang-format on

#include <arpa/inet.h>

#include "base/addr.h"
#include "base/rng.h"

static struct ip_addr ip(const char *text)
{
    struct ip_addr a;
    if (!ip_parse(text, &a))
        fail_msg("%s is no address", text);
    return a;
}

static void text_is_that_of_rfc_5952(void **state)
{
    static const char *const rows[][2] = {
        {"::", "::"},
        {"::1", "::1"},
        {"1::", "1::"},
        {"2001:0db8::0001", "2001:db8::1"},                // 4.1
        {"2001:db8:0:0:0:0:2:1", "2001:db8::2:1"},         // 4.2.1
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},  // 4.2.2: not one group alone
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},           // 4.2.3: the longest
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},     // the first of two
        {"2001:DB8::AAAA", "2001:db8::aaaa"},              // 4.3
        {"0:1:2:3:4:5:6:7", "0:1:2:3:4:5:6:7"},
        {"1:2:3:4:5:6:7:0", "1:2:3:4:5:6:7:0"},
        {"1:2:3:4:5:6::", "1:2:3:4:5:6::"},
        {"::3:4:5:6:7:8", "::3:4:5:6:7:8"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
        {"::ffff:10.0.0.1", "10.0.0.1"},
        {"255.255.255.255", "255.255.255.255"},
        {"0.0.0.0", "0.0.0.0"},
    };
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        const struct ip_addr a = ip(rows[i][0]);
        char text[IP_TEXT_BYTES];
        assert_string_equal(ip_text(&a, text), rows[i][1]);
    }
}

// Beside libc's, which prints some addresses with an IPv4 one at their end.
static void text_of_any_address_is_read_back(void **state)
{
    struct rng r = {5};
    for (unsigned i = 0; i < 100000; i++) {
        struct ip_addr a, b;
        char text[IP_TEXT_BYTES], libc[INET6_ADDRSTRLEN];
        const uint64_t holes = rng_u64(&r);
        for (unsigned k = 0; k < 16; k++)
            a.b[k] = holes >> (k / 2) & 1 ? (uint8_t)(rng_u64(&r) >> (holes >> 60)) : 0;
        ip_text(&a, text);
        assert_true(ip_parse(text, &b));
        assert_true(ip_equal(&a, &b));
        inet_ntop(AF_INET6, a.b, libc, sizeof(libc));
        if (strchr(libc, '.') == NULL)
            assert_string_equal(text, libc);
    }
}

static void what_is_no_address_is_refused_and_nothing_is_written(void **state)
{
    static const char *const bad[] = {"",
                                      " ::1",
                                      "::1 ",
                                      "1.2.3",
                                      "1.2.3.4.5",
                                      "256.1.1.1",
                                      "1::2::3",
                                      "1:2:3:4:5:6:7",
                                      "1:2:3:4:5:6:7:8:9",
                                      "fe80::1%eth0",
                                      "::1/64",
                                      "12345::",
                                      ":1",
                                      "g::",
                                      "01.2.3.4"};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        struct ip_addr a = ip("2001:db8::7"), was = a;
        if (ip_parse(bad[i], &a))
            fail_msg("%s was taken", bad[i]);
        assert_true(ip_equal(&a, &was));
    }
}

static void the_mapped_form_alone_is_ipv4(void **state)
{
    static const char *const v6[] = {"::",
                                     "::1",
                                     "::1.2.3.4",
                                     "::fffe:1.2.3.4",
                                     "::ffff:0:1.2.3.4",
                                     "1::ffff:1.2.3.4",
                                     "0:0:0:1:0:ffff:102:304",
                                     "0:0:0:0:1:ffff:102:304"};
    for (unsigned i = 0; i < ARRAY_LEN(v6); i++) {
        const struct ip_addr a = ip(v6[i]);
        assert_false(ip_is_v4(&a));
        assert_int_equal(ip_bits(&a), 128);
        assert_int_equal(ip_is_zero(&a), i == 0);
    }
    static const uint32_t v4[] = {0, 1, 0x0a000001, UINT32_MAX};
    for (unsigned i = 0; i < ARRAY_LEN(v4); i++) {
        const struct ip_addr a = ip_from_v4(v4[i]);
        assert_true(ip_is_v4(&a));
        assert_false(ip_is_zero(&a));
        assert_int_equal(ip_to_v4(&a), v4[i]);
        assert_int_equal(ip_bits(&a), 32);
    }
}

static bool in(const char *a, const char *prefix, unsigned bits)
{
    const struct ip_addr x = ip(a), y = ip(prefix);
    return ip_in_prefix(&x, &y, bits);
}

static void a_prefix_holds_what_its_bits_say(void **state)
{
    assert_true(in("2001:db8::1", "2001:db8::", 64));
    assert_true(in("2001:db8:0:0:ffff::1", "2001:db8::5", 64));
    assert_false(in("2001:db8:0:1::1", "2001:db8::", 64));
    assert_true(in("2001:db8:0:1::1", "2001:db8::", 63));
    assert_true(in("ffff::", "::", 0));
    assert_true(in("::1", "::1", 128));
    assert_false(in("::2", "::1", 128));
    assert_true(in("::2", "::3", 127));
    assert_true(in("10.0.0.255", "10.0.0.1", 24));
    assert_false(in("10.0.1.0", "10.0.0.1", 24));
    assert_true(in("10.0.1.0", "10.0.0.1", 23));
    assert_true(in("10.0.0.1", "192.0.2.1", 0));
    assert_false(in("10.0.0.2", "10.0.0.1", 32));
    assert_false(in("10.0.0.1", "::", 0));  // families are apart
    assert_false(in("::1", "0.0.0.0", 0));
}

static void the_first_of_a_prefix_has_no_bit_behind_it(void **state)
{
    const struct ip_addr all = ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    for (unsigned bits = 0; bits <= 128; bits++) {
        const struct ip_addr first = ip_first(&all, bits);
        for (unsigned i = 0; i < 128; i++)
            assert_int_equal(first.b[i / 8] >> (7 - i % 8) & 1, i < bits);
    }
    const struct ip_addr v4 = ip_from_v4(0x0a0b0cff), masked = ip_first(&v4, 20),
                         want = ip_from_v4(0x0a0b0000);
    assert_true(ip_equal(&masked, &want));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_that_of_rfc_5952),
        cmocka_unit_test(text_of_any_address_is_read_back),
        cmocka_unit_test(what_is_no_address_is_refused_and_nothing_is_written),
        cmocka_unit_test(the_mapped_form_alone_is_ipv4),
        cmocka_unit_test(a_prefix_holds_what_its_bits_say),
        cmocka_unit_test(the_first_of_a_prefix_has_no_bit_behind_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
