// SPDX-License-Identifier: BSD-3-Clause
// costs.h: the costs of elementary operations on this machine, and the budget of a packet computed
// from them.
#pragma once
#include "base/err.h"
#include "base/text.h"

enum machine_cost {
    COST_L1,
    COST_L2,
    COST_L3,
    COST_DRAM,
    COST_REMOTE,  // memory of another NUMA node
    COST_BATCH,   // a random cache line of memory, prefetched in batches of CHASE_BATCH
    COST_BRANCH,
    COST_SYSCALL,
    COST_SWITCH,
    COST_HOP,
    COST_ATOMIC,
    COST_ATOMIC_SHARED,
    COST_TSC,
    COST_COUNT,
};

// cost_info: label: text for the user. typical_ns: value of a server CPU of the 2020s, used without
// a measurement. budget: whether the budget of a packet has a line for it.
struct cost_info {
    const char *name, *label;
    double typical_ns;
    bool budget;
};

extern const struct cost_info cost_infos[COST_COUNT];

// machine_costs: ns per operation; 0: not measured or not available.
struct machine_costs {
    double tsc_hz;
    double ns[COST_COUNT];
};

// costs_typical: typical costs, with the TSC frequency of this machine.
struct machine_costs costs_typical(void);

// machine_costs_measure: measures the costs on `cpu`, as `c10m bench machine` does. other: a CPU of
// another core; the same as `cpu` if there is none. Takes some seconds and 256 MiB. Returns 0, or
// -1 with the reason in *err.
int machine_costs_measure(unsigned cpu, unsigned other, struct machine_costs *out, struct err *err);

// costs_budget: appends a table: the cycles per packet at 1 and at 10 million packets per second,
// and the number of operations of each kind that fit into them. costs_budget_json: the same as a
// JSON value.
void costs_budget(const struct machine_costs *c, struct text *out);
void costs_budget_json(const struct machine_costs *c, struct text *out);

// costs_tsc_hz: the frequency of the TSC, measured against CLOCK_MONOTONIC_RAW; takes 20 ms.
double costs_tsc_hz(void);

// Each function measures one operation on the CPU of the calling thread and returns its TSC cycles,
// the minimum of some rounds. quick: fewer and shorter rounds, for tests.
double cost_branch_cycles(bool quick);  // a misprediction of a random branch
double cost_syscall_cycles(bool quick);
double cost_atomic_cycles(bool quick);  // in a cache line that no other core uses
double cost_tsc_cycles(bool quick);

// cost_copy_cycles: memcpy of `bytes` bytes.
double cost_copy_cycles(uint8_t *to, const uint8_t *from, size_t bytes, bool quick);

// cost_switch_cycles: a switch from one thread to another on `cpu`, with the wakeup, without the
// cost of the system calls. Negative: no threads could be created there.
double cost_switch_cycles(unsigned cpu, bool quick);

// cost_hop_cycles: a message of 8 bytes through an SPSC rte_ring from a thread on cpu_a to a thread
// on cpu_b that polls for it, one way. cost_atomic_shared_cycles: an atomic increment in a cache
// line that both threads increment. Negative: no threads could be created there.
double cost_hop_cycles(unsigned cpu_a, unsigned cpu_b, bool quick);
double cost_atomic_shared_cycles(unsigned cpu_a, unsigned cpu_b, bool quick);

// cost_line_trips: cpu_a writes a word in a cache line, cpu_b polls for it and answers in another
// cache line. Sets cycles[0..n) to the cycles per round trip in n rounds of 2,000. Returns false if
// no threads could be created there.
bool cost_line_trips(unsigned cpu_a, unsigned cpu_b, double *cycles, unsigned n);
