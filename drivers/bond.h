// SPDX-License-Identifier: BSD-3-Clause
// bond.h: a port over several ports, its members, which have one MAC address. It uses only those
// operations of their drivers that every port has.
//
//   active-backup: one member receives and sends; another one takes over when its link is lost
//   LACP:          all members to which the partner agreed are used; one of them sends each flow
//
//   worker, queue q                                      control thread, every 100 ms
//   rx_burst: from each member's queue q in turn         bond look: links of the members, LACP,
//     idle member: dropped and counted                     which members are used
//     frame of the slow protocols --> [ ring ] ------------> lacp.h
//   rx_burst of queue 0: sends <----- [ ring ] <------------ LACPDUs
//   tx_burst: to the members in `use` <------------------- use
//
// docs/bond.md says why this is not DPDK's bonding driver.
#pragma once
#include "pkt/port.h"

// What chooses the member of a sent frame: MAC addresses and type; also IP addresses; these and
// the ports of TCP and UDP, except in fragments.
enum bond_hash { BOND_HASH_L2, BOND_HASH_L23, BOND_HASH_L34 };

// bond_open: opens params->members, which are closed with the bond, and puts a port over them. Its
// MAC address is params->mac, or that of the first member. MTU, capabilities and RSS are what all
// members have; queues must be as many of each. Control thread. NULL with the reason in *err.
struct port *bond_open(const struct port_params *params, struct err *err);

// bond_check: checks the parameters, not those of the members. 0, or -1 with the reason in *err.
int bond_check(const struct port_params *params, struct err *err);

// bond_hash_of: the hash of the first len bytes of a frame.
uint32_t bond_hash_of(const uint8_t *frame, uint32_t len, enum bond_hash by);
