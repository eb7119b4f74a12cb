// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf/conf_load.h"
#include "conf/lists.h"
#include "conf/spelling.h"
#include "conf/value.h"

enum { BUFFER_BYTES = 2048 };  // bytes of one of [memory] buffers

// similar_word: copies to `word` the first word of "a|b|c" that resembles the text. Returns false
// if there is none.
static bool similar_word(const char *words, const char *text, char word[CONF_NAME_BYTES])
{
    for (;;) {
        size_t n = strcspn(words, "|");
        if (n < CONF_NAME_BYTES) {
            memcpy(word, words, n);
            word[n] = '\0';
            if (spelling_is_near(text, spelling_distance(word, text)))
                return true;
        }
        if (words[n] == '\0')
            return false;
        words += n + 1;
    }
}

static void check_app(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(service, app);
    const char *app = l->c->services[at].app, *apps = l->host->apps;
    if (apps == NULL || !key_good(l, k, at) || word_index(apps, app) >= 0)
        return;
    char similar[CONF_NAME_BYTES];
    bool found = similar_word(apps, app, similar);
    struct text t;
    text_init(&t, CONF_LINE_BYTES);
    words_list(apps, &t);
    fail_key(l, k, at, "expected %s, got \"%s\"%s%s%s", text_str(&t), app,
             found ? "; did you mean " : "", found ? similar : "", found ? "?" : "");
    text_free(&t);
}

static void check_root(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(service, root);
    const struct conf_service *s = &l->c->services[at];
    const bool hosts = s->host[0] != '\0' || !key_good(l, KEY_AT(service, host), at);
    if (strcmp(s->app, "http") == 0 && s->root[0] == '\0' && !hosts && key_good(l, k, at))
        fail_key(l, k, at, "missing: expected the directory to serve");
}

static void check_upstream(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(service, upstream);
    const struct conf_service *s = &l->c->services[at];
    if (strcmp(s->app, "proxy") == 0 && s->upstream.port == 0 && key_good(l, k, at))
        fail_key(l, k, at, "missing: expected the address and port to relay to, as 10.0.0.1:80");
}

// The path of a URL begins with /. The application checks the rest of it.
static void check_url_path(struct load *l, const struct key *k, unsigned at, const char *path)
{
    if (path[0] != '\0' && path[0] != '/' && key_good(l, k, at))
        fail_key(l, k, at, "expected a path that begins with /, got %s", path);
}

static void check_buffers(struct load *l, unsigned at)
{
    const struct key *send = KEY_AT(service, send_buffer), *recv = KEY_AT(service, receive_buffer),
                     *header = KEY_AT(service, header_bytes_max);
    const struct conf_service *s = &l->c->services[at];
    uint64_t room = (uint64_t)l->c->memory.buffers * BUFFER_BYTES;
    if (!key_good(l, KEY_AT(memory, buffers), 0))
        return;
    if (s->send_buffer > room && key_good(l, send, at))
        fail_key(l, send, at, "expected at most %llu bytes ([memory] buffers = %u of %d), got %u",
                 (unsigned long long)room, l->c->memory.buffers, BUFFER_BYTES, s->send_buffer);
    if (s->receive_buffer > room && key_good(l, recv, at))
        fail_key(l, recv, at, "expected at most %llu bytes ([memory] buffers = %u of %d), got %u",
                 (unsigned long long)room, l->c->memory.buffers, BUFFER_BYTES, s->receive_buffer);
    const uint32_t window = MIN(s->receive_buffer, s->receive_buffer_initial);
    if (key_applies(header, s->app) && s->header_bytes_max > window && key_good(l, header, at) &&
        key_good(l, recv, at))
        fail_key(l, header, at, "expected at most %s = %u bytes, got %u",
                 window == s->receive_buffer ? "receive_buffer" : "receive_buffer_initial", window,
                 s->header_bytes_max);
}

// Each worker has a part of the limit. A worker whose part is 0 would refuse every connection.
static void check_limits(struct load *l, unsigned at)
{
    const struct conf_service *s = &l->c->services[at];
    const struct key *keys[] = {KEY_AT(service, limit_connections),
                                KEY_AT(service, source_connections)};
    const uint32_t limits[] = {s->limit_connections, s->source_connections};
    const uint32_t workers = conf_workers(l->c);
    for (unsigned i = 0; i < ARRAY_LEN(keys); i++)
        if (limits[i] != 0 && limits[i] < workers && key_good(l, keys[i], at))
            fail_key(l, keys[i], at, "expected at least %u, one for each worker, got %u", workers,
                     limits[i]);
}

static bool is_local(const struct conf *c, const struct ip_addr *a)
{
    for (unsigned i = 0; i < c->n_ports; i++)
        for (unsigned j = 0; j < c->ports[i].address.n; j++)
            if (ip_equal(&c->ports[i].address.at[j].addr, a))
                return true;
    return false;
}

static void check_address(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(service, address);
    const struct ip_addr *a = &l->c->services[at].address;
    for (unsigned i = 0; i < l->c->n_ports; i++)
        if (!key_good(l, KEY_AT(port, address), i))
            return;
    if (ip_is_zero(a) || is_local(l->c, a) || !key_good(l, k, at))
        return;
    struct text t;
    text_init(&t, CONF_LINE_BYTES);
    address_print(a, &t);
    fail_key(l, k, at, "expected an address of a [port NAME], got %s", text_str(&t));
    text_free(&t);
}

static bool listens(const struct conf_service *s, uint16_t port)
{
    for (unsigned i = 0; i < s->port.n; i++)
        if (s->port.at[i] == port)
            return true;
    return false;
}

// Two services may share a TCP port only on two different addresses.
static void check_listens(struct load *l, unsigned at)
{
    const struct key *k = KEY_AT(service, port);
    const struct conf_service *s = &l->c->services[at];
    for (unsigned i = 0; i < at; i++) {
        const struct conf_service *other = &l->c->services[i];
        bool apart = !ip_is_zero(&s->address) && !ip_is_zero(&other->address) &&
                     !ip_equal(&s->address, &other->address);
        for (unsigned j = 0; j < s->port.n && !apart; j++)
            if (listens(other, s->port.at[j]) && key_good(l, k, at))
                fail_key(l, k, at,
                         "expected a TCP port that no other service has, got %u of service %s",
                         s->port.at[j], other->name);
    }
}

// The tree and the counters show the agent as a service whose name is agent.
static void check_agent(struct load *l)
{
    const struct key *k = KEY_AT(agent, socket);
    const struct conf *c = l->c;
    if (c->agent.socket[0] == '\0' || !key_good(l, k, 0))
        return;
    for (unsigned i = 0; i < c->n_services; i++)
        if (strcmp(c->services[i].name, "agent") == 0)
            fail_key(l, k, 0, "expected no [service agent] together with it, got one");
    if (c->n_services == CONF_SERVICES_MAX)
        fail_key(l, k, 0, "expected at most %d services together with it, got %d",
                 CONF_SERVICES_MAX - 1, CONF_SERVICES_MAX);
    if (c->n_ports == 0)
        fail_key(l, k, 0, "expected a [port NAME] for its connections, got none");
}

void check_services(struct load *l)
{
    unsigned n_listens = 0;
    for (unsigned i = 0; i < l->c->n_services; i++) {
        check_app(l, i);
        check_root(l, i);
        check_upstream(l, i);
        check_url_path(l, KEY_AT(service, echo_path), i, l->c->services[i].echo_path);
        check_url_path(l, KEY_AT(service, headers_path), i, l->c->services[i].headers_path);
        check_buffers(l, i);
        check_limits(l, i);
        check_address(l, i);
        check_listens(l, i);
        n_listens += l->c->services[i].port.n;
        if (n_listens > CONF_LISTENS_MAX &&
            n_listens - l->c->services[i].port.n <= CONF_LISTENS_MAX)
            fail_key(l, KEY_AT(service, port), i,
                     "expected at most %d TCP ports of all services together, got more",
                     CONF_LISTENS_MAX);
    }
    check_agent(l);
    if (l->c->n_ports == 0 && l->c->n_services > 0)
        fail_key(l, KEY_AT(service, port), 0, "expected a [port NAME] to listen on, got none");
}
