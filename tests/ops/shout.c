// SPDX-License-Identifier: BSD-3-Clause
// shout.c: an application of somebody else's: sends back what comes, in capitals. Built out of tree
// against the installed headers and libc10m.a by tests/e2e/install.sh.
#include <c10m/app.h>
#include <c10m/main.h>
#include <ctype.h>

static int shouted;

// Names that the library uses for itself: they are the application's as well.
int count, post, each;
void answer(void);
void answer(void)
{
    count = post = each = 1;
}

static int shout_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    (void)err;
    (void)err_bytes;
    shouted = c10m_counter(s, "shouted_bytes", "bytes sent back");
    return 0;
}

// What the send queue does not take stays queued before us, and is offered again when it does.
static size_t shout_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    char loud[256];
    size_t done = 0, n, sent;
    do {
        n = len - done < sizeof(loud) ? len - done : sizeof(loud);
        for (size_t i = 0; i < n; i++)
            loud[i] = (char)toupper(data[done + i]);
        sent = c10m_send(c, loud, n);
        done += sent;
    } while (sent == n && done < len);
    c10m_count(c, shouted, done);
    return done;
}

static const struct c10m_app app_shout = {
    .name = "shout",
    .init = shout_init,
    .data = shout_data,
    .writable = c10m_resume,
    .end = c10m_shutdown,
};

int main(int argc, char **argv)
{
    static const struct c10m_app *const own[] = {&app_shout, NULL};
    return c10m_main(argc, argv, own);
}
