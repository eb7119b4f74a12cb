// SPDX-License-Identifier: BSD-3-Clause
// drops.h: every reason to drop a packet. One line makes the enum, the counter, the entry in
// cores/N/drops and its help text.
#pragma once

// X(name, side, cause, help)
//
// side rx: a received packet was dropped. Each received packet is counted once: here, or as
// delivered, answered or kept, so that the balance of src/stat/counters.h is zero.
//
// side tx: a packet of ours was not sent, or not built. A received packet that it answers is
// counted separately.
//
// cause lack: something on this side lacked, such as room, a record, a route or a neighbor's
// answer; the verdict (server/verdict.h) names it. cause peer: what came was wrong, unasked or
// refused as it should be; any peer can send as much of it as it likes.
#define DROP_TABLE(X)                                                                              \
    X(eth_short, rx, peer, "frame that ends inside its Ethernet header or VLAN tag")               \
    X(eth_not_for_us, rx, peer, "unicast frame for another MAC address")                           \
    X(eth_type_unknown, rx, peer, "neither ARP, IPv4 nor, on a port with an address of it, IPv6")  \
    X(vlan_unknown, rx, peer, "frame with the tag of a VLAN that no port has")                     \
    X(vlan_stacked, rx, peer, "frame with two VLAN tags, or with the tag of a provider (QinQ)")    \
    X(pkt_chain, rx, peer, "headers or payload continue in a second buffer of the packet")         \
    X(linux_rate, rx, peer, "packet for Linux over the rate of its class ([port] linux_rate)")     \
    X(linux_full, rx, lack, "packet for Linux without room: its thread is not fast enough")        \
    X(linux_source, tx, peer, "packet of Linux with another source MAC address than the port's")   \
    X(linux_length, tx, peer, "packet of Linux longer than a packet of the port")                  \
    X(handoff_full, rx, lack, "packet for another worker whose ring is full")                      \
    X(arp_malformed, rx, peer, "ARP packet too short or of another kind than IPv4 over Ethernet")  \
    X(arp_not_for_us, rx, peer,                                                                    \
      "ARP request for an address that is not ours, or from an invalid sender")                    \
    X(arp_reply_unasked, rx, peer, "unsolicited ARP reply")                                        \
    X(arp_cache_full, tx, lack, "packet for a neighbor for which the ARP cache had no room")       \
    X(arp_wait_replaced, tx, lack,                                                                 \
      "packet waiting for a neighbor, replaced by a newer one: too many waited")                   \
    X(arp_wait_expired, tx, lack, "packet whose neighbor never answered")                          \
    X(ip_short, rx, peer, "frame ends inside the IPv4 header")                                     \
    X(ip_version, rx, peer, "version field is not 4")                                              \
    X(ip_header_length, rx, peer, "IPv4 header length below 20 bytes or past the frame")           \
    X(ip_total_length, rx, peer, "IPv4 total length below its header or past the frame")           \
    X(ip_checksum, rx, peer, "IPv4 header checksum wrong")                                         \
    X(ip_fragment, rx, peer, "IPv4 fragment where [memory] reassembly is off")                     \
    X(fragment_length, rx, peer, "fragment without data, of odd length, or beyond 64 KiB")         \
    X(fragment_header, rx, peer,                                                                   \
      "first IPv6 fragment without all headers, or of neighbor discovery")                         \
    X(fragment_duplicate, rx, peer, "fragment that was received before")                           \
    X(fragment_overlap, rx, peer,                                                                  \
      "fragment that overlaps or contradicts another one: its datagram is dropped")                \
    X(fragment_ecn, rx, peer,                                                                      \
      "fragments with and without ECN in one datagram: the datagram is dropped")                   \
    X(fragment_parts, rx, peer,                                                                    \
      "fragment of a datagram with too many fragments: the datagram is dropped")                   \
    X(fragment_broken, rx, peer,                                                                   \
      "fragment of a datagram that was dropped because of another fragment")                       \
    X(fragment_room, rx, lack,                                                                     \
      "fragment without room for it, or for the datagram that it completes")                       \
    X(ip_source, rx, peer, "source address is broadcast, multicast, loopback, zero or ours")       \
    X(ip_link_broadcast, rx, peer, "IPv4 packet to us in a broadcast or multicast frame")          \
    X(ip_not_for_us, rx, peer, "destination address is not ours")                                  \
    X(ip_protocol, rx, peer, "neither TCP, UDP nor ICMP")                                          \
    X(ip_no_route, tx, lack, "no route to the destination")                                        \
    X(ip_mtu, tx, lack, "segment to send larger than the port's MTU")                              \
    X(ip_address_gone, tx, lack, "segment from an address that the port has no more")              \
    X(ip6_short, rx, peer, "frame ends inside the IPv6 header")                                    \
    X(ip6_version, rx, peer, "version field is not 6")                                             \
    X(ip6_payload_length, rx, peer, "IPv6 payload length past the frame")                          \
    X(ip6_ext_header, rx, peer, "IPv6 extension header or option that ends past its packet")       \
    X(ip6_ext_limit, rx, peer,                                                                     \
      "too many IPv6 extension headers or options, or too many bytes of them")                     \
    X(ip6_option, rx, peer, "IPv6 option that is unknown and must not be skipped")                 \
    X(ip6_routing, rx, peer, "IPv6 routing header with segments left (RFC 5095 and others)")       \
    X(ip6_fragment, rx, peer, "IPv6 fragment where [memory] reassembly is off")                    \
    X(ip6_no_next, rx, peer, "IPv6 packet without an upper-layer header")                          \
    X(ip6_next_header, rx, peer, "neither TCP, UDP nor ICMPv6")                                    \
    X(ip6_source, rx, peer,                                                                        \
      "IPv6 source is multicast, ours, unspecified, loopback or an IPv4 address")                  \
    X(ip6_not_for_us, rx, peer, "IPv6 destination is not ours")                                    \
    X(ip6_group, rx, peer,                                                                         \
      "IPv6 packet to a group of which we are no member, or not permitted to a group")             \
    X(ip6_link_multicast, rx, peer, "IPv6 packet to an address of ours in a multicast frame")      \
    X(ip6_link_local, rx, peer, "TCP or UDP to the link-local address that the port generated")    \
    X(icmp6_malformed, rx, peer, "ICMPv6 message too short")                                       \
    X(icmp6_checksum, rx, peer, "ICMPv6 checksum wrong")                                           \
    X(icmp6_type, rx, peer, "ICMPv6 message of a type that is not handled")                        \
    X(icmp6_mtu, rx, peer, "ICMPv6 Packet Too Big with an MTU below 1280 (RFC 8201 4)")            \
    X(nd_hops, rx, peer, "neighbor discovery from behind a router: hop limit not 255")             \
    X(nd_malformed, rx, peer, "neighbor discovery message that RFC 4861 7.1 refuses")              \
    X(nd_not_for_us, rx, peer,                                                                     \
      "solicitation for an address that is not ours, or from a false sender")                      \
    X(nd_unasked, rx, peer, "unsolicited neighbor advertisement")                                  \
    X(nd_router, rx, peer, "router solicitation, router advertisement or redirect: ignored")       \
    X(nd_cache_full, tx, lack, "packet for a neighbor for which the IPv6 cache had no room")       \
    X(nd_wait_replaced, tx, lack,                                                                  \
      "packet waiting for an IPv6 neighbor, replaced by a newer one: too many waited")             \
    X(nd_wait_expired, tx, lack, "packet whose IPv6 neighbor never answered")                      \
    X(icmp_malformed, rx, peer, "ICMP message too short")                                          \
    X(icmp_checksum, rx, peer, "ICMP checksum wrong")                                              \
    X(icmp_type, rx, peer, "ICMP message of a type that is not handled")                           \
    X(icmp_no_owner, rx, peer, "ICMP error about an unknown connection")                           \
    X(icmp_sequence, rx, peer, "ICMP error that quotes data not in flight (RFC 5927)")             \
    X(icmp_rate, rx, peer, "ICMP echo request over the rate limit")                                \
    X(answer_room, rx, lack, "ARP, echo or UDP request without room or packet for its reply")      \
    X(udp_length, rx, peer, "UDP length below 8 bytes or past the packet")                         \
    X(udp_checksum, rx, peer, "UDP checksum wrong")                                                \
    X(udp6_no_checksum, rx, peer, "UDP over IPv6 without a checksum (RFC 8200 8.1)")               \
    X(udp_no_port, rx, peer, "UDP datagram for a port without a service")                          \
    X(udp_refused, rx, lack, "UDP datagram refused: the application had no room")                  \
    X(udp_loop, rx, peer,                                                                          \
      "UDP datagram from a port that is served here or answers all: the exchange could be "        \
      "endless")                                                                                   \
    X(tcp_short, rx, peer, "segment shorter than a TCP header")                                    \
    X(tcp_header_length, rx, peer, "data offset below 20 bytes or past the segment")               \
    X(tcp_checksum, rx, peer, "TCP checksum wrong")                                                \
    X(tcp_options, rx, peer, "TCP option with an invalid length")                                  \
    X(tcp_port_zero, rx, peer, "TCP port 0")                                                       \
    X(tcp_no_owner, rx, peer, "no connection or listener: RST not due or over the rate limit")     \
    X(tcp_unacceptable, rx, peer, "segment outside the window: acknowledged and dropped")          \
    X(tcp_old_timestamp, rx, peer, "PAWS: timestamp older than the last one (RFC 7323 5)")         \
    X(tcp_bad_flags, rx, peer, "flags that the state does not accept")                             \
    X(tcp_reset_invalid, rx, peer, "RST outside the window or not at rcv_nxt (RFC 5961)")          \
    X(tcp_after_close, rx, peer, "data for a connection that the application has closed")          \
    X(tcp_duplicate, rx, peer, "segment without new data or acknowledgment")                       \
    X(tcp_window, rx, peer, "data beyond the receive window")                                      \
    X(tcp_ooo_limit, rx, peer, "out-of-order data over its limit or without a buffer")             \
    X(tcp_ooo_runs, rx, peer, "out-of-order data with more gaps than are stored")                  \
    X(tcp_buffer, rx, lack, "in-order data without a free buffer: not acknowledged")               \
    X(syn_table_full, rx, lack, "SYN without room for a SYN-RECEIVED record or in the flow table") \
    X(listen_overflow, rx, lack, "handshake for a listener whose accept queue is full")            \
    X(syn_deferred, rx, peer, "ACK without data for a listener with TCP_DEFER_ACCEPT")             \
    X(service_connections, rx, lack, "new connection for a service at limit_connections")          \
    X(source_connections, rx, peer, "new connection from an address at source_connections")        \
    X(prefix_share, rx, lack,                                                                      \
      "new connection from a /24 or /48 at prefix_share of the last eighth")                       \
    X(service_share, rx, lack, "new connection for a service at service_share of the last eighth") \
    X(accept_wait, rx, lack,                                                                       \
      "SYN while the receive queue was behind for longer than accept_wait_ms")                     \
    X(block_pool_empty, rx, lack, "handshake completed, but no connection block was free")         \
    X(ext_pool_empty, rx, lack, "no extension record was free")                                    \
    X(time_wait, rx, peer, "segment for a connection in TIME-WAIT, not answered")                  \
    X(pkt_pool_empty, tx, lack, "no free packet to build a reply")                                 \
    X(reply_room, tx, lack, "no room for a reply in this turn")                                    \
    X(tx_full, tx, lack, "port did not accept the packet")

enum drop_reason {
    DROP_NONE = 0,
#define DROP_ENUM(name, ...) DROP_##name,
    DROP_TABLE(DROP_ENUM)
#undef DROP_ENUM
        DROP_COUNT
};
