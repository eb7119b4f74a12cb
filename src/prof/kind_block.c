// SPDX-License-Identifier: BSD-3-Clause
// block: what workers and connections waited for: turns that took too long, by cause, with their
// time; and waits that are only counted, with a time of 0.
#include "prof/prof_frames.h"
#include "prof/prof_kinds.h"
#include "prof/reading.h"
#include "server/stalls.h"

enum { STAGE_several = STAGE_COUNT };

// X(name, group, stage): a counter or a drop reason that counts a wait, or the end of one. A line
// that several stages count has no stage.
#define COUNTER_WAITS(X)                                                                           \
    X(tx_waits, "transmit ring full", STAGE_tx)                                                    \
    X(ext_records_missed, "pool empty", STAGE_tcp_input)                                           \
    X(cc_records_missed, "pool empty", STAGE_tcp_input)                                            \
    X(flight_logs_missed, "pool empty", STAGE_tcp_output)                                          \
    X(flight_logs_large_missed, "pool empty", STAGE_tcp_output)                                    \
    X(window_probes, "peer's window shut", STAGE_timers)                                           \
    X(sends_no_buffer, "pool empty", STAGE_several)                                                \
    X(sends_limited, "send limit", STAGE_several)                                                  \
    X(window_closed, "application does not take data", STAGE_app)                                  \
    X(turns_dirty_limited, "turn full", STAGE_tcp_output)
#define DROP_WAITS(X)                                                                              \
    X(tx_full, "transmit ring full", STAGE_tx)                                                     \
    X(reply_room, "transmit ring full", STAGE_several)                                             \
    X(answer_room, "transmit ring full", STAGE_several)                                            \
    X(pkt_pool_empty, "pool empty", STAGE_net_output)                                              \
    X(block_pool_empty, "pool empty", STAGE_tcp_input)                                             \
    X(ext_pool_empty, "pool empty", STAGE_tcp_input)                                               \
    X(syn_table_full, "pool empty", STAGE_tcp_input)                                               \
    X(tcp_buffer, "pool empty", STAGE_tcp_input)                                                   \
    X(fragment_room, "pool empty", STAGE_net_input)                                                \
    X(arp_wait_expired, "no neighbor", STAGE_net_output)                                           \
    X(arp_wait_replaced, "no neighbor", STAGE_net_output)                                          \
    X(arp_cache_full, "no neighbor", STAGE_net_output)                                             \
    X(nd_wait_expired, "no neighbor", STAGE_net_output)                                            \
    X(nd_wait_replaced, "no neighbor", STAGE_net_output)                                           \
    X(nd_cache_full, "no neighbor", STAGE_net_output)                                              \
    X(udp_refused, "application does not take data", STAGE_app)                                    \
    X(listen_overflow, "application does not take data", STAGE_tcp_input)

struct wait {
    const char *group, *name;
    unsigned stage;  // enum stage
    size_t at;       // in core_stats
};

static const struct wait waits[] = {
#define COUNTER_WAIT(name, group, stage) {group, #name, stage, offsetof(struct core_stats, c.name)},
#define DROP_WAIT(name, group, stage)                                                              \
    {group, #name, stage, offsetof(struct core_stats, drops) + DROP_##name * sizeof(uint64_t)},
    COUNTER_WAITS(COUNTER_WAIT) DROP_WAITS(DROP_WAIT)
#undef COUNTER_WAIT
#undef DROP_WAIT
};

static const char *stage_name(unsigned stage)
{
    return stage < STAGE_COUNT ? stat_stage_names[stage].name : NULL;
}

// put: stage NULL: it is not known.
static void put(const struct reading *r, unsigned worker, struct frames *f, const char *stage,
                const int64_t values[CONTENTION_TYPES])
{
    frames_core(f, r->shown.server, worker);
    if (stage != NULL)
        frames_label(f, "stage", "%s", stage);
    frames_put(f, r->profile, values);
}

static void put_counted(const struct reading *r, unsigned worker, const struct wait *w,
                        int64_t sign)
{
    const char *stage = stage_name(w->stage);
    const char *stats = (const char *)server_worker(r->shown.server, worker)->stats;
    const int64_t n = (int64_t)stat_load((const uint64_t *)(const void *)(stats + w->at));
    struct frames f = {.n = 0};
    if (n == 0)
        return;
    frames_add(&f, "%s", w->name);
    if (stage != NULL)
        frames_add(&f, "stage %s", stage);
    frames_add(&f, "%s", w->group);
    put(r, worker, &f, stage, (int64_t[CONTENTION_TYPES]){sign * n, 0});
}

static void put_stall(const struct reading *r, unsigned worker, enum stall_cause cause,
                      unsigned stage, unsigned service, int64_t sign)
{
    const struct stall_tally t = stalls_by(r->shown.stalls, worker, cause, stage, service);
    const char *name = stage < STAGE_COUNT ? stage_name(stage) : "untimed";
    struct frames f = {.n = 0};
    if (t.count == 0)
        return;
    frames_add(&f, "%s", stalls_cause_name(cause));
    frames_add(&f, "stage %s", name);
    if (service < server_params_of(r->shown.server)->n_services)
        frames_service(&f, r->shown.server, service);
    frames_add(&f, "long turn");
    put(r, worker, &f, name,
        (int64_t[CONTENTION_TYPES]){sign * (int64_t)t.count, sign * (int64_t)t.ns});
}

static void put_stalls(const struct reading *r, unsigned worker, int64_t sign)
{
    for (unsigned cause = 0; cause < STALL_CAUSES; cause++)
        for (unsigned stage = 0; stage < STALL_STAGES; stage++)
            for (unsigned sv = 0; sv < STALL_SERVICES; sv++)
                put_stall(r, worker, (enum stall_cause)cause, stage, sv, sign);
}

static void read_waits(const struct reading *r, int64_t sign)
{
    for (unsigned w = 0; w < server_workers(r->shown.server); w++) {
        for (unsigned i = 0; i < ARRAY_LEN(waits); i++)
            put_counted(r, w, &waits[i], sign);
        if (r->shown.stalls != NULL)
            put_stalls(r, w, sign);
    }
    if (sign > 0)
        profile_comment(r->profile,
                        "delay 0: only counted; nobody measures how long it took. window_probes "
                        "counts probes, several for a long wait");
}

static const struct reading_kind block = {
    .title = "block",
    .params = CONTENTION_PARAMS(DELAY),
    .brief = true,
    .read = read_waits,
};

READING_KIND(
    block,
    .help = "stalls: turns over 100 us by cause, stage and application, with their time; and how "
            "often something was lacking: room in a port, an entry of a pool, a neighbor, a "
            "peer's window, room in a send queue, with a delay of 0, because only the number is "
            "known.");
