// SPDX-License-Identifier: BSD-3-Clause
// start.c: the program c10m: the command with the built-in applications alone.
#include "c10m/main.h"

int main(int argc, char **argv)
{
    static const struct c10m_app *const none[] = {NULL};
    return c10m_main(argc, argv, none);
}
