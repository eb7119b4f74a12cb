// SPDX-License-Identifier: BSD-3-Clause
#include "worker/linux_flows.h"

#include "wire/proto.h"
#include "wire/raw.h"

enum {
    HASH_BITS = 40,
    FLAGS_AT = 13,  // of TCP
    OFFSET_AT = 12,
    SYN_OR_RST = 0x02 | 0x04,
};

// tcp_at: where the TCP header of the frame begins, if the IP header is of the common form; NULL:
// it is not. *ip_bytes: bytes of the IP packet; *addrs, *addr_bytes: its addresses.
static const uint8_t *tcp_at(const uint8_t *frame, uint32_t len, uint32_t *ip_bytes,
                             const uint8_t **addrs, uint32_t *addr_bytes)
{
    const uint8_t *ip = frame + ETH_BYTES;
    if (len >= TCP4_DATA_OFF && load_be16(frame + ETH_TYPE_AT) == ETH_TYPE_IP4 && ip[0] == 0x45 &&
        ip[IP4_PROTO_AT] == IP_PROTO_TCP &&
        (load_be16(ip + IP4_FRAGMENT_AT) & (IP4_MF | IP4_OFFSET_MASK)) == 0) {
        *ip_bytes = load_be16(ip + IP4_TOTAL_AT);
        *addrs = ip + IP4_SRC_AT;
        *addr_bytes = 4;
        return frame + TCP4_OFF;
    }
    if (len >= TCP6_DATA_OFF && load_be16(frame + ETH_TYPE_AT) == ETH_TYPE_IP6 && ip[0] >> 4 == 6 &&
        ip[IP6_NEXT_AT] == IP_PROTO_TCP) {
        *ip_bytes = (uint32_t)IP6_BYTES + load_be16(ip + IP6_PAYLOAD_AT);
        *addrs = ip + IP6_SRC_AT;
        *addr_bytes = 16;
        return frame + TCP6_OFF;
    }
    return NULL;
}

struct linux_flow linux_flow_of(const struct linux_flows *f, const uint8_t *frame, uint32_t len,
                                bool sent)
{
    struct {
        uint8_t addrs[2][16];
        uint8_t ports[2][2];
        uint32_t family;
    } key = {.family = 0};
    uint32_t ip_bytes, n;
    const uint8_t *addrs, *tcp = tcp_at(frame, len, &ip_bytes, &addrs, &n);
    if (tcp == NULL)
        return (struct linux_flow){.hash = 0};
    const unsigned ours = sent ? 0 : 1;
    for (unsigned i = 0; i < 2; i++) {  // our side first
        memcpy(key.addrs[i], addrs + n * (i ^ ours), n);
        memcpy(key.ports[i], tcp + 2 * (i ^ ours), 2);
    }
    key.family = n;
    const uint32_t head = (uint32_t)(tcp - frame) - ETH_BYTES + 4u * (tcp[OFFSET_AT] >> 4);
    return (struct linux_flow){.hash = siphash_bytes(&f->key, &key, sizeof(key)) | 1,
                               .flags = tcp[FLAGS_AT],
                               .data = ip_bytes > head};
}

static uint64_t tag_of(uint64_t hash)
{
    return hash & ((UINT64_C(1) << HASH_BITS) - 1);
}

static const struct shared_u64 *set_of(const struct linux_flows *f, uint64_t hash)
{
    return f->words[(hash >> HASH_BITS) % LINUX_FLOW_SETS];
}

bool linux_flow_known(const struct linux_flows *f, uint64_t hash)
{
    const struct shared_u64 *set = set_of(f, hash);
    for (unsigned i = 0; i < LINUX_FLOW_WAYS; i++)
        if (tag_of(shared_u64_load(&set[i])) == tag_of(hash))
            return hash != 0;
    return false;
}

void linux_flow_sent(struct linux_flows *f, const struct linux_flow *flow, uint32_t now_s)
{
    struct shared_u64 *set = (struct shared_u64 *)(uintptr_t)set_of(f, flow->hash), *at = set;
    if (flow->hash == 0 || (flow->flags & SYN_OR_RST) != 0)
        return;
    bool known = false;
    for (unsigned i = 0; i < LINUX_FLOW_WAYS && !known; i++) {
        known = tag_of(shared_u64_load(&set[i])) == tag_of(flow->hash);
        if (known || shared_u64_load(&set[i]) >> HASH_BITS < shared_u64_load(at) >> HASH_BITS)
            at = &set[i];
    }
    const bool young =
        known && (shared_u64_load(at) >> HASH_BITS) + LINUX_FLOW_REST_S > (uint64_t)now_s + 1;
    if (young || (!known && !flow->data))
        return;
    shared_u64_store(at, ((uint64_t)now_s + 1) << HASH_BITS | tag_of(flow->hash));
}
