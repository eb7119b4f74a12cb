// SPDX-License-Identifier: BSD-3-Clause
// lists.h: parses and prints values that are more than a number or a text: cores, addresses,
// neighbors, ports.
#pragma once
#include "base/addr.h"
#include "conf/value.h"

// is_name: 1 to CONF_NAME_BYTES - 1 letters, digits, '-' and '_'.
bool is_name(const char *text);

// X_parse: as value_parse(). `zero` is the word for an empty list.
bool cpus_parse(struct conf_cpus *cpus, const char *zero, const char *text,
                char got[VALUE_GOT_BYTES]);
bool address_parse(struct ip_addr *a, const char *text);
bool prefixes_parse(struct conf_prefixes *list, const char *text, char got[VALUE_GOT_BYTES]);
bool mac_parse(struct mac_addr *mac, const char *text);
bool neighbors_parse(struct conf_neighbors *list, const char *text, char got[VALUE_GOT_BYTES]);
bool routes_parse(struct conf_routes *list, const char *text, char got[VALUE_GOT_BYTES]);
bool set_parse(const struct key *k, uint32_t *set, const char *text, char got[VALUE_GOT_BYTES]);
bool ports_parse(struct conf_tcp_ports *list, const char *text, char got[VALUE_GOT_BYTES]);
bool names_parse(struct conf_names *list, const char *text, char got[VALUE_GOT_BYTES]);
bool endpoint_parse(struct conf_endpoint *e, const char *text);

// X_print: as value_print().
void cpus_print(const struct conf_cpus *cpus, const char *zero, struct text *out);
void address_print(const struct ip_addr *a, struct text *out);
void prefixes_print(const struct conf_prefixes *list, struct text *out);
void mac_print(const struct mac_addr *mac, struct text *out);
void neighbors_print(const struct conf_neighbors *list, struct text *out);
void routes_print(const struct conf_routes *list, struct text *out);
void set_print(const struct key *k, uint32_t set, struct text *out);
void ports_print(const struct conf_tcp_ports *list, struct text *out);
void names_print(const struct conf_names *list, struct text *out);
void endpoint_print(const struct conf_endpoint *e, struct text *out);

// cpus_has: whether the list contains the core.
bool cpus_has(const struct conf_cpus *cpus, unsigned id);

static inline bool prefix_has(const struct conf_prefix *p, const struct ip_addr *a)
{
    return ip_in_prefix(a, &p->addr, p->bits);
}

static inline bool mac_is_zero(const struct mac_addr *m)
{
    return (m->b[0] | m->b[1] | m->b[2] | m->b[3] | m->b[4] | m->b[5]) == 0;
}
