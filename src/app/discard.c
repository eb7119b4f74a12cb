// SPDX-License-Identifier: BSD-3-Clause
// discard.c: RFC 863 over TCP and UDP. Discards received data and closes after the peer. Throughput
// measurements use it as the receiver.
#include "app/apps.h"

static size_t discard_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    (void)c;
    (void)data;
    return len;
}

static int discard_datagram(struct c10m_service *s, const struct c10m_datagram *d)
{
    (void)s;
    (void)d;
    return -1;
}

const struct c10m_app app_discard = {
    .name = "discard",
    .adopts = true,
    .moves = true,
    .data = discard_data,
    .end = c10m_shutdown,
    .datagram = discard_datagram,
};
