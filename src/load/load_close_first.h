// SPDX-License-Identifier: BSD-3-Clause
// load_close_first.h: a service that answers one request and closes: the side that closes first is
// the server's, and so is TIME-WAIT.
#pragma once
#include "c10m/app.h"

// load_close_first: `honest` with the end of the connection behind its first answer. One at a time
// in a process.
const struct c10m_app *load_close_first(const struct c10m_app *honest);
