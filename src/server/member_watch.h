// SPDX-License-Identifier: BSD-3-Clause
// member_watch.h: watches the members of a port that is over several ports (port_group): lets the
// port look at them, logs changes of the usable and the active ones, and opens a member again when
// its device returns. Control thread.
#pragma once
#include "pkt/port.h"
#include "server/replug.h"

struct server;
struct member_watch;

// member_watch_new: of port i of s. Logs members that have no link. NULL: no memory.
struct member_watch *member_watch_new(const struct server *s, unsigned i);
void member_watch_free(struct member_watch *w);

// member_watch_look: time: that of the day, for lines of the log.
void member_watch_look(struct member_watch *w, uint64_t now_ns, const char *time);

// member_watch_reopened: how often members were opened again.
uint64_t member_watch_reopened(const struct member_watch *w);
