// reply.h: responses made at init. What is known beforehand is text already; a response to be sent
// is
//
//   head (status line, fields, "Date: ")  |  date, Connection, empty line  |  body
//   \________________________ http_reply_write, copied ________________________/   small: copied
//   too
//                                                                                  large: sent by
//                                                                                  reference
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "c10m/app.h"

enum {
    HTTP_KEY_BYTES_MAX = 1024,  // of a file's path in its percent-encoded form
    HTTP_INLINE_BYTES_MAX =
        1024,  // bodies up to this are copied behind the head: one segment, one buffer
    HTTP_REPLY_HEAD_BYTES_MAX = HTTP_KEY_BYTES_MAX + 512,
    HTTP_REPLY_TAIL_BYTES_MAX = 64,  // date, Connection, empty line
    HTTP_REPLY_BYTES_MAX =
        HTTP_REPLY_HEAD_BYTES_MAX + HTTP_REPLY_TAIL_BYTES_MAX + HTTP_INLINE_BYTES_MAX,
};

// What is said about the connection's future (RFC 9112 section 9).
enum http_connection {
    HTTP_SAY_NOTHING,     // HTTP/1.1: it stays open
    HTTP_SAY_KEEP_ALIVE,  // HTTP/1.0 that asked: it stays open
    HTTP_SAY_CLOSE,
};

// http_reply: one line of the table of replies. Read only after init. Two lines of memory for a
// small file: this one, and the head with the key behind it.
struct http_reply {
    const char *head;                // head_bytes long, then key_bytes of the key; malloc'd
    const uint8_t *body;             // body_bytes of it, in the image or constant
    const struct c10m_image *image;  // NULL: the body is inline
    uint64_t body_bytes;
    uint32_t head_bytes;
    uint32_t key_bytes;  // 0: found by status only
    uint16_t status;
    uint16_t class_counter;  // enum http_counter of its status class
};

// http_reply_make: fills *r: status line from `status` and `reason`, Content-Length (but with 204),
// the `fields` (whole lines ended by CRLF), the key. The body and the image stay the caller's.
// False: no memory, or longer than HTTP_REPLY_HEAD_BYTES_MAX.
bool http_reply_make(struct http_reply *r, unsigned status, const char *reason, const char *fields,
                     const char *key, size_t key_bytes);

// http_reply_is_inline: whether http_reply_write writes the body too.
static inline bool http_reply_is_inline(const struct http_reply *r)
{
    return r->body_bytes <= HTTP_INLINE_BYTES_MAX;
}

// http_reply_write: writes what is copied of the response to to[0..HTTP_REPLY_BYTES_MAX) and
// returns its length; the same arguments give the same bytes. head_only: the response to HEAD.
size_t http_reply_write(const struct http_reply *r, uint64_t unix_s, enum http_connection say,
                        bool head_only, char *to);
