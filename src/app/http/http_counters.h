// SPDX-License-Identifier: BSD-3-Clause
// http_counters.h: the counters of an http service, one line each.
#pragma once

// X(number, name, help)
#define HTTP_COUNTERS(X)                                                                           \
    X(HTTP_N_REQUESTS, "requests", "requests whose head was read to its end")                      \
    X(HTTP_N_2XX, "responses_2xx", "responses handed to the stack with a status of 200 to 299")    \
    X(HTTP_N_3XX, "responses_3xx", "redirects, and files that have not changed")                   \
    X(HTTP_N_4XX, "responses_4xx", "responses that blame the request")                             \
    X(HTTP_N_5XX, "responses_5xx", "responses to what is not implemented or not possible now")     \
    X(HTTP_N_BODY_BYTES, "body_bytes", "bytes of response bodies handed to the stack")             \
    X(HTTP_N_CONTENT_BYTES, "content_bytes", "bytes of request content read")                      \
    X(HTTP_N_SHORT, "sends_short", "responses that had to wait for room in the send queue")        \
    X(HTTP_N_HEAD_TOO_LONG, "heads_too_long", "heads over header_bytes_max: 414 or 431")           \
    X(HTTP_N_BODY_TOO_LONG, "content_too_long", "content over body_bytes_max: 413")                \
    X(HTTP_N_REFUSED, "requests_refused", "malformed requests, smuggling among them: 400")         \
    X(HTTP_N_NO_HOLD, "holds_empty", "requests answered 503: holds_max were in work")              \
    X(HTTP_N_NOT_HELD, "heads_not_held",                                                           \
      "requests refused or cut for header_bytes_held: 503, or closed after the answer before")     \
    X(HTTP_N_SHARE, "source_shares",                                                               \
      "of heads_not_held and holds_empty: the source of the client had its share")                 \
    X(HTTP_N_LOG_DROPPED, "log_dropped", "answers without a line in the log: its ring was full")   \
    X(HTTP_N_LOG_BARE, "log_bare",                                                                 \
      "lines of the log without their request: holds were short while its content was read")       \
    X(HTTP_N_HEADER_TIMEOUTS, "header_timeouts", "heads not complete in header_timeout_ms: 408")   \
    X(HTTP_N_BODY_TIMEOUTS, "body_timeouts", "content not complete in body_timeout_ms: 408")       \
    X(HTTP_N_IDLE, "idle_closed", "connections without a request closed after the idle time")      \
    X(HTTP_N_PREFACE, "proxy_headers", "PROXY headers read")                                       \
    X(HTTP_N_PREFACE_BAD, "proxy_refused",                                                         \
      "connections reset: no whole PROXY header in header_timeout_ms, or none from proxy_from")    \
    X(HTTP_N_PREFACE_FULL, "proxy_full", "connections reset: proxy_connections_max were open")     \
    X(HTTP_N_STALLED, "stalled_aborted",                                                           \
      "connections reset: not write_bytes_min taken in write_timeout_ms, or kept open")

enum http_counter {
#define HTTP_COUNTER_NUMBER(number, name, help) number,
    HTTP_COUNTERS(HTTP_COUNTER_NUMBER)
#undef HTTP_COUNTER_NUMBER
        HTTP_COUNTERS_N
};
