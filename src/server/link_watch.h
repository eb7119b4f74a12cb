// SPDX-License-Identifier: BSD-3-Clause
// link_watch.h: the control thread's watch over the links of the ports. Every LINK_LOOK_MS it asks
// each port for its link, logs and counts a change, and when a link has come lets the workers
// announce the port's addresses: switches and neighbors may have forgotten them meanwhile, or
// never heard of them.
//
// It also logs, once for each port, that the device refuses a packet for good (pkt/refusal.h).
//
// A port whose device is gone gets a new one when there is one (replug.h).
//
// A port over several ports has a watch of its own for those (member_watch.h), and announces its
// addresses also when it goes on by another of them.
//
// Not seen: a link that goes and comes back between two looks. Control thread only.
#pragma once
#include "pkt/port.h"
#include "worker/worker.h"

enum {
    LINK_LOOK_MS = 100,
    LINK_ANNOUNCES = 2,          // times that a link that came is announced (RFC 5227 ANNOUNCE_NUM)
    LINK_ANNOUNCE_GAP_MS = 2000  // between them (ANNOUNCE_INTERVAL)
};

struct server;
struct link_watch;

// link_now: known: the port tells. changes: how often it went up or down, or was down for another
// reason, since the watch began. reopened: how often a new device was opened. for_ms: time since
// the last change, or since the watch began.
struct link_now {
    bool known;
    struct port_link link;
    uint64_t changes, reopened, for_ms;
};

// link_watch_new: of the ports of s, which outlives it. Logs links that are not up. NULL: no
// memory.
struct link_watch *link_watch_new(const struct server *s, uint64_t now_ns);
void link_watch_free(struct link_watch *l);

// link_watch_poll: looks at the links if it is time. now_ns: of any clock that goes on.
void link_watch_poll(struct link_watch *l, uint64_t now_ns);

// link_watch_look: port i's link, asked for now, so that it is the real one.
void link_watch_look(struct link_watch *l, unsigned i, uint64_t now_ns, struct link_now *out);

// link_reason_name: for the file: none, no_carrier, set_down, gone, replaced, unknown, no_partner.
// `l` is of a port that tells. link_words: for the log: up, or down and why.
const char *link_reason_name(const struct port_link *l);
const char *link_words(const struct port_link *l);
