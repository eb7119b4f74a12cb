// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/stack_look.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pprof/sample.h"
#include "pprof/thread_stack.h"

static const struct timespec pause_time = {.tv_nsec = 100000};

// take_back: as sampler_stop(): after this the thread does not touch the look any more.
static void take_back(struct own_thread *t)
{
    atomic_store(&t->look.v, NULL);
    while (atomic_load(&t->sampling.v) != 0)
        nanosleep(&pause_time, NULL);
}

static uint64_t clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void ask(struct own_thread *t, struct stack_seen *seen, unsigned wait_ms)
{
    const uint64_t until = clock_ms() + wait_ms;
    atomic_store(&t->look.v, seen);
    if (syscall(SYS_tgkill, getpid(), shared_u32_load(&t->tid), SIGPROF) == 0)
        while (!shared_bool_load_acquire(&seen->done) && clock_ms() < until)
            nanosleep(&pause_time, NULL);
    take_back(t);
}

unsigned stack_look(struct own_thread *t, uint64_t *addresses, unsigned max, unsigned wait_ms)
{
    struct stack_seen seen = {.max = max, .addresses = addresses};
    unsigned n_files;
    // Acquire: pairs with own_thread_begin().
    if (shared_u32_load_acquire(&t->tid) == 0 || sample_signal_install() != 0)
        return 0;
    struct loaded_file *files = loaded_list(&n_files);
    if (files == NULL)
        return 0;
    loaded_touch(files, n_files);
    seen.memory = (struct unwind_memory){files, n_files, stack_low_of(t), t->stack_high};
    ask(t, &seen, wait_ms);
    loaded_free(files, n_files);
    return shared_bool_load_acquire(&seen.done) ? seen.depth : 0;
}
