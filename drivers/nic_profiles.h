// SPDX-License-Identifier: BSD-3-Clause
// nic_profiles.h: properties that DPDK's drivers (PMDs) do not report, or report wrongly. There is
// one row for each driver. A NIC whose driver has no row is used with the capabilities that the
// driver reports.
//
// The rows were compared with the source of the PMDs of DPDK 22.11.11. docs/nic.md shows them
// beside the values that each PMD reports.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct nic_profile {
    const char *dpdk_driver;  // rte_eth_dev_info.driver_name
    const char *plugin;       // librte_net_PLUGIN.so, in Debian's package librte-net-PLUGIN23
    // Modules of Linux that drive the same devices, separated by blanks; "": not a PCI device.
    const char *modules;
    const char *chips;
    uint16_t queues_max;  // most queues that work; 0: as many as the PMD reports
    // What the PMD reports, for comparison: the possible sizes of the redirection table (0: no
    // second size), and the bytes of the key.
    uint16_t table_entries[2];
    uint8_t key_bytes;
    uint16_t chain_max;   // most buffers of a packet that the NIC splits (TSO)
    uint32_t caps;        // enum port_cap: in addition to those of the offloads
    uint64_t rss_types;   // RTE_ETH_RSS_*: also requested, if the PMD has them
    uint64_t rx_needs;    // RTE_ETH_RX_OFFLOAD_*: requested together with RSS
    bool drop_en;         // without rx_drop_en a full queue stops all queues
    bool drops_in_queue;  // counts drops of a full queue as q_errors, not as imissed
    bool drops_unseen;    // does not count drops of a full queue
    bool filters_vlans;   // drops the tags of VLANs that it was not told
    bool maps_counters;   // the counters of a queue must be mapped before use
};

// nic_profile_of: the row of a PMD; for a PMD without a row, a neutral row whose dpdk_driver is "".
// Never NULL.
const struct nic_profile *nic_profile_of(const char *dpdk_driver);

// nic_profile_drops: whether a device of this row with so many queues needs rx_drop_en.
bool nic_profile_drops(const struct nic_profile *nic, unsigned queues);

// nic_profile_of_module: the row for the devices of this Linux module; NULL: none.
const struct nic_profile *nic_profile_of_module(const char *module);

// nic_profile_at: row i; NULL: there are no more.
const struct nic_profile *nic_profile_at(unsigned i);
