// SPDX-License-Identifier: BSD-3-Clause
#include "wire/pcapng.h"

#include <string.h>

enum {
    BYTE_ORDER_MAGIC = 0x1a2b3c4d,
    LINK_ETHERNET = 1,
    NANOSECONDS = 9,
    HEAD_BYTES = 8,     // type, length
    FRAME_BYTES = 12,   // type, length, and the length again at the end
    PACKET_BYTES = 20,  // the body of a packet block before the packet's data
    STATISTICS_BYTES = 12,
    INTERFACE_BYTES = 8,
};

// Option numbers, by block type.
enum {
    OPT_END = 0,
    SHB_HARDWARE = 2,
    SHB_OS = 3,
    SHB_APPLICATION = 4,
    IF_NAME = 2,
    IF_MAC = 6,
    IF_TSRESOL = 9,
    IF_FILTER = 11,
    EPB_FLAGS = 2,
    EPB_QUEUE = 6,
    ISB_START = 2,
    ISB_END = 3,
    ISB_RECEIVED = 4,
    ISB_DROPPED = 5,
    ISB_ACCEPTED = 6,
};

enum { FLAG_IN = 1, FLAG_OUT = 2 };

// writer: bytes that do not fit in `room` are not written, and set `over`.
struct writer {
    uint8_t *out;
    size_t room, n;
    bool over;
};

static void put(struct writer *w, const void *data, size_t bytes)
{
    static const uint8_t zero[4];
    const size_t pad = ALIGN_UP(bytes, (size_t)4) - bytes;
    w->over |= bytes + pad > w->room - w->n;
    if (w->over)
        return;
    memcpy(w->out + w->n, data, bytes);
    memcpy(w->out + w->n + bytes, zero, pad);
    w->n += bytes + pad;
}

static void put32(struct writer *w, uint32_t v)
{
    put(w, &v, sizeof(v));
}

// put_time: a time or a 64-bit number in the block format of the draft: the upper half first.
static void put_time(struct writer *w, uint64_t ns)
{
    put32(w, (uint32_t)(ns >> 32));
    put32(w, (uint32_t)ns);
}

static void put_head(struct writer *w, uint16_t code, size_t bytes)
{
    const uint16_t head[2] = {code, (uint16_t)bytes};
    put(w, head, sizeof(head));
}

static void put_option(struct writer *w, uint16_t code, const void *data, size_t bytes)
{
    put_head(w, code, bytes);
    put(w, data, bytes);
}

// length_of: the length of the text, at most PCAPNG_TEXT_BYTES_MAX. It does not use strnlen: with
// link-time optimization gcc warns if the text's array is shorter than the bound.
static size_t length_of(const char *text)
{
    const size_t n = strlen(text);
    return n < PCAPNG_TEXT_BYTES_MAX ? n : PCAPNG_TEXT_BYTES_MAX;
}

static void put_text(struct writer *w, uint16_t code, const char *text)
{
    if (text != NULL && text[0] != '\0')
        put_option(w, code, text, length_of(text));
}

static void put_begin(struct writer *w, uint32_t type)
{
    put32(w, type);
    put32(w, 0);  // the length, which put_end() writes
}

static size_t put_end(struct writer *w)
{
    put_head(w, OPT_END, 0);
    const uint32_t total = (uint32_t)w->n + 4;
    put32(w, total);
    if (w->over)
        return 0;
    memcpy(w->out + 4, &total, sizeof(total));
    return w->n;
}

size_t pcapng_section_put(uint8_t *out, size_t room, const char *hardware, const char *os,
                          const char *application)
{
    struct writer w = {.out = out, .room = room};
    const uint16_t version[2] = {1, 0};
    const int64_t length = -1;  // unknown
    put_begin(&w, PCAPNG_SECTION);
    put32(&w, BYTE_ORDER_MAGIC);
    put(&w, version, sizeof(version));
    put(&w, &length, sizeof(length));
    put_text(&w, SHB_HARDWARE, hardware);
    put_text(&w, SHB_OS, os);
    put_text(&w, SHB_APPLICATION, application);
    return put_end(&w);
}

size_t pcapng_interface_put(uint8_t *out, size_t room, const struct pcapng_interface *i)
{
    struct writer w = {.out = out, .room = room};
    const uint16_t link[2] = {LINK_ETHERNET, 0};
    const uint8_t resolution = NANOSECONDS;
    put_begin(&w, PCAPNG_INTERFACE);
    put(&w, link, sizeof(link));
    put32(&w, i->snap_bytes);
    put_text(&w, IF_NAME, i->name);
    put_option(&w, IF_MAC, &i->mac, sizeof(i->mac));
    put_option(&w, IF_TSRESOL, &resolution, sizeof(resolution));
    if (i->filter != NULL && i->filter[0] != '\0') {
        // The byte before the text, 0, says that the filter is in libpcap's syntax.
        uint8_t filter[1 + PCAPNG_TEXT_BYTES_MAX] = {0};
        const size_t n = length_of(i->filter);
        memcpy(filter + 1, i->filter, n);
        put_option(&w, IF_FILTER, filter, n + 1);
    }
    return put_end(&w);
}

uint8_t *pcapng_packet_begin(uint8_t *out, const struct pcapng_packet *p)
{
    struct writer w = {.out = out, .room = PCAPNG_PACKET_BYTES};
    put_begin(&w, PCAPNG_PACKET);
    put32(&w, p->interface);
    put_time(&w, p->ns);
    put32(&w, p->bytes);
    put32(&w, p->orig_bytes);
    return out + w.n;
}

size_t pcapng_packet_end(uint8_t *out, const struct pcapng_packet *p)
{
    const size_t data = HEAD_BYTES + PACKET_BYTES;
    struct writer w = {.out = out,
                       .room = p->bytes + PCAPNG_PACKET_BYTES,
                       .n = data + ALIGN_UP((size_t)p->bytes, (size_t)4)};
    memset(out + data + p->bytes, 0, w.n - data - p->bytes);
    const uint32_t flags = p->out ? FLAG_OUT : FLAG_IN;
    put_option(&w, EPB_FLAGS, &flags, sizeof(flags));
    put_option(&w, EPB_QUEUE, &p->queue, sizeof(p->queue));
    return put_end(&w);
}

static_assert(HEAD_BYTES + PACKET_BYTES + 3 + 8 + 8 + 4 + 4 <= PCAPNG_PACKET_BYTES,
              "head, padding, two options, their end, the length again");

size_t pcapng_statistics_put(uint8_t *out, size_t room, const struct pcapng_statistics *s)
{
    struct writer w = {.out = out, .room = room};
    put_begin(&w, PCAPNG_STATISTICS);
    put32(&w, s->interface);
    put_time(&w, s->ns);
    put_head(&w, ISB_START, sizeof(uint64_t));
    put_time(&w, s->begin_ns);
    put_head(&w, ISB_END, sizeof(uint64_t));
    put_time(&w, s->end_ns);
    put_option(&w, ISB_RECEIVED, &s->received, sizeof(s->received));
    put_option(&w, ISB_DROPPED, &s->dropped, sizeof(s->dropped));
    put_option(&w, ISB_ACCEPTED, &s->accepted, sizeof(s->accepted));
    return put_end(&w);
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof(v));
    return v;
}

static uint64_t get_time(const uint8_t *at)
{
    return (uint64_t)get32(at) << 32 | get32(at + 4);
}

int64_t pcapng_block_get(const uint8_t *in, size_t n, struct pcapng_block *b)
{
    if (n < HEAD_BYTES)
        return 0;
    const uint32_t bytes = get32(in + 4);
    if (bytes < FRAME_BYTES || bytes % 4 != 0 || bytes > PCAPNG_BLOCK_BYTES_MAX)
        return -1;
    if (n < bytes)
        return 0;
    if (get32(in + bytes - 4) != bytes)
        return -1;
    *b = (struct pcapng_block){get32(in), in + HEAD_BYTES, bytes - FRAME_BYTES};
    return bytes;
}

// option_get: the first option `code` of at least `bytes` bytes in in[0..n), or NULL. *len: its
// length.
static const uint8_t *option_get(const uint8_t *in, size_t n, uint16_t code, size_t bytes,
                                 uint16_t *len)
{
    while (n >= 4) {
        uint16_t head[2];
        memcpy(head, in, sizeof(head));
        const size_t whole = 4 + ALIGN_UP((size_t)head[1], (size_t)4);
        if (head[0] == OPT_END || whole > n)
            return NULL;
        if (head[0] == code && head[1] >= bytes) {
            *len = head[1];
            return in + 4;
        }
        in += whole;
        n -= whole;
    }
    return NULL;
}

bool pcapng_packet_get(const struct pcapng_block *b, struct pcapng_packet *p, const uint8_t **data)
{
    if (b->type != PCAPNG_PACKET || b->body_bytes < PACKET_BYTES)
        return false;
    *p = (struct pcapng_packet){.interface = get32(b->body),
                                .ns = get_time(b->body + 4),
                                .bytes = get32(b->body + 12),
                                .orig_bytes = get32(b->body + 16)};
    *data = b->body + PACKET_BYTES;
    const size_t after = PACKET_BYTES + ALIGN_UP((size_t)p->bytes, (size_t)4);
    if (after > b->body_bytes)
        return false;
    uint16_t len;
    const uint8_t *o = option_get(b->body + after, b->body_bytes - after, EPB_FLAGS, 4, &len);
    p->out = o != NULL && (get32(o) & 3) == FLAG_OUT;
    o = option_get(b->body + after, b->body_bytes - after, EPB_QUEUE, 4, &len);
    p->queue = o == NULL ? 0 : get32(o);
    return true;
}

static uint64_t number_get(const struct pcapng_block *b, uint16_t code)
{
    uint16_t len;
    uint64_t v = 0;
    const uint8_t *o = option_get(b->body + STATISTICS_BYTES, b->body_bytes - STATISTICS_BYTES,
                                  code, sizeof(v), &len);
    if (o != NULL)
        memcpy(&v, o, sizeof(v));
    return v;
}

static uint64_t time_get(const struct pcapng_block *b, uint16_t code)
{
    const uint64_t v = number_get(b, code);  // the upper half is first in the block
    return v << 32 | v >> 32;
}

bool pcapng_statistics_get(const struct pcapng_block *b, struct pcapng_statistics *s)
{
    if (b->type != PCAPNG_STATISTICS || b->body_bytes < STATISTICS_BYTES)
        return false;
    *s = (struct pcapng_statistics){.interface = get32(b->body),
                                    .ns = get_time(b->body + 4),
                                    .begin_ns = time_get(b, ISB_START),
                                    .end_ns = time_get(b, ISB_END),
                                    .received = number_get(b, ISB_RECEIVED),
                                    .accepted = number_get(b, ISB_ACCEPTED),
                                    .dropped = number_get(b, ISB_DROPPED)};
    return true;
}

bool pcapng_interface_get(const struct pcapng_block *b, char *name, size_t room)
{
    if (b->type != PCAPNG_INTERFACE || b->body_bytes < INTERFACE_BYTES)
        return false;
    uint16_t len = 0;
    const uint8_t *o =
        option_get(b->body + INTERFACE_BYTES, b->body_bytes - INTERFACE_BYTES, IF_NAME, 1, &len);
    const size_t n = MIN((size_t)len, room - 1);
    if (o != NULL)
        memcpy(name, o, n);
    name[o == NULL ? 0 : n] = '\0';
    return true;
}
