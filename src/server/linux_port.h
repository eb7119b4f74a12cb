// SPDX-License-Identifier: BSD-3-Clause
// linux_port.h: ports that are shared with Linux ([port] linux): the TAP interface of each, and the
// thread that moves frames between the rings of the workers (worker/linux_box.h) and the TAPs.
//
//   workers' rings --> thread --write--> TAP --> Linux
//   worker 0's ring <-- thread <--read-- TAP <-- Linux
//
// The thread runs on the Linux cores. The workers cannot wake it, because that would be a system
// call. For LINUX_BUSY_MS after a frame it looks every LINUX_BUSY_US, then every LINUX_IDLE_US. In
// each round it takes at most LINUX_ROUND frames of each ring and each TAP, so that no worker's
// ring waits for another's. If a frame of Linux finds no room in the ring, it stays in the queue of
// the interface. When that is full, the kernel drops frames and counts them
// (linux_port_counts.kernel_drops).
//
// Control thread, except where it says otherwise.
#pragma once
#include "worker/linux_box.h"

enum {
    LINUX_IDLE_US = 1000,
    LINUX_BUSY_US = 50,
    LINUX_BUSY_MS = 5,
    LINUX_ROUND = 64,
};

struct server;
struct server_params;

// linux_port_counts: of one port. Those of the workers are summed.
struct linux_port_counts {
    struct linux_box_counts workers;
    uint64_t written, written_bytes;  // frames that Linux took
    uint64_t refused;                 // frames that Linux did not take: no memory, or down
    uint64_t read, read_bytes;        // frames of Linux
    uint64_t kernel_drops;            // of Linux, dropped in the queue of the interface
    uint32_t to_units, from_units;    // units in the rings now; the sum of all workers'
};

// linux_ports_any: whether a port of p is shared. linux_port_footprint: bytes of one worker.
bool linux_ports_any(const struct server_params *p);
uint64_t linux_port_footprint(const struct server_params *p);

// linux_ports_open: makes the interfaces; the ports are open. linux_ports_join: makes the boxes of
// w, in mem; of every worker, before it runs. linux_ports_start: starts the thread.
// linux_ports_stop: stops it, if it runs. linux_ports_close: removes the interfaces; the workers
// have stopped.
int linux_ports_open(struct server *s, struct err *err);
void linux_ports_join(struct server *s, struct worker *w, uint8_t *mem);
int linux_ports_start(struct server *s, struct err *err);
void linux_ports_stop(struct server *s);
void linux_ports_close(struct server *s);

// linux_port_name, linux_port_ifindex: of port i; NULL and 0: it is not shared.
const char *linux_port_name(const struct server *s, unsigned i);
int linux_port_ifindex(const struct server *s, unsigned i);

// linux_port_link: the carrier of the interface is to be that of the port.
void linux_port_link(const struct server *s, unsigned i, bool up);

// linux_port_gone: whether somebody has removed the interface. Any thread.
bool linux_port_gone(const struct server *s, unsigned i);

void linux_port_read_counts(const struct server *s, unsigned i, struct linux_port_counts *out);

// linux_class_name: a word for kind c of the arrays by enum net_linux_class; NULL: there are no
// more.
const char *linux_class_name(unsigned c);
