// SPDX-License-Identifier: BSD-3-Clause
// conn.h: the application's line of the block, and what sends from it.
#pragma once
#include "app/http/request_parse.h"
#include "app/http/service.h"

enum http_phase {
    HTTP_NEW,
    HTTP_HEADING,
    HTTP_IDLE,
    // From here on what comes is no head of a request:
    HTTP_PREFACE,  // it is the PROXY header
    HTTP_READING,  // the content: where it lies tells the hold's body, or without a hold our own
    HTTP_SENDING,
    HTTP_LINGER,
};

enum { HTTP_WATCH_US = 1 << 16 };  // unit of http_conn.watched, which comes round after 71 minutes

enum http_conn_flag {
    HTTP_LAST = 1 << 0,       // this response is the last one
    HTTP_ENDED = 1 << 1,      // the peer has sent its FIN
    HTTP_HEAD_ONLY = 1 << 2,  // the response has no body
    HTTP_KEEP_1_0 = 1 << 3,   // HTTP/1.0 wants to hear that the connection stays
    HTTP_INTERIM = 1 << 4,    // 100 goes first, then the content is read
    HTTP_CUT = 1 << 5,        // what waits behind this response is thrown away
    HTTP_RESTED = 1 << 6,     // idle for answered_ms: the deadline is for the rest
    HTTP_DRAINED = 1 << 7,    // the service began to drain: no request after this response
    HTTP_BEHIND = 1 << 10,    // `held` is of what waits behind an answer, not of a head
    HTTP_PROXIED = 1 << 9,    // a PROXY header has named the client (clients.h)
    HTTP_PLACE_1 = 1 << 8,    // the site that the connection holds lies in place 1 (sites.h)
};

struct http_conn {
    uint64_t deadline_us;  // when the present phase has lasted too long
    uint64_t timer_us;     // when the stack's timer comes: not after the deadline; 0: not set
    uint32_t taken_goal;   // of c10m_send_taken(): how far it has to come in write_timeout_ms
    uint16_t watched;      // when it began, in HTTP_WATCH_US; 0: the peer is not watched
    uint16_t held;         // units of header_bytes_held
    struct http_request request;
    uint8_t phase;   // enum http_phase
    uint8_t kind;    // of the response: enum http_kind
    uint16_t flags;  // enum http_conn_flag
    uint32_t reply;  // of the response: which line of the table
    union {
        struct http_body body;  // READING without a hold
        struct {
            uint32_t date_s;  // SENDING: the Date it began with, so that it can be written again
            uint32_t sent;    // SENDING: how much of the piece's text has been taken
            struct http_range range;  // of HTTP_PART
        };
    };
    uint16_t hold;   // 0: none
    uint16_t piece;  // SENDING: of HTTP_PARTS
};
static_assert(sizeof(struct http_conn) <= C10M_STATE_BYTES,
              "more lines cost memory per connection");

// http_place_of, http_site_of: the site that the connection holds.
static inline unsigned http_place_of(const struct http_conn *st)
{
    return (st->flags & HTTP_PLACE_1) / HTTP_PLACE_1;
}

static inline const struct http_site *http_site_of(const struct http_conn *st,
                                                   const struct http_service *s)
{
    return s->sites.at[http_place_of(st)];
}

// http_reply_of: the line of the table that the response is made of.
static inline const struct http_reply *http_reply_of(const struct http_conn *st,
                                                     const struct http_service *s)
{
    return &http_site_of(st, s)->replies[st->reply];
}

// http_send: queues what is left of the response, which is made of r. False: not all of it,
// `writable` follows.
bool http_send(struct c10m_conn *c, struct http_conn *st, const struct http_service *s,
               const struct http_reply *r);

// http_answer_status, http_answer_bytes: the status of the response, and the length of its body.
unsigned http_answer_status(const struct http_conn *st, const struct http_service *s);
uint64_t http_answer_bytes(struct c10m_conn *c, const struct http_conn *st,
                           const struct http_service *s);
