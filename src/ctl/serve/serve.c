// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/serve/serve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/corelocks.h"
#include "base/crash.h"
#include "base/log.h"
#include "base/log_target.h"
#include "base/notify.h"
#include "base/signals.h"
#include "c10m/tree.h"
#include "ctl/cli/cmd_plan.h"
#include "ctl/dump/dump_files.h"
#include "ctl/event_loop.h"
#include "ctl/files/tree_files.h"
#include "ctl/http/control_http.h"
#include "ctl/http/web_static.h"
#include "ctl/local/control_counters.h"
#include "ctl/local/control_socket.h"
#include "ctl/local/fuse_mount.h"
#include "ctl/metrics/metrics.h"
#include "ctl/metrics/statsd.h"
#include "ctl/metrics/telemetry_commands.h"
#include "ctl/serve/confinement.h"
#include "ctl/serve/serve_prof.h"
#include "ctl/serve/stop_workers.h"
#include "ctl/serve/watchdog.h"
#include "ctl/steering/steering.h"
#include "server/device_locks.h"
#include "server/history.h"
#include "server/idle_mode.h"
#include "server/server_check.h"
#include "server/server_log.h"
#include "server/wall_clock.h"
#include "tree/access.h"

static_assert((int)HISTORY_JSON_BYTES_MAX <= (int)WEB_TEXT_BYTES_MAX,
              "GET /history of 64 workers must fit into an answer");

static bool is_served(const struct server_params *p, unsigned first_ix, unsigned end_ix)
{
    for (unsigned i = 0; i < p->n_services; i++) {
        const uint16_t ix = p->services[i].tcp.local_ix;
        if (ix == UINT16_MAX || (ix >= first_ix && ix < end_ix))
            return true;
    }
    return false;
}

void ctl_doubts(const struct server_params *p, struct text *out)
{
    unsigned ix = 0;
    struct err err;
    if (server_adopt_doubt(p, &err))
        text_printf(out, "%s\n", err.text);
    if (idle_mode_doubt(p, &err))
        text_printf(out, "%s\n", err.text);
    for (unsigned i = 0; i < p->n_ports; i++) {
        const struct server_port_params *pp = &p->ports[i];
        if (server_has_doubt(p, i, &err))
            text_printf(out, "%s\n", err.text);
        if (strcmp(server_device(pp, 0)->driver, "ring") == 0)
            text_printf(out,
                        "port %s: both ends of a ring are in this process: no host can reach it\n",
                        pp->port.name);
        if (!pp->net.loops && pp->linux_name == NULL && !is_served(p, ix, ix + pp->net.n_locals))
            text_printf(out,
                        "port %s: no [service NAME] listens here: it only answers ping and refuses "
                        "connections\n",
                        pp->port.name);
        ix += pp->net.n_locals;
    }
}

// signaled: the receivers of signals. steering NULL: the server does not run yet, or any more.
struct signaled {
    struct server *server;  // NULL: as steering
    struct ctl_loop *loop;
    struct ctl_steering *steering;
    const struct conf *conf;
    int crash;      // a signal sent to crash the process; 0: none
    unsigned ends;  // how many signals have asked to end
    bool restart;   // the server ends to be started again
};

static void reopen_logs(const struct signaled *to)
{
    struct err err;
    if (log_target_reopen(&err) != 0)
        log_line(LOG_WARN, "%s", err.text);
    if (to->server != NULL)
        server_log_reopen(to->server);
    log_line(LOG_INFO, "the logs were opened again");
}

// tell_stopping: the manager gives the end the time of the drain, and of workers that hang.
static void tell_stopping(uint32_t drain_s)
{
    char state[80];
    const uint64_t us = ((uint64_t)drain_s * 1000 + 2 * (uint64_t)STOP_STUCK_MS) * 1000;
    snprintf(state, sizeof(state), "STOPPING=1\nEXTEND_TIMEOUT_USEC=%llu", (unsigned long long)us);
    notify_say(state, "stopping; open connections have %u s to finish", drain_s);
}

// note_restart: the last signal decides: a stop also takes back a restart that has not ended yet.
static void note_restart(struct signaled *to, bool restart)
{
    to->restart = restart;
    if (to->steering != NULL && !restart)
        ctl_steering_restart_drop(to->steering);
}

// may_drain: connections that the next server adopts do not end.
static bool may_drain(const struct signaled *to, int signal_number)
{
    if (!to->restart)
        return signal_number == SIGINT || signal_number == SIGTERM;
    return to->server == NULL || !server_can_keep(to->server);
}

static void on_signal(void *arg, int signal_number)
{
    struct signaled *to = arg;
    const enum signal_meaning meaning = signal_meaning(signal_number);
    if (meaning == SIGNAL_HANGUP) {
        struct err err;
        if (to->steering != NULL)
            ctl_steering_reload(to->steering, &err);
        return;
    }
    if (meaning == SIGNAL_REOPEN) {
        reopen_logs(to);
        return;
    }
    log_line(LOG_INFO, "%s: stopping%s", strsignal(signal_number),
             meaning == SIGNAL_RESTART ? " for a restart" : "");
    to->ends++;
    if (meaning == SIGNAL_CRASH)
        to->crash = signal_number;
    const bool ends = to->restart;  // the loop has been stopped
    note_restart(to, meaning == SIGNAL_RESTART);
    const bool drains = !ends && may_drain(to, signal_number);
    tell_stopping(drains ? to->conf->control.drain_s : 0);
    if (to->steering != NULL && drains)
        ctl_steering_stop(to->steering);
    else
        ctl_loop_stop(to->loop);
}

static void log_lines(enum log_level level,
                      void (*say)(const struct server_params *p, struct text *out),
                      const struct server_params *p)
{
    struct text text;
    text_init(&text, 1 << 20);
    say(p, &text);
    char *save = NULL, *line = text.len == 0 ? NULL : strtok_r(text.data, "\n", &save);
    for (; line != NULL; line = strtok_r(NULL, "\n", &save))
        log_line(level, "%s", line);
    text_free(&text);
}

// missing: what the configuration asks for cannot be had, as err says: -1 if it is required, with
// the key, or 0 after a warning.
static int missing(const struct conf *c, const char *what, const char *key, struct err *err)
{
    char why[ERR_TEXT_BYTES];
    memcpy(why, err->text, sizeof(why));
    if (!c->control.required) {
        log_line(LOG_WARN, "%s: %s", what, why);
        return 0;
    }
    err_set(err, "%s: %s: [control] required is on", what, why);
    return err_key(err, "%s", key);
}

// mount_tree: sets *fuse to the mount; NULL: it is off, or cannot be had, and the server runs
// without it. Returns 0, or -1 if it is required.
static int mount_tree(struct ctl_loop *loop, struct tree *tree, const struct conf *c,
                      struct ctl_fuse **fuse, struct err *err)
{
    char what[CONF_PATH_BYTES + 64];
    *fuse = NULL;
    if (c->control.mount[0] == '\0')
        return 0;
    *fuse = ctl_fuse_start(loop, tree, c->control.mount, err);
    snprintf(what, sizeof(what), "the tree is not mounted at %s", c->control.mount);
    if (*fuse == NULL)
        return missing(c, what, "control.mount", err);
    log_line(LOG_INFO, "tree mounted at %s", c->control.mount);
    return 0;
}

// open_http: sets *http to the control interface over HTTP; NULL: it is off, or its address is
// unavailable, and the server runs without it. Returns 0, or -1 if the token cannot be read or HTTP
// is required.
static int open_http(struct ctl_loop *loop, const struct ctl_shown *s, struct prof *prof,
                     struct ctl_http **http, struct err *err)
{
    char token[CONF_TOKEN_BYTES_MAX + 1] = "", at[IP_TEXT_BYTES];
    const struct conf_control *k = &s->conf->control;
    *http = NULL;
    if (k->http.port == 0)
        return 0;
    if (k->http_token_file[0] != '\0' && conf_token_read(k->http_token_file, token, err) != 0)
        return -1;
    const struct ctl_http_params p = {.at = k->http,
                                      .name = k->name,
                                      .token = token,
                                      .statics = web_statics,
                                      .n_statics = web_n_statics,
                                      .metrics = metrics_text,
                                      .history = ctl_history_json,
                                      .metrics_arg = s,
                                      .prof = prof};
    *http = ctl_http_start(loop, s->tree, &p, err);
    explicit_bzero(token, sizeof(token));
    if (*http == NULL)
        return missing(s->conf, "no HTTP", "control.http", err);
    log_line(LOG_INFO, ip_is_v4(&k->http.addr) ? "http://%s:%u/" : "http://[%s]:%u/",
             ip_text(&k->http.addr, at), k->http.port);
    return 0;
}

// open_socket: sets *sock to the control socket; NULL: it is off or failed. Returns 0, or -1 if
// another server uses the socket, or it is required.
static int open_socket(struct ctl_loop *loop, struct tree *tree, const struct conf *c,
                       struct ctl_sock **sock, struct err *err)
{
    char path[2 * CONF_PATH_BYTES];
    bool taken;
    *sock = NULL;
    conf_socket_path(c, path, sizeof(path));
    if (path[0] == '\0')
        return 0;
    *sock = ctl_sock_start(loop, tree, path, &taken, err);
    if (*sock == NULL && taken)
        return err_key(err, "control.socket");
    if (*sock == NULL)
        return missing(c, "no control socket", "control.socket", err);
    log_line(LOG_INFO, "control socket at %s", path);
    return 0;
}

static int statsd_read(struct tree_out *out, void *data)
{
    return statsd_render(data, tree_text(out));
}

// push_metrics: starts StatsD. Returns NULL if it is off or failed; the server runs without it.
static struct statsd *push_metrics(struct ctl_loop *loop, const struct ctl_shown *s)
{
    const struct conf_statsd *k = &s->conf->statsd;
    const struct statsd_params p = {.to = k->address,
                                    .prefix = k->prefix,
                                    .interval_ms = k->interval_ms,
                                    .rate_ppm = k->sample_rate_ppm,
                                    .seed = liveness_clock_ns(),
                                    .visit = metrics_visit,
                                    .shown = s};
    struct err err;
    if (k->address.port == 0)
        return NULL;
    struct statsd *statsd = statsd_start(loop, &p, &err);
    if (statsd == NULL)
        log_line(LOG_WARN, "metrics are not sent: %s", err.text);
    else
        tree_file_ro(tree_root(s->tree), "control/statsd", statsd_read, statsd);
    return statsd;
}

static void on_log(void *arg, uint64_t periods)
{
    (void)periods;
    server_log_drain(arg);
}

// looked: the data of the checks made every CTL_LOOK_MS.
struct looked {
    struct ctl_shown *shown;
    struct ctl_steering *steering;
};

static void on_look(void *arg, uint64_t periods)
{
    const struct looked *at = arg;
    ctl_tree_look(at->shown, periods);
    ctl_steering_look(at->steering);
}

static void on_wall(void *arg, uint64_t periods)
{
    (void)periods;
    server_wall_follow(arg);
}

// control: the tree, its socket and its dumps. They open before the server starts, so that a second
// server with the same socket fails before it has changed anything.
struct control {
    struct tree *tree;
    struct ctl_sock *sock;
    struct ctl_dump *dump;  // released after the last reader has closed
};

static int control_open(struct control *k, struct ctl_loop *loop, const struct conf *c,
                        struct err *err)
{
    *k = (struct control){.tree = tree_create()};
    if (k->tree == NULL)
        return err_set(err, "no memory for the tree");
    if (open_socket(loop, k->tree, c, &k->sock, err) != 0)
        return -1;
    if (ctl_counters_add(k->tree, k->sock) != 0)
        return err_set(err, "control tree: %s", tree_error(tree_root(k->tree)));
    return 0;
}

// Call it before the server stops, because the entries access the server. A second call does
// nothing.
static void control_close(struct control *k)
{
    ctl_sock_stop(k->sock);
    ctl_dump_stop(k->dump);
    tree_destroy(k->tree);
    *k = (struct control){NULL, NULL, NULL};
}

// pushed: the objects to be informed of changed keys.
struct pushed {
    struct statsd *statsd;
    const struct conf *conf;
};

static void on_change(void *arg)
{
    const struct pushed *to = arg;
    const struct conf_statsd *k = &to->conf->statsd;
    struct err err;
    if (statsd_change(to->statsd, k->interval_ms, k->sample_rate_ppm, &err) != 0)
        log_line(LOG_WARN, "%s", err.text);
}

static int cores_at_fault(struct err *err)
{
    err_append(err, ": use other [cpu] workers, or share the CPU with [cpu] exclusive = off");
    return err_key(err, "cpu.workers");
}

// log_error: logs the error with its place in the configuration.
static void log_error(const struct ctl_conf *from, const struct err *err)
{
    struct text place;
    text_init(&place, ERR_TEXT_BYTES + CONF_PATH_BYTES);
    conf_place(from->places, err->key, &place);
    log_line(LOG_ERROR, "%s%s", text_str(&place), err->text);
    notify_say("", "%s%s", text_str(&place), err->text);
    text_free(&place);
}

// cores_take: locks the workers' cores until *fd is closed. Returns -1 if another server has one of
// them and [cpu] exclusive is on.
static int cores_take(const struct server_params *p, const struct conf *c, int *fd, struct err *err)
{
    *fd = corelocks_open();
    if (*fd < 0)
        log_line(LOG_WARN, "it is unknown whether other servers use these cores: %s",
                 strerror(errno));
    for (unsigned i = 0; i < p->n_workers; i++)
        if (corelocks_look_others(p->worker_cpu[i], err) != 0)
            log_line(LOG_WARN, "%s too: both servers become slower", err->text);
    for (unsigned i = 0; i < p->n_workers && *fd >= 0; i++) {
        if (corelocks_take(*fd, p->worker_cpu[i], c->control.name, err) == 0)
            continue;
        if (!c->cpu.exclusive)
            log_line(LOG_WARN, "%s too: both servers become slower", err->text);
        else
            return cores_at_fault(err);
    }
    return 0;
}

// end_profiles: who has sent a second signal does not wait for files.
static int end_profiles(const struct signaled *to, struct serve_prof *prof,
                        struct prof_files *files, struct err *err)
{
    if (to->ends > 1)
        return prof_files_leave(files, "not written: a second signal ended the server", err);
    return serve_prof_write(prof, files, err);
}

static int serve(struct signaled *to, struct server *s, const struct ctl_conf *from,
                 struct control *control, struct confinement *confinement, const char *version,
                 struct err *err)
{
    struct ctl_loop *loop = to->loop;
    const struct conf *c = from->conf;
    struct tree *tree = control->tree;
    struct ctl_shown shown = {.server = s, .conf = c, .version = version, .tree = tree};
    const struct ctl_steering_params sp = {loop,       s,          &shown,      from->conf,
                                           from->file, from->sets, from->n_sets};
    struct ctl_steering *steering = ctl_steering_new(&sp, err);
    if (steering == NULL)
        return -1;
    shown.baseline = ctl_steering_baseline(steering);
    struct looked looked = {&shown, steering};
    struct serve_prof prof = {.timer_fd = -1, .flight_fd = -1};
    struct ctl_watchdog watchdog = {.turns = NULL};
    int rc = ctl_tree_open(&shown, err);
    if (rc == 0)
        rc = serve_prof_open(&prof, loop, &shown, err);
    ctl_steering_set_recorder(steering, prof.recorder);
    if (rc == 0 && ctl_steering_fill(steering, tree_root(tree)) != 0)
        rc = err_set(err, "control tree: %s", tree_error(tree_root(tree)));
    if (rc == 0) {
        control->dump = ctl_dump_start(loop, tree, s, c->control.dump_ring, err);
        rc = control->dump == NULL ? -1 : 0;
    }
    if (rc == 0)
        rc = ctl_loop_timer(loop, CTL_LOOK_MS, on_look, &looked, err) < 0 ? -1 : 0;
    if (rc == 0)
        rc = ctl_loop_timer(loop, WALL_FOLLOW_MS, on_wall, s, err) < 0 ? -1 : 0;
    if (rc == 0 && server_logs(server_params_of(s)))
        rc = ctl_loop_timer(loop, LOG_PERIOD_MS, on_log, s, err) < 0 ? -1 : 0;
    if (rc == 0) {
        struct ctl_fuse *fuse;
        struct ctl_http *http = NULL;
        struct statsd *statsd = push_metrics(loop, &shown);
        struct pushed pushed = {statsd, c};
        ctl_steering_on_change(steering, on_change, &pushed);
        rc = mount_tree(loop, tree, c, &fuse, err);
        if (rc == 0)
            rc = open_http(loop, &shown, prof.prof, &http, err);
        if (rc == 0)
            rc = confinement_begin(confinement, s, err);
        if (rc == 0)
            rc = server_run(s, err);
        ctl_telemetry_start(&shown);
        if (rc == 0)
            rc = prof_files_begin(from->profiles, prof.prof, err);
        if (rc == 0)
            rc = ctl_watchdog_start(&watchdog, loop, &shown, err);
        if (rc == 0 && signals_asked())  // what it has adopted stays for the next start
            rc = err_set(err, "%s", SERVER_ASKED_TO_END);
        if (rc == 0) {
            server_serves(s);
            log_line(LOG_INFO, "serving");
            notify_say("READY=1", "serving");
            to->steering = steering;
            to->server = s;
            rc = ctl_loop_run(loop) == 0 ? 0 : err_set(err, "the control loop failed");
            to->steering = NULL;
            to->restart |= ctl_steering_restarts(steering);
            if (end_profiles(to, &prof, from->profiles, err) != 0)
                rc = -1;
            to->restart &= !signals_asked();  // a stop that nobody has read takes it back
            if (to->restart)  // only now: a signal may come while profiles are written
                server_keep(s);
        }
        ctl_watchdog_stop(&watchdog);
        ctl_http_stop(http);
        if (confinement->no_root)
            ctl_fuse_leave(fuse);
        else
            ctl_fuse_stop(fuse);
        ctl_steering_on_change(steering, NULL, NULL);
        statsd_stop(statsd);
        ctl_telemetry_stop();
    }
    to->steering = NULL;
    to->server = NULL;
    control_close(control);
    serve_prof_close(&prof);
    ctl_steering_free(steering);
    ctl_tree_close(&shown);
    return rc;
}

int ctl_serve(const struct ctl_conf *from, const struct server_params *p, const char *version)
{
    static struct ctl_loop loop;
    struct signaled to = {.loop = &loop, .conf = from->conf};
    const struct conf *c = from->conf;
    struct control control = {NULL, NULL, NULL};
    struct err err = {.text = ""};
    struct device_locks devices = {.n = 0};
    struct confinement confinement;
    int cores_fd = -1;
    bool keeps = true;  // what an earlier server has left
    notify_open();
    int rc = confinement_prepare(&confinement, from, p, &err);
    if (rc == 0)
        rc = ctl_loop_init(&loop, &err);
    if (rc == 0)
        rc = ctl_loop_signals(&loop, on_signal, &to, &err);
    crash_catch();
    if (rc == 0) {
        confinement_run_dir(&confinement, c->control.run_dir);
        rc = control_open(&control, &loop, c, &err);
    }
    if (rc == 0)
        rc = cores_take(p, c, &cores_fd, &err);
    if (rc == 0)
        rc = device_locks_take(&devices, p, &err);
    if (rc == 0)
        rc = server_check_4k(p, &err);
    if (rc == 0) {
        log_lines(LOG_INFO, ctl_plan, p);
        log_lines(LOG_WARN, ctl_doubts, p);
        notify_say("", "reserving memory and opening ports");
        struct server *s = server_start(p, &err);
        rc = s == NULL ? -1 : serve(&to, s, from, &control, &confinement, version, &err);
        // Further signals stay pending, so that the release of all resources is not interrupted.
        if (s != NULL) {
            notify_say("STOPPING=1", "%s", rc == 0 ? "stopping" : err.text);
            ctl_stop_workers(s, c->control.run_dir, to.crash);
            keeps = server_stays(s);
            server_stop(s);
        }
    }
    control_close(&control);
    device_locks_release(&devices);
    if (cores_fd >= 0)
        close(cores_fd);
    rmdir(c->control.run_dir);  // also if another process has created it; fails if it is not empty
    ctl_loop_fini(&loop);
    confinement_end(&confinement, keeps);
    signals_end_by(to.crash);
    if (rc != 0 && strcmp(err.text, SERVER_ASKED_TO_END) == 0) {
        log_line(LOG_INFO, "%s", err.text);
        return 0;
    }
    if (rc != 0)
        log_error(from, &err);
    return rc != 0 ? 1 : to.restart ? CTL_RESTART_STATUS : 0;
}
