// SPDX-License-Identifier: BSD-3-Clause
// chargen.c: RFC 864 over TCP: sends lines of 72 characters, each shifted by one, until the peer
// closes. Received data is discarded. The pattern repeats after 95 lines; the image has a whole
// number of repetitions, so that each reference continues the previous one.
// Over UDP: the RFC allows answers of 0 to 512 characters. This answer is as long as the request,
// at most 512 bytes, so that requests with a forged source address are not amplified.
#include <stdio.h>
#include <string.h>

#include "app/apps.h"

enum {
    FIRST = ' ',
    // printable characters, which is also the number of lines before the pattern repeats
    CHARS = '~' - ' ' + 1,
    LINE_CHARS = 72,
    LINE_BYTES = LINE_CHARS + 2,
    REPEATS = 4,
    IMAGE_BYTES = CHARS * LINE_BYTES * REPEATS,
    DATAGRAM_BYTES_MAX = 512,
};

struct chargen_conn {
    bool ended;  // the peer has sent its FIN
};

static int chargen_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    uint8_t *p;
    const struct c10m_image *image = c10m_image_reserve(s, IMAGE_BYTES, &p);
    if (image == NULL) {
        snprintf(err, err_bytes, "%d bytes do not fit: raise [memory] image_bytes", IMAGE_BYTES);
        return -1;
    }
    for (unsigned line = 0; line < CHARS * REPEATS; line++) {
        for (unsigned i = 0; i < LINE_CHARS; i++)
            *p++ = (uint8_t)(FIRST + (line + i) % CHARS);
        *p++ = '\r';
        *p++ = '\n';
    }
    c10m_service_set_data(s, (void *)(uintptr_t)image);
    return 0;
}

// Fills the send queue; `writable` calls it again.
static void chargen_send(struct c10m_conn *c)
{
    const struct chargen_conn *st = c10m_state(c);
    const struct c10m_image *image = c10m_service_data(c10m_service_of(c));
    while (!st->ended && c10m_send_ref(c, image, 0, IMAGE_BYTES))
        ;
}

static size_t chargen_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    (void)c;
    (void)data;
    return len;
}

static void chargen_end(struct c10m_conn *c)
{
    struct chargen_conn *st = c10m_state(c);
    st->ended = true;
    c10m_shutdown(c);
}

static int chargen_datagram(struct c10m_service *s, const struct c10m_datagram *d)
{
    uint64_t len;
    const uint8_t *pattern = c10m_image_bytes(c10m_service_data(s), &len);
    size_t n = d->len < d->room ? d->len : d->room;
    n = n < DATAGRAM_BYTES_MAX ? n : DATAGRAM_BYTES_MAX;
    memcpy(d->answer, pattern, n);
    return (int)n;
}

const struct c10m_app app_chargen = {
    .name = "chargen",
    .adopts = true,
    .moves = true,
    .init = chargen_init,
    .open = chargen_send,
    .data = chargen_data,
    .end = chargen_end,
    .writable = chargen_send,
    .datagram = chargen_datagram,
};
