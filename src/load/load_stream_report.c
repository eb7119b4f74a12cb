// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_report_put.h"

static const char *direction(const struct load_result *r)
{
    static const char *const names[] = {
        [LOAD_DOWN] = "down", [LOAD_UP] = "up", [LOAD_BOTH] = "both"};
    return names[r->options->direction];
}

// Bytes transferred while all connections were transferring.
static uint64_t bytes(const struct load_result *r)
{
    return r->counted_to.stream_bytes - r->counted_from.stream_bytes;
}

static uint64_t segments(const struct load_result *r)
{
    return r->counted_to.stream_segs - r->counted_from.stream_segs;
}

// Without the time after the last new data, in which losses make the rate lower.
static double goodput_gbps(const struct load_result *r)
{
    const uint64_t n = r->counted_stop.stream_bytes - r->counted_from.stream_bytes;
    return load_per((double)n * 8, r->stop_s) / 1e9;
}

// The rate that the server would reach without idle time.
static double busy_gbps(const struct load_result *r)
{
    return load_per((double)bytes(r) * 8 * r->tsc_hz, load_busy_cycles(r)) / 1e9;
}

static double cycles_per_segment(const struct load_result *r)
{
    return load_per(load_busy_cycles(r), (double)segments(r));
}

void load_stream_json(const struct load_result *r, struct text *out)
{
    text_printf(out, ",\"direction\":\"%s\"", direction(r));
    load_put(out, "bytes", bytes(r));
    load_put(out, "segments", segments(r));
    load_put_real(out, "bytes_per_segment", load_per((double)bytes(r), (double)segments(r)), 1);
    load_put_real(out, "goodput_gbps", goodput_gbps(r), 3);
    load_put(out, "early", r->counted_to.stream_early - r->counted_from.stream_early);
    load_put(out, "acks", r->counted_to.stream_acks - r->counted_from.stream_acks);
    if (!r->here)
        return;
    load_put_real(out, "server_busy_gbps", busy_gbps(r), 3);
    load_put_real(out, "server_cycles_per_segment", cycles_per_segment(r), 1);
    load_put_stages(out, r, "server_stage_cycles_per_segment", (double)segments(r));
    if (r->options->direction == LOAD_UP) {
        load_put(out, "server_bytes", r->sink_bytes);
        load_put(out, "server_wrong", r->sink_wrong);
    }
}

void load_stream_table(const struct load_result *r, struct text *out)
{
    text_printf(out,
                "stream        %s: %.2f Gb/s of goodput, %llu bytes in %.2f s, %.0f per segment\n",
                direction(r), goodput_gbps(r), (unsigned long long)bytes(r), r->ask_s,
                load_per((double)bytes(r), (double)segments(r)));
    if (!r->here)
        return;
    text_printf(out, "server        %.1f cycles per segment, %.2f Gb/s of busy time\n",
                cycles_per_segment(r), busy_gbps(r));
    load_table_stages(out, r, "segment", (double)segments(r));
    if (r->options->direction == LOAD_UP)
        text_printf(out, "server got    %llu bytes, wrong pieces %llu\n",
                    (unsigned long long)r->sink_bytes, (unsigned long long)r->sink_wrong);
}
