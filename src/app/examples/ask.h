// SPDX-License-Identifier: BSD-3-Clause
// ask.h: the little of HTTP/1.1 that the examples need: GET requests with a query, one at a time,
// pipelining, keep-alive. All functions run in callbacks of the worker that owns the connection.
//
//     data -> ask_serve -> handle(c, ask) -> ask_text ... ask_answer
//
// Limits: a request head of ASK_HEAD_BYTES_MAX bytes, a value of ASK_VALUE_BYTES_MAX bytes after
// decoding, ASK_IDLE_MS between two signs of life. What exceeds one gets an error status, and the
// connection is closed; who takes no bytes for ASK_IDLE_MS is reset.
#pragma once
#include <c10m/app.h>

enum {
    ASK_HEAD_BYTES_MAX = 4096,
    ASK_VALUE_BYTES_MAX = 1024,
    ASK_IDLE_MS = 10000,
    ASK_FIXED_BYTES_MAX = 256,  // status line and fields of an answer
};

// ask: one request. The pointers are into the received bytes, valid during the callback.
struct ask {
    const char *path, *query;  // not terminated; query without '?'
    size_t path_len, query_len;
    bool keep;     // the connection stays open after the answer
    size_t bytes;  // of the whole head
};

// ask_conn: what a connection remembers; the first member of the application's state.
struct ask_conn {
    uint32_t taken;  // c10m_send_taken() when the timer was set
    bool heard;      // there was a request since then
    bool begun;      // a trace has the beginning of the request
    bool busy;       // an answer is due: ASK_BUSY
    bool ended;      // the peer has sent FIN
    bool last;       // c10m_shutdown() was called: what still comes is discarded
};

enum ask_parsed { ASK_COMPLETE, ASK_INCOMPLETE, ASK_BAD, ASK_TOO_LONG, ASK_NOT_GET };

// ask_parse: reads the head at data. Sets *ask for ASK_COMPLETE only.
enum ask_parsed ask_parse(const uint8_t *data, size_t len, struct ask *ask);

// ask_text: the decoded value of `key` (%XX, '+' is a space), terminated, in out. Returns its
// length; -1: there is no such key; -2: it is longer than ASK_VALUE_BYTES_MAX, or a byte of it is
// not printable ASCII.
int ask_text(const struct ask *ask, const char *key, char out[ASK_VALUE_BYTES_MAX + 1]);

// ask_number: sets *value to the number under `key`; leaves it as it is if there is no such key.
// Returns false if it is not a number of [min, max].
bool ask_number(const struct ask *ask, const char *key, unsigned min, unsigned max,
                unsigned *value);

// ask_is: whether the path is that one.
bool ask_is(const struct ask *ask, const char *path);

// ask_room: whether an answer with a body of len bytes can be queued now. false: `writable` is
// called when there may be more room; and if even an empty send queue is too short, the connection
// is reset.
bool ask_room(struct c10m_conn *c, size_t len);

// ask_answer: queues a whole answer. Call it only if ask_room() says so. type: of the content.
void ask_answer(struct c10m_conn *c, bool keep, const char *status, const char *type,
                const void *body, size_t len);

// ask_refuse: an answer with a status and the reason as text; closes the connection.
void ask_refuse(struct c10m_conn *c, const char *status, const char *why);

// ask_head: queues the head of an answer whose body of len bytes the caller sends.
void ask_head(struct c10m_conn *c, bool keep, const char *type, size_t len);

enum ask_handled {
    ASK_DONE,  // the answer is queued
    ASK_WAIT,  // no room: the same request is handled again when there is
    ASK_BUSY,  // the answer comes later: then the application calls ask_finish()
};

// ask_serve: the work of `data`: handles the requests in data. Returns the number of consumed
// bytes. After ASK_BUSY the connection is paused. It marks requests for traces (marks_requests).
size_t ask_serve(struct c10m_conn *c, const uint8_t *data, size_t len,
                 enum ask_handled (*handle)(struct c10m_conn *c, const struct ask *ask));

// ask_finish: the answer of a request that was ASK_BUSY is queued. Later requests are handled, or
// the connection is closed.
void ask_finish(struct c10m_conn *c, bool keep);

// ask_open, ask_end, ask_drain, ask_idle: for `open`, `end`, `drain` and `timer`. ask_idle() resets
// a connection that has neither sent a request nor taken a byte since the last call.
void ask_open(struct c10m_conn *c);
void ask_end(struct c10m_conn *c);
void ask_drain(struct c10m_conn *c);
void ask_idle(struct c10m_conn *c);
