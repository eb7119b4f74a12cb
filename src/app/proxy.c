// SPDX-License-Identifier: BSD-3-Clause
// proxy.c: a TCP proxy. For each accepted connection it opens one to `upstream` and relays bytes in
// both directions until both sides have closed.
//
//   client -----> [ paused ] --c10m_connect--> upstream: SYN-SENT
//                     |  upstream's `open` resumes the client
//                     v
//   client <====== bytes ======> upstream      a FIN is a FIN on the other side, once all before it
//                                              was queued there; a reset is a reset
//
// The proxy has no buffers. Bytes that do not fit into the send queue of one connection stay
// unconsumed on the other one, which is paused (c10m_pause()), so that its window closes, until
// `writable`. Each connection stores the handle of the other one.
//
// A pair goes on in another process (proxy_adopted()). If only one of the two does, it is reset.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/apps.h"

// X(name, help)
#define PROXY_COUNTERS(X)                                                                          \
    X(connected, "connections to upstream that were established")                                  \
    X(failed, "connections to upstream that failed: refused, no answer, no free port or block")    \
    X(given_up,                                                                                    \
      "connections to upstream given up because the client closed before they were established")   \
    X(bytes_up, "bytes relayed from clients to upstream")                                          \
    X(bytes_down, "bytes relayed from upstream to clients")                                        \
    X(client_aborts, "established pairs ended because the client sent RST or stopped answering")   \
    X(upstream_aborts, "established pairs ended because upstream sent RST or stopped answering")   \
    X(idle, "pairs ended because neither peer acknowledged a byte for idle_timeout_ms")

enum proxy_counter {
#define PROXY_COUNTER_ENUM(name, help) COUNT_##name,
    PROXY_COUNTERS(PROXY_COUNTER_ENUM)
#undef PROXY_COUNTER_ENUM
        COUNTERS_N,
};

enum {
    IDLE_LOOKS = 4,  // checks in idle_timeout_ms: a pair ends at most a quarter of it late
    CONNECT_MS_DEFAULT = 10000,
    IDLE_MS_DEFAULT = 300000,
    MS_MAX = 1 << 30,
};

struct proxy {
    uint8_t addr[16];  // IPv4 mapped
    uint16_t port;
    uint32_t connect_ms, idle_ms;  // idle_ms 0: no limit
    int counters[COUNTERS_N];
};

struct proxy_conn {
    uint64_t other;               // handle of the other connection; 0: none
    uint32_t taken, other_taken;  // c10m_send_taken() of both at the last check
    uint8_t looks;                // checks since the last change
    bool is_upstream;
    bool is_open;  // upstream is established
    bool ended;    // the client: its FIN was received
    bool alone;    // the other one has closed in order, and everything was relayed
};

_Static_assert(sizeof(struct proxy_conn) <= C10M_STATE_BYTES, "the state must fit into the block");

static struct proxy *proxy_of(struct c10m_conn *c)
{
    return c10m_service_data(c10m_service_of(c));
}

static void count(struct c10m_conn *c, enum proxy_counter counter, uint64_t n)
{
    c10m_count(c, proxy_of(c)->counters[counter], n);
}

static struct c10m_conn *other_of(struct c10m_conn *c)
{
    const struct proxy_conn *st = c10m_state(c);
    return st->other == 0 ? NULL : c10m_find(c, st->other);
}

// Parses "10.0.0.1:80" or "[fd00::1]:80".
static bool read_upstream(struct proxy *p, const char *text)
{
    char host[INET6_ADDRSTRLEN];
    const bool bracket = text[0] == '[';
    const char *from = text + bracket, *to = strchr(from, bracket ? ']' : ':');
    if (to == NULL || (size_t)(to - from) >= sizeof(host) || (bracket && to[1] != ':'))
        return false;
    memcpy(host, from, (size_t)(to - from));
    host[to - from] = '\0';
    const char *number = to + 1 + bracket;
    char *end;
    const unsigned long port = strtoul(number, &end, 10);
    if (number[0] < '0' || number[0] > '9' || *end != '\0' || port == 0 || port > UINT16_MAX)
        return false;
    p->port = (uint16_t)port;
    memset(p->addr, 0, 10);
    p->addr[10] = p->addr[11] = 0xff;
    return bracket ? inet_pton(AF_INET6, host, p->addr) == 1
                   : inet_pton(AF_INET, host, p->addr + 12) == 1;
}

static bool read_ms(const struct c10m_service *s, const char *key, bool may_be_off, uint32_t *ms)
{
    const char *text = c10m_service_param(s, key);
    if (text == NULL)
        return true;
    *ms = 0;
    if (may_be_off && strcmp(text, "off") == 0)
        return true;
    char *end;
    const unsigned long n = strtoul(text, &end, 10);
    *ms = (uint32_t)n;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && n >= 1 && n <= MS_MAX;
}

static const char *read_params(const struct c10m_service *s, struct proxy *p)
{
    const char *upstream = c10m_service_param(s, "upstream");
    p->connect_ms = CONNECT_MS_DEFAULT;
    p->idle_ms = IDLE_MS_DEFAULT;
    if (upstream == NULL || !read_upstream(p, upstream))
        return "upstream: expected ADDRESS:PORT, for example 10.0.0.1:80 or [fd00::1]:80";
    if (!read_ms(s, "connect_timeout_ms", false, &p->connect_ms))
        return "connect_timeout_ms: expected milliseconds from 1 to 1073741824";
    if (!read_ms(s, "idle_timeout_ms", true, &p->idle_ms))
        return "idle_timeout_ms: expected off or milliseconds from 1 to 1073741824";
    return NULL;
}

static const char *register_counters(struct c10m_service *s, struct proxy *p)
{
    static const struct {
        const char *name, *help;
    } rows[] = {
#define PROXY_COUNTER_ROW(name, help) {#name, help},
        PROXY_COUNTERS(PROXY_COUNTER_ROW)
#undef PROXY_COUNTER_ROW
    };
    for (int i = 0; i < COUNTERS_N; i++) {
        p->counters[i] = c10m_counter(s, rows[i].name, rows[i].help);
        if (p->counters[i] < 0)
            return "the service has no free counters";
    }
    return NULL;
}

static int proxy_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    struct proxy *p = calloc(1, sizeof(*p));
    const char *wrong = p == NULL ? "no memory" : read_params(s, p);
    if (wrong == NULL)
        wrong = register_counters(s, p);
    if (wrong != NULL) {
        snprintf(err, err_bytes, "%s", wrong);
        free(p);
        return -1;
    }
    c10m_service_set_data(s, p);
    return 0;
}

static void proxy_fini(struct c10m_service *s)
{
    free(c10m_service_data(s));
}

static void watch(struct c10m_conn *c)
{
    const uint32_t ms = proxy_of(c)->idle_ms;
    if (ms != 0)
        c10m_set_timer(c, ms / IDLE_LOOKS + (ms < IDLE_LOOKS));
}

static void client_open(struct c10m_conn *c)
{
    const struct proxy *p = proxy_of(c);
    struct proxy_conn *st = c10m_state(c), *upstream;
    struct c10m_conn *made;
    c10m_pause(c);
    if (c10m_connect(c, p->addr, p->port, &made) != 0) {
        count(c, COUNT_failed, 1);
        c10m_abort(c);
        return;
    }
    upstream = c10m_state(made);
    upstream->is_upstream = true;
    upstream->other = c10m_handle(c);
    st->other = c10m_handle(made);
    c10m_set_timer(made, p->connect_ms);
}

static void proxy_open(struct c10m_conn *c)
{
    struct proxy_conn *st = c10m_state(c);
    struct c10m_conn *client = other_of(c);
    if (!st->is_upstream) {
        client_open(c);
        return;
    }
    st->is_open = true;
    count(c, COUNT_connected, 1);
    c10m_set_timer(c, 0);
    if (client == NULL) {  // the client has closed in this turn
        c10m_abort(c);
        return;
    }
    const struct proxy_conn *of_client = c10m_state(client);
    watch(client);
    watch(c);
    if (of_client->ended)
        c10m_shutdown(c);
    c10m_resume(client);
}

static size_t proxy_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    const struct proxy_conn *st = c10m_state(c);
    struct c10m_conn *other = other_of(c);
    if (other == NULL)
        return len;
    const size_t n = c10m_send(other, data, len);
    count(c, st->is_upstream ? COUNT_bytes_down : COUNT_bytes_up, n);
    if (n < len)
        c10m_pause(c);
    return n;
}

static void proxy_end(struct c10m_conn *c)
{
    struct proxy_conn *st = c10m_state(c);
    struct c10m_conn *other = other_of(c);
    const struct proxy_conn *of_other = other == NULL ? NULL : c10m_state(other);
    st->ended = true;
    if (other != NULL && (st->is_open || of_other->is_open))
        c10m_shutdown(other);
}

static void proxy_writable(struct c10m_conn *c)
{
    struct c10m_conn *other = other_of(c);
    if (other != NULL)
        c10m_resume(other);
}

static bool differs(uint32_t *seen, struct c10m_conn *c)
{
    const uint32_t before = *seen;
    *seen = c == NULL ? before : c10m_send_taken(c);
    return *seen != before;
}

// Ends the pair if neither peer has acknowledged data for IDLE_LOOKS checks.
static void look(struct c10m_conn *c)
{
    struct proxy_conn *st = c10m_state(c);
    const bool moved = differs(&st->taken, c) | differs(&st->other_taken, other_of(c));
    st->looks = moved ? 0 : st->looks + 1;
    if (st->looks < IDLE_LOOKS) {
        watch(c);
        return;
    }
    count(c, COUNT_idle, 1);
    c10m_abort(c);
}

static void proxy_timer(struct c10m_conn *c)
{
    const struct proxy_conn *st = c10m_state(c);
    if (st->is_upstream && !st->is_open)
        c10m_abort(c);
    else
        look(c);
}

// If one connection ends in another way than an orderly close, including c10m_abort(), the other
// one is reset.
static void proxy_close(struct c10m_conn *c, enum c10m_close why)
{
    const struct proxy_conn *st = c10m_state(c);
    struct c10m_conn *other = other_of(c);
    if (st->is_upstream && !st->is_open)
        count(c, other != NULL ? COUNT_failed : COUNT_given_up, 1);
    if (other == NULL)
        return;
    struct proxy_conn *of_other = c10m_state(other);
    of_other->alone = why == C10M_CLOSED;
    if (why == C10M_CLOSED)
        return;
    if ((why == C10M_RESET || why == C10M_TIMED_OUT) && (st->is_open || of_other->is_open))
        count(c, st->is_upstream ? COUNT_upstream_aborts : COUNT_client_aborts, 1);
    of_other->other = 0;
    c10m_abort(other);
}

// Whether the connection goes on in this process: with its other one, or without it if that had
// closed in order.
static bool proxy_adopted(struct c10m_conn *c)
{
    const struct proxy_conn *st = c10m_state(c);
    struct c10m_conn *other = other_of(c);
    if (other == NULL)
        return st->alone;
    return ((const struct proxy_conn *)c10m_state(other))->other == c10m_handle(c);
}

const struct c10m_app app_proxy = {
    .name = "proxy",
    .adopts = true,
    .state_version = 1,
    .init = proxy_init,
    .fini = proxy_fini,
    .open = proxy_open,
    .data = proxy_data,
    .end = proxy_end,
    .writable = proxy_writable,
    .timer = proxy_timer,
    .close = proxy_close,
    .adopted = proxy_adopted,
};
