// SPDX-License-Identifier: BSD-3-Clause
// tcp_listen.h: listeners that are opened at run time (c10m_listen), besides the ports of
// configured services.
//
//   SYN --> tcp_listener(): port of a service? --> listener on that address? its family? on any?
//                                                  one hash look-up each
//
// Each listener counts Linux's two queues: half-open records, and connections not accepted yet.
// When a listener is closed, its records stay. They refer to an earlier life of its place, and are
// dropped silently when they are next used.
#pragma once
#include "base/addr.h"
#include "base/base.h"

struct tcp;
struct syn_record;

enum {
    TCP_LISTENINGS_MAX = 1024,  // of one worker
    TCP_LISTEN_HEADS = 1024,
    // Scopes other than a local_ix: all addresses of IPv4, of IPv6, of both.
    TCP_LISTEN_V4 = 0xfffd,
    TCP_LISTEN_V6 = 0xfffe,
    TCP_LISTEN_ANY = 0xffff,
    // A listener on one device (a lane, numbered from 1) has a scope with device * DEVICE_LOCALS
    // added to a local_ix, or device * DEVICE_SCOPES subtracted from another scope.
    TCP_LISTEN_DEVICE_LOCALS = 128,
    TCP_LISTEN_DEVICE_SCOPES = 3,
    TCP_LISTEN_NONE = 0,  // in place of a place plus one: a configured port
};

// listening: 32 bytes.
struct listening {
    uint16_t port;
    uint16_t scope;  // a local_ix, or TCP_LISTEN_..., of a device: tcp_listen_scope()
    uint16_t next;   // next of the same head, or of the free list: place plus one; 0: last
    uint16_t life;   // life of this place; records and ids with another life are stale
    uint8_t service;
    uint8_t live;
    uint8_t defer;    // SYN-ACK timeouts during which a bare ACK is ignored; 0: none
    uint8_t retries;  // of the SYN-ACK; 0: [tcp] synack_retries
    uint32_t backlog;
    uint32_t waiting;    // established and not accepted
    uint32_t half_open;  // records
    // For its connections; 0: the service's, the port's or the default value.
    uint32_t rcv_limit;
    uint16_t mss_max;
    uint8_t ttl, tos;
};

struct listen_table {
    uint32_t used, of_devices;   // listeners; those on one device
    uint16_t free_head, unused;  // free list; the first place never used
    uint16_t heads[TCP_LISTEN_HEADS];
    struct listening at[TCP_LISTENINGS_MAX];
};

// tcp_listen_ask: the arguments of c10m_listen(); defer_s as Linux's TCP_DEFER_ACCEPT.
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

// tcp_listen_scope: combines scope and device. tcp_listen_plain: the scope without the device.
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

// tcp_listen: opens a port with a scope and a device. Returns its id, at least 0; -EADDRINUSE: it
// is open already, or a configured service has the port there; -ENOBUFS: no place. tcp_listen_set:
// changes the limits; -EBADF: no such id. tcp_unlisten: closes it; false: no such id.
int tcp_listen(struct tcp *t, const struct tcp_listen_ask *ask);
int tcp_listen_set(struct tcp *t, int id, const struct tcp_listen_ask *ask);
bool tcp_unlisten(struct tcp *t, int id);

// tcp_accepted: a connection of listener `id` was accepted.
void tcp_accepted(struct tcp *t, int id);

// tcp_listen_find: the place plus one of the listener for port, local_ix, family and device;
// TCP_LISTEN_NONE: none.
uint16_t tcp_listen_find(const struct listen_table *l, uint16_t port, uint16_t local_ix, bool v4,
                         unsigned device);

// tcp_listen_id: the id of a place (plus one), as tcp_listen() returned it.
int tcp_listen_id(const struct listen_table *l, uint16_t listen);

// listening_of: the listener of a record; NULL: it came to a configured port, or its listener was
// closed. listening_gone: whether it was closed.
struct listening *listening_of(const struct tcp *t, const struct syn_record *r);
bool listening_gone(const struct tcp *t, const struct syn_record *r);

// listening_full: whether the accept queue is full, as Linux's sk_acceptq_is_full(). l may be NULL.
static inline bool listening_full(const struct listening *l)
{
    return l != NULL && l->waiting > l->backlog;
}
