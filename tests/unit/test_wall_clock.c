// SPDX-License-Identifier: BSD-3-Clause
// The workers' time of day, by clocks that a test plays: a TSC at another rate than was measured at
// the start, and a host's clock that is set.
#include "check.h"
#include "hosts.h"
#include "pkt_env.h"
#include "server/wall_clock.h"
#include "sock/sock_internal.h"

enum { STEP_S = 60, DAYS = 3 };

#define START_UNIX_US 1795439648000000ull

static const struct c10m_app app = {.name = "none"};

static struct hosts *h;

// at: `us` after the start by the host's clock, the TSC being ppm faster than was measured: turns
// until the worker has looked.
static void at(uint64_t us, int ppm, int64_t set_us)
{
    struct worker *w = h->e[0].w;
    const uint64_t hz = worker_tsc_hz(w);
    const uint64_t real_hz = (uint64_t)((double)hz * (1 + ppm / 1e6));
    const uint64_t tsc = w->clock.start_tsc + (uint64_t)((unsigned __int128)us * real_hz / 1000000);
    server_wall_set(&h->e[0].server, START_UNIX_US + us + (uint64_t)set_us, tsc);
    h->now_us = worker_now(&w->clock, tsc).us;
    for (unsigned i = 0; i < WORKER_HOUSE_TURNS; i++)
        hosts_turn(h, 0);
}

static uint64_t unix_us(void)
{
    const struct c10m_conn c = {.k = &h->e[0].w->sock};
    return c10m_unix_us(&c);
}

static void assert_close(uint64_t a, uint64_t b, uint64_t most)
{
    const uint64_t apart = a < b ? b - a : a - b;
    if (apart > most)
        print_error("%lld us apart\n", (long long)(a - b));
    assert_true(apart <= most);
}

static void begin(void)
{
    const struct c10m_app *const apps[2][3] = {{&app}, {&app}};
    h = hosts_new(apps, NULL);
}

static void a_tsc_at_another_rate_moves_the_time_of_day_by_nothing_in_days(void **state)
{
    static const int ppm[] = {-250, -1, 0, 1, 80, 250};
    for (unsigned i = 0; i < ARRAY_LEN(ppm); i++) {
        begin();
        uint64_t last_us = 0;
        for (uint64_t s = 0; s < DAYS * 86400ull; s += STEP_S) {
            at(s * 1000000, ppm[i], 0);
            assert_close(unix_us(), START_UNIX_US + s * 1000000, 1000);
            assert_true(h->now_us >= last_us);
            last_us = h->now_us;
            h->now_us += 30000000;  // half a minute later, before anybody has looked again
            hosts_turn(h, 0);
            assert_close(unix_us(), START_UNIX_US + s * 1000000 + 30000000, 20000);
        }
        hosts_free(h);
    }
}

static void a_clock_that_is_set_is_followed_and_the_protocol_clock_is_not(void **state)
{
    static const int64_t set_s[] = {0, 3600, -3600, 86400 * 365, -86400 * 365, 1, 0};
    begin();
    for (unsigned i = 0; i < ARRAY_LEN(set_s); i++) {
        const uint64_t us = (i + 100) * 1000000ull, before_us = h->now_us;
        at(us, 0, set_s[i] * 1000000);
        assert_close(unix_us(), START_UNIX_US + us + (uint64_t)(set_s[i] * 1000000), 1000);
        assert_close(h->e[0].w->tcp.now.us, us, 1000);
        assert_true(h->e[0].w->tcp.now.us >= before_us);
    }
    hosts_free(h);
}

static void the_hosts_clock_is_what_it_follows(void **state)
{
    begin();
    struct worker *w = h->e[0].w;
    for (unsigned i = 0; i < 3; i++) {
        struct timespec before, after;
        clock_gettime(CLOCK_REALTIME, &before);
        server_wall_follow(&h->e[0].server);
        const uint64_t tsc = tsc_read();
        clock_gettime(CLOCK_REALTIME, &after);
        h->now_us = worker_now(&w->clock, tsc).us;
        for (unsigned k = 0; k < WORKER_HOUSE_TURNS; k++)
            hosts_turn(h, 0);
        assert_in_range(unix_us() / 1000000, (uint64_t)before.tv_sec - 1,
                        (uint64_t)after.tv_sec + 1);
    }
    hosts_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tsc_at_another_rate_moves_the_time_of_day_by_nothing_in_days),
        cmocka_unit_test(a_clock_that_is_set_is_followed_and_the_protocol_clock_is_not),
        cmocka_unit_test(the_hosts_clock_is_what_it_follows),
    };
    pkt_env_start(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
