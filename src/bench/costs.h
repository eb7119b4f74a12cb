// SPDX-License-Identifier: BSD-3-Clause
// costs.h: what the elementary acts of this machine cost, by name; and the budget of a packet drawn
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
    COST_BATCH,   // a random line of memory, CHASE_BATCH of which are prefetched together
    COST_BRANCH,
    COST_SYSCALL,
    COST_SWITCH,
    COST_HOP,
    COST_ATOMIC,
    COST_ATOMIC_SHARED,
    COST_TSC,
    COST_COUNT,
};

// cost_info: label: for people. typical_ns: of a server CPU of the 2020s, where nothing was
// measured. budget: worth a line in the budget of a packet.
struct cost_info {
    const char *name, *label;
    double typical_ns;
    bool budget;
};

extern const struct cost_info cost_infos[COST_COUNT];

// machine_costs: ns of each; 0: not measured, or there is no such thing here.
struct machine_costs {
    double tsc_hz;
    double ns[COST_COUNT];
};

// costs_typical: the typical ones, and this machine's TSC.
struct machine_costs costs_typical(void);

// machine_costs_measure: this machine's, on `cpu`, as `c10m bench machine` measures them; `other`
// is the other core (cpu: there is none). Takes some seconds and 256 MiB. -1: *err.
int machine_costs_measure(unsigned cpu, unsigned other, struct machine_costs *out, struct err *err);

// costs_budget: cycles of a packet at 1 and at 10 million a second, and how many of each act fit
// into them, as a table. costs_budget_json: the same as the value of one JSON member.
void costs_budget(const struct machine_costs *c, struct text *out);
void costs_budget_json(const struct machine_costs *c, struct text *out);

// costs_tsc_hz: the TSC's frequency against the kernel's raw clock; takes 20 ms.
double costs_tsc_hz(void);

// Each measures one act on the calling thread's CPU: TSC cycles of one, the lowest of some rounds.
// quick: fewer and shorter rounds, for tests.
double cost_branch_cycles(bool quick);  // a branch that nobody can foretell, when it was foretold
                                        // wrongly
double cost_syscall_cycles(bool quick);
double cost_atomic_cycles(bool quick);  // in a line that no other core has
double cost_tsc_cycles(bool quick);

// cost_copy_cycles: memcpy of `bytes` from one place to another, as often as it takes.
double cost_copy_cycles(uint8_t *to, const uint8_t *from, size_t bytes, bool quick);

// cost_switch_cycles: from one thread to another on one core `cpu`, waking it included, its system
// calls taken off. Negative: threads could not be made there.
double cost_switch_cycles(unsigned cpu, bool quick);

// cost_hop_cycles: a message of 8 bytes through an SPSC rte_ring from a thread on cpu_a to one on
// cpu_b that waits for it, one way. cost_atomic_shared_cycles: an atomic increment of a line that
// both increment. Negative: threads could not be made there.
double cost_hop_cycles(unsigned cpu_a, unsigned cpu_b, bool quick);
double cost_atomic_shared_cycles(unsigned cpu_a, unsigned cpu_b, bool quick);

// cost_line_trips: a word in a line that cpu_a writes and cpu_b waits for, and back in another
// line: the round trip of each of n rounds of 2,000. False: threads could not be made there.
bool cost_line_trips(unsigned cpu_a, unsigned cpu_b, double *cycles, unsigned n);
