// ports/NAME/: what the devices are, and what they count.
#include <stdio.h>

#include "base/toeplitz.h"
#include "ctl/ctl_tree_priv.h"

static int driver_read(struct tree_out *out, void *data)
{
    return tree_printf(out, "%s\n", ((const struct port *)data)->ops->driver);
}

static int rss_read(struct tree_out *out, void *data)
{
    const struct port *p = data;
    const bool by_port = (p->caps & PORT_RSS) != 0;
    return tree_printf(out, "queues %u\nspread_by %s\ntable_entries %u\n", p->queues,
                       by_port ? "port" : "software",
                       by_port ? p->rss_entries : (unsigned)TOEPLITZ_ENTRIES);
}

static int offloads_read(struct tree_out *out, void *data)
{
    static const struct {
        const char *name;
        uint32_t cap;
    } rows[] = {{"rx_ip_checksum", PORT_RX_IP_CKSUM},
                {"rx_l4_checksum", PORT_RX_L4_CKSUM},
                {"tx_ip_checksum", PORT_TX_IP_CKSUM},
                {"tx_l4_checksum", PORT_TX_L4_CKSUM},
                {"multi_segment", PORT_MULTI_SEG},
                {"tso", PORT_TSO},
                {"rss", PORT_RSS}};
    int rc = 0;
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        rc |= tree_printf(out, "%s %s\n", rows[i].name,
                          ((const struct port *)data)->caps & rows[i].cap ? "port" : "software");
    return rc;
}

static int mac_read(struct tree_out *out, void *data)
{
    const uint8_t *b = ((const struct port *)data)->mac.b;
    return tree_printf(out, "%02x:%02x:%02x:%02x:%02x:%02x\n", b[0], b[1], b[2], b[3], b[4], b[5]);
}

static int port_counters_read(struct tree_out *out, void *data)
{
    struct port *p = data;
    struct port_stats s = {0};
    p->ops->stats(p, &s);
    tree_printf(out, "rx_packets %llu\nrx_bytes %llu\ntx_packets %llu\ntx_bytes %llu\n",
                (unsigned long long)s.rx_packets, (unsigned long long)s.rx_bytes,
                (unsigned long long)s.tx_packets, (unsigned long long)s.tx_bytes);
    return tree_printf(out, "rx_missed %llu\nrx_nombuf %llu\nrx_errors %llu\ntx_errors %llu\n",
                       (unsigned long long)s.rx_missed, (unsigned long long)s.rx_nombuf,
                       (unsigned long long)s.rx_errors, (unsigned long long)s.tx_errors);
}

int ctl_tree_ports(const struct ctl_shown *s)
{
    static const struct {
        const char *name;
        int (*read)(struct tree_out *, void *);
    } files[] = {{"driver", driver_read},
                 {"mac", mac_read},
                 {"rss", rss_read},
                 {"offloads", offloads_read},
                 {"counters", port_counters_read}};
    int rc = 0;
    for (unsigned p = 0; p < server_params_of(s->server)->n_ports; p++)
        for (unsigned i = 0; i < ARRAY_LEN(files); i++) {
            char path[96];
            snprintf(path, sizeof(path), "ports/%s/%s", server_port(s->server, p)->name,
                     files[i].name);
            rc |= ctl_tree_add(s, path, files[i].read, server_port(s->server, p));
        }
    return rc;
}
