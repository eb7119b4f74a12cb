// SPDX-License-Identifier: BSD-3-Clause
// reply.h: responses made at init, and those that are made of them for one request. What is known
// beforehand is text already; a response to be sent is
//
//   head (status line, Content-Length, fields, "Date: ")  |  date, Connection, empty line  |  body
//   \_____________________________ http_reply_write, copied _____________________________/
//                                                          small: copied too; large: by reference
//
// A head's fields lie in an order in which each kind of response takes an end of them:
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
    HTTP_KEY_BYTES_MAX = 1024,  // of a file's path in its percent-encoded form
    HTTP_INLINE_BYTES_MAX =
        1024,  // bodies up to this are copied behind the head: one segment, one buffer
    HTTP_OWN_BYTES_MAX = 2048,  // of the fields, or the Location, that the configuration adds
    HTTP_REPLY_HEAD_BYTES_MAX = HTTP_KEY_BYTES_MAX + HTTP_OWN_BYTES_MAX + 512,
    HTTP_REPLY_TAIL_BYTES_MAX = 128,  // date, Expires, Connection, empty line
    HTTP_REPLY_BYTES_MAX =
        HTTP_REPLY_HEAD_BYTES_MAX + HTTP_REPLY_TAIL_BYTES_MAX + HTTP_INLINE_BYTES_MAX,
    HTTP_BOUNDARY_BYTES = 16,
};

// What is said about the connection's future (RFC 9112 section 9).
enum http_connection {
    HTTP_SAY_NOTHING,     // HTTP/1.1: it stays open
    HTTP_SAY_KEEP_ALIVE,  // HTTP/1.0 that asked: it stays open
    HTTP_SAY_CLOSE,
};

enum http_special {
    HTTP_NOT_SPECIAL,
    HTTP_REDIRECT,  // has Location, and nothing behind it among the extras
    HTTP_FILE,      // has validators and ranges
    HTTP_CONTENT,   // answers POST with its content
    HTTP_RECEIVED,  // answers with the request's field lines
    // Redirects of the configuration, for every method: with what the request adds to Location, or
    // with the Location as it is.
    HTTP_MOVED,
    HTTP_MOVED_EXACTLY,
};

// http_reply: one line of the table of replies. Read only after init. Two lines of memory for a
// small file: this one, and the head with the key behind it.
struct http_reply {
    const char *head;                // head_bytes long, then key_bytes of the key; malloc'd
    const uint8_t *body;             // body_bytes of it, in the image or constant
    const struct c10m_image *image;  // NULL: the body is inline
    uint32_t body_bytes;
    uint32_t head_bytes;
    uint32_t modified_s;
    uint32_t gzip, br;   // the reply with the file's .gz, or its .br; 0: none
    uint32_t expires_s;  // Expires: so long after Date; 0: not said
    uint16_t fields_off, extras_off, validators_off, etag_off;
    uint16_t key_bytes;  // 0: found by status only
    uint16_t status;
    uint8_t etag_bytes;
    uint8_t special;  // enum http_special
};
static_assert(sizeof(struct http_reply) <= 64, "a look-up reads little of it");

// http_fields: the fields of a reply, each a text of whole lines ended by CRLF.
struct http_fields {
    const char *type, *extras, *validators;
};

// http_reply_make: fills *r: status line from `status` and `reason`, Content-Length (but with 204),
// the fields, the key. The body and the image stay the caller's. False: no memory, or longer than
// HTTP_REPLY_HEAD_BYTES_MAX.
bool http_reply_make(struct http_reply *r, unsigned status, const char *reason,
                     const struct http_fields *fields, const char *key, size_t key_bytes);

// http_reply_add_field: one more line behind the validators. False: as above.
bool http_reply_add_field(struct http_reply *r, const char *line);

// http_reply_is_inline: whether http_reply_write writes the body too.
static inline bool http_reply_is_inline(const struct http_reply *r)
{
    return r->body_bytes <= HTTP_INLINE_BYTES_MAX;
}

// http_reply_write: writes what is copied of the response to to[0..HTTP_REPLY_BYTES_MAX) and
// returns its length; the same arguments give the same bytes. head_only: the response to HEAD.
size_t http_reply_write(const struct http_reply *r, uint64_t unix_s, enum http_connection say,
                        bool head_only, char *to);

// The heads of responses made of a reply for one request, written as above. http_write_part: 206
// with one range. http_write_parts: 206 with several, as multipart/byteranges.
// http_write_unchanged: 304. http_write_unsatisfied: 416. http_write_made: 200 with `bytes` bytes
// of `type` that no cache may keep.
size_t http_write_part(const struct http_reply *r, struct http_range range, uint64_t unix_s,
                       enum http_connection say, char *to);
size_t http_write_parts(const struct http_reply *r, const struct http_range *ranges, unsigned n,
                        const char *boundary, uint64_t unix_s, enum http_connection say, char *to);
size_t http_write_unchanged(const struct http_reply *r, uint64_t unix_s, enum http_connection say,
                            char *to);
size_t http_write_unsatisfied(const struct http_reply *r, uint64_t unix_s, enum http_connection say,
                              char *to);
// http_write_location: the head of a redirect up to its Location's end;
// http_write_behind_location: the rest, with the body.
size_t http_write_location(const struct http_reply *r, char *to);
size_t http_write_behind_location(const struct http_reply *r, uint64_t unix_s,
                                  enum http_connection say, bool head_only, char *to);
size_t http_write_made(const char *type, uint64_t bytes, uint64_t unix_s, enum http_connection say,
                       char *to);

// http_write_part_head: what stands before one of several ranges; range NULL: what stands behind
// the last. http_parts_bytes: the length of all of it, ranges included.
size_t http_write_part_head(const struct http_reply *r, const struct http_range *range,
                            const char *boundary, char *to);
uint64_t http_parts_bytes(const struct http_reply *r, const struct http_range *ranges, unsigned n,
                          const char *boundary);
