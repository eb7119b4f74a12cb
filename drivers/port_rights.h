// SPDX-License-Identifier: BSD-3-Clause
// port_rights.h: the system calls and capabilities that ports of each driver need while the server
// runs.
#pragma once
#include <stdint.h>

// port_rights: of one driver.
struct port_rights {
    const char *driver;
    unsigned n_calls, n_control_calls;
    const int *calls;          // system calls that workers make in rx_burst and tx_burst
    const int *control_calls;  // that the control thread makes for it, and otherwise never makes
    uint64_t capabilities;     // with which the control thread opens the device again: bit N is
                               // number N of <linux/capability.h>
};

// port_rights_of: those of the driver of that name. NULL: it needs none.
const struct port_rights *port_rights_of(const char *driver);
