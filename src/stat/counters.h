// SPDX-License-Identifier: BSD-3-Clause
// counters.h: the counters of a worker. One line of a table makes the field, its name in the tree
// and its help text. The worker is the only writer of its core_stats and increments plainly. The
// control thread copies it with stat_snapshot(), sums cores with stat_sum(), and renders the copy
// (stat/render.h).
//
// Each received packet is counted in one of four ways. dropped is the sum of the reasons with side
// rx in base/drops.h.
//
//     rx_packets = delivered + answered + kept + dropped
#pragma once
#include "base/base.h"
#include "base/drops.h"
#include "base/shared.h"

// X(name, help). A name that ends in _now is a gauge; all others only increase.
#define CORE_COUNTER_TABLE(X)                                                                      \
    X(rx_packets, "packets received, including those that other workers handed over")              \
    X(rx_bytes, "bytes of the frames received")                                                    \
    X(tx_packets, "packets that the port accepted")                                                \
    X(tx_bytes, "bytes of the frames sent")                                                        \
    X(handed_out, "packets received here and handed to the worker that owns them")                 \
    X(handed_in, "packets that another worker received and handed to this one")                    \
    X(handed_copies, "copies of ARP packets for the other workers")                                \
    X(rss_wrong, "of handed_out, packets of kinds that RSS should deliver to their worker")        \
    X(tx_handed, "of tx_packets, packets that another worker transmits for this one")              \
    X(to_linux, "packets that nobody here owns, handed to Linux")                                  \
    X(to_linux_copies, "copies for Linux of packets that were of use here, too")                   \
    X(to_linux_missed, "copies for Linux that were not made: rate or room")                        \
    X(from_linux, "packets of Linux that were passed on to the port")                              \
    X(rx_arp, "ARP packets received")                                                              \
    X(rx_icmp, "ICMP messages received")                                                           \
    X(rx_icmp_echo, "ICMP echo requests received")                                                 \
    X(rx_udp, "UDP datagrams received for a served port")                                          \
    X(rx_tcp, "well-formed TCP segments received")                                                 \
    X(rx_fragments, "IP fragments received, including invalid ones")                               \
    X(rx_fragments6, "of rx_fragments, those over IPv6")                                           \
    X(reassembled, "datagrams reassembled from fragments")                                         \
    X(reassembled6, "of reassembled, those over IPv6")                                             \
    X(reassembly_handed, "of reassembled, those handed to the worker that owns them")              \
    X(reassembly_timeouts, "incomplete datagrams dropped after 60 s")                              \
    X(reassembly_timeouts6, "of reassembly_timeouts, those over IPv6")                             \
    X(reassembly_evicted, "oldest incomplete datagrams, dropped to make room for newer ones")      \
    X(reassembly_share, "the same, because their source address had used its share")               \
    X(reassembly_broken,                                                                           \
      "incomplete datagrams ended by an invalid fragment: drops has the reason")                   \
    X(reassembly_room, "complete datagrams dropped because the turn had no room for them")         \
    X(reassembly_fails6, "of the five kinds of failed reassembly above, those over IPv6")          \
    X(reassembly_now, "datagrams being reassembled")                                               \
    X(tx_fragmented, "datagrams and echo replies sent in fragments")                               \
    X(tx_fragmented6, "of tx_fragmented, those over IPv6")                                         \
    X(tx_fragments, "fragments sent for tx_fragmented")                                            \
    X(tx_fragments6, "of tx_fragments, those over IPv6")                                           \
    X(tx_fragment_fails,                                                                           \
      "datagrams and echo replies dropped: no room or packets for all fragments")                  \
    X(tx_fragment_fails6, "of tx_fragment_fails, those over IPv6")                                 \
    X(tx_arp, "ARP packets sent")                                                                  \
    X(arp_learned, "neighbors added or changed in the ARP caches by received ARP packets")         \
    X(arp_evicted, "neighbors removed from a full ARP cache for another one")                      \
    X(arp_expired, "neighbors removed because they were unused or did not answer")                 \
    X(arp_limited, "ARP requests not sent: rate limit, no room, or no free packet")                \
    X(arp_conflicts, "ARP packets in which another host claims one of our addresses")              \
    X(tx_icmp, "ICMP messages sent")                                                               \
    X(tx_icmp_echo_reply, "ICMP echo replies sent")                                                \
    X(tx_icmp_unreachable, "ICMP protocol or port unreachable sent")                               \
    X(tx_icmp_time_exceeded, "ICMP time exceeded sent: reassembly timed out")                      \
    X(tx_icmp6_time_exceeded, "the same over IPv6")                                                \
    X(icmp_errors_limited, "ICMP errors not sent: rate limit, no room, or no free packet")         \
    X(rx_ip6, "packets of type IPv6 received")                                                     \
    X(tx_ip6, "IPv6 packets built")                                                                \
    X(rx_tcp6, "of rx_tcp, those over IPv6")                                                       \
    X(tx_tcp6, "of tx_tcp, those over IPv6")                                                       \
    X(rx_udp6, "of rx_udp, those over IPv6")                                                       \
    X(rx_udp6_no_port, "UDP datagrams over IPv6 for a port without a service")                     \
    X(rx_icmp6, "ICMPv6 messages received")                                                        \
    X(rx_icmp6_echo, "ICMPv6 echo requests received")                                              \
    X(rx_icmp6_unreachable, "ICMPv6 destination unreachable received")                             \
    X(rx_icmp6_too_big, "ICMPv6 packet too big received")                                          \
    X(rx_icmp6_time_exceeded, "ICMPv6 time exceeded received")                                     \
    X(rx_icmp6_parameter, "ICMPv6 parameter problem received")                                     \
    X(rx_nd_solicit, "neighbor solicitations received")                                            \
    X(rx_nd_advert, "neighbor advertisements received")                                            \
    X(rx_mld_query, "MLD general queries received")                                                \
    X(tx_icmp6_echo_reply, "ICMPv6 echo replies sent")                                             \
    X(tx_icmp6_unreachable, "ICMPv6 port unreachable sent")                                        \
    X(tx_icmp6_parameter, "ICMPv6 parameter problem sent")                                         \
    X(tx_nd_solicit, "neighbor solicitations sent")                                                \
    X(tx_nd_advert, "neighbor advertisements sent")                                                \
    X(tx_mld_report, "MLD reports sent")                                                           \
    X(nd_learned, "IPv6 neighbors added or changed by received messages")                          \
    X(nd_evicted, "IPv6 neighbors removed from a full cache for another one")                      \
    X(nd_expired, "IPv6 neighbors removed because they were unused or did not answer")             \
    X(nd_limited,                                                                                  \
      "neighbor discovery and MLD messages not sent: rate limit, no room, or no free packet")      \
    X(nd_conflicts, "messages in which another host claims one of our IPv6 addresses")             \
    X(tx_udp, "UDP datagrams sent")                                                                \
    X(tx_udp6, "of tx_udp, those over IPv6")                                                       \
    X(udp_unsent,                                                                                  \
      "UDP datagrams of applications not sent: no room or no free packet in their turn")           \
    X(udp_unsent6, "of udp_unsent, those over IPv6")                                               \
    X(udp_refused6, "UDP datagrams over IPv6 refused: the application had no room")                \
    X(udp_ports_now, "UDP ports that applications opened, without those in udp6_ports_now")        \
    X(udp_paths_lowered, "ICMP errors about datagrams whose MTU is remembered for the path")       \
    X(udp_paths_evicted,                                                                           \
      "of udp_paths_lowered, those that took the place of a path still remembered")                \
    X(udp6_ports_now,                                                                              \
      "UDP ports that applications opened at an IPv6 address, or at all of both families")         \
    X(tx_waits, "times that a turn ended with connections waiting for room in a port")             \
    X(tx_tcp, "TCP segments sent, including retransmitted ones")                                   \
    X(tx_large, "times that several TCP segments were passed on as one large segment (TSO)")       \
    X(delivered, "received packets whose content reached a connection, a record or a cache")       \
    X(answered, "received packets that were answered: echo, ARP, RST, SYN-ACK")                    \
    X(kept, "received packets queued: out of order, or not yet consumed")                          \
    X(turns, "turns of the loop")                                                                  \
    X(turns_busy, "turns that received or sent packets, or ran timers")                            \
    X(turns_over_100us, "turns longer than 100 us: cores/N/stalls lists them")                     \
    X(idle_waits, "times that the worker had nothing to do and waited: [cpu] idle")                \
    X(idle_sleeps, "of idle_waits, those in which the thread slept")                               \
    X(idle_wait_micros, "microseconds of these waits")                                             \
    X(idle_wakes_packet, "sleeps that a packet ended")                                             \
    X(idle_wakes_timer, "sleeps that ended because a timer was due soon")                          \
    X(idle_wakes_order, "sleeps that another thread ended: an order, or something to send")        \
    X(tx_retransmits_segs, "TCP segments retransmitted, including SYN and SYN-ACK")                \
    X(rto_fired, "retransmission timeouts (RFC 6298)")                                             \
    X(paths_suspected,                                                                             \
      "times that a segment was retransmitted retries1 times without an answer (R1)")              \
    X(fast_retransmits, "fast retransmits: losses repaired before the timeout")                    \
    X(conns_opened_passive, "connections established by a peer")                                   \
    X(conns_opened_active, "connections opened by an application")                                 \
    X(ports_refused, "active opens refused because no free port was found")                        \
    X(conns_failed, "connections that were never established, including half-open ones")           \
    X(conns_closed, "connections closed by FIN in both directions")                                \
    X(conns_reset_sent, "connections that this side reset")                                        \
    X(conns_reset_received, "connections that the peer reset")                                     \
    X(conns_timed_out, "connections aborted because the peer did not answer")                      \
    X(conns_shed, "connections reset because they drained their data too slowly while buffers "    \
                  "were scarce (RFC 6429)")                                                        \
    X(connections_now, "connections in ESTABLISHED or closing")                                    \
    X(connections6_now, "of connections_now, those over IPv6")                                     \
    X(syn_received, "SYN segments received for a service")                                         \
    X(syn_records_now, "half-open connections")                                                    \
    X(sources_now, "source addresses with connections to a service with source_connections")       \
    X(service_refused,                                                                             \
      "segments for a service that is closed or draining, answered as for a closed port")          \
    X(conns_killed, "connections reset by order: ctl/conn/kill, ctl/drain")                        \
    X(challenge_acks, "challenge ACKs sent (RFC 5961)")                                            \
    X(ext_records_missed, "times that no extension record was free")                               \
    X(cc_records_missed, "times that congestion control got no extension record")                  \
    X(icmp_opens_ended, "active opens that a hard ICMP error ended")                               \
    X(icmp_mss_lowered, "times that ICMP lowered a connection's segment size (RFC 1191)")          \
    X(icmp_noted, "ICMP errors about connections that had no effect")                              \
    X(synack_sent, "SYN-ACK segments sent, including retransmitted ones")                          \
    X(rst_sent, "RST segments sent, including those for unknown connections")                      \
    X(acks_sent, "acknowledgments sent without data")                                              \
    X(time_wait_now, "TIME-WAIT records in use")                                                   \
    X(time_wait_evicted, "TIME-WAIT records that ended early: the oldest one was replaced")        \
    X(established_now, "connections in ESTABLISHED or CLOSE-WAIT")                                 \
    X(established_resets, "connections that went from those two states directly to CLOSED")        \
    X(syn_records_reset, "half-open connections that a RST of the peer ended")                     \
    X(syn_records_timed_out, "of conns_timed_out, half-open ones")                                 \
    X(syn_retransmits, "SYN segments retransmitted")                                               \
    X(synack_retransmits, "of synack_sent, those retransmitted")                                   \
    X(syncookies_sent, "SYN-ACKs sent that carry a SYN cookie (RFC 4987)")                         \
    X(syncookies_received, "connections established by a SYN cookie")                              \
    X(syncookies_failed, "ACKs for unknown connections without a valid cookie")                    \
    X(fast_opens, "connections opened by TCP Fast Open, with data in the SYN (RFC 7413)")          \
    X(fast_opens_failed, "SYNs whose Fast Open cookie is not valid")                               \
    X(fast_open_overflows, "SYNs of Fast Open above the limit [service] fast_open")                \
    X(fast_open_requests, "SYNs that ask for a Fast Open cookie")                                  \
    X(segs_told, "of rx_tcp, segments with something for the application")                         \
    X(segs_slow, "of rx_tcp, segments that left the fast path")                                    \
    X(segs_slow_told, "of segs_slow, those with something for the application")                    \
    X(pure_acks_slow, "of segs_slow, acknowledgments without data")                                \
    X(segs_opening, "of segs_slow, those that opened a connection by the fast path")               \
    X(segs_closing,                                                                                \
      "of segs_slow, those that closed a connection, or one direction, by the fast path")          \
    X(owners_again, "of segs_slow, those whose connection was looked up again")                    \
    X(delayed_acks, "times that the delayed-ACK timer asked for an acknowledgment")                \
    X(delayed_acks_lost, "segments with data that had been acknowledged before")                   \
    X(time_wait_expired, "TIME-WAIT records that lasted their full time")                          \
    X(time_wait_reset, "TIME-WAIT records that a RST of the peer ended")                           \
    X(time_wait_recycled, "TIME-WAIT records whose place a new connection took (RFC 6191)")        \
    X(sack_recoveries, "of fast_retransmits, those caused by SACK (RFC 6675)")                     \
    X(recovery_failures, "recoveries that ended in a retransmission timeout")                      \
    X(sack_recovery_failures, "of recovery_failures, those with SACK")                             \
    X(sack_reneges, "times that the peer discarded SACKed data (RFC 2018 8)")                      \
    X(lost_retransmits, "retransmitted segments that were lost again")                             \
    X(sack_reorders, "times that SACK showed reordering, not loss")                                \
    X(sack_discarded, "invalid SACK blocks received")                                              \
    X(sack_forgotten, "SACKed ranges dropped: more gaps than a record holds")                      \
    X(fast_retransmit_segs, "of tx_retransmits_segs, those sent in a recovery")                    \
    X(dsack_sent_old, "DSACK sent for data below rcv_nxt (RFC 2883)")                              \
    X(dsack_sent_ooo, "DSACK sent for data that was queued out of order already")                  \
    X(dsack_received, "DSACK received for data below what was acknowledged")                       \
    X(dsack_received_ooo, "DSACK received for data above what was acknowledged")                   \
    X(ooo_merged, "segments received out of order that overlap what was queued")                   \
    X(ooo_buffers_now, "buffers that hold out-of-order data")                                      \
    X(ooo_pruned, "runs of out-of-order data dropped to free buffers")                             \
    X(syn_challenges, "of challenge_acks, those that answer a SYN")                                \
    X(ack_skipped, "ACKs of segments outside the window not sent: rate limit")                     \
    X(ack_skipped_paws, "the same for segments with an old timestamp")                             \
    X(ack_skipped_syn_received, "the same for half-open connections")                              \
    X(ack_skipped_time_wait, "the same for TIME-WAIT records")                                     \
    X(ack_skipped_challenge, "challenge ACKs not sent: rate limit of the connection (RFC 5961 7)") \
    X(window_closed,                                                                               \
      "times that the receive window became zero: the application did not consume data")           \
    X(window_opened, "times that a zero receive window opened again")                              \
    X(sends_limited, "sends of applications refused or cut short: at [service] send_buffer")       \
    X(sends_no_buffer, "sends of applications refused or cut short: no buffer free")               \
    X(window_probes, "probes sent into a closed window (RFC 9293 3.8.6.1)")                        \
    X(window_zero_drops, "segments with data that a window of zero refused")                       \
    X(keepalive_probes, "probes sent to an idle peer")                                             \
    X(user_timeouts, "of conns_timed_out, those by the user timeout (RFC 5482)")                   \
    X(fin_wait2_timeouts,                                                                          \
      "connections ended because the peer did not close its direction in time")                    \
    X(aborts_by_app,                                                                               \
      "connections that the application aborted, or closed before all data had arrived")           \
    X(aborts_on_close, "of aborts_by_app, those closed with bytes unread (RFC 2525 2.17)")         \
    X(orphans_now, "connections that the application closed and TCP has not finished")             \
    X(mtu_probe_failed, "paths on which large segments are lost: a PMTU black hole (RFC 4821)")    \
    X(mtu_probe_succeeded, "segment sizes that were tried and arrived")                            \
    X(ecn_ect0_received, "segments with new data received with ECT(0) (RFC 3168)")                 \
    X(ecn_ect1_received, "the same with ECT(1)")                                                   \
    X(ecn_ce_received, "the same with CE: congestion experienced")                                 \
    X(ecn_echoed, "segments sent with ECE: the peer's packets were marked")                        \
    X(ecn_echo_received, "acknowledgments with ECE that reduced the congestion window")            \
    X(flight_logs_now, "small flight logs in use")                                                 \
    X(flight_logs_large_now, "large flight logs in use")                                           \
    X(flight_logs_missed,                                                                          \
      "times that no flight log was free: losses are detected by counting (RFC 6675)")             \
    X(flight_logs_large_missed, "times that a full flight log could not get a large one")          \
    X(rack_timeouts, "times that the reordering timer of RACK expired (RFC 8985 6.3)")             \
    X(loss_probes, "tail loss probes sent (RFC 8985 7)")                                           \
    X(loss_probe_recoveries, "losses that a tail loss probe repaired")                             \
    X(spurious_rtos, "of rto_fired, those without a loss (RFC 3522, 5682)")                        \
    X(full_undos, "recoveries without a loss, detected at their end: the window was restored")     \
    X(partial_undos, "the same, detected before their end")                                        \
    X(dsack_undos, "the same, detected by DSACKs for all retransmitted data (RFC 3708)")           \
    X(loss_undos, "the same, after a timeout")                                                     \
    X(timers_fired, "timers that expired and had work to do")                                      \
    X(timers_stale, "wheel entries that expired before their deadline")                            \
    X(timers_void, "wheel entries whose deadline had been canceled")                               \
    X(timers_refused, "wheel entries without room: always 0, because each entry has a place")      \
    X(turns_dirty_limited, "turns that left blocks of the dirty list to the next turn")            \
    X(ext_records_now, "extension records in use")                                                 \
    X(buffers_now, "data buffers in use")                                                          \
    X(out_of_order_queued, "segments queued because one before them was missing")                  \
    X(bytes_received, "bytes that arrived in order for applications")                              \
    X(bytes_sent, "bytes of applications sent for the first time")

// X(name, help): the stages of a turn, in their order (docs/architecture.md); every cycle of a
// worker belongs to exactly one.
#define STAGE_TABLE(X)                                                                             \
    X(rx, "receiving packets from the port")                                                       \
    X(net_input, "Ethernet, ARP, IP, ICMP, UDP")                                                   \
    X(flow_find, "flow table look-ups")                                                            \
    X(tcp_input, "TCP processing of received segments")                                            \
    X(app, "application callbacks")                                                                \
    X(timers, "expired timers")                                                                    \
    X(tcp_output, "building segments")                                                             \
    X(net_output, "building IP and Ethernet headers, neighbor look-ups")                           \
    X(tx, "passing packets to the port")                                                           \
    X(housekeeping, "publishing counters, executing orders of the control thread")                 \
    X(idle, "turns without work")

// core_counters: one word for each line of the table; stat_snapshot() and the renderers rely on
// that.
struct core_counters {
#define COUNTER_FIELD(name, help) uint64_t name;
    CORE_COUNTER_TABLE(COUNTER_FIELD)
#undef COUNTER_FIELD
} CACHE_ALIGNED;

enum stage {
#define STAGE_ENUM(name, help) STAGE_##name,
    STAGE_TABLE(STAGE_ENUM)
#undef STAGE_ENUM
        STAGE_COUNT
};

// core_stats: all counters of one worker, its only writer.
struct core_stats {
    struct core_counters c;
    uint64_t drops[DROP_COUNT] CACHE_ALIGNED;    // by enum drop_reason
    uint64_t cycles[STAGE_COUNT] CACHE_ALIGNED;  // TSC cycles spent, by enum stage
} CACHE_ALIGNED;

static_assert(sizeof(struct core_stats) % CACHE_LINE == 0, "two workers never share a line");

enum { STAT_CORES_MAX = 128 };  // cores in one sum

// stat_name: one line of a table, for code that iterates over it.
struct stat_name {
    const char *name, *help;
};

enum {
#define COUNTER_COUNT(name, help) +1
    CORE_COUNTER_COUNT = 0 CORE_COUNTER_TABLE(COUNTER_COUNT)
#undef COUNTER_COUNT
};

static_assert(sizeof(struct core_counters) ==
                  ALIGN_UP(CORE_COUNTER_COUNT * sizeof(uint64_t), CACHE_LINE),
              "nothing but counters: they are walked as words");

extern const struct stat_name stat_counter_names[CORE_COUNTER_COUNT];
extern const struct stat_name stat_drop_names[DROP_COUNT];  // [DROP_NONE] is all NULL
extern const struct stat_name stat_stage_names[STAGE_COUNT];

// stat_drop_kind: side and cause of a reason, as src/base/drops.h explains them.
enum stat_drop_side { DROP_SIDE_none, DROP_SIDE_rx, DROP_SIDE_tx };
enum stat_drop_cause { DROP_CAUSE_none, DROP_CAUSE_peer, DROP_CAUSE_lack };
struct stat_drop_kind {
    uint8_t side, cause;
};
extern const struct stat_drop_kind stat_drop_kinds[DROP_COUNT];

// stat_load: reads one word that its worker may be writing. Any thread.
static inline uint64_t stat_load(const uint64_t *word)
{
    return peek_u64(word);
}

// stat_snapshot: copies src word by word while its worker runs. Each word is exact; the words may
// be of different times.
void stat_snapshot(struct core_stats *dst, const struct core_stats *src);

// stat_sum: dst = sum of cores[0..n), each read as by stat_snapshot(). n <= STAT_CORES_MAX.
void stat_sum(struct core_stats *dst, const struct core_stats *const *cores, unsigned n);

// stat_dropped_rx, stat_dropped_tx: the sum of the drop reasons of that side, of a snapshot.
uint64_t stat_dropped_rx(const struct core_stats *s);
uint64_t stat_dropped_tx(const struct core_stats *s);

// stat_balance: rx_packets - (delivered + answered + kept + dropped), of a snapshot. Not zero: a
// packet was not counted. While the worker runs it may be off by the packets of its current turn.
int64_t stat_balance(const struct core_stats *s);
