// tap.h: a port on a kernel TAP interface that it creates (DPDK's net_tap): the first run on any
// Linux machine. The kernel is the host at the other end of the wire: it gets params->host_v4,
// host6 and its own MAC address, which differs from the port's; it sends whole checksums and no
// frame above the MTU.
//
// net_tap learns of arriving frames by a real-time signal. Its handler runs in a thread that this
// driver keeps for it; the control thread gets those signals blocked when the port is opened, EAL's
// threads have every signal blocked (eal.h). Bursts are system calls.
#pragma once
#include "pkt/port.h"

// tap_open: creates interface params->device (which must not exist), gives the kernel's side the
// host address, brings it up. Control thread; needs CAP_NET_ADMIN. NULL: err says why, and nothing
// is left behind. Closing removes the interface.
struct port *tap_open(const struct port_params *params, struct err *err);
