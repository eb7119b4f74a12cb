// SPDX-License-Identifier: BSD-3-Clause
// frames.h: frames made by another implementation (scapy 2.7), as hexadecimal text. Host A is
// 10.0.0.1, 02:00:00:00:00:01, ours; host B is 10.0.0.2, 02:00:00:00:00:02.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// From B to A: a SYN with MSS 1460, SACK-permitted, TS 0x01020304, window scale 7, ECN ECT(0).
#define FRAME_SYN                                                                                  \
    "02000000000102000000000208004502003c123440003f0615840a0000020a0000019c40005011223344000000"   \
    "00a002faf054100000020405b40402080a010203040000000001030307"
// "GET / HTTP/1.1\r\n\r\n!" with the timestamps 0x01020305, 0x0a0b0c0d.
#define FRAME_GET                                                                                  \
    "020000000001020000000002080045020047123440003f0615790a0000020a0000019c40005011223345556677"   \
    "88801801f6990300000101080a010203050a0b0c0d474554202f20485454502f312e310d0a0d0a21"
// A pure ACK without options.
#define FRAME_ACK                                                                                  \
    "020000000001020000000002080045020028123440003f0615980a0000020a0000019c40005011223345556677"   \
    "88501001f6ebf50000"
// An ACK with two SACK blocks: 1-2 and 3-4.
#define FRAME_SACK                                                                                 \
    "02000000000102000000000208004502003c123440003f0615840a0000020a0000019c40005000000001000000"   \
    "02a0102000890d00000101051200000001000000020000000300000004"
// "xyz" behind an IPv4 header of 24 bytes.
#define FRAME_IP_OPTIONS                                                                           \
    "02000000000102000000000208004600002f00010000400663c50a0000020a000001010101009c400050000000"   \
    "050000000050102000ecbf000078797a"
// ICMP echo with "ping-data", and A's answer.
#define FRAME_PING                                                                                 \
    "02000000000102000000000208004510002500010000400166c50a0000020a000001080029460007000970696e"   \
    "672d64617461"
#define FRAME_PONG                                                                                 \
    "02000000000202000000000108004510002500004000400126c60a0000010a000002000031460007000970696e"   \
    "672d64617461"
// Fragmentation needed, MTU 1400, about A's segment 10.0.0.1:80 -> 192.0.2.9:40001, seq 0xdeadbeef.
#define FRAME_FRAG_NEEDED                                                                          \
    "02000000000102000000000208004500004400010000400166b60a0000020a0000010304c3a800000578450000"   \
    "28000100004006aec50a000001c000020900509c41deadbeef000000005002200089a90000"
// From A to B: SYN-ACKs of TTL 64, DF, id 0, window 65160, without and with timestamps.
#define FRAME_SYNACK                                                                               \
    "02000000000202000000000108004500003400004000400626c20a0000010a00000200509c4055667788112233"   \
    "458012fe88ae8f0000020405b40101040201030307"
#define FRAME_SYNACK_TS                                                                            \
    "02000000000202000000000108004500003c00004000400626ba0a0000010a00000200509c4055667788112233"   \
    "45a012fe887f900000020405b40402080a000003e80102030401030307"
// "hello, world!" with the timestamps 1000, 0x01020304.
#define FRAME_DATA                                                                                 \
    "02000000000202000000000108004500004100004000400626b50a0000010a00000200509c4055667789112233"   \
    "45801801fd498700000101080a000003e80102030468656c6c6f2c20776f726c6421"
// Who has 10.0.0.1? and A's answer.
#define FRAME_ARP_REQUEST                                                                          \
    "ffffffffffff020000000002080600010800060400010200000000020a0000020000000000000a000001"
#define FRAME_ARP_REPLY                                                                            \
    "020000000002020000000001080600010800060400020200000000010a0000010200000000020a000002"
#define FRAME_UDP                                                                                  \
    "02000000000102000000000208004500001d00010000401166cd0a0000020a00000100050006000976ce75"
#define FRAME_FRAGMENT                                                                             \
    "02000000000102000000000208004500002900012000400646cc0a0000020a0000010005000600000000000000"   \
    "005002200006d4000075"

// frame_bytes: the bytes of hexadecimal text in memory of exactly that size, so that a sanitizer
// sees each read behind them. The caller frees it.
static inline uint8_t *frame_bytes(const char *hex, uint32_t *len)
{
    *len = (uint32_t)strlen(hex) / 2;
    uint8_t *f = malloc(*len);
    for (uint32_t i = 0; i < *len; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        f[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    return f;
}

// frame_copy: the first `len` bytes of f, again in memory of exactly that size.
static inline uint8_t *frame_copy(const uint8_t *f, uint32_t len)
{
    uint8_t *c = malloc(len != 0 ? len : 1);
    memcpy(c, f, len);
    return c;
}
