// SPDX-License-Identifier: BSD-3-Clause
// pkt_exec.h: runs a parsed script against one stack (tcp with sock) in virtual time.
#pragma once
#include "pkt_parse.h"
#include "tcp/tcp_state.h"

// pkt_how: one of the ways in which a script is run.
struct pkt_how {
    int family;       // 4 or 6
    bool timestamps;  // every segment carries them, and has to
};

// pkt_exec: false: error[PKT_TEXT_MAX * 3] says "file:line: expected ..., got ...".
bool pkt_exec(const struct pkt_script *s, const struct pkt_how *how, char *error);

// pkt_at: the line being run, for whoever has to say where the program stopped.
extern const struct pkt_line *volatile pkt_at;

// pkt_steps: how often each step was taken from each state, over all scripts, while pkt_watching:
// what the runner itself does at the end is not counted (pkt_state.c).
extern bool pkt_watching;
extern uint64_t pkt_steps[TCP_STATE_COUNT][STEP_COUNT];
extern const char *const pkt_step_names[STEP_COUNT];
