// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_routes.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUTE_UP = 1,          // RTF_UP
    ROUTE_REJECT = 0x200,  // RTF_REJECT: unreachable, blackhole
    V4_BITS_BEFORE = 96,   // of an IPv4 address in the form ::ffff:a.b.c.d
};

// ---- addresses

static const uint8_t v4_before[12] = {[10] = 0xff, [11] = 0xff};

void doctor_addr_v4(uint32_t addr_be, uint8_t out[DOCTOR_ADDR_BYTES])
{
    memcpy(out, v4_before, sizeof(v4_before));
    memcpy(out + sizeof(v4_before), &addr_be, sizeof(addr_be));
}

bool doctor_addr_hex(const char *text, uint8_t out[DOCTOR_ADDR_BYTES])
{
    for (unsigned i = 0; i < DOCTOR_ADDR_BYTES; i++)
        if (sscanf(text + 2 * i, "%2hhx", &out[i]) != 1)
            return false;
    return true;
}

bool doctor_addr_text(const char *text, uint8_t out[DOCTOR_ADDR_BYTES])
{
    struct in_addr v4;
    if (inet_pton(AF_INET, text, &v4) != 1)
        return inet_pton(AF_INET6, text, out) == 1;
    doctor_addr_v4(v4.s_addr, out);
    return true;
}

bool doctor_addr_is_v4(const uint8_t a[DOCTOR_ADDR_BYTES])
{
    return memcmp(a, v4_before, sizeof(v4_before)) == 0;
}

bool doctor_addr_is_link_local(const uint8_t a[DOCTOR_ADDR_BYTES])
{
    return a[0] == 0xfe && (a[1] & 0xc0) == 0x80;
}

bool doctor_addr_is_loopback(const uint8_t a[DOCTOR_ADDR_BYTES])
{
    static const uint8_t v6[DOCTOR_ADDR_BYTES] = {[DOCTOR_ADDR_BYTES - 1] = 1};
    return memcmp(a, v6, sizeof(v6)) == 0 || (doctor_addr_is_v4(a) && a[12] == 127);
}

// ---- the tables: each route as a prefix of 16 bytes

struct route {
    struct doctor_way way;
    unsigned flags;
};

static bool parse_v4(const char *line, struct route *r)
{
    uint32_t to_be, mask_be;
    if (sscanf(line, "%31s %" SCNx32 " %*x %x %*s %*s %u %" SCNx32, r->way.interface, &to_be,
               &r->flags, &r->way.metric, &mask_be) != 5)
        return false;
    doctor_addr_v4(to_be, r->way.to);
    r->way.bits = V4_BITS_BEFORE + (unsigned)__builtin_popcount(mask_be);
    return true;
}

static bool parse_v6(const char *line, struct route *r)
{
    char to[40];
    if (sscanf(line, "%39s %x %*s %*s %*s %x %*s %*s %x %31s", to, &r->way.bits, &r->way.metric,
               &r->flags, r->way.interface) != 5 ||
        strlen(to) != 2 * (size_t)DOCTOR_ADDR_BYTES || r->way.bits > 8 * DOCTOR_ADDR_BYTES)
        return false;
    return doctor_addr_hex(to, r->way.to);
}

static bool in_prefix(const uint8_t a[DOCTOR_ADDR_BYTES], const struct doctor_way *prefix)
{
    const unsigned whole = prefix->bits / 8, rest = prefix->bits % 8;
    if (memcmp(a, prefix->to, whole) != 0)
        return false;
    return rest == 0 || (a[whole] ^ prefix->to[whole]) >> (8 - rest) == 0;
}

static void take(struct doctor_way *way, const struct doctor_way *r)
{
    if (doctor_addr_is_v4(way->to) && r->bits < V4_BITS_BEFORE)
        return;  // ::/0 is no route for IPv4
    if (!in_prefix(way->to, r))
        return;
    if (way->interface[0] != '\0' &&
        (r->bits < way->bits || (r->bits == way->bits && r->metric >= way->metric)))
        return;
    memcpy(way->interface, r->interface, sizeof(way->interface));
    way->bits = r->bits;
    way->metric = r->metric;
}

static bool is_default(const struct doctor_way *r)
{
    return r->bits == 0 || (r->bits == V4_BITS_BEFORE && doctor_addr_is_v4(r->to));
}

// The kernel lists an unreachable default route on lo, too.
static bool leads_out(const struct route *r)
{
    return (r->flags & (ROUTE_UP | ROUTE_REJECT)) == ROUTE_UP &&
           strcmp(r->way.interface, "lo") != 0;
}

struct finder {
    struct doctor_way *ways;
    unsigned n;
    void (*each_default)(void *arg, const char *interface);
    void *arg;
};

static void read_table(const struct doctor_host *h, const char *path,
                       bool (*parse)(const char *line, struct route *r), const struct finder *find)
{
    char at[DOCTOR_PATH_BYTES], *line = NULL;
    size_t room = 0;
    struct route r;
    FILE *f = fopen(doctor_path(h, at, "%s", path), "re");  // of any length
    while (f != NULL && getline(&line, &room, f) > 0) {
        if (!parse(line, &r) || !leads_out(&r))
            continue;
        if (is_default(&r.way))
            find->each_default(find->arg, r.way.interface);
        for (unsigned i = 0; i < find->n; i++)
            take(&find->ways[i], &r.way);
    }
    free(line);
    if (f != NULL)
        fclose(f);
}

void doctor_routes_find(const struct doctor_host *h, struct doctor_way *ways, unsigned n,
                        void (*each_default)(void *arg, const char *interface), void *arg)
{
    const struct finder find = {ways, n, each_default, arg};
    for (unsigned i = 0; i < n; i++)
        ways[i].interface[0] = '\0';
    read_table(h, "/proc/net/route", parse_v4, &find);
    read_table(h, "/proc/net/ipv6_route", parse_v6, &find);
}
