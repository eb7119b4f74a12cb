// SPDX-License-Identifier: BSD-3-Clause
// echo.c: RFC 862 over TCP and UDP. What does not fit into the send queue stays unconsumed, which
// closes the peer's window: no byte is lost and none is copied twice. No state.
#include <string.h>

#include "app/apps.h"

static size_t echo_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    size_t n = c10m_send(c, data, len);
    if (__builtin_expect(n < len, 0))
        c10m_pause(c);  // until `writable`: what arrives meanwhile need not ask again
    return n;
}

// A datagram that is longer than the port's own may be is not answered.
static int echo_datagram(struct c10m_service *s, const struct c10m_datagram *d)
{
    (void)s;
    if (d->len > d->room)
        return -1;
    memcpy(d->answer, d->data, d->len);
    return (int)d->len;
}

const struct c10m_app app_echo = {
    .name = "echo",
    .data = echo_data,
    .end = c10m_shutdown,  // every byte before the FIN has been consumed, that is, queued
    .writable = c10m_resume,
    .datagram = echo_datagram,
};
