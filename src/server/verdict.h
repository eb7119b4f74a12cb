// SPDX-License-Identifier: BSD-3-Clause
// verdict.h: what is wrong with the server now, in words. Pure: the caller looks at the server once
// a second (struct verdict_look) and brings the time; the judge compares two looks.
//
//     verdict_look --verdict_judge--> items (kind, subject, since) --verdict_sentences--> /verdict,
//                                                                                         metrics
//
// An item begins when its level has reached `on` for on_looks looks in a row, and ends when it has
// been below `off` for off_looks looks. Its time counts from the first of those looks. Looks
// between which a figure was not read anew count as one for the items of this figure.
#pragma once
#include "base/text.h"
#include "pkt/port.h"
#include "server/fill_levels.h"
#include "server/rss_watch.h"
#include "stat/counters.h"
#include "tcp/tcp_service.h"

enum {
    VERDICT_LOOK_MS = 1000,      // between two looks
    VERDICT_ITEMS_MAX = 1024,    // kept; those of lower rank make room, and are counted
    VERDICT_SUBJECT_BYTES = 72,  // a port's or service's name and a word
    VERDICT_SENTENCE_BYTES = 160,
};

enum verdict_severity {
    VERDICT_ALARM,    // packets or connections are lost, or a worker does nothing
    VERDICT_WARNING,  // close to that, or slower than it could be
    VERDICT_NOTE,     // as somebody ordered
    VERDICT_SEVERITIES,
};

// The thresholds, and why they are there. A level is in the unit that the name says.
enum {
    // A worker's turn takes microseconds; 50 ms count as stalled in cores/N/state, and a busy host
    // takes that much now and then. Half a second is a worker that does not come back by itself
    // (prof/hang_watch.h has the same).
    VERDICT_STALLED_MS = 500,
    // Full is full; below 98 % there is room for more than a burst again.
    VERDICT_FULL_PERCENT = 100,
    VERDICT_ROOM_PERCENT = 98,
    // One a second is a loss that goes on; the odd single one is for the counters.
    VERDICT_LOSES_PER_S = 1,
    // A burst waits some 20 us for its turn; a worker that lacks a tenth of its time lacks it in
    // time slices of milliseconds, and receive rings overflow.
    VERDICT_TAKEN_PERCENT = 10,
    VERDICT_NOT_TAKEN_PERCENT = 5,
    // At 2 us each, 5,000 interrupts take a hundredth of the core and lengthen as many turns.
    VERDICT_INTERRUPTS_PER_S = 5000,
    VERDICT_FEW_INTERRUPTS_PER_S = 2500,
    // Above 95 % the queue before the worker grows with each burst (M/D/1: ten packets and more).
    VERDICT_BUSY_PERCENT = 95,
    VERDICT_NOT_BUSY_PERCENT = 90,
    // NTP moves a clock by half a millisecond a second; half a second is a step.
    VERDICT_STEP_MS = 500,
    // The control thread looks every 20 ms; two seconds late, it could not answer a control
    // interface either.
    VERDICT_LATE_MS = 2000,
};

// X(kind, severity, on, off, on_looks, off_looks, help): the most severe first. Rates and levels
// that a burst reaches for a moment need two looks or more to begin; what is a state of somebody's
// making begins and ends at once.
#define VERDICT_KIND_TABLE(X)                                                                      \
    X(core_stalled, ALARM, VERDICT_STALLED_MS, 1, 1, 1,                                            \
      "A worker has not ended its turn for half a second or more.")                                \
    X(link_down, ALARM, 1, 1, 1, 2, "The link of a port is down.")                                 \
    X(linux_gone, ALARM, 1, 1, 1, 1, "The interface by which Linux shares a port was removed.")    \
    X(pool_empty, ALARM, VERDICT_FULL_PERCENT, VERDICT_ROOM_PERCENT, 2, 3,                         \
      "All entries of a pool of a worker are in use.")                                             \
    X(connections_full, ALARM, VERDICT_FULL_PERCENT, VERDICT_ROOM_PERCENT, 1, 3,                   \
      "A worker has as many connections as it has blocks.")                                        \
    X(service_full, ALARM, VERDICT_FULL_PERCENT, VERDICT_ROOM_PERCENT, 1, 3,                       \
      "A service has as many connections as limit_connections allows.")                            \
    X(port_loses, ALARM, VERDICT_LOSES_PER_S, VERDICT_LOSES_PER_S, 1, 5,                           \
      "A device counts lost or bad packets.")                                                      \
    X(handoff_full, ALARM, VERDICT_LOSES_PER_S, VERDICT_LOSES_PER_S, 1, 5,                         \
      "Rings between workers are full and packets are lost.")                                      \
    X(buffers_scarce, ALARM, VERDICT_LOSES_PER_S, VERDICT_LOSES_PER_S, 1, 5,                       \
      "Connections are reset to get their buffers back.")                                          \
    X(drops, WARNING, VERDICT_LOSES_PER_S, VERDICT_LOSES_PER_S, 1, 5,                              \
      "Packets are dropped for a reason whose cause is on this side.")                             \
    X(members_missing, WARNING, 1, 1, 1, 2, "A bond runs without some of its members.")            \
    X(rss_software, WARNING, 1, 1, 1, 3,                                                           \
      "A port was given up: it does not spread packets as it was set, software does.")             \
    X(rss_suspect, WARNING, 1, 1, 1, 3,                                                            \
      "Packets of a port arrive at wrong workers, and it is being checked.")                       \
    X(core_preempted, WARNING, VERDICT_TAKEN_PERCENT, VERDICT_NOT_TAKEN_PERCENT, 2, 3,             \
      "Linux runs other threads on a worker's core.")                                              \
    X(core_stolen, WARNING, VERDICT_TAKEN_PERCENT, VERDICT_NOT_TAKEN_PERCENT, 2, 3,                \
      "The hypervisor takes time from a worker's core.")                                           \
    X(core_interrupted, WARNING, VERDICT_INTERRUPTS_PER_S, VERDICT_FEW_INTERRUPTS_PER_S, 2, 3,     \
      "Interrupts beside the timer's come to a worker's core.")                                    \
    X(core_busy, WARNING, VERDICT_BUSY_PERCENT, VERDICT_NOT_BUSY_PERCENT, 3, 3,                    \
      "A worker has hardly any time left.")                                                        \
    X(half_open_full, WARNING, VERDICT_FULL_PERCENT, VERDICT_ROOM_PERCENT, 2, 3,                   \
      "All records of half-open connections are in use.")                                          \
    X(time_wait_short, WARNING, VERDICT_LOSES_PER_S, VERDICT_LOSES_PER_S, 1, 5,                    \
      "TIME-WAIT records end early because there are too few.")                                    \
    X(records_short, WARNING, VERDICT_FULL_PERCENT, VERDICT_ROOM_PERCENT, 2, 3,                    \
      "A pool is empty whose entries make connections better, not possible.")                      \
    X(log_loses, WARNING, VERDICT_LOSES_PER_S, VERDICT_LOSES_PER_S, 1, 5,                          \
      "Lines of an access log are lost.")                                                          \
    X(control_late, WARNING, VERDICT_LATE_MS, VERDICT_LATE_MS, 1, 10,                              \
      "The control thread did not get its core in time.")                                          \
    X(clock_stepped, WARNING, VERDICT_STEP_MS, VERDICT_STEP_MS, 1, 60,                             \
      "The clock of the host was set; shown for a minute.")                                        \
    X(draining, NOTE, 1, 1, 1, 1, "The server, or a service, accepts no new connections.")         \
    X(service_closed, NOTE, 1, 1, 1, 1, "A service is closed.")

enum verdict_kind {
#define VERDICT_ENUM(kind, ...) VERDICT_##kind,
    VERDICT_KIND_TABLE(VERDICT_ENUM)
#undef VERDICT_ENUM
        VERDICT_KINDS
};

struct verdict_kind_info {
    const char *name;
    enum verdict_severity severity;
    double on, off;
    unsigned on_looks, off_looks;
    const char *help;
};
extern const struct verdict_kind_info verdict_kinds[VERDICT_KINDS];
extern const char *const verdict_severities[VERDICT_SEVERITIES];

// ---- what is looked at. Counters are totals; names live as long as the server.

struct verdict_port {
    const char *name;
    bool link_known, link_up;
    bool linux_gone;
    const char *link_reason;           // of one that is down: a word; NULL: none
    unsigned members, members_usable;  // of a bond
    uint64_t rx_missed, rx_nombuf, rx_errors, tx_errors;
    uint64_t handoff_lost;
    enum rss_state rss;
};

struct verdict_core {
    char name[24];
    uint64_t stalled_ms;  // 0: it is not
    const char *stage, *app, *service;
    const char *function;  // in which it is; "-": not known
    uint64_t busy_cycles, cycles;
    // Of the host, as of host_ns, which may be the same in several looks. host_ns 0: not known.
    uint64_t host_ns, wait_ns, steal_ns, interrupts;
    unsigned n_pools;
    struct fill_pool pools[FILL_POOLS_MAX];
};

struct verdict_service {
    const char *name;
    uint8_t state;  // enum tcp_service_state
    uint64_t connections, connections_max;
    unsigned shares, shares_full;  // workers, and those of them whose share is used up
    uint64_t log_lost;
};

// verdict_look: one look. clock_offset_us: the time of day less now_ns.
struct verdict_look {
    uint64_t now_ns;
    int64_t clock_offset_us;
    bool cores_shared;  // several threads on a worker's core by configuration: preempted means
                        // nothing
    unsigned n_ports, n_cores, n_services;
    struct verdict_port ports[WORKER_PORTS_MAX];
    struct verdict_core cores[SERVER_WORKERS_MAX];
    struct verdict_service services[TCP_SERVICES_MAX];
    uint64_t drops[DROP_COUNT];  // of all cores
    uint64_t conns_shed, time_wait_evicted;
};

// ---- what is said

// verdict_item: active: it is said. since_ns: when it began, on the clock of now_ns.
struct verdict_item {
    enum verdict_kind kind;
    bool used, active;
    bool seen, held;  // in this look: its level is above `off`; its figure was not read anew
    unsigned on_looks, off_looks;  // so far in a row
    double level;
    uint64_t since_ns;
    char subject[VERDICT_SUBJECT_BYTES];
    char sentence[VERDICT_SENTENCE_BYTES];  // without "for N s"
};

// verdict: zeroed: nothing was looked at. changed: called when an item becomes active or ends;
// NULL: nobody wants to know.
//
// Each of 64 cores can have an item for each of 16 pools and five more: 1,344 in all, besides those
// of ports, services and drops. More than VERDICT_ITEMS_MAX are needed only where most cores lack
// most things at the same time.
struct verdict {
    bool looked;
    struct verdict_look before;
    struct verdict_item items[VERDICT_ITEMS_MAX];
    unsigned n_missed;  // items of the last look that found no place
    void (*changed)(void *arg, const struct verdict_item *item, uint64_t now_ns);
    void *arg;
};

// verdict_judge: takes the next look. Without an earlier one rates are unknown, and only states are
// judged.
void verdict_judge(struct verdict *v, const struct verdict_look *now);

// verdict_list: the active items, most severe first, then in the order in which they were found;
// returns how many. out has room for VERDICT_ITEMS_MAX.
unsigned verdict_list(const struct verdict *v, const struct verdict_item **out);

// verdict_count: the active items of a severity; verdict_count_kind: of a kind.
unsigned verdict_count(const struct verdict *v, enum verdict_severity severity);
unsigned verdict_count_kind(const struct verdict *v, enum verdict_kind kind);

// verdict_render: "ok", or a line for each active item: severity, time of day at which it began
// (UTC), and the sentence, which ends in "for N s". now_us: the time of day. A last line counts
// those that found no place.
void verdict_render(const struct verdict *v, uint64_t now_ns, uint64_t now_us, struct text *out);
