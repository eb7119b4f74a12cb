// SPDX-License-Identifier: BSD-3-Clause
// service_fault.h: which key of the configuration an application means by the reason for which it
// does not start. Control thread.
#pragma once
#include "base/err.h"
#include "c10m/app.h"

// service_fault_key: names the key of *err, whose text is that of sock_service_init() for this
// service and application. Reasons name a key of the application as "KEY = VALUE: ..." or "KEY:
// ..."; a reason that names none is about the application (`app`), or the agent's `socket`. Returns
// -1.
int service_fault_key(const char *service, const char *app, struct err *err);
