// SPDX-License-Identifier: BSD-3-Clause
// steering_internal.h: declarations shared by the files of this folder.
#pragma once
#include "base/log.h"
#include "base/text.h"
#include "ctl/files/baseline.h"
#include "ctl/steering/steering.h"
#include "tcp/tcp.h"
#include "worker/order.h"
#include "worker/worker.h"

enum {
    STEERING_WORDS_MAX = 24,  // words in one line
    STEERING_LAST_BYTES = 160,
    STEERING_TICK_MS = ORDERS_POLL_MS,
    STEERING_DRAIN_S_MAX = 86400,
    STEERING_RESET_AGAIN_MS = 1000,
};

// ctl_steering_file: one file, or one file for each service or key, with the index `at`.
//   write: executes the line, which is terminated and has no control characters and no blanks at
//          its ends. Returns 0, or -errno with nothing changed.
//   show:  appends the present state.
struct ctl_steering_entry;
struct ctl_steering_file {
    const char *help;  // lines that begin with "# "; NULL: show prints the help
    int (*write)(struct ctl_steering_entry *e, char *line);
    void (*show)(struct ctl_steering_entry *e, struct text *out);
};

// ctl_steering_entry: a file in the tree. action: text for the pending order. last: result of the
// last order; "": there was none.
struct ctl_steering_entry {
    struct ctl_steering *st;
    const struct ctl_steering_file *file;
    unsigned at;
    bool busy;  // its order is pending
    const char *action;
    char last[STEERING_LAST_BYTES];
    struct ctl_steering_entry *next;
};

struct port_follow;
struct ctl_steering_files;

enum drain_state { DRAIN_NONE, DRAIN_UNDER_WAY, DRAIN_DONE };

struct ctl_steering_drain {
    enum drain_state state;
    bool stops;  // the server stops at the end of the drain
    bool shut;   // half-open connections were removed: no new connections
    bool reset;  // the time limit has expired: remaining connections are being reset
    uint64_t until_ms;
    uint64_t again_ms;  // time of the next reset; 0: before the first one
};

// ctl_steering_reload: the readings of the configuration since the start. report: of the last one.
struct ctl_steering_reload {
    uint64_t count, refused;
    struct text report;
};

struct ctl_steering {
    struct ctl_steering_params p;
    struct orders *orders;
    struct ctl_baseline *baseline;
    struct recorder *recorder;  // NULL: none
    int timer_fd;               // -1: the timer does not run
    struct ctl_steering_entry *entries;
    uint8_t wanted[TCP_SERVICES_MAX];  // enum tcp_service_state, unless the server drains
    bool empty[TCP_SERVICES_MAX];      // was draining and has no connections left
    struct ctl_steering_drain drain;
    bool restart;  // the server ends for a restart
    struct ctl_steering_reload reload;
    struct ctl_steering_files *files;
    void (*changed)(void *arg);  // NULL: no callback
    void *changed_arg;
    struct port_follow *follows[WORKER_PORTS_MAX];  // NULL: the port follows no interface
    struct conf next;                               // the configuration being read or tested
};

// ctl_steering_now_ms: the time of a monotonic clock, in ms.
uint64_t ctl_steering_now_ms(void);

// ctl_steering_add: creates a file below root. Returns 0 or -1.
int ctl_steering_add(struct ctl_steering *st, struct tree_node *root, const char *path,
                     const struct ctl_steering_file *file, unsigned at);

// ctl_steering_kick: starts the timer, because an order is pending. False: there is no timer; it
// has logged why.
bool ctl_steering_kick(struct ctl_steering *st);

// ctl_steering_order: sends an order of e to all workers. At its end, e->last begins with `action`,
// a static text such as "connections killed:". Returns 0, or -EBUSY: an order of e is pending, or
// too many orders are.
int ctl_steering_order(struct ctl_steering_entry *e, const struct order *o, const char *action);

// ctl_steering_words: splits the line at blanks. Returns the number of words; -1: more than
// STEERING_WORDS_MAX.
int ctl_steering_words(char *line, char *words[STEERING_WORDS_MAX]);

// ctl_steering_service: the index of the service with this name; -1: there is none.
int ctl_steering_service(const struct ctl_steering *st, const char *name);

// ctl_steering_states: sends the present states of the services to the workers.
void ctl_steering_states(struct ctl_steering *st);

// ctl_steering_settings: sends the present settings of the configuration to the workers.
void ctl_steering_settings(struct ctl_steering *st);

// ctl_steering_apply: the same after keys have changed, with the level of the log if it differs
// from level_before.
void ctl_steering_apply(struct ctl_steering *st, enum log_level level_before);

// ctl_steering_connections: the number of connections of a service, or of all services (UINT_MAX).
uint64_t ctl_steering_connections(const struct ctl_steering *st, unsigned service);

// ctl_steering_files: the reloads of files (reload_files.c). _new: NULL: no memory. _look: goes on;
// returns whether another look is needed soon. _reload: reads the files of all services again.
// _report: appends a line for each service: how its last reload went, or that it is under way.
struct ctl_steering_files *ctl_steering_files_new(struct ctl_steering *st);
void ctl_steering_files_free(struct ctl_steering_files *f);
bool ctl_steering_files_look(struct ctl_steering_files *all);
void ctl_steering_files_reload(struct ctl_steering_files *all);
void ctl_steering_files_report(const struct ctl_steering_files *all, struct text *out);

// The parts of each file: creating its entries (0 or -1), and its work at each tick (returns
// whether it needs more ticks).
int ctl_steering_kill_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_drain_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_arp_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_set_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_reset_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_trace_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_reload_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_files_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_log_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_follow_fill(struct ctl_steering *st, struct tree_node *root);
int ctl_steering_restart_fill(struct ctl_steering *st, struct tree_node *root);
bool ctl_steering_restart_tick(struct ctl_steering *st);
void ctl_steering_follow_look(struct ctl_steering *st);
void ctl_steering_follow_close(struct ctl_steering *st);
bool ctl_steering_drain_tick(struct ctl_steering *st, uint64_t now_ms);
