// SPDX-License-Identifier: BSD-3-Clause
#include "server/link_messages.h"

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { ATTRIBUTES_MAX = 64 };

// attributes: of one message, by type; those of no type below ATTRIBUTES_MAX are left out.
struct attributes {
    const struct nlattr *at[ATTRIBUTES_MAX];
};

static int note(const struct nlattr *a, void *arg)
{
    struct attributes *to = arg;
    const uint16_t type = mnl_attr_get_type(a);
    if (type < ATTRIBUTES_MAX)
        to->at[type] = a;
    return MNL_CB_OK;
}

// attributes_of: false: the message is too short for its head.
static bool attributes_of(const struct nlmsghdr *h, size_t head, struct attributes *out)
{
    memset(out, 0, sizeof(*out));
    return mnl_nlmsg_get_payload_len(h) >= head && mnl_attr_parse(h, head, note, out) >= 0;
}

static bool address_of(const struct nlattr *a, uint8_t family, struct ip_addr *out)
{
    if (a == NULL)
        return false;
    const uint8_t *b = mnl_attr_get_payload(a);
    const uint16_t bytes = mnl_attr_get_payload_len(a);
    if (family == AF_INET && bytes == 4)
        *out = ip_from_v4(load_be32(b));
    else if (family == AF_INET6 && bytes == sizeof(out->b))
        memcpy(out->b, b, sizeof(out->b));
    else
        return false;
    return true;
}

// u32_of: the value of an attribute; `without`: there is none.
static uint32_t u32_of(const struct nlattr *a, uint32_t without)
{
    return a != NULL && mnl_attr_get_payload_len(a) >= sizeof(uint32_t) ? mnl_attr_get_u32(a)
                                                                        : without;
}

// is_host: whether a host can have the address (as net_init() checks it).
static bool is_host(const struct ip_addr *a)
{
    static const struct ip_addr loopback6 = {{[15] = 1}};
    const uint32_t top = ip_to_v4(a) >> 24;
    if (ip_is_v4(a))
        return top != 0 && top != 127 && top < 224;
    return !ip_is_zero(a) && a->b[0] != 0xff && !ip_equal(a, &loopback6);
}

static bool has_room(unsigned n, struct link_refused *refused)
{
    refused->over += n == PORT_WANTED_MAX;
    return n < PORT_WANTED_MAX;
}

void link_read_begin(struct link_read *r, const char name[IFNAMSIZ])
{
    char copy[IFNAMSIZ] = "";
    strncpy(copy, name, sizeof(copy) - 1);
    memset(r, 0, sizeof(*r));
    memcpy(r->name, copy, sizeof(copy));
}

static bool is_named(const struct attributes *a, const char *name)
{
    const struct nlattr *n = a->at[IFLA_IFNAME];
    const uint16_t bytes = n != NULL ? mnl_attr_get_payload_len(n) : 0;
    return bytes != 0 && strncmp(mnl_attr_get_str(n), name, bytes) == 0;
}

static void take_link(struct link_read *r, const struct nlmsghdr *h)
{
    const struct ifinfomsg *m = mnl_nlmsg_get_payload(h);
    struct attributes a;
    if (!attributes_of(h, sizeof(*m), &a) || !is_named(&a, r->name))
        return;
    r->index = (unsigned)m->ifi_index;
    r->is.up = (m->ifi_flags & IFF_UP) != 0;
    r->is.mtu = (uint16_t)MIN(u32_of(a.at[IFLA_MTU], 0), (uint32_t)UINT16_MAX);
}

// usable: duplicate address detection is over (RFC 4862 5.4), or the address is optimistic (RFC
// 4429).
static bool usable(uint32_t flags)
{
    return (flags & IFA_F_DADFAILED) == 0 &&
           ((flags & IFA_F_TENTATIVE) == 0 || (flags & IFA_F_OPTIMISTIC) != 0);
}

static void take_address(struct link_read *r, const struct nlmsghdr *h)
{
    const struct ifaddrmsg *m = mnl_nlmsg_get_payload(h);
    struct attributes a;
    struct net_local l;
    if (!attributes_of(h, sizeof(*m), &a) || m->ifa_index != r->index)
        return;
    const struct nlattr *own = a.at[IFA_LOCAL] != NULL ? a.at[IFA_LOCAL] : a.at[IFA_ADDRESS];
    if (!address_of(own, m->ifa_family, &l.addr))
        return;
    if (!usable(u32_of(a.at[IFA_FLAGS], m->ifa_flags)) || !is_host(&l.addr)) {
        r->refused.addresses++;
        return;
    }
    l.prefix_bits = m->ifa_prefixlen;
    if (has_room(r->is.n_addresses, &r->refused))
        r->is.addresses[r->is.n_addresses++] = l;
}

// by_several: whether one of the next hops of a multipath route is by the interface.
static bool by_several(const struct nlattr *multipath, unsigned index)
{
    const char *at = mnl_attr_get_payload(multipath);
    size_t left = mnl_attr_get_payload_len(multipath);
    while (left >= sizeof(struct rtnexthop)) {
        const struct rtnexthop *hop = (const void *)at;
        const size_t step = MNL_ALIGN(hop->rtnh_len);
        if ((unsigned)hop->rtnh_ifindex == index)
            return true;
        if (step < sizeof(*hop) || step > left)
            return false;
        at += step;
        left -= step;
    }
    return false;
}

// may_take: whether the route is for packets to others and of a kind that is followed. Refused ones
// are counted.
static bool may_take(struct link_read *r, const struct rtmsg *m, const struct attributes *a)
{
    if (m->rtm_type != RTN_UNICAST || (m->rtm_flags & (RTM_F_CLONED | RTNH_F_DEAD)) != 0)
        return false;
    if (a->at[RTA_MULTIPATH] != NULL && by_several(a->at[RTA_MULTIPATH], r->index)) {
        r->refused.multipath++;
        return false;
    }
    if (u32_of(a->at[RTA_OIF], 0) != r->index)
        return false;
    const bool policy = u32_of(a->at[RTA_TABLE], m->rtm_table) != RT_TABLE_MAIN ||
                        m->rtm_tos != 0 || m->rtm_src_len != 0;
    const bool kind = a->at[RTA_VIA] != NULL || a->at[RTA_ENCAP] != NULL;
    r->refused.tables += policy;
    r->refused.kinds += !policy && kind;
    return !policy && !kind;
}

static void put_route(struct link_read *r, const struct net_route *route, uint32_t metric)
{
    struct port_wanted *is = &r->is;
    if (!has_room(is->n_routes, &r->refused))
        return;
    unsigned at = is->n_routes++;
    for (; at > 0 && r->metrics[at - 1] > metric; at--) {
        is->routes[at] = is->routes[at - 1];
        r->metrics[at] = r->metrics[at - 1];
    }
    is->routes[at] = *route;
    r->metrics[at] = metric;
}

static void take_route(struct link_read *r, const struct nlmsghdr *h)
{
    const struct rtmsg *m = mnl_nlmsg_get_payload(h);
    struct net_route route;
    struct attributes a;
    memset(&route, 0, sizeof(route));
    if (!attributes_of(h, sizeof(*m), &a) || !may_take(r, m, &a))
        return;
    route.prefix_bits = m->rtm_dst_len;
    if (m->rtm_family == AF_INET)
        route.prefix = ip_from_v4(0);
    if (m->rtm_dst_len != 0 && !address_of(a.at[RTA_DST], m->rtm_family, &route.prefix))
        return;
    if (route.prefix_bits > ip_bits(&route.prefix))
        return;
    address_of(a.at[RTA_GATEWAY], m->rtm_family, &route.via);
    put_route(r, &route, u32_of(a.at[RTA_PRIORITY], 0));
}

static bool neighbor_of(const struct nlmsghdr *h, unsigned index, struct net_static *out,
                        uint16_t *state)
{
    const struct ndmsg *m = mnl_nlmsg_get_payload(h);
    struct attributes a;
    if (!attributes_of(h, sizeof(*m), &a) || (unsigned)m->ndm_ifindex != index ||
        (m->ndm_flags & NTF_PROXY) != 0 || !address_of(a.at[NDA_DST], m->ndm_family, &out->addr))
        return false;
    const struct nlattr *mac = a.at[NDA_LLADDR];
    memset(&out->mac, 0, sizeof(out->mac));
    if (mac != NULL && mnl_attr_get_payload_len(mac) == sizeof(out->mac.b))
        memcpy(out->mac.b, mnl_attr_get_payload(mac), sizeof(out->mac.b));
    *state = m->ndm_state;
    return true;
}

static void take_neighbor(struct link_read *r, const struct nlmsghdr *h)
{
    static const struct mac_addr none;
    struct net_static n;
    uint16_t state;
    if (!neighbor_of(h, r->index, &n, &state) || (state & NUD_PERMANENT) == 0 ||
        !is_host(&n.addr) || (n.mac.b[0] & 1) != 0 || memcmp(&n.mac, &none, sizeof(none)) == 0)
        return;
    if (has_room(r->is.n_neighbors, &r->refused))
        r->is.neighbors[r->is.n_neighbors++] = n;
}

void link_read_message(struct link_read *r, const struct nlmsghdr *h)
{
    switch (h->nlmsg_type) {
    case RTM_NEWLINK:
        take_link(r, h);
        break;
    case RTM_NEWADDR:
        take_address(r, h);
        break;
    case RTM_NEWROUTE:
        take_route(r, h);
        break;
    case RTM_NEWNEIGH:
        take_neighbor(r, h);
        break;
    default:
        break;
    }
}

void link_read_end(struct link_read *r)
{
    struct port_wanted *is = &r->is;
    unsigned n = 0;
    for (unsigned i = 0; i < is->n_routes; i++) {
        bool again = false;
        for (unsigned j = 0; j < n; j++)
            again |= is->routes[j].prefix_bits == is->routes[i].prefix_bits &&
                     ip_equal(&is->routes[j].prefix, &is->routes[i].prefix);
        if (!again)
            is->routes[n++] = is->routes[i];
    }
    memset(&is->routes[n], 0, (is->n_routes - n) * sizeof(is->routes[0]));
    is->n_routes = n;
}

// What a strict dump (NETLINK_GET_STRICT_CHK) filters by: each kind has its own place for it.
void link_ask(struct nlmsghdr *h, uint16_t type, uint8_t family, const struct link_read *r)
{
    h->nlmsg_type = type;
    h->nlmsg_flags = NLM_F_REQUEST | (type == RTM_GETLINK ? 0 : NLM_F_DUMP);
    if (type == RTM_GETLINK) {
        mnl_nlmsg_put_extra_header(h, sizeof(struct ifinfomsg));
        mnl_attr_put_strz(h, IFLA_IFNAME, r->name);
    } else if (type == RTM_GETADDR) {
        struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
        m->ifa_family = family;
        m->ifa_index = r->index;
    } else if (type == RTM_GETROUTE) {
        struct rtmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
        m->rtm_family = family;
        mnl_attr_put_u32(h, RTA_OIF, r->index);
    } else {
        struct ndmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
        m->ndm_family = family;
        mnl_attr_put_u32(h, NDA_IFINDEX, r->index);
    }
}

static bool link_changed(const struct link_read *r, const struct nlmsghdr *h)
{
    const struct ifinfomsg *m = mnl_nlmsg_get_payload(h);
    struct attributes a;
    return attributes_of(h, sizeof(*m), &a) &&
           ((unsigned)m->ifi_index == r->index || is_named(&a, r->name));
}

static bool address_changed(const struct link_read *r, const struct nlmsghdr *h)
{
    const struct ifaddrmsg *m = mnl_nlmsg_get_payload(h);
    return mnl_nlmsg_get_payload_len(h) >= sizeof(*m) && m->ifa_index == r->index;
}

static bool route_changed(const struct link_read *r, const struct nlmsghdr *h)
{
    const struct rtmsg *m = mnl_nlmsg_get_payload(h);
    struct attributes a;
    if (!attributes_of(h, sizeof(*m), &a))
        return false;
    return u32_of(a.at[RTA_OIF], 0) == r->index ||
           (a.at[RTA_MULTIPATH] != NULL && by_several(a.at[RTA_MULTIPATH], r->index));
}

static bool neighbor_changed(const struct link_read *r, const struct nlmsghdr *h)
{
    struct net_static n;
    uint16_t state;
    if (!neighbor_of(h, r->index, &n, &state))
        return false;
    for (unsigned i = 0; i < r->is.n_neighbors; i++)
        if (ip_equal(&r->is.neighbors[i].addr, &n.addr))
            return true;
    return (state & NUD_PERMANENT) != 0;
}

bool link_concerns(const struct link_read *r, const struct nlmsghdr *h)
{
    switch (h->nlmsg_type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
        return link_changed(r, h);
    case RTM_NEWADDR:
    case RTM_DELADDR:
        return address_changed(r, h);
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        return route_changed(r, h);
    case RTM_NEWNEIGH:
    case RTM_DELNEIGH:
        return neighbor_changed(r, h);
    default:
        return false;
    }
}
