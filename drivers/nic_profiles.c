// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/nic_profiles.h"

#include <rte_ethdev.h>
#include <string.h>

#include "pkt/port.h"

// The files named here are below drivers/net of DPDK 22.11.11. PORT_RSS_TAGGED: the data sheets say
// that the parser skips a tag of a VLAN before it hashes. Of other NICs it is not assumed: software
// finds the worker of a tagged packet then.
static const struct nic_profile rows[] = {
    // ixgbe/ixgbe_ethdev.c: ixgbe_dev_info_get() (rx_drop_en 0, 40 bytes), ixgbe_reta_size_get()
    // (128; 512 on the X550), ixgbe_dev_stats_get() (QPRDC as q_errors); ixgbe_rxtx.h
    // IXGBE_TX_MAX_SEG. Table entries have 4 bits (82599 data sheet, Redirection Table): 16 queues.
    {
        .dpdk_driver = "net_ixgbe",
        .plugin = "ixgbe",
        .modules = "ixgbe",
        .chips = "82599, X520, X540, X550",
        .table_entries = {128, 512},
        .key_bytes = 40,
        .chain_max = 40,
        .caps = PORT_RSS_TAGGED,
        .drop_en = true,
        .drops_in_queue = true,
    },
    // i40e/i40e_ethdev.c: i40e_dev_info_get() (52 bytes; the table of the function capabilities);
    // fragments have packet types of their own and no RTE_ETH_RSS_IPV4 (i40e_ethdev.h,
    // I40E_RSS_OFFLOAD_ALL). A full queue drops, counted in GLV_RDPC: rx_discards, imissed.
    // i40e_rxtx.h I40E_TX_MAX_SEG. X710 data sheet, Transmit Segmentation Offload: each segment
    // comes from at most 8 buffers, its headers included.
    {
        .dpdk_driver = "net_i40e",
        .plugin = "i40e",
        .modules = "i40e",
        .chips = "X710, XXV710, XL710, X722",
        .table_entries = {512, 128},
        .key_bytes = 52,
        .chain_max = PKT_CHAIN_MAX,
        .caps = PORT_RSS_TAGGED,
        .rss_types = RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_FRAG_IPV6,
    },
    // ice/ice_ethdev.c: ice_dev_info_get() (52 bytes, no RSS and no checksums in safe mode),
    // ice_pf_sw_init() (at most 512 entries), ice_load_pkg() (without the DDP package the PMD does
    // not start). ice_stats_get(): rx_discards, imissed.
    {
        .dpdk_driver = "net_ice",
        .plugin = "ice",
        .modules = "ice",
        .chips = "E810, E822, E823",
        .table_entries = {512, 128},
        .key_bytes = 52,
        .chain_max = PKT_CHAIN_MAX,
        .caps = PORT_RSS_TAGGED,
    },
    // e1000/igb_ethdev.c: eth_igb_infos_get() (128 entries, 40 bytes; 2 to 16 queues). The types
    // with _EX are those of igb_rxtx.c, igb_hw_rss_hash_set(): a packet without extension headers
    // hashes alike with both (82576 data sheet, RSS Hash Function), and QEMU's model
    // hashes TCP over IPv6 only with this one. igb_rxtx.c, eth_igb_rx_init(): SRRCTL.Drop_En by
    // rx_drop_en; igb_read_stats_registers() does not read RQDPC, which counts these drops.
    {
        .dpdk_driver = "net_e1000_igb",
        .plugin = "e1000",
        .modules = "igb",
        .chips = "82575, 82576, 82580, I350, I354, I210, I211",
        .table_entries = {128},
        .key_bytes = 40,
        .chain_max = PKT_CHAIN_MAX,
        .caps = PORT_RSS_TAGGED,
        .rss_types = RTE_ETH_RSS_IPV6_TCP_EX | RTE_ETH_RSS_IPV6_UDP_EX,
        .drop_en = true,
        .drops_unseen = true,
    },
    // igc/igc_ethdev.c: eth_igc_infos_get() (128 entries, 40 bytes, 4 queues),
    // eth_igc_rss_hash_conf_get() (refuses another key length than 40), eth_igc_stats_get() (RQDPC
    // as q_errors of queues that have a counter). igc_txrx.c: SRRCTL.Drop_En by rx_drop_en.
    {
        .dpdk_driver = "net_igc",
        .plugin = "igc",
        .modules = "igc",
        .chips = "I225, I226",
        .table_entries = {128},
        .key_bytes = 40,
        .chain_max = PKT_CHAIN_MAX,
        .caps = PORT_RSS_TAGGED,
        .drop_en = true,
        .drops_in_queue = true,
        .maps_counters = true,
    },
    // e1000/em_ethdev.c: eth_em_infos_get() reports two queues, and says in its comment that one
    // works: the second receives nothing, and both transmit queues share one context for
    // checksums. em_rxtx.c: no RSS, no TSO, no rx_drop_en. em_ethdev.c: MPC as imissed.
    {
        .dpdk_driver = "net_e1000_em",
        .plugin = "e1000",
        .modules = "e1000e e1000",
        .chips = "82540 to 82583, I217, I218, I219",
        .queues_max = 1,
        .chain_max = PKT_CHAIN_MAX,
    },
    // mlx5/mlx5_ethdev.c: mlx5_dev_infos_get() (40 bytes); linux/mlx5_os.c (table: what the device
    // has, at most 512). mlx5_rx.c: drops always. The device stays bound to mlx5_core.
    {
        .dpdk_driver = "mlx5_pci",
        .plugin = "mlx5",
        .modules = "mlx5_core",
        .chips = "ConnectX-4 to ConnectX-7, BlueField",
        .table_entries = {512, 128},
        .key_bytes = 40,
        .chain_max = PKT_CHAIN_MAX,
        .caps = PORT_RSS_TAGGED,
    },
    // virtio/virtqueue.h: VIRTIO_NET_RSS_RETA_SIZE, VIRTIO_NET_RSS_KEY_SIZE; virtio_ethdev.c:
    // virtio_dev_info_get() (RSS only if the host offers VIRTIO_NET_F_RSS). L4_CKSUM_NONE is
    // VIRTIO_NET_HDR_F_NEEDS_CSUM (virtio_rxtx.c, virtio_rx_offload()): a checksum that the host
    // did not fill in. Others use it for datagrams without a checksum (net_tap) or for what was not
    // looked at. A host that offers VIRTIO_NET_F_CTRL_VLAN, as QEMU does, drops tags that it was
    // not
    // told (virtio_ethdev.c, virtio_vlan_filter_set()).
    {
        .dpdk_driver = "net_virtio",
        .plugin = "virtio",
        .modules = "virtio_pci",
        .chips = "virtio-net",
        .table_entries = {128},
        .key_bytes = 40,
        .chain_max = PKT_CHAIN_MAX,
        .caps = PORT_RX_L4_LEFT,
        .filters_vlans = true,
    },
    {
        .dpdk_driver = "net_virtio_user",
        .plugin = "virtio",
        .modules = "",
        .chips = "virtio-net, of a process",
        .table_entries = {128},
        .key_bytes = 40,
        .chain_max = PKT_CHAIN_MAX,
        .caps = PORT_RX_L4_LEFT,
        .filters_vlans = true,
    },
    // The host drops a large segment of more buffers (VMXNET3_MAX_TSO_TXD_PER_PKT of Linux's
    // driver). vmxnet3/vmxnet3_rxtx.c: vmxnet3_rss_configure() (40 bytes, a table of four times the
    // queues, which is no power of
    // two of 64 or more). vmxnet3_ethdev.c: no function that reads or writes the key of a started
    // device. Software therefore always hands packets to their workers.
    {
        .dpdk_driver = "net_vmxnet3",
        .plugin = "vmxnet3",
        .modules = "vmxnet3",
        .chips = "vmxnet3",
        .key_bytes = 40,
        .chain_max = 24,
    },
    // ena/ena_ethdev.c: ena_infos_get() (128 entries, 40 bytes; chains: ENA_PKT_MAX_BUFS or what
    // the device says); ena_rss.c: the table can only be read and written with
    // RTE_ETH_RX_OFFLOAD_RSS_HASH. ENA_ALL_RSS_HF: TCP and UDP, no addresses alone.
    {
        .dpdk_driver = "net_ena",
        .plugin = "ena",
        .modules = "ena",
        .chips = "Elastic Network Adapter",
        .table_entries = {128},
        .key_bytes = 40,
        .chain_max = 17,
        .rx_needs = RTE_ETH_RX_OFFLOAD_RSS_HASH,
    },
    // gve/gve_ethdev.c: gve_dev_info_get() (no receive checksums, rings of one size), and no
    // function for key or table.
    {
        .dpdk_driver = "net_gve",
        .plugin = "gve",
        .modules = "gve",
        .chips = "Google Virtual Ethernet",
        .chain_max = PKT_CHAIN_MAX,
    },
};

static const struct nic_profile unknown = {.dpdk_driver = "",
                                           .plugin = "",
                                           .modules = "",
                                           .chips = "",
                                           .chain_max = PKT_CHAIN_MAX,
                                           .filters_vlans = true};  // as virtual functions do

const struct nic_profile *nic_profile_of(const char *dpdk_driver)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].dpdk_driver, dpdk_driver) == 0)
            return &rows[i];
    return &unknown;
}

// Without it a queue without free descriptors holds up the packets of all queues. A device with one
// queue keeps them in its own buffer for a moment longer.
bool nic_profile_drops(const struct nic_profile *nic, unsigned queues)
{
    return nic->drop_en && queues > 1;
}

static bool has_word(const char *words, const char *word)
{
    const size_t len = strlen(word);
    for (const char *at = words; len != 0 && (at = strstr(at, word)) != NULL; at += len)
        if ((at == words || at[-1] == ' ') && (at[len] == '\0' || at[len] == ' '))
            return true;
    return false;
}

const struct nic_profile *nic_profile_of_module(const char *module)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (has_word(rows[i].modules, module))
            return &rows[i];
    return NULL;
}

const struct nic_profile *nic_profile_at(unsigned i)
{
    return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}
