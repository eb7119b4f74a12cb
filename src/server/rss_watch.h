// SPDX-License-Identifier: BSD-3-Clause
// rss_watch.h: whether a port brings packets to the workers that it should bring them to. Workers
// count each packet that came to another worker, by kind, and hand it over (worker/handoff.h), so
// that a port which spreads wrongly costs time and no connection. Control thread.
//
//     RIGHT --RSS_EVIDENCE wrong packets--> SUSPECT: key and table are read back, and written again
//       ^                                      |     where they are not ours
//       |<--RSS_CALM packets, few wrong--------|
//       |                                      |--RSS_GIVE_UP more wrong packets--> SOFTWARE
//       |<--RSS_CALM packets, few wrong---------------------------------------------|    |
//                                      SUSPECT <--a reading every RSS_RETRY_MS mended it-|
//
// Only kinds that the device says it hashes by addresses and ports (rss_kinds) are evidence.
// handoff_kind() takes care that a remote sender cannot make some; all it would gain is this:
// registers are read, and a word changes in the tree.
#pragma once
#include "worker/handoff.h"

enum {
    RSS_EVIDENCE = 64,
    RSS_GIVE_UP = 1024,
    RSS_CALM = 1024,       // received packets, of which fewer than one in RSS_FEW are wrong
    RSS_FEW = 64,          //
    RSS_LOOK_MS = 500,     // between two looks
    RSS_RETRY_MS = 60000,  // between two readings of a port that was given up
    RSS_SAY_MS = 60000,    // between two lines of one kind in the log
};

enum rss_state {
    RSS_NONE,  // the port does not spread by our hash, or has fewer queues than workers
    RSS_RIGHT,
    RSS_SUSPECT,
    RSS_SOFTWARE,  // given up
};

enum rss_line { RSS_LINE_WRONG, RSS_LINE_AS_SET, RSS_LINE_NOT_AS_SET, RSS_LINE_STATE, RSS_LINES };

struct rss_watch {
    struct handoff *handoff;
    struct port *port;
    unsigned workers;
    enum rss_state state;
    uint64_t wrong[PORT_RSS_ALL_KINDS];  // since the start, at the last look
    uint64_t said[PORT_RSS_KINDS];       // of those, what the log has told
    uint64_t doubt;                      // wrong packets in this state
    uint64_t received;                   // by the port when this state, or a part of it, began
    bool in_flight;  // packets of before the change may still wait in the queues
    uint64_t checks, repairs;
    uint64_t looked_ns, checked_ns, said_ns[RSS_LINES];
};

// rss_watch_init: of a port that these workers share; handoff NULL: one worker has it alone.
void rss_watch_init(struct rss_watch *w, struct handoff *handoff, unsigned workers,
                    struct port *port);

// rss_watch_look: does nothing until RSS_LOOK_MS have passed since the last look.
void rss_watch_look(struct rss_watch *w, uint64_t now_ns);

// rss_state_name, rss_kind_name: as ports/NAME/rss shows them. rss_kind_text: as the log does.
const char *rss_state_name(enum rss_state s);
const char *rss_kind_name(enum port_rss_kind k);
const char *rss_kind_text(enum port_rss_kind k);

// rss_wrong_sum: what the workers have counted since the start: packets that came to another
// worker, by kind.
void rss_wrong_sum(const struct handoff *h, unsigned workers, uint64_t wrong[PORT_RSS_ALL_KINDS]);

struct server;

// rss_watch_new: one for each port of s, which outlives them; freed by free(). NULL: no memory.
struct rss_watch *rss_watch_new(const struct server *s);
