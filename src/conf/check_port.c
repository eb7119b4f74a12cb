// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "base/pci_address.h"
#include "conf/conf_load.h"
#include "conf/lists.h"
#include "conf/spelling.h"
#include "tables/driver_table.h"

enum {
    INTERFACE_CHARS_MAX = 15,  // Linux's IFNAMSIZ - 1
    SOCKET_PATH_CHARS_MAX = 107,
};

// written: an address as text, for use in one message.
struct written {
    char text[IP_TEXT_BYTES];
};

static struct written written(const struct ip_addr *a)
{
    struct written w;
    ip_text(a, w.text);
    return w;
}

int port_wrapper(const struct conf *c, unsigned at)
{
    for (unsigned i = 0; i < c->n_ports; i++)
        if (i != at && driver_wraps(c->ports[i].driver) &&
            strcmp(c->ports[i].wraps, c->ports[at].name) == 0)
            return (int)i;
    return -1;
}

static bool has_address(const struct conf_port *p, const struct ip_addr *a)
{
    for (unsigned i = 0; i < p->address.n; i++)
        if (ip_equal(&p->address.at[i].addr, a))
            return true;
    return false;
}

static bool has_v6(const struct conf_port *p)
{
    for (unsigned i = 0; i < p->address.n; i++)
        if (!ip_is_v4(&p->address.at[i].addr))
            return true;
    return false;
}

// on_link: whether the address lies in a prefix of the port. A port with any IPv6 address also has
// the link-local prefix (RFC 4291 2.8).
static bool on_link(const struct conf_port *p, const struct ip_addr *a)
{
    static const struct conf_prefix link_local = {{{0xfe, 0x80}}, 64};
    for (unsigned i = 0; i < p->address.n; i++)
        if (prefix_has(&p->address.at[i], a))
            return true;
    return has_v6(p) && prefix_has(&link_local, a);
}

// host_address_ok: whether a host may have the address. IPv4: RFC 1122 3.2.1.3; in prefixes of 31
// and 32 bits every address may belong to a host (RFC 3021). IPv6: no multicast or loopback
// address, and not the anycast address of the routers (RFC 4291 2.6.1) unless the prefix has 127
// bits (RFC 6164).
static bool host_address_ok(const struct conf_prefix *p)
{
    static const struct ip_addr loopback = {{[15] = 1}};
    const struct ip_addr at0 = ip_first(&p->addr, p->bits);
    const bool zero = ip_equal(&at0, &p->addr);
    if (!ip_is_v4(&p->addr))
        return p->addr.b[0] != 0xff && !ip_equal(&p->addr, &loopback) && (p->bits >= 127 || !zero);
    const uint32_t v4 = ip_to_v4(&p->addr), first = v4 >> 24, ones = UINT32_MAX >> p->bits % 32;
    if (first == 0 || first == 127 || first >= 224)
        return false;
    return p->bits >= 31 || (!zero && (v4 & ones) != ones);
}

static void check_prefix(struct load *l, const struct key *k, unsigned at,
                         const struct conf_prefix *p)
{
    if (key_good(l, k, at) && p->bits != 0 && !host_address_ok(p))
        fail_key(l, k, at, "expected the address of a host, got %s/%u", written(&p->addr).text,
                 p->bits);
}

// [DDDD:]BB:DD.F, or one of DPDK's own devices: net_NAME.
static bool pci_address(const char *s)
{
    if (strncmp(s, "net_", 4) == 0 && s[4] != '\0')
        return strlen(s) <= 40 && strpbrk(s, "/,:") == NULL;
    static const char *const forms[] = {"hhhh:hh:hh.o", "hh:hh.o"};
    for (unsigned i = 0; i < ARRAY_LEN(forms); i++) {
        const char *f = forms[i], *p = s;
        for (; *f != '\0' && *p != '\0'; f++, p++)
            if (*f == 'h' ? strchr("0123456789abcdefABCDEF", *p) == NULL
                          : (*f == 'o' ? *p < '0' || *p > '7' : *p != *f))
                break;
        if (*f == '\0' && *p == '\0')
            return true;
    }
    return false;
}

static bool interface_name(const char *s)
{
    return strlen(s) <= INTERFACE_CHARS_MAX && strpbrk(s, "/:") == NULL && strcmp(s, ".") != 0 &&
           strcmp(s, "..") != 0;
}

static bool socket_path(const char *s)
{
    return s[0] == '/' && strlen(s) <= SOCKET_PATH_CHARS_MAX;
}

// device_rules: what `device` must look like, by the DEVICE column of src/tables/driver_table.h.
static const struct device_rule {
    const char *expected;  // in messages
    bool (*good)(const char *device);
    bool needed;
    bool once;  // two ports cannot have the same device
    bool path;
} device_rules[] = {
    [DEVICE_NONE] = {.expected = NULL},
    [DEVICE_INTERFACE] = {"an interface name of 1 to 15 characters, as eth0", interface_name,
                          .needed = true, .once = true},
    [DEVICE_PCI] = {"a PCI address, as 0000:01:00.0", pci_address, .needed = true, .once = true},
    [DEVICE_SOCKET] = {"the absolute path of a socket, of at most 107 characters", socket_path,
                       .needed = true, .path = true},
    [DEVICE_CAPTURE] = {.path = true},
};

static const struct device_rule *device_rule(const struct conf_port *p)
{
    return &device_rules[driver_device(p->driver)];
}

// DPDK separates the arguments of a device by commas.
static void check_path(struct load *l, unsigned at, const struct key *k, const char *path)
{
    if (key_good(l, k, at) && path[0] != '\0' && strpbrk(path, ",[]\"") != NULL)
        fail_key(l, k, at, "expected a path without comma, quote or bracket, got \"%s\"", path);
}

static void check_captures(struct load *l, unsigned at)
{
    const struct key *device = KEY_AT(port, device), *capture = KEY_AT(port, capture);
    const struct conf_port *p = &l->c->ports[at];
    if (driver_device(p->driver) == DEVICE_CAPTURE && p->device[0] == '\0' && p->capture[0] == '\0')
        fail_key(l, device, at, "missing: expected a capture to replay, or one to write (capture)");
    check_path(l, at, capture, p->capture);
}

// same_device: whether both ports would open the same device. A PCI address may be written with or
// without its domain.
static bool same_device(const struct conf_port *a, const struct conf_port *b)
{
    char full[2][PCI_ADDRESS_BYTES];
    if (driver_device(a->driver) != DEVICE_PCI || driver_device(b->driver) != DEVICE_PCI)
        return strcmp(a->device, b->device) == 0;
    pci_address_full(a->device, full[0]);
    pci_address_full(b->device, full[1]);
    return strcmp(full[0], full[1]) == 0;
}

// alone_at_device: whether no second port of this kind may use the same device. A memif socket has
// one server and any number of clients.
static bool alone_at_device(const struct conf_port *p)
{
    return device_rule(p)->once || (driver_device(p->driver) == DEVICE_SOCKET && p->role == 0);
}

static void check_device(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(port, device);
    const struct conf_port *p = &l->c->ports[at];
    const struct device_rule *rule = device_rule(p);
    if (key_good(l, k, at) && rule->needed && p->device[0] == '\0')
        fail_key(l, k, at, "missing: expected %s", rule->expected);
    else if (key_good(l, k, at) && rule->good != NULL && !rule->good(p->device))
        fail_key(l, k, at, "expected %s, got \"%s\"", rule->expected, p->device);
    if (rule->path)
        check_path(l, at, k, p->device);
    for (unsigned i = 0; alone_at_device(p) && i < at && p->device[0] != '\0'; i++)
        if (alone_at_device(&l->c->ports[i]) && key_good(l, k, at) &&
            same_device(&l->c->ports[i], p))
            fail_key(l, k, at, "expected a device that port %s does not have, got \"%s\"",
                     l->c->ports[i].name, p->device);
}

// taken_by: the name of the port that already has the address, or NULL. Searches the ports before
// port `at`, and the first n addresses of port `at`.
static const char *taken_by(const struct conf *c, unsigned at, unsigned n, const struct ip_addr *a)
{
    for (unsigned i = 0; i < at; i++)
        if (has_address(&c->ports[i], a))
            return c->ports[i].name;
    for (unsigned i = 0; i < n; i++)
        if (ip_equal(&c->ports[at].address.at[i].addr, a))
            return c->ports[at].name;
    return NULL;
}

// is_parent: whether a port of a VLAN is on the link of this one, which may then have no address.
static bool is_parent(const struct conf *c, unsigned at)
{
    for (unsigned i = 0; i < c->n_ports; i++)
        if (driver_has_parent(c->ports[i].driver) &&
            strcmp(c->ports[i].parent, c->ports[at].name) == 0)
            return true;
    return false;
}

// A port may be without an address if it has VLANs, if Linux is to have one there, or to give it
// one.
static void check_addresses(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(port, address);
    const struct conf_port *p = &l->c->ports[at];
    const bool may_lack = is_parent(l->c, at) || p->linux_name[0] != '\0' || p->follow[0] != '\0';
    if (p->address.n == 0 && key_good(l, k, at) && !may_lack)
        fail_key(l, k, at,
                 "missing: expected at least one address and prefix, as 10.0.0.2/24 or fd00::2/64");
    for (unsigned i = 0; i < p->address.n; i++) {
        const struct conf_prefix *a = &p->address.at[i];
        const char *other = taken_by(l->c, at, i, &a->addr);
        check_prefix(l, k, at, a);
        if (other != NULL && key_good(l, k, at))
            fail_key(l, k, at, "expected each address once, got %s on port %s already",
                     written(&a->addr).text, other);
    }
}

static bool is_neighbor(const struct conf_port *p, const struct ip_addr *a)
{
    for (unsigned i = 0; i < p->neighbor.n; i++)
        if (ip_equal(&p->neighbor.at[i].addr, a))
            return true;
    return false;
}

// check_hop: refuses a next hop that is this host, or that is neither on the link nor a configured
// neighbor.
static void check_hop(struct load *l, const struct key *k, unsigned at, const struct ip_addr *a)
{
    const struct conf_port *p = &l->c->ports[at];
    if (!key_good(l, k, at))
        return;
    if (has_address(p, a)) {
        fail_key(l, k, at, "expected another host, got the port's own address %s", written(a).text);
        return;
    }
    if (on_link(p, a) || is_neighbor(p, a))
        return;
    struct text t;
    text_init(&t, CONF_LINE_BYTES);
    prefixes_print(&p->address, &t);
    fail_key(l, k, at, "expected a host in a prefix of address = %s, or a neighbor, got %s",
             text_str(&t), written(a).text);
    text_free(&t);
}

static void check_gateways(struct load *l, unsigned at)
{
    const struct conf_port *p = &l->c->ports[at];
    if (!ip_is_zero(&p->gateway))
        check_hop(l, KEY_AT(port, gateway), at, &p->gateway);
    if (!ip_is_zero(&p->gateway6))
        check_hop(l, KEY_AT(port, gateway6), at, &p->gateway6);
}

static void check_route(struct load *l, unsigned at, unsigned n)
{
    const struct key *k = KEY_AT(port, route);
    const struct conf_routes *list = &l->c->ports[at].route;
    const struct conf_prefix *to = &list->at[n].to;
    const struct ip_addr first = ip_first(&to->addr, to->bits), *via = &list->at[n].via;
    if (!ip_equal(&to->addr, &first))
        fail_key(l, k, at, "expected the first address of the prefix, %s/%u, got %s",
                 written(&first).text, to->bits, written(&to->addr).text);
    if (ip_is_v4(&to->addr) != ip_is_v4(via) && key_good(l, k, at))
        fail_key(l, k, at, "expected a next hop of the family of %s/%u, got %s",
                 written(&to->addr).text, to->bits, written(via).text);
    for (unsigned i = 0; i < n && key_good(l, k, at); i++)
        if (ip_equal(&list->at[i].to.addr, &to->addr) && list->at[i].to.bits == to->bits)
            fail_key(l, k, at, "expected each prefix once, got %s/%u twice",
                     written(&to->addr).text, to->bits);
    check_hop(l, k, at, via);
}

static void check_routes(struct load *l, unsigned at)
{
    for (unsigned i = 0; i < l->c->ports[at].route.n && key_good(l, KEY_AT(port, route), at); i++)
        check_route(l, at, i);
}

static void check_neighbors(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(port, neighbor);
    const struct conf_port *p = &l->c->ports[at];
    for (unsigned i = 0; i < p->neighbor.n && key_good(l, k, at); i++) {
        const struct ip_addr *a = &p->neighbor.at[i].addr;
        if (has_address(p, a))
            fail_key(l, k, at, "expected another host, got the port's own address %s",
                     written(a).text);
        for (unsigned j = 0; j < i && key_good(l, k, at); j++)
            if (ip_equal(&p->neighbor.at[j].addr, a))
                fail_key(l, k, at, "expected each address once, got %s twice", written(a).text);
    }
}

// The kernel's interface and the port must share a prefix, because no router is between them.
static void check_host_address(struct load *l, unsigned at, const struct conf_prefix *h)
{
    const struct key *k = KEY_AT(port, host_address);
    const struct conf_port *p = &l->c->ports[at];
    int wrapper = port_wrapper(l->c, at);
    const struct conf_port *outer = wrapper < 0 ? p : &l->c->ports[wrapper];
    check_prefix(l, k, at, h);
    if (outer->address.n == 0 || !key_good(l, k, at))
        return;
    if (has_address(outer, &h->addr)) {
        fail_key(l, k, at, "expected another host, got the port's own address %s",
                 written(&h->addr).text);
        return;
    }
    for (unsigned i = 0; i < outer->address.n; i++)
        if (prefix_has(h, &outer->address.at[i].addr) &&
            prefix_has(&outer->address.at[i], &h->addr))
            return;
    struct text t;
    text_init(&t, CONF_LINE_BYTES);
    prefixes_print(&outer->address, &t);
    fail_key(l, k, at, "expected the same prefix as one of address = %s, got %s/%u", text_str(&t),
             written(&h->addr).text, h->bits);
    text_free(&t);
}

static void check_host_addresses(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(port, host_address);
    const struct conf_prefixes *list = &l->c->ports[at].host_address;
    if (list->n != 0 && l->c->ports[at].attach)
        fail_key(l, k, at,
                 "expected no address with attach = on: the interface keeps those that it has");
    for (unsigned i = 0; i < list->n; i++) {
        for (unsigned j = 0; j < i && key_good(l, k, at); j++)
            if (ip_is_v4(&list->at[i].addr) == ip_is_v4(&list->at[j].addr))
                fail_key(l, k, at, "expected one address of each family, got %s and %s",
                         written(&list->at[j].addr).text, written(&list->at[i].addr).text);
        check_host_address(l, at, &list->at[i]);
    }
}

// RFC 8200 5: every link carries IPv6 packets of 1,280 bytes. A port without addresses is wrapped
// by another port, which then has the addresses.
static void check_mtu(struct load *l, unsigned at)
{
    enum { IP6_MTU_MIN = 1280 };
    const struct key *k = KEY_AT(port, mtu);
    const int wrapper = port_wrapper(l->c, at);
    const struct conf_port *p = &l->c->ports[at];
    if ((has_v6(p) || (wrapper >= 0 && has_v6(&l->c->ports[wrapper]))) && p->mtu < IP6_MTU_MIN &&
        key_good(l, k, at))
        fail_key(l, k, at, "expected at least %d with an IPv6 address, got %u", IP6_MTU_MIN,
                 p->mtu);
}

static void check_follow(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(port, follow);
    const struct conf_port *p = &l->c->ports[at];
    if (p->follow[0] == '\0' || !key_good(l, k, at))
        return;
    if (!interface_name(p->follow))
        fail_key(l, k, at, "expected the name of an interface, at most %d characters, got \"%s\"",
                 INTERFACE_CHARS_MAX, p->follow);
}

int port_find(const struct conf *c, const char *name)
{
    for (unsigned i = 0; i < c->n_ports; i++)
        if (strcmp(c->ports[i].name, name) == 0)
            return (int)i;
    return -1;
}

const char *similar_port(const struct conf *c, unsigned but, const char *name)
{
    for (unsigned i = 0; i < c->n_ports; i++)
        if (i != but && spelling_is_near(name, spelling_distance(c->ports[i].name, name)))
            return c->ports[i].name;
    return NULL;
}

static void check_wraps(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(port, wraps);
    const struct conf *c = l->c;
    const struct conf_port *p = &c->ports[at];
    if (!driver_wraps(p->driver) || !key_good(l, k, at))
        return;
    int inner = port_find(c, p->wraps);
    const char *similar = similar_port(c, at, p->wraps);
    if (p->wraps[0] == '\0')
        fail_key(l, k, at, "missing: expected the name of the port to wrap");
    else if (inner < 0)
        fail_key(l, k, at, "expected the name of a [port NAME], got \"%s\"%s%s%s", p->wraps,
                 similar ? "; did you mean " : "", similar ? similar : "", similar ? "?" : "");
    else if (inner == (int)at)
        fail_key(l, k, at, "expected another port, got the port itself");
    else if (driver_wraps(c->ports[inner].driver) || driver_has_parent(c->ports[inner].driver) ||
             driver_has_members(c->ports[inner].driver))
        fail_key(l, k, at, "expected a port of another driver than %s, got port %s",
                 c->ports[inner].driver, p->wraps);
    else if (port_wrapper(c, (unsigned)inner) != (int)at)
        fail_key(l, k, at, "expected a port that no other port wraps, got %s, which port %s wraps",
                 p->wraps, c->ports[port_wrapper(c, (unsigned)inner)].name);
}

// Addresses and routes of a wrapped port are keys of the port that wraps it. Those of a member of a
// bond, and what all members have alike, are keys of the bond.
static void check_inside(struct load *l, unsigned at, const char *outer, bool is_member)
{
    const struct key *keys[] = {KEY_AT(port, address),  KEY_AT(port, gateway),
                                KEY_AT(port, gateway6), KEY_AT(port, route),
                                KEY_AT(port, neighbor), KEY_AT(port, linux_name),
                                KEY_AT(port, follow),   KEY_AT(port, mac),
                                KEY_AT(port, mtu),      KEY_AT(port, queues)};
    enum { OF_MEMBERS = 3 };
    const unsigned n = ARRAY_LEN(keys) - (is_member ? 0 : OF_MEMBERS);
    for (unsigned i = 0; i < n; i++)
        if (key_given(l, keys[i], at) && key_good(l, keys[i], at))
            fail_key(l, keys[i], at, "expected in [port %s], %s this port%s", outer,
                     is_member ? "of which" : "which wraps", is_member ? " is a member" : "");
}

static void check_queues(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(port, queues);
    uint32_t queues = l->c->ports[at].queues, workers = conf_workers(l->c);
    if (workers > 0 && queues > workers && key_good(l, k, at))
        fail_key(l, k, at, "expected at most one queue for each of %u workers, got %u", workers,
                 queues);
}

// has_interface: whether the port uses this interface, as its device or for Linux.
static bool has_interface(const struct conf_port *p, const char *name, bool as_linux)
{
    return strcmp(as_linux ? p->linux_name : p->device, name) == 0 &&
           (as_linux || driver_device(p->driver) == DEVICE_INTERFACE);
}

static void check_linux(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(port, linux_name);
    const char *name = l->c->ports[at].linux_name;
    if (name[0] == '\0' || !key_good(l, k, at))
        return;
    if (!interface_name(name)) {
        fail_key(l, k, at, "expected %s, got \"%s\"", device_rules[DEVICE_INTERFACE].expected,
                 name);
        return;
    }
    for (unsigned i = 0; i < l->c->n_ports; i++)
        if (has_interface(&l->c->ports[i], name, false) ||
            (i < at && has_interface(&l->c->ports[i], name, true))) {
            fail_key(l, k, at, "expected the name of a new interface, got \"%s\" of port %s", name,
                     l->c->ports[i].name);
            return;
        }
}

void check_ports(struct load *l)
{
    for (unsigned i = 0; i < l->c->n_ports; i++) {
        const int wrapper = port_wrapper(l->c, i), bond = port_bond(l->c, i);
        check_device(l, i);
        check_captures(l, i);
        check_queues(l, i);
        check_wraps(l, i);
        check_vlan(l, i);
        check_bond(l, i);
        if (wrapper >= 0)
            check_inside(l, i, l->c->ports[wrapper].name, false);
        else if (bond >= 0)
            check_inside(l, i, l->c->ports[bond].name, true);
        else
            check_addresses(l, i);
        check_host_addresses(l, i);
        check_linux(l, i);
        check_follow(l, i);
        if (!key_good(l, KEY_AT(port, address), i))
            continue;
        check_gateways(l, i);
        check_mtu(l, i);
        check_routes(l, i);
        check_neighbors(l, i);
    }
}
