// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf/conf_load.h"
#include "tables/driver_table.h"

// check_parent: the parent exists, and has a link of its own.
static void check_parent(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(port, parent);
    const struct conf *c = l->c;
    const char *name = c->ports[at].parent, *similar = similar_port(c, at, name);
    const int parent = port_find(c, name);
    if (!key_good(l, k, at))
        return;
    if (name[0] == '\0')
        fail_key(l, k, at, "missing: expected the name of the port on whose link the VLAN is");
    else if (parent < 0)
        fail_key(l, k, at, "expected the name of a [port NAME], got \"%s\"%s%s%s", name,
                 similar ? "; did you mean " : "", similar ? similar : "", similar ? "?" : "");
    else if (parent == (int)at)
        fail_key(l, k, at, "expected another port, got the port itself");
    else if (driver_has_parent(c->ports[parent].driver))
        fail_key(l, k, at, "expected a port of another driver than %s, got port %s",
                 c->ports[parent].driver, name);
    else if (port_wrapper(c, (unsigned)parent) >= 0)
        fail_key(l, k, at, "expected a port that no other port wraps, got %s, which port %s wraps",
                 name, c->ports[port_wrapper(c, (unsigned)parent)].name);
    else if (port_bond(c, (unsigned)parent) >= 0)
        fail_key(l, k, at,
                 "expected a port that is no member of a bond, got %s, a member of port %s", name,
                 c->ports[port_bond(c, (unsigned)parent)].name);
}

// check_id: a VLAN has one port on each link.
static void check_id(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(port, vlan);
    const struct conf_port *p = &l->c->ports[at];
    if (!key_good(l, k, at))
        return;
    if (p->vlan == 0)
        fail_key(l, k, at, "missing: expected a whole number from 1 to 4094");
    for (unsigned i = 0; i < at && p->vlan != 0; i++) {
        const struct conf_port *other = &l->c->ports[i];
        if (driver_has_parent(other->driver) && other->vlan == p->vlan &&
            strcmp(other->parent, p->parent) == 0) {
            fail_key(l, k, at, "expected a VLAN that port %s does not have, got %u", other->name,
                     p->vlan);
            return;
        }
    }
}

// check_room: what the link of the parent carries. The tag of a frame is not part of the MTU.
static void check_room(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(port, mtu);
    const struct conf_port *p = &l->c->ports[at];
    const int parent = port_find(l->c, p->parent);
    if (parent < 0 || !key_good(l, k, at))
        return;
    if (p->mtu > l->c->ports[parent].mtu)
        fail_key(l, k, at, "expected at most the mtu of port %s, %u, got %u", p->parent,
                 l->c->ports[parent].mtu, p->mtu);
}

void check_vlan(struct load *l, unsigned at)
{
    if (!driver_has_parent(l->c->ports[at].driver))
        return;
    check_parent(l, at);
    check_id(l, at);
    check_room(l, at);
}
