// SPDX-License-Identifier: BSD-3-Clause
// peer_uid.h: who has the other end of a TCP connection from this host.
#pragma once
#include <sys/socket.h>
#include <sys/types.h>

#include "base/base.h"

// peer_uid: the user whose socket is connected with fd from the address `peer`; false: it is not of
// this host, or the kernel does not tell (sock_diag(7)). Waits for nobody.
bool peer_uid(int fd, const struct sockaddr *peer, uid_t *uid);
