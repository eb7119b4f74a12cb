// SPDX-License-Identifier: BSD-3-Clause
// The files of ctl/: what they take, what they refuse, what they say.
#include <errno.h>
#include <unistd.h>

#include "check.h"
#include "conf/live.h"
#include "ctl/steering/steering_internal.h"
#include "server/conn_filter.h"
#include "steering_env.h"

enum { TEXT_BYTES = 8192 };

static struct steering_env *env;
static char text[TEXT_BYTES], before[TEXT_BYTES];

static int put(const char *path, const char *line)
{
    struct tree_node *n = steering_env_node(env, path);
    assert_non_null(n);
    return steering_env_write(env, n, line, strlen(line));
}

static const char *get(const char *path)
{
    struct tree_node *n = steering_env_node(env, path);
    assert_non_null(n);
    return steering_env_read(env, n, text, sizeof(text));
}

static bool shows(const char *path, const char *what)
{
    return strstr(get(path), what) != NULL;
}

static int begin(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    env = steering_env_new(NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    steering_env_free(env);
    return 0;
}

static unsigned n_files;

// Of every file below dir: `each`, with its path.
static void walk(struct tree_node *dir, const char *path, void (*each)(const char *path))
{
    struct tree_handle *h;
    struct tree_dirent d;
    assert_int_equal(tree_open(&env->session, dir, TREE_READ, &h), 0);
    assert_int_equal(tree_list(h), 0);
    for (uint64_t pos = 0; tree_next(h, &pos, &d);) {
        char name[256];
        snprintf(name, sizeof(name), "%s/%s", path, d.name);
        if (d.kind == TREE_DIR)
            walk(tree_lookup(dir, d.name), name, each);
        else
            each(name);
    }
    tree_close(h);
}

static void has_help(const char *path)
{
    n_files++;
    assert_int_equal(strncmp(get(path), "# ", 2), 0);
    assert_int_equal(tree_stat(steering_env_node(env, path)).mode, 0644);
}

static void every_file_can_be_written_and_shows_its_help(void **state)
{
    n_files = 0;
    walk(tree_root(env->tree), "", has_help);
    assert_in_range(n_files, 30, 200);
}

static void refuses_nonsense(const char *path)
{
    static const char nul[] = "all\0", two[] = "all\nall\n";
    struct tree_node *n = steering_env_node(env, path);
    static char longest[STEERING_LINE_BYTES + 1];
    memset(longest, 'x', sizeof(longest));
    snprintf(before, sizeof(before), "%s", get(path));
    assert_int_equal(put(path, "\n"), -EINVAL);
    assert_int_equal(put(path, " \t "), -EINVAL);
    assert_int_equal(put(path, "nonsense"), -EINVAL);
    assert_int_equal(put(path, "a b c d e f g h i j k l m n o p q r s t u v w x y z"), -EINVAL);
    assert_int_equal(put(path, "\x1b[31m"), -EINVAL);
    assert_int_equal(steering_env_write(env, n, nul, sizeof(nul)), -EINVAL);
    assert_int_equal(steering_env_write(env, n, two, sizeof(two) - 1), -EINVAL);
    assert_int_equal(steering_env_write(env, n, longest, sizeof(longest)), -EINVAL);
    assert_string_equal(get(path), before);
}

static void no_file_takes_nonsense_or_changes_by_it(void **state)
{
    walk(tree_root(env->tree), "", refuses_nonsense);
}

static void kill_takes_what_its_help_says(void **state)
{
    static const char *const good[] = {
        "all\n",
        "10.0.0.1:1234 10.0.0.2:80",
        "10.0.0.2:80 10.0.0.1:1234",
        "[fd00::1]:1234 [fd00::2]:80",
        "local 10.0.0.2",
        "local 10.0.0.2:80",
        "local *:80",
        "remote 10.0.0.0/8",
        "remote 10.0.0.0/8:1234",
        "remote [fd00::/16]:9",
        "remote fd00::/16",
        "remote *:9",
        "state established",
        "state CLOSE_WAIT",
        "service web",
        "idle 300",
        "  local *:80  remote 10.0.0.0/8\tstate FIN_WAIT_2 idle 1\n"};
    for (unsigned i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(put("ctl/conn/kill", good[i]), 0);
        assert_true(shows("ctl/conn/kill", "last: under way"));
        assert_int_equal(put("ctl/conn/kill", good[i]), -EBUSY);
        steering_env_turn(env);
        assert_true(shows("ctl/conn/kill", "last: connections killed: 0 on 0 workers"));
    }
}

static void kill_refuses_the_rest(void **state)
{
    static const struct {
        const char *line;
        int error;
    } bad[] = {{"all all", -EINVAL},
               {"all local 10.0.0.2", -EINVAL},
               {"local", -EINVAL},
               {"local 10.0.0.2 local 10.0.0.2", -EINVAL},
               {"local 10.0.0.0/24", -EINVAL},
               {"local *", -EINVAL},
               {"remote 10.0.0", -EINVAL},
               {"remote 10.0.0.1:", -EINVAL},
               {"remote 10.0.0.1:x", -EINVAL},
               {"remote 10.0.0.1:0", -ERANGE},
               {"remote 10.0.0.1:65536", -ERANGE},
               {"remote 10.0.0.1/33", -ERANGE},
               {"remote fd00::/129", -ERANGE},
               {"remote [fd00::1", -EINVAL},
               {"remote [fd00::1]x", -EINVAL},
               {"state TIME_WAIT", -EINVAL},
               {"state CLOSED", -EINVAL},
               {"state FREE", -EINVAL},
               {"state LISTEN", -EINVAL},
               {"state ?", -EINVAL},
               {"service nobody", -EINVAL},
               {"idle 0", -ERANGE},
               {"idle 3000000", -ERANGE},
               {"idle -1", -EINVAL},
               {"idle 99999999999999999999999", -ERANGE},
               {"10.0.0.1:1 10.0.0.9:2", -EINVAL},
               {"10.0.0.1:1 10.0.0.2", -EINVAL},
               {"10.0.0.1:1 10.0.0.0/24:2", -EINVAL},
               {"10.0.0.1:1 *:2", -EINVAL},
               {"10.0.0.1:1 10.0.0.2:2 all", -EINVAL}};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(put("ctl/conn/kill", bad[i].line), bad[i].error);
    assert_false(shows("ctl/conn/kill", "last:"));
}

static void a_place_is_an_address_a_prefix_a_port_or_both(void **state)
{
    struct conn_end p;
    char a[] = "10.1.2.0/23:443";
    assert_int_equal(conn_end_parse(a, &p), 0);
    assert_true(p.has_addr && p.has_port && p.bits == 23 && p.port == 443);
    assert_int_equal(ip_to_v4(&p.addr), 0x0a010200);
    char b[] = "[fd00::1]:1";
    assert_int_equal(conn_end_parse(b, &p), 0);
    assert_true(p.bits == 128 && p.port == 1 && p.addr.b[0] == 0xfd);
    char c[] = "::1";
    assert_int_equal(conn_end_parse(c, &p), 0);
    assert_true(p.has_addr && !p.has_port);
    char d[] = "";
    assert_int_equal(conn_end_parse(d, &p), -EINVAL);
}

static void drain_begins_ends_and_is_called_off(void **state)
{
    assert_true(shows("ctl/drain", "state serving\nconnections 0\n"));
    assert_int_equal(put("ctl/drain", "start"), 0);
    assert_true(shows("ctl/drain", "state draining\n"));
    assert_true(shows("ctl/drain", "seconds_left 5\n"));
    assert_true(shows("ctl/services/web/state", "state draining\n"));
    assert_int_equal(put("ctl/services/web/state", "open"), -EBUSY);
    steering_env_turn(env);
    assert_true(shows("ctl/drain", "state drained\n"));
    assert_int_equal(put("ctl/drain", "stop"), 0);
    assert_true(shows("ctl/drain", "state serving\n"));
    assert_true(shows("ctl/services/web/state", "state open\n"));
    assert_int_equal(put("ctl/drain", "start 86400"), 0);
    assert_int_equal(put("ctl/drain", "start 86401"), -ERANGE);
    assert_int_equal(put("ctl/drain", "start 1 2"), -EINVAL);
    assert_int_equal(put("ctl/drain", "start -1"), -EINVAL);
    assert_int_equal(put("ctl/drain", "now 1"), -EINVAL);
    assert_int_equal(put("ctl/drain", "stop 1"), -EINVAL);
    assert_int_equal(put("ctl/drain", "now"), 0);
}

// A handshake that was under way ends behind the walk that reset the rest.
static void what_comes_in_behind_the_reset_is_reset_as_well(void **state)
{
    static struct worker w;
    const struct ctl_steering_drain *d = &env->steering->drain;
    w.tcp.n_services = 1;
    w.tcp.services[0].connections = 1;
    env->server.workers[0] = &w;
    env->server.params.n_workers = 1;
    assert_int_equal(put("ctl/drain", "now"), 0);
    steering_env_turn(env);
    assert_true(shows("ctl/drain", "state draining\nconnections 1\nseconds_left 0\n"));
    assert_true(!d->reset && d->again_ms > d->until_ms);
    env->steering->drain.again_ms = 1;  // that time is over
    steering_env_turn(env);
    assert_true(!d->reset && d->again_ms > 1);
    w.tcp.services[0].connections = 0;
    steering_env_turn(env);
    assert_true(shows("ctl/drain", "state drained\n"));
}

static void a_service_keeps_its_state_over_a_drain(void **state)
{
    assert_int_equal(put("ctl/services/echo/state", "closed"), 0);
    assert_true(shows("ctl/services/echo/state", "state closed\n"));
    assert_true(shows("ctl/services/web/state", "state open\n"));
    assert_int_equal(put("ctl/drain", "start"), 0);
    assert_true(shows("ctl/services/echo/state", "state draining\n"));
    assert_int_equal(put("ctl/drain", "stop"), 0);
    assert_true(shows("ctl/services/echo/state", "state closed\n"));
    assert_int_equal(put("ctl/services/echo/state", "Open"), -EINVAL);
    assert_int_equal(put("ctl/services/echo/state", "draining"), 0);
    assert_true(shows("ctl/services/echo/state", "state draining\n"));
}

// A worker of which the test plays the part: it has the state that it was given last.
static struct worker *a_worker(void)
{
    static struct worker w;
    memset(&w, 0, sizeof(w));
    w.tcp.n_services = server_params_of(&env->server)->n_services;
    env->server.workers[0] = &w;
    env->server.params.n_workers = 1;
    return &w;
}

static void a_service_shows_the_state_in_force_and_what_is_pending(void **state)
{
    struct worker *w = a_worker();
    struct tcp_service *echo = &w->tcp.services[ctl_steering_service(env->steering, "echo")];
    static const char file[] = "ctl/services/echo/state";
    assert_int_equal(put(file, "closed"), 0);
    assert_true(shows(file, "state open\npending closed\nconnections 0\n"));
    echo->state = TCP_SERVICE_CLOSED;
    assert_true(shows(file, "state closed\nconnections 0\n"));
    assert_int_equal(put(file, "open"), 0);
    assert_true(shows(file, "state closed\npending open\n"));
    echo->state = TCP_SERVICE_OPEN;
    assert_true(shows(file, "state open\nconnections 0\n"));
    assert_int_equal(put("ctl/drain", "start 60"), 0);
    assert_true(shows(file, "state open\npending draining\n"));
}

static void a_service_that_drained_takes_nobody_any_more(void **state)
{
    struct worker *w = a_worker();
    struct tcp_service *echo = &w->tcp.services[ctl_steering_service(env->steering, "echo")];
    static const char file[] = "ctl/services/echo/state";
    const struct order_settings *s = orders_settings(env->steering->orders);
    const int at = ctl_steering_service(env->steering, "echo");
    echo->connections = 1;
    assert_int_equal(put(file, "draining"), 0);
    echo->state = s->services[at].state;
    ctl_steering_look(env->steering);
    assert_true(shows(file, "state draining\nconnections 1\n"));
    echo->connections = 0;
    ctl_steering_look(env->steering);
    assert_true(shows(file, "state draining\npending drained\n"));
    assert_int_equal(s->services[at].state, TCP_SERVICE_CLOSED);
    echo->connections = 1;  // half-open before the worker had the word
    echo->state = TCP_SERVICE_CLOSED;
    assert_true(shows(file, "state draining\nconnections 1\n"));
    echo->connections = 0;
    assert_true(shows(file, "state drained\nconnections 0\n"));
    assert_int_equal(put(file, "open"), 0);
    assert_int_equal(s->services[at].state, TCP_SERVICE_OPEN);
}

static void a_drained_server_has_closed_its_services_before_it_says_so(void **state)
{
    const struct order_settings *s = orders_settings(env->steering->orders);
    struct worker *w = a_worker();
    w->tcp.services[0].connections = 1;
    assert_int_equal(put("ctl/drain", "start 60"), 0);
    steering_env_turn(env);
    assert_int_equal(s->services[0].state, TCP_SERVICE_DRAINING);
    w->tcp.services[0].connections = 0;
    steering_env_turn(env);
    assert_true(shows("ctl/drain", "state drained\n"));
    assert_int_equal(s->services[0].state, TCP_SERVICE_CLOSED);
    assert_int_equal(put("ctl/drain", "stop"), 0);
    assert_int_equal(s->services[0].state, TCP_SERVICE_OPEN);
}

static void a_term_that_is_under_way_is_not_called_off(void **state)
{
    ctl_steering_stop(env->steering);
    assert_true(shows("ctl/drain", "state draining\n"));
    assert_int_equal(put("ctl/drain", "stop"), -EBUSY);
    assert_false(env->loop.stop);
    steering_env_turn(env);
    assert_true(env->loop.stop);
}

static void the_second_term_stops_at_once(void **state)
{
    ctl_steering_stop(env->steering);
    assert_false(env->loop.stop);
    ctl_steering_stop(env->steering);
    assert_true(env->loop.stop);
}

static void without_time_to_drain_the_first_one_does(void **state)
{
    assert_int_equal(put("ctl/set/control.drain_s", "0"), 0);
    ctl_steering_stop(env->steering);
    assert_true(env->loop.stop);
}

static void arp_takes_neighbors_and_nothing_else(void **state)
{
    static const char *const good[] = {"add 10.0.0.9 02:00:00:00:00:09",
                                       "add 10.0.0.9 02:00:00:00:00:AF permanent",
                                       "add 10.0.1.9 02:00:00:00:00:09 dev b",
                                       "add 10.9.9.9 02:00:00:00:00:09 permanent dev b",
                                       "add fd00::9 02:00:00:00:00:09",
                                       "del 10.0.0.9",
                                       "del fe80::9 dev a",
                                       "flush",
                                       "flush b"};
    static const char *const bad[] = {"add 10.0.0.9",
                                      "add 10.0.0.2 02:00:00:00:00:09",
                                      "add 10.0.0.9 03:00:00:00:00:09",
                                      "add 10.0.0.9 00:00:00:00:00:00",
                                      "add 10.0.0.9 02:00:00:00:00:0",
                                      "add 10.0.0.9 02:00:00:00:00:0g",
                                      "add 10.0.0.9 02-00-00-00-00-09",
                                      "add 10.0.0.9 02:00:00:00:00:09 forever",
                                      "add 10.0.0.9 02:00:00:00:00:09 dev c",
                                      "add 10.9.9.9 02:00:00:00:00:09",
                                      "add 224.0.0.1 02:00:00:00:00:09",
                                      "add 127.0.0.1 02:00:00:00:00:09 dev a",
                                      "add 0.0.0.0 02:00:00:00:00:09 dev a",
                                      "add 255.255.255.255 02:00:00:00:00:09 dev a",
                                      "add ff02::1 02:00:00:00:00:09 dev a",
                                      "add :: 02:00:00:00:00:09 dev a",
                                      "add ten 02:00:00:00:00:09",
                                      "del",
                                      "del 10.0.0.9 permanent",
                                      "flush c",
                                      "flush a b"};
    for (unsigned i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(put("ctl/arp", good[i]), 0);
        steering_env_turn(env);
    }
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(put("ctl/arp", bad[i]), -EINVAL);
}

static void levels_are_of_all_modules_or_of_one(void **state)
{
    assert_int_equal(put("ctl/log", "debug"), 0);
    assert_true(shows("ctl/log", "server debug\nconf debug\nctl debug\n"));
    assert_int_equal(put("ctl/log", "ctl error"), 0);
    assert_true(shows("ctl/log", "server debug\nconf debug\nctl error\n"));
    assert_int_equal(put("ctl/log", "error ctl"), -EINVAL);
    assert_int_equal(put("ctl/log", "ctl error now"), -EINVAL);
    assert_int_equal(put("ctl/log", "error"), 0);
    assert_int_equal(put("ctl/log", "port debug"), 0);
    assert_int_equal(put("ctl/set/tcp.retries", "9"), 0);
    assert_true(shows("ctl/log", "server error\nconf error\nctl error\n"));
    assert_true(shows("ctl/log", "port debug\n"));
    assert_int_equal(put("ctl/set/control.log_level", "warn"), 0);
    assert_true(shows("ctl/log", "port warn\n"));
}

static void reset_takes_names_of_what_there_is(void **state)
{
    static const char *const good[] = {"all", "cores", "latency", "ports", "stalls"};
    for (unsigned i = 0; i < ARRAY_LEN(good); i++)
        assert_int_equal(put("ctl/reset", good[i]), 0);
    assert_true(shows("ctl/reset", "last: reset: stalls\n"));
    assert_int_equal(put("ctl/reset", "cores/0"), -EINVAL);
    assert_int_equal(put("ctl/reset", "ports/"), -EINVAL);
    assert_int_equal(put("ctl/reset", "ports/c"), -EINVAL);
    assert_int_equal(put("ctl/reset", "all all"), -EINVAL);
}

static void keys_are_set_within_their_range(void **state)
{
    assert_int_equal(put("ctl/set/tcp.time_wait_ms", "30s\n"), 0);
    assert_int_equal(env->conf.tcp.time_wait_ms, 30000);
    assert_true(shows("ctl/set/tcp.time_wait_ms", "tcp.time_wait_ms = 30000\n"));
    assert_int_equal(put("ctl/set/tcp.time_wait_ms", "0"), -ERANGE);
    assert_int_equal(put("ctl/set/tcp.time_wait_ms", "601s"), -ERANGE);
    assert_int_equal(put("ctl/set/tcp.time_wait_ms", "99999999999999999999999"), -ERANGE);
    assert_int_equal(put("ctl/set/tcp.time_wait_ms", "30 s"), -EINVAL);
    assert_int_equal(put("ctl/set/tcp.time_wait_ms", "-1"), -EINVAL);
    assert_int_equal(env->conf.tcp.time_wait_ms, 30000);
    assert_int_equal(put("ctl/set/tcp.ack_merge", "maybe"), -EINVAL);
    assert_int_equal(put("ctl/set/tcp.syn_cookies", "always"), 0);
    assert_int_equal(env->conf.tcp.syn_cookies, CONF_COOKIES_ALWAYS);
    assert_int_equal(put("ctl/set/service.echo.limit_connections", "2k"), 0);
    assert_int_equal(env->conf.services[1].limit_connections, 2000);
    assert_int_equal(env->conf.services[0].limit_connections, 0);
}

static void keys_agree_with_each_other(void **state)
{
    assert_int_equal(put("ctl/set/tcp.rto_min_ms", "2000"), -ERANGE);  // above rto_initial_ms
    assert_int_equal(env->conf.tcp.rto_min_ms, 200);
    assert_int_equal(put("ctl/set/tcp.rto_initial_ms", "2000"), 0);
    assert_int_equal(put("ctl/set/tcp.rto_min_ms", "2000"), 0);
}

static void only_what_may_change_is_there(void **state)
{
    assert_null(steering_env_node(env, "ctl/set/memory.connections"));
    assert_null(steering_env_node(env, "ctl/set/tcp.window_scale"));
    assert_null(steering_env_node(env, "ctl/set/service.web.root"));
    const struct key *k = key_find(SECTION_memory, "connections");
    static struct conf scratch;
    assert_int_equal(conf_set_live(&env->conf, k, 0, "10", &scratch), -EINVAL);
}

// The control interface over HTTP has read its token: a file that is gone since is nothing that a
// key can mend.
static void a_token_file_that_is_gone_keeps_no_key(void **state)
{
    env->conf.control.http.port = 9910;
    strcpy(env->conf.control.http_token_file, "/none/token");
    assert_int_equal(put("ctl/set/tcp.rto_min_ms", "300"), 0);
    assert_int_equal(env->conf.tcp.rto_min_ms, 300);
    assert_int_equal(env->conf.control.http.port, 9910);
    env->conf.control.http_token_file[0] = '\0';
}

// `connections = max` is 0 in the configuration: the server knows what it came to.
static void what_is_set_leaves_the_other_settings_as_they_are(void **state)
{
    struct order_settings *s = orders_settings(env->steering->orders);
    env->conf.memory.connections = 0;
    env->server.params.connections = 5000;
    assert_int_equal(put("ctl/services/echo/state", "closed"), 0);
    assert_int_equal(put("ctl/set/service.web.limit_connections", "20"), 0);
    assert_int_equal(s->services[0].connections_max, 20);
    assert_int_equal(s->services[1].connections_max, 5000);
    assert_int_equal(s->services[1].state, TCP_SERVICE_CLOSED);
    assert_int_equal(s->services[1].keepalive_probes, 9);
    assert_int_equal(s->cfg.retries, 15);
}

static void note_change(void *arg)
{
    ++*(unsigned *)arg;
}

static void who_asked_hears_of_changes_and_of_nothing_else(void **state)
{
    unsigned n = 0;
    ctl_steering_on_change(env->steering, note_change, &n);
    assert_int_equal(put("ctl/set/statsd.interval_ms", "1s"), 0);
    assert_int_equal(n, 1);
    assert_int_equal(put("ctl/set/statsd.interval_ms", "1"), -ERANGE);
    assert_int_equal(put("ctl/set/statsd.sample_rate", "200"), -EINVAL);
    assert_int_equal(put("ctl/services/echo/state", "closed"), 0);
    assert_int_equal(n, 1);
    ctl_steering_on_change(env->steering, NULL, NULL);
    assert_int_equal(put("ctl/set/statsd.sample_rate", "50%"), 0);
    assert_int_equal(n, 1);
}

// ---- the file again

static char path[] = "/tmp/c10m-reload.XXXXXX";

static void write_file(const char *more, const char *without)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    const char *cut = without == NULL ? NULL : strstr(steering_env_conf, without);
    const size_t n =
        cut == NULL ? sizeof(steering_env_conf) - 1 : (size_t)(cut - steering_env_conf);
    fwrite(steering_env_conf, 1, n, f);
    fputs(more, f);
    fclose(f);
}

static struct text changed, restart;
static struct conf_errors errs;

static int reload(char *const *sets, unsigned n_sets)
{
    static struct conf scratch;
    text_free(&changed);
    text_free(&restart);
    conf_errors_free(&errs);
    conf_errors_init(&errs);
    return conf_reload(&env->conf, path, sets, n_sets, &scratch, &changed, &restart, &errs);
}

// The cores of this machine may be others than those of the environment.
static bool wants(const char *what)
{
    char line[256];
    snprintf(line, sizeof(line), "%s:%s: wants a restart\n", path, what);
    return strstr(text_str(&restart), line) != NULL;
}

static int begin_file(void **state)
{
    strcpy(path + sizeof(path) - 7, "XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    text_init(&changed, 1 << 16);
    text_init(&restart, 1 << 16);
    conf_errors_init(&errs);
    return begin(state);
}

static int end_file(void **state)
{
    unlink(path);
    text_free(&changed);
    text_free(&restart);
    conf_errors_free(&errs);
    return end(state);
}

static void the_same_file_changes_nothing(void **state)
{
    write_file("", NULL);
    assert_int_equal(reload(NULL, 0), 0);
    assert_string_equal(text_str(&changed), "");
    assert_null(strstr(text_str(&restart), "service"));
    assert_null(strstr(text_str(&restart), "port"));
}

static void live_keys_are_taken_with_their_line_and_the_rest_is_named(void **state)
{
    char line[256];
    write_file("limit_connections = 77\n[tcp]\nretries = 7\nwindow_scale = 3\n", NULL);
    assert_int_equal(reload(NULL, 0), 0);
    snprintf(line, sizeof(line),
             "%s:18: tcp.retries: 15 -> 7\n%s:16: "
             "service.echo.limit_connections: none -> 77\n",
             path, path);
    assert_string_equal(text_str(&changed), line);
    assert_true(wants("19: tcp.window_scale"));
    assert_int_equal(env->conf.tcp.retries, 7);
    assert_int_equal(env->conf.tcp.window_scale, 7);
    assert_int_equal(env->conf.services[1].limit_connections, 77);
    write_file("", NULL);
    assert_int_equal(reload(NULL, 0), 0);
    assert_int_equal(env->conf.tcp.retries, 15);
}

static void an_override_stands_and_an_error_changes_nothing(void **state)
{
    char set[] = "tcp.retries=9";
    char *sets[] = {set};
    write_file("[tcp]\nretries = 7\n", NULL);
    assert_int_equal(reload(sets, 1), 0);
    assert_int_equal(env->conf.tcp.retries, 9);
    assert_non_null(strstr(text_str(&changed), "--set: tcp.retries: 15 -> 9\n"));
    write_file("[tcp]\nretries = 7\nretries1 = two\n", NULL);
    assert_int_equal(reload(NULL, 0), -1);
    assert_non_null(strstr(text_str(&errs.lines), ":18: retries1: expected"));
    assert_int_equal(env->conf.tcp.retries, 9);
}

static void services_that_come_or_go_want_a_restart(void **state)
{
    write_file("[service dns]\napp = echo\nport = 8\n", "[service echo]");
    assert_int_equal(reload(NULL, 0), 0);
    char line[256];
    snprintf(line, sizeof(line),
             "%s: [service echo] is gone: wants a restart\n%s:13: [service "
             "dns] is new: wants a restart\n",
             path, path);
    assert_non_null(strstr(text_str(&restart), line));
    assert_int_equal(env->conf.n_services, 2);
    assert_string_equal(env->conf.services[1].name, "echo");
}

static void more_changes_than_anybody_makes_are_all_taken(void **state)
{
    static char all[65536];
    unsigned n = 0, lines = 0;
    for (unsigned i = 0; i < conf_n_keys; i++) {
        const struct key *k = &conf_keys[i];
        if (k->section != SECTION_service || !k->live)
            continue;
        if (k->type == KEY_WORD)  // its second word
            n += (unsigned)snprintf(all + n, sizeof(all) - n, "%s = %s\n", k->name,
                                    strchr(k->words, '|') + 1);
        else
            n += (unsigned)snprintf(all + n, sizeof(all) - n, "%s = %llu\n", k->name,
                                    (unsigned long long)k->min + 1);
        lines++;
    }
    write_file(all, NULL);
    assert_int_equal(reload(NULL, 0), 0);
    for (const char *at = text_str(&changed); (at = strchr(at, '\n')) != NULL; at++)
        lines--;
    assert_int_equal(lines, 0);
}

static void a_write_to_reload_has_the_outcome(void **state)
{
    write_file("", NULL);
    steering_env_free(env);
    env = steering_env_new(path);
    write_file("[tcp]\nretries = two\n", NULL);
    assert_int_equal(put("ctl/reload", "now"), -EINVAL);
    assert_non_null(strstr(tree_reason(), ":17: retries: expected"));
    assert_true(shows("ctl/reload", "reloads 1\nrefused 1\nerror /tmp/c10m-reload"));
    assert_int_equal(env->conf.tcp.retries, 15);
    write_file("[tcp]\nretries = 7\nwindow_scale = 3\n", NULL);
    assert_int_equal(put("ctl/reload", "now"), 0);
    assert_true(shows("ctl/reload", "reloads 2\nrefused 1\nchanged "));
    assert_true(shows("ctl/reload", "18: tcp.window_scale: wants a restart\n"));
    assert_false(shows("ctl/reload", "\nerror "));
    assert_int_equal(env->conf.tcp.retries, 7);
    assert_int_equal(put("ctl/reload", "soon"), -EINVAL);
    assert_true(shows("ctl/reload", "reloads 2\n"));
}

static int begin_following(void **state)
{
    steering_env_follow = "c10mabsent";
    const int rc = begin(state);
    steering_env_follow = NULL;
    return rc;
}

static void a_port_that_follows_says_what_it_read(void **state)
{
    (void)state;
    struct tree_node *n = steering_env_node(env, "ports/b/follow");
    assert_null(steering_env_node(env, "ports/a"));
    assert_non_null(n);
    for (int i = 0; i < 2000; i++) {  // netlink answers at once; 2 s is what nobody would wait for
        ctl_steering_look(env->steering);
        if (strstr(steering_env_read(env, n, text, sizeof(text)), "\nreads 1\n") != NULL)
            break;
        usleep(1000);
    }
    assert_non_null(strstr(text, "interface c10mabsent\nstate absent\n"));
    assert_non_null(strstr(text, "\nreads 1\n"));
    assert_non_null(strstr(text, "\nchanges 0\n"));
    assert_non_null(strstr(text, "\naddress 10.0.1.2/24\n"));
}

// ---- restart

static void can_keep(void)
{
    env->server.adoption_done = true;
    env->server.params.pages = PAGES_2M;
}

static void a_restart_is_refused_where_nothing_is_kept(void **state)
{
    assert_int_equal(put("ctl/restart", "now"), -EOPNOTSUPP);
    can_keep();
    env->server.params.pages = PAGES_NONE;
    assert_int_equal(put("ctl/restart", "now"), -EOPNOTSUPP);
    steering_env_turn(env);
    assert_false(ctl_steering_restarts(env->steering));
    assert_false(env->loop.stop);
}

// What is kept is decided at the end, by serve().
static void a_restart_ends_the_loop_at_the_next_tick_and_keeps_nothing_yet(void **state)
{
    can_keep();
    assert_int_equal(put("ctl/restart", "now"), 0);
    assert_true(ctl_steering_restarts(env->steering));
    assert_false(env->loop.stop);
    assert_false(env->server.keeps);
    steering_env_turn(env);
    assert_true(env->loop.stop);
    assert_false(env->server.keeps);
}

// As by a SIGTERM between the write and the tick.
static void a_restart_that_was_dropped_does_not_end_the_loop(void **state)
{
    can_keep();
    assert_int_equal(put("ctl/restart", "now"), 0);
    ctl_steering_restart_drop(env->steering);
    steering_env_turn(env);
    assert_false(ctl_steering_restarts(env->steering));
    assert_false(env->loop.stop);
}

static void without_a_timer_a_restart_is_an_error(void **state)
{
    struct err err;
    int n = 0, fds[CTL_SOURCES_MAX];
    can_keep();
    while (n < CTL_SOURCES_MAX &&
           (fds[n] = ctl_loop_timer(&env->loop, 60000, NULL, NULL, &err)) >= 0)
        n++;
    assert_int_equal(put("ctl/restart", "now"), -EIO);
    assert_false(ctl_steering_restarts(env->steering));
    while (n > 0)
        ctl_loop_remove(&env->loop, fds[--n]);
    assert_int_equal(put("ctl/restart", "now"), 0);
    steering_env_turn(env);
    assert_true(env->loop.stop);
}

int main(void)
{
#define FILED(test) cmocka_unit_test_setup_teardown(test, begin_file, end_file)
#define WITH(test)  cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        WITH(every_file_can_be_written_and_shows_its_help),
        WITH(no_file_takes_nonsense_or_changes_by_it),
        cmocka_unit_test_setup_teardown(a_port_that_follows_says_what_it_read, begin_following,
                                        end),
        WITH(kill_takes_what_its_help_says),
        WITH(kill_refuses_the_rest),
        WITH(a_place_is_an_address_a_prefix_a_port_or_both),
        WITH(drain_begins_ends_and_is_called_off),
        WITH(what_comes_in_behind_the_reset_is_reset_as_well),
        WITH(a_service_keeps_its_state_over_a_drain),
        WITH(a_service_shows_the_state_in_force_and_what_is_pending),
        WITH(a_service_that_drained_takes_nobody_any_more),
        WITH(a_drained_server_has_closed_its_services_before_it_says_so),
        WITH(a_term_that_is_under_way_is_not_called_off),
        WITH(the_second_term_stops_at_once),
        WITH(without_time_to_drain_the_first_one_does),
        WITH(a_restart_is_refused_where_nothing_is_kept),
        WITH(a_restart_ends_the_loop_at_the_next_tick_and_keeps_nothing_yet),
        WITH(a_restart_that_was_dropped_does_not_end_the_loop),
        WITH(without_a_timer_a_restart_is_an_error),
        WITH(arp_takes_neighbors_and_nothing_else),
        WITH(levels_are_of_all_modules_or_of_one),
        WITH(reset_takes_names_of_what_there_is),
        WITH(keys_are_set_within_their_range),
        WITH(keys_agree_with_each_other),
        WITH(only_what_may_change_is_there),
        WITH(a_token_file_that_is_gone_keeps_no_key),
        WITH(what_is_set_leaves_the_other_settings_as_they_are),
        WITH(who_asked_hears_of_changes_and_of_nothing_else),
        FILED(the_same_file_changes_nothing),
        FILED(live_keys_are_taken_with_their_line_and_the_rest_is_named),
        FILED(an_override_stands_and_an_error_changes_nothing),
        FILED(services_that_come_or_go_want_a_restart),
        FILED(more_changes_than_anybody_makes_are_all_taken),
        FILED(a_write_to_reload_has_the_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
