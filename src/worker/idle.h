// SPDX-License-Identifier: BSD-3-Clause
// idle.h: what a worker does that has had nothing to do for a while ([cpu] idle).
//
//     turn with work --> polls for after_us --> waits --> a turn of each port: nothing --> waits
//     ...
//           ^                                     |
//           '---- a packet, a timer, an order <---'
//
//     IDLE_POLL       never waits
//     IDLE_PAUSE      pauses the core for IDLE_PAUSE_MIN_US, doubled up to IDLE_PAUSE_MAX_US
//     IDLE_MONITOR    waits in the CPU (UMWAIT) until the device of its only port writes a packet,
//                     for IDLE_MONITOR_MAX_US at most; pauses where the port cannot tell
//     IDLE_INTERRUPT  sleeps until a port has a packet, another thread wakes it (wake.h), or
//                     IDLE_LEAD_US before the next timer; at most IDLE_SLEEP_MAX_US. It pauses
//                     where a sleep is not worth its system calls, and while a port has no room
//                     for what is to be sent
//
// No wait goes beyond the millisecond in which the next timer of the wheel or TIME-WAIT record is
// due. What has no entry there (neighbors, reassembly, LACP) is looked at after each sleep.
//
// A packet that comes between the last look at its port and the sleep ends the sleep at once: the
// descriptors are readable as long as packets wait. Waiting counts as the stage `idle`.
#pragma once
#include "base/base.h"
#include "worker/wake.h"

enum idle_mode { IDLE_POLL, IDLE_PAUSE, IDLE_MONITOR, IDLE_INTERRUPT };

enum {
    IDLE_PAUSE_MIN_US = 1,
    IDLE_PAUSE_MAX_US = 8,
    IDLE_MONITOR_MAX_US = 20,  // orders and rings of other workers wait as long
    IDLE_LEAD_US = 100,        // waking takes the kernel less, if the CPU is free
    IDLE_SLEEP_MIN_US = 100,   // what sleeping and waking take, several times
    // Five sleeps are shorter than LIVENESS_STALLED_MS, two than ETHDEV_PAUSE_MS, in which the
    // control thread waits for a worker. 100 turns a second take 0.1 % of a core.
    IDLE_SLEEP_MAX_US = 10000,
    IDLE_SLACK_NS = 1000,  // that Linux may add to a sleep
    IDLE_FDS_MAX = 128,    // descriptors of all ports of a worker
};

// idle: of one worker, which writes it. mode, has_tpause and after_us are constant while it runs.
struct idle {
    enum idle_mode mode;
    bool has_tpause;  // a pause is one instruction, which saves power
    uint32_t after_us;
    uint64_t busy_seen;  // turns_busy at the last turn without work; UINT64_MAX: there was none
    uint64_t since_us;   // since when there has been no work
    uint32_t looks;      // turns without work since the last wait
    uint32_t pause_us;   // of the last pause; 0: there was none since the last work
    struct wake wake;
};

struct worker;

// idle_turn: a turn without work has ended: waits if that is due. Not with IDLE_POLL.
void idle_turn(struct worker *w);

// idle_limit_us: how long w may wait now, by what it knows itself; 0: not at all, because it has
// something in hand or a timer is due.
uint64_t idle_limit_us(const struct worker *w);
