// SPDX-License-Identifier: BSD-3-Clause
// Connections that outlived another process (server/adoption.h). No sample without [control] adopt.
#include "ctl/metrics/metrics_internal.h"

static void put_kind(const struct metrics_now *now, const char *kind, uint64_t n)
{
    PUT(now, metrics_whole(n), LABEL("kind", kind));
}

void metrics_adopted(const struct metrics_now *now)
{
    struct server_adoption a;
    if (!server_adoption(now->shown->server, &a))
        return;
    put_kind(now, "connection", a.of.connections);
    put_kind(now, "half_open", a.of.half_open);
    put_kind(now, "time_wait", a.of.time_wait);
}

static void put_refused(const struct metrics_now *now, const char *kind, const char *reason,
                        uint64_t n)
{
    PUT(now, metrics_whole(n), LABEL("kind", kind), LABEL("reason", reason));
}

void metrics_not_adopted(const struct metrics_now *now)
{
    struct server_adoption a;
    if (!server_adoption(now->shown->server, &a))
        return;
    for (unsigned r = TCP_ADOPTED + 1; r < TCP_REFUSAL_COUNT; r++)
        put_refused(now, "connection", tcp_refusal_name((enum tcp_refusal)r), a.of.refused[r]);
    put_refused(now, "half_open", "any", a.of.half_open_refused);
    put_refused(now, "time_wait", "any", a.of.time_wait_refused);
}

void metrics_adoption_silence(const struct metrics_now *now)
{
    struct server_adoption a;
    if (server_adoption(now->shown->server, &a))
        PUT0(now, metrics_real((double)a.silent_us / 1e6));
}

void metrics_image_spans(const struct metrics_now *now)
{
    struct server_adoption a;
    if (server_adoption(now->shown->server, &a))
        PUT0(now, metrics_whole(a.image_spans_now));
}
