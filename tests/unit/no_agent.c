// SPDX-License-Identifier: BSD-3-Clause
// no_agent.c: stands for the agent in the list of applications, where there is no stack for it.
#include "app/apps.h"

const struct c10m_app app_agent = {.name = "agent"};
