// SPDX-License-Identifier: BSD-3-Clause
// kill.h: how ctl/conn/kill names one end of connections.
#pragma once
#include "base/addr.h"

struct kill_place {
    bool has_addr, has_port;
    struct ip_addr addr;
    unsigned bits;  // of the prefix; all of the family's: one address
    uint16_t port;
};

// kill_place_parse: ADDR, ADDR/BITS, ADDR:PORT, [ADDR6]:PORT, *:PORT and what lies between; cuts
// text up. 0, -EINVAL, or -ERANGE: a number is out of its range.
int kill_place_parse(char *text, struct kill_place *out);
