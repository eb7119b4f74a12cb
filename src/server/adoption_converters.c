// SPDX-License-Identifier: BSD-3-Clause
// adoption_converters.c: the converters from earlier programs, newest first. There has been none
// with other structures since the first that kept connections.
#include "server/adoption_convert.h"

__attribute__((weak)) const struct adoption_converter *const adoption_converters[] = {NULL};
