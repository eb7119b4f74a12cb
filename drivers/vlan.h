// SPDX-License-Identifier: BSD-3-Clause
// vlan.h: ports of VLANs (IEEE 802.1Q) on the link of another port, their parent. The tag is
// removed before the stack sees a frame, and added when a frame is sent. So each VLAN is a port
// like any other, with its own addresses, neighbors and routes.
//
//   parent, queue q --> trunk: no tag, priority tag (VID 0) ------> trunk port, without the tag
//                              VID of a port -------------------> that port, without the tag
//                              other VID, two tags, cut tag ----> trunk port, as it is: src/net
//                                                                 drops and counts it
//   parent, queue q <-- tag in the headroom, priority 0 <---------- port of a VLAN
//                   <---------------------------------------------- trunk port, as it is
//
// A worker polls its ports in turn. The port that it polls receives a burst from the parent, keeps
// its own frames, and leaves the others for the ports that are polled next. Nothing more is
// received until they have taken these. So at most one burst of each queue waits, and the frames of
// a VLAN arrive in order.
#pragma once
#include "pkt/port.h"

enum { VLAN_ID_MIN = 1, VLAN_ID_MAX = 4094 };  // 0: a priority alone; 4095: reserved

// vlan_trunk_open: the port that workers use in place of `parent`, when it has ports of VLANs. The
// parent stays open, and is to be used for all but bursts. NULL: no memory. vlan_trunk_close: frees
// it; NULL: does nothing. Control thread, while no worker runs.
struct port *vlan_trunk_open(struct port *parent);
void vlan_trunk_close(struct port *trunk);

// vlan_open: adds the port of VLAN params->vlan to params->parent, which vlan_trunk_open()
// returned. MAC, queues and capabilities are those of the parent, but PORT_RSS only if the parent
// spreads tagged packets (PORT_RSS_TAGGED). The MTU is params->mtu, at most that of the parent
// (whose device may have less than was configured). Control thread, before the workers run. NULL:
// *err.
struct port *vlan_open(const struct port_params *params, struct err *err);

// vlan_check: checks params->vlan. 0, or -1 with the reason in *err.
int vlan_check(const struct port_params *params, struct err *err);
