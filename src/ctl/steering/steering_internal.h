// SPDX-License-Identifier: BSD-3-Clause
// steering_internal.h: what the files of this folder share.
#pragma once
#include "ctl/files/baseline.h"
#include "ctl/steering/steering.h"
#include "tcp/tcp.h"
#include "worker/order.h"

enum {
    STEERING_WORDS_MAX = 24,  // of one line
    STEERING_LAST_BYTES = 160,
    STEERING_TICK_MS = ORDERS_POLL_MS,
    STEERING_DRAIN_S_MAX = 86400,
    STEERING_RESET_AGAIN_MS = 1000,
};

// ctl_steering_file: one file, or one for each service or key: `at` counts those.
//   write: the line, blanks at its ends taken off, terminated, without control characters. 0, or
//          -errno with nothing changed.
//   show:  what is the case.
struct ctl_steering_entry;
struct ctl_steering_file {
    const char *help;  // lines, each begins with "# "; NULL: show prints it
    int (*write)(struct ctl_steering_entry *e, char *line);
    void (*show)(struct ctl_steering_entry *e, struct text *out);
};

// ctl_steering_entry: a file in the tree. action: of the order that is under way; last: how the
// last one ended, "": there was none.
struct ctl_steering_entry {
    struct ctl_steering *st;
    const struct ctl_steering_file *file;
    unsigned at;
    bool busy;  // its order is under way
    const char *action;
    char last[STEERING_LAST_BYTES];
    struct ctl_steering_entry *next;
};

enum drain_state { DRAIN_NONE, DRAIN_UNDER_WAY, DRAIN_DONE };

struct ctl_steering_drain {
    enum drain_state state;
    bool stops;  // the server stops at its end
    bool shut;   // half-open connections are forgotten: nobody comes in any more
    bool reset;  // time was up: what was left is being reset
    uint64_t until_ms;
    uint64_t again_ms;  // when what came in behind that is reset; 0: the first time is to come
};

struct ctl_steering {
    struct ctl_steering_params p;
    struct orders *orders;
    struct ctl_baseline *baseline;
    int timer_fd;  // -1: it does not run
    struct ctl_steering_entry *entries;
    uint8_t wanted[TCP_SERVICES_MAX];  // enum tcp_service_state, unless the server drains
    bool empty[TCP_SERVICES_MAX];      // it was to drain, and had no connection left
    struct ctl_steering_drain drain;
    void (*changed)(void *arg);  // NULL: nobody wants to know
    void *changed_arg;
    struct conf next;  // the one that is read or tried
};

// ctl_steering_now_ms: of a monotonic clock.
uint64_t ctl_steering_now_ms(void);

// ctl_steering_add: a file below root. 0 or -1.
int ctl_steering_add(struct ctl_steering *st, struct tree_node *root, const char *path,
                     const struct ctl_steering_file *file, unsigned at);

// ctl_steering_kick: something is under way from now on: the timer runs.
void ctl_steering_kick(struct ctl_steering *st);

// ctl_steering_order: an order to all workers on behalf of e, whose `last` its end will be told
// with `action`, a static text with %llu in it: "killed %llu connections". 0 or -EBUSY: another one
// of e is under way, or too many are.
int ctl_steering_order(struct ctl_steering_entry *e, const struct order *o, const char *action);

// ctl_steering_words: cuts the line at blanks; how many words there are, -1: more than
// STEERING_WORDS_MAX.
int ctl_steering_words(char *line, char *words[STEERING_WORDS_MAX]);

// ctl_steering_number: the whole of text as a number in [lo, hi]: 0, -EINVAL (no number), -ERANGE.
int ctl_steering_number(const char *text, uint64_t lo, uint64_t hi, uint64_t *out);

// ctl_steering_service: the index of the service called so, -1: there is none.
int ctl_steering_service(const struct ctl_steering *st, const char *name);

// ctl_steering_states: gives the workers the states that services have to have now.
void ctl_steering_states(struct ctl_steering *st);

// ctl_steering_settings: gives the workers what the configuration now says.
void ctl_steering_settings(struct ctl_steering *st);

// ctl_steering_connections: how many there are now of a service, or of all (UINT_MAX).
uint64_t ctl_steering_connections(const struct ctl_steering *st, unsigned service);

// Each file's part: its entries (0 or -1), what it does at each tick (whether it wants more).
int ctl_steering_kill_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_drain_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_arp_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_set_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_reset_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_log_fill(struct ctl_steering *st, struct tree_node *root);
bool ctl_steering_drain_tick(struct ctl_steering *st, uint64_t now_ms);
