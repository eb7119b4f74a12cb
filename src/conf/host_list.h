// SPDX-License-Identifier: BSD-3-Clause
// host_list.h: adds to the applications that conf_host_read() reports.
#pragma once
#include "conf/conf.h"

// conf_apps_add: adds a name that [service NAME] app takes, of an application out of tree. To be
// called before the first configuration is read. False: the name is not valid or is taken, or there
// is no room for it.
bool conf_apps_add(const char *name);
