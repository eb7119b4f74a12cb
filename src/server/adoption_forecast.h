// SPDX-License-Identifier: BSD-3-Clause
// adoption_forecast.h: which connections the next start would adopt, before anything is stopped.
#pragma once
#include "base/text.h"
#include "server/server.h"

// adoption_forecast: appends whether a server with the parameters p adopts the connections of the
// server of its name, which runs or has ended, and what becomes of those of each service. Reads the
// begin of that server's memory, as its user or root, and changes nothing. Returns 0: it adopts
// them, or there are none; -1: it does not, or nobody knows.
int adoption_forecast(const struct server_params *p, struct text *out);
