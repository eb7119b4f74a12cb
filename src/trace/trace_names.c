// SPDX-License-Identifier: BSD-3-Clause
#include "trace/trace_names.h"

#include <stdio.h>

static const char *const kinds[TRACE_KINDS] = {
#define KIND_NAME(name, help) #name,
    TRACE_KIND_TABLE(KIND_NAME)
#undef KIND_NAME
};

static const char *const pools[TRACE_POOLS] = {
#define POOL_NAME(name) #name,
    TRACE_POOL_TABLE(POOL_NAME)
#undef POOL_NAME
};

const char *trace_stage_name(unsigned stage)
{
    return stage < STAGE_COUNT ? stat_stage_names[stage].name : "turn";
}

const char *trace_pool_name(unsigned pool)
{
    return pool < TRACE_POOLS ? pools[pool] : "?";
}

const char *trace_service_name(const struct trace_about *a, unsigned service)
{
    const bool has_name = service < TRACE_SERVICES_MAX && a->services[service].name[0] != '\0';
    return has_name ? a->services[service].name : "?";
}

const char *trace_end_name(const struct trace_event *e)
{
    if (e->forgotten)
        return "unknown";
    if (!e->closed)
        return NULL;
    return e->id == TRACE_DATAGRAM ? "unanswered" : "closed";
}

static const char *user_name(const struct trace_about *a, const struct trace_event *e)
{
    const bool has_name = e->small < TRACE_SERVICES_MAX && e->mid < TRACE_EVENTS_MAX &&
                          a->services[e->small].events[e->mid][0] != '\0';
    return has_name ? a->services[e->small].events[e->mid] : "?";
}

const char *trace_key(const struct trace_about *a, const struct trace_event *e)
{
    switch (e->kind) {
    case TRACE_turn:
    case TRACE_stages:
    case TRACE_stage:
    case TRACE_request:
    case TRACE_answer:
    case TRACE_pool:
        return NULL;
    case TRACE_user:
        return user_name(a, e);
    case TRACE_LOST:
        return e->end && e->mid == TRACE_NOT_FOLLOWED ? "requests" : "lost";
    default:
        return e->kind < TRACE_KINDS ? kinds[e->kind] : "?";
    }
}

static const char *why_name(unsigned why)
{
    static const char *const names[] = {"closed",  "reset",       "timed out",
                                        "aborted", "unreachable", "refused"};
    return why < ARRAY_LEN(names) ? names[why] : "?";
}

static void lost_detail(const struct trace_event *e, char out[TRACE_DETAIL_BYTES])
{
    if (!e->end)
        snprintf(out, TRACE_DETAIL_BYTES, "%u records here", e->id);
    else if (e->mid == TRACE_NOT_FOLLOWED)
        snprintf(out, TRACE_DETAIL_BYTES, "a sample: up to %u more were not followed", e->id);
    else if (e->mid == TRACE_LOST_IN_ALL)
        snprintf(out, TRACE_DETAIL_BYTES, "%u records in all: trace_ring is too small", e->id);
    else
        snprintf(out, TRACE_DETAIL_BYTES, "the rest: the %s full",
                 e->mid == TRACE_FILE_FULL ? "file is" : "memory for records is");
}

static const char *drop_name(unsigned reason)
{
    return reason < DROP_COUNT && reason != DROP_NONE ? stat_drop_names[reason].name : "?";
}

static const char *wake_name(unsigned wake)
{
    static const char *const names[] = {"xmit", "syn", "slow", "movable"};
    return wake < ARRAY_LEN(names) ? names[wake] : "?";
}

void trace_detail(const struct trace_about *a, const struct trace_event *e,
                  char out[TRACE_DETAIL_BYTES])
{
    const unsigned service = e->small & ((1u << TRACE_WHY_SHIFT) - 1),
                   why = e->small >> TRACE_WHY_SHIFT;
    switch (e->kind) {
    case TRACE_stall:
        snprintf(out, TRACE_DETAIL_BYTES, "%u us, longest: %s", e->id, trace_stage_name(e->small));
        return;
    case TRACE_drop:
        snprintf(out, TRACE_DETAIL_BYTES, "%u %s", e->id, drop_name(e->small));
        return;
    case TRACE_timer:
        snprintf(out, TRACE_DETAIL_BYTES, "%s of %u.%u", wake_name(e->small), e->id, e->mid);
        return;
    case TRACE_close:
        snprintf(out, TRACE_DETAIL_BYTES, "%s %u.%u: %s", trace_service_name(a, service), e->id,
                 e->mid, why_name(why));
        return;
    case TRACE_LOST:
        lost_detail(e, out);
        return;
    case TRACE_user:
        snprintf(out, TRACE_DETAIL_BYTES, "%s %u", trace_service_name(a, e->small), e->id);
        return;
    default:
        if (e->small == TRACE_NO_SERVICE)
            snprintf(out, TRACE_DETAIL_BYTES, "half-open %u", e->id);
        else
            snprintf(out, TRACE_DETAIL_BYTES, "%s %u.%u", trace_service_name(a, e->small), e->id,
                     e->mid);
    }
}
