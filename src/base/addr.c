// SPDX-License-Identifier: BSD-3-Clause
#include "base/addr.h"

#include <arpa/inet.h>
#include <stdio.h>

bool ip_in_prefix(const struct ip_addr *a, const struct ip_addr *prefix, unsigned bits)
{
    if (ip_is_v4(a) != ip_is_v4(prefix))
        return false;
    const struct ip_addr x = ip_first(a, bits), y = ip_first(prefix, bits);
    return ip_equal(&x, &y);
}

struct ip_addr ip_first(const struct ip_addr *a, unsigned bits)
{
    struct ip_addr first = *a;
    bits += 128 - ip_bits(a);
    for (unsigned i = 0; i < 16; i++) {
        const unsigned kept = bits > i * 8 ? MIN(bits - i * 8, 8u) : 0;
        first.b[i] &= (uint8_t)(0xff00 >> kept);
    }
    return first;
}

// zero_run: the longest run of 16-bit groups that are 0, if it has two groups or more. Of runs of
// equal length the first one (RFC 5952 4.2).
static unsigned zero_run(const uint16_t *group, unsigned *bytes)
{
    unsigned at = 0, most = 1;
    for (unsigned i = 0; i < 8; i++) {
        unsigned n = 0;
        while (i + n < 8 && group[i + n] == 0)
            n++;
        if (n > most) {
            at = i;
            most = n;
        }
    }
    *bytes = most > 1 ? most : 0;
    return at;
}

const char *ip_text(const struct ip_addr *a, char out[IP_TEXT_BYTES])
{
    uint16_t group[8];
    unsigned run, n = 0;
    if (ip_is_v4(a)) {
        snprintf(out, IP_TEXT_BYTES, "%u.%u.%u.%u", a->b[12], a->b[13], a->b[14], a->b[15]);
        return out;
    }
    for (unsigned i = 0; i < 8; i++)
        group[i] = (uint16_t)(a->b[2 * i] << 8 | a->b[2 * i + 1]);
    const unsigned at = zero_run(group, &run);
    out[0] = '\0';
    for (unsigned i = 0; i < 8; i++) {
        if (run != 0 && i == at) {
            n += (unsigned)snprintf(out + n, IP_TEXT_BYTES - n, "::");
            i += run - 1;
            continue;
        }
        const bool first = i == 0 || (run != 0 && i == at + run);
        n += (unsigned)snprintf(out + n, IP_TEXT_BYTES - n, first ? "%x" : ":%x", group[i]);
    }
    return out;
}

bool ip_parse(const char *text, struct ip_addr *out)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, text, &v4) == 1)
        *out = ip_from_v4(ntohl(v4.s_addr));
    else if (inet_pton(AF_INET6, text, &v6) == 1)
        memcpy(out->b, v6.s6_addr, sizeof(out->b));
    else
        return false;
    return true;
}
