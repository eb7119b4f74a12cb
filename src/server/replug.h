// SPDX-License-Identifier: BSD-3-Clause
// replug.h: a port whose device goes away (port_replug) is opened again when the device is back.
// Until then it is tried again and again, after REPLUG_WAIT_MS first and then after twice the time
// each, up to REPLUG_WAIT_MAX_MS. The workers wait during an attempt. The next attempt is therefore
// not before REPLUG_REST times the duration of the last one. Control thread.
#pragma once
#include "base/err.h"
#include "pkt/port.h"

enum { REPLUG_WAIT_MS = 100, REPLUG_WAIT_MAX_MS = 1000, REPLUG_REST = 20 };

struct server;

// replug: of one port. `port` is the one that the configuration names, or the one inside it.
struct replug {
    struct port *port;
    struct port_params params;
    bool away, closed;
    uint32_t wait_ms;
    uint64_t gone_ns, next_ns;
    uint64_t reopened;                           // how often it was opened again
    char said[sizeof(((struct err *)0)->text)];  // why it could not be, last
};

// replug_init: of port i of s.
void replug_init(struct replug *r, const struct server *s, unsigned i);

// replug_is_forever: whether that link is one of a device that is gone, and the port gets no
// other.
bool replug_is_forever(const struct replug *r, const struct port_link *link);

// replug_see: notes a device that is gone, also if it is there again when replug_look() is called.
void replug_see(struct replug *r, const struct port_link *link, uint64_t now_ns);

// replug_look: what the link of the port, as of now, asks for. Returns whether the port has a
// device again since this call.
bool replug_look(struct replug *r, const struct port_link *link, uint64_t now_ns);
