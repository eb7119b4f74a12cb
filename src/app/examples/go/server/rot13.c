// SPDX-License-Identifier: BSD-3-Clause
// rot13.c: the part of the example that is C: the command, its table of callbacks, and what has to
// happen before Go's runtime begins.
#include <c10m/app.h>
#include <c10m/main.h>
#include <librot13.h>  // made by cgo
#include <pthread.h>
#include <signal.h>

// Go's runtime makes threads before main(). In an archive they keep this mask, so that SIGTERM and
// SIGHUP reach the server and not them. c10m_main() lets through what it needs.
__attribute__((constructor(101))) static void block_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

// What the send queue does not take stays queued before us, and is offered again when it does.
static size_t data(struct c10m_conn *c, const uint8_t *from, size_t len)
{
    uint8_t out[256];
    size_t done = 0, n, sent;
    do {
        n = len - done < sizeof(out) ? len - done : sizeof(out);
        goData(out, (uint8_t *)from + done, n);
        sent = c10m_send(c, out, n);
        done += sent;
    } while (sent == n && done < len);
    c10m_count(c, goMoved(), done);
    return done;
}

int main(int argc, char **argv)
{
    static const struct c10m_app app = {.name = "rot13",
                                        .init = goInit,
                                        .data = data,
                                        .writable = c10m_resume,
                                        .end = c10m_shutdown};
    static const struct c10m_app *const own[] = {&app, NULL};
    return c10m_main(argc, argv, own);
}
