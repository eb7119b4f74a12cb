// SPDX-License-Identifier: BSD-3-Clause
// adoption_state.h: the begin of the memory that outlives a server (adoption.h), and what two
// processes must have in common so that the second one adopts the connections of the first.
// Control thread.
#pragma once
#include "base/keys.h"
#include "base/text.h"
#include "server/server.h"
#include "sock/sock_adopt.h"
#include "tcp/tcp_adopt.h"

enum { ADOPTION_STATE_BYTES = 16384 };

// adoption: the begin of the arena.
struct adoption {
    char magic[8];               // ADOPTION_MAGIC
    struct shared_u32 complete;  // 1: the workers run, or ran; the next process believes it
    uint32_t starts;             // processes that had these connections
    struct adoption *at;         // its own address: buffers have pointers into themselves
    uint64_t epoch_us;           // CLOCK_BOOTTIME where the workers' clock is 0
    uint64_t clock_us;           // the workers' clock when the process before ended
    uint64_t ran_us;             // the same of the last process whose workers ran
    struct tcp_adopted refused;  // by starts that failed later; only what was refused
    struct siphash_key keys[SECRET_COUNT];
    uint8_t rss_key[TOEPLITZ_KEY_BYTES_MAX];
    uint8_t image_owner[TCP_SERVICES_MAX];  // by service: its number in the file of images
    struct sock_states states;              // versions of what applications keep in connections
    char layout[];                          // lines, with a last zero
};

enum { ADOPTION_LAYOUT_BYTES = ADOPTION_STATE_BYTES - sizeof(struct adoption) };

extern const char ADOPTION_MAGIC[8];

// adoption_layout: appends a line for each thing that both processes must have in common.
void adoption_layout(const struct server_params *p, struct text *out);

// adoption_differs: why a process with this layout cannot adopt the connections of `a`, perhaps in
// `line`; NULL: it can.
const char *adoption_differs(const struct adoption *a, const char *layout, char line[128]);

// adoption_clock_at: what the workers' clock shows at boot_us of CLOCK_BOOTTIME: not less than
// before. That clock may show less than it did: a container has its own (time_namespaces(7)).
uint64_t adoption_clock_at(const struct adoption *a, uint64_t boot_us);

// adoption_change: appends what becomes of the connections of service i, `s`, whose state is of
// another version than its application.
void adoption_change(const struct sock_states *states, struct sock_change change,
                     const struct c10m_service *s, unsigned i, struct text *out);
