// SPDX-License-Identifier: BSD-3-Clause
// tap_mark.h: the mark of an interface that the driver tap made: its alias, which `ip link` shows.
// Only root can set one. By it an interface that is in the way is told from one that somebody else
// made, which no message may propose to delete. Control thread.
#pragma once
#include "base/err.h"

enum { TAP_MARK_BYTES = 96 };

enum tap_owner {
    TAP_STRANGER,  // it has no mark: somebody else made it
    TAP_USED,      // a process has it open
    TAP_ORPHAN,    // nobody has it open: its server has ended and it was not removed
};

// tap_mark_set: marks the interface as made by this process for the port. 0, or -1 with the reason.
int tap_mark_set(const char *device, const char *port, struct err *err);

// tap_mark_owner: whose the interface is; mark: its mark, "" without one.
enum tap_owner tap_mark_owner(const char *device, char mark[TAP_MARK_BYTES]);
