// SPDX-License-Identifier: BSD-3-Clause
// When a next hop does not answer, reports its segments to TCP as ICMP errors of a router would be.
#include <errno.h>
#include <string.h>

#include "net/priv6.h"

// key_of: the connection of a packet that this host built. Returns false if it is no TCP segment.
static bool key_of(const struct net *net, const uint8_t *frame, struct flow_key *key,
                   const uint8_t **tcp)
{
    const uint8_t *ip = frame + ETH_BYTES;
    if (load_be16(frame + ETH_TYPE_AT) == ETH_TYPE_IP4) {
        const int ix = net_local_index(net, load_raw32(ip + IP4_SRC_AT));  // -1: gone meanwhile
        key->remote = ip_from_v4(load_be32(ip + IP4_DST_AT));
        key->local_ix = (uint16_t)(net->local_ix_first + ix);
        *tcp = frame + TCP4_OFF;
        return ix >= 0 && ip[IP4_PROTO_AT] == IP_PROTO_TCP;
    }
    struct ip_addr ours;
    memcpy(ours.b, ip + IP6_SRC_AT, sizeof(ours.b));
    memcpy(key->remote.b, ip + IP6_DST_AT, sizeof(key->remote.b));
    const int ix = net6_own(net->v6, &ours);
    key->local_ix = (uint16_t)(net->v6->local_ix_first + ix);
    *tcp = frame + TCP6_OFF;
    return ix >= 0 && ip[IP6_NEXT_AT] == IP_PROTO_TCP;
}

void too_big_note(struct net *net, const struct seg_out *s)
{
    if (net->n_lost == NET_LOST_MAX)
        return;
    net->lost[net->n_lost++] = (struct icmp_event){
        .key = s->key, .seq = s->seq, .mtu = net->ip_bytes_max, .kind = ICMP_TOO_BIG};
}

void lost_note(struct net *net, const struct pkt *p)
{
    struct icmp_event e = {.kind = ICMP_SOFT, .error = EHOSTUNREACH};
    const uint8_t *tcp;
    if (net->n_lost == NET_LOST_MAX || !key_of(net, pkt_data(p), &e.key, &tcp))
        return;
    e.key.local_port = load_be16(tcp);
    e.key.remote_port = load_be16(tcp + TCP_DST_PORT_AT);
    e.seq = load_be32(tcp + TCP_SEQ_AT);
    net->lost[net->n_lost++] = e;
}

uint32_t net_lost(struct net *net, struct icmp_event *events)
{
    const uint32_t n = net->n_lost;
    memcpy(events, net->lost, n * sizeof(events[0]));
    net->n_lost = 0;
    return n;
}
