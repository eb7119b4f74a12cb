// SPDX-License-Identifier: BSD-3-Clause
#include "fractal.h"

#include <assert.h>
#include <string.h>

enum {
    HEAD_BYTES = 8 + 25,       // signature, IHDR
    DATA_AT = HEAD_BYTES + 8,  // the content of IDAT, behind its length and name
    ROWS_AT = DATA_AT + 2,     // behind zlib's head
    TAIL_BYTES = 4 + 4 + 12,   // Adler-32, CRC of IDAT, IEND
    ADLER_MODULUS = 65521,
};

static_assert(FRACTAL_PNG_EXTRA == (int)ROWS_AT + TAIL_BYTES, "the parts around the rows");

static size_t row_bytes(const struct fractal *f)
{
    return f->width + FRACTAL_ROW_EXTRA;
}

static size_t rows_bytes(const struct fractal *f)
{
    return f->height * row_bytes(f);
}

size_t fractal_bytes(const struct fractal *f)
{
    return ROWS_AT + rows_bytes(f) + TAIL_BYTES;
}

static uint8_t *put_be32(uint8_t *at, uint32_t v)
{
    at[0] = (uint8_t)(v >> 24);
    at[1] = (uint8_t)(v >> 16);
    at[2] = (uint8_t)(v >> 8);
    at[3] = (uint8_t)v;
    return at + 4;
}

// CRC-32 of PNG, annex D, four bits at a time.
static uint32_t crc32_of(const uint8_t *at, size_t len)
{
    uint32_t table[16], crc = 0xffffffff;
    for (uint32_t i = 0; i < 16; i++) {
        table[i] = i;
        for (int bit = 0; bit < 4; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
    }
    for (size_t i = 0; i < len; i++) {
        crc ^= at[i];
        crc = table[crc & 15] ^ crc >> 4;
        crc = table[crc & 15] ^ crc >> 4;
    }
    return ~crc;
}

static uint8_t *put_crc(uint8_t *at, const uint8_t *from)
{
    return put_be32(at, crc32_of(from, (size_t)(at - from)));
}

static void put_row_head(const struct fractal *f, uint32_t y)
{
    uint8_t *at = f->png + ROWS_AT + y * row_bytes(f);
    const uint32_t len = f->width + 1;
    at[0] = y + 1 == f->height;  // the last block
    at[1] = (uint8_t)len;
    at[2] = (uint8_t)(len >> 8);
    at[3] = (uint8_t)~at[1];
    at[4] = (uint8_t)~at[2];
    at[5] = 0;  // no filter
}

void fractal_begin(const struct fractal *f)
{
    uint8_t *at = f->png + 8;
    memcpy(f->png, "\x89PNG\r\n\x1a\n", 8);
    at = put_be32(at, 13);
    memcpy(at, "IHDR", 4);
    put_be32(put_be32(at + 4, f->width), f->height);
    memcpy(at + 12, "\x08\x00\x00\x00\x00", 5);  // 8 bits, gray, deflate, filters, no interlace
    at = put_crc(at + 17, at);
    at = put_be32(at, (uint32_t)(2 + rows_bytes(f) + 4));
    memcpy(at, "IDAT\x78\x01", 6);
    for (uint32_t y = 0; y < f->height; y++)
        put_row_head(f, y);
}

// The number of iterations z = z^2 + c after which |z| > 2, as a gray.
static uint8_t pixel(const struct fractal *f, uint32_t x, uint32_t y)
{
    const double re = 3.0 * x / f->width - 2.2, im = 2.4 * y / f->height - 1.2;
    double zr = 0, zi = 0;
    uint32_t i = 0;
    while (i < f->steps && zr * zr + zi * zi <= 4) {
        const double next = zr * zr - zi * zi + re;
        zi = 2 * zr * zi + im;
        zr = next;
        i++;
    }
    return (uint8_t)(255 - i * 255 / f->steps);
}

void fractal_pixels(const struct fractal *f, uint32_t from, uint32_t to)
{
    uint32_t x = from % f->width, y = from / f->width;
    uint8_t *rows = f->png + ROWS_AT;
    for (uint32_t i = from; i < to; i++) {
        rows[y * row_bytes(f) + FRACTAL_ROW_EXTRA + x] = pixel(f, x, y);
        if (++x == f->width) {
            x = 0;
            y++;
        }
    }
}

// Adler-32 of RFC 1950 over the rows without the heads of their blocks.
static uint32_t adler_of(const struct fractal *f)
{
    uint32_t a = 1, b = 0;
    for (uint32_t y = 0; y < f->height; y++) {
        const uint8_t *at = f->png + ROWS_AT + y * row_bytes(f) + 5;
        for (uint32_t i = 0; i < f->width + 1; i++) {  // fits: 1,025 * 255 + 65,520 and its sum
            a += at[i];
            b += a;
        }
        a %= ADLER_MODULUS;
        b %= ADLER_MODULUS;
    }
    return b << 16 | a;
}

void fractal_end(const struct fractal *f)
{
    uint8_t *at = f->png + ROWS_AT + rows_bytes(f);
    at = put_be32(at, adler_of(f));
    at = put_crc(at, f->png + DATA_AT - 4);
    memcpy(put_be32(at, 0), "IEND", 4);
    put_crc(at + 8, at + 4);
}
