// SPDX-License-Identifier: BSD-3-Clause
// tcp_internal.h: what only the files of src/tcp share.
#pragma once
#include "tcp/tcp.h"
#include "tcp/tcp_deadline.h"
#include "tcp/tcp_end.h"
#include "tcp/tcp_ext.h"
#include "tcp/tcp_half_open.h"
#include "tcp/tcp_mss.h"
#include "tcp/tcp_numbers.h"
#include "tcp/tcp_reply.h"
#include "tcp/tcp_send.h"
#include "tcp/tcp_shared.h"
#include "tcp/tcp_time_wait.h"

// tcp_flight_echo_age_ms, tcp_flight_echo_taken: tcp_echo_age_ms() and tcp_echo_taken() for a block
// with a flight log.
uint32_t tcp_flight_echo_age_ms(const struct tcp *t, const struct block *b);
void tcp_flight_echo_taken(const struct tcp *t, const struct block *b, uint32_t ms);

// tcp_segment_full: processes a segment of a block as RFC 9293 3.10.7.3 and 3.10.7.4 say.
void tcp_segment_full(struct tcp *t, uint32_t ix, const struct seg_in *s, const uint8_t *data,
                      struct tcp_verdict *v);
