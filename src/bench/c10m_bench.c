// SPDX-License-Identifier: BSD-3-Clause
// The benchmarks as a separate program.
#include "bench/bench_main.h"

int main(int argc, char **argv)
{
    return bench_main(argc, argv);
}
