// SPDX-License-Identifier: BSD-3-Clause
// kill.h: the syntax of one end of connections in ctl/conn/kill.
#pragma once
#include "base/addr.h"

struct kill_place {
    bool has_addr, has_port;
    struct ip_addr addr;
    unsigned bits;  // prefix length; the maximum of the family: one address
    uint16_t port;
};

// kill_place_parse: parses ADDR, ADDR/BITS, ADDR:PORT, [ADDR6]:PORT, *:PORT and their combinations;
// modifies text. Returns 0, -EINVAL, or -ERANGE: a number is out of range.
int kill_place_parse(char *text, struct kill_place *out);
