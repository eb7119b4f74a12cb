// SPDX-License-Identifier: BSD-3-Clause
// tcp_tune.h: windows that grow with what the path takes, from the service's initial limits up to
// its largest ones; an idle or slow connection promises no memory that it does not use.
//
// Receiving ("dynamic right-sizing", Fisk and Feng, 2001): what came and was consumed within a
// round trip, and may double in the next one, has to find room. The limit is doubled, up to seven
// times, as three bits beside the service's index say, so that a table holds each limit there may
// be and the window costs no instruction more. It begins anew with each connection.
//
// Sending: what two windows of cwnd hold may be queued.
//
// Neither grows while half of the worker's buffers are in use. A connection with a limit of its own
// (SO_RCVBUF, SO_SNDBUF) keeps that.
#pragma once
#include "tcp/tcp_internal.h"

// tcp_tune_receive: two segments or more came since the last acknowledgement, and one is due.
void tcp_tune_receive(struct tcp *t, struct block *b);
