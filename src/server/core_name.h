// SPDX-License-Identifier: BSD-3-Clause
// core_name.h: the name of a worker in cores/N, in metrics and in profiles.
#pragma once

enum { CORE_NAME_BYTES = 24 };

struct server;

// server_core_name: the name N of worker w: the number of its CPU; for further workers on the same
// CPU N.1, N.2 and so on. Any thread.
void server_core_name(const struct server *s, unsigned w, char out[CORE_NAME_BYTES]);
