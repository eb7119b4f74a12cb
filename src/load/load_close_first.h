// SPDX-License-Identifier: BSD-3-Clause
// load_close_first.h: a service that answers one request and closes, so that the server closes
// first and has the TIME-WAIT.
#pragma once
#include "c10m/app.h"

// load_close_first: the application `honest`, which now closes each connection after its first
// answer. Only one at a time in a process.
const struct c10m_app *load_close_first(const struct c10m_app *honest);
