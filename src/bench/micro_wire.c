// SPDX-License-Identifier: BSD-3-Clause
// Parsing frames, checksums, building frames.
#include <rte_ip.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/micro.h"
#include "wire/build.h"
#include "wire/parse.h"

enum { FRAMES = 64, STRIDE = 2048, REPEAT = 16, OPEN_V4 = 0x0a000001, PEER_V4 = 0x0a400001 };

static const struct mac_addr own = {{2, 0, 0, 0, 0, 1}}, peer = {{2, 0, 0, 0, 0, 2}};

// wire_ctx: a burst of frames with `bytes` of payload, one per peer port, and the same as segments
// to send.
struct wire_ctx {
    uint32_t bytes, len;
    struct wire_from from;
    struct wire_common common;
    struct seg_out out[FRAMES];
    struct seg_in in[FRAMES];
    uint8_t payload[STRIDE];
    uint8_t frames[FRAMES * STRIDE] CACHE_ALIGNED;
    uint64_t sink;
};

static uint8_t *frame(struct wire_ctx *c, uint32_t i)
{
    return c->frames + (size_t)i * STRIDE;
}

static void *wire_open(uint32_t bytes, struct err *err)
{
    struct wire_ctx *c = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*c), CACHE_LINE));
    const uint32_t v4_raw = raw32(OPEN_V4);
    (void)err;
    CHECK(c != NULL);
    memset(c, 0, sizeof(*c));
    c->bytes = bytes;
    for (uint32_t i = 0; i < bytes; i++)
        c->payload[i] = (uint8_t)(i * 7);
    wire_common_init(&c->common, &own, &v4_raw);
    wire_from_init(&c->from, &peer, PEER_V4);  // the frames of the peer are parsed
    for (uint32_t i = 0; i < FRAMES; i++) {
        c->out[i] = (struct seg_out){.key = {ip_from_v4(OPEN_V4), 0, 0, 7, (uint16_t)(1024 + i)},
                                     .seq = 1000 * i,
                                     .ack = 1,
                                     .wnd = 65535,
                                     .flags = SEG_ACK | SEG_PSH,
                                     .data_len = {(uint16_t)bytes},
                                     .data = {c->payload}};
        c->len = wire_build_tcp4(frame(c, i), &c->from, wire_mac_word(&own), &c->out[i],
                                 wire_tcp_head_bytes(&c->out[i]), WIRE_PLAIN, false);
    }
    return c;
}

#define EACH_FRAME(c, r, body)                                                                     \
    do {                                                                                           \
        const uint64_t start_ = tsc_read();                                                        \
        for (unsigned times_ = 0; times_ < REPEAT; times_++)                                       \
            for (uint32_t i = 0; i < FRAMES; i++)                                                  \
                body;                                                                              \
        (r)->cycles += tsc_read() - start_;                                                        \
        (r)->ops += (uint64_t)REPEAT * FRAMES;                                                     \
    } while (0)

static inline void parse_common(struct wire_ctx *c, uint32_t i)
{
    const uint8_t *f = frame(c, i);
    CHECK(wire_is_common(f, &c->common) && wire_parse_tcp4_fast(f, c->len, 0, 0, &c->in[i]) &&
          wire_ip4_tcp4_right(f, TCP_BYTES + c->bytes));
}

static void run_common(void *ctx, struct micro_run *r)
{
    struct wire_ctx *c = ctx;
    EACH_FRAME(c, r, parse_common(c, i));
}

static inline void parse_full(struct wire_ctx *c, uint32_t i)
{
    struct wire_ip4 ip;
    CHECK(wire_parse_ip4(frame(c, i), c->len, true, &ip) == DROP_NONE &&
          wire_parse_tcp(frame(c, i), &ip, true, &c->in[i]) == DROP_NONE);
}

static void run_full(void *ctx, struct micro_run *r)
{
    struct wire_ctx *c = ctx;
    EACH_FRAME(c, r, parse_full(c, i));
}

static void run_cksum(void *ctx, struct micro_run *r)
{
    struct wire_ctx *c = ctx;
    EACH_FRAME(c, r, c->sink += cksum_fold(cksum_add(0, frame(c, i) + TCP4_DATA_OFF, c->bytes)));
}

static void run_cksum_rte(void *ctx, struct micro_run *r)
{
    struct wire_ctx *c = ctx;
    EACH_FRAME(c, r, c->sink += rte_raw_cksum(frame(c, i) + TCP4_DATA_OFF, c->bytes));
}

static void run_build(void *ctx, struct micro_run *r)
{
    struct wire_ctx *c = ctx;
    const uint64_t dst = wire_mac_word(&own);
    EACH_FRAME(c, r,
               c->sink += wire_build_tcp4(frame(c, i), &c->from, dst, &c->out[i],
                                          wire_tcp_head_bytes(&c->out[i]), WIRE_PLAIN, false));
}

static void run_build_offload(void *ctx, struct micro_run *r)
{
    struct wire_ctx *c = ctx;
    const uint64_t dst = wire_mac_word(&own);
    EACH_FRAME(c, r,
               c->sink += wire_build_tcp4(frame(c, i), &c->from, dst, &c->out[i],
                                          wire_tcp_head_bytes(&c->out[i]), WIRE_PLAIN, true));
}

// Changes one word of a header and updates the checksum (RFC 1624).
static inline void rewrite(uint8_t *tcp, uint16_t port)
{
    const uint16_t was = load_raw16(tcp);
    store_raw16(tcp, port);
    store_raw16(tcp + 16, cksum_update(load_raw16(tcp + 16), was, port));
}

static void run_rewrite(void *ctx, struct micro_run *r)
{
    struct wire_ctx *c = ctx;
    EACH_FRAME(c, r, rewrite(frame(c, i) + TCP4_OFF, (uint16_t)(times_ + i + 1)));
}

#define WIRE(n, p, h, f)                                                                           \
    {                                                                                              \
        .name = n, .peer = p, .help = h, .sizes = {64, 1460}, .bytes = true, .open = wire_open,    \
        .run = f, .close = free                                                                    \
    }

const struct micro micro_wire[] = {
    WIRE("ParseCommon", NULL, "parse a frame, both checksums, common form", run_common),
    WIRE("ParseFull", NULL, "the same with the parsers for all forms", run_full),
    WIRE("ChecksumRte", NULL, "DPDK's rte_raw_cksum", run_cksum_rte),
    WIRE("Checksum", "ChecksumRte", "c10m, the same bytes", run_cksum),
    WIRE("Build", NULL, "build a frame, with copy of the payload and both checksums", run_build),
    WIRE("BuildOffload", NULL, "the same with TCP checksum offload", run_build_offload),
    WIRE("Rewrite", NULL, "change a port in a header and update the checksum", run_rewrite),
    {.name = NULL},
};
