// SPDX-License-Identifier: BSD-3-Clause
// fuzz_reasm: parts of datagrams. The input is a row of records of 8 bytes: source (of 16), a bit
// for IPv6 and one for a last part, id (of 8), offset in units of 8 bytes, length, what the bytes
// are, and how many quarter seconds pass before it.
//
// Checked: what is here stays within its bounds, every part and every datagram is counted once, and
// a datagram that becomes whole is as long as its last part says.
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "net/reasm.h"
#include "wire/proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { N = REASM_DATAGRAMS_MIN, RECORD = 8, HEAD4 = ETH_BYTES + IP4_BYTES };

static const uint8_t head4[HEAD4] = {[ETH_BYTES] = 0x45};
static const uint8_t head6[ETH_BYTES + IP6_BYTES + 8] = {[ETH_BYTES] = 0x60};

// ended: datagrams, whole or not, of which no more is here.
static uint64_t ended(const struct core_counters *c)
{
    return c->reassembled + c->reassembly_timeouts + c->reassembly_evicted + c->reassembly_share +
           c->reassembly_broken + c->reassembly_room;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static uint8_t bytes[4096], frame[REASM_FRAME_MAX];
    void *mem = aligned_alloc(CACHE_LINE, reasm_footprint(N));
    struct core_counters counters = {0};
    struct reasm *r = reasm_init(mem, N, (struct siphash_key){1, 2}, &counters);
    uint32_t now_ms = 0, quote;
    uint64_t given = 0, given6 = 0;
    for (; n >= RECORD; data += RECORD, n -= RECORD) {
        const bool v6 = (data[0] & 16) != 0;
        struct reasm_whole w;
        struct reasm_part of, p = {.src = v6 ? (struct ip_addr){{0x20, 1, [7] = data[0] & 15}}
                                             : ip_from_v4(0x0a000000u + (data[0] & 15)),
                                   .id = data[1] & 7,
                                   .ecn = data[1] >> 6,
                                   .more = (data[0] & 32) == 0,
                                   .at = (load_be16(data + 2) & 0x1fff) * 8u,
                                   .len = load_be16(data + 4) & 0x7ff,
                                   .data = bytes,
                                   .head = v6 ? head6 : head4,
                                   .head_len = v6 ? sizeof(head6) : sizeof(head4),
                                   .part_at = v6 ? sizeof(head6) - 8 : 0,
                                   .named_at = ETH_BYTES + 6};
        memset(bytes, data[6], p.len);
        now_ms += data[7] * 250u;
        while (reasm_expire(r, now_ms, 0, &of, frame, 1232, &quote))
            CHECK(quote <= 1232);
        reasm_add(r, now_ms, &p, &w);
        given++;
        given6 += v6;
        if (w.bytes != 0) {
            CHECK(w.bytes <= REASM_FRAME_MAX && w.bytes > p.len);
            reasm_take(r, &w, frame);
        }
        CHECK(counters.reassembly_now <= N);
        CHECK(counters.rx_fragments == given && counters.rx_fragments6 == given6);
        // Each datagram that is here or has ended began with a part of its own.
        CHECK(ended(&counters) + counters.reassembly_now <= given);
    }
    now_ms += REASM_TIMEOUT_MS;
    struct reasm_part of;
    while (reasm_expire(r, now_ms, 0, &of, frame, 1232, &quote))
        ;
    CHECK(counters.reassembly_now == 0);
    free(mem);
    return 0;
}
