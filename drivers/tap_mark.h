// SPDX-License-Identifier: BSD-3-Clause
// tap_mark.h: the mark of an interface that the driver tap created. The mark is the alias of the
// interface, which `ip link` shows and only root can set. If the name of a new interface is already
// in use, the mark tells whether c10m created the existing one. No message may propose to delete an
// interface that somebody else created. Control thread.
#pragma once
#include "base/err.h"

enum { TAP_MARK_BYTES = 96 };

enum tap_owner {
    TAP_STRANGER,  // no mark: somebody else created it
    TAP_USED,      // marked, and a process has it open
    TAP_ORPHAN,    // marked, and no process has it open: left by a server that has ended
};

// tap_mark_set: marks the interface as created by this process for the port. Returns 0, or -1 with
// the reason in *err.
int tap_mark_set(const char *device, const char *port, struct err *err);

// tap_mark_owner: who owns the interface. Sets mark to its mark, or to "" if it has none.
enum tap_owner tap_mark_owner(const char *device, char mark[TAP_MARK_BYTES]);
