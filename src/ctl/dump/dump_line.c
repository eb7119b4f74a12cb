// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/dump/dump_line.h"

#include "base/addr.h"
#include "base/bytes.h"

enum {
    ETH = 14,
    TYPE_IP4 = 0x0800,
    TYPE_ARP = 0x0806,
    TYPE_IP6 = 0x86dd,
    ARP_BYTES = 28,
    IP4 = 20,
    IP6 = 40,
    TCP = 20,
    UDP = 8,
    PROTO_ICMP = 1,
    PROTO_TCP = 6,
    PROTO_UDP = 17,
    PROTO_ICMP6 = 58,
    FRAGMENT_OFFSET = 0x1fff,
};

// ends: of a packet, and where its transport header begins; bytes: of that and its data, as the IP
// header says; n: those that are there.
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
    put_end(out, &e->to, ports ? e->l4 + 2 : NULL);
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
    const uint32_t head = 4u * (t[12] >> 4);
    put_ends(out, "TCP", e, true);
    put_flags(out, t[13]);
    text_printf(out, " seq %u", load_be32(t + 4));
    if ((t[13] & 0x10) != 0)
        text_printf(out, " ack %u", load_be32(t + 8));
    text_printf(out, " win %u len %u", load_be16(t + 14), e->bytes >= head ? e->bytes - head : 0);
}

static void transport_line(struct text *out, const struct ends *e)
{
    char what[16];
    if (e->proto == PROTO_TCP && e->n >= TCP) {
        tcp_line(out, e);
        return;
    }
    if (e->proto == PROTO_UDP && e->n >= UDP) {
        put_ends(out, "UDP", e, true);
        text_printf(out, " len %u", e->bytes >= UDP ? e->bytes - UDP : 0);
        return;
    }
    if ((e->proto == PROTO_ICMP || e->proto == PROTO_ICMP6) && e->n >= 4) {
        put_ends(out, e->v6 ? "ICMPv6" : "ICMP", e, false);
        text_printf(out, " type %u code %u len %u", e->l4[0], e->l4[1], e->bytes);
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
    if (n < IP4 || (ip[0] & 15) < 5 || n < 4u * (ip[0] & 15)) {
        text_printf(out, "IP, cut off");
        return;
    }
    const uint32_t head = 4u * (ip[0] & 15), total = load_be16(ip + 2);
    const uint32_t offset = load_be16(ip + 6) & FRAGMENT_OFFSET;
    // A segment that the port is to cut has no length here, or one over 64 KiB.
    struct ends e = {.from = ip_from_v4(load_be32(ip + 12)),
                     .to = ip_from_v4(load_be32(ip + 16)),
                     .proto = ip[9],
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
    if (n < IP6) {
        text_printf(out, "IPv6, cut off");
        return;
    }
    const uint32_t payload = load_be16(ip + 4);
    const struct ends e = {.from = addr6(ip + 8),
                           .to = addr6(ip + 24),
                           .v6 = true,
                           .proto = ip[6],
                           .l4 = ip + IP6,
                           .bytes = payload != 0 ? payload : n - IP6,
                           .n = n - IP6};
    transport_line(out, &e);
}

static void arp_line(struct text *out, const uint8_t *a, uint32_t n)
{
    if (n < ARP_BYTES) {
        text_printf(out, "ARP, cut off");
        return;
    }
    char from[IP_TEXT_BYTES], to[IP_TEXT_BYTES];
    const struct ip_addr sender = ip_from_v4(load_be32(a + 14)),
                         target = ip_from_v4(load_be32(a + 24));
    ip_text(&sender, from);
    ip_text(&target, to);
    if (load_be16(a + 6) == 1)
        text_printf(out, "ARP who has %s? tell %s", to, from);
    else
        text_printf(out, "ARP %s is at %02x:%02x:%02x:%02x:%02x:%02x", from, a[8], a[9], a[10],
                    a[11], a[12], a[13]);
}

void dump_line(struct text *out, const uint8_t *frame, uint32_t n)
{
    if (n < ETH) {
        text_printf(out, "Ethernet, cut off");
        return;
    }
    const uint16_t type = load_be16(frame + 12);
    if (type == TYPE_IP4)
        ip4_line(out, frame + ETH, n - ETH);
    else if (type == TYPE_IP6)
        ip6_line(out, frame + ETH, n - ETH);
    else if (type == TYPE_ARP)
        arp_line(out, frame + ETH, n - ETH);
    else
        text_printf(out, "Ethernet type 0x%04x len %u", type, n - ETH);
}
