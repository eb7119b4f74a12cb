// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_routes.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"

enum {
    TCP_ESTABLISHED_STATE = 1,  // in /proc/net/tcp
    SSH_PORT = 22,
    ANCESTORS_MAX = 32,
    V6_BYTES = 16,
    V4_BITS_BEFORE = 96,  // of an IPv4 address in the form ::ffff:a.b.c.d
};

static void add_use(struct doctor_uses *u, const char *interface, const char *what)
{
    for (unsigned i = 0; i < u->n; i++)
        if (strcmp(u->at[i].interface, interface) == 0 && strcmp(u->at[i].what, what) == 0)
            return;
    if (strcmp(interface, "lo") == 0)
        return;
    if (u->n == DOCTOR_USES_MAX) {
        u->incomplete = true;
        return;
    }
    struct doctor_use *use = &u->at[u->n++];
    snprintf(use->interface, sizeof(use->interface), "%s", interface);
    snprintf(use->what, sizeof(use->what), "%s", what);
}

// ---- routes: each as a prefix of a 16-byte address, IPv4 as ::ffff:a.b.c.d

struct route {
    uint8_t to[V6_BYTES];
    unsigned bits;
    char interface[32];
};

// each_route: calls `each` for the routes of both families.
typedef void route_fn(void *arg, const struct route *r);

static void mapped(uint32_t addr_be, uint8_t out[V6_BYTES])
{
    memset(out, 0, 10);
    memset(out + 10, 0xff, 2);
    memcpy(out + 12, &addr_be, sizeof(addr_be));
}

static bool parse_v4(const char *line, struct route *r)
{
    uint32_t to_be, mask_be;
    unsigned flags;
    if (sscanf(line, "%31s %" SCNx32 " %*x %x %*s %*s %*s %" SCNx32, r->interface, &to_be, &flags,
               &mask_be) != 4)
        return false;
    mapped(to_be, r->to);
    r->bits = V4_BITS_BEFORE + (unsigned)__builtin_popcount(mask_be);
    return (flags & 1) != 0;  // RTF_UP
}

static bool parse_hex16(const char *text, uint8_t out[V6_BYTES])
{
    for (unsigned i = 0; i < V6_BYTES; i++)
        if (sscanf(text + 2 * i, "%2hhx", &out[i]) != 1)
            return false;
    return true;
}

// The kernel lists an unreachable default route on lo, too.
static bool parse_v6(const char *line, struct route *r)
{
    char to[40];
    unsigned flags;
    if (sscanf(line, "%39s %x %*s %*s %*s %*s %*s %*s %x %31s", to, &r->bits, &flags,
               r->interface) != 4 ||
        strlen(to) != 2 * V6_BYTES)
        return false;
    return (flags & 1) != 0 && parse_hex16(to, r->to) && strcmp(r->interface, "lo") != 0;
}

static void routes_of(const struct doctor_host *h, const char *path,
                      bool (*parse)(const char *line, struct route *r), route_fn *each, void *arg)
{
    char at[DOCTOR_PATH_BYTES], *line = NULL;
    size_t room = 0;
    struct route r;
    FILE *f = fopen(doctor_path(h, at, "%s", path), "re");  // of any length
    while (f != NULL && getline(&line, &room, f) > 0)
        if (parse(line, &r))
            each(arg, &r);
    free(line);
    if (f != NULL)
        fclose(f);
}

static void each_route(const struct doctor_host *h, route_fn *each, void *arg)
{
    routes_of(h, "/proc/net/route", parse_v4, each, arg);
    routes_of(h, "/proc/net/ipv6_route", parse_v6, each, arg);
}

// A prefix of every length: in which bits the two differ.
static bool in_prefix(const uint8_t a[V6_BYTES], const struct route *r)
{
    for (unsigned bit = 0; bit < r->bits; bit++)
        if ((a[bit / 8] ^ r->to[bit / 8]) >> (7 - bit % 8) & 1)
            return false;
    return true;
}

static bool is_v4(const uint8_t a[V6_BYTES])
{
    static const uint8_t before[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(a, before, sizeof(before)) == 0;
}

struct best {
    const uint8_t *to;
    struct route route;
    bool found;
};

static void better(void *arg, const struct route *r)
{
    struct best *b = arg;
    if (is_v4(b->to) && r->bits < V4_BITS_BEFORE)
        return;  // ::/0 is no route for IPv4
    if (in_prefix(b->to, r) && (!b->found || r->bits > b->route.bits)) {
        b->route = *r;
        b->found = true;
    }
}

static void add_session(struct doctor_uses *u, const struct doctor_host *h,
                        const uint8_t peer[V6_BYTES])
{
    struct best b = {.to = peer};
    char text[INET6_ADDRSTRLEN] = "", what[96];
    each_route(h, better, &b);
    if (!b.found)
        return;
    inet_ntop(is_v4(peer) ? AF_INET : AF_INET6, is_v4(peer) ? peer + 12 : peer, text, sizeof(text));
    snprintf(what, sizeof(what), "the session with %s", text);
    add_use(u, b.route.interface, what);
}

static void take_default(void *arg, const struct route *r)
{
    if (r->bits == 0 || (r->bits == V4_BITS_BEFORE && is_v4(r->to)))
        add_use(arg, r->interface, "the default route");
}

// ---- sessions

// "0: 0100007F:0016 0200007F:C350 01 ...": local, remote, state. Words of 32 bits in the machine's
// order.
static void tcp_line(struct doctor_uses *u, const struct doctor_host *h, const char *line)
{
    char local[48], remote[48];
    unsigned local_port, state;
    uint8_t peer[V6_BYTES];
    if (sscanf(line, " %*d: %47[0-9A-F]:%x %47[0-9A-F]:%*x %x", local, &local_port, remote,
               &state) != 4 ||
        state != TCP_ESTABLISHED_STATE || local_port != SSH_PORT)
        return;
    uint32_t words[4] = {0};
    const size_t n = strlen(remote) / 8;
    for (size_t i = 0; i < n && i < ARRAY_LEN(words); i++)
        sscanf(remote + 8 * i, "%8" SCNx32, &words[i]);
    if (n == 1)
        mapped(words[0], peer);
    else
        memcpy(peer, words, sizeof(peer));
    add_session(u, h, peer);
}

static void tcp_file(struct doctor_uses *u, const struct doctor_host *h, const char *path)
{
    char at[DOCTOR_PATH_BYTES], *line = NULL;
    size_t room = 0;
    FILE *f = fopen(doctor_path(h, at, "%s", path), "re");
    while (f != NULL && getline(&line, &room, f) > 0)
        tcp_line(u, h, line);
    free(line);
    if (f != NULL)
        fclose(f);
}

// "192.0.2.7 50000 192.0.2.1 2222", as sshd sets it.
static void ssh_connection(struct doctor_uses *u, const struct doctor_host *h, const char *value)
{
    char text[INET6_ADDRSTRLEN + 16];
    uint8_t peer[V6_BYTES];
    struct in_addr v4;
    if (sscanf(value, "%61s", text) != 1)
        return;
    const char *scope = strchr(text, '%');  // fe80::1%eth0: the interface, as no route tells it
    if (scope != NULL) {
        add_use(u, scope + 1, "this session");
        return;
    }
    if (inet_pton(AF_INET, text, &v4) == 1)
        mapped(v4.s_addr, peer);
    else if (inet_pton(AF_INET6, text, peer) != 1)
        return;
    add_session(u, h, peer);
}

// sudo keeps no SSH_CONNECTION, but the shell above it has one.
static void ancestors(struct doctor_uses *u, const struct doctor_host *h)
{
    char path[DOCTOR_PATH_BYTES], at[DOCTOR_PATH_BYTES], line[DOCTOR_LINE_BYTES];
    long pid = h->root[0] == '\0' ? (long)getppid() : 0;
    for (unsigned i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        snprintf(path, sizeof(path), "/proc/%ld/environ", pid);
        FILE *f = fopen(doctor_path(h, at, "%s", path), "re");
        char *entry = NULL;
        size_t room = 0;
        while (f != NULL && getdelim(&entry, &room, '\0', f) > 0)
            if (strncmp(entry, "SSH_CONNECTION=", 15) == 0)
                ssh_connection(u, h, entry + 15);
        free(entry);
        if (f != NULL)
            fclose(f);
        snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
        doctor_line(h, path, line, sizeof(line));
        const char *after = strrchr(line, ')');
        if (after == NULL || sscanf(after + 1, " %*c %ld", &pid) != 1)
            pid = 0;
    }
}

void doctor_uses_read(struct doctor_uses *u, const struct doctor_host *h)
{
    u->n = 0;
    u->incomplete = false;
    each_route(h, take_default, u);
    const char *session = getenv("SSH_CONNECTION");
    if (session != NULL)
        ssh_connection(u, h, session);
    ancestors(u, h);
    tcp_file(u, h, "/proc/net/tcp");
    tcp_file(u, h, "/proc/net/tcp6");
}
