// SPDX-License-Identifier: BSD-3-Clause
// Reloads of files from the operator's order to the release of what was replaced: the order of the
// steps, what is refused, and what waits for whom.
#include <errno.h>
#include <unistd.h>

#include "c10m/reload.h"
#include "check.h"
#include "ctl/steering/steering_internal.h"
#include "steering_env.h"

enum { TEXT_BYTES = 8192, TURNS_MAX = 5000 };

static struct steering_env *env;
static char text[TEXT_BYTES];

// What the application does, and what it was asked to do. The helper thread writes `reads` and
// `released`, which are read when it has ended or is held.
static struct {
    struct shared_bool hold;  // `read` waits
    struct shared_u32 reads, released;
    int results[4];  // of `read`, one after the other
    unsigned shows, unused;
    unsigned olds;  // objects that `unused` still returns
    bool in_order;  // every step came when it may
} app;

static int read_files(struct c10m_service *s, void **made, char *out, size_t bytes)
{
    while (shared_bool_load(&app.hold) && !c10m_reload_stopping(s))
        usleep(1000);
    const uint32_t n = shared_u32_load(&app.reads);
    const int rc = app.results[n];
    *made = &app;
    snprintf(out, bytes, "reason %u", n);
    shared_u32_store(&app.reads, n + 1);
    return rc;
}

static void show_files(struct c10m_service *s, void *made, char *out, size_t bytes)
{
    app.in_order &= made == &app && strcmp(s->name, "web") == 0;
    app.shows++;
    snprintf(out, bytes, "shown %u", app.shows);
}

static void *unused_files(struct c10m_service *s)
{
    app.unused++;
    return app.olds == 0 ? NULL : &((char *)&app)[app.olds--];
}

static void release_files(struct c10m_service *s, void *object)
{
    shared_u32_store(&app.released, shared_u32_load(&app.released) + 1);
}

static void shown_conn(struct c10m_conn *c) {}

static const struct c10m_reload reload = {read_files, show_files, shown_conn, unused_files,
                                          release_files};
static const struct c10m_app with_files = {.name = "files", .reload = &reload};

static int begin(void **state)
{
    log_set_level(LOG_ERROR);
    memset(&app, 0, sizeof(app));
    app.in_order = true;
    steering_env_app = &with_files;
    env = steering_env_new(NULL);
    return 0;
}

static int end(void **state)
{
    steering_env_free(env);
    return 0;
}

static int put(const char *path, const char *line)
{
    return steering_env_write(env, steering_env_node(env, path), line, strlen(line));
}

static bool shows(const char *path, const char *what)
{
    steering_env_read(env, steering_env_node(env, path), text, sizeof(text));
    return strstr(text, what) != NULL;
}

// Looks until the file says it.
static void until(const char *path, const char *what)
{
    for (unsigned i = 0; !shows(path, what); i++) {
        if (i == TURNS_MAX)
            fail_msg("%s does not say: %s\n%s", path, what, text);
        ctl_loop_turn(&env->loop, 10);
        ctl_steering_look(env->steering);
    }
}

static void until_released(uint32_t n)
{
    for (unsigned i = 0; shared_u32_load(&app.released) != n && i < TURNS_MAX; i++) {
        ctl_loop_turn(&env->loop, 10);
        ctl_steering_look(env->steering);
    }
    assert_int_equal(shared_u32_load(&app.released), n);
}

static const char file[] = "ctl/services/web/reload";

static void an_order_is_read_and_shown_and_what_it_replaces_released(void **state)
{
    app.olds = 2;
    assert_int_equal(put(file, "now"), 0);
    until(file, "state idle\nreloads 1\nfailed 0\nresult: shown 1\n");
    assert_int_equal(shared_u32_load(&app.reads), 1);
    assert_int_equal(app.shows, 1);
    until_released(2);
    assert_true(app.in_order);
}

static void only_services_with_files_have_the_file(void **state)
{
    assert_null(steering_env_node(env, "ctl/services/echo/reload"));
    assert_int_equal(put(file, "later"), -EINVAL);
    assert_int_equal(put(file, "now please"), -EINVAL);
    assert_true(shows(file, "state idle\nreloads 0\nfailed 0\n"));
}

static void while_files_are_read_the_tree_answers_and_a_second_order_is_refused(void **state)
{
    shared_bool_store(&app.hold, true);
    assert_int_equal(put(file, "now"), 0);
    assert_int_equal(put(file, "now"), -EBUSY);
    until(file, "state reading\n");
    for (int i = 0; i < 20; i++)
        ctl_steering_look(env->steering);
    assert_int_equal(put(file, "now"), -EBUSY);
    assert_int_equal(app.unused, 1);  // not beside `read`; once before it
    assert_true(shows("ctl/reload", "files web under way\n"));
    shared_bool_store(&app.hold, false);
    until(file, "state idle\nreloads 1\n");
    assert_true(shows("ctl/reload", "files web: shown 1\n"));
}

// A signal cannot be refused, and files may have changed behind the reading.
static void a_signal_while_files_are_read_reads_them_again(void **state)
{
    shared_bool_store(&app.hold, true);
    assert_int_equal(put(file, "now"), 0);
    until(file, "state reading\n");
    ctl_steering_files_reload(env->steering->files);
    shared_bool_store(&app.hold, false);
    until(file, "reloads 2\n");
    assert_int_equal(shared_u32_load(&app.reads), 2);
}

static void a_failure_says_why_and_shows_nothing(void **state)
{
    app.results[0] = -1;
    assert_int_equal(put(file, "now"), 0);
    until(file, "state idle\nreloads 0\nfailed 1\nerror: reason 0\n");
    assert_int_equal(app.shows, 0);
    assert_true(shows("ctl/reload", "error service web: reason 0\n"));
    assert_int_equal(put(file, "now"), 0);
    until(file, "state idle\nreloads 1\nfailed 1\nresult: shown 1\n");
}

static void without_room_it_is_tried_once_more_after_releases(void **state)
{
    app.results[0] = C10M_RELOAD_LATER;
    app.olds = 1;
    assert_int_equal(put(file, "now"), 0);
    until(file, "state idle\nreloads 1\nfailed 0\nresult: shown 1\n");
    assert_int_equal(shared_u32_load(&app.reads), 2);
    assert_int_equal(shared_u32_load(&app.released), 1);
}

static void without_room_twice_it_fails(void **state)
{
    app.results[0] = app.results[1] = C10M_RELOAD_LATER;
    assert_int_equal(put(file, "now"), 0);
    until(file, "state idle\nreloads 0\nfailed 1\nerror: reason 1\n");
    assert_int_equal(put(file, "now"), 0);
    until(file, "state idle\nreloads 1\nfailed 1\n");
}

static void a_stop_ends_the_reading_and_frees_what_was_read(void **state)
{
    shared_bool_store(&app.hold, true);
    assert_int_equal(put(file, "now"), 0);
    until(file, "state reading\n");
    steering_env_free(env);
    assert_int_equal(shared_u32_load(&app.reads), 1);
    assert_int_equal(shared_u32_load(&app.released), 1);
    assert_int_equal(app.shows, 0);
    begin(state);
}

// A worker that the test plays.
static struct worker *worker;

static int begin_worker(void **state)
{
    begin(state);
    ctl_steering_files_free(env->steering->files);
    orders_free(env->steering->orders);
    worker = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*worker), CACHE_LINE));
    memset(worker, 0, sizeof(*worker));
    env->server.workers[0] = worker;
    env->server.params.n_workers = 1;
    env->steering->orders = orders_new(&env->server);
    env->steering->files = ctl_steering_files_new(env->steering);
    return 0;
}

static int end_worker(void **state)
{
    env->server.params.n_workers = 0;
    end(state);
    free(worker);
    return 0;
}

// Waits until the worker has an order in its slot.
static enum order_kind next_order(void)
{
    struct order_box *box = &worker->box;
    for (unsigned i = 0; shared_u32_load(&box->asked) == shared_u32_load(&box->done); i++) {
        assert_true(i < TURNS_MAX);
        ctl_loop_turn(&env->loop, 10);
        ctl_steering_look(env->steering);
    }
    return box->order.kind;
}

static void ordered(enum order_kind kind)
{
    assert_int_equal(next_order(), kind);
}

static void answered(void)
{
    shared_u32_store_release(&worker->box.done, shared_u32_load(&worker->box.asked));
}

static void look_often(void)
{
    for (int i = 0; i < 20; i++) {
        ctl_loop_turn(&env->loop, 10);
        ctl_steering_look(env->steering);
    }
}

static void nothing_is_released_before_each_worker_has_told_and_ended_a_turn(void **state)
{
    assert_int_equal(put(file, "now"), 0);
    until(file, "state idle\nreloads 1\n");
    app.olds = 1;
    const unsigned before = app.unused;
    ordered(ORDER_SHOWN);
    assert_int_equal(worker->box.order.services, 1);
    look_often();
    assert_int_equal(app.unused, before);  // a worker may still begin with the replaced object
    answered();
    ordered(ORDER_TURN);
    assert_int_equal(app.unused, before + 1);
    look_often();
    assert_int_equal(shared_u32_load(&app.released), 0);  // a segment may still refer to it
    answered();
    until_released(1);
}

static void a_reload_that_is_shown_meanwhile_is_told_of_by_another_order(void **state)
{
    assert_int_equal(put(file, "now"), 0);
    until(file, "state idle\nreloads 1\n");
    ordered(ORDER_SHOWN);
    assert_int_equal(put(file, "now"), 0);
    until(file, "state idle\nreloads 2\n");
    app.olds = 1;
    const unsigned before = app.unused;
    answered();
    // The first order lasted too long and may have been given again before the second reload.
    unsigned told = 0;
    for (; next_order() == ORDER_SHOWN; told++) {
        assert_int_equal(app.unused, before);
        answered();
    }
    assert_in_range(told, 1, 2);
    ordered(ORDER_TURN);
    answered();
    until_released(1);
}

int main(void)
{
#define WITH(test)   cmocka_unit_test_setup_teardown(test, begin, end)
#define WORKER(test) cmocka_unit_test_setup_teardown(test, begin_worker, end_worker)
    const struct CMUnitTest tests[] = {
        WITH(an_order_is_read_and_shown_and_what_it_replaces_released),
        WITH(only_services_with_files_have_the_file),
        WITH(while_files_are_read_the_tree_answers_and_a_second_order_is_refused),
        WITH(a_signal_while_files_are_read_reads_them_again),
        WITH(a_failure_says_why_and_shows_nothing),
        WITH(without_room_it_is_tried_once_more_after_releases),
        WITH(without_room_twice_it_fails),
        WITH(a_stop_ends_the_reading_and_frees_what_was_read),
        WORKER(nothing_is_released_before_each_worker_has_told_and_ended_a_turn),
        WORKER(a_reload_that_is_shown_meanwhile_is_told_of_by_another_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
