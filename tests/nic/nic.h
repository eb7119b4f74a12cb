// SPDX-License-Identifier: BSD-3-Clause
// A NIC in software, for DPDK's unmodified drivers: README.md.
//
// preload.c lets the driver map the registers; machine.c runs the device's thread, its wire (a TAP)
// and its faults; a chip (ixgbe.c, i40e.c) knows the registers and the descriptors; frame.c knows
// packets.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { NIC_FRAME_MAX = 9728 + 18, NIC_QUEUES_MAX = 16, NIC_PACKET_MAX = 256 * 1024 };

enum nic_taken {
    NIC_TAKEN,    // in memory, or dropped and counted by the chip
    NIC_BLOCKED,  // waits in the packet buffer, and all frames behind it as well
};

struct nic_chip {
    const char *name;  // NIC_CHIP
    uint32_t bar_bytes;
    uint32_t buffer_bytes;  // of the receive packet buffer
    void (*reset)(void);
    uint32_t (*read)(uint32_t reg);
    void (*write)(uint32_t reg, uint32_t value);
    // accepts: passes the frame the address filters?
    bool (*accepts)(const uint8_t *frame, uint32_t len);
    enum nic_taken (*receive)(const uint8_t *frame, uint32_t len);
    // missed: the packet buffer had no room for a frame.
    void (*missed)(void);
    // transmit: all descriptors that the driver has handed over.
    void (*transmit)(void);
    // spoil: changes the key or the table of RSS behind the driver's back.
    void (*spoil)(bool key);
    void (*state)(FILE *out);
};

extern const struct nic_chip nic_ixgbe, nic_i40e;

// All of these are for chips, and are called with the lock of the machine held.

// nic_dma: the memory at an I/O address; NULL, and counted, if the process has none there.
void *nic_dma(uint64_t iova, size_t bytes);
void nic_send(const uint8_t *frame, uint32_t len);
// nic_kick: the thread has something to do.
void nic_kick(void);
void nic_kick_if_waiting(void);  // frames wait for descriptors
bool nic_link_up(void);
// What has been ordered (machine.c).
unsigned nic_fault_queue(unsigned right, unsigned queues);
bool nic_fault_stuck_rx(unsigned queue);
bool nic_fault_stuck_tx(unsigned queue);
bool nic_fault_bad_ip(void);
bool nic_fault_bad_l4(void);
// nic_wrong: the driver did what the data sheet forbids; counted, and printed for a test's log.
__attribute__((format(printf, 1, 2))) void nic_wrong(const char *format, ...);

// For preload.c.
int nic_machine_start(void);
uint32_t nic_read(uint32_t reg);
void nic_write(uint32_t reg, uint32_t value);
const struct nic_chip *nic_chip_named(const char *name);
