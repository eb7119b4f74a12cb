// SPDX-License-Identifier: BSD-3-Clause
// Whether a PCI device is still there, by a made-up sysfs.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "drivers/pci_slot.h"
#include "unit/check.h"
#include "unit/temp_tree.h"

static char root[TEMP_PATH_BYTES];

static const char *at(const char *file)
{
    static char path[TEMP_PATH_BYTES + 64];
    snprintf(path, sizeof(path), "%s/0000:01:00.0/%s", root, file);
    return path;
}

static void write_vendor(const char bytes[2])
{
    temp_tree_file(root, "0000:01:00.0/config", bytes, 2);
}

static void bind_to(const char *driver)
{
    assert_int_equal(symlink(driver, at("driver")), 0);
}

static int make(void **state)
{
    static const struct temp_entry entries[] = {
        {.path = "0000:01:00.0/"},
        {.path = "0000:01:00.0/driver", .link = "vfio-pci"},
        {.path = "0000:01:00.1/"},
    };
    temp_tree_make(root, entries, 3);
    write_vendor("\x86\x80");
    return setenv("SYSFS_PCI_DEVICES", root, 1);
}

static int unmake(void **state)
{
    temp_tree_remove(root);
    return 0;
}

static struct pci_slot slot_of(const char *address)
{
    struct pci_slot s;
    pci_slot_take(&s, address);
    return s;
}

static void a_device_is_there_as_long_as_its_driver_has_it(void **state)
{
    const struct pci_slot s = slot_of("01:00.0");  // the short form
    assert_false(pci_slot_is_left(&s));
    assert_true(pci_slot_answers(&s));
    assert_int_equal(unlink(at("driver")), 0);
    assert_true(pci_slot_is_left(&s));
    assert_true(pci_slot_answers(&s));
}

static void a_device_that_was_bound_again_is_another_one(void **state)
{
    const struct pci_slot s = slot_of("0000:01:00.0");
    char before[TEMP_PATH_BYTES + 64];
    snprintf(before, sizeof(before), "%s/before", root);
    // The first link stays somewhere, so that the next one cannot have its inode number.
    assert_int_equal(rename(at("driver"), before), 0);
    bind_to("vfio-pci");
    assert_true(pci_slot_is_left(&s));
    const struct pci_slot again = slot_of("0000:01:00.0");
    assert_false(pci_slot_is_left(&again));
}

static void a_device_that_has_no_driver_is_left(void **state)
{
    assert_int_equal(unlink(at("driver")), 0);
    const struct pci_slot s = slot_of("0000:01:00.0");
    assert_true(pci_slot_is_left(&s));
}

static void a_device_that_was_pulled_out_reads_as_ones(void **state)
{
    const struct pci_slot s = slot_of("0000:01:00.0");
    write_vendor("\xff\xff");
    assert_false(pci_slot_answers(&s));
    assert_false(pci_slot_is_left(&s));
    assert_int_equal(unlink(at("config")), 0);
    assert_false(pci_slot_answers(&s));
}

static void a_virtual_function_answers_as_long_as_its_physical_function_does(void **state)
{
    const struct pci_slot s = slot_of("0000:01:00.0");
    write_vendor("\xff\xff");
    temp_tree_file(root, "0000:01:00.1/config", "\x86\x80", 2);
    assert_int_equal(symlink("../0000:01:00.1", at("physfn")), 0);
    assert_true(pci_slot_answers(&s));
    temp_tree_file(root, "0000:01:00.1/config", "\xff\xff", 2);
    assert_false(pci_slot_answers(&s));
}

static void a_port_without_a_pci_device_has_what_it_needs(void **state)
{
    const struct pci_slot s = {.address = ""};
    assert_false(pci_slot_is_left(&s));
    assert_true(pci_slot_answers(&s));
}

int main(void)
{
#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
    const struct CMUnitTest tests[] = {
        WITH_TREE(a_device_is_there_as_long_as_its_driver_has_it),
        WITH_TREE(a_device_that_was_bound_again_is_another_one),
        WITH_TREE(a_device_that_has_no_driver_is_left),
        WITH_TREE(a_device_that_was_pulled_out_reads_as_ones),
        WITH_TREE(a_virtual_function_answers_as_long_as_its_physical_function_does),
        WITH_TREE(a_port_without_a_pci_device_has_what_it_needs),
    };
    return cmocka_run_group_tests_name("pci_slot", tests, NULL, NULL);
}
