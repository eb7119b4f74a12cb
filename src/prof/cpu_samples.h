// SPDX-License-Identifier: BSD-3-Clause
// cpu_samples.h: one sampler (pprof/sampler.h) for all CPU profiles that are being taken: each gets
// every sample from its beginning to its end. Control thread. The state is the process's, as the
// signal is.
#pragma once
#include "pprof/sampler.h"
#include "server/server.h"

enum { CPU_NAME_BYTES = 32 };

// cpu_role: a thread that is sampled. w NULL: it is no worker. service NULL: of no application.
struct cpu_role {
    const struct worker *w;
    const struct c10m_service *service;
    char thread[CPU_NAME_BYTES];  // worker, control, app SERVICE
    char core[CPU_NAME_BYTES];    // c1; "": not a worker
};

// cpu_user: a profile. take: gets one sample.
struct cpu_user {
    void (*take)(struct cpu_user *u, const struct cpu_role *role, const struct sample *s);
    struct cpu_user *next;
    uint64_t lost_before;
};

// cpu_about: the sampler, for the comments of a profile.
struct cpu_about {
    enum sample_trigger_kind trigger;
    bool counts;  // there are hardware counters
    unsigned threads, missed;
};

// cpu_samples_join: the first one begins to sample the server's workers, its control thread and the
// threads of its applications. Returns 0; -EBUSY: another server of this process is being sampled;
// -1; both with *err. cpu_samples_leave: the last one ends it. Returns how many samples were lost
// meanwhile.
int cpu_samples_join(const struct server *s, struct cpu_user *u, struct err *err);
uint64_t cpu_samples_leave(struct cpu_user *u);

// cpu_samples_drain: gives what was sampled to all. Every second at least, by any of them.
void cpu_samples_drain(void);

// cpu_samples_about: *out, from the first join to the last leave.
void cpu_samples_about(struct cpu_about *out);
