// SPDX-License-Identifier: BSD-3-Clause
// daytime.c: RFC 867 over TCP and UDP: sends one line with the date and time in UTC, in the format
// of inetd ("Sat Nov 21 07:33:54 2026"), and closes. Received data is discarded.
#include <string.h>

#include "app/apps.h"
#include "app/http/date.h"

enum { LINE_BYTES = sizeof("Sat Nov 21 07:33:54 2026\r\n") - 1 };

struct daytime_conn {
    uint64_t unix_s;
    uint8_t sent;  // bytes of the line
};

// Converts "Sat, 21 Nov 2026 07:33:54 GMT" to the format of inetd.
static void daytime_line(uint64_t unix_s, char line[LINE_BYTES])
{
    const char *date = http_date(unix_s);
    memcpy(line, "??? ??? ?? ??:??:?? ????\r\n", LINE_BYTES);
    memcpy(line, date, 3);
    memcpy(line + 4, date + 8, 3);
    memcpy(line + 8, date + 5, 2);
    memcpy(line + 11, date + 17, 8);
    memcpy(line + 20, date + 12, 4);
    if (line[8] == '0')
        line[8] = ' ';
}

static void daytime_send(struct c10m_conn *c)
{
    struct daytime_conn *st = c10m_state(c);
    char line[LINE_BYTES];
    daytime_line(st->unix_s, line);
    st->sent = (uint8_t)(st->sent + c10m_send(c, line + st->sent, LINE_BYTES - st->sent));
    if (st->sent == LINE_BYTES)
        c10m_shutdown(c);
}

static void daytime_open(struct c10m_conn *c)
{
    struct daytime_conn *st = c10m_state(c);
    st->unix_s = c10m_unix_us(c) / 1000000;
    daytime_send(c);
}

static void daytime_writable(struct c10m_conn *c)
{
    const struct daytime_conn *st = c10m_state(c);
    if (st->sent < LINE_BYTES)
        daytime_send(c);
}

static size_t daytime_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    (void)c;
    (void)data;
    return len;
}

// The rest of the line is sent also after the peer's FIN.
static void daytime_end(struct c10m_conn *c)
{
    daytime_writable(c);
}

static int daytime_datagram(struct c10m_service *s, const struct c10m_datagram *d)
{
    (void)s;
    char line[LINE_BYTES];
    if (d->room < LINE_BYTES)
        return -1;
    daytime_line(d->unix_us / 1000000, line);
    memcpy(d->answer, line, LINE_BYTES);
    return LINE_BYTES;
}

const struct c10m_app app_daytime = {
    .name = "daytime",
    .adopts = true,
    .moves = true,
    .open = daytime_open,
    .data = daytime_data,
    .end = daytime_end,
    .writable = daytime_writable,
    .datagram = daytime_datagram,
};
