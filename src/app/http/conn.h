// SPDX-License-Identifier: BSD-3-Clause
// conn.h: the state of a connection, which is in the application's cache line of the block, and the
// functions that send responses.
#pragma once
#include "app/http/request_parse.h"
#include "app/http/service.h"

enum http_phase {
    HTTP_NEW,
    HTTP_HEADING,
    HTTP_IDLE,
    // In the phases from here on, received bytes are not the head of a request:
    HTTP_PREFACE,  // they are the PROXY header
    // they are content; its position is in the hold's body, or without a hold in `body`
    HTTP_READING,
    HTTP_SENDING,
    HTTP_LINGER,
};

// Increase it when the meaning of a field of http_conn or http_request changes (c10m/app.h).
enum { HTTP_STATE_VERSION = 1 };

enum { HTTP_WATCH_US = 1 << 16 };  // unit of http_conn.watched, which wraps after 71 minutes

enum http_conn_flag {
    HTTP_LAST = 1 << 0,       // this response is the last one
    HTTP_ENDED = 1 << 1,      // the peer has sent its FIN
    HTTP_HEAD_ONLY = 1 << 2,  // the response has no body
    HTTP_KEEP_1_0 = 1 << 3,   // HTTP/1.0 with keep-alive: send Connection: keep-alive
    HTTP_INTERIM = 1 << 4,    // send 100 (Continue) first, then read the content
    HTTP_CUT = 1 << 5,        // discard the bytes received after this request
    HTTP_RESTED = 1 << 6,     // was idle for answered_ms; the deadline is for the remaining time
    HTTP_DRAINED = 1 << 7,    // the service is draining: no request after this response
    HTTP_BEHIND = 1 << 8,     // `held` counts bytes after a request being answered, not of a head
    HTTP_PROXIED = 1 << 9,    // the client's address is that of a PROXY header (clients.h)
    // Bits 10 to 15: the places of the sites that the connection uses (sites.h): of its present or
    // next response, and of responses before it whose data is still queued. Mostly the same.
};

struct http_conn {
    uint64_t deadline_us;  // end of the present phase's time limit
    uint64_t timer_us;     // time of c10m_set_timer(), not after the deadline; 0: not set
    uint32_t taken_goal;   // value of c10m_send_taken() to be reached within write_timeout_ms
    uint16_t watched;      // start of the write timeout, in HTTP_WATCH_US; 0: none is running
    uint16_t held;         // units taken from header_bytes_held
    struct http_request request;
    uint8_t phase;   // enum http_phase
    uint8_t kind;    // enum http_kind of the response
    uint16_t flags;  // enum http_conn_flag
    uint32_t reply;  // index of the response in the table of replies
    union {
        struct http_body body;  // in READING without a hold
        struct {
            // in SENDING: the Date of the response, so that its head can be written again
            uint32_t date_s;
            uint32_t sent;            // in SENDING: bytes of the piece's text that are queued
            struct http_range range;  // in HTTP_PART
        };
    };
    uint16_t hold;   // 0: none
    uint16_t piece;  // in SENDING of HTTP_PARTS: the present piece
};
static_assert(sizeof(struct http_conn) <= C10M_STATE_BYTES,
              "a second cache line for each connection would cost 64 bytes");

// http_place_of, http_site_of: the place of the site of the present or next response, and the site.
// http_before_of: the place of the responses before it.
static inline unsigned http_place_of(const struct http_conn *st)
{
    return (unsigned)st->flags >> HTTP_PLACE_BIT & HTTP_PLACE_MASK;
}

static inline unsigned http_before_of(const struct http_conn *st)
{
    return (unsigned)st->flags >> HTTP_BEFORE_BIT & HTTP_PLACE_MASK;
}

static inline const struct http_site *http_site_of(const struct http_conn *st,
                                                   const struct http_service *s)
{
    return s->sites.at[http_place_of(st)];
}

// http_reply_of: the reply of the table from which the response is made.
static inline const struct http_reply *http_reply_of(const struct http_conn *st,
                                                     const struct http_service *s)
{
    return &http_site_of(st, s)->replies[st->reply];
}

// http_send: queues the rest of the response, which is made from r. False: a part did not fit;
// `writable` will be called.
bool http_send(struct c10m_conn *c, struct http_conn *st, const struct http_service *s,
               const struct http_reply *r);

// http_answer_status, http_answer_bytes: the status of the response, and the length of its body.
unsigned http_answer_status(const struct http_conn *st, const struct http_service *s);
uint64_t http_answer_bytes(struct c10m_conn *c, const struct http_conn *st,
                           const struct http_service *s);
