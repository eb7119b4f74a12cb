#include "base/interrupt.h"

#include <signal.h>

#include "base/base.h"

static volatile sig_atomic_t came;

static void on_signal(int sig)
{
    (void)sig;
    came = 1;
}

void interrupt_catch(void)
{
    static const int caught[] = {SIGINT, SIGTERM};
    const struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
    for (unsigned i = 0; i < ARRAY_LEN(caught); i++) {
        struct sigaction before;
        if (sigaction(caught[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(caught[i], &act, NULL);
    }
}

bool interrupted(void)
{
    return came != 0;
}
