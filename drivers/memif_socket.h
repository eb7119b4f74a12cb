// SPDX-License-Identifier: BSD-3-Clause
// memif_socket.h: the unix socket of a memif port.
#pragma once
#include "base/err.h"

enum { MEMIF_PATH_MAX = 107 };  // characters: sun_path

// memif_socket_listen: listens at path. The socket of a server that was killed is replaced; one
// that answers, and what is no socket, stays. -1: err says why.
int memif_socket_listen(const char *path, struct err *err);

// memif_socket_connect: a connection to the server at path, or -1 with errno.
int memif_socket_connect(const char *path);
