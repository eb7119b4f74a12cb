// SPDX-License-Identifier: BSD-3-Clause
// xdp_leaks.h: what LeakSanitizer is not to report of a program that opens af_xdp ports: DPDK
// 22.11's net_af_xdp never frees libxdp's 80 bytes for the shared memory of a port. Included by the
// file that has main().
#pragma once

const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:xsk_umem__create\n";
}
