// SPDX-License-Identifier: BSD-3-Clause
// adoption_layout.h: the layout that an earlier server left as text (adoption_layout() of
// adoption_state.h), read back: where the memory of its workers lies, its services and addresses.
// Control thread.
#pragma once
#include "base/err.h"
#include "server/adoption_convert.h"
#include "server/adoption_worker.h"
#include "server/server_memory.h"
#include "tcp/tcp_move.h"

enum { LAYOUT_NAME_BYTES = 64 };

struct layout_region {
    uint64_t offset;  // from the begin of the worker's memory
    uint64_t bytes;
    uint32_t count;
};

struct layout {
    const struct adoption_converter *from;  // NULL: its structures are those of this program
    struct worker_places worker;
    unsigned n_workers;
    uint64_t worker_bytes;                      // of one worker: all its regions
    struct layout_region region[REGION_COUNT];  // bytes 0: it had none
    uint32_t n_services, n_locals;
    struct {
        char name[LAYOUT_NAME_BYTES], app[LAYOUT_NAME_BYTES];
    } service[TCP_SERVICES_MAX];
    struct {
        char port[LAYOUT_NAME_BYTES], addr[LAYOUT_NAME_BYTES];
    } local[TCP_LOCALS_MAX];  // by flow_key.local_ix
};

// layout_read: reads `text` into l; regions have the names that they have with p, whose own layout
// is `own`. -1: *why: structures that no converter knows, a line that this program does not know,
// or sizes that contradict each other.
int layout_read(struct layout *l, const char *text, const struct server_params *p, const char *own,
                struct err *why);

// layout_converted_bytes: memory that the converted records of all workers take; 0: none are
// converted.
uint64_t layout_converted_bytes(const struct layout *l);

// layout_same_nets: whether REGION_NET of both is divided among the same ports.
bool layout_same_nets(const char *a, const char *b);

// layout_left: what worker w of the server that left l at `arena` had.
void layout_left(const struct layout *l, unsigned w, uint8_t *arena, struct tcp_left *out);

// layout_at: region r of worker w; NULL: it had none.
uint8_t *layout_at(const struct layout *l, unsigned w, uint8_t *arena, enum region_id r);
