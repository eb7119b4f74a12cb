// SPDX-License-Identifier: BSD-3-Clause
#include "conf/lists.h"

#include <arpa/inet.h>
#include <string.h>

enum { ITEM_BYTES = 128 };  // the longest item is a route: 43 + 3 + 39 characters and blanks

static const char blanks[] = " \t";

// next_item: copies the item before the next comma, without the blanks around it. Sets *at to the
// text after the comma, or to NULL after the last item. Returns false if the item is empty or too
// long; got then has the item.
static bool next_item(const char **at, char item[ITEM_BYTES], char got[VALUE_GOT_BYTES])
{
    const char *from = *at + strspn(*at, blanks);
    size_t n = strcspn(from, ",");
    *at = from[n] == ',' ? from + n + 1 : NULL;
    while (n > 0 && strchr(blanks, from[n - 1]) != NULL)
        n--;
    got_copy(got, from, n);
    if (n == 0 || n >= ITEM_BYTES)
        return false;
    memcpy(item, from, n);
    item[n] = '\0';
    return true;
}

// small_number: parses a decimal number that ends at `end`, has at most five digits and is at most
// max.
static bool small_number(const char *text, const char *end, uint32_t max, uint32_t *value)
{
    if (end == text || end - text > 5)
        return false;
    *value = 0;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        *value = *value * 10 + (uint32_t)(*text - '0');
    }
    return *value <= max;
}

// cpu_range: parses an item of a list of cores, "3" or "4-7", and marks its cores in seen. A core
// that is marked already is an error.
static bool cpu_range(const char *item, bool seen[CONF_CPU_ID_MAX + 1])
{
    const char *dash = strchr(item, '-'), *end = item + strlen(item);
    uint32_t first, last;
    if (!small_number(item, dash == NULL ? end : dash, CONF_CPU_ID_MAX, &first))
        return false;
    last = first;
    if (dash != NULL && !small_number(dash + 1, end, CONF_CPU_ID_MAX, &last))
        return false;
    for (uint32_t id = first; id <= last; id++) {
        if (seen[id])
            return false;
        seen[id] = true;
    }
    return first <= last;
}

bool cpus_parse(struct conf_cpus *cpus, const char *zero, const char *text,
                char got[VALUE_GOT_BYTES])
{
    bool seen[CONF_CPU_ID_MAX + 1] = {false};
    struct conf_cpus list;
    memset(&list, 0, sizeof(list));
    if (strcmp(text, zero) != 0) {
        char item[ITEM_BYTES];
        for (const char *at = text; at != NULL;)
            if (!next_item(&at, item, got) || !cpu_range(item, seen))
                return false;
        got_copy(got, text, strlen(text));
    }
    for (unsigned id = 0; id <= CONF_CPU_ID_MAX; id++) {
        if (!seen[id])
            continue;
        if (list.n == CONF_CPUS_MAX)
            return false;
        list.id[list.n++] = (uint16_t)id;
    }
    *cpus = list;
    return true;
}

void cpus_print(const struct conf_cpus *cpus, const char *zero, struct text *out)
{
    if (cpus->n == 0)
        text_printf(out, "%s", zero);
    for (unsigned i = 0, j; i < cpus->n; i = j) {
        for (j = i + 1; j < cpus->n && cpus->id[j] == cpus->id[j - 1] + 1; j++)
            ;
        text_printf(out, "%s%u", i == 0 ? "" : ",", cpus->id[i]);
        if (j - i > 1)
            text_printf(out, "-%u", cpus->id[j - 1]);
    }
}

bool cpus_has(const struct conf_cpus *cpus, unsigned id)
{
    for (unsigned i = 0; i < cpus->n; i++)
        if (cpus->id[i] == id)
            return true;
    return false;
}

// address_parse: refuses 0.0.0.0 and ::, which are addresses of no host.
bool address_parse(struct ip_addr *a, const char *text)
{
    static const struct ip_addr none4 = {{[10] = 0xff, [11] = 0xff}};
    struct ip_addr got;
    if (!ip_parse(text, &got) || ip_is_zero(&got) || ip_equal(&got, &none4))
        return false;
    *a = got;
    return true;
}

static void put_address(const struct ip_addr *a, struct text *out)
{
    char host[IP_TEXT_BYTES];
    text_printf(out, "%s", ip_text(a, host));
}

void address_print(const struct ip_addr *a, struct text *out)
{
    if (!ip_is_zero(a))
        put_address(a, out);
}

static bool prefix_parse(struct conf_prefix *prefix, const char *text)
{
    const char *slash = strchr(text, '/');
    char address[INET6_ADDRSTRLEN];
    struct conf_prefix p;
    if (slash == NULL || slash - text >= (ptrdiff_t)sizeof(address))
        return false;
    memcpy(address, text, (size_t)(slash - text));
    address[slash - text] = '\0';
    if (!address_parse(&p.addr, address) ||
        !small_number(slash + 1, text + strlen(text), ip_bits(&p.addr), &p.bits) || p.bits == 0)
        return false;
    *prefix = p;
    return true;
}

static void prefix_print(const struct conf_prefix *prefix, struct text *out)
{
    put_address(&prefix->addr, out);
    text_printf(out, "/%u", prefix->bits);
}

bool prefixes_parse(struct conf_prefixes *list, const char *text, char got[VALUE_GOT_BYTES])
{
    struct conf_prefixes l = *list;
    char item[ITEM_BYTES];
    for (const char *at = text; at != NULL;)
        if (!next_item(&at, item, got) || l.n == CONF_ADDRESSES_MAX ||
            !prefix_parse(&l.at[l.n++], item))
            return false;
    *list = l;
    return true;
}

void prefixes_print(const struct conf_prefixes *list, struct text *out)
{
    for (unsigned i = 0; i < list->n; i++) {
        text_printf(out, "%s", i == 0 ? "" : ", ");
        prefix_print(&list->at[i], out);
    }
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool mac_parse(struct mac_addr *mac, const char *text)
{
    struct mac_addr m;
    if (strlen(text) != 17)
        return false;
    for (unsigned i = 0; i < 6; i++) {
        const char *p = text + 3 * i;
        if (hex(p[0]) < 0 || hex(p[1]) < 0 || (i < 5 && p[2] != ':'))
            return false;
        m.b[i] = (uint8_t)(hex(p[0]) << 4 | hex(p[1]));
    }
    if ((m.b[0] & 1) != 0 || mac_is_zero(&m))
        return false;
    *mac = m;
    return true;
}

void mac_print(const struct mac_addr *mac, struct text *out)
{
    for (unsigned i = 0; i < 6 && !mac_is_zero(mac); i++)
        text_printf(out, "%s%02x", i == 0 ? "" : ":", mac->b[i]);
}

static bool neighbor_parse(struct conf_neighbor *n, char *item)
{
    size_t len = strcspn(item, blanks);
    if (item[len] == '\0')
        return false;
    item[len] = '\0';
    const char *mac = item + len + 1;
    return address_parse(&n->addr, item) && mac_parse(&n->mac, mac + strspn(mac, blanks));
}

bool neighbors_parse(struct conf_neighbors *list, const char *text, char got[VALUE_GOT_BYTES])
{
    struct conf_neighbors l;
    memcpy(&l, list, sizeof(l));
    char item[ITEM_BYTES];
    for (const char *at = text; at != NULL;)
        if (!next_item(&at, item, got) || l.n == CONF_NEIGHBORS_MAX ||
            !neighbor_parse(&l.at[l.n++], item))
            return false;
    memcpy(list, &l, sizeof(l));
    return true;
}

void neighbors_print(const struct conf_neighbors *list, struct text *out)
{
    for (unsigned i = 0; i < list->n; i++) {
        text_printf(out, "%s", i == 0 ? "" : ", ");
        put_address(&list->at[i].addr, out);
        text_printf(out, " ");
        mac_print(&list->at[i].mac, out);
    }
}

// route_parse: an item such as "10.1.0.0/16 via 10.0.0.9".
static bool route_parse(struct conf_route *r, char *item)
{
    char *to = strtok_r(item, blanks, &item), *via = strtok_r(NULL, blanks, &item),
         *hop = strtok_r(NULL, blanks, &item);
    return hop != NULL && strtok_r(NULL, blanks, &item) == NULL && strcmp(via, "via") == 0 &&
           prefix_parse(&r->to, to) && address_parse(&r->via, hop);
}

bool routes_parse(struct conf_routes *list, const char *text, char got[VALUE_GOT_BYTES])
{
    struct conf_routes l = *list;
    char item[ITEM_BYTES];
    for (const char *at = text; at != NULL;)
        if (!next_item(&at, item, got) || l.n == CONF_ROUTES_MAX ||
            !route_parse(&l.at[l.n++], item))
            return false;
    *list = l;
    return true;
}

void routes_print(const struct conf_routes *list, struct text *out)
{
    for (unsigned i = 0; i < list->n; i++) {
        text_printf(out, "%s", i == 0 ? "" : ", ");
        prefix_print(&list->at[i].to, out);
        text_printf(out, " via ");
        put_address(&list->at[i].via, out);
    }
}

static bool has_name(const struct conf_names *l, const char *name)
{
    for (unsigned i = 0; i < l->n; i++)
        if (strcmp(l->at[i], name) == 0)
            return true;
    return false;
}

bool names_parse(struct conf_names *list, const char *text, char got[VALUE_GOT_BYTES])
{
    struct conf_names l;
    memset(&l, 0, sizeof(l));
    char item[ITEM_BYTES];
    for (const char *at = text; at != NULL;) {
        if (!next_item(&at, item, got) || l.n == CONF_MEMBERS_MAX || !is_name(item) ||
            has_name(&l, item))
            return false;
        strcpy(l.at[l.n++], item);
    }
    *list = l;
    return true;
}

void names_print(const struct conf_names *list, struct text *out)
{
    for (unsigned i = 0; i < list->n; i++)
        text_printf(out, "%s%s", i == 0 ? "" : ", ", list->at[i]);
}

static bool port_parse(struct conf_tcp_ports *l, const char *item)
{
    uint32_t port;
    if (l->n == CONF_SERVICE_PORTS_MAX ||
        !small_number(item, item + strlen(item), UINT16_MAX, &port) || port == 0)
        return false;
    for (unsigned i = 0; i < l->n; i++)
        if (l->at[i] == port)
            return false;
    l->at[l->n++] = (uint16_t)port;
    return true;
}

bool ports_parse(struct conf_tcp_ports *list, const char *text, char got[VALUE_GOT_BYTES])
{
    struct conf_tcp_ports l;
    memset(&l, 0, sizeof(l));
    char item[ITEM_BYTES];
    for (const char *at = text; at != NULL;)
        if (!next_item(&at, item, got) || !port_parse(&l, item))
            return false;
    *list = l;
    return true;
}

void ports_print(const struct conf_tcp_ports *list, struct text *out)
{
    for (unsigned i = 0; i < list->n; i++)
        text_printf(out, "%s%u", i == 0 ? "" : ", ", list->at[i]);
}

// endpoint_parse: an address and a port, such as "10.0.0.1:80" or "[fd00::1]:80".
bool endpoint_parse(struct conf_endpoint *e, const char *text)
{
    const bool bracket = text[0] == '[';
    const char *from = text + bracket, *to = strchr(from, bracket ? ']' : ':');
    char host[IP_TEXT_BYTES +
              6];  // 45 characters at most, with an embedded IPv4 address (RFC 4291 2.2)
    struct ip_addr addr;
    uint32_t port;
    if (to == NULL || (size_t)(to - from) >= sizeof(host) || (bracket && to[1] != ':'))
        return false;
    memcpy(host, from, (size_t)(to - from));
    host[to - from] = '\0';
    if (!ip_parse(host, &addr) || (bracket && strchr(host, ':') == NULL) ||
        !small_number(to + 1 + bracket, text + strlen(text), UINT16_MAX, &port) || port == 0)
        return false;
    *e = (struct conf_endpoint){addr, (uint16_t)port};
    return true;
}

void endpoint_print(const struct conf_endpoint *e, struct text *out)
{
    char host[IP_TEXT_BYTES];
    if (e->port != 0)
        text_printf(out, ip_is_v4(&e->addr) ? "%s:%u" : "[%s]:%u", ip_text(&e->addr, host),
                    e->port);
}

bool set_parse(const struct key *k, uint32_t *set, const char *text, char got[VALUE_GOT_BYTES])
{
    uint32_t bits = CONF_SET_GIVEN;
    char item[ITEM_BYTES];
    const bool is_zero = strcmp(text, k->zero) == 0;
    for (const char *at = is_zero || strcmp(text, "none") == 0 ? NULL : text; at != NULL;) {
        if (!next_item(&at, item, got))
            return false;
        const int word = word_index(k->words, item);
        if (word < 0 || (bits >> word & 1) != 0)
            return false;
        bits |= UINT32_C(1) << word;
    }
    *set = is_zero ? 0 : bits;
    return true;
}

void set_print(const struct key *k, uint32_t set, struct text *out)
{
    const char *separator = "", *word = k->words;
    if (set == 0 || set == CONF_SET_GIVEN)
        text_printf(out, "%s", set == 0 ? k->zero : "none");
    for (unsigned i = 0; set >> i != 0 && i < 31; i++) {
        const size_t n = strcspn(word, "|");
        if ((set >> i & 1) != 0) {
            text_printf(out, "%s", separator);
            text_put(out, word, n);
            separator = ", ";
        }
        if (word[n] == '\0')
            return;
        word += n + 1;
    }
}
