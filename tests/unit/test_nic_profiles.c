// SPDX-License-Identifier: BSD-3-Clause
// The profiles of NICs against the PMDs that are installed.
#include <rte_build_config.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/ethdev.h"
#include "drivers/nic_device.h"
#include "drivers/vdev.h"
#include "unit/pkt_env.h"
#include "unit/temp_tree.h"

// contains: whether the plugin of that name has these bytes, a string with its end; -1: there is no
// such plugin.
static int contains(const char *plugin, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/librte_net_%s.so", RTE_EAL_PMD_PATH, plugin);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return -1;
    fseek(f, 0, SEEK_END);
    const long bytes = ftell(f);
    char *all = malloc((size_t)bytes);
    assert_non_null(all);
    rewind(f);
    assert_int_equal(fread(all, 1, (size_t)bytes, f), bytes);
    fclose(f);
    const bool found = memmem(all, (size_t)bytes, text, strlen(text) + 1) != NULL;
    free(all);
    return found;
}

static void a_row_names_a_driver_of_its_plugin(void **state)
{
    const struct nic_profile *nic;
    unsigned seen = 0;
    for (unsigned i = 0; (nic = nic_profile_at(i)) != NULL; i++) {
        const int found = contains(nic->plugin, nic->dpdk_driver);
        if (found == 0)
            fail_msg("%s: no driver %s", nic->plugin, nic->dpdk_driver);
        seen += found == 1;
        assert_ptr_equal(nic_profile_of(nic->dpdk_driver), nic);
    }
    if (seen == 0)
        skip();  // no plugin is installed
}

static void a_row_has_what_every_driver_has(void **state)
{
    const struct nic_profile *nic;
    for (unsigned i = 0; (nic = nic_profile_at(i)) != NULL; i++) {
        assert_in_range(nic->chain_max, 2, UINT8_MAX);
        assert_true(nic->chips[0] != '\0');
        assert_true(nic->key_bytes == 0 || nic->key_bytes == 40 || nic->key_bytes == 52);
        for (unsigned k = 0; k < ARRAY_LEN(nic->table_entries); k++)
            assert_true(nic->table_entries[k] <= 512 &&
                        (nic->table_entries[k] & (nic->table_entries[k] - 1)) == 0);
        // A drop that is asked for is counted somewhere, or ports/NAME/driver says that it is not.
        assert_true(!nic->maps_counters || nic->drops_in_queue);
        assert_int_equal(nic->drop_en, nic->drops_in_queue + nic->drops_unseen);
    }
}

static void a_module_of_linux_leads_to_its_row(void **state)
{
    assert_string_equal(nic_profile_of_module("ixgbe")->plugin, "ixgbe");
    assert_string_equal(nic_profile_of_module("e1000")->dpdk_driver, "net_e1000_em");
    assert_string_equal(nic_profile_of_module("e1000e")->dpdk_driver, "net_e1000_em");
    assert_string_equal(nic_profile_of_module("igb")->dpdk_driver, "net_e1000_igb");
    assert_null(nic_profile_of_module("e100"));
    assert_null(nic_profile_of_module("r8169"));
    assert_null(nic_profile_of_module(""));
}

// As Linux writes them; a NIC, a later line for all network devices, and a device of no profile.
static void a_device_leads_to_its_row_by_the_kernels_table(void **state)
{
    static const struct temp_entry files[] = {
        {"aliases",
         "# Aliases extracted from modules themselves.\n"
         "alias pci:v00008086d000010FBsv*sd*bc*sc*i* ixgbe\n"
         "alias pci:v000010ECd00008168sv*sd*bc*sc*i* r8169\n"
         "alias pci:v00008086d00001533sv*sd*bc*sc*i* igb\n"
         "alias pci:v*d*sv*sd*bc02sc00i* other\n",
         NULL},
        {"82599", "pci:v00008086d000010FBsv00008086sd00000003bc02sc00i00\n", NULL},
        {"i210", "pci:v00008086d00001533sv00008086sd00000003bc02sc00i00\n", NULL},
        {"r8169", "pci:v000010ECd00008168sv00000000sd00000000bc02sc00i00\n", NULL},
    };
    char root[TEMP_PATH_BYTES], device[2 * TEMP_PATH_BYTES], aliases[2 * TEMP_PATH_BYTES];
    static const struct {
        const char *device, *plugin;
    } wanted[] = {{"82599", "ixgbe"}, {"i210", "e1000"}, {"r8169", NULL}, {"none", NULL}};
    temp_tree_make(root, files, ARRAY_LEN(files));
    snprintf(aliases, sizeof(aliases), "%s/aliases", root);
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        snprintf(device, sizeof(device), "%s/%s", root, wanted[i].device);
        const struct nic_profile *nic = nic_of_device(device, aliases);
        if (wanted[i].plugin == NULL)
            assert_null(nic);
        else
            assert_string_equal(nic->plugin, wanted[i].plugin);
        assert_null(nic_of_device(device, "/nothing/there"));
    }
    temp_tree_remove(root);
    assert_null(nic_of_address("ffff:ff:1f.7"));
}

// The package is named for the plugin that is not there.
static void a_missing_plugin_is_refused_with_its_package(void **state)
{
    struct err e = {.text = ""};
    const struct port_params p = {.name = "p0", .driver = "pci", .device = "0000:01:00.0"};
    assert_int_equal(vdev_plugin_check(&p, "nothere", &e), -1);
    assert_non_null(strstr(e.text, "nothere.so is missing: apt install librte-net-nothere23"));
    assert_int_equal(vdev_plugin_check(&p, "other3", &e), -1);
    assert_non_null(strstr(e.text, "apt install librte-net-other3-23"));
}

static void an_unknown_driver_works_by_capability(void **state)
{
    const struct nic_profile *nic = nic_profile_of("net_new");
    assert_string_equal(nic->dpdk_driver, "");
    assert_int_equal(nic->queues_max, 0);
    assert_false(nic->drop_en);
    assert_int_equal(ethdev_chain_max("net_new", 9), 9);
    assert_int_equal(ethdev_chain_max("net_new", 0), PKT_CHAIN_MAX);
    assert_int_equal(ethdev_caps("net_new", 0, 0), 0);
}

static void one_queue_of_em_works(void **state)
{
    assert_int_equal(nic_profile_of("net_e1000_em")->queues_max, 1);
}

// One stalled worker must not hold up the others.
static void a_full_queue_of_several_drops(void **state)
{
    static const char *const drivers[] = {"net_ixgbe", "net_e1000_igb", "net_igc"};
    for (unsigned i = 0; i < ARRAY_LEN(drivers); i++) {
        assert_true(nic_profile_drops(nic_profile_of(drivers[i]), 2));
        assert_false(nic_profile_drops(nic_profile_of(drivers[i]), 1));
    }
    assert_false(nic_profile_drops(nic_profile_of("net_i40e"), 2));  // does so always
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_names_a_driver_of_its_plugin),
        cmocka_unit_test(a_row_has_what_every_driver_has),
        cmocka_unit_test(a_module_of_linux_leads_to_its_row),
        cmocka_unit_test(a_device_leads_to_its_row_by_the_kernels_table),
        cmocka_unit_test(a_missing_plugin_is_refused_with_its_package),
        cmocka_unit_test(an_unknown_driver_works_by_capability),
        cmocka_unit_test(one_queue_of_em_works),
        cmocka_unit_test(a_full_queue_of_several_drops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
