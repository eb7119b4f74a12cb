// SPDX-License-Identifier: BSD-3-Clause
// Random configurations: what `check` takes `plan` can compute, and nothing aborts. C10M_SEED=N
// repeats a run.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "c10m/app.h"
#include "conf/key_table.h"
#include "ctl/cli/cmd_plan.h"
#include "server/server_conf.h"
#include "server/server_fit.h"
#include "server/server_memory.h"
#include "tests/unit/check.h"
#include "tests/unit/seed.h"

enum { ROUNDS = 3000, ACCEPTED_MIN = ROUNDS / 20 };

static struct rng random_;

static uint64_t next(void)
{
    return rng_u64(&random_);
}

static uint64_t below(uint64_t n)
{
    return next() % n;
}

// The ends of the range, next to them, and any size of number between.
static uint64_t number_of(const struct key *k)
{
    const uint64_t span = k->max - k->min;
    switch (below(8)) {
    case 0:
        return k->min;
    case 1:
    case 2:
        return k->max;
    case 3:
        return k->min + (span != 0);
    case 4:
        return k->max - (span != 0);
    default:
        return k->min + (span == 0 ? 0 : MIN(next() >> below(64), span));
    }
}

static void put_word(const char *words, struct text *t)
{
    unsigned n = 1;
    for (const char *c = words; *c != '\0'; c++)
        n += *c == '|';
    for (uint64_t i = below(n); i > 0; i--)
        words = strchr(words, '|') + 1;
    text_printf(t, "%.*s", (int)strcspn(words, "|"), words);
}

// A value of a key whose values can be made up; false: none.
static bool put_value(const struct key *k, struct text *t)
{
    const uint64_t n = number_of(k);
    switch (k->type) {
    case KEY_NUMBER:
    case KEY_COUNT:
    case KEY_SIZE:
    case KEY_MS:
        if (k->zero != NULL && below(4) == 0)
            text_printf(t, "%s = %s\n", k->name, k->zero);
        else
            text_printf(t, "%s = %" PRIu64 "\n", k->name, n);
        return true;
    case KEY_POWER:
        text_printf(t, "%s = %" PRIu64 "\n", k->name, k->min << below(1 + 6));
        return true;
    case KEY_PERCENT:
        text_printf(t, "%s = %" PRIu64 "\n", k->name, below(101));
        return true;
    case KEY_BOOL:
        text_printf(t, "%s = %s\n", k->name, below(2) != 0 ? "on" : "off");
        return true;
    case KEY_WORD:
        text_printf(t, "%s = ", k->name);
        put_word(k->words, t);
        text_printf(t, "\n");
        return true;
    default:
        return false;
    }
}

// "tap|af_xdp" has "tap".
static bool is_of(const char *words, const char *kind)
{
    const size_t n = strlen(kind);
    for (const char *w = words; w != NULL; w = strchr(w, '|')) {
        w += *w == '|';
        if (n != 0 && strncmp(w, kind, n) == 0 && (w[n] == '|' || w[n] == '\0'))
            return true;
    }
    return false;
}

static void put_keys(enum conf_section section, unsigned one_in, const char *kind, struct text *t)
{
    for (unsigned i = 0; i < conf_n_keys; i++) {
        const struct key *k = &conf_keys[i];
        if (k->section == section && (k->only == NULL || is_of(k->only, kind)) &&
            below(one_in) == 0)
            put_value(k, t);
    }
}

static void put_ports(struct text *t)
{
    static const char *const drivers[] = {"ring", "tap", "af_packet", "memif"};
    const uint64_t n = below(4);
    for (unsigned i = 0; i < n; i++) {
        const char *driver = drivers[below(ARRAY_LEN(drivers))];
        text_printf(t, "[port p%u]\ndriver = %s\naddress = 10.%u.0.1/24\n", i, driver, i);
        if (below(2) == 0)
            text_printf(t, "address = fd00:%u::1/64\n", i);
        if (strcmp(driver, "ring") != 0)
            text_printf(t, "device = %s%u\n", strcmp(driver, "memif") == 0 ? "/run/m" : "eth", i);
        put_keys(SECTION_port, 8, driver, t);
    }
}

static void put_services(struct text *t)
{
    static const char *const apps[] = {"echo", "http", "proxy", "discard"};
    const uint64_t n = below(5);
    for (unsigned i = 0; i < n; i++) {
        const char *app = apps[below(ARRAY_LEN(apps))];
        text_printf(t, "[service s%u]\napp = %s\nport = %u\n", i, app, 80 + i);
        if (strcmp(app, "http") == 0)
            text_printf(t, "root = /srv\n");
        if (strcmp(app, "proxy") == 0)
            text_printf(t, "upstream = 10.0.0.9:80\n");
        put_keys(SECTION_service, 12, app, t);
    }
}

static void put_conf(struct text *t)
{
    text_printf(t, "[cpu]\n");
    put_keys(SECTION_cpu, 3, "", t);
    text_printf(t, "[memory]\n");
    put_keys(SECTION_memory, 3, "", t);
    text_printf(t, "[control]\n");
    put_keys(SECTION_control, 8, "", t);
    text_printf(t, "[tcp]\n");
    put_keys(SECTION_tcp, 12, "", t);
    if (below(4) == 0)
        text_printf(t, "[agent]\nsocket = /run/agent.sock\n");
    put_ports(t);
    put_services(t);
}

static int a_datagram(struct c10m_service *s, const struct c10m_datagram *d)
{
    (void)s, (void)d;
    return 0;
}

static void a_thread(struct c10m_service *s)
{
    (void)s;
}

static const struct c10m_app *const apps[] = {
    &(const struct c10m_app){.name = "echo", .datagram = a_datagram},
    &(const struct c10m_app){.name = "discard", .datagram = a_datagram},
    &(const struct c10m_app){.name = "http"},
    &(const struct c10m_app){.name = "proxy"},
    &(const struct c10m_app){.name = "agent", .thread = a_thread},
    NULL,
};

static struct conf_host host_of(unsigned n_cpus)
{
    struct conf_host h;
    memset(&h, 0, sizeof(h));
    h.apps = "echo|discard|http|proxy";
    for (unsigned i = 0; i < n_cpus; i++)
        h.cpus.id[h.cpus.n++] = (uint16_t)i;
    return h;
}

static void plan(struct server_params *p)
{
    // More than there is, and no memory at all.
    static const struct page_supply all = {
        .of_2m = {UINT32_MAX, UINT32_MAX}, .of_1g = {1 << 24, 1 << 24}, .node = -1};
    struct ledger l = {0};
    struct text out;
    text_init(&out, 1 << 20);
    ctl_plan_capacity(p, "/nowhere", "/nowhere", &out);
    if (p->connections == 0)
        server_fit_to(p, server_fit(p, &all, UINT64_MAX / 2));
    assert_int_not_equal(p->connections, 0);
    server_ledger(p, &l);
    uint64_t sum = 0;
    for (unsigned i = 0; i < l.n; i++)
        assert_false(__builtin_add_overflow(sum, l.rows[i].bytes, &sum));
    assert_in_range(sum, 1, UINT64_C(1) << 60);
    assert_true(server_arena_bytes(p) < UINT64_C(1) << 60);
    ctl_plan(p, &out);
    assert_int_equal(out.error, 0);
    text_free(&out);
}

// True: it was accepted.
static bool round_of(uint64_t seed)
{
    static struct conf c;
    static struct server_params p;
    struct conf_errors errors;
    struct text t;
    struct err err;
    random_ = (struct rng){seed};
    const struct conf_host host = host_of(1 + (unsigned)below(64));
    text_init(&t, 1 << 16);
    put_conf(&t);
    conf_errors_init(&errors);
    const bool good = conf_load_text(&c, &host, "f", text_str(&t), t.len, NULL, 0, &errors) == 0 &&
                      server_params_from(&p, &c, apps, &err) == 0;
    conf_errors_free(&errors);
    text_free(&t);
    if (good)
        plan(&p);
    return good;
}

static void what_check_takes_plan_can_compute(void **state)
{
    (void)state;
    const uint64_t seed = test_rng("plan_any").state;
    unsigned accepted = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        // Said before: what aborts says nothing.
        printf("\rseed %" PRIu64 " ", seed + i);
        fflush(stdout);
        accepted += round_of(seed + i);
    }
    printf("\n%u of %d accepted\n", accepted, ROUNDS);
    assert_true(accepted >= ACCEPTED_MIN);
}

static void more_records_than_a_table_has_room_for_are_an_error(void **state)
{
    (void)state;
    static struct conf c;
    static struct server_params p;
    static const char text[] = "[memory]\ntime_wait = 1000000000\ntime_wait6 = 1000000000\n"
                               "[port p]\ndriver = ring\naddress = 10.0.0.1/24\n";
    struct conf_errors errors;
    struct err err = {.text = ""};
    const struct conf_host host = host_of(2);
    conf_errors_init(&errors);
    assert_int_equal(conf_load_text(&c, &host, "f", text, strlen(text), NULL, 0, &errors), 0);
    assert_int_equal(server_params_from(&p, &c, apps, &err), -1);
    assert_non_null(strstr(err.text, "time_wait"));
    conf_errors_free(&errors);
}

// extreme_of: one key of [memory] or [tcp] at one value. Refused: the error names the key and the
// line; or, by what depends on several keys, a key. Taken: the plan is computed.
static bool extreme_of(const struct key *k, const char *value)
{
    static struct conf c;
    static struct server_params p;
    struct conf_errors errors;
    struct text t;
    struct err err = {.text = ""};
    char want[128];
    const struct conf_host host = host_of(4);
    text_init(&t, 4096);
    text_printf(&t, "[%s]\n%s = %s\n[port p]\ndriver = ring\naddress = 10.0.0.1/24\n",
                conf_sections[k->section].name, k->name, value);
    conf_errors_init(&errors);
    const bool loaded = conf_load_text(&c, &host, "f", text_str(&t), t.len, NULL, 0, &errors) == 0;
    snprintf(want, sizeof(want), "f:2: %s: ", k->name);
    if (!loaded && strstr(text_str(&errors.lines), want) == NULL &&
        strncmp(text_str(&errors.lines), "f:1: ", 5) != 0)  // of a key that another one contradicts
        fail_msg("%s = %s: %s", k->name, value, text_str(&errors.lines));
    const bool taken = loaded && server_params_from(&p, &c, apps, &err) == 0;
    if (loaded && !taken && (err.text[0] == '\0' || strncmp(err.key, "memory.", 7) != 0))
        fail_msg("%s = %s: %s: %s", k->name, value, err.key, err.text);
    if (taken)
        plan(&p);
    conf_errors_free(&errors);
    text_free(&t);
    return taken;
}

static void each_extreme_of_a_number_is_taken_or_refused_by_name(void **state)
{
    (void)state;
    static const char *const values[] = {"0",
                                         "1",
                                         "-1",
                                         "-0",
                                         "+1",
                                         "2147483647",
                                         "2147483648",
                                         "4294967295",
                                         "4294967296",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "99999999999999999999999999999999",
                                         "1000000000",
                                         "4294967296M",
                                         "18014398509481984k",
                                         "17179869184G",
                                         "1e9",
                                         "0x10",
                                         "1.5",
                                         "M"};
    char text[32];
    unsigned keys = 0, taken = 0;
    for (unsigned i = 0; i < conf_n_keys; i++) {
        const struct key *k = &conf_keys[i];
        if ((k->section != SECTION_memory && k->section != SECTION_tcp) || k->type > KEY_MS)
            continue;
        for (unsigned v = 0; v < ARRAY_LEN(values); v++)
            taken += extreme_of(k, values[v]);
        const uint64_t ends[] = {k->min - 1, k->min, k->min + 1, k->max - 1, k->max, k->max + 1};
        for (unsigned v = 0; v < ARRAY_LEN(ends); v++) {
            snprintf(text, sizeof(text), "%" PRIu64, ends[v]);
            taken += extreme_of(k, text);
        }
        keys++;
    }
    assert_true(keys >= 25);
    assert_true(taken >= 2 * keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_check_takes_plan_can_compute),
        cmocka_unit_test(each_extreme_of_a_number_is_taken_or_refused_by_name),
        cmocka_unit_test(more_records_than_a_table_has_room_for_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
