// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf/conf_load.h"
#include "tables/driver_table.h"

static bool has_member(const struct conf_port *bond, const char *name)
{
    for (unsigned i = 0; i < bond->members.n; i++)
        if (strcmp(bond->members.at[i], name) == 0)
            return true;
    return false;
}

int port_bond(const struct conf *c, unsigned at)
{
    for (unsigned i = 0; i < c->n_ports; i++)
        if (i != at && driver_has_members(c->ports[i].driver) &&
            has_member(&c->ports[i], c->ports[at].name))
            return (int)i;
    return -1;
}

// check_member: the port exists, has a link of its own, and belongs to nobody else.
static void check_member(struct load *l, unsigned at, const char *name)
{
    const struct key *k = KEY_AT(port, members);
    const struct conf *c = l->c;
    const int member = port_find(c, name);
    const char *similar = similar_port(c, at, name);
    if (member < 0) {
        fail_key(l, k, at, "expected names of [port NAME], got \"%s\"%s%s%s", name,
                 similar ? "; did you mean " : "", similar ? similar : "", similar ? "?" : "");
        return;
    }
    const int wrapper = port_wrapper(c, (unsigned)member), bond = port_bond(c, (unsigned)member);
    if (member == (int)at)
        fail_key(l, k, at, "expected other ports, got the port itself");
    else if (!driver_may_join(c->ports[member].driver))
        fail_key(l, k, at, "expected ports with a link of their own, got port %s of driver %s",
                 name, c->ports[member].driver);
    else if (wrapper >= 0)
        fail_key(l, k, at, "expected ports that no other port wraps, got %s, which port %s wraps",
                 name, c->ports[wrapper].name);
    else if (bond != (int)at)
        fail_key(l, k, at, "expected ports of no other bond, got %s, a member of port %s", name,
                 c->ports[bond].name);
}

static void check_members(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(port, members);
    const struct conf_names *members = &l->c->ports[at].members;
    if (members->n == 0 && key_good(l, k, at))
        fail_key(l, k, at, "missing: expected the names of ports, as p0, p1");
    for (unsigned i = 0; i < members->n && key_good(l, k, at); i++)
        check_member(l, at, members->at[i]);
}

static void check_primary(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(port, primary);
    const struct conf_port *p = &l->c->ports[at];
    if (p->primary[0] != '\0' && !has_member(p, p->primary) && key_good(l, k, at) &&
        key_good(l, KEY_AT(port, members), at))
        fail_key(l, k, at, "expected one of the members, got %s", p->primary);
}

// check_mode: keys of the other mode would do nothing.
static void check_mode(struct load *l, unsigned at)
{
    const bool lacp = l->c->ports[at].mode == CONF_LACP;
    const struct key *backup[] = {KEY_AT(port, primary)},
                     *ours[] = {KEY_AT(port, lacp_rate), KEY_AT(port, hash)};
    const struct key **others = lacp ? backup : ours;
    const unsigned n = lacp ? ARRAY_LEN(backup) : ARRAY_LEN(ours);
    for (unsigned i = 0; i < n; i++)
        if (key_given(l, others[i], at) && key_good(l, others[i], at))
            fail_key(l, others[i], at, "expected with mode = %s only",
                     lacp ? "active-backup" : "lacp");
}

void check_bond(struct load *l, unsigned at)
{
    if (!driver_has_members(l->c->ports[at].driver))
        return;
    check_members(l, at);
    check_mode(l, at);
    check_primary(l, at);
}
