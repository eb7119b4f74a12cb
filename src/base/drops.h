// drops.h: every way in which a packet can end without being delivered or answered. One line makes
// the enum, the counter, the entry in cores/N/drops and its help text.
#pragma once

// X(name, help)
#define DROP_TABLE(X)                                                                              \
    X(eth_short, "frame shorter than an Ethernet header")                                          \
    X(eth_not_for_us, "unicast frame for another MAC address")                                     \
    X(eth_type_unknown, "neither ARP nor IPv4")                                                    \
    X(arp_malformed, "ARP packet too short or of another kind than IPv4 over Ethernet")            \
    X(arp_not_for_us, "ARP request for an address that is not ours, or from a false sender")       \
    X(arp_reply_unasked, "ARP reply that nothing waits for")                                       \
    X(arp_cache_full, "packet for a neighbour that the full ARP cache could not take")             \
    X(arp_wait_replaced, "packet waiting for a neighbour, replaced by a newer one")                \
    X(arp_wait_expired, "packet whose neighbour never answered")                                   \
    X(ip_short, "frame ends inside the IPv4 header")                                               \
    X(ip_version, "version field is not 4")                                                        \
    X(ip_header_length, "IPv4 header length below 20 bytes or past the frame")                     \
    X(ip_total_length, "IPv4 total length below its header or past the frame")                     \
    X(ip_checksum, "IPv4 header checksum wrong")                                                   \
    X(ip_fragment, "IPv4 fragment: not reassembled")                                               \
    X(ip_source, "source address is broadcast, multicast, loopback, zero or ours")                 \
    X(ip_not_for_us, "destination address is not ours")                                            \
    X(ip_protocol, "neither TCP, ICMP nor a served UDP port")                                      \
    X(ip_no_route, "no route to the destination")                                                  \
    X(icmp_malformed, "ICMP message too short")                                                    \
    X(icmp_checksum, "ICMP checksum wrong")                                                        \
    X(icmp_type, "ICMP message that nobody here handles")                                          \
    X(icmp_rate, "ICMP echo request over the rate limit")                                          \
    X(tcp_short, "segment shorter than a TCP header")                                              \
    X(tcp_header_length, "data offset below 20 bytes or past the segment")                         \
    X(tcp_checksum, "TCP checksum wrong")                                                          \
    X(tcp_options, "TCP option with a length that lies")                                           \
    X(tcp_port_zero, "TCP port 0")                                                                 \
    X(tcp_no_owner, "segment without connection or listener: RST not due or over the rate limit")  \
    X(tcp_unacceptable, "segment outside the window: acknowledged and dropped")                    \
    X(tcp_old_timestamp, "PAWS: timestamp older than the last one (RFC 7323 5)")                   \
    X(tcp_bad_flags, "flags that the state does not accept")                                       \
    X(tcp_reset_invalid, "RST outside the window or not at rcv_nxt (RFC 5961)")                    \
    X(tcp_after_close, "data for a connection whose application has gone")                         \
    X(tcp_duplicate, "segment that brings nothing new")                                            \
    X(tcp_window, "data beyond the receive window")                                                \
    X(tcp_ooo_limit, "out-of-order data over its limit or without a buffer")                       \
    X(tcp_buffer, "in-order data that found no buffer: not acknowledged")                          \
    X(syn_table_full, "SYN without room for a SYN-RECEIVED record or in the flow table")           \
    X(syn_backlog, "SYN for a service at its connection limit or draining")                        \
    X(block_pool_empty, "handshake completed but no connection block left")                        \
    X(ext_pool_empty, "extension record needed, none left")                                        \
    X(time_wait, "segment for a connection in TIME-WAIT, not answered")                            \
    X(pkt_pool_empty, "no packet to build a reply in")                                             \
    X(reply_room, "no room in this turn's replies")                                                \
    X(tx_full, "port would not take the packet")

enum drop_reason {
    DROP_NONE = 0,
#define DROP_ENUM(name, help) DROP_##name,
    DROP_TABLE(DROP_ENUM)
#undef DROP_ENUM
        DROP_COUNT
};
