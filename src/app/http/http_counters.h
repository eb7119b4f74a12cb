// SPDX-License-Identifier: BSD-3-Clause
// http_counters.h: the counters of an http service.
#pragma once

// X(number, name, help)
#define HTTP_COUNTERS(X)                                                                           \
    X(HTTP_N_REQUESTS, "requests", "requests with a complete head")                                \
    X(HTTP_N_2XX, "responses_2xx", "responses with a status of 200 to 299")                        \
    X(HTTP_N_3XX, "responses_3xx",                                                                 \
      "responses with a status of 300 to 399: redirects, and files that have not changed")         \
    X(HTTP_N_4XX, "responses_4xx", "responses with a status of 400 to 499: errors of the request") \
    X(HTTP_N_5XX, "responses_5xx",                                                                 \
      "responses with a status of 500 to 599: not implemented, or not possible now")               \
    X(HTTP_N_BODY_BYTES, "body_bytes", "bytes of response bodies passed to TCP")                   \
    X(HTTP_N_CONTENT_BYTES, "content_bytes", "bytes of request content read")                      \
    X(HTTP_N_SHORT, "sends_short", "responses that waited for room in the send queue")             \
    X(HTTP_N_HEAD_TOO_LONG, "heads_too_long", "heads over header_bytes_max: 414 or 431")           \
    X(HTTP_N_BODY_TOO_LONG, "content_too_long", "content over body_bytes_max: 413")                \
    X(HTTP_N_REFUSED, "requests_refused", "malformed requests, including request smuggling: 400")  \
    X(HTTP_N_NO_HOLD, "holds_empty",                                                               \
      "requests answered 503 because holds_max requests were being answered")                      \
    X(HTTP_N_WAITED, "waits_too_long",                                                             \
      "requests answered 503 because they may have waited longer than max_wait_ms")                \
    X(HTTP_N_NOT_HELD, "heads_not_held",                                                           \
      "requests refused because header_bytes_held was reached: 503, or close after a response")    \
    X(HTTP_N_SHARE, "source_shares",                                                               \
      "requests in heads_not_held and holds_empty whose client's source had its share")            \
    X(HTTP_N_LOG_DROPPED, "log_dropped",                                                           \
      "responses without a line in the access log because its ring was full")                      \
    X(HTTP_N_LOG_BARE, "log_bare",                                                                 \
      "lines of the access log without the request because few holds were free")                   \
    X(HTTP_N_HEADER_TIMEOUTS, "header_timeouts", "heads not complete in header_timeout_ms: 408")   \
    X(HTTP_N_BODY_TIMEOUTS, "body_timeouts", "content not complete in body_timeout_ms: 408")       \
    X(HTTP_N_IDLE, "idle_closed", "connections without a request closed after the idle time")      \
    X(HTTP_N_PREFACE, "proxy_headers", "PROXY headers read")                                       \
    X(HTTP_N_PREFACE_BAD, "proxy_refused",                                                         \
      "connections reset: no complete PROXY header in header_timeout_ms, or not from proxy_from")  \
    X(HTTP_N_PREFACE_FULL, "proxy_full", "connections reset: proxy_connections_max were open")     \
    X(HTTP_N_STALLED, "stalled_aborted",                                                           \
      "connections reset: write_bytes_min not acknowledged in write_timeout_ms, or not closed")    \
    X(HTTP_N_EXPELLED, "replaced_aborted",                                                         \
      "connections reset: they sent replaced files, and a reload needed the room")

enum http_counter {
#define HTTP_COUNTER_NUMBER(number, name, help) number,
    HTTP_COUNTERS(HTTP_COUNTER_NUMBER)
#undef HTTP_COUNTER_NUMBER
        HTTP_COUNTERS_N
};
