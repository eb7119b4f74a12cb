// planted_crash.c: an application out of tree for tests/e2e/crash.sh: it ends its server in the way
// that the client names.
#include <stdlib.h>
#include <string.h>

#include "c10m/main.h"

static volatile int zero;

static void planted_fault(void)
{
    *(volatile int *)(uintptr_t)(0x10 + zero) = 1;
}

static size_t planted_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    if (len >= 4 && memcmp(data, "segv", 4) == 0)
        planted_fault();
    else if (len >= 4 && memcmp(data, "abrt", 4) == 0)
        abort();
    else if (len >= 4 && memcmp(data, "trap", 4) == 0)
        __builtin_trap();
    c10m_send(c, data, len);
    return len;
}

static const struct c10m_app app_planted = {
    .name = "crasher", .data = planted_data, .end = c10m_shutdown};

int main(int argc, char **argv)
{
    static const struct c10m_app *const own[] = {&app_planted, NULL};
    return c10m_main(argc, argv, own);
}
