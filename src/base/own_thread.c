// SPDX-License-Identifier: BSD-3-Clause
#include "base/own_thread.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/crash.h"

static _Thread_local struct own_thread *current;

// find_stack: of the main thread, by a call that allocates. Any other thread is at its stack's high
// end itself: glibc puts the thread's descriptor there. The low end is left 0 then.
static void find_stack(struct own_thread *t)
{
    pthread_attr_t attr;
    void *low;
    size_t bytes;
    if (getpid() != gettid()) {
        t->stack_low = 0;
        t->stack_high = (uintptr_t)pthread_self();
        return;
    }
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return;
    if (pthread_attr_getstack(&attr, &low, &bytes) == 0) {
        t->stack_low = (uintptr_t)low;
        t->stack_high = (uintptr_t)low + bytes;
    }
    pthread_attr_destroy(&attr);
}

static void accept_signals(bool accept)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    crash_signals(&set);
    pthread_sigmask(accept ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

void own_thread_begin(struct own_thread *t)
{
    find_stack(t);
    crash_stack();
    current = t;
    shared_u32_store_release(&t->tid, (uint32_t)gettid());  // pairs with sampler_start()
    accept_signals(true);
}

void own_thread_end(void)
{
    if (current == NULL)
        return;
    accept_signals(false);
    shared_u32_store(&current->tid, 0);
    current = NULL;
}

struct own_thread *own_thread_current(void)
{
    return current;
}
