// proto.h: the constants of the wire: header sizes, offsets and protocol numbers.
#pragma once
#include "base/base.h"

enum {
    ETH_BYTES = 14,
    ETH_TYPE_IP4 = 0x0800,
    ETH_TYPE_ARP = 0x0806,

    ARP_BYTES = 28,  // RFC 826, IPv4 over Ethernet
    ARP_OP_REQUEST = 1,
    ARP_OP_REPLY = 2,
    ARP_FRAME_BYTES = ETH_BYTES + ARP_BYTES,  // the port pads to the Ethernet minimum

    IP4_BYTES = 20,  // without options
    IP4_BYTES_MIN_MTU = 576,
    IP4_TTL = 64,  // RFC 1700, and Linux's
    IP_PROTO_ICMP = 1,
    IP_PROTO_TCP = 6,
    IP_PROTO_UDP = 17,

    ICMP_BYTES = 8,
    ICMP_ECHO_REPLY = 0,
    ICMP_UNREACHABLE = 3,
    ICMP_CODE_PROTOCOL = 2,
    ICMP_CODE_PORT = 3,
    ICMP_CODE_FRAG_NEEDED = 4,
    ICMP_ECHO = 8,
    ICMP_TIME_EXCEEDED = 11,

    ICMP_QUOTE_MAX = 576 - IP4_BYTES - ICMP_BYTES,  // RFC 1812 4.3.2.3
    ICMP_TOS = 0xc0,                                // internetwork control: RFC 1812 4.3.2.5

    UDP_BYTES = 8,

    TCP_BYTES = 20,
    TCP_OPTIONS_MAX = 40,
    TCP_TS_BYTES = 12,  // NOP NOP TS
    TCP_OPT_END = 0,
    TCP_OPT_NOP = 1,
    TCP_OPT_MSS = 2,
    TCP_OPT_WSCALE = 3,
    TCP_OPT_SACK_PERM = 4,
    TCP_OPT_SACK = 5,
    TCP_OPT_TS = 8,
    TCP_WSCALE_MAX = 14,  // RFC 7323 2.3

    TCP4_OFF = ETH_BYTES + IP4_BYTES,  // of TCP in a frame without IP options
    UDP4_DATA_OFF = TCP4_OFF + UDP_BYTES,
    TCP4_DATA_OFF = TCP4_OFF + TCP_BYTES,  // of the payload without TCP options
};

// The aligned timestamp option's first word, as it lies in memory: NOP NOP 8 10.
#define TCP_TS_WORD_RAW 0x0a080101u
