// SPDX-License-Identifier: BSD-3-Clause
#include "server/conn_filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "tcp/tcp_state.h"

enum { IDLE_S_MAX = 2000000 };  // 23 days, because the clock of milliseconds wraps after 49

static int port_of(const char *text, uint16_t *port)
{
    uint64_t n;
    const int rc = words_number(text, 1, UINT16_MAX, &n);
    if (rc == 0)
        *port = (uint16_t)n;
    return rc;
}

// Parses ADDRESS or ADDRESS/BITS.
static int prefix_of(char *text, struct ip_addr *addr, unsigned *bits)
{
    char *slash = strchr(text, '/');
    uint64_t n;
    if (slash != NULL)
        *slash = '\0';
    if (!ip_parse(text, addr))
        return -EINVAL;
    *bits = ip_bits(addr);
    if (slash == NULL)
        return 0;
    const int rc = words_number(slash + 1, 0, *bits, &n);
    if (rc == 0)
        *bits = (unsigned)n;
    return rc;
}

int conn_end_parse(char *text, struct conn_end *out)
{
    char *port = NULL;
    *out = (struct conn_end){0};
    if (text[0] == '[') {
        char *end = strchr(text, ']');
        if (end == NULL || (end[1] != ':' && end[1] != '\0'))
            return -EINVAL;
        port = end[1] == ':' ? end + 2 : NULL;
        *end = '\0';
        text++;
    } else if (strchr(text, ':') == strrchr(text, ':') && strchr(text, ':') != NULL) {
        port = strchr(text, ':') + 1;  // one colon: not IPv6
        port[-1] = '\0';
    }
    out->has_port = port != NULL;
    int rc = port == NULL ? 0 : port_of(port, &out->port);
    if (rc == 0 && strcmp(text, "*") != 0) {
        out->has_addr = true;
        rc = prefix_of(text, &out->addr, &out->bits);
    }
    return rc == 0 && !out->has_port && !out->has_addr ? -EINVAL : rc;
}

static int parse_local(struct kill_filter *f, char *text)
{
    struct conn_end p;
    const int rc = conn_end_parse(text, &p);
    if (rc != 0 || (f->by & (KILL_LOCAL | KILL_LOCAL_PORT)))
        return rc != 0 ? rc : -EINVAL;
    if (p.has_addr && p.bits != ip_bits(&p.addr))
        return -EINVAL;
    f->by |= (p.has_addr ? KILL_LOCAL : 0u) | (p.has_port ? KILL_LOCAL_PORT : 0u);
    f->local = p.addr;
    f->local_port = p.port;
    return 0;
}

static int parse_remote(struct kill_filter *f, char *text)
{
    struct conn_end p;
    const int rc = conn_end_parse(text, &p);
    if (rc != 0 || (f->by & (KILL_REMOTE | KILL_REMOTE_PORT)))
        return rc != 0 ? rc : -EINVAL;
    f->by |= (p.has_addr ? KILL_REMOTE : 0u) | (p.has_port ? KILL_REMOTE_PORT : 0u);
    f->remote = p.addr;
    f->remote_bits = p.bits;
    f->remote_port = p.port;
    return 0;
}

// States without a connection block cannot be selected.
static int parse_state(struct kill_filter *f, const char *text)
{
    for (int s = TCP_ESTABLISHED; s < TCP_STATE_COUNT; s++) {
        if (s == TCP_TIME_WAIT || s == TCP_CLOSED || s == TCP_CLOSING - 1 ||
            strcasecmp(tcp_state_name((enum tcp_state)s), text) != 0)
            continue;
        if (f->by & KILL_STATE)
            return -EINVAL;
        f->by |= KILL_STATE;
        f->state = (uint8_t)s;
        return 0;
    }
    return -EINVAL;
}

static int parse_idle(struct kill_filter *f, const char *text)
{
    uint64_t s;
    const int rc = words_number(text, 1, IDLE_S_MAX, &s);
    if (rc != 0 || (f->by & KILL_IDLE))
        return rc != 0 ? rc : -EINVAL;
    f->by |= KILL_IDLE;
    f->idle_ms = (uint32_t)s * 1000;
    return 0;
}

// service_of: its index; -1: there is none of this name.
static int service_of(const struct server_params *p, const char *name)
{
    for (unsigned i = 0; i < p->n_services; i++)
        if (strcmp(p->services[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int parse_service(const struct server_params *p, struct kill_filter *f, const char *name)
{
    const int ix = service_of(p, name);
    if (ix < 0 || (f->by & KILL_SERVICE))
        return -EINVAL;
    f->by |= KILL_SERVICE;
    f->service = (uint8_t)ix;
    return 0;
}

static int parse_term(const struct server_params *p, struct kill_filter *f, const char *what,
                      char *value)
{
    if (strcmp(what, "local") == 0)
        return parse_local(f, value);
    if (strcmp(what, "remote") == 0)
        return parse_remote(f, value);
    if (strcmp(what, "state") == 0)
        return parse_state(f, value);
    if (strcmp(what, "idle") == 0)
        return parse_idle(f, value);
    return strcmp(what, "service") == 0 ? parse_service(p, f, value) : -EINVAL;
}

static bool is_ours(const struct server_params *p, const struct ip_addr *a)
{
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_locals; k++)
            if (ip_equal(&p->ports[i].net.locals[k].addr, a))
                return !ip_is_any(a);  // a place without an address
    return false;
}

// Parses both ends of one connection, in either order.
static int parse_tuple(const struct server_params *p, struct kill_filter *f, char *a, char *b)
{
    struct conn_end ends[2];
    char *const texts[] = {a, b};
    for (unsigned i = 0; i < 2; i++) {
        const int rc = conn_end_parse(texts[i], &ends[i]);
        if (rc != 0)
            return rc;
        if (!ends[i].has_addr || !ends[i].has_port || ends[i].bits != ip_bits(&ends[i].addr))
            return -EINVAL;
    }
    const unsigned ours = is_ours(p, &ends[0].addr) ? 0 : 1;
    if (!is_ours(p, &ends[ours].addr))
        return -EINVAL;
    *f = (struct kill_filter){.by = KILL_LOCAL | KILL_LOCAL_PORT | KILL_REMOTE | KILL_REMOTE_PORT,
                              .local = ends[ours].addr,
                              .local_port = ends[ours].port,
                              .remote = ends[!ours].addr,
                              .remote_port = ends[!ours].port,
                              .remote_bits = ends[!ours].bits};
    return 0;
}

int conn_filter_parse(const struct server_params *p, char *line, struct kill_filter *f)
{
    char *words[CONN_FILTER_WORDS_MAX];
    const int n = words_split(line, words, CONN_FILTER_WORDS_MAX);
    *f = (struct kill_filter){0};
    if (n == 1 && strcmp(words[0], "all") == 0)
        return 0;
    if (n == 2 && strchr(words[0], ':') != NULL)
        return parse_tuple(p, f, words[0], words[1]);
    if (n <= 0 || n % 2 != 0)
        return -EINVAL;
    for (int i = 0; i < n; i += 2) {
        const int rc = parse_term(p, f, words[i], words[i + 1]);
        if (rc != 0)
            return rc;
    }
    return 0;
}
