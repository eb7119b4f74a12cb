// SPDX-License-Identifier: BSD-3-Clause
// prof_starts.h: how often each client may begin a profile: a token bucket (GCRA, ITU-T I.371). The
// begin of a run is work of the control thread, a millisecond at most, on which all readers of the
// tree wait; the bucket bounds what one client takes of that thread to PROF_STARTS_BURST at once
// and one in PROF_STARTS_MS.
//
// Why not base/limit.h: its common limit, which hides what strangers do, would refuse a client
// because of others, and a scrape of all kinds at once is more than its burst. Clients here are
// users of this host, or hold the token; nobody can be one in the name of another.
//
// A new client replaces the one that was idle longest. Control thread.
#pragma once
#include "base/base.h"

enum {
    PROF_STARTS_BURST = 32,  // all kinds, three times
    PROF_STARTS_MS = 250,
    PROF_STARTS_CLIENTS = 16,      // that are known at a time
    PROF_STARTS_CLIENT_BYTES = 64  // a longer name counts as its begin
};

// prof_starts: all zero: nobody has begun a profile.
struct prof_starts {
    struct {
        char client[PROF_STARTS_CLIENT_BYTES];
        uint64_t next_ms;  // when its next token is due
    } of[PROF_STARTS_CLIENTS];
};

// prof_starts_take: takes a token of the client. Returns 0, or after how many ms it may ask again;
// nothing is taken then.
uint32_t prof_starts_take(struct prof_starts *s, const char *client, uint64_t now_ms);
