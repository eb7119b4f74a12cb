// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/dump/dump_line.h"

#include "base/addr.h"
#include "base/bytes.h"
#include "pkt/pkt.h"
#include "wire/proto.h"

// ends: the two addresses of a packet, and its transport header l4. bytes: length of the transport
// header and data according to the IP header; n: bytes captured of it.
struct ends {
    struct ip_addr from, to;
    bool v6;
    uint8_t proto;
    const uint8_t *l4;
    uint32_t bytes, n;
};

static void put_end(struct text *out, const struct ip_addr *a, const uint8_t *port_be)
{
    char text[IP_TEXT_BYTES];
    const char *s = ip_text(a, text);
    if (port_be == NULL)
        text_printf(out, "%s", s);
    else
        text_printf(out, ip_is_v4(a) ? "%s:%u" : "[%s]:%u", s, load_be16(port_be));
}

static void put_ends(struct text *out, const char *what, const struct ends *e, bool ports)
{
    text_printf(out, "%s ", what);
    put_end(out, &e->from, ports ? e->l4 : NULL);
    text_printf(out, " > ");
    put_end(out, &e->to, ports ? e->l4 + TCP_DST_PORT_AT : NULL);
}

static void put_flags(struct text *out, uint8_t flags)
{
    static const char letters[] = "FSRP.UEW";
    char shown[sizeof(letters)];
    unsigned n = 0;
    for (unsigned i = 0; i < 8; i++)
        if ((flags >> i & 1) != 0)
            shown[n++] = letters[i];
    shown[n] = '\0';
    text_printf(out, " [%s]", n == 0 ? "none" : shown);
}

static void tcp_line(struct text *out, const struct ends *e)
{
    const uint8_t *t = e->l4;
    const uint32_t head = 4u * (t[TCP_DATA_OFFSET_AT] >> 4);
    put_ends(out, "TCP", e, true);
    put_flags(out, t[TCP_FLAGS_AT]);
    text_printf(out, " seq %u", load_be32(t + TCP_SEQ_AT));
    if ((t[TCP_FLAGS_AT] & 0x10) != 0)
        text_printf(out, " ack %u", load_be32(t + TCP_ACK_AT));
    text_printf(out, " win %u len %u", load_be16(t + TCP_WND_AT),
                e->bytes >= head ? e->bytes - head : 0);
}

static void transport_line(struct text *out, const struct ends *e)
{
    char what[16];
    if (e->proto == IP_PROTO_TCP && e->n >= TCP_BYTES) {
        tcp_line(out, e);
        return;
    }
    if (e->proto == IP_PROTO_UDP && e->n >= UDP_BYTES) {
        put_ends(out, "UDP", e, true);
        text_printf(out, " len %u", e->bytes >= UDP_BYTES ? e->bytes - UDP_BYTES : 0);
        return;
    }
    if ((e->proto == IP_PROTO_ICMP || e->proto == IP_PROTO_ICMP6) && e->n >= 4) {
        put_ends(out, e->v6 ? "ICMPv6" : "ICMP", e, false);
        text_printf(out, " type %u code %u len %u", e->l4[ICMP_TYPE_AT], e->l4[ICMP_CODE_AT],
                    e->bytes);
        return;
    }
    struct text name;
    text_init(&name, sizeof(what));
    text_printf(&name, "IP%s/%u", e->v6 ? "v6" : "", e->proto);
    put_ends(out, text_str(&name), e, false);
    text_printf(out, " len %u", e->bytes);
    text_free(&name);
}

static struct ip_addr addr6(const uint8_t *at)
{
    struct ip_addr a;
    memcpy(&a, at, 16);
    return a;
}

static void ip4_line(struct text *out, const uint8_t *ip, uint32_t n)
{
    if (n < IP4_BYTES || (ip[0] & 15) < 5 || n < 4u * (ip[0] & 15)) {
        text_printf(out, "IP, truncated");
        return;
    }
    const uint32_t head = 4u * (ip[0] & 15), total = load_be16(ip + IP4_TOTAL_AT);
    const uint32_t offset = load_be16(ip + IP4_FRAGMENT_AT) & IP4_OFFSET_MASK;
    // For a segment that the NIC will split (TSO), the length field is 0 or over 64 KiB.
    struct ends e = {.from = ip_from_v4(load_be32(ip + IP4_SRC_AT)),
                     .to = ip_from_v4(load_be32(ip + IP4_DST_AT)),
                     .proto = ip[IP4_PROTO_AT],
                     .l4 = ip + head,
                     .bytes = total >= head ? total - head : n - head,
                     .n = n - head};
    if (offset == 0) {
        transport_line(out, &e);
        return;
    }
    put_ends(out, "IP fragment", &e, false);
    text_printf(out, " offset %u len %u", 8 * offset, e.bytes);
}

static void ip6_line(struct text *out, const uint8_t *ip, uint32_t n)
{
    if (n < IP6_BYTES) {
        text_printf(out, "IPv6, truncated");
        return;
    }
    const uint32_t payload = load_be16(ip + IP6_PAYLOAD_AT);
    const struct ends e = {.from = addr6(ip + IP6_SRC_AT),
                           .to = addr6(ip + IP6_DST_AT),
                           .v6 = true,
                           .proto = ip[IP6_NEXT_AT],
                           .l4 = ip + IP6_BYTES,
                           .bytes = payload != 0 ? payload : n - IP6_BYTES,
                           .n = n - IP6_BYTES};
    transport_line(out, &e);
}

static void arp_line(struct text *out, const uint8_t *a, uint32_t n)
{
    if (n < ARP_BYTES) {
        text_printf(out, "ARP, truncated");
        return;
    }
    char from[IP_TEXT_BYTES], to[IP_TEXT_BYTES];
    const struct ip_addr sender = ip_from_v4(load_be32(a + ARP_SENDER_IP_AT)),
                         target = ip_from_v4(load_be32(a + ARP_TARGET_IP_AT));
    const uint8_t *mac = a + ARP_SENDER_MAC_AT;
    ip_text(&sender, from);
    ip_text(&target, to);
    if (load_be16(a + ARP_OP_AT) == ARP_OP_REQUEST)
        text_printf(out, "ARP who has %s? tell %s", to, from);
    else
        text_printf(out, "ARP %s is at %02x:%02x:%02x:%02x:%02x:%02x", from, mac[0], mac[1], mac[2],
                    mac[3], mac[4], mac[5]);
}

// packet_line: the n bytes at `packet` behind a type.
static void packet_line(struct text *out, uint16_t type, const uint8_t *packet, uint32_t n)
{
    if (type == ETH_TYPE_IP4)
        ip4_line(out, packet, n);
    else if (type == ETH_TYPE_IP6)
        ip6_line(out, packet, n);
    else if (type == ETH_TYPE_ARP)
        arp_line(out, packet, n);
    else
        text_printf(out, "Ethernet type 0x%04x len %u", type, n);
}

static bool is_tag(uint16_t type)
{
    return type == PKT_TAG_TYPE || type == PKT_TAG_TYPE_OUTER;
}

void dump_line(struct text *out, const uint8_t *frame, uint32_t n)
{
    if (n < ETH_BYTES) {
        text_printf(out, "Ethernet, truncated");
        return;
    }
    uint16_t type = load_be16(frame + ETH_TYPE_AT);
    uint32_t at = ETH_BYTES;
    for (; is_tag(type) && n - at >= PKT_TAG_BYTES; at += PKT_TAG_BYTES) {
        text_printf(out, "vlan %u ", load_be16(frame + at) & PKT_TAG_VID_MASK);
        type = load_be16(frame + at + 2);
    }
    packet_line(out, type, frame + at, n - at);
}
