// SPDX-License-Identifier: BSD-3-Clause
// host_list.h: what conf_host_read() tells beyond this machine.
#pragma once
#include "conf/conf.h"

// conf_apps_add: one more name for [service NAME] app. Whoever offers the application calls it
// before the first configuration is read. False: the name is no name, is there already, or there is
// no room for it.
bool conf_apps_add(const char *name);
