// SPDX-License-Identifier: BSD-3-Clause
// ctl/arp: the neighbors of both families. Each worker has its own cache.
#include <errno.h>
#include <string.h>

#include "ctl/steering/steering_internal.h"
#include "server/neighbor_tables.h"
#include "worker/order.h"
#include "worker/worker.h"

static int nibble(char c)
{
    const char *digits = "0123456789abcdef",
               *at = strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c);
    return c == '\0' || at == NULL ? -1 : (int)(at - digits);
}

// Parses a unicast MAC address.
static bool mac_of(const char *text, struct mac_addr *mac)
{
    if (strlen(text) != 17)
        return false;
    uint8_t any = 0;
    for (unsigned i = 0; i < 6; i++) {
        const int high = nibble(text[3 * i]), low = nibble(text[3 * i + 1]);
        if (high < 0 || low < 0 || (i < 5 && text[3 * i + 2] != ':'))
            return false;
        mac->b[i] = (uint8_t)(high << 4 | low);
        any |= mac->b[i];
    }
    return any != 0 && (mac->b[0] & 1) == 0;
}

static int port_named(const struct server_params *p, const char *name)
{
    for (unsigned i = 0; i < p->n_ports; i++)
        if (server_has_neighbors(p, i) && strcmp(p->ports[i].port.name, name) == 0)
            return (int)i;
    return -1;
}

static bool is_neighbor(const struct server_params *p, const struct ip_addr *a)
{
    static const struct ip_addr loopback6 = {{[15] = 1}};
    const uint32_t v4 = ip_to_v4(a);
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_locals; k++)
            if (ip_equal(&p->ports[i].net.locals[k].addr, a))
                return false;
    if (!ip_is_v4(a))
        return !ip_is_zero(a) && a->b[0] != 0xff && !ip_equal(a, &loopback6);
    return v4 >> 24 != 0 && v4 >> 24 != 127 && v4 >> 28 < 0xe;
}

// Parses `dev PORT` at the end, or selects the port by the address.
static int parse_port(const struct server_params *p, struct order_neighbor *n, char **words,
                      int *left)
{
    int port = server_port_toward(p, &n->addr);
    if (*left >= 2 && strcmp(words[*left - 2], "dev") == 0) {
        port = port_named(p, words[*left - 1]);
        *left -= 2;
    }
    n->port = (unsigned)port;
    return port < 0 ? -EINVAL : 0;
}

static int parse_flush(const struct server_params *p, struct order_neighbor *n, char **words,
                       int left)
{
    *n = (struct order_neighbor){.act = NEIGHBOR_FLUSH, .port = WORKER_PORTS_MAX};
    if (left == 1)
        return 0;
    const int port = port_named(p, words[1]);
    n->port = (unsigned)port;
    return left != 2 || port < 0 ? -EINVAL : 0;
}

static int parse(const struct server_params *p, struct order_neighbor *n, char *line)
{
    char *words[STEERING_WORDS_MAX];
    int left = ctl_steering_words(line, words);
    if (left < 1)
        return -EINVAL;
    if (strcmp(words[0], "flush") == 0)
        return parse_flush(p, n, words, left);
    *n = (struct order_neighbor){0};
    if (left < 2 || !ip_parse(words[1], &n->addr) || !is_neighbor(p, &n->addr) ||
        parse_port(p, n, words, &left) != 0)
        return -EINVAL;
    if (strcmp(words[0], "del") == 0) {
        n->act = NEIGHBOR_DEL;
        return left == 2 ? 0 : -EINVAL;
    }
    const bool permanent = left == 4 && strcmp(words[3], "permanent") == 0;
    n->act = permanent ? NEIGHBOR_PERMANENT : NEIGHBOR_ADD;
    if (strcmp(words[0], "add") != 0 || left != (permanent ? 4 : 3) || !mac_of(words[2], &n->mac))
        return -EINVAL;
    return 0;
}

static int arp_write(struct ctl_steering_entry *e, char *line)
{
    static const char *const verbs[] = {[NEIGHBOR_ADD] = "added:",
                                        [NEIGHBOR_PERMANENT] = "added permanently:",
                                        [NEIGHBOR_DEL] = "deleted:",
                                        [NEIGHBOR_FLUSH] = "flushed:"};
    struct order o = {.kind = ORDER_NEIGHBOR};
    const int rc = parse(server_params_of(e->st->p.server), &o.neighbor, line);
    return rc != 0 ? rc : ctl_steering_order(e, &o, verbs[o.neighbor.act]);
}

static const struct ctl_steering_file arp_file = {
    .help =
        "# Changes neighbors, IPv4 and IPv6, in the caches of all workers (see net/arp and "
        "net/ndisc):\n"
        "#   add ADDR MAC [permanent] [dev PORT]   as if the neighbor had announced it; "
        "permanent:\n"
        "#                                         until it is deleted\n"
        "#   del ADDR [dev PORT]\n"
        "#   flush [PORT]                          delete all except permanent ones\n"
        "# Neighbors of the configuration cannot be changed. `last` counts a neighbor once for\n"
        "# each worker.\n",
    .write = arp_write,
};

int ctl_steering_arp_fill(struct ctl_steering *st, struct tree_node *root)
{
    return ctl_steering_add(st, root, "ctl/arp", &arp_file, 0);
}
