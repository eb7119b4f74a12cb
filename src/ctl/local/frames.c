// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/local/frames.h"

#include <string.h>

// put_n, get_n: write and read a little-endian number of n bytes.
static void put_n(uint8_t *out, uint64_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_n(const uint8_t *in, unsigned n)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < n; i++)
        value |= (uint64_t)in[i] << (8 * i);
    return value;
}

void wire_head_put(uint8_t *out, enum wire_type type, size_t payload_bytes)
{
    put_n(out, payload_bytes, 4);
    put_n(out + 4, type, 4);
}

bool wire_head_get(const uint8_t *in, struct wire_head *h)
{
    *h = (struct wire_head){(uint32_t)get_n(in, 4), in[4]};
    return get_n(in + 5, 3) == 0;
}

void wire_hello_put(uint8_t *out)
{
    wire_head_put(out, WIRE_HELLO, 8);
    put_n(out + 8, WIRE_MAGIC, 4);
    put_n(out + 12, WIRE_VERSION, 4);
}

bool wire_hello_good(const uint8_t *payload, size_t n)
{
    return n == 8 && get_n(payload, 4) == WIRE_MAGIC && get_n(payload + 4, 4) == WIRE_VERSION;
}

// The number of bytes before the path.
static size_t prefix_bytes(enum wire_type type)
{
    return type == WIRE_STAT ? 1 : type == WIRE_READ ? 16 : type == WIRE_WRITE ? 2 : 0;
}

size_t wire_request_put(uint8_t *out, size_t room, const struct wire_request *r)
{
    const size_t prefix = prefix_bytes(r->type);
    const size_t data_bytes = r->type == WIRE_WRITE ? r->data_bytes : 0;
    const size_t payload = prefix + r->path_bytes + data_bytes;
    if (r->path_bytes > WIRE_PATH_BYTES_MAX || data_bytes > 2 * TREE_WRITE_BYTES_MAX ||
        room < WIRE_HEAD_BYTES + payload)
        return 0;
    wire_head_put(out, r->type, payload);
    out += WIRE_HEAD_BYTES;
    if (r->type == WIRE_STAT) {
        out[0] = r->flags;
    } else if (r->type == WIRE_READ) {
        put_n(out, r->offset, 8);
        put_n(out + 8, r->limit, 8);
    } else if (r->type == WIRE_WRITE) {
        put_n(out, r->path_bytes, 2);
    }
    memcpy(out + prefix, r->path, r->path_bytes);
    if (data_bytes > 0)
        memcpy(out + prefix + r->path_bytes, r->data, data_bytes);
    return WIRE_HEAD_BYTES + payload;
}

const char *wire_request_get(struct wire_request *r, uint8_t type, const uint8_t *payload, size_t n)
{
    if (type < WIRE_STAT || type > WIRE_WRITE)
        return "unknown request type";
    const size_t prefix = prefix_bytes((enum wire_type)type);
    if (n < prefix)
        return "a request is too short";
    *r = (struct wire_request){.type = (enum wire_type)type,
                               .path = (const char *)payload + prefix,
                               .path_bytes = n - prefix};
    if (type == WIRE_STAT) {
        r->flags = payload[0];
    } else if (type == WIRE_READ) {
        r->offset = get_n(payload, 8);
        r->limit = get_n(payload + 8, 8);
    } else if (type == WIRE_WRITE) {
        r->path_bytes = get_n(payload, 2);
        if (r->path_bytes > n - prefix)
            return "a path is longer than its request";
        r->data = r->path + r->path_bytes;
        r->data_bytes = n - prefix - r->path_bytes;
    }
    if ((r->flags & ~WIRE_NOFOLLOW) != 0)
        return "a request has an unknown flag";
    if (r->path_bytes > WIRE_PATH_BYTES_MAX)
        return "a path is longer than 4095 bytes";
    if (memchr(r->path, '\0', r->path_bytes) != NULL)
        return "a path has a zero byte";
    return NULL;
}

size_t wire_entry_put(uint8_t *out, size_t room, const struct wire_entry *e)
{
    const size_t bytes = 32 + (size_t)e->name_bytes + e->target_bytes;
    if (bytes > room)
        return 0;
    put_n(out, e->id, 8);
    put_n(out + 8, (uint64_t)e->made_s, 8);
    put_n(out + 16, e->kind, 2);
    put_n(out + 18, e->mode, 2);
    put_n(out + 20, e->uid, 4);
    put_n(out + 24, e->gid, 4);
    put_n(out + 28, e->target_bytes, 2);
    put_n(out + 30, e->name_bytes, 2);
    if (e->name_bytes > 0)
        memcpy(out + 32, e->name, e->name_bytes);
    if (e->target_bytes > 0)
        memcpy(out + 32 + e->name_bytes, e->target, e->target_bytes);
    return bytes;
}

size_t wire_entry_get(struct wire_entry *e, const uint8_t *in, size_t n)
{
    if (n < 32)
        return 0;
    *e = (struct wire_entry){.id = get_n(in, 8),
                             .made_s = (int64_t)get_n(in + 8, 8),
                             .kind = in[16],
                             .mode = (uint16_t)get_n(in + 18, 2),
                             .uid = (uint32_t)get_n(in + 20, 4),
                             .gid = (uint32_t)get_n(in + 24, 4),
                             .target_bytes = (uint16_t)get_n(in + 28, 2),
                             .name_bytes = (uint16_t)get_n(in + 30, 2),
                             .name = (const char *)in + 32};
    e->target = e->name + e->name_bytes;
    const size_t bytes = 32 + (size_t)e->name_bytes + e->target_bytes;
    const bool good = e->kind <= 2 && in[17] == 0 && e->name_bytes <= TREE_NAME_BYTES_MAX &&
                      e->target_bytes <= TREE_LINK_BYTES_MAX;
    return good && bytes <= n ? bytes : 0;
}

size_t wire_end_put(uint8_t *out, uint64_t total)
{
    wire_head_put(out, WIRE_END, 8);
    put_n(out + WIRE_HEAD_BYTES, total, 8);
    return WIRE_HEAD_BYTES + 8;
}

size_t wire_error_put(uint8_t *out, int code, const char *text)
{
    const size_t n = MIN(strlen(text), (size_t)WIRE_ERROR_BYTES_MAX - 4);
    wire_head_put(out, WIRE_ERROR, 4 + n);
    put_n(out + WIRE_HEAD_BYTES, (uint32_t)code, 4);
    memcpy(out + WIRE_HEAD_BYTES + 4, text, n);
    return WIRE_HEAD_BYTES + 4 + n;
}

bool wire_end_get(const uint8_t *payload, size_t n, uint64_t *total)
{
    if (n == 8)
        *total = get_n(payload, 8);
    return n == 8;
}

bool wire_error_get(const uint8_t *payload, size_t n, int *code, const char **text,
                    size_t *text_bytes)
{
    if (n < 4 || n > WIRE_ERROR_BYTES_MAX)
        return false;
    *code = (int)get_n(payload, 4);
    *text = (const char *)payload + 4;
    *text_bytes = n - 4;
    return *code > 0;
}
