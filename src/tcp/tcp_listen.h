// SPDX-License-Identifier: BSD-3-Clause
// tcp_listen.h: listeners that come and go while the worker runs (c10m_listen), beside the ports of
// configured services.
//
//   SYN --> tcp_listener(): service's port? --> listener of that address? of its family? of any?
//                                               a look-up by hash each, whatever SYNs there are
//
// Each has Linux's two queues as numbers: half-open records, and connections that nobody has
// accepted yet. When it goes, its records do not go with it: they name a life of its place that is
// over, and whoever comes across one ends it without a word.
#pragma once
#include "base/addr.h"
#include "base/base.h"

struct tcp;
struct syn_record;

enum {
    TCP_LISTENINGS_MAX = 1024,  // of one worker
    TCP_LISTEN_HEADS = 1024,
    // Scopes that are no local_ix: all addresses of IPv4, of IPv6, of both.
    TCP_LISTEN_V4 = 0xfffd,
    TCP_LISTEN_V6 = 0xfffe,
    TCP_LISTEN_ANY = 0xffff,
    // Of a port alone (a lane, numbered from 1): so many times the device on top of a local_ix, or
    // off the others.
    TCP_LISTEN_DEVICE_LOCALS = 128,
    TCP_LISTEN_DEVICE_SCOPES = 3,
    TCP_LISTEN_NONE = 0,  // where a place plus one is expected: a configured port
};

// listening: 32 bytes.
struct listening {
    uint16_t port;
    uint16_t scope;  // a local_ix, or TCP_LISTEN_..., of a device: tcp_listen_scope()
    uint16_t next;   // of the same head, or of the free ones: place plus one, 0: the last
    uint16_t life;   // of this place: a record or an id with another one means none of now
    uint8_t service;
    uint8_t live;
    uint8_t defer;    // timeouts of the SYN-ACK for which a bare ACK does not do; 0: none
    uint8_t retries;  // of the SYN-ACK; 0: [tcp] synack_retries
    uint32_t backlog;
    uint32_t waiting;    // established and not accepted
    uint32_t half_open;  // records
    // Of the SYN-ACK and what comes of it; 0: the service's, the port's, the default.
    uint32_t rcv_limit;
    uint16_t mss_max;
    uint8_t ttl, tos;
};

struct listen_table {
    uint32_t used, of_devices;   // listeners; of them, of a device
    uint16_t free_head, unused;  // places given back; the first one never used
    uint16_t heads[TCP_LISTEN_HEADS];
    struct listening at[TCP_LISTENINGS_MAX];
};

// tcp_listen_ask: what c10m_listen() asks for; defer_s as Linux's TCP_DEFER_ACCEPT.
struct tcp_listen_ask {
    uint16_t port, scope;
    uint8_t device;  // 0: any
    uint8_t service;
    uint8_t retries;  // of the SYN-ACK; 0: [tcp] synack_retries
    uint32_t backlog, defer_s;
    uint32_t rcv_limit;
    uint16_t mss_max;
    uint8_t ttl, tos;
};

// tcp_listen_scope: what is kept of both. tcp_listen_plain: its scope without the device.
static inline uint16_t tcp_listen_scope(uint16_t scope, unsigned device)
{
    return (uint16_t)(scope < TCP_LISTEN_DEVICE_LOCALS ? scope + device * TCP_LISTEN_DEVICE_LOCALS
                                                       : scope - device * TCP_LISTEN_DEVICE_SCOPES);
}

static inline uint16_t tcp_listen_plain(uint16_t scope)
{
    if (scope < UINT16_MAX / 2)
        return scope % TCP_LISTEN_DEVICE_LOCALS;
    return (uint16_t)(TCP_LISTEN_ANY - (TCP_LISTEN_ANY - scope) % TCP_LISTEN_DEVICE_SCOPES);
}

// tcp_listen: opens a port of a scope and a device: its id (0 or more), or -EADDRINUSE (the same
// pair is open, or a configured service has the port there), -ENOBUFS (no place). tcp_listen_set:
// the limits anew; -EBADF: no such id. tcp_unlisten: false: no such id.
int tcp_listen(struct tcp *t, const struct tcp_listen_ask *ask);
int tcp_listen_set(struct tcp *t, int id, const struct tcp_listen_ask *ask);
bool tcp_unlisten(struct tcp *t, int id);

// tcp_accepted: one connection of listener `id` waits no more.
void tcp_accepted(struct tcp *t, int id);

// tcp_listen_find: the place plus one of the listener for port at local address local_ix of the
// family, by that device, TCP_LISTEN_NONE: none. There is a table.
uint16_t tcp_listen_find(const struct listen_table *l, uint16_t port, uint16_t local_ix, bool v4,
                         unsigned device);

// tcp_listen_id: what tcp_listen() returned for the place (plus one).
int tcp_listen_id(const struct listen_table *l, uint16_t listen);

// listening_of: the listener of a record; NULL: it came by a configured port, or its listener is
// gone (listening_gone).
struct listening *listening_of(const struct tcp *t, const struct syn_record *r);
bool listening_gone(const struct tcp *t, const struct syn_record *r);

// listening_full: as Linux's sk_acceptq_is_full(). l may be NULL.
static inline bool listening_full(const struct listening *l)
{
    return l != NULL && l->waiting > l->backlog;
}
