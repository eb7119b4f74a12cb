// SPDX-License-Identifier: BSD-3-Clause
// cmd_reload.h: `c10m reload`: a running server reads its configuration again, and the command
// waits for the outcome.
#pragma once
#include "base/text.h"
#include "conf/conf.h"

// ctl_reload: writes to ctl/reload of the server at the control socket of configuration c. Appends
// the report to *said, a line for each key that changed, that wants a restart, or that was refused.
// Returns 0, or -1 with *err: no server answers, or it has refused the file.
int ctl_reload(const struct conf *c, struct text *said, struct err *err);
