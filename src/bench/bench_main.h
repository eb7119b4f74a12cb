// SPDX-License-Identifier: BSD-3-Clause
// bench_main.h: `c10m bench`: micro-benchmarks. Each prints its limit beside what it measures.
#pragma once

// bench_main: argv[0] is "bench", argv[1] the benchmark. Returns the exit status: 0
// done, 1 failed, 2 bad usage. Starts EAL: once in a process.
int bench_main(int argc, char **argv);

// bench_echo: the server's echo beside the bare loop in the same run; argv[0] is "echo".
int bench_echo(int argc, char **argv);

// bench_growth: the server's stages by number of connections and size of pages, each in a process
// of its own; argv[0] is "growth".
int bench_growth(int argc, char **argv);

// bench_hop: how far apart two CPUs are, without EAL; argv[0] is "hop".
int bench_hop(int argc, char **argv);

// bench_pipeline: run to completion against two cores in a row, without EAL; argv[0] is "pipeline".
int bench_pipeline(int argc, char **argv);

// bench_machine: this machine's latency numbers, without EAL; argv[0] is "machine".
int bench_machine(int argc, char **argv);

// bench_micro: micro-benchmarks, each in a process of its own; argv[0] is "micro".
int bench_micro(int argc, char **argv);

// bench_reader: the server's echo while net/tcp is read, beside itself; argv[0] is "reader".
int bench_reader(int argc, char **argv);
int bench_tree(int argc, char **argv);

// bench_roofline: the bare loop under the measuring client; argv[0] is "roofline".
int bench_roofline(int argc, char **argv);

// bench_latency: latency at half of the maximum rate beside an idle loop; argv[0] is "latency".
int bench_latency(int argc, char **argv);

// bench_budget: the cycles that are left to an application; argv[0] is "budget".
int bench_budget(int argc, char **argv);

// bench_scale: the cost of a packet with 1, 2, 4, 8 workers; argv[0] is "scale".
int bench_scale(int argc, char **argv);
