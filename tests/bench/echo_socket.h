// SPDX-License-Identifier: BSD-3-Clause
// echo_socket.h: what the echo servers on the kernel's sockets share: peers that scripts/bench puts
// beside c10m. They serve IPv4, port 7, until they are killed.
#pragma once

enum { ECHO_PORT = 7, ECHO_BACKLOG = 4096 };

// die: says what has failed, with errno, and exits with status 1.
_Noreturn void die(const char *what);

// echo_socket: a socket of that type, SOCK_STREAM or SOCK_DGRAM with flags, bound to ECHO_PORT; a
// stream listens, without Nagle's algorithm on what it accepts. Allows as many open files as root
// may have.
int echo_socket(int type);
