// SPDX-License-Identifier: BSD-3-Clause
// memif_socket.h: the unix socket of a memif port.
#pragma once
#include "base/err.h"

enum { MEMIF_PATH_MAX = 107 };  // characters: sun_path

// memif_socket_listen: listens at path and returns the listening socket. If the file at path is the
// socket of a killed server, it is replaced. If a server answers there, or the file is no socket,
// it stays. Returns -1 with the reason in *err if it fails.
int memif_socket_listen(const char *path, struct err *err);

// memif_socket_connect: connects to the server at path. Returns the socket, or -1 with errno.
int memif_socket_connect(const char *path);
