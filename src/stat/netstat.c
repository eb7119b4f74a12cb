// SPDX-License-Identifier: BSD-3-Clause
// netstat.c: /proc/net/netstat with the columns of Linux 6.18 (net/ipv4/proc.c), in the same order.
// A column is 0 if c10m has no such thing or does not count it.
#include "stat/columns.h"

#define C(counter) ((int64_t)s->c.counter)

static void tcp_ext_render(struct text *out, const struct core_stats *s)
{
    // The fast path has no counter: its segments are those that no counter of the full path has.
    const int64_t fast = less(s->c.rx_tcp, s->c.segs_slow);
    const int64_t fast_data = less(s->c.segs_told, s->c.segs_slow_told);
    const int64_t fast_acks = fast > fast_data ? fast - fast_data : 0;
    // Segments that send data for the first time: all sent segments except those that another
    // counter has. A FIN without data is included, as on Linux.
    const int64_t first = less(s->c.tx_tcp + s->c.synack_retransmits,
                               s->c.tx_retransmits_segs + s->c.acks_sent + s->c.rst_sent +
                                   s->c.synack_sent + s->c.conns_opened_active);
    const struct column cols[] = {
        {"SyncookiesSent", C(syncookies_sent)},
        {"SyncookiesRecv", C(syncookies_received)},
        {"SyncookiesFailed", C(syncookies_failed)},
        {"EmbryonicRsts", C(syn_records_reset)},
        {"PruneCalled", 0},
        {"RcvPruned", 0},
        {"OfoPruned", C(ooo_pruned)},
        {"OutOfWindowIcmps", DROPS(s, DROP_icmp_sequence)},
        {"LockDroppedIcmps", 0},
        {"ArpFilter", 0},
        {"TW", C(time_wait_expired)},
        {"TWRecycled", C(time_wait_recycled)},
        {"TWKilled", 0},
        {"PAWSActive", 0},
        {"PAWSEstab", DROPS(s, DROP_tcp_old_timestamp)},
        {"BeyondWindow", DROPS(s, DROP_tcp_window)},
        {"TSEcrRejected", 0},
        {"PAWSOldAck", 0},
        {"PAWSTimewait", 0},
        {"DelayedACKs", C(delayed_acks)},
        {"DelayedACKLocked", 0},
        {"DelayedACKLost", C(delayed_acks_lost)},
        {"ListenOverflows",
         DROPS(s, DROP_listen_overflow, DROP_service_connections, DROP_source_connections,
               DROP_prefix_share, DROP_service_share, DROP_accept_wait, DROP_block_pool_empty)},
        {"ListenDrops", DROPS(s, DROP_listen_overflow, DROP_service_connections,
                              DROP_source_connections, DROP_prefix_share, DROP_service_share,
                              DROP_accept_wait, DROP_block_pool_empty, DROP_syn_table_full)},
        {"TCPHPHits", fast_data},
        {"TCPPureAcks", C(pure_acks_slow)},
        {"TCPHPAcks", fast_acks},
        {"TCPRenoRecovery", less(s->c.fast_retransmits, s->c.sack_recoveries)},
        {"TCPSackRecovery", C(sack_recoveries)},
        {"TCPSACKReneging", C(sack_reneges)},
        {"TCPSACKReorder", C(sack_reorders)},
        {"TCPRenoReorder", 0},
        {"TCPTSReorder", 0},
        {"TCPFullUndo", C(full_undos)},
        {"TCPPartialUndo", C(partial_undos)},
        {"TCPDSACKUndo", C(dsack_undos)},
        {"TCPLossUndo", C(loss_undos)},
        {"TCPLostRetransmit", C(lost_retransmits)},
        {"TCPRenoFailures", 0},
        {"TCPSackFailures", 0},
        {"TCPLossFailures", 0},
        {"TCPFastRetrans", C(fast_retransmit_segs)},
        {"TCPSlowStartRetrans",
         less(s->c.tx_retransmits_segs,
              s->c.fast_retransmit_segs + s->c.syn_retransmits + s->c.synack_retransmits)},
        {"TCPTimeouts", less(s->c.rto_fired, s->c.window_probes)},
        {"TCPLossProbes", C(loss_probes)},
        {"TCPLossProbeRecovery", C(loss_probe_recoveries)},
        {"TCPRenoRecoveryFail", less(s->c.recovery_failures, s->c.sack_recovery_failures)},
        {"TCPSackRecoveryFail", C(sack_recovery_failures)},
        {"TCPRcvCollapsed", 0},
        {"TCPBacklogCoalesce", 0},
        {"TCPDSACKOldSent", C(dsack_sent_old)},
        {"TCPDSACKOfoSent", C(dsack_sent_ooo)},
        {"TCPDSACKRecv", C(dsack_received)},
        {"TCPDSACKOfoRecv", C(dsack_received_ooo)},
        {"TCPAbortOnData", less(s->c.aborts_by_app, s->c.aborts_on_close)},
        {"TCPAbortOnClose", C(aborts_on_close)},
        {"TCPAbortOnMemory", C(conns_shed)},
        {"TCPAbortOnTimeout",
         less(s->c.conns_timed_out, s->c.conns_shed + s->c.syn_records_timed_out)},
        {"TCPAbortOnLinger", C(fin_wait2_timeouts)},
        {"TCPAbortFailed", 0},
        {"TCPMemoryPressures", 0},
        {"TCPMemoryPressuresChrono", 0},
        {"TCPSACKDiscard", C(sack_discarded)},
        {"TCPDSACKIgnoredOld", 0},
        {"TCPDSACKIgnoredNoUndo", 0},
        {"TCPSpuriousRTOs", C(spurious_rtos)},
        {"TCPMD5NotFound", 0},
        {"TCPMD5Unexpected", 0},
        {"TCPMD5Failure", 0},
        {"TCPSackShifted", 0},
        {"TCPSackMerged", 0},
        {"TCPSackShiftFallback", 0},
        {"TCPBacklogDrop", 0},
        {"PFMemallocDrop", 0},
        {"TCPMinTTLDrop", 0},
        {"TCPDeferAcceptDrop", DROPS(s, DROP_syn_deferred)},
        {"IPReversePathFilter", 0},
        {"TCPTimeWaitOverflow", C(time_wait_evicted)},
        {"TCPReqQFullDoCookies", C(syncookies_sent)},
        {"TCPReqQFullDrop", DROPS(s, DROP_syn_table_full)},
        {"TCPRetransFail", 0},
        {"TCPRcvCoalesce", 0},
        {"TCPOFOQueue", C(out_of_order_queued)},
        {"TCPOFODrop", DROPS(s, DROP_tcp_ooo_limit) + DROPS(s, DROP_tcp_ooo_runs)},
        {"TCPOFOMerge", C(ooo_merged)},
        {"TCPChallengeACK", C(challenge_acks)},
        {"TCPSYNChallenge", C(syn_challenges)},
        {"TCPFastOpenActive", 0},
        {"TCPFastOpenActiveFail", 0},
        {"TCPFastOpenPassive", C(fast_opens)},
        {"TCPFastOpenPassiveFail", C(fast_opens_failed)},
        {"TCPFastOpenListenOverflow", C(fast_open_overflows)},
        {"TCPFastOpenCookieReqd", C(fast_open_requests)},
        {"TCPFastOpenBlackhole", 0},
        {"TCPSpuriousRtxHostQueues", 0},
        {"BusyPollRxPackets", 0},
        {"TCPAutoCorking", 0},
        {"TCPFromZeroWindowAdv", C(window_opened)},
        {"TCPToZeroWindowAdv", C(window_closed)},
        {"TCPWantZeroWindowAdv", 0},
        {"TCPSynRetrans", C(syn_retransmits) + C(synack_retransmits)},
        {"TCPOrigDataSent", first},
        {"TCPHystartTrainDetect", 0},
        {"TCPHystartTrainCwnd", 0},
        {"TCPHystartDelayDetect", 0},
        {"TCPHystartDelayCwnd", 0},
        {"TCPACKSkippedSynRecv", C(ack_skipped_syn_received)},
        {"TCPACKSkippedPAWS", C(ack_skipped_paws)},
        {"TCPACKSkippedSeq", C(ack_skipped)},
        {"TCPACKSkippedFinWait2", 0},
        {"TCPACKSkippedTimeWait", C(ack_skipped_time_wait)},
        {"TCPACKSkippedChallenge", C(ack_skipped_challenge)},
        {"TCPWinProbe", C(window_probes)},
        {"TCPKeepAlive", C(keepalive_probes)},
        {"TCPMTUPFail", C(mtu_probe_failed)},
        {"TCPMTUPSuccess", C(mtu_probe_succeeded)},
        {"TCPDelivered", 0},
        {"TCPDeliveredCE", C(ecn_echo_received)},
        {"TCPAckCompressed", 0},
        {"TCPZeroWindowDrop", C(window_zero_drops)},
        {"TCPRcvQDrop", DROPS(s, DROP_tcp_buffer)},
        {"TCPWqueueTooBig", 0},
        {"TCPFastOpenPassiveAltKey", 0},
        {"TcpTimeoutRehash", 0},
        {"TcpDuplicateDataRehash", 0},
        {"TCPDSACKRecvSegs", C(dsack_received)},
        {"TCPDSACKIgnoredDubious", 0},
        {"TCPMigrateReqSuccess", 0},
        {"TCPMigrateReqFailure", 0},
        {"TCPPLBRehash", 0},
        {"TCPAORequired", 0},
        {"TCPAOBad", 0},
        {"TCPAOKeyNotFound", 0},
        {"TCPAOGood", 0},
        {"TCPAODroppedIcmps", 0},
    };
    columns_render(out, "TcpExt", cols, ARRAY_LEN(cols));
}

// octets: bytes of IP packets, from bytes of Ethernet frames.
static int64_t octets(uint64_t bytes, uint64_t frames)
{
    enum { ETHERNET_BYTES = 14 };
    return less(bytes, frames * ETHERNET_BYTES);
}

// These octets include ARP, IPv6 and the padding of short Ethernet frames, which Linux leaves out.
static void ip_ext_render(struct text *out, const struct core_stats *s)
{
    const uint64_t marked = s->c.ecn_ect0_received + s->c.ecn_ect1_received + s->c.ecn_ce_received;
    const uint64_t packets = (uint64_t)less(s->c.rx_packets, s->c.rx_arp + s->c.rx_ip6);
    const struct column cols[] = {
        {"InNoRoutes", 0},
        {"InTruncatedPkts", 0},
        {"InMcastPkts", 0},
        {"OutMcastPkts", 0},
        {"InBcastPkts", 0},
        {"OutBcastPkts", 0},
        {"InOctets", octets(s->c.rx_bytes, s->c.rx_packets)},
        {"OutOctets", octets(s->c.tx_bytes, s->c.tx_packets)},
        {"InMcastOctets", 0},
        {"OutMcastOctets", 0},
        {"InBcastOctets", 0},
        {"OutBcastOctets", 0},
        {"InCsumErrors", DROPS(s, DROP_ip_checksum)},
        {"InNoECTPkts", less(packets, marked)},
        {"InECT1Pkts", C(ecn_ect1_received)},
        {"InECT0Pkts", C(ecn_ect0_received)},
        {"InCEPkts", C(ecn_ce_received)},
        {"ReasmOverlaps", DROPS(s, DROP_fragment_overlap)},
    };
    columns_render(out, "IpExt", cols, ARRAY_LEN(cols));
}

void netstat_render(struct text *out, const struct core_stats *const *cores, unsigned n)
{
    struct core_stats s;
    stat_sum(&s, cores, n);
    tcp_ext_render(out, &s);
    ip_ext_render(out, &s);
}
