// SPDX-License-Identifier: BSD-3-Clause
// adoption.h: the connections of a server that was killed, or ended to be started again, continue
// in the next one ([control] adopt).
//
// With [control] adopt the arena of a server is a file that outlives the process. It begins with
// the state that the next process compares with its own, or takes over:
//
//   state    layout of the memory | keys that peers have seen the output of | clock
//   regions  blocks, extension records, flight logs, buffers, half-open and TIME-WAIT records stay;
//            neighbors are copied; all others begin anew (tcp/tcp_adopt.h)
//
// If the configuration has changed so that the layout is another one, the connections are copied to
// an arena with that layout (adoption_move.h).
//
// A connection that was in hand when the process ended (worker/hand.h) is refused, because it is
// unknown which bytes its application has received. Control thread, before the workers run.
#pragma once
#include "server/adoption_neighbors.h"
#include "server/server_memory.h"
#include "tcp/tcp_adopt.h"

enum server_adopt { SERVER_ADOPT_NEVER, SERVER_ADOPT_AUTO, SERVER_ADOPT_REQUIRE };

// adoption_bytes: of the state in the arena of p; 0: nothing is kept.
uint64_t adoption_bytes(const struct server_params *p);

// adoption_open: opens s->arena, with the state in it, and the keys and the clock of the server
// before if that can be adopted: s->adopting. -1: *err: there is no memory, or nothing to adopt
// where it is required.
int adoption_open(struct server *s, struct err *err);

// adoption_image_owner: the number of service i in the file of images (mem/image_store.h).
uint8_t adoption_image_owner(const struct server *s, unsigned i);

// adoption_clock_us: what the workers' clock shows now: time went on while no process had it. 0:
// nothing is adopted. After adoption_prepare().
uint64_t adoption_clock_us(const struct server *s);

// adoption_enter: the workers are set up over their regions; adopts what is in them, all workers at
// the same time, on their CPUs. Adds to s->adopted. -1: no memory, or no thread.
int adoption_enter(struct server *s, struct err *err);

// adoption_prepare: before worker `id` is set up: notes what the worker before had in hand, copies
// its neighbors to *neighbors, whose bytes are 0, and clears the regions that begin anew.
void adoption_prepare(struct server *s, unsigned id, uint8_t *const mem[REGION_COUNT],
                      struct adoption_neighbors *neighbors);

// adoption_complete: the workers begin: the connections are those of this process, and the next one
// may adopt them.
void adoption_complete(struct server *s);

// adoption_serves: the start is over: what was refused is told, and not by the next process.
void adoption_serves(struct server *s);

// adoption_stays: whether the connections stay for the next process when this one ends now: it is
// told so, or it has adopted them and its start has failed before it served.
bool adoption_stays(const struct server *s);

// adoption_end: the server ends in order, and has reset its connections: nothing stays, but for
// server_keep(). One that failed to start leaves what it was to adopt.
void adoption_end(struct server *s);
