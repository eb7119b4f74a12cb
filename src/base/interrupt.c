// SPDX-License-Identifier: BSD-3-Clause
#include "base/interrupt.h"

#include <signal.h>

#include "base/signals.h"

static volatile sig_atomic_t came;

static void on_signal(int sig)
{
    (void)sig;
    came = 1;
}

void interrupt_catch(void)
{
    const struct sigaction act = {.sa_handler = on_signal};
    signals_ignore();
    for (int s = 1; s < SIGRTMIN; s++) {
        const enum signal_meaning meaning = signal_meaning(s);
        struct sigaction before;
        if (meaning == SIGNAL_REOPEN || meaning == SIGNAL_RESTART)
            signal(s, SIG_IGN);  // only a server has logs to open again, and restarts
        else if ((meaning == SIGNAL_END || meaning == SIGNAL_HANGUP) &&
                 sigaction(s, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(s, &act, NULL);
    }
}

bool interrupted(void)
{
    return came != 0;
}
