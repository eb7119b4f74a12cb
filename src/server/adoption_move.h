// SPDX-License-Identifier: BSD-3-Clause
// adoption_move.h: the connections of an earlier server whose memory has another layout, because
// the configuration has changed: another number of workers, other memory, services or addresses.
// They are copied (tcp/tcp_move.h) to an arena of this server, which takes the place of the earlier
// one when its workers are about to run. If the start fails before, the earlier arena is what it
// was.
//
// Control thread, before the workers run; adoption.c calls it.
#pragma once
#include "server/server.h"
#include "server/server_memory.h"
#include "sock/sock_adopt.h"
#include "tcp/tcp_move.h"

struct adoption;
struct adoption_move;
struct arena_params;

// adoption_move_open: s->arena is what the dead process kept, with its state s->adoption. Opens the
// next arena for ap and `layout` beside it: s->arena and s->adoption are the next ones, and s->move
// is set. -1: *why, and nothing has changed.
int adoption_move_open(struct server *s, const struct arena_params *ap, const char *layout,
                       struct err *why);

// adoption_move_forecast: whether a start with p, whose layout is `layout`, could copy the
// connections of the server that left `was`; the versions of their state as that start finds them
// are in *states. Appends a line to `gone` for each service that there is no more. -1: *why.
int adoption_move_forecast(const struct adoption *was, const struct server_params *p,
                           const char *layout, struct sock_states *states, struct text *gone,
                           struct err *why);

// adoption_move_from: the state of the earlier server. adoption_move_state: s->adoption has begun
// anew: takes over what goes on.
const struct adoption *adoption_move_from(const struct adoption_move *m);
void adoption_move_state(struct server *s);

// adoption_move_net: copies what a worker knew of its neighbors to REGION_NET of worker `id`, if
// its ports are the same.
void adoption_move_net(const struct server *s, unsigned id, uint8_t *net_region);

// adoption_move_take: copies connections to the workers, which are set up and empty, all of them at
// the same time. Adds what is refused to *refused. -1: no memory, or no thread.
int adoption_move_take(struct server *s, struct tcp_adopted *refused, struct err *err);

// adoption_move_end: from now on the next process finds this server's arena. This one has no rights
// in its directory any more.
void adoption_move_end(struct server *s);

// adoption_move_close: closes the earlier arena: after adoption_move_end(), or of a start that has
// failed, after that of this server; it then stays. NULL: does nothing.
void adoption_move_close(struct adoption_move *m);
