// SPDX-License-Identifier: BSD-3-Clause
// echo.c: RFC 862 over TCP and UDP. Bytes that do not fit into the send queue stay unconsumed and
// close the receive window, so no byte is lost and none is copied twice. No state.
#include <string.h>

#include "app/apps.h"

static size_t echo_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    size_t n = c10m_send(c, data, len);
    if (__builtin_expect(n < len, 0))
        c10m_pause(c);  // until `writable`, so that later segments do not call `data`
    return n;
}

// A datagram that is longer than the room for the answer is not answered.
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
    .adopts = true,
    .moves = true,
    .data = echo_data,
    .end = c10m_shutdown,  // all bytes before the FIN are in the send queue
    .writable = c10m_resume,
    .datagram = echo_datagram,
};
