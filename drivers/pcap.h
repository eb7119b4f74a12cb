// SPDX-License-Identifier: BSD-3-Clause
// pcap.h: a port that replays one capture file and writes another (DPDK's net_pcap). The worker
// receives every frame of the first file once, as fast as it polls. Frames that the stack sends go
// to the second file. Bursts are reads and writes of files.
#pragma once
#include "pkt/port.h"

// pcap_open: replays params->device and writes params->capture, which is replaced if it exists.
// Either may be empty, but not both. One queue. Control thread. Returns NULL with the reason in
// *err if it fails.
struct port *pcap_open(const struct port_params *params, struct err *err);

// pcap_check: makes the checks of pcap_open() without opening anything. Returns 0, or -1 with the
// reason in *err.
int pcap_check(const struct port_params *params, struct err *err);
