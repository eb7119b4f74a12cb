// SPDX-License-Identifier: BSD-3-Clause
// proto.h: the constants of the wire: header sizes, offsets and protocol numbers.
#pragma once
#include "base/base.h"

enum {
    ETH_BYTES = 14,
    ETH_SRC_AT = 6,  // offsets of fields from the begin of their header end in _AT
    ETH_TYPE_AT = 12,
    ETH_TYPE_IP4 = 0x0800,
    ETH_TYPE_ARP = 0x0806,
    ETH_TYPE_IP6 = 0x86dd,

    ARP_BYTES = 28,  // RFC 826, IPv4 over Ethernet
    ARP_PROTOCOL_AT = 2,
    ARP_MAC_BYTES_AT = 4,
    ARP_IP_BYTES_AT = 5,
    ARP_OP_AT = 6,
    ARP_SENDER_MAC_AT = 8,
    ARP_SENDER_IP_AT = 14,
    ARP_TARGET_MAC_AT = 18,
    ARP_TARGET_IP_AT = 24,
    ARP_OP_REQUEST = 1,
    ARP_OP_REPLY = 2,
    ARP_FRAME_BYTES = ETH_BYTES + ARP_BYTES,  // the port pads to the Ethernet minimum

    IP4_BYTES = 20,  // without options
    IP4_TOS_AT = 1,  // RFC 791 3.1
    IP4_TOTAL_AT = 2,
    IP4_ID_AT = 4,
    IP4_FRAGMENT_AT = 6,  // flags and fragment offset
    IP4_TTL_AT = 8,
    IP4_PROTO_AT = 9,
    IP4_CKSUM_AT = 10,
    IP4_SRC_AT = 12,
    IP4_DST_AT = 16,
    IP4_DF = 0x4000,
    IP4_MF = 0x2000,
    IP4_OFFSET_MASK = 0x1fff,  // in units of 8 bytes
    IP4_BYTES_MIN_MTU = 576,
    IP4_TTL = 64,  // RFC 1700, and Linux's
    IP_PROTO_ICMP = 1,
    IP_PROTO_TCP = 6,
    IP_PROTO_UDP = 17,

    IP6_BYTES = 40,      // RFC 8200, without extension headers
    IP6_PAYLOAD_AT = 4,  // RFC 8200 3
    IP6_NEXT_AT = 6,
    IP6_HOPS_AT = 7,
    IP6_SRC_AT = 8,
    IP6_DST_AT = 24,
    IP6_EXT_LEN_AT = 1,       // of an extension header, without its first 8 bytes, in units of 8
    IP6_ROUTING_TYPE_AT = 2,  // RFC 8200 4.4
    IP6_ROUTING_LEFT_AT = 3,
    IP6_FRAGMENT_BYTES = 8,  // RFC 8200 4.5
    IP6_FRAGMENT_AT = 2,     // fragment offset and M flag
    IP6_FRAGMENT_ID_AT = 4,
    IP6_MTU_MIN = 1280,  // of a link (RFC 8200 5), and what a path is believed to take (RFC 8201 4)
    IP6_HOPS = 64,       // RFC 1700, and Linux's
    IP6_HOPS_LINK = 255,  // has crossed no router (RFC 4861 3.1)
    IP_PROTO_HOPS = 0,    // hop-by-hop options
    IP_PROTO_ROUTING = 43,
    IP_PROTO_FRAGMENT = 44,
    IP_PROTO_ICMP6 = 58,
    IP_PROTO_NONE = 59,
    IP_PROTO_OPTIONS = 60,  // destination options
    IP6_EXT_MAX = 8,        // extension headers of a packet that are walked
    IP6_EXT_BYTES_MAX = 256,
    IP6_OPTIONS_MAX = 16,  // options of one of them, padding included (RFC 8504 5.3)

    ICMP_BYTES = 8,
    ICMP_TYPE_AT = 0,  // RFC 792; ICMPv6 has the same fields (RFC 4443 2.1)
    ICMP_CODE_AT = 1,
    ICMP_CKSUM_AT = 2,
    ICMP_REST_AT = 4,  // 32 bits whose meaning depends on the type
    ICMP_ID_AT = 4,    // of an echo
    ICMP_MTU_AT = 6,   // of the next hop (RFC 1191 4)
    ICMP_ECHO_REPLY = 0,
    ICMP_UNREACHABLE = 3,
    ICMP_CODE_PROTOCOL = 2,
    ICMP_CODE_PORT = 3,
    ICMP_CODE_FRAG_NEEDED = 4,
    ICMP_ECHO = 8,
    ICMP_TIME_EXCEEDED = 11,
    ICMP_CODE_REASSEMBLY = 1,
    ICMP_PARAMETER = 12,

    ICMP_QUOTE_MAX = 576 - IP4_BYTES - ICMP_BYTES,  // RFC 1812 4.3.2.3
    ICMP_TOS = 0xc0,                                // internetwork control: RFC 1812 4.3.2.5

    ICMP6_BYTES = 8,  // RFC 4443
    ICMP6_UNREACHABLE = 1,
    ICMP6_CODE_PROHIBITED = 1,
    ICMP6_CODE_PORT = 4,
    ICMP6_CODE_POLICY = 5,
    ICMP6_CODE_REJECT = 6,
    ICMP6_TOO_BIG = 2,
    ICMP6_TIME_EXCEEDED = 3,
    ICMP6_CODE_REASSEMBLY = 1,
    ICMP6_PARAMETER = 4,
    ICMP6_CODE_FIELD = 0,
    ICMP6_CODE_NEXT_HEADER = 1,
    ICMP6_CODE_OPTION = 2,
    ICMP6_INFORMATIONAL = 128,  // and above: no error (RFC 4443 2.1)
    ICMP6_ECHO = 128,
    ICMP6_ECHO_REPLY = 129,
    ICMP6_QUOTE_MAX = IP6_MTU_MIN - IP6_BYTES - ICMP6_BYTES,  // RFC 4443 2.4 (c)

    ND_BYTES = 24,  // of a solicitation or an advertisement without options (RFC 4861 4.3, 4.4)
    ND_FLAGS_AT = 4,
    ND_TARGET_AT = 8,
    ND_LLA_BYTES = 8,
    ND_ROUTER_SOLICIT = 133,
    ND_ROUTER_ADVERT = 134,
    ND_SOLICIT = 135,
    ND_ADVERT = 136,
    ND_REDIRECT = 137,
    ND_OPT_SOURCE = 1,  // link-layer address of the sender
    ND_OPT_TARGET = 2,  // of the target
    ND_OPTIONS_MAX = 16,
    ND_ROUTER = 0x80,  // flags of an advertisement
    ND_SOLICITED = 0x40,
    ND_OVERRIDE = 0x20,

    MLD_QUERY = 130,  // RFC 2710, RFC 3810
    MLD_QUERY_BYTES = 24,
    MLD_GROUP_AT = 8,
    MLD_REPORT = 143,
    MLD_IS_EXCLUDE = 2,  // kinds of record: what is listened to; what is from now on
    MLD_TO_INCLUDE = 3,  // what no more
    MLD_TO_EXCLUDE = 4,
    MLD_RECORD_BYTES = 20,

    UDP_BYTES = 8,
    UDP_DST_PORT_AT = 2,  // RFC 768; the source port is at 0
    UDP_LEN_AT = 4,
    UDP_CKSUM_AT = 6,

    TCP_BYTES = 20,
    TCP_DST_PORT_AT = 2,  // RFC 9293 3.1; the source port is at 0
    TCP_SEQ_AT = 4,
    TCP_ACK_AT = 8,
    TCP_DATA_OFFSET_AT = 12,  // upper four bits
    TCP_FLAGS_AT = 13,
    TCP_WND_AT = 14,
    TCP_CKSUM_AT = 16,
    TCP_URG_AT = 18,
    TCP_OPTIONS_MAX = 40,
    TCP_TS_BYTES = 12,  // NOP NOP TS
    TCP_OPT_END = 0,
    TCP_OPT_NOP = 1,
    TCP_OPT_MSS = 2,
    TCP_OPT_WSCALE = 3,
    TCP_OPT_SACK_PERM = 4,
    TCP_OPT_SACK = 5,
    TCP_OPT_TS = 8,
    TCP_OPT_FAST_OPEN = 34,  // RFC 7413
    TCP_WSCALE_MAX = 14,     // RFC 7323 2.3

    TCP4_OFF = ETH_BYTES + IP4_BYTES,  // of TCP in a frame without IP options
    UDP4_DATA_OFF = TCP4_OFF + UDP_BYTES,
    TCP4_DATA_OFF = TCP4_OFF + TCP_BYTES,  // of the payload without TCP options

    TCP6_OFF = ETH_BYTES + IP6_BYTES,  // the same in a frame without extension headers
    UDP6_DATA_OFF = TCP6_OFF + UDP_BYTES,
    TCP6_DATA_OFF = TCP6_OFF + TCP_BYTES,
    ND_FRAME_BYTES = TCP6_OFF + ND_BYTES + ND_LLA_BYTES,
};

// The aligned timestamp option's first word, as it lies in memory: NOP NOP 8 10.
#define TCP_TS_WORD_RAW 0x0a080101u
// The same with SACK-permitted in place of the NOPs: 4 2 8 10. The first half of the MSS option's:
// 2 4. The window scale option's but for the scale: NOP 3 3.
#define TCP_SACK_TS_WORD_RAW  0x0a080204u
#define TCP_MSS_HALF_RAW      0x0402u
#define TCP_WSCALE_THIRDS_RAW 0x030301u
