// SPDX-License-Identifier: BSD-3-Clause
// reply.h: replies prepared at init, and the responses made from them for a request. The fixed part
// of a head is stored as text. A response consists of
//
//   head (status line, Content-Length, fields, "Date: ")  |  date, Connection, empty line  |  body
//   \_____________________________ http_reply_write, copied _____________________________/
//                                                          small: copied too; large: by reference
//
// The fields of a head are in an order in which each kind of response uses the end of the list,
// from an offset on:
//
//   HTTP/1.1 200 OK, Server, Content-Length | Content-Type | Accept-Ranges, Content-Encoding |
//                        fields_off: 206 ---^   several ---^
//   | Last-Modified, ETag, own fields, Vary | Expires, Date
//     ^--- validators_off: 304
#pragma once
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/http/range.h"
#include "c10m/app.h"

enum {
    HTTP_KEY_BYTES_MAX = 1024,  // percent-encoded path of a file
    HTTP_INLINE_BYTES_MAX =
        1024,  // bodies up to this length are copied after the head: one segment, one buffer
    HTTP_OWN_BYTES_MAX = 2048,  // fields or Location added by the configuration
    HTTP_REPLY_HEAD_BYTES_MAX = HTTP_KEY_BYTES_MAX + HTTP_OWN_BYTES_MAX + 512,
    HTTP_REPLY_TAIL_BYTES_MAX = 128,  // date, Expires, Connection, empty line
    HTTP_REPLY_BYTES_MAX =
        HTTP_REPLY_HEAD_BYTES_MAX + HTTP_REPLY_TAIL_BYTES_MAX + HTTP_INLINE_BYTES_MAX,
    HTTP_BOUNDARY_BYTES = 16,
};

// The field Connection of a response (RFC 9112 section 9).
enum http_connection {
    HTTP_SAY_NOTHING,     // no field: HTTP/1.1, the connection stays open
    HTTP_SAY_KEEP_ALIVE,  // keep-alive: HTTP/1.0 that asked for it
    HTTP_SAY_CLOSE,
};

enum http_special {
    HTTP_NOT_SPECIAL,
    HTTP_REDIRECT,  // has Location as the last of the extra fields
    HTTP_FILE,      // has validators and ranges
    HTTP_CONTENT,   // answers POST with its content
    HTTP_RECEIVED,  // answers with the request's field lines
    // Redirects of the configuration, for every method: the request adds a suffix to Location, or
    // Location is fixed.
    HTTP_MOVED,
    HTTP_MOVED_EXACTLY,
};

// http_reply: an entry of the table of replies, read-only after init. A small file needs two cache
// lines: this entry, and the head with the key after it.
struct http_reply {
    // head_bytes bytes, then the key of key_bytes; allocated by malloc()
    const char *head;
    const uint8_t *body;             // body_bytes bytes, in the image or constant
    const struct c10m_image *image;  // NULL: the body is inline
    uint32_t body_bytes;
    uint32_t head_bytes;
    uint32_t modified_s;
    uint32_t gzip, br;   // index of the reply with the file's .gz or .br; 0: none
    uint32_t expires_s;  // Expires is this long after Date; 0: no Expires
    uint16_t fields_off, extras_off, validators_off, etag_off;
    uint16_t key_bytes;  // 0: found by status only
    uint16_t status;
    uint8_t etag_bytes;
    uint8_t special;  // enum http_special
};
static_assert(sizeof(struct http_reply) <= 64, "a look-up reads one cache line");

// http_fields: the fields of a reply. Each text consists of whole lines that end with CRLF.
struct http_fields {
    const char *type, *extras, *validators;
};

// http_reply_make: fills *r with the status line from `status` and `reason`, Content-Length (except
// with 204), the fields and the key. The caller has set body, body_bytes and image, and keeps
// ownership of them. False: no memory, or the head exceeds HTTP_REPLY_HEAD_BYTES_MAX.
bool http_reply_make(struct http_reply *r, unsigned status, const char *reason,
                     const struct http_fields *fields, const char *key, size_t key_bytes);

// http_reply_add_field: adds one line after the validators. False: as above.
bool http_reply_add_field(struct http_reply *r, const char *line);

// http_reply_is_inline: whether http_reply_write() also writes the body.
static inline bool http_reply_is_inline(const struct http_reply *r)
{
    return r->body_bytes <= HTTP_INLINE_BYTES_MAX;
}

// http_reply_write: writes the copied part of the response to to[0..HTTP_REPLY_BYTES_MAX) and
// returns its length. The same arguments give the same bytes. head_only: for HEAD.
size_t http_reply_write(const struct http_reply *r, uint64_t unix_s, enum http_connection say,
                        bool head_only, char *to);

// Write the heads of responses made from a reply for one request, as above. http_write_part: 206
// with one range. http_write_parts: 206 with several ranges, as multipart/byteranges.
// http_write_unchanged: 304. http_write_unsatisfied: 416. http_write_made: 200 with `bytes` bytes
// of `type` and Cache-Control: no-store.
size_t http_write_part(const struct http_reply *r, struct http_range range, uint64_t unix_s,
                       enum http_connection say, char *to);
size_t http_write_parts(const struct http_reply *r, const struct http_range *ranges, unsigned n,
                        const char *boundary, uint64_t unix_s, enum http_connection say, char *to);
size_t http_write_unchanged(const struct http_reply *r, uint64_t unix_s, enum http_connection say,
                            char *to);
size_t http_write_unsatisfied(const struct http_reply *r, uint64_t unix_s, enum http_connection say,
                              char *to);
// http_write_location: the head of a redirect up to the end of its Location.
// http_write_behind_location: the rest, with the body.
size_t http_write_location(const struct http_reply *r, char *to);
size_t http_write_behind_location(const struct http_reply *r, uint64_t unix_s,
                                  enum http_connection say, bool head_only, char *to);
size_t http_write_made(const char *type, uint64_t bytes, uint64_t unix_s, enum http_connection say,
                       char *to);

// http_write_part_head: the delimiter and the fields before one of several ranges; range NULL: the
// closing delimiter. http_parts_bytes: the length of the whole multipart body.
size_t http_write_part_head(const struct http_reply *r, const struct http_range *range,
                            const char *boundary, char *to);
uint64_t http_parts_bytes(const struct http_reply *r, const struct http_range *ranges, unsigned n,
                          const char *boundary);
