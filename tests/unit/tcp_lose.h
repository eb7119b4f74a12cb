// SPDX-License-Identifier: BSD-3-Clause
// tcp_lose.h: what a process that ends leaves of a TCP, for tests of tcp/tcp_adopt.h.
#pragma once
#include "tcp/tcp.h"

// tcp_lose: t as a start over the memory of the process before finds it: connections, records and
// buffers are there, and nothing that finds or wakes them. timers: entries that the wheel was made
// for.
void tcp_lose(struct tcp *t, uint64_t timers);

// tcp_lose_to: the same with another wheel, which is new.
void tcp_lose_to(struct tcp *t, struct wheel *wheel);
