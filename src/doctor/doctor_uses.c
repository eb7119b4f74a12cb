// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_uses.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAYS_MAX = 256,
    STACK_MAX = 8,    // interfaces above one another: a VLAN on a bond on a bridge
    TUNNELS_MAX = 4,  // a tunnel in a tunnel
};

static_assert((int)WAYS_MAX >= 2 * (int)DOCTOR_SESSIONS_MAX, "two ends of each session");
static_assert((int)WAYS_MAX >= (int)DOCTOR_USES_MAX, "an outer peer for each use");

static const char too_many[] = "one of too many sessions to list";

static void add_use(struct doctor_uses *u, const char *interface, const char *what)
{
    for (unsigned i = 0; i < u->n; i++)
        if (strcmp(u->at[i].interface, interface) == 0 && strcmp(u->at[i].what, what) == 0)
            return;
    if (strcmp(interface, "lo") == 0)
        return;
    if (u->n == DOCTOR_USES_MAX) {
        u->incomplete = too_many;
        return;
    }
    struct doctor_use *use = &u->at[u->n++];
    *use = (struct doctor_use){.unseen = false};
    snprintf(use->interface, sizeof(use->interface), "%s", interface);
    snprintf(use->what, sizeof(use->what), "%s", what);
}

static void take_default(void *arg, const char *interface)
{
    add_use(arg, interface, "the default route");
}

static void pass_over(void *arg, const char *interface)
{
    (void)arg, (void)interface;
}

// ---- sessions

static void what_of(const struct doctor_session *s, char out[DOCTOR_WHAT_BYTES])
{
    char text[INET6_ADDRSTRLEN] = "";
    const bool v4 = doctor_addr_is_v4(s->peer);
    inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? s->peer + 12 : s->peer, text, sizeof(text));
    snprintf(out, DOCTOR_WHAT_BYTES, "the session with %s", text);
}

// by_address: the interfaces that have this address of IPv6. Whether there is one.
static bool by_address(struct doctor_uses *u, const struct doctor_host *h,
                       const uint8_t local[DOCTOR_ADDR_BYTES], const char *what)
{
    char at[DOCTOR_PATH_BYTES], *line = NULL, text[40], interface[DOCTOR_INTERFACE_BYTES];
    uint8_t addr[DOCTOR_ADDR_BYTES];
    size_t room = 0;
    bool found = false;
    FILE *f = fopen(doctor_path(h, at, "/proc/net/if_inet6"), "re");
    while (f != NULL && getline(&line, &room, f) > 0) {
        if (sscanf(line, "%39s %*s %*s %*s %*s %31s", text, interface) != 2 ||
            strlen(text) != 2 * sizeof(addr) || !doctor_addr_hex(text, addr) ||
            memcmp(addr, local, sizeof(addr)) != 0)
            continue;
        add_use(u, interface, what);
        found = true;
    }
    free(line);
    if (f != NULL)
        fclose(f);
    return found;
}

// A link-local address is on the link of each interface: routes say nothing about it.
static void add_session(struct doctor_uses *u, const struct doctor_host *h,
                        const struct doctor_session *s, const struct doctor_way ways[2])
{
    char what[DOCTOR_WHAT_BYTES];
    bool found = s->interface[0] != '\0';
    what_of(s, what);
    if (found)
        add_use(u, s->interface, what);
    if (s->has_local && !doctor_addr_is_v4(s->local))
        found = by_address(u, h, s->local, what) || found;
    for (unsigned i = 0; i < 2; i++) {
        if (ways[i].interface[0] == '\0' || doctor_addr_is_link_local(ways[i].to))
            continue;
        add_use(u, ways[i].interface, what);
        found = true;
    }
    if (!found)
        add_use(u, "an interface that is not known", what);
}

static void add_sessions(struct doctor_uses *u, const struct doctor_host *h)
{
    static struct doctor_sessions s;
    static struct doctor_way ways[WAYS_MAX];
    doctor_sessions_read(&s, h);
    for (unsigned i = 0; i < s.n; i++) {
        const struct doctor_session *at = &s.at[i];
        memcpy(ways[2 * i].to, at->peer, sizeof(at->peer));
        memcpy(ways[2 * i + 1].to, at->has_local ? at->local : at->peer, sizeof(at->local));
    }
    doctor_routes_find(h, ways, 2 * s.n, take_default, u);
    for (unsigned i = 0; i < s.n; i++)
        add_session(u, h, &s.at[i], &ways[2 * i]);
    if (s.incomplete)
        u->incomplete = too_many;
}

// ---- tunnels

struct below {
    const struct doctor_host *h;
    unsigned depth;
    bool found;
};

static bool on_device(const struct doctor_host *h, const char *interface, unsigned depth);

static bool look_lower(void *arg, const char *name)
{
    struct below *b = arg;
    if (strncmp(name, "lower_", 6) == 0)
        b->found = on_device(b->h, name + 6, b->depth + 1);
    return !b->found;
}

// on_device: hardware is below the interface, perhaps under a VLAN, a bond or a bridge.
static bool on_device(const struct doctor_host *h, const char *interface, unsigned depth)
{
    char path[DOCTOR_PATH_BYTES];
    struct below b = {h, depth, false};
    snprintf(path, sizeof(path), "/sys/class/net/%.40s/device", interface);
    if (doctor_exists(h, path))
        return true;
    snprintf(path, sizeof(path), "/sys/class/net/%.40s", interface);
    if (depth < STACK_MAX)
        doctor_each(h, path, look_lower, &b);
    return b.found;
}

// outer_bytes: how long the outer address is of an interface of this type (ARPHRD_*), which shows
// the outer peer as its broadcast address; 0: it shows none.
static unsigned outer_bytes(uint64_t type)
{
    enum { TUNNEL = 768, TUNNEL6 = 769, SIT = 776, IPGRE = 778, IP6GRE = 823 };
    return type == TUNNEL || type == SIT || type == IPGRE ? 4
           : type == TUNNEL6 || type == IP6GRE            ? DOCTOR_ADDR_BYTES
                                                          : 0;
}

// outer_peer: the address of the other end of the tunnel. False: it is not known, or there are
// many.
static bool outer_peer(const struct doctor_host *h, const char *interface,
                       uint8_t out[DOCTOR_ADDR_BYTES])
{
    char path[DOCTOR_PATH_BYTES], line[64];
    uint8_t bytes[DOCTOR_ADDR_BYTES] = {0}, any = 0;
    uint64_t type = 0;
    uint32_t v4_be;
    snprintf(path, sizeof(path), "/sys/class/net/%.40s/type", interface);
    doctor_number(h, path, &type);
    const unsigned n = outer_bytes(type);
    snprintf(path, sizeof(path), "/sys/class/net/%.40s/broadcast", interface);
    doctor_line(h, path, line, sizeof(line));
    if (n == 0 || strlen(line) != 3 * n - 1)
        return false;
    for (unsigned i = 0; i < n; i++) {
        if (sscanf(line + 3 * i, "%2hhx", &bytes[i]) != 1)
            return false;
        any |= bytes[i];
    }
    memcpy(&v4_be, bytes, sizeof(v4_be));
    if (n == sizeof(v4_be))
        doctor_addr_v4(v4_be, out);
    else
        memcpy(out, bytes, DOCTOR_ADDR_BYTES);
    return any != 0;
}

// follow: the uses from `from` on that are not above hardware: those of their outer peers are
// added.
static void follow(struct doctor_uses *u, const struct doctor_host *h, unsigned from)
{
    static struct doctor_way ways[WAYS_MAX];
    static unsigned of[WAYS_MAX];
    const unsigned to = u->n;
    unsigned n = 0;
    for (unsigned i = from; i < to; i++) {
        if (on_device(h, u->at[i].interface, 0))
            continue;
        of[n] = i;
        u->at[i].unseen = !outer_peer(h, u->at[i].interface, ways[n].to);
        n += !u->at[i].unseen;
    }
    if (n != 0)
        doctor_routes_find(h, ways, n, pass_over, NULL);
    for (unsigned i = 0; i < n; i++) {
        char what[DOCTOR_WHAT_BYTES];
        struct doctor_use *use = &u->at[of[i]];
        use->unseen =
            ways[i].interface[0] == '\0' || strcmp(ways[i].interface, use->interface) == 0;
        snprintf(what, sizeof(what), "%.100s, by the tunnel %s", use->what, use->interface);
        if (!use->unseen)
            add_use(u, ways[i].interface, what);
    }
}

// other_namespace: this process does not see the network of process 1, which has the NICs.
static bool other_namespace(const struct doctor_host *h)
{
    char own[64], first[64];
    return doctor_link(h, "/proc/self/ns/net", own, sizeof(own)) &&
           doctor_link(h, "/proc/1/ns/net", first, sizeof(first)) && strcmp(own, first) != 0;
}

void doctor_uses_read(struct doctor_uses *u, const struct doctor_host *h)
{
    u->n = 0;
    u->incomplete = other_namespace(h) ? "a session in the network namespace of process 1" : NULL;
    add_sessions(u, h);
    unsigned from = 0;
    for (unsigned i = 0; i < TUNNELS_MAX && from < u->n; i++) {
        const unsigned to = u->n;
        follow(u, h, from);
        from = to;
    }
    for (; from < u->n; from++)
        u->at[from].unseen = !on_device(h, u->at[from].interface, 0);
}
