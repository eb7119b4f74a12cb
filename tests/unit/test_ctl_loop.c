// SPDX-License-Identifier: BSD-3-Clause
// Claims about the control thread's loop.
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "ctl/event_loop.h"
#include "unit/check.h"

static struct ctl_loop loop;
static struct err e;

// seen: what the callbacks of one source have seen.
struct seen {
    int fd, calls, signals[8];
    uint64_t periods;
    int remove_fd;     // removed by the callback, if not 0
    struct seen *add;  // then added by it, if not NULL
    bool stop, drain;
};

static void on_fd(void *arg, uint32_t events)
{
    struct seen *s = arg;
    uint64_t n;
    s->calls++;
    if (s->drain)
        assert_int_equal(read(s->fd, &n, sizeof(n)), sizeof(n));
    if (s->remove_fd != 0)
        ctl_loop_remove(&loop, s->remove_fd);
    if (s->add != NULL)
        assert_int_equal(ctl_loop_add(&loop, s->add->fd, EPOLLIN, on_fd, s->add, &e), 0);
    if (s->stop)
        ctl_loop_stop(&loop);
}

static void on_timer(void *arg, uint64_t periods)
{
    struct seen *s = arg;
    s->calls++;
    s->periods += periods;
    if (s->calls == 3)
        ctl_loop_stop(&loop);
}

static void on_signal(void *arg, int signal_number)
{
    struct seen *s = arg;
    s->signals[s->calls++] = signal_number;
}

static int setup(void **state)
{
    return ctl_loop_init(&loop, &e);
}

static int teardown(void **state)
{
    ctl_loop_fini(&loop);
    return 0;
}

static int raised(void)
{
    int fd = eventfd(1, EFD_NONBLOCK);
    assert_true(fd >= 0);
    return fd;
}

static void a_ready_fd_is_called_and_called_again_until_it_is_read(void **state)
{
    struct seen s = {.fd = raised()};
    assert_int_equal(ctl_loop_add(&loop, s.fd, EPOLLIN, on_fd, &s, &e), 0);
    assert_int_equal(ctl_loop_turn(&loop, 0), 1);
    assert_int_equal(ctl_loop_turn(&loop, 0), 1);
    s.drain = true;
    assert_int_equal(ctl_loop_turn(&loop, 0), 1);
    assert_int_equal(ctl_loop_turn(&loop, 0), 0);
    assert_int_equal(s.calls, 3);
    ctl_loop_remove(&loop, s.fd);
    close(s.fd);
}

static void a_source_removed_by_an_earlier_callback_of_the_same_turn_is_not_called(void **state)
{
    struct seen a = {.fd = raised()}, b = {.fd = raised()};
    a.remove_fd = b.fd;
    b.remove_fd = a.fd;
    assert_int_equal(ctl_loop_add(&loop, a.fd, EPOLLIN, on_fd, &a, &e), 0);
    assert_int_equal(ctl_loop_add(&loop, b.fd, EPOLLIN, on_fd, &b, &e), 0);
    assert_int_equal(ctl_loop_turn(&loop, 0), 1);
    assert_int_equal(a.calls + b.calls, 1);
    assert_int_equal(ctl_loop_turn(&loop, 0), 1);
    assert_int_equal(a.calls * b.calls, 0);
    close(a.fd);
    close(b.fd);
}

static void a_source_in_the_place_of_a_removed_one_does_not_get_its_event(void **state)
{
    struct seen quiet = {.fd = eventfd(0, EFD_NONBLOCK)};
    struct seen a = {.fd = raised(), .add = &quiet}, b = {.fd = raised(), .add = &quiet};
    a.remove_fd = b.fd;
    b.remove_fd = a.fd;
    assert_int_equal(ctl_loop_add(&loop, a.fd, EPOLLIN, on_fd, &a, &e), 0);
    assert_int_equal(ctl_loop_add(&loop, b.fd, EPOLLIN, on_fd, &b, &e), 0);
    assert_int_equal(ctl_loop_turn(&loop, 0), 1);
    assert_int_equal(a.calls + b.calls, 1);
    assert_int_equal(quiet.calls, 0);
    close(a.fd);
    close(b.fd);
    close(quiet.fd);
}

static void a_callback_may_remove_its_own_source(void **state)
{
    struct seen s = {.fd = raised()};
    s.remove_fd = s.fd;
    assert_int_equal(ctl_loop_add(&loop, s.fd, EPOLLIN, on_fd, &s, &e), 0);
    assert_int_equal(ctl_loop_turn(&loop, 0), 1);
    assert_int_equal(ctl_loop_turn(&loop, 0), 0);
    close(s.fd);
}

static void one_turn_calls_at_most_its_limit_and_starves_nobody(void **state)
{
    enum { N = CTL_SOURCES_MAX };
    static struct seen s[N];
    for (int i = 0; i < N; i++) {
        s[i] = (struct seen){.fd = raised()};
        assert_int_equal(ctl_loop_add(&loop, s[i].fd, EPOLLIN, on_fd, &s[i], &e), 0);
    }
    for (int i = 0; i < N / CTL_EVENTS_A_WAKE; i++)
        assert_int_equal(ctl_loop_turn(&loop, 0), CTL_EVENTS_A_WAKE);
    for (int i = 0; i < N; i++) {
        assert_int_equal(s[i].calls, 1);
        close(s[i].fd);
    }
}

static void a_full_loop_refuses_with_words_and_takes_again_after_a_removal(void **state)
{
    int fds[CTL_SOURCES_MAX + 1];
    for (int i = 0; i <= CTL_SOURCES_MAX; i++) {
        fds[i] = raised();
        e.text[0] = '\0';
        int rc = ctl_loop_add(&loop, fds[i], EPOLLIN, on_fd, NULL, &e);
        assert_int_equal(rc, i == CTL_SOURCES_MAX ? -1 : 0);
    }
    assert_non_null(strstr(e.text, "all 96 slots"));
    assert_int_equal(ctl_loop_timer(&loop, 1, on_timer, NULL, &e), -1);
    ctl_loop_remove(&loop, fds[7]);
    assert_int_equal(ctl_loop_add(&loop, fds[CTL_SOURCES_MAX], EPOLLIN, on_fd, NULL, &e), 0);
    for (int i = 0; i <= CTL_SOURCES_MAX; i++)
        close(fds[i]);
}

static void misuse_is_refused_with_words(void **state)
{
    int fd = raised();
    assert_int_equal(ctl_loop_add(&loop, -1, EPOLLIN, on_fd, NULL, &e), -1);
    assert_int_equal(ctl_loop_add(&loop, 999, EPOLLIN, on_fd, NULL, &e), -1);
    assert_int_equal(ctl_loop_add(&loop, fd, EPOLLIN, on_fd, NULL, &e), 0);
    e.text[0] = '\0';
    assert_int_equal(ctl_loop_add(&loop, fd, EPOLLIN, on_fd, NULL, &e), -1);
    assert_non_null(strstr(e.text, "registered already"));
    assert_int_equal(ctl_loop_timer(&loop, 0, on_timer, NULL, &e), -1);
    ctl_loop_remove(&loop, 999);
    ctl_loop_remove(&loop, -1);
    close(fd);
}

static void fini_twice_and_of_a_zeroed_loop_does_nothing(void **state)
{
    struct ctl_loop zero = {0};
    ctl_loop_fini(&zero);
    ctl_loop_fini(&loop);
    ctl_loop_fini(&loop);
}

static void a_timer_comes_again_until_the_run_is_stopped(void **state)
{
    struct seen s = {0};
    int fd = ctl_loop_timer(&loop, 2, on_timer, &s, &e);
    assert_true(fd >= 0);
    assert_int_equal(ctl_loop_run(&loop), 0);
    assert_int_equal(s.calls, 3);
    assert_true(s.periods >= 3);
    ctl_loop_remove(&loop, fd);
    assert_int_equal(ctl_loop_turn(&loop, 20), 0);
}

static void a_late_timer_tells_how_many_periods_have_passed(void **state)
{
    struct seen s = {0};
    assert_true(ctl_loop_timer(&loop, 1, on_timer, &s, &e) >= 0);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_int_equal(ctl_loop_turn(&loop, 0), 1);
    assert_int_equal(s.calls, 1);
    assert_true(s.periods >= 15);
}

static void each_of_the_three_signals_reaches_its_callback(void **state)
{
    struct seen s = {0};
    assert_int_equal(ctl_loop_signals(&loop, on_signal, &s, &e), 0);
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
    for (int i = 0; i < 3; i++) {
        raise(numbers[i]);
        assert_int_equal(ctl_loop_turn(&loop, 1000), 1);
        assert_int_equal(s.calls, i + 1);
        assert_int_equal(s.signals[i], numbers[i]);
    }
    assert_int_equal(ctl_loop_signals(&loop, on_signal, &s, &e), -1);
}

static void fini_gives_back_the_signal_mask(void **state)
{
    sigset_t before, during, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(ctl_loop_signals(&loop, on_signal, NULL, &e), 0);
    pthread_sigmask(SIG_BLOCK, NULL, &during);
    assert_true(sigismember(&during, SIGTERM));
    assert_false(sigismember(&during, SIGIO));
    ctl_loop_fini(&loop);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

static void stop_leaves_the_rest_of_the_turn_for_the_next_run(void **state)
{
    struct seen a = {.fd = raised(), .stop = true, .drain = true};
    struct seen b = {.fd = raised(), .stop = true, .drain = true};
    assert_int_equal(ctl_loop_add(&loop, a.fd, EPOLLIN, on_fd, &a, &e), 0);
    assert_int_equal(ctl_loop_add(&loop, b.fd, EPOLLIN, on_fd, &b, &e), 0);
    assert_int_equal(ctl_loop_run(&loop), 0);
    assert_int_equal(a.calls + b.calls, 1);
    assert_int_equal(ctl_loop_run(&loop), 0);
    assert_int_equal(a.calls * b.calls, 1);
    ctl_loop_stop(&loop);
    assert_int_equal(ctl_loop_run(&loop), 0);
    close(a.fd);
    close(b.fd);
}

#define LOOP_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(a_ready_fd_is_called_and_called_again_until_it_is_read),
        LOOP_TEST(a_source_removed_by_an_earlier_callback_of_the_same_turn_is_not_called),
        LOOP_TEST(a_source_in_the_place_of_a_removed_one_does_not_get_its_event),
        LOOP_TEST(a_callback_may_remove_its_own_source),
        LOOP_TEST(one_turn_calls_at_most_its_limit_and_starves_nobody),
        LOOP_TEST(a_full_loop_refuses_with_words_and_takes_again_after_a_removal),
        LOOP_TEST(misuse_is_refused_with_words),
        LOOP_TEST(fini_twice_and_of_a_zeroed_loop_does_nothing),
        LOOP_TEST(a_timer_comes_again_until_the_run_is_stopped),
        LOOP_TEST(a_late_timer_tells_how_many_periods_have_passed),
        LOOP_TEST(each_of_the_three_signals_reaches_its_callback),
        LOOP_TEST(fini_gives_back_the_signal_mask),
        LOOP_TEST(stop_leaves_the_rest_of_the_turn_for_the_next_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
