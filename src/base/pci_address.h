// SPDX-License-Identifier: BSD-3-Clause
// pci_address.h: the full form of a PCI address, as Linux and DPDK name the device.
#pragma once
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { PCI_ADDRESS_BYTES = 64 };

// pci_address_full: "01:00.A" becomes "0000:01:00.a". A name of another form (net_null0) gets only
// lower case.
static inline void pci_address_full(const char *device, char out[PCI_ADDRESS_BYTES])
{
    const char *colon = strchr(device, ':');
    const int short_form = colon != NULL && strchr(colon + 1, ':') == NULL;
    snprintf(out, PCI_ADDRESS_BYTES, "%s%.50s", short_form ? "0000:" : "", device);
    for (; *out != '\0'; out++)
        *out = (char)tolower((unsigned char)*out);
}
