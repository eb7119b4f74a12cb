// SPDX-License-Identifier: BSD-3-Clause
// A program that was compiled for a CPU which is not there: main must not be reached.
#include <stdio.h>

int main(void)
{
    puts("main");
    return 0;
}
