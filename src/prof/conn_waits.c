// SPDX-License-Identifier: BSD-3-Clause
#include "prof/conn_waits.h"

const char *const conn_waits_names[CONN_WAITS_COUNT] = {
#define CONN_WAITS_NAME(name, text, help) text,
    CONN_WAITS_TABLE(CONN_WAITS_NAME)
#undef CONN_WAITS_NAME
};

// of_sending: what the send queue waits for; CONN_WAITS_COUNT: it is empty, and nothing is in
// flight.
static enum conn_waits of_sending(const struct block *b)
{
    const uint32_t end = b->snd_end + ((b->flags & BF_FIN_QUEUED) != 0);
    const bool in_flight = seq_lt(b->snd_una, b->snd_nxt), more = seq_lt(b->snd_nxt, end);
    if (b->flags & BF_PROBE || (more && b->snd_wnd == 0 && !in_flight))
        return CONN_WAITS_WINDOW;
    if (in_flight)
        return CONN_WAITS_ACK;
    return more ? CONN_WAITS_ROOM : CONN_WAITS_COUNT;
}

static enum conn_waits of_receiving(const struct block *b)
{
    if (b->flags & BF_PAUSED && b->app_timer_at_ms != 0)
        return CONN_WAITS_TIMER;
    if (b->flags & BF_PAUSED || b->rcvq_bytes != 0)
        return CONN_WAITS_APPLICATION;
    return CONN_WAITS_DATA;
}

enum conn_waits conn_waits_of(const struct block *b)
{
    if (b->state == TCP_SYN_SENT || b->state == TCP_SYN_RECEIVED)
        return CONN_WAITS_HANDSHAKE;
    if (b->state == TCP_TIME_WAIT)
        return CONN_WAITS_TIMER;
    const enum conn_waits sending = of_sending(b);
    if (sending != CONN_WAITS_COUNT)
        return sending;
    switch (b->state) {
    case TCP_FIN_WAIT_2:
        return CONN_WAITS_FIN;
    case TCP_CLOSE_WAIT:
    case TCP_CLOSED:
        return CONN_WAITS_APPLICATION;
    case TCP_ESTABLISHED:
        return of_receiving(b);
    default:
        return CONN_WAITS_ACK;
    }
}
