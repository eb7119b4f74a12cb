// SPDX-License-Identifier: BSD-3-Clause
// bench_main.h: `c10m bench`: micro-benchmarks.
#pragma once

// bench_main: argv[0] is "bench", argv[1] the benchmark. Returns the exit status: 0 success, 1
// failure, 2 wrong usage. It starts EAL, so it can be called once in a process.
int bench_main(int argc, char **argv);

// bench_echo: compares the server's echo with the bare loop in the same run; argv[0] is "echo".
int bench_echo(int argc, char **argv);

// bench_growth: measures the stages of the server by number of connections and page size, each in a
// separate process; argv[0] is "growth".
int bench_growth(int argc, char **argv);

// bench_hop: measures the round trip of a cache line between two CPUs, without EAL; argv[0] is
// "hop".
int bench_hop(int argc, char **argv);

// bench_pipeline: compares run to completion with a pipeline of two cores, without EAL; argv[0] is
// "pipeline".
int bench_pipeline(int argc, char **argv);

// bench_machine: measures the latencies of the machine, without EAL; argv[0] is "machine".
int bench_machine(int argc, char **argv);

// bench_micro: micro-benchmarks, each in a separate process; argv[0] is "micro".
int bench_micro(int argc, char **argv);

// bench_reader: compares the server's echo with and without a reader of net/tcp; argv[0] is
// "reader".
int bench_reader(int argc, char **argv);
int bench_tree(int argc, char **argv);

// bench_roofline: measures the bare loop; argv[0] is "roofline".
int bench_roofline(int argc, char **argv);

// bench_latency: compares the latency at half of the maximum rate with an idle loop; argv[0] is
// "latency".
int bench_latency(int argc, char **argv);

// bench_budget: measures the cycles that are left for an application; argv[0] is "budget".
int bench_budget(int argc, char **argv);

// bench_scale: measures the cost of a packet with 1, 2, 4, 8 workers; argv[0] is "scale".
int bench_scale(int argc, char **argv);
