// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/port_rights.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/base.h"

// Frames are read and written one by one.
static const int tap_calls[] = {SYS_readv, SYS_writev};

// Frames lie in memory that the kernel shares. sendto() tells it to send, poll() waits for room.
static const int af_packet_calls[] = {SYS_sendto, SYS_poll};

// Calls that tell the kernel to look at the rings of memory.
static const int af_xdp_calls[] = {SYS_sendto, SYS_recvfrom, SYS_poll};

// Opening and closing the device: programs and maps of XDP.
static const int af_xdp_control[] = {SYS_bpf};

// Wakes a peer that sleeps, by its eventfd.
static const int memif_calls[] = {SYS_write};

// libpcap reads and writes the captures through stdio, which allocates its buffers at first use.
static const int pcap_calls[] = {SYS_write, SYS_lseek, SYS_fstat, SYS_newfstatat,
                                 SYS_brk,   SYS_mmap,  SYS_munmap};

#define CAP(name)     (UINT64_C(1) << CAP_##name)
#define CALLS(list)   .calls = list, .n_calls = ARRAY_LEN(list)
#define CONTROL(list) .control_calls = list, .n_control_calls = ARRAY_LEN(list)

// `pci`, `ring`, `fault` and `loop` make no system call.
static const struct port_rights rows[] = {
    {.driver = "tap", CALLS(tap_calls), .capabilities = CAP(NET_ADMIN)},
    {.driver = "af_packet",
     CALLS(af_packet_calls),
     .capabilities = CAP(NET_ADMIN) | CAP(NET_RAW) | CAP(IPC_LOCK)},
    {.driver = "af_xdp",
     CALLS(af_xdp_calls),
     CONTROL(af_xdp_control),
     .capabilities = CAP(NET_ADMIN) | CAP(NET_RAW) | CAP(BPF) | CAP(IPC_LOCK)},
    {.driver = "memif", CALLS(memif_calls)},
    {.driver = "pcap", CALLS(pcap_calls)},
};

const struct port_rights *port_rights_of(const char *driver)
{
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(rows[i].driver, driver) == 0)
            return &rows[i];
    return NULL;
}
