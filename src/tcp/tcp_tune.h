// SPDX-License-Identifier: BSD-3-Clause
// tcp_tune.h: windows that grow with the path, from the service's initial limits to its largest
// ones, so that an idle or slow connection reserves no memory.
//
// Receiving ("dynamic right-sizing", Fisk and Feng, 2001): what is received and consumed in a round
// trip may double in the next one, and needs room. The limit is doubled at most seven times; three
// bits beside the service's index count that, so that one table has every limit and a look-up costs
// nothing more. It starts again with each connection.
//
// Sending: two congestion windows may be queued.
//
// Neither grows while half of the worker's buffers are in use. A connection with its own limit
// (SO_RCVBUF, SO_SNDBUF) keeps that.
#pragma once
#include "tcp/tcp_internal.h"

// tcp_tune_receive: called when an acknowledgment is due after two or more segments.
void tcp_tune_receive(struct tcp *t, struct block *b);
