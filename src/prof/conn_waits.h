// SPDX-License-Identifier: BSD-3-Clause
// conn_waits.h: what a connection waits for, from a copy of its block.
#pragma once
#include "tcp/tcp.h"

// X(name, text, help): in the order in which they are thought of.
#define CONN_WAITS_TABLE(X)                                                                        \
    X(HANDSHAKE, "handshake", "the peer's answer to our SYN, or SYN-ACK")                          \
    X(WINDOW, "window", "the peer's window is shut, and there is data to send")                    \
    X(ACK, "ACK", "data or a FIN is in flight")                                                    \
    X(ROOM, "room to send", "data to send: the port has no room, or Nagle's algorithm waits")      \
    X(APPLICATION, "application", "it has not taken what arrived, has paused, or has to close")    \
    X(FIN, "FIN", "the peer has to close its direction")                                           \
    X(TIMER, "timer", "TIME-WAIT; or the application has paused until its timer")                  \
    X(DATA, "data", "nothing is under way: the peer has to send")

enum conn_waits {
#define CONN_WAITS_ENUM(name, text, help) CONN_WAITS_##name,
    CONN_WAITS_TABLE(CONN_WAITS_ENUM)
#undef CONN_WAITS_ENUM
        CONN_WAITS_COUNT
};

extern const char *const conn_waits_names[CONN_WAITS_COUNT];

// conn_waits_of: of a block that is not FREE.
enum conn_waits conn_waits_of(const struct block *b);
