// SPDX-License-Identifier: BSD-3-Clause
// pkt_machine.h: what the files of the interpreter share: one stack, its connections as the script
// numbers them, what is due in the next turn, and what has left and was not looked at yet.
#pragma once
#include "pkt_exec.h"

enum { PKT_CONNS_MAX = 8, PKT_CALLS_MAX = 16, PKT_ERROR_MAX = PKT_TEXT_MAX * 3 };

// pkt_conn: one connection of the script, and its application.
struct pkt_conn {
    struct flow_key key;
    bool has_isn;  // ours is known: numbers are relative to it
    uint32_t our_isn, peer_isn;
    uint32_t ts_base;  // our timestamp clock at time 0
    uint32_t ts_seen;  // the last value of ours, relative
    uint16_t win;      // the last that the script gave

    bool hold;  // the application takes `credit` bytes and no more
    uint64_t credit;
    uint32_t written;       // bytes that the stack took
    uint8_t *read;          // all that the application took
    size_t n_read, n_room;  // bytes of it
    size_t n_expected;      // ... that the script has looked at
    unsigned opened, ended, writable, closed;
    int error;  // as c10m_error() said last
    enum c10m_close why;
};

// pkt_left: a segment that left, numbers relative.
struct pkt_left {
    uint64_t at_us;
    unsigned conn;
    struct pkt_seg seg;
    bool wrong_data;  // not what the application wrote
};

struct pkt_machine {
    struct end e;
    const struct pkt_script *script;
    const struct pkt_line *line;
    struct pkt_how how;
    char *error;
    uint64_t start_us, now_us;
    uint64_t last_us;  // the time of the last line
    uint64_t tolerance_us;
    unsigned conn;  // the present one
    struct pkt_conn conns[PKT_CONNS_MAX];

    // The next turn.
    bool pending;
    unsigned n_in, n_calls;
    struct seg_in in[BURST_MAX];
    uint8_t *frames[BURST_MAX];
    const uint8_t *data[BURST_MAX];
    struct {
        const struct pkt_line *line;
        unsigned conn;
    } calls[PKT_CALLS_MAX];
    const struct pkt_line *call;  // being made

    struct pkt_left *left;
    unsigned n_left, left_head, left_room;
};

// pkt_fail: sets the error of the present line, unless there is one already; returns false.
bool pkt_fail(struct pkt_machine *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

// pkt_time: "+0.04" into text[32]; returns text.
const char *pkt_time(uint64_t us, char *text);

// pkt_setup: the stack as the script's first lines want it. pkt_conn_use: the connection n becomes
// the present one; local_port 0: the listening one.
bool pkt_setup(struct pkt_machine *m);
void pkt_conn_use(struct pkt_machine *m, unsigned n, uint16_t local_port);
void pkt_conn_key(struct pkt_machine *m, struct pkt_conn *c, const struct flow_key *key);

// pkt_block: the present connection's block, NULL: it has none.
struct block *pkt_block(struct pkt_machine *m);

// pkt_in: queues the line's segment for the next turn. pkt_icmp: hands the line's ICMP error in.
bool pkt_in(struct pkt_machine *m);
bool pkt_icmp(struct pkt_machine *m);

// pkt_capture: appends what left in this turn to what the script has to look at.
void pkt_capture(struct pkt_machine *m);

// pkt_turn: a turn at at_us with all that is pending. pkt_run_to: turns for whatever comes before
// at_us, or at it with `inclusive`. pkt_next: when something will come, UINT64_MAX: never.
bool pkt_turn(struct pkt_machine *m, uint64_t at_us);
bool pkt_run_to(struct pkt_machine *m, uint64_t at_us, bool inclusive);
uint64_t pkt_next(const struct pkt_machine *m);

// pkt_call: makes the calls of the turn; struct end's hook. pkt_app: the application; pkt_puller:
// with `service pulls 1`.
void pkt_calls(void *machine);
extern const struct c10m_app pkt_app, pkt_puller;

// pkt_errno: the number of an error's name; 0: nothing is called like that.
int pkt_errno(const char *name);

// pkt_expect: checks an `expect` line.
bool pkt_expect(struct pkt_machine *m);
