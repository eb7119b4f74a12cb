// SPDX-License-Identifier: BSD-3-Clause
// pkt_parse.h: packet scripts (*.pkt) as text into lines that pkt_exec.h runs. The language is
// described in README.md.
#pragma once
#include "pkt_seg.h"

enum pkt_verb {
    // set-up: before everything else
    PKT_CONFIG,     // word[0], n[0]
    PKT_SERVICE,    // word[0], n[0]
    PKT_POOL,       // word[0], n[0]
    PKT_FAMILY,     // n[0]: 4 or 6, the only one
    PKT_VARIANTS,   // timestamps
    PKT_ISN,        // n[0]: ours
    PKT_PEER_ISN,   // n[0]
    PKT_CLOCK_MS,   // n[0]: the clock at time 0
    PKT_TOLERANCE,  // at[0]
    PKT_SETUP_LAST = PKT_TOLERANCE,
    // what happens
    PKT_IN,        // seg
    PKT_ICMP,      // word[0]; n[0] sequence number, n[1] MTU
    PKT_CALL,      // word[0], n[0] the argument, n[1] what it returns, -1: as the argument
    PKT_CONN,      // n[0]; n[1] the local port, 0: the listening one
    PKT_REUSE,     // n[0]: the peer's numbers begin there
    PKT_OUT_ROOM,  // n[0]
    PKT_WAIT,
    // what must have happened
    PKT_OUT,     // seg
    PKT_EXPECT,  // word[0] what, word[1], n[0]; n[1] payload
};

struct pkt_line {
    const char *file;
    unsigned line;
    enum pkt_verb verb;
    bool timed;         // has a time of its own
    uint64_t at_us[2];  // after the line before: from, to
    struct pkt_seg seg;
    char word[2][32];
    int64_t n[2];
};

struct pkt_script {
    struct pkt_line *lines;
    unsigned n, room;
    char *names[8];  // of the files that it came from
    unsigned n_names;
    char error[PKT_TEXT_MAX];  // file:line: ...
};

// pkt_parse: reads the script. False: s->error says where and why. pkt_script_free in both cases.
bool pkt_parse(struct pkt_script *s, const char *path);
void pkt_script_free(struct pkt_script *s);
