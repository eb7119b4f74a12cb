// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include "pprof/sample.h"

// periods_of: how many periods a signal stands for; 0: it is not from a trigger (sample_trigger.c).
static uint32_t periods_of(const siginfo_t *info)
{
    if (info->si_code == SI_TIMER)
        return 1 + (uint32_t)info->si_overrun;
    return info->si_code >= POLL_IN && info->si_code <= POLL_HUP ? 1 : 0;
}

static struct unwind_registers registers_of(const ucontext_t *u)
{
    const greg_t *g = u->uc_mcontext.gregs;
    return (struct unwind_registers){(uint64_t)g[REG_RIP], (uint64_t)g[REG_RSP],
                                     (uint64_t)g[REG_RBP]};
}

static void sample_here(const struct own_thread *t, const siginfo_t *info, const ucontext_t *u)
{
    struct sample_ring *r = (struct sample_ring *)(uintptr_t)atomic_load(&t->samples.v);
    const uint32_t periods = periods_of(info);
    if (r != NULL && periods != 0)
        sample_take(r, registers_of(u), periods);
}

// look_here: once; a second signal finds the look done.
static void look_here(const struct own_thread *t, const siginfo_t *info, const ucontext_t *u)
{
    struct stack_seen *seen = (struct stack_seen *)(uintptr_t)atomic_load(&t->look.v);
    if (seen == NULL || info->si_code != SI_TKILL || info->si_pid != getpid() ||
        shared_bool_load(&seen->done))
        return;
    seen->depth = unwind(&seen->memory, registers_of(u), seen->addresses, seen->max);
    shared_bool_store_release(&seen->done, true);  // pairs with stack_look()
}

// The thread says that it is sampling before it looks where samples go; the other thread takes that
// away before it looks whether the thread is sampling (sampler_stop()). Both in one total order, so
// one of them sees the other.
static void on_signal(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    struct own_thread *t = own_thread_current();
    if (t != NULL) {
        atomic_store(&t->sampling.v, 1);
        sample_here(t, info, context);
        look_here(t, info, context);
        shared_u32_store_release(&t->sampling, 0);  // pairs with wait_for() in sampler.c
    }
    errno = error;
}

int sample_signal_install(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGPROF, &action, NULL);
}
