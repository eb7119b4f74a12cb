// SPDX-License-Identifier: BSD-3-Clause
// trace_log.h: the records of all workers, taken out of their rings: bounded memory, in chunks. The
// control thread collects; then a log may go to one other thread, which reads it (trace_reader.h).
#pragma once
#include "stat/trace_ring.h"

enum {
    TRACE_CHUNK_RECORDS = 1 << 15,                    // 512 KiB
    TRACE_COLLECT_RECORDS = 8 * TRACE_CHUNK_RECORDS,  // of a ring at once: 4 MiB, a millisecond
    TRACE_CORES_MAX = 64,
    TRACE_SERVICES_MAX = 32,
    TRACE_EVENTS_MAX = 16,  // kinds of events of a service
    TRACE_NAME_BYTES = 32,
};

// trace_full: what happens when the memory is used up: the log ends, at the same time for all
// cores, or the oldest chunk is thrown away.
enum trace_full { TRACE_KEEP_FIRST, TRACE_KEEP_LAST };

// trace_about: what the records mean. A copy, so that it outlives the server.
struct trace_about {
    char version[TRACE_NAME_BYTES];
    unsigned n_cores;
    unsigned cpus[TRACE_CORES_MAX];  // on which CPU the worker runs
    uint64_t start_tsc, tsc_hz;      // where its clock is 0
    struct {
        uint64_t entry_bytes, entries;  // of all cores
    } pools[TRACE_POOLS];
    struct {
        char name[TRACE_NAME_BYTES];  // "": there is no such service
        char events[TRACE_EVENTS_MAX][TRACE_NAME_BYTES];
    } services[TRACE_SERVICES_MAX];
};

struct trace_chunk {
    struct trace_chunk *next;
    uint32_t n;
    struct trace_record at[TRACE_CHUNK_RECORDS + 1];  // one for the mark of a gap
};

// trace_log_core: chunks in order of time. A record of kind TRACE_KINDS stands where `id` are
// missing. lost: records that were overwritten in the ring, or that found no memory.
struct trace_log_core {
    struct trace_ring *ring;  // NULL after trace_log_stop()
    uint64_t taken, lost;
    uint64_t gap;       // records that were lost since the last one that is in the log
    uint64_t last_tsc;  // of the last record with a time; before it, start_tsc
    uint64_t thrown;    // records of chunks that were thrown away (TRACE_KEEP_LAST)
    struct trace_record
        levels[TRACE_POOLS];  // the last of each pool in them; when 0: there is none
    struct trace_chunk *first, *last;
};

struct trace_log {
    struct trace_about about;
    enum trace_full full;
    uint64_t bytes, bytes_max;
    bool ended;        // the memory was used up (TRACE_KEEP_FIRST): of each core all is in the log
    uint64_t end_tsc;  // that happened until then, and of some also later records
    struct trace_log_core cores[TRACE_CORES_MAX];
};

// trace_log_new: an empty log that asks rings[0..about->n_cores) for records, from now on.
// bytes_max: of chunks. A ring NULL has no records. NULL: no memory.
struct trace_log *trace_log_new(const struct trace_about *about, struct trace_ring *const *rings,
                                enum trace_full full, uint64_t bytes_max);

// trace_log_collect: takes at most TRACE_COLLECT_RECORDS of each ring, of each in turn some. Call
// it often: a ring of 4 MiB holds some 50 ms of a saturated core. trace_log_stop: asks for no more
// and collects all that they have. Neither does anything for a log that has ended.
void trace_log_collect(struct trace_log *l);
void trace_log_stop(struct trace_log *l);

// trace_log_free: also stops it. NULL is allowed.
void trace_log_free(struct trace_log *l);

// trace_log_lost: records of all cores that are not in the log though they were written.
uint64_t trace_log_lost(const struct trace_log *l);

// trace_log_put: appends a record to a core's, as if it were collected. False: there is no memory.
bool trace_log_put(struct trace_log *l, unsigned core, const struct trace_record *r);
