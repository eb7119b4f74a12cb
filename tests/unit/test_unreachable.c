// SPDX-License-Identifier: BSD-3-Clause
// Neighbors that never answer: what connections to them hear of it, through real turns of workers.
#include <errno.h>
#include <string.h>

#include "c10m/socket.h"
#include "hosts.h"
#include "pkt_env.h"

enum { US, PEER, MANY = 40 };

static struct {
    unsigned closed, opened, n;
    enum c10m_close why[MANY];
    int error[MANY], rc;
    uint64_t after_ms[MANY];
    uint8_t first;  // last byte of the first address that is called
    bool v6;
} seen;

static struct hosts *h;

static void on_open(struct c10m_conn *c)
{
    seen.opened++;
}

static void on_close(struct c10m_conn *c, enum c10m_close why)
{
    seen.error[seen.closed] = c10m_error(c);
    seen.after_ms[seen.closed] = c10m_now_us(c) / 1000 - 1000;
    seen.why[seen.closed++] = why;
}

static size_t on_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return len;
}

static void no_thread(struct c10m_service *s) {}

static void call_them(struct c10m_core *w, struct c10m_service *s, void *msg)
{
    struct c10m_conn *c;
    for (unsigned i = 0; i < seen.n; i++) {
        const struct ip_addr to = seen.v6 ? (struct ip_addr){{0xfd, [15] = (uint8_t)(77 + i)}}
                                          : ip_from_v4(HOSTS_V4 + 76 + i);
        struct c10m_opening o = {.to = {.port = HOSTS_PORT}};
        memcpy(o.to.addr, to.b, sizeof(to.b));
        // The next message finds room for more connections than one does.
        assert_int_equal(c10m_open(w, s, &o, i < 16 ? &c : NULL), 0);
    }
}

static const struct c10m_app reader = {.name = "reader",
                                       .open = on_open,
                                       .close = on_close,
                                       .thread = no_thread,
                                       .message = call_them};
static const struct c10m_app taker = {.name = "taker",
                                      .open = on_open,
                                      .close = on_close,
                                      .data = on_data,
                                      .thread = no_thread,
                                      .message = call_them};

static void call(const struct c10m_app *app, unsigned n, bool v6)
{
    const struct c10m_app *const apps[2][3] = {{app}, {&taker}};
    memset(&seen, 0, sizeof(seen));
    seen.n = n;
    seen.v6 = v6;
    h = hosts_new(apps, NULL);
    assert_true(c10m_post(&h->e[US].server.services[0], 0, &seen));
}

static void finish(void)
{
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(stat_balance(h->e[i].w->stats), 0);
    hosts_free(h);
}

static void an_open_to_nobody_ends_by_host_unreachable_after_three_requests(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        call(&reader, 1, v6);
        hosts_run(h, 2800);
        assert_int_equal(seen.closed, 0);
        hosts_run(h, 1000);
        assert_int_equal(seen.closed, 1);
        assert_int_equal(seen.opened, 0);
        assert_int_equal(seen.why[0], C10M_UNREACHABLE);
        assert_int_equal(seen.error[0], EHOSTUNREACH);
        assert_in_range(seen.after_ms[0], 2900, 3500);
        finish();
    }
}

static void an_application_that_takes_what_comes_hears_of_it_when_the_open_times_out(void **state)
{
    call(&taker, 1, false);
    hosts_run(h, 5000);
    assert_int_equal(seen.closed, 0);  // the next SYN may find it (RFC 1122 4.2.3.9)
    assert_in_range(h->e[US].w->stats->c.icmp_noted, 1,
                    3);  // a SYN that was sent again waited, too
    finish();
}

static void
of_more_than_can_be_told_at_once_the_others_hear_later_and_none_is_forgotten(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        call(&reader, MANY, v6);
        hosts_run(h, 20000);
        assert_int_equal(seen.closed, MANY);
        for (unsigned i = 0; i < MANY; i++)
            assert_int_equal(seen.error[i], EHOSTUNREACH);
        finish();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_to_nobody_ends_by_host_unreachable_after_three_requests),
        cmocka_unit_test(an_application_that_takes_what_comes_hears_of_it_when_the_open_times_out),
        cmocka_unit_test(
            of_more_than_can_be_told_at_once_the_others_hear_later_and_none_is_forgotten),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
