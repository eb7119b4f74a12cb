// SPDX-License-Identifier: BSD-3-Clause
#include "bench/bench_prof.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/own_thread.h"
#include "base/shared.h"
#include "drivers/eal.h"
#include "prof/prof_kinds.h"
#include "worker/worker.h"

enum request { REQUEST_BEGIN = 1, REQUEST_END };

// state: asked is written by the client, answered by the thread; the other fields belong to the
// thread while answered < asked, and to the client otherwise. The flags are those of the process.
static struct {
    struct prof_files files;
    struct server *server;  // NULL: nothing is profiled
    struct prof *prof;
    pthread_t thread;
    int rc;
    struct err err;
    struct shared_u32 asked, answered;  // requests; release and acquire
} state;

// ---- options

static int take_option(int kind, const char *value, struct err *err)
{
    state.files.paths[kind] = value;
    return value != NULL ? 0 : err_set(err, "expected the name of a file behind the last option");
}

// option_of: the kind of a flag, and its value behind = or NULL; -1: another argument.
static int option_of(const char *argument, const char **value)
{
    char name[16];
    const size_t n = strcspn(argument, "=");
    if (strncmp(argument, "--", 2) != 0 || n < 2 || n - 2 >= sizeof(name))
        return -1;
    memcpy(name, argument + 2, n - 2);
    name[n - 2] = '\0';
    *value = argument[n] == '=' ? argument + n + 1 : NULL;
    return prof_files_option(name);
}

int bench_prof_options(int *argc, char **argv, struct err *err)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        const char *value;
        const int kind = option_of(argv[i], &value);
        if (kind < 0)
            argv[kept++] = argv[i];
        else if (take_option(kind, value != NULL || i + 1 == *argc ? value : argv[++i], err) != 0)
            return -1;
    }
    argv[kept] = NULL;
    *argc = kept;
    return prof_files_open(&state.files, err);
}

bool bench_prof_wanted(void)
{
    return prof_files_any(&state.files);
}

// ---- the thread that takes them

static int begin(void)
{
    const struct prof_params p = {.shown = {.server = state.server, .version = "bench"},
                                  .kinds = prof_kinds,
                                  .n_kinds = prof_n_kinds};
    state.prof = prof_new(&p, &state.err);
    return state.prof == NULL ? -1 : prof_files_begin(&state.files, state.prof, &state.err);
}

static int end(void)
{
    const int rc = prof_files_end(&state.files, &state.err);
    prof_free(state.prof);
    return rc;
}

static void *take_profiles(void *arg)
{
    uint32_t request = 0;
    pthread_setname_np(pthread_self(), "prof-bench");
    while (request != REQUEST_END) {
        const uint32_t asked = shared_u32_load_acquire(&state.asked);  // pairs with ask()
        if (asked == request) {
            prof_turn(state.prof, prof_clock_ms());
            usleep(PROF_TICK_MS * 1000);
            continue;
        }
        request = asked;
        state.rc = request == REQUEST_BEGIN ? begin() : end();
        shared_u32_store_release(&state.answered, request);  // pairs with ask()
    }
    return NULL;
}

static int ask(enum request request, struct err *err)
{
    shared_u32_store_release(&state.asked, request);  // pairs with take_profiles()
    while (shared_u32_load_acquire(&state.answered) != request)
        usleep(1000);
    if (state.rc != 0)
        *err = state.err;
    return state.rc;
}

// ---- threads that are profiled

static int register_worker(void *worker)
{
    own_thread_begin(&((struct worker *)worker)->thread);
    return 0;
}

static int forget_worker(void *worker)
{
    own_thread_end();
    return 0;
}

static int on_workers(int (*fn)(void *worker), struct err *err)
{
    for (unsigned i = 0; i < server_workers(state.server); i++) {
        if (eal_worker_launch(i, fn, server_worker(state.server, i), err) != 0)
            return -1;
        eal_worker_join(i);
    }
    return 0;
}

int bench_prof_begin(struct server *s, struct err *err)
{
    if (!bench_prof_wanted())
        return 0;
    state.server = s;
    own_thread_begin(server_control_thread(s));
    if (on_workers(register_worker, err) != 0 ||
        pthread_create(&state.thread, NULL, take_profiles, NULL) != 0) {
        state.server = NULL;
        return err_set(err, "no thread to take profiles");
    }
    return ask(REQUEST_BEGIN, err);
}

int bench_prof_end(struct err *err)
{
    struct err ignored;
    if (state.server == NULL)
        return 0;
    const int rc = ask(REQUEST_END, err);
    pthread_join(state.thread, NULL);
    on_workers(forget_worker, &ignored);
    own_thread_end();
    state.server = NULL;
    return rc;
}
