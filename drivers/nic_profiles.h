// SPDX-License-Identifier: BSD-3-Clause
// nic_profiles.h: what DPDK's drivers (PMDs) do not report about themselves, or report wrongly. One
// row a driver. A NIC whose driver has no row works by the capabilities that it reports.
//
// The rows were compared with the PMDs of DPDK 22.11.11; docs/nic.md shows them with what a PMD
// reports itself.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct nic_profile {
    const char *dpdk_driver;  // rte_eth_dev_info.driver_name
    const char *plugin;       // librte_net_PLUGIN.so, in Debian's package librte-net-PLUGIN23
    // Modules of Linux that drive the same devices, separated by blanks; "": not a PCI device.
    const char *modules;
    const char *chips;
    uint16_t queues_max;  // that work; 0: as many as the PMD reports
    // What the PMD reports, for comparison: entries of the redirection table that it can have
    // (0: none), and bytes of the key.
    uint16_t table_entries[2];
    uint8_t key_bytes;
    uint16_t chain_max;   // buffers of a packet that it splits, at most
    uint32_t caps;        // enum port_cap: besides those that follow from the offloads
    uint64_t rss_types;   // RTE_ETH_RSS_*: requested as well, if the PMD has them
    uint64_t rx_needs;    // RTE_ETH_RX_OFFLOAD_*: requested together with RSS
    bool drop_en;         // drops for a full queue only with rx_drop_en; else that queue stops all
    bool drops_in_queue;  // counts such drops as q_errors, not as imissed
    bool drops_unseen;    // counts such drops nowhere
    bool maps_counters;   // has counters of a queue only after they were mapped
};

// nic_profile_of: the row of a PMD, never NULL. A PMD without a row gets a neutral one, whose
// dpdk_driver is "".
const struct nic_profile *nic_profile_of(const char *dpdk_driver);

// nic_profile_drops: whether to ask a device of this row and so many queues for rx_drop_en.
bool nic_profile_drops(const struct nic_profile *nic, unsigned queues);

// nic_profile_of_module: the row for the devices that this module of Linux drives; NULL: none.
const struct nic_profile *nic_profile_of_module(const char *module);

// nic_profile_at: row i; NULL: there are no more.
const struct nic_profile *nic_profile_at(unsigned i);
