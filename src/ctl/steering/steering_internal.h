// SPDX-License-Identifier: BSD-3-Clause
// steering_internal.h: what the files that steer share.
#pragma once
#include "ctl/files/baseline.h"
#include "ctl/steering/steering.h"
#include "tcp/tcp.h"
#include "worker/order.h"

enum {
    STEER_WORDS_MAX = 24,  // of one line
    STEER_LAST_BYTES = 160,
    STEER_TICK_MS = ORDERS_POLL_MS,
    STEER_DRAIN_S_MAX = 86400,
    STEER_RESET_AGAIN_MS = 1000,
};

// ctl_steer_file: one file, or one for each service or key: `at` counts those.
//   write: the line, blanks at its ends taken off, terminated, without control characters. 0, or
//          -errno with nothing changed.
//   show:  what is the case.
struct ctl_steer_entry;
struct ctl_steer_file {
    const char *help;  // lines, each begins with "# "; NULL: show prints it
    int (*write)(struct ctl_steer_entry *e, char *line);
    void (*show)(struct ctl_steer_entry *e, struct text *out);
};

// ctl_steer_entry: a file in the tree. verb: of the order that is under way; last: how the last one
// ended, "": there was none.
struct ctl_steer_entry {
    struct ctl_steer *st;
    const struct ctl_steer_file *file;
    unsigned at;
    bool busy;  // its order is under way
    const char *verb;
    char last[STEER_LAST_BYTES];
    struct ctl_steer_entry *next;
};

enum drain_state { DRAIN_NONE, DRAIN_UNDER_WAY, DRAIN_DONE };

struct ctl_steer_drain {
    enum drain_state state;
    bool stops;  // the server stops at its end
    bool shut;   // half-open connections are forgotten: nobody comes in any more
    bool reset;  // time was up: what was left is being reset
    uint64_t until_ms;
    uint64_t again_ms;  // when what came in behind that is reset; 0: the first time is to come
};

struct ctl_steer {
    struct ctl_steer_params p;
    struct orders *orders;
    struct ctl_baseline *baseline;
    int timer_fd;  // -1: it does not run
    struct ctl_steer_entry *entries;
    uint8_t wanted[TCP_SERVICES_MAX];  // enum tcp_service_state, unless the server drains
    bool empty[TCP_SERVICES_MAX];      // it was to drain, and had no connection left
    struct ctl_steer_drain drain;
    void (*changed)(void *arg);  // NULL: nobody wants to know
    void *changed_arg;
    struct conf next;  // the one that is read or tried
};

// ctl_steer_now_ms: of a monotonic clock.
uint64_t ctl_steer_now_ms(void);

// ctl_steer_add: a file below root. 0 or -1.
int ctl_steer_add(struct ctl_steer *st, struct tree_node *root, const char *path,
                  const struct ctl_steer_file *file, unsigned at);

// ctl_steer_kick: something is under way from now on: the timer runs.
void ctl_steer_kick(struct ctl_steer *st);

// ctl_steer_order: an order to all workers on behalf of e, whose `last` its end will be told with
// `verb`, a static text with %llu in it: "killed %llu connections". 0 or -EBUSY: another one of e
// is under way, or too many are.
int ctl_steer_order(struct ctl_steer_entry *e, const struct order *o, const char *verb);

// ctl_steer_words: cuts the line at blanks; how many words there are, -1: more than
// STEER_WORDS_MAX.
int ctl_steer_words(char *line, char *words[STEER_WORDS_MAX]);

// ctl_steer_number: the whole of text as a number in [lo, hi]: 0, -EINVAL (no number), -ERANGE.
int ctl_steer_number(const char *text, uint64_t lo, uint64_t hi, uint64_t *out);

// ctl_steer_service: the index of the service called so, -1: there is none.
int ctl_steer_service(const struct ctl_steer *st, const char *name);

// ctl_steer_states: gives the workers the states that services have to have now.
void ctl_steer_states(struct ctl_steer *st);

// ctl_steer_settings: gives the workers what the configuration now says.
void ctl_steer_settings(struct ctl_steer *st);

// ctl_steer_connections: how many there are now of a service, or of all (UINT_MAX).
uint64_t ctl_steer_connections(const struct ctl_steer *st, unsigned service);

// Each file's part: its entries (0 or -1), what it does at each tick (whether it wants more).
int ctl_steer_kill_fill(struct ctl_steer *st, struct tree_node *root);
int ctl_steer_drain_fill(struct ctl_steer *st, struct tree_node *root);
int ctl_steer_arp_fill(struct ctl_steer *st, struct tree_node *root);
int ctl_steer_set_fill(struct ctl_steer *st, struct tree_node *root);
int ctl_steer_reset_fill(struct ctl_steer *st, struct tree_node *root);
int ctl_steer_log_fill(struct ctl_steer *st, struct tree_node *root);
bool ctl_steer_drain_tick(struct ctl_steer *st, uint64_t now_ms);
