// SPDX-License-Identifier: BSD-3-Clause
// peer_uid.h: the user at the other end of a TCP connection from this host.
#pragma once
#include <sys/socket.h>
#include <sys/types.h>

#include "base/base.h"

// peer_uid: sets *uid to the user whose socket is connected to fd from the address `peer`. False:
// the socket is not on this host, or the kernel does not report it (sock_diag(7)). Does not block.
bool peer_uid(int fd, const struct sockaddr *peer, uid_t *uid);
