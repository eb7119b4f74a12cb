// SPDX-License-Identifier: BSD-3-Clause
// `c10m doctor` on a machine made of files: what each row says, what a fix changes, and that undo
// restores all of it, wherever it was interrupted.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/doctor_disk.h"
#include "doctor/doctor_main.h"
#include "doctor/doctor_process.h"
#include "doctor/doctor_report.h"
#include "server/server_conf.h"
#include "unit/check.h"
#include "unit/doctor_machine.h"

static struct conf conf;
static struct server_params params;
static struct doctor doctor;

// conf_text: twelve CPUs, of which ten have workers, unless a test says otherwise.
#define PORT_ON(device) "[port lan]\ndriver = pci\ndevice = " device "\naddress = 192.0.2.10/24\n"
#define WORKERS         "[cpu]\nlinux = 0-1\nworkers = 2-5\n"
#define MEMORY          "[memory]\nhugepage = 2M\nconnections = 100000\n"

static void load(const char *text)
{
    static struct conf_host host;
    static const struct c10m_app *const none[] = {NULL};
    struct conf_errors errors;
    struct err err = {.text = ""};
    conf_host_read(&host);
    host.cpus = (struct conf_cpus){.n = 12};
    for (uint16_t cpu = 0; cpu < 12; cpu++)
        host.cpus.id[cpu] = cpu;
    conf_errors_init(&errors);
    if (conf_load_text(&conf, &host, "test", text, strlen(text), NULL, 0, &errors) != 0)
        fail_msg("%s", text_str(&errors.lines));
    conf_errors_free(&errors);
    if (server_params_from(&params, &conf, none, &err) != 0)
        fail_msg("%s", err.text);
    doctor.force = false;
    machine_host(&doctor.host);
    doctor_needs_of(&doctor.needs, &params, &conf, &doctor.host);
}

static int make_machine(void **state)
{
    (void)state;
    unsetenv("SSH_CONNECTION");
    machine_make();
    load(WORKERS MEMORY PORT_ON(NIC_A));
    return 0;
}

static int remove_machine(void **state)
{
    (void)state;
    machine_remove();
    return 0;
}

// ---- rows

static enum doctor_state look(const char *name, char value[4096], char by_hand[4096])
{
    const struct doctor_row *row = doctor_row_find(name);
    struct doctor_finding f;
    assert_non_null(row);
    doctor_look(&doctor, row, &f);
    snprintf(value, 4096, "%s", text_str(&f.value));
    snprintf(by_hand, 4096, "%s", text_str(&f.by_hand));
    doctor_finding_free(&f);
    return f.state;
}

// says: the row has the state, and value or advice contains the text.
static void says(const char *name, enum doctor_state want, const char *text)
{
    char value[4096], by_hand[4096];
    const enum doctor_state got = look(name, value, by_hand);
    if (got != want || (strstr(value, text) == NULL && strstr(by_hand, text) == NULL))
        fail_msg("%s: %s: %s\n%s\nwanted %s: %s", name, doctor_state_name(got), value, by_hand,
                 doctor_state_name(want), text);
}

static unsigned count_changes(const char *name)
{
    const struct doctor_row *row = doctor_row_find(name);
    struct doctor_changes c;
    doctor_changes_init(&c);
    row->plan(&doctor, &c);
    const unsigned n = c.n;
    doctor_changes_free(&c);
    return n;
}

static void a_machine_as_it_comes_has_something_in_every_row(void **state)
{
    (void)state;
    says("hugepages", DOCTOR_FAIL, "pages of 2 MiB on NUMA node 0 needed, 0 free: echo ");
    says("hugepages-boot", DOCTOR_WARN, "0 reserved by nothing");
    says("thp", DOCTOR_WARN, "always");
    says("iommu", DOCTOR_OK, "in use");
    says("vfio", DOCTOR_WARN, "vfio-pci is not loaded");
    says("nic-free", DOCTOR_OK, "eth1 is down");
    says("nic-driver", DOCTOR_FAIL, NIC_A " (port lan) is bound to ixgbe");
    says("nic-boot", DOCTOR_WARN, "no saved binding");
    says("isolation", DOCTOR_WARN, "isolcpus lacks 2-5; nohz_full lacks 2-5; rcu_nocbs lacks 2-5");
    says("siblings", DOCTOR_OK, "no worker");
    says("irq-affinity", DOCTOR_WARN, "4 of 4: 20-23");
    says("workqueues", DOCTOR_WARN, "all: CPUs 0-11; writeback: CPUs 0-11");
    says("irqbalance", DOCTOR_WARN, "running (process 700), and may use CPUs 2-5");
    says("governor", DOCTOR_WARN, "powersave on CPUs 2-5");
    says("idle", DOCTOR_OK, "poll");
    says("cstates", DOCTOR_WARN, "C6: the way back takes 133 us, on CPUs 2-5");
    says("numa", DOCTOR_OK, "2 nodes; " NIC_A ": node 0");
    says("pcie", DOCTOR_OK, "x8 at 5.0 GT/s (32 Gb/s)");
    says("queues", DOCTOR_OK, "port lan: 4 queues for 4 workers");
    says("memlock", DOCTOR_WARN, "8,388,608 bytes");
    says("nofile", DOCTOR_OK, "1024");
    says("user", DOCTOR_WARN, "there is no user c10m: a server that root starts stays root");
    says("capabilities", DOCTOR_WARN, "this process lacks cap_sys_admin");
    says("confinement", DOCTOR_WARN, "this kernel has no seccomp");
    says("confinement", DOCTOR_WARN, "this kernel has no Landlock");
    says("cores-taken", DOCTOR_OK, "nobody");
    says("device-taken", DOCTOR_OK, "not bound for a process");
}

static void every_row_says_why_it_matters(void **state)
{
    (void)state;
    for (unsigned i = 0; i < doctor_n_rows; i++) {
        assert_true(strlen(doctor_rows[i].why) > 40);
        assert_true(strlen(doctor_rows[i].name) <= 15);
        assert_ptr_equal(doctor_row_find(doctor_rows[i].name), &doctor_rows[i]);
    }
}

static void the_boot_line_is_that_of_this_configuration(void **state)
{
    (void)state;
    says("isolation", DOCTOR_WARN,
         "isolcpus=managed_irq,domain,2-5 nohz_full=2-5 rcu_nocbs=2-5 irqaffinity=0-1,6-11");
    machine_put("/proc/cmdline", "quiet isolcpus=managed_irq,domain,2-5 nohz_full=2-5\n");
    says("isolation", DOCTOR_OK, "isolcpus=2-5; nohz_full=2-5; rcu_nocbs=2-5");
    machine_delete("/sys/devices/system/cpu/nohz_full");
    machine_put("/proc/cmdline", "quiet isolcpus=2-4\n");
    says("isolation", DOCTOR_WARN, "isolcpus lacks 5; this kernel has no nohz_full");
}

static void pages_are_counted_for_each_node(void **state)
{
    (void)state;
    // Enough in all, but none on node 0, where DPDK's packets lie.
    doctor.host.write(&doctor.host,
                      "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages",
                      "4096");
    says("hugepages", DOCTOR_FAIL, "on NUMA node 0 needed, 0 free");
    doctor.host.write(&doctor.host,
                      "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
                      "4096");
    says("hugepages", DOCTOR_OK, ": it fits");
    assert_int_equal(count_changes("hugepages"), 0);
}

static void pages_that_do_not_fit_are_not_asked_for(void **state)
{
    (void)state;
    load(WORKERS "[memory]\nhugepage = 2M\nconnections = 90000000\n" PORT_ON(NIC_A));
    machine_put("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
    says("hugepages", DOCTOR_FAIL, "take fewer connections");
    assert_int_equal(count_changes("hugepages"), 0);
}

static void four_kib_pages_need_no_hugepages(void **state)
{
    (void)state;
    load(WORKERS "[memory]\nhugepage = none\n" PORT_ON(NIC_A));
    says("hugepages", DOCTOR_NONE, "hugepage = none");
    says("hugepages-boot", DOCTOR_NONE, "hugepage = none");
    says("thp", DOCTOR_OK, "gains by them");
    assert_int_equal(count_changes("hugepages") + count_changes("hugepages-boot"), 0);
}

static void pages_of_the_next_boot_are_found_in_every_place(void **state)
{
    (void)state;
    machine_put("/proc/cmdline", "hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=3000\n");
    says("hugepages-boot", DOCTOR_OK, "3000 reserved by the boot line");
    machine_put("/proc/cmdline", "hugepages=0:1000,1:500\n");
    says("hugepages-boot", DOCTOR_OK, "1500 reserved by the boot line");
    machine_put("/proc/cmdline", "quiet\n");
    machine_put("/etc/sysctl.d/10-x.conf", "# vm.nr_hugepages = 9\nvm.nr_hugepages=1600\n");
    says("hugepages-boot", DOCTOR_OK, "1600 reserved by sysctl.d");
    machine_put("/etc/tmpfiles.d/x.conf",
                "w /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages - - - - "
                "1000\n"
                "w /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages - - - - "
                "1000\n");
    says("hugepages-boot", DOCTOR_OK, "2000 reserved by tmpfiles.d");
}

// ---- the NIC that Linux needs

static void the_nic_of_the_default_route_is_not_bound(void **state)
{
    (void)state;
    load(WORKERS MEMORY PORT_ON("02:00.0"));
    says("nic-free", DOCTOR_FAIL, NIC_B " (port lan) carries the default route over eth0");
    says("nic-free", DOCTOR_FAIL, "--force takes it all the same");
    assert_int_equal(count_changes("nic-driver") + count_changes("nic-boot"), 0);
    doctor.force = true;
    says("nic-free", DOCTOR_WARN, "the default route");
    assert_int_equal(count_changes("nic-driver"), 2);
}

static void nor_one_below_a_bridge_and_a_vlan(void **state)
{
    (void)state;
    machine_link("/sys/class/net/br0/lower_vlan7", "../vlan7");
    machine_link("/sys/class/net/vlan7/lower_eth1", "../eth1");
    machine_put("/proc/net/route", "br0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
    says("nic-free", DOCTOR_FAIL, NIC_A " (port lan) carries the default route over br0");
    assert_int_equal(count_changes("nic-driver"), 0);
}

static void nor_one_with_a_session_of_ssh(void **state)
{
    (void)state;
    // 10.0.0.1:22 with 10.0.0.7:50000, established; a listener, and another port.
    machine_put("/proc/net/tcp", "  sl  local_address rem_address   st\n"
                                 "   0: 00000000:0016 00000000:0000 0A 00000000:00000000\n"
                                 "   1: 0100000A:0016 0700000A:C350 01 00000000:00000000\n");
    says("nic-free", DOCTOR_FAIL, "the session with 10.0.0.7 over eth1");
    assert_int_equal(count_changes("nic-driver"), 0);
    machine_put("/proc/net/tcp", "   1: 0100000A:0050 0700000A:C350 01 00000000:00000000\n");
    says("nic-free", DOCTOR_OK, "eth1 is down");
    setenv("SSH_CONNECTION", "10.0.0.9 50000 10.0.0.1 2222", 1);
    says("nic-free", DOCTOR_FAIL, "the session with 10.0.0.9 over eth1");
    unsetenv("SSH_CONNECTION");
}

static void nor_one_with_the_default_route_of_ipv6(void **state)
{
    (void)state;
    machine_put("/proc/net/ipv6_route",
                "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
                "fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth1\n"
                "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
                "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n");
    says("nic-free", DOCTOR_FAIL, "the default route over eth1");
    assert_int_equal(count_changes("nic-driver"), 0);
}

// wireguard: a session of 10.9.0.7 that comes by the tunnel wg0.
static void wireguard(void)
{
    machine_put("/sys/class/net/wg0/type", "65534\n");
    machine_put("/proc/net/tcp", "   1: 0100090A:0016 0700090A:C350 01 00000000:00000000\n");
    machine_put("/proc/net/route", "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
                                   "wg0\t0000090A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
}

static void nor_one_that_is_up_and_may_carry_a_tunnel(void **state)
{
    (void)state;
    wireguard();
    machine_put("/sys/class/net/eth1/operstate", "up\n");
    says("nic-free", DOCTOR_FAIL, "perhaps the session with 10.9.0.7 over wg0");
    assert_int_equal(count_changes("nic-driver"), 0);
    doctor.force = true;
    assert_int_equal(count_changes("nic-driver"), 2);
    doctor.force = false;
    machine_put("/sys/class/net/eth1/operstate", "down\n");
    says("nic-free", DOCTOR_OK, "eth1 is down");
    assert_int_equal(count_changes("nic-driver"), 2);
}

// GRE, which shows its outer peer, 10.0.0.9: over eth1, and not over eth0.
static void nor_the_one_that_carries_a_tunnel_of_a_known_peer(void **state)
{
    (void)state;
    machine_put("/sys/class/net/gre1/type", "778\n");
    machine_put("/sys/class/net/gre1/broadcast", "0a:00:00:09\n");
    machine_put("/proc/net/tcp", "   1: 0100090A:0016 0700090A:C350 01 00000000:00000000\n");
    machine_put("/proc/net/route", "eth1\t0000000A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
                                   "gre1\t0000090A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
    says("nic-free", DOCTOR_FAIL, "the session with 10.9.0.7, by the tunnel gre1 over eth1");
    load(WORKERS MEMORY PORT_ON("02:00.0"));
    machine_put("/sys/class/net/eth0/operstate", "up\n");
    says("nic-free", DOCTOR_WARN, "eth0 is up");
}

static void a_tunnel_in_itself_ends(void **state)
{
    (void)state;
    machine_put("/sys/class/net/gre1/type", "778\n");
    machine_put("/sys/class/net/gre1/broadcast", "0a:09:00:09\n");
    machine_put("/sys/class/net/gre2/type", "778\n");
    machine_put("/sys/class/net/gre2/broadcast", "0a:08:00:09\n");
    machine_put("/sys/class/net/eth1/operstate", "up\n");
    machine_put("/proc/net/tcp", "   1: 0100090A:0016 0700090A:C350 01 00000000:00000000\n");
    machine_put("/proc/net/route", "gre2\t0000090A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
                                   "gre1\t0000080A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n");
    says("nic-free", DOCTOR_FAIL, "perhaps the session with 10.9.0.7");
}

// fe80::1 is behind both interfaces, of which eth1 has the local address of the session.
static void nor_one_with_a_session_over_its_link_local_address(void **state)
{
    (void)state;
    machine_put("/proc/net/if_inet6", "fe800000000000000000000000000002 02 40 20 80     eth0\n"
                                      "fe800000000000000000000000000003 03 40 20 80     eth1\n");
    machine_put("/proc/net/ipv6_route",
                "fe800000000000000000000000000000 40 00000000000000000000000000000000 00 "
                "00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0\n"
                "fe800000000000000000000000000000 40 00000000000000000000000000000000 00 "
                "00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1\n");
    machine_put(
        "/proc/net/tcp6",
        "   0: 000080FE000000000000000003000000:0016 000080FE000000000000000001000000:C350 01 "
        "00000000:00000000\n");
    says("nic-free", DOCTOR_FAIL, "the session with fe80::1 over eth1");
    assert_int_equal(count_changes("nic-driver"), 0);
    load(WORKERS MEMORY PORT_ON("02:00.0"));
    machine_put("/proc/net/route", "");
    says("nic-free", DOCTOR_OK, "eth0 is down");
    setenv("SSH_CONNECTION", "fe80::7%eth0 50000 fe80::2%eth0 22", 1);
    says("nic-free", DOCTOR_FAIL, "the session with fe80::7 over eth0");
    unsetenv("SSH_CONNECTION");
}

// The way back is eth0, the default route; the address to which the peer speaks goes with eth1.
static void nor_one_that_has_the_local_address_of_a_session(void **state)
{
    (void)state;
    machine_put("/proc/net/tcp", "   1: 0100000A:0016 076433C6:C350 01 00000000:00000000\n");
    says("nic-free", DOCTOR_FAIL, "the session with 198.51.100.7 over eth1");
}

static void nor_one_with_two_interfaces_or_a_virtual_function(void **state)
{
    (void)state;
    machine_put("/proc/net/route", "eth9\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
    says("nic-free", DOCTOR_OK, "eth1 is down");
    machine_put("/sys/bus/pci/devices/" NIC_A "/net/eth9/x", "");
    says("nic-free", DOCTOR_FAIL, "the default route over eth9");
    machine_delete("/sys/bus/pci/devices/" NIC_A "/net/eth9");
    machine_put("/sys/bus/pci/devices/0000:01:10.0/net/eth9/x", "");
    machine_link("/sys/bus/pci/devices/" NIC_A "/virtfn0", "../0000:01:10.0");
    says("nic-free", DOCTOR_FAIL, "the default route over eth9");
}

static void nor_one_whose_interface_is_in_another_namespace(void **state)
{
    (void)state;
    machine_delete("/sys/bus/pci/devices/" NIC_A "/net/eth1");
    says("nic-free", DOCTOR_FAIL, "perhaps an interface in another network namespace");
    assert_int_equal(count_changes("nic-driver") + count_changes("nic-boot"), 0);
    machine_delete("/sys/bus/pci/devices/" NIC_A "/driver");
    says("nic-free", DOCTOR_OK, "Linux has no interface on it");
    assert_int_equal(count_changes("nic-driver"), 2);
}

static void in_another_namespace_no_nic_is_bound(void **state)
{
    (void)state;
    machine_link("/proc/self/ns/net", "net:[4026531840]");
    machine_link("/proc/1/ns/net", "net:[4026531840]");
    says("nic-free", DOCTOR_OK, "eth1 is down");
    machine_link("/proc/self/ns/net", "net:[4026532000]");
    says("nic-free", DOCTOR_FAIL, "perhaps a session in the network namespace of process 1");
    assert_int_equal(count_changes("nic-driver"), 0);
}

// put_sessions: n of them, each with another peer, all over eth0 and the default route.
static void put_sessions(unsigned n)
{
    char *text = calloc(n, 80);
    size_t len = 0;
    assert_non_null(text);
    for (unsigned i = 0; i < n; i++)
        len +=
            (size_t)sprintf(text + len, "  %u: 0A0200C0:0016 %02X6433C6:C350 01 0:0\n", i, i + 1);
    machine_put("/proc/net/tcp", text);
    free(text);
}

static void with_more_sessions_than_are_looked_at_no_nic_is_bound(void **state)
{
    (void)state;
    put_sessions(64);
    says("nic-free", DOCTOR_OK, "eth1 is down");
    assert_int_equal(count_changes("nic-driver"), 2);
    put_sessions(65);
    says("nic-free", DOCTOR_FAIL, "perhaps one of too many sessions to list");
    assert_int_equal(count_changes("nic-driver"), 0);
    put_sessions(250);
    says("nic-free", DOCTOR_FAIL, "perhaps one of too many sessions to list");
    machine_put("/proc/net/tcp", "   1: 0100007F:0016 0100007F:C350 01 00000000:00000000\n");
    says("nic-free", DOCTOR_OK, "eth1 is down");
}

// The longest prefix, and of equal ones the lower metric, wherever it stands among many.
static void a_session_takes_the_best_of_many_routes(void **state)
{
    (void)state;
    enum { ROUTES = 3000, LINE = 80 };
    char *text = calloc(ROUTES + 8, LINE);
    size_t len = 0;
    assert_non_null(text);
    len += (size_t)sprintf(text, "eth0\t006433C6\t0\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n"
                                 "eth1\t006433C6\t0\t0001\t0\t0\t50\t00FFFFFF\t0\t0\t0\n"
                                 "*\t406433C6\t0\t0201\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n");
    for (unsigned i = 0; i < ROUTES; i++)
        len +=
            (size_t)sprintf(text + len, "eth0\t%04X000B\t0\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n", i);
    machine_put("/proc/net/route", text);
    free(text);
    put_sessions(64);
    says("nic-free", DOCTOR_FAIL, "the session with 198.51.100.1 over eth1");
    load(WORKERS MEMORY PORT_ON("02:00.0"));
    says("nic-free", DOCTOR_OK, "eth0 is down");
}

static void an_interface_that_is_up_is_a_warning(void **state)
{
    (void)state;
    machine_put("/sys/class/net/eth1/operstate", "up\n");
    says("nic-free", DOCTOR_WARN, "its addresses, routes and connections");
    assert_int_equal(count_changes("nic-driver"), 2);
}

static void without_a_port_all_nics_are_listed(void **state)
{
    (void)state;
    load(WORKERS MEMORY);
    says("nic-free", DOCTOR_NONE, NIC_A " (eth1): may be bound");
    says("nic-free", DOCTOR_NONE, NIC_B " (eth0): not free: the default route");
    says("nic-driver", DOCTOR_NONE, "no port of driver pci");
}

static void without_an_iommu_uio_is_offered_with_its_risk(void **state)
{
    (void)state;
    machine_delete("/sys/class/iommu");
    says("iommu", DOCTOR_WARN,
         "only uio_pci_generic can bind a NIC, which then reaches all memory");
    says("iommu", DOCTOR_WARN, "switch it on in the firmware (VT-d)");
    says("iommu", DOCTOR_WARN, "intel_iommu=on iommu=pt");
    says("vfio", DOCTOR_WARN, "this kernel has no uio_pci_generic");
    assert_int_equal(count_changes("nic-driver"), 0);
    machine_put("/lib/modules/6.1.0-test/modules.dep", "kernel/drivers/uio/uio_pci_generic.ko.xz:");
    says("vfio", DOCTOR_WARN, "uio_pci_generic is not loaded");
    machine_put("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y\n");
    says("iommu", DOCTOR_WARN, "enable_unsafe_noiommu_mode");
}

static void a_nic_that_leaves_the_iommu_unused_is_named(void **state)
{
    (void)state;
    machine_link("/sys/bus/pci/devices/" NIC_A "/driver", "uio_pci_generic");
    says("nic-driver", DOCTOR_WARN, "is bound to uio_pci_generic, which does not use the IOMMU");
    says("nic-driver", DOCTOR_WARN, "the next boot binds it to vfio-pci");
    machine_delete("/sys/class/iommu");
    says("nic-driver", DOCTOR_OK, "is bound to uio_pci_generic");
}

static void an_iommu_that_the_firmware_offers_needs_the_boot_line_only(void **state)
{
    char value[4096], by_hand[4096];
    (void)state;
    machine_delete("/sys/class/iommu");
    machine_put("/sys/firmware/acpi/tables/IVRS", "");
    says("iommu", DOCTOR_WARN, "amd_iommu=on iommu=pt");
    machine_delete("/sys/firmware/acpi/tables/IVRS");
    machine_put("/sys/firmware/acpi/tables/DMAR", "");
    machine_put("/proc/cpuinfo", "vendor_id : AuthenticAMD\n");  // as QEMU's default CPU says
    assert_int_equal(look("iommu", value, by_hand), DOCTOR_WARN);
    assert_non_null(strstr(by_hand, "intel_iommu=on iommu=pt"));
    assert_null(strstr(by_hand, "firmware"));
}

static void without_an_iommu_a_binding_to_uio_is_good(void **state)
{
    (void)state;
    machine_delete("/sys/class/iommu");
    machine_put("/etc/driverctl.d/pci-" NIC_A, "uio_pci_generic\n");
    says("nic-boot", DOCTOR_OK, "driverctl binds it to uio_pci_generic");
}

static void a_neighbor_of_the_iommu_group_is_named(void **state)
{
    (void)state;
    machine_delete("/sys/bus/pci/devices/" NIC_A "/iommu_group");
    machine_put("/sys/bus/pci/devices/" NIC_A "/iommu_group/devices/" NIC_B "/x", "");
    says("vfio", DOCTOR_WARN, NIC_A " is in the IOMMU group of " NIC_B " and bound to igb");
}

static void a_nic_that_is_not_there_fails(void **state)
{
    (void)state;
    load(WORKERS MEMORY PORT_ON("0000:7f:00.0"));
    says("nic-driver", DOCTOR_FAIL, "there is no such PCI device");
    assert_int_equal(count_changes("nic-driver") + count_changes("nic-boot"), 0);
}

static void a_driver_beside_the_kernels_needs_no_binding(void **state)
{
    (void)state;
    machine_put("/sys/bus/pci/devices/" NIC_A "/infiniband/mlx5_0/x", "");
    says("nic-driver", DOCTOR_OK, "is bound to ixgbe");
    says("nic-free", DOCTOR_OK, "eth1 stays Linux's");
    assert_int_equal(count_changes("nic-driver") + count_changes("nic-boot"), 0);
}

// ---- places

static void a_nic_on_the_other_node_is_a_warning(void **state)
{
    (void)state;
    load("[cpu]\nlinux = 0-1\nworkers = 4-7\n" MEMORY PORT_ON(NIC_A));
    says("numa", DOCTOR_WARN, "workers on CPUs 6-7 are on another");
    says("numa", DOCTOR_WARN, "take [cpu] workers from CPUs 0-5");
    says("numa", DOCTOR_WARN, "the packets of the workers on CPUs 6-7 are not on their node 1");
}

static void a_narrow_slot_is_a_warning(void **state)
{
    (void)state;
    machine_put("/sys/bus/pci/devices/" NIC_A "/current_link_width", "4\n");
    says("pcie", DOCTOR_WARN, "x4 at 5.0 GT/s (16 Gb/s) of x8 at 5.0 GT/s (32 Gb/s)");
    machine_put("/sys/bus/pci/devices/" NIC_A "/current_link_width", "8\n");
    machine_put("/sys/bus/pci/devices/" NIC_A "/current_link_speed", "2.5 GT/s PCIe\n");
    says("pcie", DOCTOR_WARN, "x8 at 2.5 GT/s (16 Gb/s)");
    machine_delete("/sys/bus/pci/devices/" NIC_A "/current_link_speed");
    says("pcie", DOCTOR_UNKNOWN, "does not say");
}

static void fewer_queues_than_workers_are_a_warning(void **state)
{
    (void)state;
    load(WORKERS MEMORY PORT_ON(NIC_A) "queues = 2\n");
    says("queues", DOCTOR_WARN, "port lan: 2 queues for 4 workers");
    load(WORKERS MEMORY PORT_ON(NIC_A));
    for (unsigned q = 3; q < 12; q++) {
        char path[64];
        snprintf(path, sizeof(path), "/sys/class/net/eth1/queues/rx-%u", q);
        machine_delete(path);
    }
    says("queues", DOCTOR_WARN, "the kernel's driver uses 3 queues");
}

static void siblings_of_workers_are_found(void **state)
{
    (void)state;
    machine_put("/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2,8\n");
    says("siblings", DOCTOR_WARN, "worker CPU 2 shares a core with 8, which is online");
    assert_int_equal(count_changes("siblings"), 1);
    machine_put("/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2-3\n");
    machine_put("/sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "2-3\n");
    says("siblings", DOCTOR_WARN, "the workers on 2 and 3 share a core");
    machine_put("/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "1-2\n");
    says("siblings", DOCTOR_WARN, "worker CPU 2 shares a core with 1, which [cpu] linux has");
    assert_int_equal(count_changes("siblings"), 0);
}

static void irqbalance_with_a_ban_list_is_good(void **state)
{
    (void)state;
    machine_put("/etc/default/irqbalance", "IRQBALANCE_BANNED_CPULIST=\"2-5\"\n");
    says("irqbalance", DOCTOR_OK, "leaves CPUs 2-5 alone");
    machine_put("/etc/default/irqbalance", "IRQBALANCE_BANNED_CPUS=3c\n");
    says("irqbalance", DOCTOR_OK, "leaves CPUs 2-5 alone");
    machine_put("/etc/default/irqbalance", "\n");
    machine_put("/sys/devices/system/cpu/isolated", "2-5\n");
    says("irqbalance", DOCTOR_OK, "leaves CPUs 2-5 alone");
    machine_delete("/proc/700");
    says("irqbalance", DOCTOR_OK, "not running");
}

static void limits_are_those_of_the_process(void **state)
{
    (void)state;
    machine_put("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
    says("memlock", DOCTOR_OK, "CAP_IPC_LOCK");
    machine_put("/proc/self/limits", "Max open files            256      524288      files     \n");
    says("nofile", DOCTOR_WARN, "256");
    machine_delete("/proc/self/limits");
    says("nofile", DOCTOR_UNKNOWN, "does not say");
}

static void the_user_of_the_configuration_has_to_exist(void **state)
{
    (void)state;
    machine_put("/etc/passwd", "root:x:0:0::/root:/bin/sh\nxc10m:x:7:7::/:\nc10m:x:998:997::/:\n");
    says("user", DOCTOR_OK, "c10m (998)");
    load(WORKERS MEMORY "[control]\nuser = web\n" PORT_ON(NIC_A));
    says("user", DOCTOR_FAIL, "there is no user web");
    says("user", DOCTOR_FAIL, "useradd --system --no-create-home --shell /usr/sbin/nologin web");
    load(WORKERS MEMORY "[control]\nuser = root\n" PORT_ON(NIC_A));
    says("user", DOCTOR_OK, "root (0)");
}

static void capabilities_are_those_that_the_drivers_need(void **state)
{
#define TAP      "[port lan]\ndriver = tap\ndevice = c10m0\naddress = 192.0.2.10/24\n"
#define NO_PAGES "[memory]\nhugepage = none\nconnections = 1000\n"
    (void)state;
    machine_put("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
    load(WORKERS NO_PAGES TAP);
    says("capabilities", DOCTOR_WARN, "this process lacks cap_net_admin");
    load(WORKERS NO_PAGES TAP "attach = on\n");
    says("capabilities", DOCTOR_OK, "needed: none");
    load(WORKERS MEMORY TAP "attach = on\n");
    says("capabilities", DOCTOR_WARN, "this process lacks cap_sys_admin");
    machine_put("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
    load(WORKERS MEMORY TAP);
    says("capabilities", DOCTOR_OK, "needed: cap_net_admin, cap_sys_admin");
    machine_delete("/proc/self/status");
    says("capabilities", DOCTOR_UNKNOWN, "does not say");
}

static void what_confines_a_server_is_told(void **state)
{
    (void)state;
    machine_put("/proc/sys/kernel/seccomp/actions_avail", "kill_process kill_thread trap errno\n");
    machine_put("/sys/kernel/security/lsm", "lockdown,capability,landlock,apparmor\n");
    says("confinement", DOCTOR_OK, "seccomp; Landlock");
    machine_put("/sys/module/apparmor/parameters/enabled", "Y\n");
    machine_put("/proc/self/attr/current", "unconfined\n");
    says("confinement", DOCTOR_OK, "seccomp; Landlock");
    machine_put("/sys/fs/selinux/enforce", "1\n");
    says("confinement", DOCTOR_UNKNOWN, "SELinux enforces");
    machine_put("/proc/self/attr/current", "docker-default (enforce)\n");
    says("confinement", DOCTOR_WARN, "by the profile docker-default (enforce)");
    says("confinement", DOCTOR_WARN, "--security-opt apparmor=unconfined");
    machine_delete("/sys/fs/selinux");
    machine_delete("/sys/kernel/security/lsm");
    machine_delete("/proc/self/attr");
    says("confinement", DOCTOR_WARN, "no Landlock");
    load(WORKERS MEMORY "[control]\nseccomp = off\nlandlock = off\n" PORT_ON(NIC_A));
    says("confinement", DOCTOR_OK, "seccomp = off; landlock = off");
}

// ---- others on the machine

// A program of DPDK: it locks its file `config` as librte_eal does.
static pid_t start_dpdk(void)
{
    char path[128];
    int ready[2];
    machine_put("/var/run/dpdk/other/config", "x");
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 50};
        snprintf(path, sizeof(path), "%s/var/run/dpdk/other/config", machine.root);
        const int fd = open(path, O_RDWR);
        if (fcntl(fd, F_SETLK, &lock) != 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], path, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void another_dpdk_program_on_a_worker_is_found(void **state)
{
    (void)state;
    char path[128], text[128];
    const pid_t pid = start_dpdk();
    says("cores-taken", DOCTOR_OK, "nobody (1 other DPDK programs)");
    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, pid);
    machine_put(path, "Name:\tx\nCpus_allowed:\t008\nCpus_allowed_list:\t3\n");
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    machine_put(path, "testpmd\n");
    snprintf(text, sizeof(text), "testpmd (process %d, DPDK prefix other) has threads on CPUs 3",
             pid);
    says("cores-taken", DOCTOR_WARN, text);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    says("cores-taken", DOCTOR_OK, "nobody (0 other DPDK programs)");
}

static void a_device_that_another_holds_fails(void **state)
{
    (void)state;
    machine_link("/sys/bus/pci/devices/" NIC_A "/driver", "vfio-pci");
    says("device-taken", DOCTOR_OK, "free");
    machine_link("/proc/812/fd/7", "/dev/vfio/12");
    machine_put("/proc/812/comm", "testpmd\n");
    says("device-taken", DOCTOR_FAIL, "testpmd (process 812) holds /dev/vfio/12");
    says("nic-driver", DOCTOR_OK, "is bound to vfio-pci");
}

// ---- fix and undo

static unsigned told[DOCTOR_EVENTS];

static void count_event(void *arg, enum doctor_event event, const struct doctor_change *c,
                        const char *from, const char *to, const char *why)
{
    (void)arg, (void)c, (void)from, (void)to, (void)why;
    told[event]++;
}

static struct doctor_teller teller = {count_event, NULL};

// fix_all: as `c10m doctor fix`. How many changes failed.
static int fix_all(void)
{
    struct doctor_record record;
    struct err err = {.text = ""};
    memset(told, 0, sizeof(told));
    if (doctor_record_open(&record, &doctor.host, true, &err) != 0)
        fail_msg("%s", err.text);
    int failed = doctor_fix_finish(&record, &teller, &err);
    for (unsigned i = 0; i < doctor_n_rows && failed >= 0; i++) {
        struct doctor_changes changes;
        doctor_needs_online(&doctor.needs, &doctor.host);
        doctor_changes_init(&changes);
        changes.row = doctor_rows[i].name;
        if (doctor_rows[i].plan != NULL)
            doctor_rows[i].plan(&doctor, &changes);
        assert_false(changes.error);
        const int rc = doctor_fix(&record, &changes, &teller, &err);
        failed = rc < 0 ? -1 : failed + rc;
        doctor_changes_free(&changes);
    }
    doctor_record_close(&record);
    if (failed < 0)
        fail_msg("%s", err.text);
    return failed;
}

static int undo_all(void)
{
    struct doctor_record record;
    struct err err = {.text = ""};
    memset(told, 0, sizeof(told));
    if (doctor_record_open(&record, &doctor.host, false, &err) != 0)
        fail_msg("%s", err.text);
    const int failed = doctor_undo(&record, &teller, &err);
    doctor_record_close(&record);
    if (failed < 0)
        fail_msg("%s", err.text);
    return failed;
}

// same_machine: names the first line of the snapshots that differs.
static void same_machine(const char *before, const char *when)
{
    char *after = machine_snapshot();
    size_t at = 0;
    while (before[at] != '\0' && before[at] == after[at])
        at++;
    if (before[at] != after[at]) {
        while (at > 0 && before[at - 1] != '\n')
            at--;
        fail_msg("%s: the machine is not as it was: \"%.*s\" became \"%.*s\"", when,
                 (int)strcspn(before + at, "\n"), before + at, (int)strcspn(after + at, "\n"),
                 after + at);
    }
    free(after);
}

static void a_binding_from_before_the_iommu_is_saved_again(void **state)
{
    (void)state;
    machine_put("/etc/driverctl.d/pci-" NIC_A, "uio_pci_generic\n");
    says("nic-boot", DOCTOR_WARN,
         "driverctl binds it to uio_pci_generic, which does not use the IOMMU");
    assert_int_equal(fix_all(), 0);
    says("nic-boot", DOCTOR_OK, "driverctl binds it to vfio-pci");
}

static void the_lines_of_a_new_file_stand_below_its_path(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    doctor_explain(&doctor, doctor_row_find("nic-boot"), false, to);
    fclose(to);
    assert_non_null(strstr(text, "\n         fix      create /etc/driverctl.d/pci-" NIC_A
                                 "\n                      + vfio-pci\n"));
    free(text);
}

static void fix_mends_what_can_be_mended(void **state)
{
    (void)state;
    assert_int_equal(fix_all(), 0);
    says("hugepages", DOCTOR_OK, ": it fits");
    says("hugepages-boot", DOCTOR_OK, "reserved by tmpfiles.d");
    says("thp", DOCTOR_OK, "madvise");
    says("vfio", DOCTOR_OK, "vfio-pci is loaded");
    says("nic-driver", DOCTOR_OK, "is bound to vfio-pci");
    says("nic-boot", DOCTOR_OK, "driverctl binds it to vfio-pci");
    says("irq-affinity", DOCTOR_WARN, "1 of 4: 23");
    says("workqueues", DOCTOR_OK, "all: CPUs 0-1,6-11");
    says("irqbalance", DOCTOR_OK, "leaves CPUs 2-5 alone");
    says("governor", DOCTOR_OK, "performance");
    says("cstates", DOCTOR_OK, "the way back takes 0 us");
}

// share_cores: worker CPUs 2 and 3 with 8 and 9, of which an interrupt has 8 alone, and one both.
static void share_cores(void)
{
    machine_put("/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2,8\n");
    machine_put("/sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "3,9\n");
    machine_put("/proc/irq/20/smp_affinity_list", "8-9\n");
    machine_put("/proc/irq/21/smp_affinity_list", "8\n");
}

static void interrupts_of_siblings_get_their_cpus_back(void **state)
{
    (void)state;
    char line[64];
    share_cores();
    char *before = machine_snapshot();
    assert_int_equal(count_changes("siblings"), 4);
    assert_int_equal(fix_all(), 0);
    doctor_line(&doctor.host, "/sys/devices/system/cpu/online", line, sizeof(line));
    assert_string_equal(line, "0-7,10-11");
    says("siblings", DOCTOR_OK, "no worker shares its core");
    doctor_line(&doctor.host, "/proc/irq/21/smp_affinity_list", line, sizeof(line));
    assert_string_equal(line, "0-1,6-7,10-11");
    assert_int_equal(undo_all(), 0);
    same_machine(before, "interrupts on CPUs that were off line");
    free(before);
}

static void nothing_is_moved_to_a_cpu_that_went_off_line(void **state)
{
    (void)state;
    char line[64];
    share_cores();
    assert_int_equal(fix_all(), 0);
    doctor_line(&doctor.host, "/proc/irq/22/smp_affinity_list", line, sizeof(line));
    assert_string_equal(line, "0-1,6-7,10-11");
    doctor_line(&doctor.host, "/proc/irq/default_smp_affinity", line, sizeof(line));
    assert_string_equal(line, "cc3");
}

static void a_second_fix_changes_nothing(void **state)
{
    (void)state;
    fix_all();
    char *once = machine_snapshot();
    assert_int_equal(fix_all(), 0);
    assert_int_equal(told[DOCTOR_MADE] + told[DOCTOR_FAILED], 0);
    same_machine(once, "a second fix");
    free(once);
}

static void undo_restores_exactly_what_was_there(void **state)
{
    (void)state;
    char *before = machine_snapshot();
    fix_all();
    assert_true(told[DOCTOR_MADE] > 20);
    assert_int_equal(undo_all(), 0);
    same_machine(before, "undo");
    assert_int_equal(undo_all(), 0);
    assert_int_equal(told[DOCTOR_BEGINS], 0);
    same_machine(before, "a second undo");
    free(before);
}

static void two_fixes_of_other_configurations_are_undone_to_the_first(void **state)
{
    (void)state;
    char *before = machine_snapshot();
    fix_all();
    load(
        "[cpu]\nlinux = 0\nworkers = 2-9\n[memory]\nhugepage = 2M\nconnections = 1000000\n" PORT_ON(
            NIC_A));
    assert_int_equal(fix_all(), 0);
    says("governor", DOCTOR_OK, "performance");
    says("hugepages", DOCTOR_OK, ": it fits");
    assert_int_equal(undo_all(), 0);
    same_machine(before, "undo of two");
    free(before);
}

// in_child: runs it in a process that ends at the step. Whether it came to its end.
static bool ends_before(int (*run)(void), unsigned step, bool after)
{
    int status;
    const pid_t pid = fork();
    if (pid == 0) {
        machine.steps = 0;
        machine.stop_at = step;
        machine.stop_after = after;
        run();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9));
    return WEXITSTATUS(status) == 0;
}

static void a_fix_that_is_killed_anywhere_is_undone_exactly(void **state)
{
    (void)state;
    share_cores();
    char *before = machine_snapshot(), when[64];
    bool complete = false;
    unsigned step = 0;
    while (!complete) {
        step++;
        for (unsigned after = 0; after < 2; after++) {
            complete = ends_before(fix_all, step, after);
            snprintf(when, sizeof(when), "killed %s step %u", after ? "after" : "before", step);
            assert_int_equal(undo_all(), 0);
            same_machine(before, when);
        }
    }
    assert_true(step > 60);
    free(before);
}

static void a_fix_that_was_killed_is_completed_by_another(void **state)
{
    (void)state;
    char *before = machine_snapshot();
    for (unsigned step = 3; step < 60; step += 7) {
        ends_before(fix_all, step, step % 2);
        assert_int_equal(fix_all(), 0);
        says("nic-driver", DOCTOR_OK, "is bound to vfio-pci");
        says("cstates", DOCTOR_OK, "the way back takes 0 us");
        assert_int_equal(undo_all(), 0);
        same_machine(before, "killed, fixed, undone");
    }
    free(before);
}

static void an_undo_that_is_killed_anywhere_is_completed_by_another(void **state)
{
    (void)state;
    char *before = machine_snapshot();
    bool complete = false;
    for (unsigned step = 1; !complete; step += 2) {
        fix_all();
        complete = ends_before(undo_all, step, step % 4 == 1);
        assert_int_equal(undo_all(), 0);
        same_machine(before, "undo killed");
    }
    free(before);
}

static void irqbalance_is_restarted_when_its_ban_list_changes(void **state)
{
    (void)state;
    fix_all();
    char *ran = doctor_file(&doctor.host, "/ran");
    assert_string_equal(ran, "systemctl try-restart irqbalance\n");
    free(ran);
    undo_all();
    ran = doctor_file(&doctor.host, "/ran");
    assert_string_equal(ran,
                        "systemctl try-restart irqbalance\nsystemctl try-restart irqbalance\n");
    free(ran);
}

static void fewer_pages_than_asked_for_are_a_failure_and_undone(void **state)
{
    (void)state;
    char *before = machine_snapshot();
    machine.pages_most = 5;
    assert_true(fix_all() >= 1);
    says("hugepages", DOCTOR_FAIL, "on NUMA node 0 needed, 5 free");
    assert_int_equal(undo_all(), 0);
    same_machine(before, "undo of fewer pages");
    free(before);
}

static void a_nic_that_cannot_be_bound_gets_its_driver_back(void **state)
{
    (void)state;
    machine.refuse_bind = true;
    assert_true(fix_all() >= 1);
    says("nic-driver", DOCTOR_FAIL, "is bound to ixgbe");
    says("nic-free", DOCTOR_OK, "eth1 is down");
}

static void an_interrupt_that_the_kernel_manages_is_no_failure(void **state)
{
    (void)state;
    assert_int_equal(fix_all(), 0);
    assert_int_equal(told[DOCTOR_REFUSED], 1);
    char *record = doctor_file(&doctor.host, DOCTOR_RECORD_FILE);
    assert_non_null(record);
    assert_null(strstr(record, "/proc/irq/23/"));
    assert_non_null(strstr(record, "/proc/irq/22/"));
    free(record);
}

static void what_changed_since_the_fix_is_restored_all_the_same(void **state)
{
    (void)state;
    char *before = machine_snapshot();
    fix_all();
    machine_put("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "schedutil\n");
    assert_int_equal(undo_all(), 0);
    same_machine(before, "changed since");
    free(before);
}

// The kernel would block the undo, which has the lock, until the process ends.
static void a_nic_that_a_server_holds_is_not_taken_from_it(void **state)
{
    (void)state;
    char *before = machine_snapshot();
    fix_all();
    machine_link("/proc/812/fd/7", "/dev/vfio/12");
    machine_put("/proc/812/comm", "c10m\n");
    assert_int_equal(undo_all(), 1);
    says("nic-driver", DOCTOR_OK, "is bound to vfio-pci");
    machine_delete("/proc/812");
    assert_int_equal(undo_all(), 0);
    same_machine(before, "undo after the server stopped");
    free(before);
}

static void what_is_gone_since_the_fix_is_forgotten(void **state)
{
    (void)state;
    fix_all();
    machine_delete("/proc/irq/21");
    machine_put("/etc/tmpfiles.d/other.conf", "x");
    assert_int_equal(undo_all(), 0);
    assert_int_equal(told[DOCTOR_REFUSED], 2);
    assert_false(doctor_exists(&doctor.host, DOCTOR_RECORD_FILE));
    assert_true(doctor_exists(&doctor.host, "/etc/tmpfiles.d/other.conf"));
}

// reboot: the kernel's files are as a boot makes them, with a number of pages of its own; those on
// a disk stay.
static void reboot(const char *pages)
{
    char command[512];
    static const char *const again[] = {"proc", "sys"};
    for (unsigned i = 0; i < ARRAY_LEN(again); i++) {
        snprintf(command, sizeof(command), "cd %s && rm -rf %s && cp -a booted/%s %s", machine.root,
                 again[i], again[i], again[i]);
        assert_int_equal(system(command), 0);
    }
    machine_put("/proc/sys/kernel/random/boot_id", "66666666-7777-8888-9999-000000000000\n");
    doctor.host.write(&doctor.host,
                      "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
                      pages);
}

static void keep_booted(void)
{
    char command[512];
    snprintf(command, sizeof(command), "cd %s && mkdir booted && cp -a proc sys booted",
             machine.root);
    assert_int_equal(system(command), 0);
}

static void undo_after_a_reboot_removes_files_and_nothing_else(void **state)
{
    (void)state;
    keep_booted();
    reboot("77");
    char *before = machine_snapshot();
    machine_put("/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
    fix_all();
    reboot("77");
    assert_int_equal(undo_all(), 0);
    assert_true(told[DOCTOR_PAST] > 15);
    same_machine(before, "undo after a reboot");
    free(before);
}

static void fix_after_a_reboot_keeps_what_the_boot_chose(void **state)
{
    (void)state;
    keep_booted();
    fix_all();
    reboot("77");
    assert_int_equal(fix_all(), 0);
    assert_true(told[DOCTOR_PAST] > 15);
    assert_int_equal(undo_all(), 0);
    assert_int_equal(told[DOCTOR_PAST], 0);
    char *pages =
        doctor_value_read(&doctor.host, DOCTOR_LINE,
                          "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages");
    assert_string_equal(pages, "77");
    free(pages);
    assert_false(doctor_exists(&doctor.host, DOCTOR_RECORD_FILE));
}

// A record of an earlier version, and a kernel without the file.
static void a_boot_that_is_not_known_is_this_one(void **state)
{
    (void)state;
    char *before = machine_snapshot(), *id = NULL;
    fix_all();
    id = doctor_file(&doctor.host, "/proc/sys/kernel/random/boot_id");
    machine_delete("/proc/sys/kernel/random/boot_id");
    assert_int_equal(undo_all(), 0);
    assert_int_equal(told[DOCTOR_PAST], 0);
    fix_all();
    machine_put("/proc/sys/kernel/random/boot_id", id);
    assert_int_equal(undo_all(), 0);
    same_machine(before, "an unknown boot");
    free(before);
    free(id);
}

static void what_cannot_be_restored_stays_in_the_record(void **state)
{
    (void)state;
    char *before = machine_snapshot();
    fix_all();
    machine.keep_module = true;
    assert_int_equal(undo_all(), 1);
    assert_true(doctor_exists(&doctor.host, DOCTOR_RECORD_FILE));
    machine.keep_module = false;
    assert_int_equal(undo_all(), 0);
    same_machine(before, "a second undo, when the module may go");
    free(before);
}

static void a_kernel_without_hugepages_is_not_written_to(void **state)
{
    (void)state;
    machine_delete("/sys/devices/system/node/node0/hugepages");
    says("hugepages", DOCTOR_FAIL, "needed, 0 free");
    assert_int_equal(count_changes("hugepages"), 0);
}

static void a_file_that_is_no_record_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{}",
        "[1]",
        "{\"version\": 2, \"changes\": []}",
        "{\"version\": 1, \"changes\": [{}]}",
        ("{\"version\": 1, \"changes\": [{\"row\": \"x\", \"kind\": \"none\", \"path\": \"/x\", "
         "\"was\": null, \"want\": null, \"restart\": \"\", \"done\": true}]}")};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        struct doctor_record record;
        struct err err = {.text = ""};
        machine_put(DOCTOR_RECORD_FILE, bad[i]);
        assert_int_equal(doctor_record_open(&record, &doctor.host, true, &err), -1);
        assert_non_null(strstr(err.text, DOCTOR_RECORD_FILE));
    }
}

static void two_doctors_do_not_work_at_once(void **state)
{
    (void)state;
    struct doctor_record one, two;
    struct err err;
    assert_int_equal(doctor_record_open(&one, &doctor.host, true, &err), 0);
    assert_int_equal(doctor_record_open(&two, &doctor.host, true, &err), -1);
    assert_non_null(strstr(err.text, "another c10m doctor"));
    doctor_record_close(&one);
}

static void one_that_is_refused_leaves_the_other_its_folder(void **state)
{
    (void)state;
    struct doctor_record one, two, three;
    struct err err;
    assert_int_equal(doctor_record_open(&one, &doctor.host, true, &err), 0);
    assert_int_equal(doctor_record_open(&two, &doctor.host, true, &err), -1);
    doctor_record_close(&two);
    assert_true(doctor_exists(&doctor.host, DOCTOR_RECORD_DIR));
    assert_int_equal(doctor_record_open(&three, &doctor.host, true, &err), -1);
    doctor_record_close(&one);
    assert_false(doctor_exists(&doctor.host, DOCTOR_RECORD_DIR));
}

// ---- what happens between two calls: these take the place of libc's

static void (*before_flock)(void), (*after_unlink)(const char *path);

int flock(int fd, int operation)
{
    void (*const hook)(void) = before_flock;
    before_flock = NULL;
    if (hook != NULL)
        hook();
    return (int)syscall(SYS_flock, fd, operation);
}

int unlink(const char *path)
{
    const int rc = (int)syscall(SYS_unlink, path);
    if (after_unlink != NULL)
        after_unlink(path);
    return rc;
}

static void remake_folder(void)
{
    char at[128];
    snprintf(at, sizeof(at), "%s" DOCTOR_RECORD_DIR, machine.root);
    assert_true(rmdir(at) == 0 && mkdir(at, 0700) == 0);
}

// A doctor that ended removed the folder after this one had opened it, and another one made it
// anew.
static void a_folder_that_is_gone_when_it_is_locked_is_not_the_lock(void **state)
{
    (void)state;
    char at[128];
    struct stat held, there;
    struct doctor_record record;
    struct err err;
    snprintf(at, sizeof(at), "%s" DOCTOR_RECORD_DIR, machine.root);
    before_flock = remake_folder;
    assert_int_equal(doctor_record_open(&record, &doctor.host, true, &err), 0);
    assert_true(fstat(record.lock_fd, &held) == 0 && stat(at, &there) == 0);
    assert_true(held.st_ino == there.st_ino);
    doctor_record_close(&record);
}

static void link_to_other(const char *path)
{
    char other[128];
    const size_t len = strlen(path);
    snprintf(other, sizeof(other), "%s/etc/other", machine.root);
    if (len > 9 && strcmp(path + len - 9, ".c10m-new") == 0)
        assert_int_equal(link(other, path), 0);
}

// In a folder of somebody else's, to which a link leads.
static void a_file_that_comes_in_between_is_not_written_through(void **state)
{
    (void)state;
    char at[128];
    struct err err = {.text = ""};
    machine_put("/etc/x", "old");
    machine_put("/etc/other", "of somebody else");
    snprintf(at, sizeof(at), "%s/etc/x", machine.root);
    after_unlink = link_to_other;
    const int rc = doctor_disk_replace(at, "new", &err);
    after_unlink = NULL;
    assert_int_equal(rc, -1);
    char *x = doctor_file(&doctor.host, "/etc/x"), *y = doctor_file(&doctor.host, "/etc/other");
    assert_string_equal(x, "old");
    assert_string_equal(y, "of somebody else");
    free(x);
    free(y);
}

// Processes that open and close the record: at no moment do two of them hold it.
static void of_many_doctors_one_has_the_record(void **state)
{
    (void)state;
    enum { DOCTORS = 4, TURNS = 500 };
    char alone[128];
    pid_t pids[DOCTORS];
    snprintf(alone, sizeof(alone), "%s/alone", machine.root);
    for (unsigned i = 0; i < DOCTORS; i++) {
        pids[i] = fork();
        for (unsigned turn = 0; pids[i] == 0 && turn < TURNS; turn++) {
            struct doctor_record r;
            struct err err;
            if (doctor_record_open(&r, &doctor.host, true, &err) != 0)
                continue;
            if (mkdir(alone, 0700) != 0 || rmdir(alone) != 0)
                _exit(1);
            doctor_record_close(&r);
        }
        if (pids[i] == 0)
            _exit(0);
    }
    for (unsigned i = 0; i < DOCTORS; i++) {
        int status = 1;
        waitpid(pids[i], &status, 0);
        assert_int_equal(status, 0);
    }
}

static void the_folder_of_the_record_is_its_owners_alone(void **state)
{
    (void)state;
    char at[128];
    struct stat st;
    struct err err = {.text = ""};
    struct doctor_record record;
    snprintf(at, sizeof(at), "%s" DOCTOR_RECORD_DIR, machine.root);
    fix_all();
    assert_true(stat(at, &st) == 0 && (st.st_mode & 07777) == 0700);
    chmod(at, 0755);  // as an earlier version made it
    assert_int_equal(undo_all(), 0);
    fix_all();
    chmod(at, 0777);
    assert_int_equal(doctor_record_open(&record, &doctor.host, false, &err), -1);
    assert_non_null(strstr(err.text, "others may write"));
    chmod(at, 0755);
    if (geteuid() == 0 && chown(at, 65534, 65534) == 0) {
        assert_int_equal(doctor_record_open(&record, &doctor.host, false, &err), -1);
        assert_non_null(strstr(err.text, "belongs to user 65534"));
        assert_int_equal(chown(at, 0, 0), 0);
    }
    assert_int_equal(undo_all(), 0);
}

// ---- files on the disk

static char *on_machine(char out[DOCTOR_PATH_BYTES], const char *path)
{
    snprintf(out, DOCTOR_PATH_BYTES, "%s%s", machine.root, path);
    return out;
}

static void a_link_stays_and_its_file_is_replaced(void **state)
{
    (void)state;
    char target[16];
    machine_put("/etc/kept/irqbalance", "# settings\n");
    machine_link("/etc/default/irqbalance", "../kept/irqbalance");
    char *before = machine_snapshot();
    assert_int_equal(fix_all(), 0);
    assert_true(doctor_link(&doctor.host, "/etc/default/irqbalance", target, sizeof(target)));
    char *text = doctor_file(&doctor.host, "/etc/kept/irqbalance");
    assert_string_equal(text, "# settings\nIRQBALANCE_BANNED_CPULIST=2-5\n");
    free(text);
    assert_int_equal(undo_all(), 0);
    same_machine(before, "a link");
    free(before);
}

// last_why: what the last failure says.
static char last_why[512];

static void keep_why(void *arg, enum doctor_event event, const struct doctor_change *c,
                     const char *from, const char *to, const char *why)
{
    count_event(arg, event, c, from, to, why);
    if (event == DOCTOR_FAILED)
        snprintf(last_why, sizeof(last_why), "%s", why);
}

// fails_alone: of all changes only that of the file fails, which stays as it is.
static void fails_alone(const char *path, const char *text, const char *why)
{
    machine_put(path, text);
    char *before = machine_snapshot();
    teller.tell = keep_why;
    assert_int_equal(fix_all(), 1);
    teller.tell = count_event;
    assert_non_null(strstr(last_why, why));
    says("governor", DOCTOR_OK, "performance");
    char *now = doctor_file(&doctor.host, path);
    assert_string_equal(now == NULL ? text : now, text);
    free(now);
    assert_int_equal(undo_all(), 0);
    same_machine(before, why);
    free(before);
}

static void a_file_that_is_not_utf8_fails_alone_and_is_named(void **state)
{
    (void)state;
    fails_alone("/etc/default/irqbalance", "# good\n# M\xfcller\nIRQBALANCE_ARGS=\n",
                "/etc/default/irqbalance cannot be kept for undo: line 2 is not UTF-8");
}

static void a_file_that_is_too_long_fails_alone_and_is_named(void **state)
{
    (void)state;
    char *text = malloc(DOCTOR_FILE_BYTES_MAX + 2);
    assert_non_null(text);
    memset(text, '#', DOCTOR_FILE_BYTES_MAX + 1);
    text[DOCTOR_FILE_BYTES_MAX + 1] = '\0';
    fails_alone("/etc/default/irqbalance", text, "/etc/default/irqbalance cannot be kept");
    free(text);
}

static void what_is_no_file_is_not_replaced(void **state)
{
    (void)state;
    char at[DOCTOR_PATH_BYTES], link[DOCTOR_PATH_BYTES];
    struct err err = {.text = ""};
    struct stat st;
    machine_link("/etc/nothing", "gone");
    assert_int_equal(doctor_disk_replace(on_machine(at, "/etc/nothing"), "x", &err), -1);
    assert_non_null(strstr(err.text, "link to nothing"));
    assert_int_equal(mkfifo(on_machine(at, "/etc/pipe"), 0600), 0);
    machine_link("/etc/masked", "pipe");
    assert_int_equal(doctor_disk_replace(on_machine(link, "/etc/masked"), "x", &err), -1);
    assert_non_null(strstr(err.text, "no regular file"));
    assert_true(lstat(at, &st) == 0 && S_ISFIFO(st.st_mode));
}

static void a_file_that_was_left_does_not_redirect_a_replacement(void **state)
{
    (void)state;
    char at[DOCTOR_PATH_BYTES], new[DOCTOR_PATH_BYTES], other[DOCTOR_PATH_BYTES];
    struct err err = {.text = ""};
    machine_put("/etc/x", "old");
    machine_put("/etc/other", "of somebody else");
    assert_int_equal(link(on_machine(other, "/etc/other"), on_machine(new, "/etc/x.c10m-new")), 0);
    assert_int_equal(doctor_disk_replace(on_machine(at, "/etc/x"), "new", &err), 0);
    char *x = doctor_file(&doctor.host, "/etc/x"), *y = doctor_file(&doctor.host, "/etc/other");
    assert_string_equal(x, "new");
    assert_string_equal(y, "of somebody else");
    free(x);
    free(y);
}

static void a_replacement_that_fails_leaves_nothing(void **state)
{
    (void)state;
    char at[DOCTOR_PATH_BYTES];
    struct err err = {.text = ""};
    struct rlimit was, none;
    machine_put("/etc/x", "old");
    char *before = machine_snapshot();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    none = (struct rlimit){.rlim_cur = 1, .rlim_max = was.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    const int rc = doctor_disk_replace(on_machine(at, "/etc/x"), "longer than a byte", &err);
    setrlimit(RLIMIT_FSIZE, &was);
    assert_int_equal(rc, -1);
    same_machine(before, "a disk without room");
    free(before);
}

// A machine with many CPUs and interrupts.
static void a_record_of_several_mebibytes_is_undone(void **state)
{
    (void)state;
    char *settings = malloc(DOCTOR_FILE_BYTES_MAX), *before;
    assert_non_null(settings);
    for (unsigned i = 0; i < DOCTOR_FILE_BYTES_MAX - 1; i++)
        settings[i] = i % 64 == 0 ? '\n' : '#';
    settings[DOCTOR_FILE_BYTES_MAX - 1] = '\0';
    settings[DOCTOR_FILE_BYTES_MAX - 100] = '\0';  // with room for the line that is added
    machine_put("/etc/default/irqbalance", settings);
    before = machine_snapshot();
    assert_int_equal(fix_all(), 0);
    assert_int_equal(undo_all(), 0);
    same_machine(before, "a long record");
    free(before);
    free(settings);
}

static void undo_removes_what_a_killed_replacement_left(void **state)
{
    (void)state;
    char *before = machine_snapshot();
    fix_all();
    machine_put("/etc/tmpfiles.d/c10m-hugepages.conf.c10m-new", "ha");
    machine_put("/etc/default/irqbalance.c10m-new", "ha");
    machine_put(DOCTOR_RECORD_FILE ".c10m-new", "{");
    assert_int_equal(undo_all(), 0);
    same_machine(before, "half files");
    free(before);
}

// ---- what an operator's shell and other users can do

static void a_name_of_a_process_writes_nothing_to_the_terminal(void **state)
{
    (void)state;
    char comm[DOCTOR_COMM_BYTES];
    machine_put("/proc/812/comm", "a\x1b]0;b\x07\xff\n");
    doctor_process_comm(&doctor.host, 812, comm);
    assert_string_equal(comm, "a?]0;b??");
}

static void a_process_of_another_user_is_no_irqbalance(void **state)
{
    (void)state;
    char at[DOCTOR_PATH_BYTES];
    if (geteuid() != 0 || chown(on_machine(at, "/proc/700"), 65534, 65534) != 0)
        skip();
    says("irqbalance", DOCTOR_OK, "not running");
    assert_int_equal(count_changes("irqbalance"), 0);
}

static void a_directory_is_readable_whatever_the_umask_is(void **state)
{
    (void)state;
    char at[DOCTOR_PATH_BYTES];
    struct stat st;
    const mode_t was = umask(077);
    const int failed = fix_all();
    umask(was);
    assert_int_equal(failed, 0);
    assert_true(stat(on_machine(at, "/etc/tmpfiles.d"), &st) == 0 && (st.st_mode & 0777) == 0755);
}

static void programs_are_those_of_the_system(void **state)
{
    (void)state;
    static const char *const run_true[] = {"true", NULL};
    static const char *const no_options[] = {"sh", "-c", "test -z \"$MODPROBE_OPTIONS\"", NULL};
    struct doctor_host h;
    struct err err = {.text = ""};
    char at[DOCTOR_PATH_BYTES], *path = strdup(getenv("PATH"));
    doctor_host_init(&h, "");
    machine_put("/true", "#!/bin/sh\nexit 1\n");
    chmod(on_machine(at, "/true"), 0755);
    setenv("PATH", machine.root, 1);
    setenv("MODPROBE_OPTIONS", "-C /home/somebody", 1);
    const int found = h.run(&h, run_true, &err), clean = h.run(&h, no_options, &err);
    setenv("PATH", path, 1);
    unsetenv("MODPROBE_OPTIONS");
    free(path);
    assert_int_equal(found, 0);
    assert_int_equal(clean, 0);
}

// ---- sets of CPUs

static void lists_and_masks_are_the_kernels(void **state)
{
    (void)state;
    static const struct {
        const char *list, *mask;
    } rows[] = {{"0", "1"},
                {"0-3,8", "10f"},
                {"31-32", "1,80000000"},
                {"64", "1,00000000,00000000"},
                {"0-63", "ffffffff,ffffffff"},
                {"", "0"}};
    char out[DOCTOR_CPUS_TEXT_BYTES];
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct doctor_cpus set, again;
        assert_true(doctor_cpus_parse_list(&set, rows[i].list));
        assert_string_equal(doctor_cpus_list(&set, out), rows[i].list);
        assert_string_equal(doctor_cpus_mask(&set, out), rows[i].mask);
        assert_true(doctor_cpus_parse_mask(&again, rows[i].mask));
        assert_memory_equal(&set, &again, sizeof(set));
    }
    struct doctor_cpus set;
    static const char *const bad[] = {"(null)", "3-1", "1024", "1-", "-1", "1,x", "1 2"};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(doctor_cpus_parse_list(&set, bad[i]));
    assert_false(doctor_cpus_parse_mask(&set, "xyz"));
    assert_true(doctor_cpus_parse_mask(&set, "0000,00000003"));
}

#define ON_MACHINE(name) cmocka_unit_test_setup_teardown(name, make_machine, remove_machine)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_MACHINE(a_machine_as_it_comes_has_something_in_every_row),
        ON_MACHINE(every_row_says_why_it_matters),
        ON_MACHINE(the_boot_line_is_that_of_this_configuration),
        ON_MACHINE(pages_are_counted_for_each_node),
        ON_MACHINE(pages_that_do_not_fit_are_not_asked_for),
        ON_MACHINE(four_kib_pages_need_no_hugepages),
        ON_MACHINE(pages_of_the_next_boot_are_found_in_every_place),
        ON_MACHINE(the_nic_of_the_default_route_is_not_bound),
        ON_MACHINE(nor_one_below_a_bridge_and_a_vlan),
        ON_MACHINE(nor_one_with_a_session_of_ssh),
        ON_MACHINE(nor_one_with_the_default_route_of_ipv6),
        ON_MACHINE(nor_one_that_is_up_and_may_carry_a_tunnel),
        ON_MACHINE(nor_the_one_that_carries_a_tunnel_of_a_known_peer),
        ON_MACHINE(a_tunnel_in_itself_ends),
        ON_MACHINE(nor_one_with_a_session_over_its_link_local_address),
        ON_MACHINE(nor_one_that_has_the_local_address_of_a_session),
        ON_MACHINE(nor_one_with_two_interfaces_or_a_virtual_function),
        ON_MACHINE(nor_one_whose_interface_is_in_another_namespace),
        ON_MACHINE(in_another_namespace_no_nic_is_bound),
        ON_MACHINE(with_more_sessions_than_are_looked_at_no_nic_is_bound),
        ON_MACHINE(a_session_takes_the_best_of_many_routes),
        ON_MACHINE(an_interface_that_is_up_is_a_warning),
        ON_MACHINE(without_a_port_all_nics_are_listed),
        ON_MACHINE(without_an_iommu_uio_is_offered_with_its_risk),
        ON_MACHINE(a_binding_from_before_the_iommu_is_saved_again),
        ON_MACHINE(a_nic_that_leaves_the_iommu_unused_is_named),
        ON_MACHINE(an_iommu_that_the_firmware_offers_needs_the_boot_line_only),
        ON_MACHINE(without_an_iommu_a_binding_to_uio_is_good),
        ON_MACHINE(a_neighbor_of_the_iommu_group_is_named),
        ON_MACHINE(a_nic_that_is_not_there_fails),
        ON_MACHINE(a_driver_beside_the_kernels_needs_no_binding),
        ON_MACHINE(a_nic_on_the_other_node_is_a_warning),
        ON_MACHINE(a_narrow_slot_is_a_warning),
        ON_MACHINE(fewer_queues_than_workers_are_a_warning),
        ON_MACHINE(siblings_of_workers_are_found),
        ON_MACHINE(irqbalance_with_a_ban_list_is_good),
        ON_MACHINE(limits_are_those_of_the_process),
        ON_MACHINE(the_user_of_the_configuration_has_to_exist),
        ON_MACHINE(capabilities_are_those_that_the_drivers_need),
        ON_MACHINE(what_confines_a_server_is_told),
        ON_MACHINE(another_dpdk_program_on_a_worker_is_found),
        ON_MACHINE(a_device_that_another_holds_fails),
        ON_MACHINE(the_lines_of_a_new_file_stand_below_its_path),
        ON_MACHINE(fix_mends_what_can_be_mended),
        ON_MACHINE(interrupts_of_siblings_get_their_cpus_back),
        ON_MACHINE(nothing_is_moved_to_a_cpu_that_went_off_line),
        ON_MACHINE(a_second_fix_changes_nothing),
        ON_MACHINE(undo_restores_exactly_what_was_there),
        ON_MACHINE(two_fixes_of_other_configurations_are_undone_to_the_first),
        ON_MACHINE(a_fix_that_is_killed_anywhere_is_undone_exactly),
        ON_MACHINE(a_fix_that_was_killed_is_completed_by_another),
        ON_MACHINE(an_undo_that_is_killed_anywhere_is_completed_by_another),
        ON_MACHINE(irqbalance_is_restarted_when_its_ban_list_changes),
        ON_MACHINE(fewer_pages_than_asked_for_are_a_failure_and_undone),
        ON_MACHINE(a_nic_that_cannot_be_bound_gets_its_driver_back),
        ON_MACHINE(an_interrupt_that_the_kernel_manages_is_no_failure),
        ON_MACHINE(what_changed_since_the_fix_is_restored_all_the_same),
        ON_MACHINE(a_nic_that_a_server_holds_is_not_taken_from_it),
        ON_MACHINE(what_is_gone_since_the_fix_is_forgotten),
        ON_MACHINE(undo_after_a_reboot_removes_files_and_nothing_else),
        ON_MACHINE(fix_after_a_reboot_keeps_what_the_boot_chose),
        ON_MACHINE(a_boot_that_is_not_known_is_this_one),
        ON_MACHINE(what_cannot_be_restored_stays_in_the_record),
        ON_MACHINE(a_kernel_without_hugepages_is_not_written_to),
        ON_MACHINE(a_file_that_is_no_record_is_refused),
        ON_MACHINE(two_doctors_do_not_work_at_once),
        ON_MACHINE(a_file_that_is_not_utf8_fails_alone_and_is_named),
        ON_MACHINE(a_file_that_is_too_long_fails_alone_and_is_named),
        ON_MACHINE(one_that_is_refused_leaves_the_other_its_folder),
        ON_MACHINE(of_many_doctors_one_has_the_record),
        ON_MACHINE(a_folder_that_is_gone_when_it_is_locked_is_not_the_lock),
        ON_MACHINE(a_file_that_comes_in_between_is_not_written_through),
        ON_MACHINE(the_folder_of_the_record_is_its_owners_alone),
        ON_MACHINE(a_link_stays_and_its_file_is_replaced),
        ON_MACHINE(what_is_no_file_is_not_replaced),
        ON_MACHINE(a_file_that_was_left_does_not_redirect_a_replacement),
        ON_MACHINE(a_replacement_that_fails_leaves_nothing),
        ON_MACHINE(a_record_of_several_mebibytes_is_undone),
        ON_MACHINE(undo_removes_what_a_killed_replacement_left),
        ON_MACHINE(a_directory_is_readable_whatever_the_umask_is),
        ON_MACHINE(a_name_of_a_process_writes_nothing_to_the_terminal),
        ON_MACHINE(a_process_of_another_user_is_no_irqbalance),
        ON_MACHINE(programs_are_those_of_the_system),
        cmocka_unit_test(lists_and_masks_are_the_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
