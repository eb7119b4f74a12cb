// SPDX-License-Identifier: BSD-3-Clause
// pkt_env.h: DPDK for a unit test: 4 KiB pages, one or two threads, no root needed.
#pragma once
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>  // wants the four before it
// clang-format on

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/eal.h"
#include "drivers/port_table.h"

// pkt_env_start: EAL with 128 MiB in 4 KiB pages and `workers` worker lcores on CPU 0 and up
// (modulo the CPUs there are). Ends the test program when it cannot.
static inline void pkt_env_start(unsigned workers)
{
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "c10mtest%d", (int)getpid());
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct eal_params p = {.file_prefix = prefix, .workers = workers, .memory_bytes = {128 << 20}};
    for (unsigned i = 0; i < workers; i++)
        p.worker_cpu[i] = (i + 1) % (unsigned)cpus;
    struct err e = {.text = ""};
    if (eal_start(&p, &e) != 0) {
        fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
}

// pkt_of: one packet of `pool` that holds len bytes of `byte`.
static inline struct pkt *pkt_of(struct pkt_pool *pool, uint8_t byte, uint32_t len)
{
    struct pkt *p;
    if (!pkt_alloc_bulk(pool, &p, 1))
        return NULL;
    pkt_set_len(p, len);
    memset(pkt_data(p), byte, len);
    return p;
}
