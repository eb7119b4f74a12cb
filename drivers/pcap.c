// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/pcap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/ethdev_view.h"
#include "drivers/vdev.h"

enum { PATH_CHARS_MAX = 255 };

static const struct port_ops ops = {
    .driver = "pcap",
    .rx_burst = ethdev_rx_burst,
    .tx_burst = ethdev_tx_burst,
    .stats = ethdev_stats,
    .close = vdev_close,
    .view = &ethdev_view,
};

static const struct ethdev_profile profile = {.ops = &ops};

static int check_replay(const struct port_params *p, struct err *err)
{
    if (vdev_path_check(p, "device", p->device, PATH_CHARS_MAX, err) != 0)
        return -1;
    FILE *f = fopen(p->device, "rbe");
    uint32_t magic = 0;
    bool whole = f != NULL && fread(&magic, sizeof(magic), 1, f) == 1;
    int why = errno;
    if (f == NULL)
        return err_set(err, "port %s: %s: %s", p->name, p->device, strerror(why));
    fclose(f);
    static const uint32_t magics[] = {0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1, 0x0a0d0d0a};
    for (size_t i = 0; whole && i < ARRAY_LEN(magics); i++)
        if (magic == magics[i])
            return 0;
    return err_set(err, "port %s: %s is no capture (pcap or pcapng)", p->name, p->device);
}

// check_written: does not create the file. If it does not exist, its folder must be writable.
static int check_written(const struct port_params *p, struct err *err)
{
    char folder[PATH_CHARS_MAX + 1];
    if (vdev_path_check(p, "capture", p->capture, PATH_CHARS_MAX, err) != 0)
        return err_key(err, "port.%s.capture", p->name);
    snprintf(folder, sizeof(folder), "%s", p->capture);
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[slash == folder] = '\0';
    const bool is_there = access(p->capture, F_OK) == 0;
    const int rc =
        is_there ? access(p->capture, W_OK) : access(slash == NULL ? "." : folder, W_OK | X_OK);
    if (rc == 0)
        return 0;
    err_set(err, "port %s: %s: %s", p->name, p->capture, strerror(errno));
    return err_key(err, "port.%s.capture", p->name);
}

int pcap_check(const struct port_params *params, struct err *err)
{
    const bool in = params->device != NULL && params->device[0] != '\0';
    const bool out = params->capture != NULL && params->capture[0] != '\0';
    if (!in && !out)
        return err_set(err,
                       "port %s: a capture to replay (device) or to write (capture) was expected",
                       params->name);
    if ((in && check_replay(params, err) != 0) || (out && check_written(params, err) != 0))
        return -1;
    return vdev_plugin_check(params, "pcap", err);
}

struct port *pcap_open(const struct port_params *params, struct err *err)
{
    const bool in = params->device != NULL && params->device[0] != '\0';
    const bool out = params->capture != NULL && params->capture[0] != '\0';
    if (pcap_check(params, err) != 0)
        return NULL;
    char args[2 * PATH_CHARS_MAX + 32];
    snprintf(args, sizeof(args), "%s%s%s%s%s", in ? "rx_pcap=" : "", in ? params->device : "",
             in && out ? "," : "", out ? "tx_pcap=" : "", out ? params->capture : "");
    return vdev_open(params, "pcap", args, &profile, err);
}
